package activities

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/ledger"
)

// sink takes the rows of a unit.
type sink interface {
	// begin tells of which split the next rows are.
	begin(s ledger.UnitSplit)
	Write(ctx context.Context, b *row.Batch) error
	// Bytes is the size of what has been written so far.
	Bytes() int64
	// finish ends the writing and returns what the unit's claim refers to, and what was written.
	finish(ctx context.Context) ([]byte, ledger.Counts, error)
	// Abort removes what was written.
	Abort(ctx context.Context) error
}

// sink is where the attempt's rows go: into data files, or sorted into files that merges will read.
func (a *attempt) sink(table *lake.Table) (sink, error) {
	if !a.plan.Keyed {
		out, err := table.NewWriter(lake.WriterOptions{
			Prefix: a.record.Prefix, Guard: a.allowed, RowGroupBytes: a.session.Spec.RowGroupBytes, Codecs: a.codecs,
			Overwrite: a.session.Spec.Overwrite,
		})
		return &fileSink{Writer: out, attempt: a, schema: table.Schema().ID}, err
	}
	out, err := table.NewShuffler(lake.ShufflerOptions{
		Store: a.ledger.Store(), Folder: a.ledger.RunsFolder(), Name: a.record.RunName, Guard: a.allowed, Memory: a.session.Spec.SortBytes,
	})
	return &runSink{Shuffler: out}, err
}

// fileSink writes data files and leaves their commit messages.
type fileSink struct {
	*lake.Writer
	attempt *attempt
	schema  schema.ID
}

func (*fileSink) begin(ledger.UnitSplit) {}

func (f *fileSink) finish(ctx context.Context) ([]byte, ledger.Counts, error) {
	messages, err := f.Close(ctx)
	if err != nil {
		return nil, ledger.Counts{}, err
	}
	data, err := f.attempt.messageFile(f.schema, messages)
	return data, countsOf(messages), err
}

// countsOf are the rows and files of messages.
func countsOf(messages []*message.Commit) ledger.Counts {
	var c ledger.Counts
	for _, m := range messages {
		for _, f := range m.Data.NewFiles {
			c.RowsWritten += f.Rows
			c.Bytes += f.Size
			c.Files++
		}
	}
	return c
}

// messageFile makes the file that a claim of data files refers to.
func (a *attempt) messageFile(id schema.ID, messages []*message.Commit) ([]byte, error) {
	version := cmp.Or(a.session.Spec.SerializerVersion, message.DefaultVersion)
	line, err := message.Line(version)
	if err != nil {
		return nil, err
	}
	return message.WriteFile(message.File{
		Producer: a.producer, PaimonLine: line, SerializerVersion: version, SchemaID: id, Messages: messages,
	})
}

// runSink sorts rows by partition, bucket and key into files that merges will read, and leaves where they are.
type runSink struct {
	*lake.Shuffler
}

// splitBits of a sequence number count the rows of a split; the bits above are the split's number in the plan. So the order
// in which rows of one key are merged is that of the plan, whatever units and attempts read them, and each row of a sorted
// file says which shard it is from.
const splitBits = 40

// maxSplits is the number of splits that sequence numbers have room for.
const maxSplits = 1 << (62 - splitBits)

func (r *runSink) begin(s ledger.UnitSplit) { r.NumberFrom(int64(s.Number) << splitBits) }

func (r *runSink) finish(ctx context.Context) ([]byte, ledger.Counts, error) {
	where, err := r.Close(ctx)
	if err != nil {
		return nil, ledger.Counts{}, err
	}
	data, err := json.Marshal(where)
	return data, ledger.Counts{RowsSorted: where.Rows()}, err
}
