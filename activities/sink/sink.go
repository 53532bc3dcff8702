package sink

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/tributary-lake/tributary/activities/deletes"
	"github.com/tributary-lake/tributary/activities/pipe"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/predicate"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/ledger"
)

// Sink takes rows of a unit.
type Sink interface {
	// Begin tells of which split the next rows are.
	Begin(s ledger.UnitSplit)
	pipe.Out
	// Finish ends the writing and returns what it leaves.
	Finish(ctx context.Context) (Leavings, error)
	// Abort removes what was written.
	Abort(ctx context.Context) error
}

// Options say what the sinks of an attempt write and how.
type Options struct {
	// Keyed sorts rows into files that merges will read; else they go into data files.
	Keyed bool
	// Prefix begins the names of data files, RunName is that of the n-th file of sorted rows, in a folder of a store.
	Prefix     string
	RunName    func(n int) string
	Store      fileio.Store
	RunsFolder string
	// Guard is asked before each file.
	Guard func(ctx context.Context) error
	// RowGroupBytes and SortBytes bound what a sink holds in memory.
	RowGroupBytes, SortBytes int
	Codecs                   *lake.Codecs
	// Overwrite tells that the rows will replace others.
	Overwrite bool
	// Deletes marks rows of a key table that are gone: they are left out of a refresh, else sorted as rows that take away.
	Deletes deletes.Spec
	// Checksums adds up what of a key table's rows is not sorted.
	Checksums bool
	// Spill, unless nil, is where rows go that do not fit into memory.
	Spill    fileio.Store
	Messages Messages
}

// Leavings are what is left of sinks: commit messages, or where sorted rows lie.
type Leavings struct {
	messages []*message.Commit
	sorted   []lake.ShuffledPart
	// Counts of what was written.
	Counts ledger.Counts
}

// Add takes in what another sink of the unit leaves.
func (l *Leavings) Add(more Leavings) {
	l.messages = append(l.messages, more.messages...)
	l.sorted = append(l.sorted, more.sorted...)
	l.Counts = l.Counts.Add(more.Counts)
}

// ReadAgain reads the data files that are left, and gives the checksum of their rows.
func (l Leavings) ReadAgain(ctx context.Context, table *lake.Table) (*row.Checksum, error) {
	return ReadAgain(ctx, table, l.messages)
}

// ReadAgain reads the data files of messages, and gives the checksum of their rows.
func ReadAgain(ctx context.Context, table *lake.Table, messages []*message.Commit) (*row.Checksum, error) {
	var sum row.Checksum
	err := table.ReadMessages(ctx, messages, func(b *row.Batch) error {
		sum.Add(b)
		return nil
	})
	return &sum, err
}

// File is what the unit's claim refers to.
func (l Leavings) File(table *lake.Table, o Options) ([]byte, error) {
	if o.Keyed {
		return json.Marshal(lake.Shuffled{Parts: l.sorted})
	}
	return o.Messages.File(table.Schema().ID, l.messages)
}

// New is where the attempt's rows go: into data files, or sorted into files that merges will read. It is the n-th of so many,
// none of whose files has the name of another's.
func New(table *lake.Table, o Options, n, of int) (Sink, error) {
	if !o.Keyed {
		prefix := o.Prefix
		if of > 1 {
			prefix += fmt.Sprintf("%d-", n)
		}
		out, err := table.NewWriter(lake.WriterOptions{
			Prefix: prefix, Guard: o.Guard, RowGroupBytes: o.RowGroupBytes, Codecs: o.Codecs,
			Overwrite: o.Overwrite, Spill: o.Spill, SpillFolder: strconv.Itoa(n),
		})
		return &fileSink{Writer: out}, err
	}
	out, err := table.NewShuffler(lake.ShufflerOptions{
		Store: o.Store, Folder: o.RunsFolder, Name: func(file int) string { return o.RunName(file*of + n) },
		Guard: o.Guard, Memory: o.SortBytes,
	})
	if err != nil {
		return nil, err
	}
	s := &runSink{Shuffler: out, most: o.SortBytes, refresh: o.Deletes.Refresh}
	if o.Deletes.Column != "" {
		s.marked, err = o.Deletes.Marked(table.Schema())
		s.left = row.NewBatch(row.Types(table.Schema().Fields))
		if o.Checksums {
			s.sum = &row.Checksum{}
		}
	}
	return s, err
}

