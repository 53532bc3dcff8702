package filereader

import (
	"fmt"
	"math/big"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// conversion turns a value of a file's type into one of the type asked for. The bytes of the result may be the argument's.
type conversion func(row.Value) (row.Value, error)

// conversionOf tells how to read values of one type as another, nil when they are the same bytes. It knows what a schema may
// evolve to without loss, and the forms that other writers give a type.
func conversionOf(from, to schema.Type) (conversion, error) {
	switch to.Kind { //nolint:exhaustive // nothing becomes a nested type
	case schema.Boolean, schema.Date, schema.Time:
		if from.Kind == to.Kind || from.Kind == schema.Int && to.Kind != schema.Boolean {
			return nil, nil
		}
	case schema.TinyInt, schema.SmallInt, schema.Int, schema.BigInt:
		if isInteger(from.Kind) {
			return toInteger(from, to), nil
		}
	case schema.Float:
		if from.Kind == schema.Float {
			return nil, nil
		}
	case schema.Double:
		if from.Kind == schema.Double {
			return nil, nil
		}
		if from.Kind == schema.Float {
			return func(v row.Value) (row.Value, error) { return v, nil }, nil
		}
	case schema.Decimal:
		if from.Kind == schema.Decimal {
			return toDecimal(from, to), nil
		}
		if isInteger(from.Kind) {
			return toDecimal(schema.DecimalType(18, 0), to), nil
		}
	case schema.Char, schema.VarChar, schema.Binary, schema.VarBinary:
		if row.LayoutOf(from) == row.LayoutBytes {
			return nil, nil
		}
	case schema.Timestamp, schema.TimestampLTZ:
		if from.Kind == schema.Timestamp {
			return toTimestamp(from, to), nil
		}
	}
	return nil, fmt.Errorf("%w: values of kind %d cannot be read as kind %d", ErrUnsupported, from.Kind, to.Kind)
}

func isInteger(k schema.Kind) bool {
	return k == schema.TinyInt || k == schema.SmallInt || k == schema.Int || k == schema.BigInt
}

func toInteger(from, to schema.Type) conversion {
	low, high := integerRange(to.Kind)
	if fromLow, _ := integerRange(from.Kind); fromLow == low {
		return nil
	}
	return func(v row.Value) (row.Value, error) {
		if v.I64 < low || v.I64 > high {
			return v, fmt.Errorf("%w: %d", ErrRange, v.I64)
		}
		return v, nil
	}
}

func integerRange(k schema.Kind) (low, high int64) {
	bits := 63
	switch k { //nolint:exhaustive // of the other integers, which are BIGINT alone
	case schema.TinyInt:
		bits = 7
	case schema.SmallInt:
		bits = 15
	case schema.Int:
		bits = 31
	}
	return -1 << bits, 1<<bits - 1
}

func toDecimal(from, to schema.Type) conversion {
	if from.Scale == to.Scale && row.LayoutOf(from) == row.LayoutOf(to) && from.Precision <= to.Precision {
		if row.LayoutOf(to) == row.LayoutInt64 || row.FixedWidth(from.Precision) == row.FixedWidth(to.Precision) {
			return nil
		}
	}
	up, down := pow10Big(to.Scale-from.Scale), pow10Big(from.Scale-to.Scale)
	limit := pow10Big(to.Precision)
	width := row.FixedWidth(to.Precision)
	return func(v row.Value) (row.Value, error) {
		x := unscaled(from, v)
		x.Mul(x, up)
		rest := new(big.Int)
		if x.QuoRem(x, down, rest); rest.Sign() != 0 || x.CmpAbs(limit) >= 0 {
			return v, fmt.Errorf("%w: decimal %s as DECIMAL(%d, %d)", ErrRange, row.Text(from, v), to.Precision, to.Scale)
		}
		if row.LayoutOf(to) == row.LayoutInt64 {
			return row.Value{I64: x.Int64()}, nil
		}
		if x.Sign() < 0 {
			x.Add(x, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
		}
		return row.Value{B: x.FillBytes(make([]byte, width))}, nil
	}
}

// pow10Big is 10 to the n, 1 for a negative n.
func pow10Big(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, 0))), nil)
}

func unscaled(t schema.Type, v row.Value) *big.Int {
	if row.LayoutOf(t) == row.LayoutInt64 {
		return big.NewInt(v.I64)
	}
	return signedBig(v.B)
}

// signedBig reads a big-endian two's complement number.
func signedBig(b []byte) *big.Int {
	x := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return x
}

// toTimestamp changes the unit. Digits that the type has not are cut off, as Paimon's cast does.
func toTimestamp(from, to schema.Type) conversion {
	if timestampUnit(from) == timestampUnit(to) {
		return nil
	}
	return func(v row.Value) (row.Value, error) {
		millis, nanos := v.I64, int64(v.Nanos)
		if timestampUnit(from) == 6 {
			micros := v.I64 % 1000
			if millis = v.I64 / 1000; micros < 0 {
				millis, micros = millis-1, micros+1000
			}
			nanos = micros * 1000
		}
		switch timestampUnit(to) {
		case 3:
			return row.Value{I64: millis}, nil
		case 6:
			if millis > 1<<63/1000-1 || millis < -1<<63/1000+1 {
				return v, fmt.Errorf("%w: timestamp of %d milliseconds in microseconds", ErrRange, millis)
			}
			return row.Value{I64: millis*1000 + nanos/1000}, nil
		}
		return row.Value{I64: millis, Nanos: int32(nanos)}, nil
	}
}

// timestampUnit is the number of fraction digits that the layout of the type keeps.
func timestampUnit(t schema.Type) int {
	switch {
	case t.Precision <= 3:
		return 3
	case t.Precision <= 6:
		return 6
	}
	return 9
}
