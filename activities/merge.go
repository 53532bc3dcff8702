package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/sink"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/shuffle"
	"github.com/tributary-lake/tributary/ledger"
)

// Merger makes data files of the sorted rows of key tables.
type Merger struct {
	Env Env
	// Producer is written into message files, for people: tributary/<version>.
	Producer string
	// Memory is what all that this process reads and writes at the same time shares.
	Memory *budget.Budget

	codecs lake.Codecs
}

// PlanMerges divides the rows of all units into merges, once these are claimed. A run that has merges keeps them.
func (m *Merger) PlanMerges(ctx context.Context, in PlanMergesInput) (*PlannedMerges, error) {
	defer beat(ctx)()
	r, err := openRun(ctx, m.Env, in.TableRun)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if r.plan == nil {
		return nil, noPlan(r.ledger)
	}
	merges, err := r.ledger.Merges(ctx)
	if err == nil && merges == nil {
		merges, err = r.divide(ctx)
	}
	if err != nil {
		return nil, err
	}
	claimed, err := r.ledger.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	pending := unclaimed(merges.Count, func(n int) bool { return claimed[r.plan.Units+n] })
	return &PlannedMerges{Merges: merges.Count, Rows: merges.Rows, Pending: pending}, nil
}

// unclaimed are the ranges of n units of which claimed says no.
func unclaimed(n int, claimed func(int) bool) []Range {
	var pending []Range
	for unit := range n {
		switch n := len(pending); {
		case claimed(unit):
		case n > 0 && pending[n-1].To == unit:
			pending[n-1].To++
		default:
			pending = append(pending, Range{From: unit, To: unit + 1})
		}
	}
	return pending
}

// divide plans the merges and keeps what each reads.
func (r *run) divide(ctx context.Context) (*ledger.Merges, error) {
	if d, err := r.ledger.Decision(ctx, identifier); err != nil || d != "" {
		return nil, cmp.Or(err, fmt.Errorf("%w: %s stands, nothing is to be merged", ErrAborted, d))
	}
	claims, err := r.claims(ctx)
	if err != nil {
		return nil, err
	}
	each := func(ctx context.Context, do func(*lake.Shuffled) error) error { return r.sorted(ctx, claims, do) }
	d, err := shuffle.Divide(ctx, each, shuffle.Limits{Most: r.session.Spec.MergeBytes, AtOnce: r.session.Spec.Parallelism})
	if err != nil {
		return nil, err
	}
	merges := ledger.NewMerges(d.Merges(), d.Rows)
	err = d.Contents(ctx, each, func(ctx context.Context, n int, c shuffle.Content) error {
		return r.ledger.WriteMerge(ctx, merges, n, c)
	})
	if err != nil {
		return nil, err
	}
	return r.ledger.KeepMerges(ctx, merges)
}

// sorted reads where the rows of every unit lie, some units at once, and makes sure that each sorted all that it read.
func (r *run) sorted(ctx context.Context, claims []*ledger.Claim, do func(where *lake.Shuffled) error) error {
	var mu sync.Mutex
	return parallel(ctx, len(claims), 8, func(ctx context.Context, i int) error {
		c := claims[i]
		data, err := r.ledger.ReadMessages(ctx, c.Message)
		if err != nil {
			return err
		}
		var where lake.Shuffled
		if err := json.Unmarshal(data, &where); err != nil {
			return fmt.Errorf("%w: %s: %w", ledger.ErrCorrupt, r.staging.URI(c.Message.Path), err)
		}
		if rows := where.Rows(); rows != c.Counts.RowsSorted || rows != c.Counts.RowsRead {
			return fmt.Errorf("%w: unit %d read %d rows and claims %d sorted, its files hold %d",
				ErrMismatch, c.Unit, c.Counts.RowsRead, c.Counts.RowsSorted, rows)
		}
		mu.Lock()
		defer mu.Unlock()
		return do(&where)
	})
}

