package activities

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

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
	Rows   int64               `json:"rows_estimate"`
	Bytes  int64               `json:"bytes_estimate"`
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
	Key    string `json:"split_by"`
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
	for i, t := range d.tables {
		x.Splits += len(d.splits[i])
		x.Rows += t.Rows
		x.Bytes += t.Bytes
		for _, l := range t.Losses {
			losses[fmt.Sprintf("%s: %s (%s)", l.Column, l.What, l.Policy)] = true
		}
		if i < shownShards {
			x.Shards = append(x.Shards, ExplainedShard{
				Shard: t.Shard.String(), Rows: t.Rows, Bytes: t.Bytes, Splits: len(d.splits[i]), Key: splitKey(d.splits[i]),
			})
		}
	}
	for l := range losses {
		x.Losses = append(x.Losses, l)
	}
	sort.Strings(x.Losses)
	x.Losses = slices.Concat(d.notes, d.fitNotes, x.Losses)
	return x, nil
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
