package row

import (
	"encoding/binary"
	"fmt"

	"github.com/tributary-lake/tributary/lake/schema"
)

// AppendBinary appends the BinaryRow of the values to dst: header, null bits, slots and variable part, without an arity in
// front. These are the bytes that Paimon hashes for buckets and compares for partitions. There must be as many values as
// types. A value of a nested type holds its binary form in B, as [ReadBinary] gives it.
func AppendBinary(dst []byte, types []schema.Type, values []Value) []byte {
	b := NewRowBuilder(dst, len(types))
	for i, t := range types {
		b.SetValue(i, t, values[i])
	}
	return b.Bytes()
}

// Serialize returns the BinaryRow of the values with its arity in front, as int32 big-endian
// (org.apache.paimon.utils.SerializationUtils.serializeBinaryRow): the form of partitions, keys and bounds in manifests.
func Serialize(types []schema.Type, values []Value) []byte {
	dst := make([]byte, 4, 4+FixedPartSize(len(types)))
	binary.BigEndian.PutUint32(dst, uint32(len(types)))
	return AppendBinary(dst, types, values)
}

// Arity reads the arity in front of a serialized row.
func Arity(data []byte) (int, error) {
	if len(data) < 4 {
		return 0, fmt.Errorf("serialized row of %d bytes is too short for its arity", len(data))
	}
	n := int32(binary.BigEndian.Uint32(data))
	if n < 0 || FixedPartSize(int(n)) > len(data)-4 {
		return 0, fmt.Errorf("serialized row of %d bytes cannot hold its arity %d", len(data), n)
	}
	return int(n), nil
}

// Deserialize reads what [Serialize] wrote. The arity must be the number of types. The values' bytes are parts of data.
func Deserialize(types []schema.Type, data []byte) ([]Value, error) {
	n, err := Arity(data)
	if err != nil {
		return nil, err
	}
	if n != len(types) {
		return nil, fmt.Errorf("serialized row has %d fields, its type has %d", n, len(types))
	}
	return ReadBinary(types, data[4:])
}

// ReadBinary reads what [AppendBinary] appended. Any bytes may be given; what does not fit is an error. The values' bytes
// are parts of data.
func ReadBinary(types []schema.Type, data []byte) ([]Value, error) {
	s, err := ReadRow(data, len(types))
	if err != nil {
		return nil, err
	}
	values := make([]Value, len(types))
	for i, t := range types {
		if values[i], err = s.Value(i, t); err != nil {
			return nil, fmt.Errorf("field %d of type %s: %w", i, t, err)
		}
	}
	return values, nil
}

// SetValue sets a field by its type. In an array, whose slots must have the [ElementWidth] of the type, a null takes no
// place in the variable part (org.apache.paimon.data.BinaryArrayWriter.setNullAt).
func (b *Builder) SetValue(i int, t schema.Type, v Value) {
	if v.Null && b.headBits == arrayHeadBits {
		b.SetNull(i)
		return
	}
	// These two come before nulls, which keep their place in a row's variable part.
	if t.Kind == schema.Decimal {
		b.setDecimal(i, t, v)
		return
	}
	if t.Kind == schema.Timestamp || t.Kind == schema.TimestampLTZ {
		b.setTimestamp(i, t, v)
		return
	}
	if v.Null {
		b.SetNull(i)
		return
	}
	switch t.Kind {
	case schema.Boolean, schema.TinyInt:
		b.SetInt8(i, int8(v.I64))
	case schema.SmallInt:
		b.SetInt16(i, int16(v.I64))
	case schema.Int, schema.Date, schema.Time:
		b.SetInt32(i, int32(v.I64))
	case schema.BigInt:
		b.SetInt64(i, v.I64)
	case schema.Float:
		b.SetFloat32(i, float32(v.F64))
	case schema.Double:
		b.SetFloat64(i, v.F64)
	case schema.Char, schema.VarChar, schema.Binary, schema.VarBinary:
		b.SetBytes(i, v.B)
	default:
		b.SetNested(i, v.B)
	}
}

func (b *Builder) setDecimal(i int, t schema.Type, v Value) {
	switch {
	case t.Precision <= maxCompactDecimal && v.Null:
		b.SetNull(i)
	case t.Precision <= maxCompactDecimal:
		b.SetInt64(i, v.I64)
	case v.Null:
		b.SetNullDecimal(i)
	default:
		b.SetDecimal(i, v.B)
	}
}

