package message

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf16"
)

// appendUTF appends a text as java.io.DataOutput.writeUTF: its length in bytes as uint16, then modified UTF-8, in which NUL
// takes two bytes and what lies beyond U+FFFF is a pair of surrogates of three bytes each.
func appendUTF(dst []byte, text string) ([]byte, error) {
	start := len(dst)
	dst = append(dst, 0, 0)
	for _, r := range text {
		if hi, lo := utf16.EncodeRune(r); r > 0xffff {
			dst = appendUnit(appendUnit(dst, hi), lo)
			continue
		}
		dst = appendUnit(dst, r)
	}
	n := len(dst) - start - 2
	if n > math.MaxUint16 {
		return nil, fmt.Errorf("text of %d bytes, more than %d", n, math.MaxUint16)
	}
	binary.BigEndian.PutUint16(dst[start:], uint16(n))
	return dst, nil
}

func appendUnit(dst []byte, u rune) []byte {
	switch {
	case u > 0 && u < 0x80:
		return append(dst, byte(u))
	case u < 0x800:
		return append(dst, 0xc0|byte(u>>6), 0x80|byte(u&0x3f))
	}
	return append(dst, 0xe0|byte(u>>12), 0x80|byte(u>>6&0x3f), 0x80|byte(u&0x3f))
}

// decodeUTF reads modified UTF-8 as java.io.DataInput.readUTF. Surrogates without a partner become U+FFFD.
func decodeUTF(data []byte) (string, error) {
	var units []uint16
	for i := 0; i < len(data); {
		c := data[i]
		size, bits := 1, uint16(c)
		switch {
		case c < 0x80:
		case c>>5 == 6:
			size, bits = 2, uint16(c&0x1f)
		case c>>4 == 14:
			size, bits = 3, uint16(c&0x0f)
		default:
			return "", fmt.Errorf("byte %d begins no character", i)
		}
		if i+size > len(data) {
			return "", fmt.Errorf("byte %d begins a character that is cut off", i)
		}
		for _, next := range data[i+1 : i+size] {
			if next>>6 != 2 {
				return "", fmt.Errorf("byte %d begins no whole character", i)
			}
			bits = bits<<6 | uint16(next&0x3f)
		}
		units = append(units, bits)
		i += size
	}
	return string(utf16.Decode(units)), nil
}