// fileSink writes data files and leaves their commit messages.
type fileSink struct {
	*lake.Writer
}

func (*fileSink) Begin(ledger.UnitSplit) {}

func (f *fileSink) Finish(ctx context.Context) (Leavings, error) {
	messages, err := f.Close(ctx)
	return Leavings{messages: messages, Counts: CountsOf(messages)}, err
}

// CountsOf are the rows and files of messages.
func CountsOf(messages []*message.Commit) ledger.Counts {
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

// Messages says how commit messages are kept.
type Messages struct {
	// Producer is for people; Version is that of Paimon's serializer, 0 for the library's default.
	Producer string
	Version  int
}

// File makes the file that a claim of data files refers to.
func (m Messages) File(id schema.ID, messages []*message.Commit) ([]byte, error) {
	version := cmp.Or(m.Version, message.DefaultVersion)
	line, err := message.Line(version)
	if err != nil {
		return nil, err
	}
	return message.WriteFile(message.File{
		Producer: m.Producer, PaimonLine: line, SerializerVersion: version, SchemaID: id, Messages: messages,
	})
}

// runSink sorts rows by partition, bucket and key into files that merges will read, and leaves where they are.
type runSink struct {
	*lake.Shuffler
	most int
	// marked is the condition that deleted rows meet, nil where there is no mark.
	marked  *predicate.Predicate
	refresh bool
	dropped int64
	sum     *row.Checksum // of those, where it is wanted
	gone    []int32
	kinds   []row.Kind
	left    *row.Batch
}

// Write implements pipe.Out.
func (r *runSink) Write(ctx context.Context, b *row.Batch) error {
	if r.marked == nil {
		return r.Shuffler.Write(ctx, b)
	}
	r.gone = r.marked.Select(b, r.gone[:0])
	if len(r.gone) == 0 {
		return r.Shuffler.Write(ctx, b)
	}
	if r.refresh {
		return r.drop(ctx, b)
	}
	r.kinds = slices.Grow(r.kinds[:0], b.Rows)[:b.Rows]
	clear(r.kinds)
	for _, i := range r.gone {
		r.kinds[i] = row.Delete
	}
	return r.WriteChanges(ctx, b, r.kinds)
}

// drop leaves out the rows that are gone.
func (r *runSink) drop(ctx context.Context, b *row.Batch) error {
	r.dropped += int64(len(r.gone))
	if r.sum != nil {
		r.left.Reset()
		r.left.AppendRows(b, r.gone)
		r.sum.Add(r.left)
	}
	var rest []int32
	gone := r.gone
	for i := range int32(b.Rows) {
		if len(gone) > 0 && gone[0] == i {
			gone = gone[1:]
			continue
		}
		rest = append(rest, i)
	}
	r.left.Reset()
	r.left.AppendRows(b, rest)
	return r.Shuffler.Write(ctx, r.left)
}

// SetMemory implements pipe.Out. Sorting takes as much as the rows.
func (r *runSink) SetMemory(ctx context.Context, bytes int) error {
	bytes /= 2
	if r.most > 0 {
		bytes = min(bytes, r.most)
	}
	return r.Shuffler.SetMemory(ctx, bytes)
}

// SplitBits of a sequence number count the rows of a split; the bits above are the split's number in the plan. So the order
// in which rows of one key are merged is that of the plan, whatever units and attempts read them, and each row of a sorted
// file says which shard it is from.
const SplitBits = 40

// MaxSplits is the number of splits that sequence numbers have room for.
const MaxSplits = 1 << (62 - SplitBits)

func (r *runSink) Begin(s ledger.UnitSplit) { r.NumberFrom(int64(s.Number) << SplitBits) }

func (r *runSink) Finish(ctx context.Context) (Leavings, error) {
	where, err := r.Close(ctx)
	if err != nil {
		return Leavings{}, err
	}
	l := Leavings{sorted: where.Parts, Counts: ledger.Counts{RowsSorted: where.Rows(), RowsDropped: r.dropped}}
	if r.sum != nil {
		l.Counts.Sums.Dropped = r.sum.Sum
	}
	return l, nil
}
