package predicate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// ErrCondition is returned for a condition that does not fit the fields. Nothing but another condition helps.
var ErrCondition = errors.New("the condition does not fit the columns")

// Predicate is a condition bound to fields. It does not change and may be used from several goroutines.
type Predicate struct {
	fields []schema.Field
	root   node
}

// node is a bound condition.
type node struct {
	kind   kind
	wanted orders
	field  int // place among the fields
	typ    schema.Type
	values []row.Value // of in sorted, each once
	parts  []node
}

// Bind ties conditions, all of which must hold, to the fields of the rows to decide on; none lets every row pass. A column
// that is not there, a NULL as value (ask IsNull), a value that does not fit, and comparing nested columns give ErrCondition.
func Bind(fields []schema.Field, conditions ...Condition) (*Predicate, error) {
	p := &Predicate{fields: fields}
	root, err := p.bind(And(conditions...))
	if err != nil {
		return nil, err
	}
	p.root = root
	return p, nil
}

func (p *Predicate) bind(c Condition) (node, error) {
	n := node{kind: c.kind, wanted: c.wanted}
	if c.kind == and || c.kind == or {
		for _, part := range c.parts {
			bound, err := p.bind(part)
			if err != nil {
				return node{}, err
			}
			n.parts = append(n.parts, bound)
		}
		return n, nil
	}
	n.field = slices.IndexFunc(p.fields, func(f schema.Field) bool { return f.Name == c.column })
	if n.field < 0 {
		return node{}, fmt.Errorf("%w: there is no column %.100q", ErrCondition, c.column)
	}
	n.typ = p.fields[n.field].Type
	if n.typ.Nested() && c.kind != isNull && c.kind != isNotNull {
		return node{}, fmt.Errorf("%w: column %.100q is of type %s, which has no order", ErrCondition, c.column, n.typ)
	}
	for _, v := range c.values {
		if err := fits(n.typ, v); err != nil {
			return node{}, fmt.Errorf("%w: column %.100q: %w", ErrCondition, c.column, err)
		}
	}
	n.values = c.values
	if c.kind == in {
		order := func(a, b row.Value) int { return row.Compare(n.typ, a, b) }
		n.values = slices.SortedFunc(slices.Values(c.values), order)
		n.values = slices.CompactFunc(n.values, func(a, b row.Value) bool { return order(a, b) == 0 })
	}
	return n, nil
}

func fits(t schema.Type, v row.Value) error {
	switch {
	case v.Null:
		return errors.New("NULL equals nothing and has no order; ask whether the column is NULL")
	case row.LayoutOf(t) == row.LayoutFixed && len(v.B) != row.FixedWidth(t.Precision):
		return fmt.Errorf("a value of type %s has %d bytes, not %d", t, row.FixedWidth(t.Precision), len(v.B))
	case row.LayoutOf(t) == row.LayoutInt32 && (v.I64 < -1<<(bits(t)-1) || v.I64 >= 1<<(bits(t)-1)):
		return fmt.Errorf("%d is no %s", v.I64, t)
	}
	return nil
}

// bits is how many a number in LayoutInt32 has.
func bits(t schema.Type) int {
	switch t.Kind {
	case schema.TinyInt, schema.Boolean:
		return 8
	case schema.SmallInt:
		return 16
	default:
		return 32
	}
}

// Columns are the places of the fields that are looked at, ascending.
func (p *Predicate) Columns() []int {
	var columns []int
	p.root.walk(func(n *node) { columns = append(columns, n.field) })
	slices.Sort(columns)
	return slices.Compact(columns)
}

// walk calls fn for each condition on a column.
func (n *node) walk(fn func(*node)) {
	if n.kind != and && n.kind != or {
		fn(n)
	}
	for i := range n.parts {
		n.parts[i].walk(fn)
	}
}

// Project is what a predicate says of some of its fields, bound to these: every row that p wants, it wants too. Fields are
// found by name; nothing is said of one whose type is another. A partition's values are judged by the predicate projected to the
// partition keys, files of key tables by the one projected to the keys.
func (p *Predicate) Project(fields []schema.Field) *Predicate {
	place := make([]int, len(p.fields))
	for i, f := range p.fields {
		place[i] = slices.IndexFunc(fields, func(g schema.Field) bool {
			return g.Name == f.Name && schema.Equal(g.Type.WithNotNull(false), f.Type.WithNotNull(false))
		})
	}
	return &Predicate{fields: fields, root: p.root.project(place)}
}

func (n *node) project(place []int) node {
	switch n.kind {
	case and:
		out := node{kind: and}
		for i := range n.parts {
			if part := n.parts[i].project(place); !part.always() {
				out.parts = append(out.parts, part)
			}
		}
		return out
	case or:
		out := node{kind: or}
		for i := range n.parts {
			part := n.parts[i].project(place)
			if part.always() {
				return node{kind: and}
			}
			out.parts = append(out.parts, part)
		}
		return out
	default:
		if place[n.field] < 0 {
			return node{kind: and}
		}
		out := *n
		out.field = place[n.field]
		return out
	}
}

// always tells whether nothing is asked for.
func (n *node) always() bool { return n.kind == and && len(n.parts) == 0 }

// Always tells whether the predicate lets every row pass, so that there is no need to look.
func (p *Predicate) Always() bool { return p.root.always() }

// Equal is the one value that a column has in all wanted rows, if the conditions say so. By it a bucket is found.
func (p *Predicate) Equal(column string) (row.Value, bool) {
	for i := range p.root.parts {
		if v, ok := p.root.parts[i].equal(p, column); ok {
			return v, true
		}
	}
	return row.Value{}, false
}

func (n *node) equal(p *Predicate, column string) (row.Value, bool) {
	switch {
	case n.kind == and:
		for i := range n.parts {
			if v, ok := n.parts[i].equal(p, column); ok {
				return v, true
			}
		}
	case n.kind == compare && n.wanted == equal || n.kind == in && len(n.values) == 1:
		if p.fields[n.field].Name == column {
			return n.values[0], true
		}
	}
	return row.Value{}, false
}

// String is the predicate as SQL would have it, for messages.
func (p *Predicate) String() string { return p.root.text(p.fields) }

func (n *node) text(fields []schema.Field) string {
	name := func() string { return fields[n.field].Name }
	switch n.kind {
	case and:
		return n.join(fields, " AND ", "TRUE")
	case or:
		return n.join(fields, " OR ", "FALSE")
	case compare:
		signs := map[orders]string{
			equal: "=", less: "<", greater: ">", less | equal: "<=", greater | equal: ">=", less | greater: "<>",
		}
		return name() + " " + signs[n.wanted] + " " + n.literals()
	case in:
		return name() + " IN (" + n.literals() + ")"
	case isNull:
		return name() + " IS NULL"
	default:
		return name() + " IS NOT NULL"
	}
}

func (n *node) join(fields []schema.Field, between, none string) string {
	if len(n.parts) == 0 {
		return none
	}
	parts := make([]string, len(n.parts))
	for i := range n.parts {
		parts[i] = n.parts[i].text(fields)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, between) + ")"
}

func (n *node) literals() string {
	texts := make([]string, len(n.values))
	for i, v := range n.values {
		texts[i] = row.Text(n.typ, v)
		if row.LayoutOf(n.typ) == row.LayoutBytes {
			texts[i] = "'" + strings.ReplaceAll(texts[i], "'", "''") + "'"
		}
	}
	return strings.Join(texts, ", ")
}
