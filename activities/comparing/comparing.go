package comparing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/fit"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/source"
)

// CompareName is the activity's name as Temporal knows it: never changed.
const CompareName = "Compare"

// Input asks for the comparison of one table.
type Input struct {
	// Job is the job file as JSON, secrets as references.
	Job   json.RawMessage `json:"job"`
	Table string          `json:"table"`
}

// State is what a comparison found.
type State string

// The states, of a group of shards and of a table, whose is the gravest.
const (
	// Equal: the same rows.
	Equal State = "equal"
	// Changed: they differ, and the source's log has changes of a shard since the cut, or may have.
	Changed State = "changed since"
	// Unknown: they differ, and whether the source changed since cannot be known.
	Unknown State = "unknown"
	// Fault: they differ although the source did not change.
	Fault State = "fault"
)

// gravity orders states.
func (s State) gravity() int { return slices.Index([]State{Equal, Changed, Unknown, Fault}, s) }

// Result is what the comparison of one table found.
type Result struct {
	Table  string `json:"table"`
	Target string `json:"target"`
	State  State  `json:"state"`
	// Snapshot that was read, 0 where the table has none.
	Snapshot   int64 `json:"snapshot"`
	Shards     int   `json:"shards"`
	SourceRows int64 `json:"source_rows"`
	TableRows  int64 `json:"table_rows"`
	// Groups are shards whose rows can be told from others', those that differ first; More is how many are not listed.
	Groups []Group `json:"groups,omitempty"`
	More   int     `json:"more,omitempty"`
	// Notes are what a person should know, a sentence each.
	Notes []string `json:"notes,omitempty"`
	// Refused says why there is no comparison, if there is none.
	Refused string `json:"refused,omitempty"`
}

// Group is what was found of the shards whose rows have the same provenance.
type Group struct {
	// Shards names the first of them, More is how many others there are. None is for rows whose provenance no shard has.
	Shards     []string `json:"shards,omitempty"`
	More       int      `json:"more,omitempty"`
	State      State    `json:"state"`
	SourceRows int64    `json:"source_rows"`
	TableRows  int64    `json:"table_rows"`
	// SourceSum and TableSum are the sums of the rows, as 16 hexadecimal digits.
	SourceSum string `json:"source_sum"`
	TableSum  string `json:"table_sum"`
	// Why says what the state follows from, where they differ.
	Why string `json:"why,omitempty"`
}

// Comparer compares tables.
type Comparer struct {
	Env activities.Env
	// Memory is what all that this process reads and writes at the same time shares.
	Memory *budget.Budget
}

// Compare compares one table. What cannot be compared is an activities.ErrPlanRefused.
func (c *Comparer) Compare(ctx context.Context, in Input) (*Result, error) {
	defer activities.Beat(ctx)()
	s, err := c.Env.Open(ctx, in.Job, in.Table)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	x := &comparison{session: s}
	if err := x.open(ctx); err != nil {
		return nil, err
	}
	share, err := c.Memory.Join(ctx, s.Spec.Job, s.Spec.Memory)
	if err != nil {
		return nil, err
	}
	defer share.Leave()
	share.Fixed()
	if err := x.sumSource(ctx); err != nil {
		return nil, err
	}
	if err := x.sumTable(ctx); err != nil {
		return nil, err
	}
	return x.judge(ctx)
}

// comparison is one in the making.
type comparison struct {
	session *activities.Session
	table   *lake.Table
	tables  []source.Table
	// outputs tells for each shard how it is read into the table's columns.
	outputs [][]source.Output
	mark    *source.Mark
	// latest is what is read, made the newest snapshot of the job; each may be nil.
	latest, made *snapshot.Snapshot
	groups       *groups
	notes        []string
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", activities.ErrPlanRefused, fmt.Errorf(format, args...))
}

