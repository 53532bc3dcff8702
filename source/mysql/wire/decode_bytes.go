package wire

import (
	"encoding/binary"
)

// decodeBytes copies text and binary strings as they are.
func decodeBytes(c *column, p []byte, pos int) (int, error) {
	b, next := lenbytes(p, pos)
	if next < 0 {
		return -1, nil
	}
	v := c.vector
	v.Data = append(v.Data, b...)
	v.Offsets = append(v.Offsets, uint32(len(v.Data)))
	return next, nil
}

// decodeBit keeps BIT(n) as (n+7)/8 bytes, the highest first.
func decodeBit(c *column, p []byte, pos int) (int, error) {
	b, next := lenbytes(p, pos)
	if next < 0 || len(b) > c.width {
		return -1, nil
	}
	v := c.vector
	for range c.width - len(b) {
		v.Data = append(v.Data, 0)
	}
	v.AppendBytes(b)
	return next, nil
}

func decodeBitToBoolean(c *column, p []byte, pos int) (int, error) {
	b, next := lenbytes(p, pos)
	if next < 0 || len(b) > 1 {
		return -1, nil
	}
	var truth int32
	if len(b) == 1 {
		truth = int32(b[0] & 1)
	}
	c.vector.I32 = append(c.vector.I32, truth)
	return next, nil
}

// decodeGeometry strips the SRID, four bytes before the WKB, and counts those that say something.
func decodeGeometry(c *column, p []byte, pos int) (int, error) {
	b, next := lenbytes(p, pos)
	if next < 0 || len(b) < 4 {
		return -1, nil
	}
	if binary.LittleEndian.Uint32(b) != 0 {
		c.replaced++
	}
	c.vector.AppendBytes(b[4:])
	return next, nil
}
