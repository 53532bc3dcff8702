package activities

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/dryrun"
	"github.com/tributary-lake/tributary/activities/explanation"
	"github.com/tributary-lake/tributary/activities/pipe"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/source"
)

// Explainer computes plans for people. It writes nothing but what a store is tried out with, which is gone afterwards.
type Explainer struct {
	Env Env
}

// Explanation is a plan as a person reads it.
type Explanation = explanation.Explanation

// Explain plans one table.
func (e *Explainer) Explain(ctx context.Context, in ExplainInput) (*Explanation, error) {
	defer Beat(ctx)()
	s, err := e.Env.Open(ctx, in.Job, in.Table)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	d, err := prepareDraft(ctx, s)
	if err != nil {
		return nil, err
	}
	x := explanation.Of(explanation.Plan{
		Tables: d.tables, Splits: d.splits, Outputs: d.outputs, Schema: d.planned, Drifts: d.merged.Drifts, LeftOut: d.merged.LeftOut,
		Notes: slices.Concat(d.notes, d.fitNotes),
	})
	x.Table, x.Target, x.Consistency = in.Table, s.Spec.Warehouse+" "+s.Spec.Target.String(), s.Source.Consistency()
	x.Create, x.Replace, x.Base, x.Alter = d.existing == nil, s.Spec.Overwrite && d.base > 0, int64(d.base), d.alters
	u := d.units(s)
	x.Units, x.Moments = len(u.Units), d.moments
	sample, err := try(ctx, s, d, in.Sample)
	if err != nil {
		return nil, err
	}
	x.Tried(sample)
	limits := s.Spec.Limits
	ways := max(1, min(limits.Parallelism, u.Connections()))
	x.Memory = dryrun.MemoryOf(ways, s.Spec.RowGroupBytes, pipe.Batches, limits.Memory, sample)
	x.Estimate = sample.Estimate(dryrun.Limits{Ways: ways, RowsPerSecond: limits.RowsPerSecond, BytesPerSecond: limits.BytesPerSecond})
	return x, nil
}

// try makes a dry run of a draft.
func try(ctx context.Context, s *Session, d *draft, in dryrun.Input) (*dryrun.Result, error) {
	p := dryrun.Plan{Schema: d.planned, Path: d.path, Where: s.Spec.Where, RowGroupBytes: s.Spec.RowGroupBytes}
	for i, t := range d.tables {
		p.Shards = append(p.Shards, dryrun.Shard{Table: t, Splits: d.splits[i], Outputs: d.outputs[i]})
	}
	return dryrun.Run(ctx, in, p, s.Source.Read, func(ctx context.Context, out *lake.Writer, read dryrun.Read, r source.Read) (source.ReadStats, error) {
		// A dry run has memory of its own: it holds few rows, and nobody waits for it.
		share, err := budget.New(s.Spec.Memory, nil).Join(ctx, s.Spec.Job, s.Spec.Memory)
		if err != nil {
			return source.ReadStats{}, err
		}
		p := pipe.Pipe{Out: out, Share: share, Rows: new(atomic.Int64), Bytes: new(atomic.Int64)}
		stats, _, err := p.Copy(ctx, pipe.Read(read), r)
		return stats, err
	})
}