// open finds out what is to be compared. Neither a row nor a data file is read.
func (x *comparison) open(ctx context.Context) error {
	spec := x.session.Spec
	if spec.Watermark != "" {
		return refuse("mode: incremental: rows past the watermark are not in the table, and changed ones need not be, so that its rows are not compared with the source")
	}
	existing, err := x.session.Catalog.LoadTable(ctx, spec.Target)
	if errors.Is(err, catalog.ErrNotExist) {
		return refuse("the target %s does not exist: nothing was committed", spec.Target)
	}
	if err != nil {
		return fmt.Errorf("load target %s: %w", spec.Target, err)
	}
	x.table = lake.NewTable(x.session.Warehouse, x.session.Catalog.Path(spec.Target), existing)
	if err := x.snapshots(ctx); err != nil {
		return err
	}
	if err := x.shards(ctx, existing); err != nil {
		return err
	}
	if len(existing.PrimaryKeys) > 0 {
		if merges, err := mergetree.SpecOf(existing); err != nil || merges.Engine != mergetree.Deduplicate {
			return refuse("the target %s does not keep the last row of each key (merge-engine): its rows are not those of the source", spec.Target)
		}
	}
	if spec.Deletes.Column != "" {
		if x.mark, err = spec.Deletes.Mark(existing); err != nil {
			return refuse("soft_delete: %w", err)
		}
		if x.outputs[0][x.mark.Output].Provenance != "" {
			return refuse("soft_delete: column %s is filled from shards' names", spec.Deletes.Column)
		}
	}
	x.groups, err = newGroups(x.tables, x.outputs)
	if len(x.groups.places) == 0 && len(x.tables) > 1 {
		x.notes = append(x.notes, "the table has no provenance columns, so all shards are compared as one: with `provenance` a difference would name its shard")
	}
	return err
}

// shards finds them and how they are read into the table.
func (x *comparison) shards(ctx context.Context, existing *schema.Table) error {
	found, err := x.session.Source.Discover(ctx)
	if err != nil {
		return err
	}
	merged, err := x.session.Source.Merge(found)
	if err != nil {
		return err
	}
	for _, t := range found {
		if !slices.ContainsFunc(merged.LeftOut, func(l source.LeftOut) bool { return l.Shard == t.Shard }) {
			x.tables = append(x.tables, t)
		}
	}
	for _, l := range merged.LeftOut {
		x.notes = append(x.notes, fmt.Sprintf("shard %s is left out, as it differs from the others: it is not compared", l.Shard))
	}
	if len(x.tables) == 0 {
		return refuse("all shards are left out")
	}
	fitted, err := fit.Existing(x.session.Spec.Wanted(), fit.Shards{Tables: x.tables, Fields: merged.Fields, Outputs: merged.Outputs}, existing)
	if err != nil {
		return refuse("%w", err)
	}
	if len(fitted.Changes) > 0 {
		var changes []string
		for _, c := range fitted.Changes {
			changes = append(changes, c.String())
		}
		return refuse("the columns of the source are not those of the table any more, which the next run will change (%s): run first", strings.Join(changes, "; "))
	}
	x.outputs = fitted.Outputs
	return nil
}

// snapshots finds the one to read and the one that the job made, and notes who changed the table after it.
func (x *comparison) snapshots(ctx context.Context) error {
	m := snapshot.NewManager(x.session.Warehouse, x.session.Catalog.Path(x.session.Spec.Target))
	ids, err := m.List(ctx)
	if err != nil {
		return fmt.Errorf("list the snapshots of %s: %w", x.session.Spec.Target, err)
	}
	for _, id := range slices.Backward(ids) {
		s, err := m.Get(ctx, id)
		if err != nil {
			return err
		}
		if x.latest == nil {
			x.latest = s
		}
		if s.CommitKind != snapshot.Append && s.CommitKind != snapshot.Overwrite {
			continue
		}
		if s.Properties[activities.JobProperty] == x.session.Spec.Job {
			x.made = s
			break
		}
		if x.made == nil {
			x.notes = append(x.notes, fmt.Sprintf("snapshot %d (%s) is not of this job, but of %s", s.ID, s.CommitKind, s.CommitUser))
		}
	}
	return x.added()
}

// added refuses a table to which rows were added that were read at another time: nobody can tell which of them are of which run.
func (x *comparison) added() error {
	switch {
	case x.session.Spec.Deletes.Refresh || x.latest == nil:
	case x.made == nil:
		return refuse("mode: append: no snapshot of job %s is left, so that it is not known whether the table's rows are of one run", x.session.Spec.Job)
	case x.made.TotalRecordCount != x.made.DeltaRecordCount:
		return refuse("mode: append: snapshot %d added %d rows to others: the table's rows are not of one run, and which are cannot be told",
			x.made.ID, x.made.DeltaRecordCount)
	}
	return nil
}
