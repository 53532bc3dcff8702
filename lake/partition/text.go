package partition

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// legacyText is Java's toString of Paimon's internal value. BINARY and VARBINARY would print an object's address there,
// which no reader finds again; schema.CheckWritable refuses such tables, and hexadecimal digits are given here.
func legacyText(t schema.Type, v row.Value) string {
	switch t.Kind {
	case schema.Date, schema.Time:
		return strconv.FormatInt(v.I64, 10)
	case schema.Timestamp, schema.TimestampLTZ:
		return localDateTime(row.TimeOf(t, v))
	case schema.Float:
		return javaFloat(v.F64, 32)
	case schema.Double:
		return javaFloat(v.F64, 64)
	default:
		return row.Text(t, v)
	}
}

// cast is the value cast to STRING.
func (n Naming) cast(t schema.Type, v row.Value) string {
	switch t.Kind {
	case schema.Date:
		return castDate(row.TimeOf(t, v))
	case schema.Time:
		return castTime(v.I64, t.Precision)
	case schema.TimestampLTZ:
		at := row.TimeOf(t, v)
		if n.Zone != nil {
			at = at.In(n.Zone)
		}
		return castDate(at) + " " + row.ClockText(at, t.Precision)
	case schema.Timestamp:
		at := row.TimeOf(t, v)
		return castDate(at) + " " + row.ClockText(at, t.Precision)
	case schema.Float:
		return javaFloat(v.F64, 32)
	case schema.Double:
		return javaFloat(v.F64, 64)
	case schema.Binary, schema.VarBinary:
		return string(v.B)
	default:
		return row.Text(t, v)
	}
}

// castDate prints the last four digits of the year, as Paimon's DateTimeUtils does.
func castDate(at time.Time) string {
	y, m, d := at.Date()
	return fmt.Sprintf("%04d-%02d-%02d", y%10000, int(m), d)
}

// castTime prints at most the type's digits, drops zeros at the end and keeps one digit
// (org.apache.paimon.utils.DateTimeUtils.formatTimestampMillis).
func castTime(millis int64, precision int) string {
	at := time.UnixMilli(millis).UTC()
	text := at.Format("15:04:05")
	if precision == 0 {
		return text
	}
	digits := fmt.Sprintf("%03d", at.Nanosecond()/int(time.Millisecond))
	digits = strings.TrimRight(digits[:min(precision, len(digits))], "0")
	if digits == "" {
		digits = "0"
	}
	return text + "." + digits
}

// localDateTime is Java's LocalDateTime.toString: no seconds when they are zero, else 0, 3, 6 or 9 digits of the fraction.
func localDateTime(at time.Time) string {
	clock := at.Format("15:04")
	switch nanos := at.Nanosecond(); {
	case nanos == 0 && at.Second() == 0:
	case nanos == 0:
		clock = at.Format("15:04:05")
	case nanos%1_000_000 == 0:
		clock = row.ClockText(at, 3)
	case nanos%1000 == 0:
		clock = row.ClockText(at, 6)
	default:
		clock = row.ClockText(at, 9)
	}
	return row.DateText(at) + "T" + clock
}

// javaFloat is Java's Double.toString, or Float.toString for 32 bits: a point with a digit on both sides, an exponent below
// 10^-3 and from 10^7 on.
func javaFloat(v float64, bits int) string {
	text := strconv.FormatFloat(v, 'e', -1, bits)
	switch text {
	case "NaN":
		return text
	case "+Inf":
		return "Infinity"
	case "-Inf":
		return "-Infinity"
	}
	if !strings.Contains(text, ".") {
		// Of one digit only: Java picks the two digits nearest to the value, which need not end in zero (4.9E-324).
		text = strconv.FormatFloat(v, 'e', 1, bits)
	}
	mantissa, power, _ := strings.Cut(text, "e")
	exponent, _ := strconv.Atoi(power)
	if v != 0 && (exponent < -3 || exponent >= 7) {
		return mantissa + "E" + strconv.Itoa(exponent)
	}
	sign, digits := "", strings.TrimRight(strings.Replace(mantissa, ".", "", 1), "0")
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	if exponent < 0 {
		return sign + "0." + strings.Repeat("0", -exponent-1) + digits
	}
	if missing := exponent + 2 - len(digits); missing > 0 {
		digits += strings.Repeat("0", missing)
	}
	return sign + digits[:exponent+1] + "." + digits[exponent+1:]
}
