package source

import (
	"fmt"
	"strings"

	"github.com/tributary-lake/tributary/lake/schema"
)

// merger collects the columns of one shard after the other.
type merger struct {
	options MergeOptions
	// reference is the shard that others are compared with.
	reference *Table
	columns   []*mergerColumn
	// byKey finds the first column of a key, names what the reference has.
	byKey  map[string]*mergerColumn
	names  map[string]Column
	shards int

	losses, refusedLosses []ShardLoss
	drifts                []columnDrift
	refusedDrifts         []columnDrift
	leftOut               []LeftOut
}

// mergerColumn is a column in the making.
type mergerColumn struct {
	// name is the target's, source the shards', and key how that is compared.
	name, source, key string
	// first is the column in the first shard that has it, which is from; nil as long as none has it.
	first *Column
	from  Shard
	// merged and form hold the values of all shards so far. A column that a policy refuses has no type.
	merged schema.Type
	form   string
	// shards counts those that have it.
	shards int
}

// columnDrift is a difference whose outcome is known when all shards are merged; column is nil for one of the shard.
type columnDrift struct {
	Drift
	column *mergerColumn
}

// comparison is what merging a shard would do.
type comparison struct {
	drifts, conflicts []columnDrift
	extra             []*mergerColumn
	updates           []columnUpdate
}

type columnUpdate struct {
	column *mergerColumn
	found  Column
	merged schema.Type
	form   string
}

func newMerger(reference *Table, o MergeOptions) *merger {
	g := &merger{options: o, reference: reference, byKey: map[string]*mergerColumn{}, names: reference.byName()}
	for _, s := range o.Columns {
		name := s.As
		if name == "" {
			name = s.Name
		}
		g.append(&mergerColumn{name: name, source: s.Name, key: fold(s.Name)})
	}
	if len(o.Columns) == 0 {
		for _, c := range reference.Columns {
			g.append(&mergerColumn{name: c.Name, source: c.Name, key: fold(c.Name)})
		}
	}
	return g
}

func (g *merger) append(c *mergerColumn) {
	g.columns = append(g.columns, c)
	if g.byKey[c.key] == nil {
		g.byKey[c.key] = c
	}
}

// add merges a shard, leaves it out, or notes why it cannot be merged and takes of it what can.
func (g *merger) add(t *Table) {
	c := g.compare(t)
	if len(c.conflicts) > 0 && g.options.Drift == DriftQuarantine {
		g.leftOut = append(g.leftOut, LeftOut{Shard: t.Shard, Rows: t.Rows, Drifts: settled(c.conflicts)})
		return
	}
	for _, e := range c.extra {
		g.append(e)
	}
	for _, u := range c.updates {
		if u.column.first == nil {
			u.column.first, u.column.from = &u.found, t.Shard
		}
		u.column.merged, u.column.form = u.merged, u.form
		u.column.shards++
	}
	g.shards++
	g.drifts = append(g.drifts, c.drifts...)
	g.refusedDrifts = append(g.refusedDrifts, c.conflicts...)
	for _, l := range t.Losses {
		switch {
		case len(g.options.Columns) > 0 && !selects(g.options.Columns, l.Column):
		case l.Refused:
			g.refusedLosses = append(g.refusedLosses, ShardLoss{t.Shard, l})
		default:
			g.losses = append(g.losses, ShardLoss{t.Shard, l})
		}
	}
}

// compare tells what merging a shard would do, and changes nothing.
func (g *merger) compare(t *Table) *comparison {
	c := &comparison{}
	strict := g.options.Drift == DriftStrict
	own := t.byName()
	found := 0
	for _, column := range g.columns {
		o, ok := own[column.key]
		switch {
		case ok:
			found++
			d := g.drift(t, o.Name, column)
			if strict && column.first != nil && !g.alike(o.Definition, column.first.Definition) {
				d.Kind, d.Found = DriftType, o.Definition
				c.note(d, false)
				continue
			}
			c.take(d, o, column)
		case len(g.options.Columns) > 0 || g.has(column.key):
			d := g.drift(t, column.source, column)
			d.Kind = DriftMissing
			c.note(d, !strict)
		}
	}
	if len(g.options.Columns) == 0 {
		for _, o := range t.Columns {
			key := fold(o.Name)
			if g.has(key) {
				continue
			}
			d := columnDrift{Drift: Drift{
				Kind: DriftExtra, Shard: t.Shard, Column: o.Name, Found: o.Definition, Reference: g.reference.Shard,
			}, column: g.byKey[key]}
			if d.column == nil {
				d.column = &mergerColumn{name: o.Name, source: o.Name, key: key}
				c.extra = append(c.extra, d.column)
				c.updates = append(c.updates, columnUpdate{d.column, o, o.Type, o.Form})
			}
			c.note(d, !strict)
		}
	}
	if found == 0 {
		c.note(columnDrift{Drift: Drift{Kind: DriftNothing, Shard: t.Shard, Reference: g.reference.Shard}}, false)
	}
	if a, b := strings.Join(t.PrimaryKey, ", "), strings.Join(g.reference.PrimaryKey, ", "); fold(a) != fold(b) {
		c.note(columnDrift{Drift: Drift{Kind: DriftPrimaryKey, Shard: t.Shard, Found: a, Reference: g.reference.Shard, Expected: b}}, false)
	}
	return c
}

