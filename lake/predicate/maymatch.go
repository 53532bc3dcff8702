package predicate

import (
	"math"
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// MayMatch tells whether a set of rows may hold a wanted one, by bounds and number of nulls for each field: a NULL bound
// and a nil number are unknown, as are all where the slice is nil. Bounds are values of the fields' types and may lie
// further out than the rows' values.
func (p *Predicate) MayMatch(low, high []row.Value, nulls []*int64, rows int64) bool {
	return rows != 0 && p.root.mayMatch(func(field int) bounds {
		b := unknown()
		if low != nil {
			b.min = low[field]
		}
		if high != nil {
			b.max = high[field]
		}
		if nulls != nil {
			b.nulls = nulls[field]
		}
		return b
	}, rows)
}

// bounds are what is known of a column.
type bounds struct {
	min, max row.Value
	nulls    *int64
}

func unknown() bounds { return bounds{min: row.NullValue(), max: row.NullValue()} }

// trusted drops what cannot be relied on of the bounds of FLOAT and DOUBLE. Writers leave NaN, which is the greatest value,
// out of the upper bound or not, some would put it into the lower one, and write either zero for the other.
func (b bounds) trusted(k schema.Kind) bounds {
	if k != schema.Float && k != schema.Double {
		return b
	}
	b.max = row.Value{F64: math.NaN()}
	switch {
	case b.min.Null || math.IsNaN(b.min.F64):
		b.min = row.NullValue()
	case b.min.F64 == 0:
		b.min = row.Value{F64: math.Copysign(0, -1)}
	}
	return b
}

func (n *node) mayMatch(known func(field int) bounds, rows int64) bool {
	part := func(p node) bool { return p.mayMatch(known, rows) }
	switch n.kind {
	case and:
		return !slices.ContainsFunc(n.parts, func(p node) bool { return !part(p) })
	case or:
		return slices.ContainsFunc(n.parts, part)
	default:
		return n.mayHold(known(n.field), rows)
	}
}

func (n *node) mayHold(b bounds, rows int64) bool {
	switch {
	case n.kind == isNull:
		return b.nulls == nil || *b.nulls > 0
	case b.nulls != nil && *b.nulls == rows:
		return false // all are NULL
	case n.kind == isNotNull:
		return true
	}
	return n.within(b.trusted(n.typ.Kind))
}

// within tells whether a value between the bounds may be wanted.
func (n *node) within(b bounds) bool {
	if n.kind == in {
		first := 0
		if !b.min.Null {
			first, _ = slices.BinarySearchFunc(n.values, b.min, n.order)
		}
		return first < len(n.values) && (b.max.Null || n.order(n.values[first], b.max) <= 0)
	}
	// The least value may be wanted for being less, the greatest for being greater, and any for being equal that the
	// bounds include.
	low, high := -1, 1
	if !b.min.Null {
		low = n.order(b.min, n.values[0])
	}
	if !b.max.Null {
		high = n.order(b.max, n.values[0])
	}
	return n.wanted&less != 0 && low < 0 || n.wanted&greater != 0 && high > 0 || n.wanted&equal != 0 && low <= 0 && high >= 0
}
