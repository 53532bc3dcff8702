package activities

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/deletes"
	"github.com/tributary-lake/tributary/activities/merging"
	"github.com/tributary-lake/tributary/lake"
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

// PlanMerges divides the rows of all units into merges, once these are claimed. A run that has merges keeps them, and the round
// that it is in unless a later one is asked for.
func (m *Merger) PlanMerges(ctx context.Context, in PlanMergesInput) (*PlannedMerges, error) {
	defer Beat(ctx)()
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
	round, err := r.openRound(ctx, in.Round)
	if err != nil {
		return nil, err
	}
	claimed, err := r.ledger.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	pending := unclaimed(merges.Count, func(n int) bool { return claimed[merges.Unit(r.plan.Units, round, n)] })
	return &PlannedMerges{Merges: merges.Count, Rows: merges.Rows, Round: round, Pending: pending}, nil
}

// openRound gives the latest round of merges, after one was opened that is asked for.
func (r *run) openRound(ctx context.Context, wanted int) (int, error) {
	last, err := r.ledger.Round(ctx)
	if err != nil || wanted <= last {
		return last, err
	}
	if d, err := r.ledger.Decision(ctx, identifier); err != nil || d == ledger.Abort {
		return 0, cmp.Or(err, fmt.Errorf("%w: %s stands, nothing is to be merged", ErrAborted, d))
	}
	return wanted, r.ledger.OpenRound(ctx, wanted)
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
	spec, sorted := r.session.Spec, &merging.Sorted{Ledger: r.ledger, Claims: claims}
	if r.plan.Compare {
		if sorted.Also, err = deletes.Buckets(ctx, r.table); err != nil {
			return nil, err
		}
	}
	return sorted.Divide(ctx, shuffle.Limits{Most: spec.MergeBytes, AtOnce: spec.Parallelism, Whole: r.plan.Compare})
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
	merges, err := l.Merges(ctx)
	if err == nil && merges == nil {
		err = fmt.Errorf("%w: no merges were planned at %s", ErrMismatch, l.URI())
	}
	if err != nil {
		return nil, err
	}
	unit := merges.Unit(plan.Units, in.Round, in.Merge)
	if won, err := l.Winner(ctx, unit); err != nil || won != nil {
		return written(won), err
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
	t := &mergeAttempt{attempt: attempt{ledger: l, plan: plan, unit: ledger.Unit{ID: unit}, session: s, producer: m.Producer, codecs: &m.codecs, again: in.Round > 0}}
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
		return t.begin(ctx, table, content)
	})
}

// mergeAttempt is one try of a merge.
type mergeAttempt struct {
	attempt
	merged atomic.Int64
}

func (m *mergeAttempt) progress() any {
	return Progress{RowsRead: m.merged.Load(), Bytes: m.written.Load(), At: time.Now().UTC()}
}

// listedCollisions is how many rows with the key of another an error names.
const listedCollisions = 100

func (m *mergeAttempt) begin(ctx context.Context, table *lake.Table, content shuffle.Content) (abortable, work, error) {
	most := listedCollisions
	if m.plan.LastWins {
		most = 0
	}
	met := shuffle.NewCollisions(table.Schema(), most)
	spec, work := m.session.Spec, &merging.Merge{Content: content, Met: met}
	if m.plan.Checksums {
		work.Again = table
	}
	o := lake.BucketMergerOptions{
		Files: lake.WriterOptions{
			Prefix: m.record.Prefix, Guard: m.allowed, RowGroupBytes: spec.RowGroupBytes, Memory: spec.SortBytes, Codecs: m.codecs,
			Spill: m.ledger.Store(), SpillFolder: m.ledger.RunsFolder(),
		},
		SpillName: m.record.RunName,
		Sorted:    m.ledger.Store(), OnDuplicate: work.Duplicate, Upsert: !m.plan.Overwrite,
	}
	if m.plan.Compare {
		compared, err := deletes.Compare(ctx, table, m.plan.Checksums)
		if err != nil {
			return nil, nil, err
		}
		work.Compared, o.Against = compared, compared.Against
	}
	var err error
	work.Out, err = table.NewBucketMerger(o)
	return work.Out, func(ctx context.Context) ([]byte, ledger.Counts, error) { return m.merge(ctx, work, table.Schema().ID) }, err
}

// merge makes the files of all buckets.
func (m *mergeAttempt) merge(ctx context.Context, work *merging.Merge, id schema.ID) ([]byte, ledger.Counts, error) {
	work.Progress = func(rows int64) {
		m.merged.Store(rows)
		m.written.Store(work.Out.Bytes())
	}
	messages, counts, err := work.Run(ctx)
	if err == nil && len(work.Met.List) > 0 {
		err = merging.Collided(ctx, m.ledger, m.plan, work.Met)
	}
	if err != nil {
		return nil, counts, err
	}
	data, err := m.sinks().Messages.File(id, messages)
	return data, counts, err
}
