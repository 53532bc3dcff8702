package activities

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/tributary-lake/tributary/activities/dryrun"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// Explainer computes plans for people. It writes nothing.
type Explainer struct {
	Env Env
}

// Explanation is a plan as a person reads it. Lists are cut to shownShards; counts are whole.
type Explanation struct {
	Table  string `json:"table"`
	Target string `json:"target"`
	// Create tells that the target does not exist yet; Replace that its rows will be replaced.
	Create  bool `json:"create"`
	Replace bool `json:"replace"`
	// Base is the target's newest snapshot, 0 for none.
	Base        int64             `json:"base_snapshot"`
	Consistency string            `json:"consistency"`
	Columns     []ExplainedColumn `json:"columns"`
	Partition   []string          `json:"partition,omitempty"`
	Shards      []ExplainedShard  `json:"shards"`
	ShardCount  int               `json:"shard_count"`
	// Alter are the changes that a run would make to the target's schema.
	Alter []string `json:"alter,omitempty"`
	// LeftOut are the shards that no merge reconciles with the others: nothing of them would be read.
	LeftOut      []source.LeftOut `json:"left_out,omitempty"`
	LeftOutCount int              `json:"left_out_count,omitempty"`
	// Drift are the differences between the shards and what becomes of them; those that shards have alike are one.
	Drift  []source.DriftGroup `json:"drift,omitempty"`
	Splits int                 `json:"splits"`
	Units  int                 `json:"units"`
	// SplitRows are the rows of splits, as the planner estimates them.
	SplitRows dryrun.SplitRows `json:"split_rows"`
	Rows      int64            `json:"rows_estimate"`
	Bytes     int64            `json:"bytes_estimate"`
	// Buckets are the target's, for people.
	Buckets string `json:"buckets"`
	// Memory that the run needs and has.
	Memory dryrun.Memory `json:"memory"`
	// Sample is what a dry run on some rows saw, nil when there was none, and Estimate what that means for the whole.
	Sample   *dryrun.Result   `json:"sample,omitempty"`
	Estimate *dryrun.Estimate `json:"estimate,omitempty"`
	// Refused are the reasons for which a run would be refused, or would fail for sure; empty when there are none.
	Refused []string `json:"refused,omitempty"`
	// Losses are what the types' policies change, what the consistency cannot see, and other notes.
	Losses []string `json:"losses,omitempty"`
}

// ExplainedColumn is a column of the target.
type ExplainedColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Source is the definition in the first shard that has the column, the provenance that fills it, or NULL.
	Source string `json:"source"`
}

// ExplainedShard is a shard and how it is cut.
type ExplainedShard struct {
	Shard  string `json:"shard"`
	Rows   int64  `json:"rows_estimate"`
	Bytes  int64  `json:"bytes_estimate"`
	Splits int    `json:"splits"`
	// SplitRows are the estimates of the shard's splits.
	SplitRows dryrun.SplitRows `json:"split_rows"`
	Key       string           `json:"split_by"`
}

// shownShards keeps an explanation far below what a workflow's result may hold.
const shownShards = 500

// shownDrifts does the same for lists whose lines are longer.
const shownDrifts = 200

