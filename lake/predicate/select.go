package predicate

import (
	"cmp"
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
)

// Select appends the numbers of the wanted rows of a batch to dst, ascending. The batch's columns are the fields, in order;
// columns that Columns does not name may be of another length.
func (p *Predicate) Select(b *row.Batch, dst []int32) []int32 {
	from := len(dst)
	dst = slices.Grow(dst, b.Rows)
	for i := range b.Rows {
		dst = append(dst, int32(i))
	}
	return dst[:from+len(p.root.keep(b, dst[from:]))]
}

// keep moves the wanted rows among those given to the front of the slice and returns these.
func (n *node) keep(b *row.Batch, rows []int32) []int32 {
	switch n.kind {
	case and:
		for i := range n.parts {
			rows = n.parts[i].keep(b, rows)
		}
		return rows
	case or:
		return n.keepAny(b, rows)
	default:
		return n.keepHeld(&b.Columns[n.field], rows)
	}
}

// keepHeld judges a column.
func (n *node) keepHeld(v *row.Vector, rows []int32) []int32 {
	switch {
	case n.kind == compare && v.Layout == row.LayoutInt32:
		return keepCompared(n, v, v.I32, int32(n.values[0].I64), rows)
	case n.kind == compare && v.Layout == row.LayoutInt64:
		return keepCompared(n, v, v.I64, n.values[0].I64, rows)
	}
	kept := rows[:0]
	for _, i := range rows {
		if n.matches(v.Value(int(i))) {
			kept = append(kept, i)
		}
	}
	return kept
}

// keepCompared is the loop for the layouts of most columns.
func keepCompared[T cmp.Ordered](n *node, v *row.Vector, values []T, literal T, rows []int32) []int32 {
	low, same, high := n.wanted&less != 0, n.wanted&equal != 0, n.wanted&greater != 0
	kept := rows[:0]
	for _, i := range rows {
		x := values[i]
		if (x < literal && low || x == literal && same || x > literal && high) && !(v.NullCount > 0 && v.IsNull(int(i))) {
			kept = append(kept, i)
		}
	}
	return kept
}

// keepAny asks each alternative for the rows that none before it wanted.
func (n *node) keepAny(b *row.Batch, rows []int32) []int32 {
	wanted := make([]bool, b.Rows)
	for i := range n.parts {
		rest := make([]int32, 0, len(rows))
		for _, r := range rows {
			if !wanted[r] {
				rest = append(rest, r)
			}
		}
		for _, r := range n.parts[i].keep(b, rest) {
			wanted[r] = true
		}
	}
	kept := rows[:0]
	for _, r := range rows {
		if wanted[r] {
			kept = append(kept, r)
		}
	}
	return kept
}

// Matches tells whether a row, a value for each field, is wanted.
func (p *Predicate) Matches(values []row.Value) bool { return p.root.matchesRow(values) }

func (n *node) matchesRow(values []row.Value) bool {
	part := func(p node) bool { return p.matchesRow(values) }
	switch n.kind {
	case and:
		return !slices.ContainsFunc(n.parts, func(p node) bool { return !part(p) })
	case or:
		return slices.ContainsFunc(n.parts, part)
	default:
		return n.matches(values[n.field])
	}
}

// matches judges one value of the column.
func (n *node) matches(v row.Value) bool {
	switch {
	case n.kind == isNull:
		return v.Null
	case n.kind == isNotNull:
		return !v.Null
	case v.Null:
		return false
	case n.kind == in:
		_, found := slices.BinarySearchFunc(n.values, v, n.order)
		return found
	}
	return n.wants(n.order(v, n.values[0]))
}

func (n *node) order(a, b row.Value) int { return row.Compare(n.typ, a, b) }

// wants judges how a value compares with the literal.
func (n *node) wants(order int) bool {
	switch {
	case order < 0:
		return n.wanted&less != 0
	case order > 0:
		return n.wanted&greater != 0
	}
	return n.wanted&equal != 0
}
