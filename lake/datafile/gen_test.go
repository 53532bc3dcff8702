package datafile

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// allTypes has every type that is written, nullable and not.
func allTypes() []schema.Field {
	types := []schema.Type{
		schema.Of(schema.Boolean), schema.Of(schema.TinyInt), schema.Of(schema.SmallInt), schema.Of(schema.Int),
		schema.Of(schema.BigInt), schema.Of(schema.Float), schema.Of(schema.Double), schema.Of(schema.Date),
		schema.StringType(), schema.BytesType(),
		{Kind: schema.Char, Length: 10},
		{Kind: schema.VarChar, Length: 40},
		{Kind: schema.Binary, Length: 4},
		{Kind: schema.VarBinary, Length: 40},
	}
	for _, p := range []int{1, 9, 10, 18, 19, 20, 38} {
		types = append(types, schema.DecimalType(p, p/2))
	}
	for _, p := range []int{0, 3, 6} {
		types = append(types, schema.Type{Kind: schema.Time, Precision: p})
	}
	for _, p := range []int{0, 3, 4, 6, 7, 9} {
		types = append(types, schema.Type{Kind: schema.Timestamp, Precision: p}, schema.Type{Kind: schema.TimestampLTZ, Precision: p})
	}
	var fields []schema.Field
	for i, t := range types {
		fields = append(fields,
			schema.Field{ID: 2 * i, Name: fmt.Sprintf("c%d", i), Type: t},
			schema.Field{ID: 2*i + 1, Name: fmt.Sprintf("n%d", i), Type: t.WithNotNull(true)})
	}
	return fields
}

// extremes are values of a type that are likely to be got wrong.
func extremes(t schema.Type) []row.Value {
	ints := func(xs ...int64) (vs []row.Value) {
		for _, x := range xs {
			vs = append(vs, row.Value{I64: x})
		}
		return vs
	}
	text := func(xs ...string) (vs []row.Value) {
		for _, x := range xs {
			vs = append(vs, row.Value{B: []byte(x)})
		}
		return vs
	}
	switch t.Kind {
	case schema.Boolean:
		return ints(0, 1)
	case schema.TinyInt:
		return ints(math.MinInt8, -1, 0, math.MaxInt8)
	case schema.SmallInt:
		return ints(math.MinInt16, -1, 0, math.MaxInt16)
	case schema.Int:
		return ints(math.MinInt32, -1, 0, math.MaxInt32)
	case schema.Date:
		return ints(-719162, -1, 0, 2932896)
	case schema.BigInt:
		return ints(math.MinInt64, -1, 0, math.MaxInt64)
	case schema.Time:
		return ints(0, millisOfDay-1)
	case schema.Decimal:
		return decimalExtremes(t)
	case schema.Timestamp, schema.TimestampLTZ:
		return timestampExtremes(t)
	case schema.Float, schema.Double:
		top := math.MaxFloat64
		if t.Kind == schema.Float {
			top = math.MaxFloat32
		}
		return []row.Value{
			{F64: top}, {F64: -top}, {F64: 0}, {F64: math.Copysign(0, -1)}, {F64: math.Inf(1)}, {F64: math.Inf(-1)}, {F64: 0.5},
		}
	case schema.Char, schema.VarChar:
		return text("", "a", "\x00", "ab\x00", "ab", "中文 😀", "\U0010FFFF", "ÿ")
	}
	return text("", "\x00", "\xff", "\xff\xff\xff\xff", "\x00\x00\x00\x01", "\x80")
}

func decimalExtremes(t schema.Type) []row.Value {
	top := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
	top.Sub(top, big.NewInt(1))
	var vs []row.Value
	for _, x := range []*big.Int{top, new(big.Int).Neg(top), big.NewInt(0), big.NewInt(-1), big.NewInt(1)} {
		vs = append(vs, decimalValue(t, x))
	}
	return vs
}

