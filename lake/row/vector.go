package row

import "github.com/tributary-lake/tributary/lake/schema"

// Layout is how a Vector keeps its values.
type Layout uint8

const (
	// LayoutInt32 keeps BOOLEAN (0 or 1), TINYINT, SMALLINT, INT, DATE (days since 1970) and TIME (milliseconds of the day) in I32.
	LayoutInt32 Layout = iota + 1
	// LayoutInt64 keeps BIGINT, DECIMAL of up to 18 digits (unscaled), and TIMESTAMP and TIMESTAMP_LTZ in I64:
	// milliseconds since 1970 for precision 0–3, microseconds for 4–6.
	LayoutInt64
	// LayoutFloat32 keeps FLOAT in F32.
	LayoutFloat32
	// LayoutFloat64 keeps DOUBLE in F64.
	LayoutFloat64
	// LayoutBytes keeps CHAR, VARCHAR (UTF-8), BINARY and VARBINARY in Data, the i-th between Offsets[i] and Offsets[i+1].
	// ARRAY, MAP, MULTISET and ROW lie there too, each value in its binary form: BinaryArray, BinaryMap, BinaryRow.
	LayoutBytes
	// LayoutFixed keeps DECIMAL of more than 18 digits in Data: Width bytes each, the unscaled value as big-endian
	// two's complement, sign-extended.
	LayoutFixed
	// LayoutNanos keeps TIMESTAMP and TIMESTAMP_LTZ of precision 7–9: milliseconds since 1970 in I64, nanoseconds
	// within the millisecond (0–999,999) in I32.
	LayoutNanos
)

// LayoutOf tells the layout of a type, 0 for what is no type.
func LayoutOf(t schema.Type) Layout {
	switch t.Kind {
	case schema.Boolean, schema.TinyInt, schema.SmallInt, schema.Int, schema.Date, schema.Time:
		return LayoutInt32
	case schema.BigInt:
		return LayoutInt64
	case schema.Decimal:
		if t.Precision <= 18 {
			return LayoutInt64
		}
		return LayoutFixed
	case schema.Timestamp, schema.TimestampLTZ:
		if t.Precision <= 6 {
			return LayoutInt64
		}
		return LayoutNanos
	case schema.Float:
		return LayoutFloat32
	case schema.Double:
		return LayoutFloat64
	case schema.Char, schema.VarChar, schema.Binary, schema.VarBinary,
		schema.Array, schema.Map, schema.Multiset, schema.Row:
		return LayoutBytes
	default:
		return 0
	}
}

// FixedWidth is the number of bytes that a DECIMAL of the given precision needs: the least n with 2^(8n-1) ≥ 10^precision
// (org.apache.paimon.format.parquet.ParquetSchemaConverter.computeMinBytesForDecimalPrecision).
func FixedWidth(precision int) int {
	return minBytes[precision]
}

var minBytes = [39]int{
	1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7, 8, 8,
	9, 9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16,
}

// Vector is one column of a batch. Values sit at their row's place; a null takes a zero's place (no bytes in LayoutBytes).
// The fields may be read, and appended to through the Append methods or directly as the Layout says.
type Vector struct {
	Type   schema.Type
	Layout Layout
	// Width is the size of a value in LayoutFixed.
	Width int

	I32     []int32
	I64     []int64
	F32     []float32
	F64     []float64
	Data    []byte
	Offsets []uint32 // one more than values; Offsets[0] = 0

	// NullCount is the number of nulls.
	NullCount int
	nulls     []uint64 // bit i set: value i is null; grown only by AppendNull
}

// NewVector returns an empty vector for a type of any layout.
func NewVector(t schema.Type) Vector {
	v := Vector{Type: t, Layout: LayoutOf(t)}
	if v.Layout == LayoutFixed {
		v.Width = FixedWidth(t.Precision)
	}
	if v.Layout == LayoutBytes {
		v.Offsets = append(v.Offsets, 0)
	}
	return v
}

// Len is the number of values, nulls included.
func (v *Vector) Len() int {
	switch v.Layout {
	case LayoutInt32:
		return len(v.I32)
	case LayoutInt64, LayoutNanos:
		return len(v.I64)
	case LayoutFloat32:
		return len(v.F32)
	case LayoutFloat64:
		return len(v.F64)
	case LayoutBytes:
		return len(v.Offsets) - 1
	case LayoutFixed:
		return len(v.Data) / v.Width
	}
	return 0
}

// Reset empties the vector and keeps its memory.
func (v *Vector) Reset() {
	v.I32, v.I64, v.F32, v.F64, v.Data = v.I32[:0], v.I64[:0], v.F32[:0], v.F64[:0], v.Data[:0]
	if v.Layout == LayoutBytes {
		v.Offsets = v.Offsets[:1]
	}
	clear(v.nulls)
	v.nulls = v.nulls[:0]
	v.NullCount = 0
}

// AppendBytes adds a value in LayoutBytes. The bytes are copied.
func (v *Vector) AppendBytes(b []byte) {
	v.Data = append(v.Data, b...)
	v.Offsets = append(v.Offsets, uint32(len(v.Data)))
}

// AppendNull adds a null in any layout.
func (v *Vector) AppendNull() {
	i := v.Len()
	switch v.Layout {
	case LayoutInt32:
		v.I32 = append(v.I32, 0)
	case LayoutInt64:
		v.I64 = append(v.I64, 0)
	case LayoutFloat32:
		v.F32 = append(v.F32, 0)
	case LayoutFloat64:
		v.F64 = append(v.F64, 0)
	case LayoutBytes:
		v.Offsets = append(v.Offsets, uint32(len(v.Data)))
	case LayoutFixed:
		var zero [16]byte
		v.Data = append(v.Data, zero[:v.Width]...)
	case LayoutNanos:
		v.I64, v.I32 = append(v.I64, 0), append(v.I32, 0)
	}
	v.SetNull(i)
}

// SetNull makes the i-th value null, which must be a zero, or no bytes, in its place and no null yet. With it values are added
// in bulk and their nulls afterwards.
func (v *Vector) SetNull(i int) {
	for len(v.nulls) <= i/64 {
		v.nulls = append(v.nulls, 0)
	}
	v.nulls[i/64] |= 1 << (i % 64)
	v.NullCount++
}

// IsNull tells whether the i-th value is null.
func (v *Vector) IsNull(i int) bool {
	return i/64 < len(v.nulls) && v.nulls[i/64]&(1<<(i%64)) != 0
}

// Bytes is the i-th value in LayoutBytes or LayoutFixed. The slice is valid until the vector is appended to or reset.
func (v *Vector) Bytes(i int) []byte {
	if v.Layout == LayoutFixed {
		return v.Data[i*v.Width : (i+1)*v.Width]
	}
	return v.Data[v.Offsets[i]:v.Offsets[i+1]]
}

// Size is the number of bytes of the values held.
func (v *Vector) Size() int {
	return len(v.I32)*4 + len(v.I64)*8 + len(v.F32)*4 + len(v.F64)*8 + len(v.Data) + len(v.Offsets)*4
}
