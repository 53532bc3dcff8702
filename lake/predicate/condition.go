package predicate

import (
	"github.com/tributary-lake/tributary/lake/row"
)

// Condition is a condition on columns by name. It is made by the functions of this package; the zero value is And(), which
// always holds. Values are of the column's own type; they are not copied.
type Condition struct {
	kind   kind
	wanted orders
	column string
	values []row.Value
	parts  []Condition
}

type kind uint8

const (
	and kind = iota // of no parts: true
	or              // of no parts: false
	compare
	in
	isNull
	isNotNull
)

// orders say what a value may be, as seen from the literal of a comparison.
type orders uint8

const (
	less orders = 1 << iota
	equal
	greater
)

func compared(wanted orders, column string, v row.Value) Condition {
	return Condition{kind: compare, wanted: wanted, column: column, values: []row.Value{v}}
}

// Eq holds where a column is a value.
func Eq(column string, v row.Value) Condition { return compared(equal, column, v) }

// NotEq holds where a column is neither a value nor NULL.
func NotEq(column string, v row.Value) Condition { return compared(less|greater, column, v) }

// Less holds where a column is less than a value.
func Less(column string, v row.Value) Condition { return compared(less, column, v) }

// LessOrEq holds where a column is at most a value.
func LessOrEq(column string, v row.Value) Condition { return compared(less|equal, column, v) }

// Greater holds where a column is greater than a value.
func Greater(column string, v row.Value) Condition { return compared(greater, column, v) }

// GreaterOrEq holds where a column is at least a value.
func GreaterOrEq(column string, v row.Value) Condition { return compared(greater|equal, column, v) }

// In holds where a column is one of some values, never when there are none.
func In(column string, values ...row.Value) Condition {
	return Condition{kind: in, column: column, values: values}
}

// IsNull holds where a column is NULL.
func IsNull(column string) Condition { return Condition{kind: isNull, column: column} }

// IsNotNull holds where a column is not NULL.
func IsNotNull(column string) Condition { return Condition{kind: isNotNull, column: column} }

// And holds where all conditions do.
func And(parts ...Condition) Condition { return Condition{kind: and, parts: parts} }

// Or holds where at least one condition does.
func Or(parts ...Condition) Condition { return Condition{kind: or, parts: parts} }
