package encode

import (
	"strconv"
	"time"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// cell appends the i-th value of a vector, which is not null.
type cell func(dst []byte, v *row.Vector, i int) []byte

// plain is the cell of a type whose text holds neither separators nor quotes, nil for others.
func plain(t schema.Type) cell {
	switch t.Kind {
	case schema.Boolean:
		return func(dst []byte, v *row.Vector, i int) []byte { return strconv.AppendBool(dst, v.I32[i] != 0) }
	case schema.TinyInt, schema.SmallInt, schema.Int:
		return func(dst []byte, v *row.Vector, i int) []byte { return strconv.AppendInt(dst, int64(v.I32[i]), 10) }
	case schema.BigInt:
		return func(dst []byte, v *row.Vector, i int) []byte { return strconv.AppendInt(dst, v.I64[i], 10) }
	case schema.Float:
		return func(dst []byte, v *row.Vector, i int) []byte {
			return strconv.AppendFloat(dst, float64(v.F32[i]), 'g', -1, 32)
		}
	case schema.Double:
		return func(dst []byte, v *row.Vector, i int) []byte { return strconv.AppendFloat(dst, v.F64[i], 'g', -1, 64) }
	default:
		return nil
	}
}

// quoted is the cell of a type whose text has no separators, and is a string in JSON; nil for others.
func quoted(t schema.Type) cell {
	switch t.Kind {
	case schema.Decimal:
		return func(dst []byte, v *row.Vector, i int) []byte { return appendDecimal(dst, t, v, i) }
	case schema.Date:
		return func(dst []byte, v *row.Vector, i int) []byte {
			return time.Unix(int64(v.I32[i])*secondsOfDay, 0).UTC().AppendFormat(dst, time.DateOnly)
		}
	case schema.Time:
		return func(dst []byte, v *row.Vector, i int) []byte {
			return append(dst, row.ClockText(row.TimeOf(t, v.Value(i)), t.Precision)...)
		}
	case schema.Timestamp, schema.TimestampLTZ:
		layout := time.DateTime
		if t.Precision > 0 {
			layout += "." + "000000000"[:min(t.Precision, 6)]
		}
		if t.Precision > 6 {
			return nil // DATETIME has microseconds
		}
		return func(dst []byte, v *row.Vector, i int) []byte {
			return row.TimeOf(t, v.Value(i)).AppendFormat(dst, layout)
		}
	default:
		return nil
	}
}

const secondsOfDay = 86400

func text(t schema.Type) bool   { return t.Kind == schema.Char || t.Kind == schema.VarChar }
func binary(t schema.Type) bool { return t.Kind == schema.Binary || t.Kind == schema.VarBinary }

// appendDecimal has short ways for what fits 64 bits, such as BIGINT UNSIGNED.
func appendDecimal(dst []byte, t schema.Type, v *row.Vector, i int) []byte {
	var digits [20]byte
	if v.Layout == row.LayoutInt64 {
		x := v.I64[i]
		magnitude := uint64(x)
		if x < 0 {
			dst, magnitude = append(dst, '-'), -magnitude
		}
		return placePoint(dst, strconv.AppendUint(digits[:0], magnitude, 10), t.Scale)
	}
	p := v.Bytes(i)
	var low uint64
	for at, b := range p {
		if at < len(p)-8 && b != 0 {
			return append(dst, row.Text(t, row.Value{B: p})...)
		}
		low = low<<8 | uint64(b)
	}
	return placePoint(dst, strconv.AppendUint(digits[:0], low, 10), t.Scale)
}

// placePoint appends digits with a point before the last scale of them.
func placePoint(dst, digits []byte, scale int) []byte {
	whole := len(digits) - scale
	if whole <= 0 {
		dst = append(dst, '0')
	} else {
		dst = append(dst, digits[:whole]...)
	}
	if scale == 0 {
		return dst
	}
	dst = append(dst, '.')
	for ; whole < 0; whole++ {
		dst = append(dst, '0')
	}
	return append(dst, digits[whole:]...)
}
