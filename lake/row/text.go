package row

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/lake/schema"
)

// Text is the canonical text of a value, that [ParseText] reads back: integers and booleans plainly; DECIMAL always with as
// many digits after the point as its scale; FLOAT and DOUBLE shortest as strconv's 'g'; strings as they are; binaries in
// lower-case hex; DATE 2024-02-29; TIME 12:34:56.789 and TIMESTAMP 2024-02-29T12:34:56.789012 with as many
// fraction digits as the precision, more only where a digit other than zero would be lost; TIMESTAMP_LTZ the same in UTC
// with Z behind. A null is "null".
//
// Nested values are JSON without blanks: ARRAY an array, ROW an object in the order of its fields, MAP and MULTISET (element
// to count) objects in the order of their keys' UTF-16 text. What is in them is null, a string of canonical text, or nested
// itself. Bytes that are no binary form of the type, which only a damaged value has, come out as hex.
func Text(t schema.Type, v Value) string {
	if v.Null {
		return "null"
	}
	switch t.Kind {
	case schema.Boolean:
		return strconv.FormatBool(v.I64 != 0)
	case schema.TinyInt, schema.SmallInt, schema.Int, schema.BigInt:
		return strconv.FormatInt(v.I64, 10)
	case schema.Float:
		return strconv.FormatFloat(v.F64, 'g', -1, 32)
	case schema.Double:
		return strconv.FormatFloat(v.F64, 'g', -1, 64)
	case schema.Decimal:
		return decimalText(t, v)
	case schema.Char, schema.VarChar:
		return string(v.B)
	case schema.Date:
		return DateText(TimeOf(t, v))
	case schema.Time:
		return ClockText(TimeOf(t, v), t.Precision)
	case schema.Timestamp:
		at := TimeOf(t, v)
		return DateText(at) + "T" + ClockText(at, t.Precision)
	case schema.TimestampLTZ:
		at := TimeOf(t, v)
		return DateText(at) + "T" + ClockText(at, t.Precision) + "Z"
	case schema.Array, schema.Map, schema.Multiset, schema.Row:
		return nestedText(t, v)
	default:
		return hex.EncodeToString(v.B)
	}
}

// TimeOf is a DATE, TIME (on 1970-01-01), TIMESTAMP or TIMESTAMP_LTZ as a time in UTC.
func TimeOf(t schema.Type, v Value) time.Time {
	switch t.Kind {
	case schema.Date:
		return time.Unix(v.I64*secondsOfDay, 0).UTC()
	case schema.Time:
		return time.UnixMilli(v.I64).UTC()
	default:
		millis, nanos := splitTimestamp(t, v)
		seconds, rest := floorDivMod(millis, 1000)
		return time.Unix(seconds, rest*int64(time.Millisecond)+int64(nanos)).UTC()
	}
}

const secondsOfDay = 86400

// DateText is the date as Java's LocalDate.toString: at least four digits of the year, a plus before more of them.
func DateText(at time.Time) string {
	y, m, d := at.Date()
	format := "%04d-%02d-%02d"
	switch {
	case y > 9999:
		format = "+%d-%02d-%02d"
	case y < 0:
		format = "%05d-%02d-%02d"
	}
	return fmt.Sprintf(format, y, int(m), d)
}

// ClockText is hours, minutes, seconds, and digits of the fraction; more only where one other than zero would be lost.
func ClockText(at time.Time, digits int) string {
	h, m, s := at.Clock()
	text := fmt.Sprintf("%02d:%02d:%02d", h, m, s)
	fraction := fmt.Sprintf("%09d", at.Nanosecond())
	if needed := len(strings.TrimRight(fraction, "0")); needed > digits {
		digits = needed
	}
	if digits <= 0 {
		return text
	}
	return text + "." + fraction[:min(digits, len(fraction))]
}

func decimalText(t schema.Type, v Value) string {
	if LayoutOf(t) == LayoutInt64 {
		magnitude := uint64(v.I64)
		if v.I64 < 0 {
			magnitude = -magnitude
		}
		return placePoint(v.I64 < 0, strconv.FormatUint(magnitude, 10), t.Scale)
	}
	x := signedBig(v.B)
	return placePoint(x.Sign() < 0, new(big.Int).Abs(x).String(), t.Scale)
}

func placePoint(negative bool, digits string, scale int) string {
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	if scale > 0 {
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if negative {
		return "-" + digits
	}
	return digits
}

// signedBig reads big-endian two's complement.
func signedBig(p []byte) *big.Int {
	x := new(big.Int).SetBytes(p)
	if len(p) > 0 && p[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(p))))
	}
	return x
}

// fixedBytes writes big-endian two's complement of the given width, in which x must fit.
func fixedBytes(x *big.Int, width int) []byte {
	if x.Sign() < 0 {
		x = new(big.Int).Add(x, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
	}
	return x.FillBytes(make([]byte, width))
}
