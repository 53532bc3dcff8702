package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/schema"
)

// Select names a column to read, and the name that it gets in the target.
type Select struct {
	Name string `json:"name"`
	// As is the target's name; empty means Name.
	As string `json:"as,omitempty"`
}

// MergeOptions decide what a merged table holds.
type MergeOptions struct {
	// Columns are those to read, in the target's order; empty means all, in the order that most shards have.
	Columns []Select
	// Provenance columns follow them.
	Provenance Provenance
	// Drift tells what becomes of shards that differ; empty means [DriftWiden].
	Drift DriftPolicy
	// Alike tells under [DriftStrict] whether two definitions are the same to the source; nil compares their texts.
	Alike func(a, b string) bool
}

// MergedColumn is a column of the logical table.
type MergedColumn struct {
	// Name in the target.
	Name string `json:"name"`
	// Source is its name in the shards, as the first one that has it spells it.
	Source string `json:"source"`
	// Type is wide enough for every shard: nullable as soon as one of them is or lacks the column.
	Type schema.Type `json:"type"`
	// Comment is the first shard's.
	Comment string `json:"comment,omitempty"`
}

// Merged is the schema of a logical table, made of its shards'.
type Merged struct {
	Columns    []MergedColumn `json:"columns"`
	Provenance Provenance     `json:"provenance"`
	// PrimaryKey is the shards' own key in the target's names; empty when they have none or a part of it is not selected.
	// It identifies a row within its shard only.
	PrimaryKey []string `json:"primary_key,omitempty"`
	// Losses of all shards in the columns read.
	Losses []ShardLoss `json:"losses,omitempty"`
	// Drifts are the differences between the shards that were merged, and what became of them.
	Drifts []Drift `json:"drifts,omitempty"`
	// LeftOut are the shards that [DriftQuarantine] left out: nothing of them may be read.
	LeftOut []LeftOut `json:"left_out,omitempty"`
}

// Keeps tells whether a shard was not left out.
func (m *Merged) Keeps(s Shard) bool {
	return !slices.ContainsFunc(m.LeftOut, func(l LeftOut) bool { return l.Shard == s })
}

