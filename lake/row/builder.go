package row

import (
	"encoding/binary"
	"fmt"
	"math"
)

const (
	// maxCompactDecimal is the largest precision of a DECIMAL that sits in its slot (org.apache.paimon.data.Decimal).
	maxCompactDecimal = 18
	// decimalArea is what a larger DECIMAL reserves in the variable part, null or not.
	decimalArea = 16
	// timestampArea is what a TIMESTAMP of more than 3 digits reserves there, null or not.
	timestampArea = 8
	// maxInline is the longest string that sits in its slot.
	maxInline = 7
	// rowHeadBits stand before a row's null bits: the row kind.
	rowHeadBits = 8
	// arrayHeadBits stand before an array's null bits: the size.
	arrayHeadBits = 32
)

// FixedPartSize is the number of bytes of a BinaryRow before its variable part.
func FixedPartSize(arity int) int { return nullBitsSize(arity) + 8*arity }

func nullBitsSize(arity int) int { return (arity + 63 + rowHeadBits) / 64 * 8 }

func arrayHeadSize(n int) int { return 4 + (n+31)/32*4 }

func roundUp8(n int) int { return (n + 7) &^ 7 }

// Builder writes one BinaryRow or BinaryArray at the end of a slice. Every field starts as a zero; set each at most once,
// in order, because the variable part is laid out in the order of the calls and its bytes are compared and hashed.
type Builder struct {
	buf      []byte
	start    int
	headBits int
	slots    int // offset of slot 0 from start
	width    int // of a slot
}

// NewRowBuilder starts a row of the given arity behind dst.
func NewRowBuilder(dst []byte, arity int) Builder {
	b := Builder{buf: dst, start: len(dst), headBits: rowHeadBits, slots: nullBitsSize(arity), width: 8}
	b.grow(FixedPartSize(arity))
	return b
}

// NewArrayBuilder starts an array of n elements of the given width (1, 2, 4 or 8 bytes) behind dst. A width of 8 serves all
// that has no smaller fixed size, strings and nested values among them.
func NewArrayBuilder(dst []byte, n, width int) Builder {
	b := Builder{buf: dst, start: len(dst), headBits: arrayHeadBits, slots: arrayHeadSize(n), width: width}
	b.grow(roundUp8(b.slots + n*width))
	binary.LittleEndian.PutUint32(b.buf[b.start:], uint32(n))
	return b
}

// Bytes returns dst with the row or array behind it.
func (b *Builder) Bytes() []byte { return b.buf }

// SetNull makes the i-th field null. DECIMAL of more than 18 digits and TIMESTAMP of more than 3 have their own.
func (b *Builder) SetNull(i int) {
	bit := b.headBits + i
	b.buf[b.start+bit/8] |= 1 << (bit % 8)
}

// SetInt8 sets a TINYINT, or a BOOLEAN as 0 or 1. The rest of the slot stays zero, whatever the sign.
func (b *Builder) SetInt8(i int, v int8) { b.slot(i)[0] = byte(v) }

// SetInt16 sets a SMALLINT.
func (b *Builder) SetInt16(i int, v int16) { binary.LittleEndian.PutUint16(b.slot(i), uint16(v)) }

// SetInt32 sets an INT, DATE or TIME.
func (b *Builder) SetInt32(i int, v int32) { binary.LittleEndian.PutUint32(b.slot(i), uint32(v)) }

// SetInt64 sets a BIGINT, a DECIMAL of up to 18 digits or a TIMESTAMP of up to 3.
func (b *Builder) SetInt64(i int, v int64) { binary.LittleEndian.PutUint64(b.slot(i), uint64(v)) }

// SetFloat32 sets a FLOAT.
func (b *Builder) SetFloat32(i int, v float32) {
	binary.LittleEndian.PutUint32(b.slot(i), math.Float32bits(v))
}

// SetFloat64 sets a DOUBLE.
func (b *Builder) SetFloat64(i int, v float64) {
	binary.LittleEndian.PutUint64(b.slot(i), math.Float64bits(v))
}

// SetBytes sets a string or binary: up to 7 bytes in the slot itself, more in the variable part.
func (b *Builder) SetBytes(i int, p []byte) {
	if len(p) > maxInline {
		b.SetNested(i, p)
		return
	}
	s := b.slot(i)
	copy(s, p)
	s[7] = 0x80 | byte(len(p))
}

// SetNested sets an array, map or row by its binary form.
func (b *Builder) SetNested(i int, p []byte) {
	b.reserve(i, uint32(len(p)), p, roundUp8(len(p)))
}

// SetDecimal sets a DECIMAL of more than 18 digits by its unscaled value, big-endian two's complement of any length that
// 16 bytes can hold.
func (b *Builder) SetDecimal(i int, unscaled []byte) {
	p := minimal(unscaled)
	if len(p) > decimalArea {
		panic(fmt.Sprintf("row: a decimal of %d bytes was made; none has more than %d", len(p), decimalArea))
	}
	b.reserve(i, uint32(len(p)), p, decimalArea)
}

// SetNullDecimal makes a DECIMAL of more than 18 digits null; its place in the variable part is kept.
func (b *Builder) SetNullDecimal(i int) {
	b.SetNull(i)
	b.reserve(i, 0, nil, decimalArea)
}

// SetTimestamp sets a TIMESTAMP of more than 3 digits: milliseconds since 1970 and the nanoseconds (0–999,999) within.
func (b *Builder) SetTimestamp(i int, millis int64, nanos int32) {
	var p [timestampArea]byte
	binary.LittleEndian.PutUint64(p[:], uint64(millis))
	b.reserve(i, uint32(nanos), p[:], timestampArea)
}

// SetNullTimestamp makes a TIMESTAMP of more than 3 digits null; its place in the variable part is kept.
func (b *Builder) SetNullTimestamp(i int) {
	b.SetNull(i)
	b.reserve(i, 0, nil, timestampArea)
}

// reserve appends size bytes to the variable part, p and zeros, and points the slot there.
func (b *Builder) reserve(i int, low uint32, p []byte, size int) {
	offset := len(b.buf) - b.start
	b.buf = append(b.buf, p...)
	b.grow(size - len(p))
	binary.LittleEndian.PutUint64(b.slot(i), uint64(offset)<<32|uint64(low))
}

func (b *Builder) slot(i int) []byte {
	at := b.start + b.slots + i*b.width
	return b.buf[at : at+b.width]
}

func (b *Builder) grow(n int) {
	var zeros [64]byte
	for ; n > len(zeros); n -= len(zeros) {
		b.buf = append(b.buf, zeros[:]...)
	}
	b.buf = append(b.buf, zeros[:n]...)
}
