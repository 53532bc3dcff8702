package row

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/lake/schema"
)

// ParseText reads the canonical text of a value of the type, as [Text] writes it. Fewer fraction digits than the type has
// are taken too; what the type cannot hold without loss is an error. No text gives a null. In nested values a missing field of
// a ROW is null, and plain JSON numbers and booleans are taken for their text.
func ParseText(t schema.Type, text string) (Value, error) {
	v, err := parseText(t, text)
	if err != nil {
		return Value{}, fmt.Errorf("%q is no %s: %w", text, t.WithNotNull(false), err)
	}
	return v, nil
}

func parseText(t schema.Type, text string) (Value, error) {
	switch t.Kind {
	case schema.Boolean:
		switch text {
		case "true":
			return Value{I64: 1}, nil
		case "false":
			return Value{}, nil
		}
		return Value{}, fmt.Errorf("want true or false")
	case schema.TinyInt:
		return parseInt(text, 8)
	case schema.SmallInt:
		return parseInt(text, 16)
	case schema.Int:
		return parseInt(text, 32)
	case schema.BigInt:
		return parseInt(text, 64)
	case schema.Float:
		return parseFloat(text, 32)
	case schema.Double:
		return parseFloat(text, 64)
	case schema.Decimal:
		return parseDecimal(t, text)
	case schema.Char, schema.VarChar:
		return Value{B: []byte(text)}, nil
	case schema.Binary, schema.VarBinary:
		b, err := hex.DecodeString(text)
		return Value{B: b}, err
	case schema.Date, schema.Time, schema.Timestamp, schema.TimestampLTZ:
		return parseTemporal(t, text)
	case schema.Array, schema.Map, schema.Multiset, schema.Row:
		return parseNested(t, text)
	default:
		return Value{}, fmt.Errorf("the type has no text form")
	}
}

func parseInt(text string, bits int) (Value, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	return Value{I64: n}, err
}

func parseFloat(text string, bits int) (Value, error) {
	f, err := strconv.ParseFloat(text, bits)
	if math.IsNaN(f) {
		// Java's NaN: rows are compared and hashed by their bits, and Go's has another one set.
		f = math.Float64frombits(0x7ff8000000000000)
	}
	return Value{F64: f}, err
}

func parseDecimal(t schema.Type, text string) (Value, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if extra := len(fraction) - t.Scale; extra > 0 {
		if strings.Trim(fraction[t.Scale:], "0") != "" {
			return Value{}, fmt.Errorf("more than %d digits after the point", t.Scale)
		}
		fraction = fraction[:t.Scale]
	}
	all := whole + fraction + strings.Repeat("0", t.Scale-len(fraction))
	all = strings.TrimLeft(all, "0")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return Value{}, fmt.Errorf("want digits with at most one point")
	}
	if len(all) > t.Precision {
		return Value{}, fmt.Errorf("more than %d digits", t.Precision)
	}
	x, ok := new(big.Int).SetString("0"+all, 10)
	if !ok {
		return Value{}, fmt.Errorf("want digits with at most one point")
	}
	if negative {
		x.Neg(x)
	}
	if LayoutOf(t) == LayoutInt64 {
		return Value{I64: x.Int64()}, nil
	}
	return Value{B: fixedBytes(x, FixedWidth(t.Precision))}, nil
}

func parseTemporal(t schema.Type, text string) (Value, error) {
	switch t.Kind {
	case schema.Date:
		days, err := parseDate(text)
		return Value{I64: days}, err
	case schema.Time:
		nanos, err := parseClock(text, min(t.Precision, 3))
		return Value{I64: nanos / int64(time.Millisecond)}, err
	case schema.TimestampLTZ:
		utc, ok := strings.CutSuffix(text, "Z")
		if !ok {
			return Value{}, fmt.Errorf("want UTC with Z behind")
		}
		text = utc
	default:
	}
	date, clock, ok := strings.Cut(text, "T")
	if !ok {
		return Value{}, fmt.Errorf("want a T between date and time")
	}
	days, err := parseDate(date)
	if err != nil {
		return Value{}, err
	}
	nanos, err := parseClock(clock, t.Precision)
	if err != nil {
		return Value{}, err
	}
	return TimestampValue(t, time.Unix(days*secondsOfDay, nanos))
}

// TimestampValue is an instant as a value of TIMESTAMP or TIMESTAMP_LTZ of the given precision; digits beyond those of its
// layout (3, 6 or 9) are cut off. Times that 64 bits cannot hold are an error.
func TimestampValue(t schema.Type, at time.Time) (Value, error) {
	seconds, nanos := at.Unix(), int64(at.Nanosecond())
	unit := int64(1000)
	if t.Precision > 3 && t.Precision <= 6 {
		unit = 1000_000
	}
	n := seconds*unit + nanos/(int64(time.Second)/unit)
	if back, _ := floorDivMod(n, unit); back != seconds {
		return Value{}, fmt.Errorf("year %d is out of range", at.Year())
	}
	v := Value{I64: n}
	if t.Precision > 6 {
		v.Nanos = int32(nanos % int64(time.Millisecond))
	}
	return v, nil
}

// parseDate gives days since 1970.
func parseDate(text string) (int64, error) {
	rest, negative := strings.CutPrefix(text, "-")
	rest = strings.TrimPrefix(rest, "+")
	parts := strings.Split(rest, "-")
	if len(parts) != 3 || len(parts[0]) < 4 || len(parts[0]) > 7 || len(parts[1]) != 2 || len(parts[2]) != 2 {
		return 0, fmt.Errorf("want a date like 2024-02-29")
	}
	var ymd [3]int
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 31)
		if err != nil {
			return 0, fmt.Errorf("want a date like 2024-02-29")
		}
		ymd[i] = int(n)
	}
	if negative {
		ymd[0] = -ymd[0]
	}
	at := time.Date(ymd[0], time.Month(ymd[1]), ymd[2], 0, 0, 0, 0, time.UTC)
	if y, m, d := at.Date(); y != ymd[0] || int(m) != ymd[1] || d != ymd[2] {
		return 0, fmt.Errorf("no such day")
	}
	days := at.Unix() / secondsOfDay
	if int64(int32(days)) != days {
		return 0, fmt.Errorf("year %d is out of range", ymd[0])
	}
	return days, nil
}

// parseClock gives nanoseconds of the day; digits other than zero beyond the given number are an error.
func parseClock(text string, digits int) (int64, error) {
	main, fraction, _ := strings.Cut(text, ".")
	at, err := time.Parse("15:04:05", main)
	if err != nil || len(main) != len("15:04:05") {
		return 0, fmt.Errorf("want a time like 12:34:56")
	}
	if len(fraction) > 9 || strings.Trim(fraction, "0123456789") != "" {
		return 0, fmt.Errorf("want up to 9 digits after the point")
	}
	if len(strings.TrimRight(fraction, "0")) > digits {
		return 0, fmt.Errorf("more than %d digits after the point", digits)
	}
	nanos, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	return int64(at.Hour()*3600+at.Minute()*60+at.Second())*int64(time.Second) + nanos, nil
}