func (b *Builder) setTimestamp(i int, t schema.Type, v Value) {
	switch {
	case t.Precision <= 3 && v.Null:
		b.SetNull(i)
	case t.Precision <= 3:
		b.SetInt64(i, v.I64)
	case v.Null:
		b.SetNullTimestamp(i)
	default:
		millis, nanos := splitTimestamp(t, v)
		b.SetTimestamp(i, millis, nanos)
	}
}

// Value reads a field by its type. Its bytes are parts of the row, but for those of a DECIMAL.
func (s Section) Value(i int, t schema.Type) (Value, error) {
	if s.IsNull(i) {
		return NullValue(), nil
	}
	switch t.Kind {
	case schema.Boolean:
		return Value{I64: int64(boolBit(s.Int8(i)))}, nil
	case schema.TinyInt:
		return Value{I64: int64(s.Int8(i))}, nil
	case schema.SmallInt:
		return Value{I64: int64(s.Int16(i))}, nil
	case schema.Int, schema.Date, schema.Time:
		return Value{I64: int64(s.Int32(i))}, nil
	case schema.BigInt:
		return Value{I64: s.Int64(i)}, nil
	case schema.Float:
		return Value{F64: float64(s.Float32(i))}, nil
	case schema.Double:
		return Value{F64: s.Float64(i)}, nil
	case schema.Decimal:
		return s.decimal(i, t)
	case schema.Timestamp, schema.TimestampLTZ:
		return s.timestamp(i, t)
	case schema.Char, schema.VarChar, schema.Binary, schema.VarBinary:
		p, err := s.Bytes(i)
		return Value{B: p}, err
	case schema.Array, schema.Map, schema.Multiset, schema.Row:
		p, err := s.Nested(i)
		return Value{B: p}, err
	}
	return Value{}, fmt.Errorf("no binary form for kind %d", t.Kind)
}

func boolBit(b int8) int8 {
	if b != 0 {
		return 1
	}
	return 0
}

func (s Section) decimal(i int, t schema.Type) (Value, error) {
	if t.Precision <= maxCompactDecimal {
		return Value{I64: s.Int64(i)}, nil
	}
	if t.Precision >= len(minBytes) {
		return Value{}, fmt.Errorf("no decimal of %d digits", t.Precision)
	}
	p, err := s.Nested(i)
	if err != nil {
		return Value{}, err
	}
	p = minimal(p)
	width := FixedWidth(t.Precision)
	if len(p) == 0 || len(p) > width {
		return Value{}, fmt.Errorf("unscaled decimal of %d bytes where 1 to %d are possible", len(p), width)
	}
	fixed := make([]byte, width)
	if p[0]&0x80 != 0 {
		for j := range fixed {
			fixed[j] = 0xff
		}
	}
	copy(fixed[width-len(p):], p)
	return Value{B: fixed}, nil
}

func (s Section) timestamp(i int, t schema.Type) (Value, error) {
	if t.Precision <= 3 {
		return Value{I64: s.Int64(i)}, nil
	}
	millis, nanos, err := s.Timestamp(i)
	if err != nil {
		return Value{}, err
	}
	if t.Precision > 6 {
		return Value{I64: millis, Nanos: nanos}, nil
	}
	micros := millis*1000 + int64(nanos/1000)
	if back, _ := floorDivMod(micros, 1000); back != millis {
		return Value{}, fmt.Errorf("timestamp of %d milliseconds does not fit microseconds", millis)
	}
	return Value{I64: micros}, nil
}

// splitTimestamp turns the layouts of precisions 0–3, 4–6 and 7–9 into milliseconds and the nanoseconds within them.
func splitTimestamp(t schema.Type, v Value) (millis int64, nanos int32) {
	switch {
	case t.Precision <= 3:
		return v.I64, 0
	case t.Precision <= 6:
		q, r := floorDivMod(v.I64, 1000)
		return q, int32(r) * 1000
	}
	return v.I64, v.Nanos
}

func floorDivMod(a, b int64) (q, r int64) {
	q, r = a/b, a%b
	if r < 0 {
		q, r = q-1, r+b
	}
	return q, r
}

// minimal cuts what sign extension added to a big-endian two's complement number, as java.math.BigInteger.toByteArray.
func minimal(p []byte) []byte {
	for len(p) > 1 && (p[0] == 0 && p[1]&0x80 == 0 || p[0] == 0xff && p[1]&0x80 != 0) {
		p = p[1:]
	}
	return p
}
