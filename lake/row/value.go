package row

import "github.com/tributary-lake/tributary/lake/schema"

// Value is one cell outside the row path: a partition value, a bound of a statistic, a key. It is read with the type
// that it belongs to, whose layout says which field holds it; in LayoutInt32 the value is in I64 too.
type Value struct {
	Null bool
	// I64 holds LayoutInt32 and LayoutInt64, and the milliseconds of LayoutNanos.
	I64 int64
	// Nanos holds the nanoseconds within the millisecond of LayoutNanos.
	Nanos int32
	// F64 holds LayoutFloat64, and LayoutFloat32 exactly.
	F64 float64
	// B holds LayoutBytes and LayoutFixed.
	B []byte
}

// NullValue is the null of any type.
func NullValue() Value { return Value{Null: true} }

// Value returns the i-th value. Its bytes are the vector's own, valid until the vector is appended to or reset.
func (v *Vector) Value(i int) Value {
	if v.IsNull(i) {
		return NullValue()
	}
	switch v.Layout {
	case LayoutInt32:
		return Value{I64: int64(v.I32[i])}
	case LayoutInt64:
		return Value{I64: v.I64[i]}
	case LayoutFloat32:
		return Value{F64: float64(v.F32[i])}
	case LayoutFloat64:
		return Value{F64: v.F64[i]}
	case LayoutBytes, LayoutFixed:
		return Value{B: v.Bytes(i)}
	case LayoutNanos:
		return Value{I64: v.I64[i], Nanos: v.I32[i]}
	}
	return NullValue()
}

// Append adds a value of the vector's own type.
func (v *Vector) Append(x Value) {
	if x.Null {
		v.AppendNull()
		return
	}
	switch v.Layout {
	case LayoutInt32:
		v.I32 = append(v.I32, int32(x.I64))
	case LayoutInt64:
		v.I64 = append(v.I64, x.I64)
	case LayoutFloat32:
		v.F32 = append(v.F32, float32(x.F64))
	case LayoutFloat64:
		v.F64 = append(v.F64, x.F64)
	case LayoutBytes:
		v.AppendBytes(x.B)
	case LayoutFixed:
		v.Data = append(v.Data, x.B...)
	case LayoutNanos:
		v.I64, v.I32 = append(v.I64, x.I64), append(v.I32, x.Nanos)
	}
}

// Types returns the types of fields, in order.
func Types(fields []schema.Field) []schema.Type {
	types := make([]schema.Type, len(fields))
	for i, f := range fields {
		types[i] = f.Type
	}
	return types
}