// Merge makes one schema of the shards of a logical table. Columns are found by name, whatever their order; names are
// compared as MySQL does, without case. The shards must have the same primary key. What else may differ, and what becomes
// of it, is up to the policy; what it does not let pass gives a [*DriftError] with all such differences. Columns that a
// policy of types refuses give a [*RefusedError].
//
// The shard that others are compared with is the first of those that are alike in the greatest number.
func Merge(tables []Table, o MergeOptions) (*Merged, error) {
	if len(tables) == 0 {
		return nil, errors.New("merge: there is no shard")
	}
	if err := checkSelection(tables, o.Columns); err != nil {
		return nil, err
	}
	order := byAgreement(tables, o.Columns)
	g := newMerger(&tables[order[0]], o)
	for _, i := range order {
		g.add(&tables[i])
	}
	if o.Drift == DriftQuarantine && 2*len(g.leftOut) >= len(tables) {
		for _, l := range g.leftOut { // nobody knows which are the odd ones
			for _, d := range l.Drifts {
				g.refusedDrifts = append(g.refusedDrifts, columnDrift{Drift: d})
			}
		}
	}
	var errs []error
	if len(g.refusedLosses) > 0 {
		errs = append(errs, &RefusedError{Losses: g.refusedLosses})
	}
	if len(g.refusedDrifts) > 0 {
		errs = append(errs, &DriftError{Drifts: settled(g.refusedDrifts)})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	m, err := g.merged()
	if err != nil {
		return nil, err
	}
	return m, m.checkDerived(tables)
}

// checkSelection refuses columns that no shard has.
func checkSelection(tables []Table, asked []Select) error {
	var missing []string
	for _, s := range asked {
		if !slices.ContainsFunc(tables, func(t Table) bool { return t.has(s.Name) }) {
			missing = append(missing, s.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, len(tables[0].Columns))
	for i, c := range tables[0].Columns {
		names[i] = c.Name
	}
	return fmt.Errorf("%w: columns %q are selected but %s has only %q", ErrRefused, missing, tables[0].Shard, names)
}

// byAgreement orders the shards: first those alike in what is read in the greatest number, each number in the given order.
func byAgreement(tables []Table, asked []Select) []int {
	alike := map[string]int{}
	shapes := make([]string, len(tables))
	order := make([]int, len(tables))
	for i := range tables {
		order[i] = i
		shapes[i] = tables[i].shape(asked)
		alike[shapes[i]]++
	}
	first := map[string]int{} // shapes of equal number stay apart
	for i, s := range shapes {
		if _, ok := first[s]; !ok {
			first[s] = i
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if c := alike[shapes[b]] - alike[shapes[a]]; c != 0 {
			return c
		}
		return first[shapes[a]] - first[shapes[b]]
	})
	return order
}

// shape is what decides how a shard merges: its key, and names and types of the columns that are read, in any order.
func (t *Table) shape(asked []Select) string {
	var parts []string
	for _, c := range t.Columns {
		if len(asked) == 0 || selects(asked, c.Name) {
			parts = append(parts, fmt.Sprintf("%q %s %s", fold(c.Name), c.Type.WithNotNull(false), c.Form))
		}
	}
	slices.Sort(parts)
	return fold(strings.Join(t.PrimaryKey, ", ")) + "\n" + strings.Join(parts, "\n")
}

func (t *Table) has(column string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return fold(c.Name) == fold(column) })
}

func selects(want []Select, column string) bool {
	return slices.ContainsFunc(want, func(s Select) bool { return fold(s.Name) == fold(column) })
}

// checkNames refuses a target name that is given twice.
func (m *Merged) checkNames() error {
	seen := map[string]bool{}
	for _, f := range m.Fields() {
		if key := fold(f.Name); seen[key] {
			return fmt.Errorf("%w: column name %q would appear twice in the target: rename one with columns: {name, as} or provenance", ErrRefused, f.Name)
		} else {
			seen[key] = true
		}
	}
	return nil
}

func (m *Merged) targetNames(sources []string) []string {
	var names []string
	for _, s := range sources {
		for _, c := range m.Columns {
			if fold(c.Source) == fold(s) {
				names = append(names, c.Name)
				break
			}
		}
	}
	if len(names) != len(sources) {
		return nil
	}
	return names
}

// Fields are the columns of a target table for the merged schema, with ids from 0: the shards' columns, then those of
// provenance, which are NOT NULL.
func (m *Merged) Fields() []schema.Field {
	fields := make([]schema.Field, 0, len(m.Columns)+3)
	for _, c := range m.Columns {
		fields = append(fields, schema.Field{ID: len(fields), Name: c.Name, Type: c.Type, Description: c.Comment})
	}
	for _, p := range m.Provenance.columns() {
		fields = append(fields, schema.Field{ID: len(fields), Name: p.name, Type: p.kind.WithNotNull(true)})
	}
	return fields
}

// Outputs are the columns of the batches that a read of this shard fills, in the order of [Merged.Fields].
func (m *Merged) Outputs(t Table) []Output {
	columns := t.byName()
	outputs := make([]Output, 0, len(m.Columns)+3)
	for _, c := range m.Columns {
		outputs = append(outputs, Output{Column: columns[fold(c.Source)], Type: c.Type})
	}
	for _, p := range m.Provenance.columns() {
		o := Output{Type: p.kind.WithNotNull(true), Provenance: p.origin, Derive: p.derive}
		o.Constant, _ = o.ConstantOf(t.Shard) // Merge has seen to it that there is one
		outputs = append(outputs, o)
	}
	return outputs
}

func (t *Table) byName() map[string]Column {
	columns := make(map[string]Column, len(t.Columns))
	for _, c := range t.Columns {
		columns[fold(c.Name)] = c
	}
	return columns
}

// fold is how names are compared: MySQL's column names have no case.
func fold(name string) string { return strings.ToLower(name) }