func (g *merger) alike(a, b string) bool {
	return a == b || g.options.Alike != nil && g.options.Alike(a, b)
}

// note keeps a difference as one that is merged, or as one that is not.
func (c *comparison) note(d columnDrift, tolerated bool) {
	if tolerated {
		c.drifts = append(c.drifts, d)
	} else {
		c.conflicts = append(c.conflicts, d)
	}
}

// take brings the shard's column o into the merged one; d is a drift between both whose kind is still open.
func (c *comparison) take(d columnDrift, o Column, column *mergerColumn) {
	u := columnUpdate{column, o, o.Type, o.Form}
	d.Found = o.Definition
	if column.first == nil || column.merged.Kind == 0 || o.Type.Kind == 0 {
		c.updates = append(c.updates, u)
		return
	}
	first := column.first
	same := schema.Equal(o.Type.WithNotNull(false), first.Type.WithNotNull(false)) && o.Form == first.Form
	var ok bool
	u.merged, u.form, ok = commonColumn(column.merged, column.form, o.Type, o.Form)
	switch {
	case !ok:
		d.Kind = DriftType
		c.note(d, false)
		return
	case !same:
		d.Kind = DriftType
		c.note(d, true)
	case o.Type.NotNull != first.Type.NotNull:
		d.Kind = DriftNullability
		c.note(d, true)
	}
	c.updates = append(c.updates, u)
}

// drift is one between a shard and the first that has the column.
func (g *merger) drift(t *Table, name string, column *mergerColumn) columnDrift {
	d := columnDrift{Drift: Drift{Shard: t.Shard, Column: name}, column: column}
	if column.first != nil {
		d.Reference, d.Expected = column.from, column.first.Definition
	}
	return d
}

func (g *merger) has(key string) bool {
	_, ok := g.names[key]
	return ok
}

// settled are drifts with what is known when all shards are merged.
func settled(drifts []columnDrift) []Drift {
	var out []Drift
	for _, d := range drifts {
		if d.Kind == DriftMissing {
			if d.column.first == nil {
				continue // no shard that is merged has it
			}
			d.Reference, d.Expected = d.column.from, d.column.first.Definition
		}
		out = append(out, d.Drift)
	}
	return out
}

// merged is the result, once all shards were added and nothing was refused.
func (g *merger) merged() (*Merged, error) {
	m := &Merged{Provenance: g.options.Provenance, Losses: g.losses, LeftOut: g.leftOut}
	var missing []string
	for _, c := range g.columns {
		if c.first == nil {
			missing = append(missing, c.source)
			continue
		}
		c.merged = c.merged.WithNotNull(c.merged.NotNull && c.shards == g.shards)
		m.Columns = append(m.Columns, MergedColumn{Name: c.name, Source: c.first.Name, Type: c.merged, Comment: c.first.Comment})
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: columns %q are selected, but only shards that are left out have them", ErrRefused, missing)
	}
	for i := range g.drifts {
		g.drifts[i].Outcome, g.drifts[i].Loss = g.drifts[i].outcome()
	}
	m.Drifts = settled(g.drifts)
	m.PrimaryKey = m.targetNames(g.reference.PrimaryKey)
	return m, m.checkNames()
}

// outcome says what became of the difference, and what is lost by it.
func (d columnDrift) outcome() (outcome, loss string) {
	const none = "no value is lost"
	switch d.Kind {
	case DriftType:
		return "becomes " + d.column.merged.WithNotNull(false).String(), none
	case DriftNullability:
		return "may be NULL", none
	case DriftMissing:
		return "is NULL in its rows", "no default is filled in"
	case DriftExtra:
		return "is added as " + d.column.merged.String() + ", NULL in the rows of shards that lack it", none
	case DriftPrimaryKey, DriftNothing:
	}
	return "", ""
}
