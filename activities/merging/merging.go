package merging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/activities/deletes"
	"github.com/tributary-lake/tributary/activities/sink"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/shuffle"
	"github.com/tributary-lake/tributary/ledger"
)

// ErrMismatch is returned when the plan, the claims and the messages do not agree.
var ErrMismatch = errors.New("verification failed")

// ErrKeyCollision is returned when rows that are to be merged have one primary key, and the job does not say that the last
// one wins.
var ErrKeyCollision = errors.New("rows have the same primary key")

// Sorted is what the units of a run left.
type Sorted struct {
	Ledger *ledger.Ledger
	// Claims are those of all units.
	Claims []*ledger.Claim
	// Also are parts of the table that are merged whether a unit has rows for them or not.
	Also []lake.ShuffledPart
}

// readAtOnce is how many units' lists are read at the same time.
const readAtOnce = 8

// each reads where the rows of every unit lie, some units at once, and makes sure that each sorted all that it read.
func (s *Sorted) each(ctx context.Context, do func(where *lake.Shuffled) error) error {
	if err := do(&lake.Shuffled{Parts: s.Also}); err != nil {
		return err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readAtOnce)
	for _, c := range s.Claims {
		group.Go(func() error {
			where, err := s.read(ctx, c)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			return do(where)
		})
	}
	return group.Wait()
}

func (s *Sorted) read(ctx context.Context, c *ledger.Claim) (*lake.Shuffled, error) {
	data, err := s.Ledger.ReadMessages(ctx, c.Message)
	if err != nil {
		return nil, err
	}
	var where lake.Shuffled
	if err := json.Unmarshal(data, &where); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ledger.ErrCorrupt, s.Ledger.Store().URI(c.Message.Path), err)
	}
	if rows := where.Rows(); rows != c.Counts.RowsSorted || rows+c.Counts.RowsDropped != c.Counts.RowsRead {
		return nil, fmt.Errorf("%w: unit %d read %d rows and claims %d sorted, its files hold %d",
			ErrMismatch, c.Unit, c.Counts.RowsRead, c.Counts.RowsSorted, rows)
	}
	return &where, nil
}

// Divide plans the merges and keeps what each reads.
func (s *Sorted) Divide(ctx context.Context, l shuffle.Limits) (*ledger.Merges, error) {
	d, err := shuffle.Divide(ctx, s.each, l)
	if err != nil {
		return nil, err
	}
	merges := ledger.NewMerges(d.Merges(), d.Rows)
	err = d.Contents(ctx, s.each, func(ctx context.Context, n int, c shuffle.Content) error {
		return s.Ledger.WriteMerge(ctx, merges, n, c)
	})
	if err != nil {
		return nil, err
	}
	return s.Ledger.KeepMerges(ctx, merges)
}

// Merge is one merge.
type Merge struct {
	Out     *lake.BucketMerger
	Content shuffle.Content
	// Met notes rows that have the key of another, as Out has it.
	Met *shuffle.Collisions
	// Compared, unless nil, compares them with the table, as Out has it.
	Compared *deletes.Comparison
	// Progress is told of the rows that were merged so far.
	Progress func(rows int64)
	// Again, unless nil, is the table whose files are read again, for checksums.
	Again *lake.Table

	lost row.Checksum
}

// Summable refuses tables whose merged rows need not be rows that were read, so that their checksum says nothing.
func Summable(table *schema.Table) error {
	spec, err := mergetree.SpecOf(table)
	if err == nil && (spec.Engine != mergetree.Deduplicate || spec.IgnoreDelete) {
		err = fmt.Errorf("rows of a table with merge-engine = %s and ignore-delete = %t are not those that were read, so that checksums cannot be compared: use verify: counts",
			spec.Engine, spec.IgnoreDelete)
	}
	return err
}

// Duplicate is for lake.BucketMergerOptions.OnDuplicate, of tables that keep the last row of a key.
func (m *Merge) Duplicate(kept, next *row.Batch) error {
	if m.Again != nil {
		m.lost.Add(&row.Batch{Rows: kept.Rows, Columns: kept.Columns[mergetree.ValueColumns:]})
	}
	return m.Met.Met(kept, next)
}

// sums are those of what was merged, after the files were read again.
func (m *Merge) sums(ctx context.Context, messages []*message.Commit) (ledger.Sums, error) {
	files, err := sink.ReadAgain(ctx, m.Again, messages)
	if err != nil {
		return ledger.Sums{}, fmt.Errorf("read again what was merged: %w", err)
	}
	s := ledger.Sums{Collapsed: m.lost.Sum, Files: files.Sum}
	if m.Compared != nil {
		s.Same, s.Gone = m.Compared.Sums()
	}
	return s, nil
}

// Run merges all buckets and counts their rows: each is in a data file, or had a key that another row there has, or is in the
// table already. Where as many of the second sort are noted as may be it ends without an error.
func (m *Merge) Run(ctx context.Context) ([]*message.Commit, ledger.Counts, error) {
	var counts ledger.Counts
	var messages []*message.Commit
	for _, b := range m.Content.Buckets {
		before := m.Met.Count
		merged, err := m.Out.Merge(ctx, b)
		if m.Met.Full() {
			break
		}
		if err != nil {
			return nil, counts, err
		}
		one := ledger.Counts{RowsMerged: merged.In, RowsWritten: merged.Out, RowsCollapsed: m.Met.Count - before}
		if m.Compared != nil {
			one.RowsSame, one.RowsGone = m.Compared.Bucket()
		}
		if !one.Balanced() {
			return nil, counts, fmt.Errorf("%w: bucket %d: %s", ErrMismatch, b.Bucket, one.Merged())
		}
		one.RowsWritten = 0 // is counted by files
		counts = counts.Add(one)
		if merged.Message != nil {
			messages = append(messages, merged.Message)
		}
		m.Progress(counts.RowsMerged)
	}
	counts = counts.Add(sink.CountsOf(messages))
	if m.Again == nil || m.Met.Full() {
		return messages, counts, nil
	}
	sums, err := m.sums(ctx, messages)
	counts.Sums = sums
	return messages, counts, err
}

// Collided names the shards of rows with one key.
func Collided(ctx context.Context, l *ledger.Ledger, plan *ledger.Plan, met *shuffle.Collisions) error {
	shards, err := l.ShardsOf(ctx, plan, func(yield func(int) bool) {
		for _, x := range met.List {
			if !yield(int(x.Kept>>sink.SplitBits)) || !yield(int(x.Next>>sink.SplitBits)) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return fmt.Errorf("%w (on_key_collision: fail): add the provenance columns to primary_key, or set on_key_collision: last_wins to keep one row of each key; nothing was committed:%s",
		ErrKeyCollision, met.Text(func(row int64) string { return shards[int(row>>sink.SplitBits)].String() }))
}