// Merge merges the rows of some buckets, or of a range of a bucket's keys, into data files, keeps their commit messages and
// claims the merge. One that is claimed already gives its winner at once.
func (m *Merger) Merge(ctx context.Context, in MergeInput) (*Written, error) {
	staging, err := m.Env.Staging(ctx, in.Staging, in.Store)
	if err != nil {
		return nil, err
	}
	l := ledger.Open(staging, in.Key)
	plan, err := planOf(ctx, l)
	if err != nil {
		return nil, err
	}
	unit := plan.Units + in.Merge
	if won, err := l.Winner(ctx, unit); err != nil || won != nil {
		return written(won), err
	}
	merges, err := l.Merges(ctx)
	if err == nil && merges == nil {
		err = fmt.Errorf("%w: no merges were planned at %s", ErrMismatch, l.URI())
	}
	if err != nil {
		return nil, err
	}
	job, err := jobOf(ctx, staging, in.Key)
	if err != nil {
		return nil, err
	}
	s, err := m.Env.Open(ctx, job, in.Table)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	t := &merging{attempt: attempt{ledger: l, plan: plan, unit: ledger.Unit{ID: unit}, session: s, producer: m.Producer, codecs: &m.codecs}}
	defer beatWith(ctx, t.progress)()
	share, err := m.Memory.Join(ctx, in.Job, s.Spec.Memory)
	if err != nil {
		return nil, err
	}
	defer share.Leave()
	share.Fixed()
	return t.claim(ctx, func(ctx context.Context, table *lake.Table) (abortable, work, error) {
		var content shuffle.Content
		if err := l.Merge(ctx, merges, in.Merge, &content); err != nil {
			return nil, nil, err
		}
		return t.begin(table, content)
	})
}

// merging is one try of a merge.
type merging struct {
	attempt
	merged atomic.Int64
}

func (m *merging) progress() any {
	return Progress{RowsRead: m.merged.Load(), Bytes: m.written.Load(), At: time.Now().UTC()}
}

// listedCollisions is how many rows with the key of another an error names.
const listedCollisions = 100

func (m *merging) begin(table *lake.Table, content shuffle.Content) (abortable, work, error) {
	most := listedCollisions
	if m.plan.LastWins {
		most = 0
	}
	met := shuffle.NewCollisions(table.Schema(), most)
	spec := m.session.Spec
	out, err := table.NewBucketMerger(lake.BucketMergerOptions{
		Files: lake.WriterOptions{
			Prefix: m.record.Prefix, Guard: m.allowed, RowGroupBytes: spec.RowGroupBytes, Memory: spec.SortBytes, Codecs: m.codecs,
			Spill: m.ledger.Store(), SpillFolder: m.ledger.RunsFolder(),
		},
		SpillName: m.record.RunName,
		Sorted:    m.ledger.Store(), OnDuplicate: met.Met, Upsert: !m.plan.Overwrite,
	})
	return out, func(ctx context.Context) ([]byte, ledger.Counts, error) {
		return m.merge(ctx, out, content, met, table.Schema().ID)
	}, err
}

// merge merges all buckets and counts their rows: each is in a data file, or had a key that another row there has.
func (m *merging) merge(ctx context.Context, out *lake.BucketMerger, content shuffle.Content, met *shuffle.Collisions, id schema.ID) ([]byte, ledger.Counts, error) {
	var counts ledger.Counts
	var messages []*message.Commit
	for _, b := range content.Buckets {
		before := met.Count
		merged, err := out.Merge(ctx, b)
		if met.Full() {
			break
		}
		if err != nil {
			return nil, counts, err
		}
		collapsed := met.Count - before
		if merged.In != merged.Out+collapsed {
			return nil, counts, fmt.Errorf("%w: bucket %d: %d rows merged, of which %d are in files and %d had the key of another",
				ErrMismatch, b.Bucket, merged.In, merged.Out, collapsed)
		}
		counts.RowsMerged += merged.In
		counts.RowsCollapsed += collapsed
		if merged.Message != nil {
			messages = append(messages, merged.Message)
		}
		m.merged.Store(counts.RowsMerged)
		m.written.Store(out.Bytes())
	}
	if len(met.List) > 0 {
		return nil, counts, m.collided(ctx, met)
	}
	data, err := m.sinks().Messages.File(id, messages)
	return data, counts.Add(sink.CountsOf(messages)), err
}

// ErrKeyCollision is returned when rows that are to be merged have one primary key, and the job does not say that the last
// one wins.
var ErrKeyCollision = errors.New("rows have the same primary key")

// collided names the shards of rows with one key.
func (m *merging) collided(ctx context.Context, met *shuffle.Collisions) error {
	shards, err := m.ledger.ShardsOf(ctx, m.plan, func(yield func(int) bool) {
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
