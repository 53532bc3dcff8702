package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// The names say what is read and the layout that it is kept in: I a signed, U an unsigned integer, and its bits.

func decodeI8(c *column, p []byte, pos int) (int, error) {
	if pos >= len(p) {
		return -1, nil
	}
	c.vector.I32 = append(c.vector.I32, int32(int8(p[pos])))
	return pos + 1, nil
}

func decodeU8(c *column, p []byte, pos int) (int, error) {
	if pos >= len(p) {
		return -1, nil
	}
	c.vector.I32 = append(c.vector.I32, int32(p[pos]))
	return pos + 1, nil
}

func decodeI16(c *column, p []byte, pos int) (int, error) {
	if len(p)-pos < 2 {
		return -1, nil
	}
	c.vector.I32 = append(c.vector.I32, int32(int16(binary.LittleEndian.Uint16(p[pos:]))))
	return pos + 2, nil
}

func decodeU16(c *column, p []byte, pos int) (int, error) {
	if len(p)-pos < 2 {
		return -1, nil
	}
	c.vector.I32 = append(c.vector.I32, int32(binary.LittleEndian.Uint16(p[pos:])))
	return pos + 2, nil
}

// decodeI32 also reads MEDIUMINT of both kinds, which is sent in four bytes.
func decodeI32(c *column, p []byte, pos int) (int, error) {
	if len(p)-pos < 4 {
		return -1, nil
	}
	c.vector.I32 = append(c.vector.I32, int32(binary.LittleEndian.Uint32(p[pos:])))
	return pos + 4, nil
}

func decodeU32To64(c *column, p []byte, pos int) (int, error) {
	if len(p)-pos < 4 {
		return -1, nil
	}
	c.vector.I64 = append(c.vector.I64, int64(binary.LittleEndian.Uint32(p[pos:])))
	return pos + 4, nil
}

func decodeI64(c *column, p []byte, pos int) (int, error) {
	if len(p)-pos < 8 {
		return -1, nil
	}
	c.vector.I64 = append(c.vector.I64, int64(binary.LittleEndian.Uint64(p[pos:])))
	return pos + 8, nil
}

// decodeBoolean reads a TINYINT under the policy that it is a truth value.
func decodeBoolean(c *column, p []byte, pos int) (int, error) {
	if pos >= len(p) {
		return -1, nil
	}
	if p[pos] > 1 {
		return -1, fmt.Errorf("%w: column %q holds %d, which is neither 0 nor 1: set types.tinyint1 to tinyint", source.ErrRefused, c.source.Name, int8(p[pos]))
	}
	c.vector.I32 = append(c.vector.I32, int32(p[pos]))
	return pos + 1, nil
}

// integer reads an integer of the column's width. An unsigned one of 8 bytes is to be taken as uint64.
func (c *column) integer(p []byte, pos int) (v int64, next int) {
	if next = pos + c.width; next > len(p) {
		return 0, -1
	}
	switch c.width {
	case 1:
		if v = int64(int8(p[pos])); c.unsigned {
			v = int64(p[pos])
		}
	case 2:
		u := binary.LittleEndian.Uint16(p[pos:])
		if v = int64(int16(u)); c.unsigned {
			v = int64(u)
		}
	case 4:
		u := binary.LittleEndian.Uint32(p[pos:])
		if v = int64(int32(u)); c.unsigned {
			v = int64(u)
		}
	default:
		v = int64(binary.LittleEndian.Uint64(p[pos:]))
	}
	return v, next
}

// decodeIntegerTo32 and decodeIntegerTo64 widen: the shard's own type is narrower than the merged one.
func decodeIntegerTo32(c *column, p []byte, pos int) (int, error) {
	v, next := c.integer(p, pos)
	if next > 0 {
		c.vector.I32 = append(c.vector.I32, int32(v))
	}
	return next, nil
}

func decodeIntegerTo64(c *column, p []byte, pos int) (int, error) {
	v, next := c.integer(p, pos)
	if next > 0 {
		c.vector.I64 = append(c.vector.I64, v)
	}
	return next, nil
}

// decodeIntegerToDecimal reads BIGINT UNSIGNED, and integers that the merge made DECIMAL.
func decodeIntegerToDecimal(c *column, p []byte, pos int) (int, error) {
	v, next := c.integer(p, pos)
	if next < 0 {
		return next, nil
	}
	negative := v < 0 && !c.unsigned
	u := uint64(v)
	if negative {
		u = -u
	}
	n := scaled(u, c.power)
	if !n.fits(c.vector.Type.Precision) {
		return -1, c.tooLong(fmt.Sprint(v))
	}
	appendUnscaled(c.vector, n, negative)
	return next, nil
}

func decodeFloat(c *column, p []byte, pos int) (int, error) {
	if len(p)-pos < 4 {
		return -1, nil
	}
	c.vector.F32 = append(c.vector.F32, math.Float32frombits(binary.LittleEndian.Uint32(p[pos:])))
	return pos + 4, nil
}

func decodeFloatToDouble(c *column, p []byte, pos int) (int, error) {
	if len(p)-pos < 4 {
		return -1, nil
	}
	c.vector.F64 = append(c.vector.F64, float64(math.Float32frombits(binary.LittleEndian.Uint32(p[pos:]))))
	return pos + 4, nil
}

