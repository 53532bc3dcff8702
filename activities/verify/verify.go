package verify

import (
	"context"
	"fmt"

	"github.com/tributary-lake/tributary/activities/merging"
	"github.com/tributary-lake/tributary/activities/sink"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/tally"
)

// SourceNote states in a plan what verify: source costs.
const SourceNote = "verify: source: the server reads every split twice, once to count and sum its rows and once to send them, in one snapshot; " +
	"the first is not slowed by limits, and a split's snapshot lasts as much longer"

// Ask has the server sum the rows of a read, and gives what takes the sum of the rows as they come.
func Ask(r *source.Read) *tally.Adder {
	r.Tally = true
	return tally.NewAdder(r.FromSource())
}

// Split compares what was read of a split with what was handed to the writer and, when the server was asked, with its own sum.
func Split(s ledger.UnitSplit, stats source.ReadStats, written int64, read *tally.Adder) error {
	at := where([]ledger.UnitSplit{s})
	switch {
	case stats.Rows != written:
		return fmt.Errorf("%w: %s: %d rows read and %d handed to the writer", merging.ErrMismatch, at, stats.Rows, written)
	case read == nil:
		return nil
	case stats.Tally == nil:
		return fmt.Errorf("%w: %s: the source was asked for a sum of its rows and gave none", merging.ErrMismatch, at)
	case !read.Sum.Same(*stats.Tally):
		return fmt.Errorf("%w: %s: the server has %s in the snapshot that was read, read were %s", merging.ErrMismatch, at, stats.Tally, read.Sum)
	}
	return nil
}

// ReadAgain reads the files that were written of splits and compares the checksum of their rows with that of the rows that the
// source gave. Whatever lost, doubled or changed one on the way, the unit is not claimed.
func ReadAgain(ctx context.Context, table *lake.Table, l sink.Leavings, read *row.Checksum, splits []ledger.UnitSplit) error {
	written, err := l.ReadAgain(ctx, table)
	if err != nil {
		return fmt.Errorf("read again what was written of %s: %w", where(splits), err)
	}
	if !read.Same(written) {
		return fmt.Errorf("%w: %s: read were %s, in the written files are %s", merging.ErrMismatch, where(splits), read, written)
	}
	return nil
}

// where names splits for people.
func where(splits []ledger.UnitSplit) string {
	switch n := len(splits); n {
	case 0:
		return "no split"
	case 1:
		return fmt.Sprintf("shard %s, split %d", splits[0].Shard, splits[0].Number)
	default:
		last := splits[n-1]
		return fmt.Sprintf("%d splits, from shard %s, split %d, to shard %s, split %d", n, splits[0].Shard, splits[0].Number, last.Shard, last.Number)
	}
}
