package wire

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
)

// The functions here decode into types that do not hold all that the column may hold, because the configuration asks for
// them: each value is looked at, and the first that would change ends the read.

// cannotHold refuses a value.
func (c *column) cannotHold(value, remedy string) error {
	return fmt.Errorf("%w: column %q holds %s, which %s cannot hold as it is: %s", source.ErrRefused, c.source.Name, value, c.source.Type.WithNotNull(false), remedy)
}

const otherType = "ask for another type with columns: {name, type}, or for none"

// decodeIntegerChecked reads an integer that is to be of fewer bits.
func decodeIntegerChecked(c *column, p []byte, pos int) (int, error) {
	v, next := c.integer(p, pos)
	if next < 0 {
		return -1, nil
	}
	if c.unsigned && v < 0 { // 2^63 and above
		return -1, c.cannotHold(strconv.FormatUint(uint64(v), 10), otherType)
	}
	if limit := int64(1) << (c.bits - 1); c.bits < 64 && (v >= limit || v < -limit) {
		return -1, c.cannotHold(strconv.FormatInt(v, 10), otherType)
	}
	if c.vector.Layout == row.LayoutInt64 {
		c.vector.I64 = append(c.vector.I64, v)
	} else {
		c.vector.I32 = append(c.vector.I32, int32(v))
	}
	return next, nil
}

// decodeIntegerText writes an integer as decimal digits, whatever the column's display width.
func decodeIntegerText(c *column, p []byte, pos int) (int, error) {
	n, next := c.integer(p, pos)
	if next < 0 {
		return -1, nil
	}
	v := c.vector
	if c.unsigned {
		v.Data = strconv.AppendUint(v.Data, uint64(n), 10)
	} else {
		v.Data = strconv.AppendInt(v.Data, n, 10)
	}
	v.Offsets = append(v.Offsets, uint32(len(v.Data)))
	return next, nil
}

// decodeDecimalChecked reads a DECIMAL that is to have fewer digits: zeros at its end may go, others not.
func decodeDecimalChecked(c *column, p []byte, pos int) (int, error) {
	text, next := lenbytes(p, pos)
	if next < 0 {
		return -1, nil
	}
	short, surplus := text, 0
	for i, b := range text {
		if b == '.' {
			surplus = len(text) - i - 1 - c.source.Type.Scale
			break
		}
	}
	for ; surplus > 0; surplus-- {
		if short[len(short)-1] != '0' {
			return -1, c.cannotHold(string(text), otherType)
		}
		short = short[:len(short)-1]
	}
	n, negative, ok := parseDecimal(short, c.vector.Type.Scale)
	if !ok {
		return -1, nil
	}
	// The output may be wider than what was asked for; what fits it is its value.
	if !n.fits(c.vector.Type.Precision) {
		return -1, c.cannotHold(string(text), otherType)
	}
	appendUnscaled(c.vector, n, negative)
	return next, nil
}

// decodeTimeOfDay reads a TIME that is to be a time of day in milliseconds, the most that Paimon keeps of any TIME.
func decodeTimeOfDay(c *column, p []byte, pos int) (int, error) {
	if pos >= len(p) {
		return -1, nil
	}
	n := int(p[pos])
	next := pos + 1 + n
	if next > len(p) || n != 0 && n != 8 && n != 12 {
		return -1, nil
	}
	var millis int32
	if n > 0 {
		b := p[pos+1 : next]
		days, hour, minute, second, micro := binary.LittleEndian.Uint32(b[1:]), b[5], b[6], b[7], uint32(0)
		if n == 12 {
			micro = binary.LittleEndian.Uint32(b[8:])
		}
		if hour > 23 || minute > 59 || second > 59 || micro > 999999 {
			return -1, nil
		}
		unit := uint32(tens[6-c.width])
		if b[0] != 0 || days > 0 || micro%unit != 0 {
			return -1, c.noTimeOfDay(p, pos)
		}
		millis = ((int32(hour)*60+int32(minute))*60+int32(second))*1000 + int32(micro/1000)
	}
	c.vector.I32 = append(c.vector.I32, millis)
	return next, nil
}

// noTimeOfDay refuses the TIME at pos in MySQL's own words.
func (c *column) noTimeOfDay(p []byte, pos int) error {
	v := row.Vector{Offsets: []uint32{0}}
	said := column{vector: &v, width: 6}
	if _, err := decodeTimeText(&said, p, pos); err != nil {
		return err
	}
	return c.cannotHold(string(v.Data), "a time of day is from 00:00:00 to 23:59:59 and has milliseconds at most: set types.time to string")
}
