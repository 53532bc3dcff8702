package mysql_test

import (
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// text writes a value as MySQL itself would as CHAR, so that the server's own text can be compared; bytes as hex digits.
func text(v *row.Vector, i int) string {
	if v.IsNull(i) {
		return "NULL"
	}
	switch v.Type.Kind {
	case schema.Boolean, schema.TinyInt, schema.SmallInt, schema.Int:
		return strconv.Itoa(int(v.I32[i]))
	case schema.BigInt:
		return strconv.FormatInt(v.I64[i], 10)
	case schema.Decimal:
		return decimalText(v, i)
	case schema.Float:
		return strconv.FormatFloat(float64(v.F32[i]), 'g', -1, 32)
	case schema.Double:
		return strconv.FormatFloat(v.F64[i], 'g', -1, 64)
	case schema.VarBinary:
		return strings.ToUpper(hex.EncodeToString(v.Bytes(i)))
	case schema.Time:
		at := time.UnixMilli(int64(v.I32[i])).UTC().Format("15:04:05.000")
		return at[:len("15:04:05")+[]int{0, 2, 3, 4}[min(v.Type.Precision, 3)]]
	case schema.Date:
		return time.Unix(int64(v.I32[i])*86400, 0).UTC().Format("2006-01-02")
	case schema.Timestamp, schema.TimestampLTZ:
		return timestampText(v, i)
	}
	return string(v.Bytes(i))
}

func decimalText(v *row.Vector, i int) string {
	n := new(big.Int)
	if v.Layout == row.LayoutInt64 {
		n.SetInt64(v.I64[i])
	} else {
		b := v.Bytes(i)
		n.SetBytes(b)
		if b[0]&0x80 != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	digits := n.Abs(n).String()
	if s := v.Type.Scale; s > 0 {
		for len(digits) <= s {
			digits = "0" + digits
		}
		digits = digits[:len(digits)-s] + "." + digits[len(digits)-s:]
	}
	return sign + digits
}

func timestampText(v *row.Vector, i int) string {
	var at time.Time
	switch p := v.Type.Precision; {
	case p <= 3:
		at = time.UnixMilli(v.I64[i])
	case p <= 6:
		at = time.UnixMicro(v.I64[i])
	default:
		at = time.UnixMilli(v.I64[i]).Add(time.Duration(v.I32[i]))
	}
	format := "2006-01-02 15:04:05"
	if v.Type.Precision > 0 {
		format += "." + strings.Repeat("0", v.Type.Precision)
	}
	return at.UTC().Format(format)
}
