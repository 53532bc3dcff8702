package comparing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/tally"
)

const (
	// listedGroups and listedShards bound a result, which becomes a part of a history.
	listedGroups = 200
	listedShards = 5
)

// judge says of all groups what was found, and of those that differ why that is.
func (x *comparison) judge(ctx context.Context) (*Result, error) {
	out := &Result{
		Table: x.session.Spec.Name, Target: x.session.Spec.Warehouse + " " + x.session.Spec.Target.String(),
		State: Equal, Shards: len(x.tables), Notes: x.notes,
	}
	if x.latest != nil {
		out.Snapshot = int64(x.latest.ID)
	}
	since, err := x.since(ctx)
	if err != nil {
		return nil, err
	}
	var list []Group
	for i := range x.groups.list {
		g := &x.groups.list[i]
		found := groupOf(g.shards, g.there, g.table)
		if found.State != Equal {
			found.State, found.Why = x.verdict(g, since)
		}
		list = append(list, found)
	}
	if strays := x.groups.strays; strays.Rows > 0 {
		found := groupOf(nil, tally.Sum{}, strays)
		found.State, found.Why = x.verdict(&group{}, since)
		found.Why = fmt.Sprintf("rows with the provenance %s, which no shard has; %s", x.groups.stray, found.Why)
		list = append(list, found)
	}
	for _, g := range list {
		out.SourceRows += g.SourceRows
		out.TableRows += g.TableRows
		if g.State.gravity() > out.State.gravity() {
			out.State = g.State
		}
	}
	slices.SortStableFunc(list, func(a, b Group) int { return cmp.Compare(b.State.gravity(), a.State.gravity()) })
	out.Groups = list[:min(len(list), listedGroups)]
	out.More = len(list) - len(out.Groups)
	return out, nil
}

func groupOf(shards []source.Shard, there, table tally.Sum) Group {
	g := Group{
		State: Equal, SourceRows: there.Rows, TableRows: table.Rows,
		SourceSum: fmt.Sprintf("%016x", there.Sum), TableSum: fmt.Sprintf("%016x", table.Sum),
	}
	if !there.Same(table) {
		g.State = Fault // until something speaks against it
	}
	for _, s := range shards[:min(len(shards), listedShards)] {
		g.Shards = append(g.Shards, s.String())
	}
	g.More = len(shards) - len(g.Shards)
	return g
}

// since asks the logs of the instances of shards that differ what was changed after the job's cut, now that all is summed. Rows of no
// shard may be those of one that is gone, from any instance.
func (x *comparison) since(ctx context.Context) (map[string]source.Logged, error) {
	asked := map[string][]source.Shard{}
	for i := range x.groups.list {
		g := &x.groups.list[i]
		for _, s := range g.shards {
			if x.groups.strays.Rows > 0 || !g.there.Same(g.table) {
				asked[s.Instance] = append(asked[s.Instance], s)
			}
		}
	}
	out := map[string]source.Logged{}
	for instance, shards := range asked {
		cut, unknown := x.cut(instance)
		if unknown != "" {
			out[instance] = source.Logged{Unknown: unknown}
			continue
		}
		since, err := x.session.Sums.Since(ctx, instance, cut, shards)
		if err != nil {
			return nil, err
		}
		out[instance] = since
	}
	return out, nil
}

// cut is the position that what the job committed of an instance reflects, or the first of several.
func (x *comparison) cut(instance string) (cut source.Position, unknown string) {
	if x.made == nil {
		return cut, fmt.Sprintf("no snapshot of job %s is left that says which position its rows reflect", x.session.Spec.Job)
	}
	text, ok := x.made.Properties[activities.CutProperty+instance]
	if !ok {
		return cut, fmt.Sprintf("snapshot %d says of no position that its rows reflect it: run with consistency: shard or instance", x.made.ID)
	}
	var c source.Cut
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return cut, fmt.Sprintf("the cut in snapshot %d cannot be read", x.made.ID)
	}
	if c.Position.Unknown != "" {
		return cut, "the position that the rows reflect is not known: " + c.Position.Unknown
	}
	return c.Position, ""
}

// verdict is of a group that differs.
func (x *comparison) verdict(g *group, since map[string]source.Logged) (State, string) {
	instances := map[string]bool{}
	for _, s := range g.shards {
		if since[s.Instance].Changed[s] {
			return Changed, fmt.Sprintf("shard %s was changed after the rows were read", s)
		}
		instances[s.Instance] = true
	}
	if len(g.shards) == 0 {
		for instance := range since {
			instances[instance] = true
		}
	}
	for _, instance := range slices.Sorted(maps.Keys(instances)) {
		if why := since[instance].Unknown; why != "" {
			return Unknown, fmt.Sprintf("instance %s: %s", instance, why)
		}
	}
	if x.session.Spec.LastWins && len(g.shards) > 0 && g.there.Rows >= g.table.Rows {
		return Unknown, "rows that have the key of a later one are not in the table (on_key_collision: last_wins)"
	}
	return Fault, "the binary log has no change since the rows were read"
}
