package activities

import (
	"context"
	"fmt"

	"github.com/tributary-lake/tributary/activities/sink"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/ledger"
)

// readAgain reads the files that were written of splits and compares the checksum of their rows with that of the rows that the
// source gave (verify: checksums). Whatever lost, doubled or changed one on the way, the unit is not claimed.
func readAgain(ctx context.Context, table *lake.Table, l sink.Leavings, read *row.Checksum, splits []ledger.UnitSplit) error {
	written, err := l.ReadAgain(ctx, table)
	if err != nil {
		return fmt.Errorf("read again what was written of %s: %w", where(splits), err)
	}
	if !read.Same(written) {
		return fmt.Errorf("%w: %s: read were %s, in the written files are %s", ErrMismatch, where(splits), read, written)
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
