package fit

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// Existing brings an existing target and the schema of the shards together. Under [source.DriftStrict] both must be alike,
// under the other policies:
//
//   - a column of a wider type, one that may be NULL, and one that the target lacks change the target;
//   - a column of a narrower type is written in the target's;
//   - a column that only the target has is NULL in what the run writes.
//
// It changes nothing itself, and gives the same for a target that has been changed so.
func Existing(w Wanted, s Shards, target *schema.Table) (*Fitted, error) {
	f := fitting{wanted: w, shards: s, target: target, taken: map[int]bool{}}
	if a, b := strings.Join(f.target.PartitionKeys, ", "), strings.Join(w.PartitionKeys, ", "); a != b {
		f.differ("the target is partitioned by (%s), the job says (%s)", a, b)
	}
	f.buckets()
	f.key()
	f.columns()
	planned := f.target
	if len(f.diffs) == 0 && len(f.changes) > 0 {
		var err error
		if planned, err = f.target.Alter(f.changes...); err != nil {
			f.differ("%s", err)
		}
	}
	if len(f.diffs) > 0 {
		sort.Strings(f.diffs)
		return nil, fmt.Errorf("target %s exists with another schema: %s. Change the job's columns or name another target",
			w.Target, strings.Join(f.diffs, "; "))
	}
	return &Fitted{Planned: planned, Changes: f.changes, Notes: f.notes, Outputs: s.arrange(planned)}, nil
}

// fitting is the comparison of a target with the schema of the shards.
type fitting struct {
	wanted  Wanted
	shards  Shards
	target  *schema.Table
	taken   map[int]bool
	diffs   []string
	changes []schema.Change
	notes   []string
}

func (f *fitting) differ(format string, args ...any) {
	f.diffs = append(f.diffs, fmt.Sprintf(format, args...))
}

// buckets compares the numbers of buckets. A refresh that replaces all rows may have another one than before; until it is
// committed the files that are there keep theirs, and writers of other engines wait for it.
func (f *fitting) buckets() {
	want, has := f.wanted.Options[schema.OptionBucket], f.target.Options[schema.OptionBucket]
	if want == "" || want == has {
		return
	}
	const why = "the target has bucket = %s, the job says %s"
	if !f.wanted.Overwrite || f.strict() {
		f.differ(why, cmp.Or(has, "-1"), want)
		return
	}
	f.change(schema.SetOption(schema.OptionBucket, want), why, cmp.Or(has, "-1"), want)
}

func (f *fitting) strict() bool { return f.wanted.Drift == source.DriftStrict }

// columns compares the columns by name.
func (f *fitting) columns() {
	common := false
	for _, t := range f.target.Fields {
		i := columnOf(f.target.Fields, t.Name, f.shards.Fields)
		if i < 0 {
			f.onlyInTarget(t)
			continue
		}
		f.taken[i] = true
		common = common || !f.provenance(i)
		f.both(t, f.shards.Fields[i].Type)
	}
	for i, m := range f.shards.Fields {
		switch {
		case f.taken[i]:
		case f.strict():
			f.differ("column %s %s is only in the source", m.Name, m.Type)
		default:
			// Rows in place have no value for it.
			m.Type.NotNull = false
			f.change(schema.AddColumn(m, schema.Position{}), "column %s %s is only in the source", m.Name, m.Type)
		}
	}
	if !common && !f.strict() {
		f.differ("none of the source's columns is in the target")
	}
}

// provenance tells whether a merged column holds a name of the shards.
func (f *fitting) provenance(i int) bool {
	outputs := f.shards.Outputs
	return len(outputs) > 0 && outputs[0][i].Provenance != ""
}

// onlyInTarget decides on a column that no shard has.
func (f *fitting) onlyInTarget(t schema.Field) {
	if f.strict() || t.Type.NotNull || slices.Contains(f.target.PartitionKeys, t.Name) || slices.Contains(f.target.BucketKeys(), t.Name) {
		f.differ("column %s %s is only in the target", t.Name, t.Type)
		return
	}
	f.notes = append(f.notes, fmt.Sprintf("column %s %s of the target is in no shard: it is NULL in all that the run writes", t.Name, t.Type))
}

// both decides on a column of the target that the source has too, as type got.
func (f *fitting) both(t schema.Field, got schema.Type) {
	const why = "column %s is %s in the target and %s in the source"
	wide, ok := source.CommonType(t.Type, got)
	if !ok || f.strict() && !schema.Equal(wide, t.Type) || f.strict() && !schema.Equal(got.WithNotNull(false), t.Type.WithNotNull(false)) {
		f.differ(why, t.Name, t.Type, got)
		return
	}
	if !schema.Equal(wide.WithNotNull(false), t.Type.WithNotNull(false)) {
		f.change(schema.ChangeType(t.Name, wide.WithNotNull(t.Type.NotNull)), why, t.Name, t.Type, got)
	}
	if t.Type.NotNull && !wide.NotNull {
		f.change(schema.SetNullable(t.Name, true), why, t.Name, t.Type, got)
	}
}

// change keeps a change if the target takes it; else why, a format and its arguments, is a difference.
func (f *fitting) change(c schema.Change, why string, args ...any) {
	if _, err := f.target.Alter(c); err != nil {
		f.differ(why+" (%s)", append(args, err)...)
		return
	}
	f.changes = append(f.changes, c)
}

// columnOf finds the source's column for a name of the target: the same, else one that differs in case alone, as MySQL's
// names have none. -1 means there is none.
func columnOf(target []schema.Field, name string, columns []schema.Field) int {
	equal := func(a string) func(schema.Field) bool { return func(f schema.Field) bool { return f.Name == a } }
	if i := slices.IndexFunc(columns, equal(name)); i >= 0 {
		return i
	}
	return slices.IndexFunc(columns, func(f schema.Field) bool {
		return strings.EqualFold(f.Name, name) && !slices.ContainsFunc(target, equal(f.Name))
	})
}

// arrange puts the outputs of every shard in the order of the planned schema, with its types: what a shard lacks is NULL,
// and what it has may be narrower or never NULL.
func (s Shards) arrange(planned *schema.Table) [][]source.Output {
	at := make([]int, len(planned.Fields))
	for to, f := range planned.Fields {
		at[to] = columnOf(planned.Fields, f.Name, s.Fields)
	}
	all := make([][]source.Output, len(s.Outputs))
	for i, outputs := range s.Outputs {
		sorted := make([]source.Output, len(at))
		for to, from := range at {
			if from >= 0 {
				sorted[to] = outputs[from]
			}
			sorted[to].Type = planned.Fields[to].Type
		}
		all[i] = sorted
	}
	return all
}
