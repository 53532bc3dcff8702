package explanation

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/tributary-lake/tributary/activities/dryrun"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// Explanation is a plan as a person reads it. Lists are cut to shownShards; counts are whole.
type Explanation struct {
	Table  string `json:"table"`
	Target string `json:"target"`
	// Create tells that the target does not exist yet; Replace that its rows will be replaced.
	Create  bool `json:"create"`
	Replace bool `json:"replace"`
	// Base is the target's newest snapshot, 0 for none.
	Base        int64  `json:"base_snapshot"`
	Consistency string `json:"consistency"`
	// Moments tell how connections of each instance would be opened at one moment, where Consistency asks for it.
	Moments    []source.MomentPlan `json:"moments,omitempty"`
	Columns    []Column            `json:"columns"`
	Partition  []string            `json:"partition,omitempty"`
	Shards     []Shard             `json:"shards"`
	ShardCount int                 `json:"shard_count"`
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

// Column is a column of the target.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Source is the definition in the first shard that has the column, the provenance that fills it, or NULL.
	Source string `json:"source"`
}

// Shard is a shard and how it is cut.
type Shard struct {
	Shard  string `json:"shard"`
	Rows   int64  `json:"rows_estimate"`
	Bytes  int64  `json:"bytes_estimate"`
	Splits int    `json:"splits"`
	// SplitRows are the estimates of the shard's splits.
	SplitRows dryrun.SplitRows `json:"split_rows"`
	Key       string           `json:"split_by"`
	// Window is what is new, of an incremental run.
	Window *source.Window `json:"window,omitempty"`
}

// shownShards keeps an explanation far below what a workflow's result may hold.
const shownShards = 500

// shownDrifts does the same for lists whose lines are longer.
const shownDrifts = 200

// Plan is what is explained.
type Plan struct {
	// Tables are the shards, Splits and Outputs how each is cut and read.
	Tables  []source.Table
	Splits  [][]source.Split
	Outputs [][]source.Output
	// Schema is what the run would write with.
	Schema  *schema.Table
	Drifts  []source.Drift
	LeftOut []source.LeftOut
	// Notes stand before the losses.
	Notes []string
}

// Of explains a plan. What the target is and what a dry run says is added by the caller.
func Of(p Plan) *Explanation {
	x := &Explanation{
		Partition: p.Schema.PartitionKeys, ShardCount: len(p.Tables), LeftOut: shownLeftOut(p.LeftOut), LeftOutCount: len(p.LeftOut),
		SplitRows: dryrun.Spread(slices.Concat(p.Splits...)), Buckets: buckets(p.Schema),
	}
	groups := source.GroupDrifts(p.Drifts)
	x.Drift = groups[:min(len(groups), shownDrifts)]
	for i, f := range p.Schema.Fields {
		x.Columns = append(x.Columns, Column{Name: f.Name, Type: f.Type.String(), Source: from(p.Outputs, i)})
	}
	losses := map[string]bool{}
	for i, t := range p.Tables {
		n := rows(p.Splits[i])
		x.Splits += len(p.Splits[i])
		x.Rows += n
		x.Bytes += t.Bytes
		for _, l := range t.Losses {
			losses[fmt.Sprintf("%s: %s (%s)", l.Column, l.What, l.Policy)] = true
		}
		if i < shownShards {
			x.Shards = append(x.Shards, Shard{
				Shard: t.Shard.String(), Rows: n, Bytes: t.Bytes, Splits: len(p.Splits[i]), SplitRows: dryrun.Spread(p.Splits[i]),
				Key: splitKey(p.Splits[i]), Window: t.Window,
			})
		}
	}
	for l := range losses {
		x.Losses = append(x.Losses, l)
	}
	sort.Strings(x.Losses)
	x.Losses = slices.Concat(p.Notes, x.Losses)
	return x
}

// Tried adds what a dry run saw; nil is none.
func (x *Explanation) Tried(r *dryrun.Result) {
	if x.Sample = r; r == nil {
		return
	}
	for _, f := range r.Findings {
		if f.Refused {
			x.Refused = append(x.Refused, f.String())
		}
	}
}

// rows is how many rows a shard has, by the estimates of its splits, which know of the job's condition and of statistics
// that are stale; one that is empty has no split.
func rows(splits []source.Split) int64 {
	var n int64
	for _, s := range splits {
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
	shown := slices.Clone(all[:min(len(all), shownDrifts)])
	for i := range shown {
		shown[i].Drifts = shown[i].Drifts[:min(len(shown[i].Drifts), reasons)]
	}
	return shown
}

// from tells what fills a column: the definition in the first shard that has it, or a name.
func from(all [][]source.Output, column int) string {
	for _, outputs := range all {
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