// Explain plans one table.
func (e *Explainer) Explain(ctx context.Context, in ExplainInput) (*Explanation, error) {
	defer beat(ctx)()
	s, err := e.Env.Open(ctx, in.Job, in.Table)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	d, err := prepareDraft(ctx, s)
	if err != nil {
		return nil, err
	}
	x := &Explanation{
		Table: in.Table, Target: s.Spec.Warehouse + " " + s.Spec.Target.String(), Create: d.existing == nil,
		Replace: s.Spec.Overwrite && d.base > 0, Base: int64(d.base), Consistency: s.Source.Consistency(),
		Partition: d.planned.PartitionKeys, ShardCount: len(d.tables), Alter: d.alters,
		LeftOut: shownLeftOut(d.merged.LeftOut), LeftOutCount: len(d.merged.LeftOut),
		Drift: first(source.GroupDrifts(d.merged.Drifts), shownDrifts),
	}
	_, shapeOf := shapesOf(d.outputs)
	x.Units = len(pack(d, shapeOf, s.Spec.PackRows))
	for i, f := range d.planned.Fields {
		x.Columns = append(x.Columns, ExplainedColumn{Name: f.Name, Type: f.Type.String(), Source: d.from(i)})
	}
	losses := map[string]bool{}
	x.SplitRows = dryrun.Spread(slices.Concat(d.splits...))
	x.Buckets = buckets(d.planned)
	for i, t := range d.tables {
		x.Splits += len(d.splits[i])
		x.Rows += d.rows(i)
		x.Bytes += t.Bytes
		for _, l := range t.Losses {
			losses[fmt.Sprintf("%s: %s (%s)", l.Column, l.What, l.Policy)] = true
		}
		if i < shownShards {
			x.Shards = append(x.Shards, ExplainedShard{
				Shard: t.Shard.String(), Rows: d.rows(i), Bytes: t.Bytes, Splits: len(d.splits[i]), SplitRows: dryrun.Spread(d.splits[i]),
				Key: splitKey(d.splits[i]),
			})
		}
	}
	for l := range losses {
		x.Losses = append(x.Losses, l)
	}
	sort.Strings(x.Losses)
	x.Losses = slices.Concat(d.notes, d.fitNotes, x.Losses)
	if x.Sample, err = try(ctx, s, d, in.Sample); err != nil {
		return nil, err
	}
	limits := s.Spec.Limits
	ways := max(1, min(limits.Parallelism, x.Units))
	x.Memory = dryrun.MemoryOf(ways, s.Spec.RowGroupBytes, inPipe, limits.Memory, x.Sample)
	x.Estimate = x.Sample.Estimate(dryrun.Limits{Ways: ways, RowsPerSecond: limits.RowsPerSecond, BytesPerSecond: limits.BytesPerSecond})
	if x.Sample != nil {
		for _, f := range x.Sample.Findings {
			if f.Refused {
				x.Refused = append(x.Refused, f.String())
			}
		}
	}
	return x, nil
}

// try makes a dry run of a draft.
func try(ctx context.Context, s *Session, d *draft, in dryrun.Input) (*dryrun.Result, error) {
	p := dryrun.Plan{Schema: d.planned, Path: d.path, Where: s.Spec.Where, RowGroupBytes: s.Spec.RowGroupBytes}
	for i, t := range d.tables {
		p.Shards = append(p.Shards, dryrun.Shard{Table: t, Splits: d.splits[i], Outputs: d.outputs[i]})
	}
	return dryrun.Run(ctx, in, p, s.Source.Read, func(ctx context.Context, out *lake.Writer, read dryrun.Read, r source.Read) (source.ReadStats, error) {
		p := pipe{out: out, rows: new(atomic.Int64), bytes: new(atomic.Int64)}
		return p.copy(ctx, sampled{s.Source, read}, r)
	})
}

// sampled is a source that reads in another way.
type sampled struct {
	Source
	read dryrun.Read
}

// Read reads as read does.
func (s sampled) Read(ctx context.Context, r source.Read, emit func(*row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	return s.read(ctx, r, emit)
}

// rows is how many rows a shard has, by the estimates of its splits, which know of the job's condition and of statistics
// that are stale; one that is empty has no split.
func (d *draft) rows(i int) int64 {
	var n int64
	for _, s := range d.splits[i] {
		n += s.Rows
	}
	return n
}

// buckets of a table, for people.
func buckets(t *schema.Table) string {
	switch n := cmp.Or(t.Options[schema.OptionBucket], "-1"); {
	case n != "-1":
		return fmt.Sprintf("%s in each partition, by %s", n, strings.Join(t.BucketKeys(), ", "))
	case len(t.PrimaryKeys) > 0:
		return "dynamic"
	}
	return "none (append table)"
}

// shownLeftOut cuts the list, and the reasons of each.
func shownLeftOut(all []source.LeftOut) []source.LeftOut {
	const reasons = 5
	shown := slices.Clone(first(all, shownDrifts))
	for i := range shown {
		shown[i].Drifts = first(shown[i].Drifts, reasons)
	}
	return shown
}

// from tells what fills a column: the definition in the first shard that has it, or a name.
func (d *draft) from(column int) string {
	for _, outputs := range d.outputs {
		switch o := outputs[column]; {
		case o.Derive.Pattern != "":
			return fmt.Sprintf("part of the name of the %s: %s", o.Provenance, o.Derive.Pattern)
		case o.Provenance != "":
			return "name of the " + string(o.Provenance)
		case o.Column.Name != "":
			return o.Column.Definition
		}
	}
	return "NULL"
}

// splitKey is what a shard is cut by, and why not by more.
func splitKey(splits []source.Split) string {
	key := "whole shard"
	if len(splits) == 0 {
		return key
	}
	if columns := splits[0].Columns(); len(columns) > 0 {
		key = strings.Join(columns, ", ")
	}
	if note := splits[0].Note; note != "" {
		key += " (" + note + ")"
	}
	return key
}