func decodeDouble(c *column, p []byte, pos int) (int, error) {
	if len(p)-pos < 8 {
		return -1, nil
	}
	c.vector.F64 = append(c.vector.F64, math.Float64frombits(binary.LittleEndian.Uint64(p[pos:])))
	return pos + 8, nil
}

// decodeDecimal64 reads a DECIMAL of up to 18 digits, which is sent as text.
func decodeDecimal64(c *column, p []byte, pos int) (int, error) {
	text, next := lenbytes(p, pos)
	if next < 0 || len(text) == 0 {
		return -1, nil
	}
	digits := text
	if text[0] == '-' {
		digits = text[1:]
	}
	t := &c.vector.Type
	if len(digits) == 0 || len(digits) > 19 { // 18 digits and a point
		return decodeDecimalSlow(c, text, next)
	}
	var n uint64
	fraction := -1
	for _, b := range digits {
		if d := b - '0'; d <= 9 {
			n = n*10 + uint64(d)
		} else if b == '.' && fraction < 0 {
			fraction = 0
			continue
		} else {
			return -1, nil
		}
		if fraction >= 0 {
			fraction++
		}
	}
	if max(fraction, 0) != t.Scale || n >= tens[t.Precision] {
		return decodeDecimalSlow(c, text, next)
	}
	v := int64(n)
	if text[0] == '-' {
		v = -v
	}
	c.vector.I64 = append(c.vector.I64, v)
	return next, nil
}

// decodeDecimal reads a DECIMAL of any precision up to 38.
func decodeDecimal(c *column, p []byte, pos int) (int, error) {
	text, next := lenbytes(p, pos)
	if next < 0 {
		return -1, nil
	}
	return decodeDecimalSlow(c, text, next)
}

func decodeDecimalSlow(c *column, text []byte, next int) (int, error) {
	n, negative, ok := parseDecimal(text, c.vector.Type.Scale)
	if !ok {
		return -1, nil
	}
	if !n.fits(c.vector.Type.Precision) {
		return -1, c.tooLong(string(text))
	}
	appendUnscaled(c.vector, n, negative)
	return next, nil
}

func (c *column) tooLong(value string) error {
	t := c.vector.Type
	return fmt.Errorf("%w: column %q holds %s, which DECIMAL(%d,%d) cannot: start a new run, which plans anew",
		source.ErrSchemaChanged, c.source.Name, value, t.Precision, t.Scale)
}

// wide is an unsigned number of 128 bits.
type wide struct{ hi, lo uint64 }

// tens are the powers of ten that fit into 64 bits.
var tens = [20]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
}

// times multiplies by m and adds a, modulo 2^128.
func (w wide) times(m, a uint64) wide {
	hi, lo := bits.Mul64(w.lo, m)
	lo, carry := bits.Add64(lo, a, 0)
	return wide{hi: w.hi*m + hi + carry, lo: lo}
}

// fits tells whether the number has at most so many digits.
func (w wide) fits(precision int) bool {
	limit := scaled(1, precision)
	return w.hi < limit.hi || w.hi == limit.hi && w.lo < limit.lo
}

// scaled is u·10^power modulo 2^128; exact while the product has at most 38 digits.
func scaled(u uint64, power int) wide {
	w := wide{lo: u}
	for ; power > 19; power -= 19 {
		w = w.times(tens[19], 0)
	}
	return w.times(tens[power], 0)
}

// parseDecimal reads MySQL's text of a DECIMAL as an unscaled number of the given scale. It is not ok when the text is
// no number or has more fraction digits than the scale. More than 38 digits give a number that fits nowhere.
func parseDecimal(text []byte, scale int) (n wide, negative, ok bool) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	for len(text) > 1 && text[0] == '0' {
		text = text[1:]
	}
	fraction, digits := -1, 0
	var chunk uint64
	pending := 0
	for _, b := range text {
		if b == '.' && fraction < 0 {
			fraction = 0
			continue
		}
		d := b - '0'
		if d > 9 {
			return wide{}, false, false
		}
		chunk = chunk*10 + uint64(d)
		digits++
		if fraction >= 0 {
			fraction++
		}
		if pending++; pending == 18 {
			n, chunk, pending = n.times(tens[18], chunk), 0, 0
		}
	}
	n = n.times(tens[pending], chunk)
	missing := scale - max(fraction, 0)
	if digits == 0 || missing < 0 {
		return wide{}, false, false
	}
	if digits+missing > schema.MaxPrecision {
		return wide{hi: math.MaxUint64}, negative, true
	}
	for ; missing > 0; missing -= 19 {
		n = n.times(tens[min(missing, 19)], 0)
	}
	return n, negative, true
}

// appendUnscaled adds a DECIMAL to a vector of its layout. The number must fit the vector's precision.
func appendUnscaled(v *row.Vector, n wide, negative bool) {
	if negative {
		lo, borrow := bits.Sub64(0, n.lo, 0)
		hi, _ := bits.Sub64(0, n.hi, borrow)
		n = wide{hi: hi, lo: lo}
	}
	if v.Layout == row.LayoutInt64 {
		v.I64 = append(v.I64, int64(n.lo))
		return
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], n.hi)
	binary.BigEndian.PutUint64(b[8:], n.lo)
	v.Data = append(v.Data, b[16-v.Width:]...)
}