func decimalValue(t schema.Type, x *big.Int) row.Value {
	if t.Precision <= 18 {
		return row.Value{I64: x.Int64()}
	}
	width := row.FixedWidth(t.Precision)
	y := new(big.Int).Set(x)
	if x.Sign() < 0 {
		y.Add(y, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
	}
	return row.Value{B: y.FillBytes(make([]byte, width))}
}

func timestampExtremes(t schema.Type) []row.Value {
	switch {
	case t.Precision <= 3:
		return []row.Value{{I64: -62135596800000}, {I64: -1}, {I64: 0}, {I64: 253402300799999}}
	case t.Precision <= 6:
		return []row.Value{{I64: -62135596800000000}, {I64: -1}, {I64: 0}, {I64: 253402300799999999}}
	}
	return []row.Value{
		{I64: -62135596800000, Nanos: 1}, {I64: -1, Nanos: 999999}, {}, {I64: 253402300799999, Nanos: 999999}, {I64: -86400000}, {I64: 86399999},
	}
}

// randomValue is any value of a type, often one of few.
func randomValue(r *rand.Rand, t schema.Type, few bool) row.Value {
	if r.IntN(8) == 0 {
		e := extremes(t)
		return e[r.IntN(len(e))]
	}
	n := r.Int64()
	if few {
		n = int64(r.IntN(50)) - 25
	}
	switch t.Kind {
	case schema.Boolean:
		return row.Value{I64: n & 1}
	case schema.TinyInt:
		return row.Value{I64: int64(int8(n))}
	case schema.SmallInt:
		return row.Value{I64: int64(int16(n))}
	case schema.Int:
		return row.Value{I64: int64(int32(n))}
	case schema.Date:
		return row.Value{I64: n % 100000}
	case schema.BigInt:
		return row.Value{I64: n}
	case schema.Time:
		return row.Value{I64: (n%millisOfDay + millisOfDay) % millisOfDay}
	case schema.Decimal:
		if t.Precision <= 18 {
			return row.Value{I64: n % pow10(t.Precision)}
		}
		return decimalValue(t, new(big.Int).Mul(big.NewInt(n), big.NewInt(r.Int64N(2)*2-1)).Rem(big.NewInt(n), big.NewInt(math.MaxInt64)))
	case schema.Timestamp, schema.TimestampLTZ:
		if t.Precision <= 6 {
			return row.Value{I64: n % 1e14}
		}
		return row.Value{I64: n % 1e13, Nanos: int32(uint64(n) % 1e6)}
	case schema.Float:
		return row.Value{F64: float64(float32(n) / 3)}
	case schema.Double:
		return row.Value{F64: float64(n) / 3}
	case schema.Char, schema.VarChar:
		return row.Value{B: []byte(fmt.Sprintf("v%d", n))}
	}
	return row.Value{B: []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}[:1+r.IntN(4)]}
}

// column of rows values of a type: few distinct or many; no nulls, some, a stretch of them, or only nulls.
func randomColumn(r *rand.Rand, t schema.Type, rows int) []row.Value {
	few := r.IntN(2) == 0
	pattern := r.IntN(5)
	if t.NotNull {
		pattern = 0
	}
	vs := make([]row.Value, rows)
	for i := range vs {
		vs[i] = randomValue(r, t, few)
		switch {
		case pattern == 1 && r.IntN(3) == 0, pattern == 2, pattern == 3 && i < rows*3/5, pattern == 4 && i%100 > 50:
			vs[i] = row.NullValue()
		}
	}
	if (t.Kind == schema.Float || t.Kind == schema.Double) && r.IntN(3) == 0 {
		vs[rows/2] = row.Value{F64: math.NaN()}
	}
	return vs
}

// fill makes a batch of the rows from up to, and without, to.
func fill(b *row.Batch, columns [][]row.Value, from, to int) {
	b.Reset()
	for i, vs := range columns {
		for _, v := range vs[from:to] {
			b.Columns[i].Append(v)
		}
	}
	b.Rows = to - from
}
