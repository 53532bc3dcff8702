package row

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Section reads one BinaryRow or BinaryArray. Whoever made it by [ReadRow] or [ReadArray] may ask for the fields below its
// size without fear of panics, whatever the bytes; what points outside is an error. Asking with another type than the
// writer's gives nonsense values.
type Section struct {
	data     []byte
	n        int
	headBits int
	slots    int
	width    int
}

// ReadRow reads a row of the given arity, without an arity in front.
func ReadRow(data []byte, arity int) (Section, error) {
	if size := FixedPartSize(arity); len(data) < size {
		return Section{}, fmt.Errorf("row of %d fields needs %d bytes, has %d", arity, size, len(data))
	}
	return Section{data: data, n: arity, headBits: rowHeadBits, slots: nullBitsSize(arity), width: 8}, nil
}

// ReadArray reads an array whose elements have the given width (1, 2, 4 or 8 bytes).
func ReadArray(data []byte, width int) (Section, error) {
	if len(data) < 4 {
		return Section{}, fmt.Errorf("array of %d bytes is too short for its size", len(data))
	}
	n := int32(binary.LittleEndian.Uint32(data))
	// Both bounds: the first keeps the arithmetic of the second from overflowing.
	if n < 0 || int(n) > len(data)/width || arrayHeadSize(int(n))+int(n)*width > len(data) {
		return Section{}, fmt.Errorf("array of %d bytes cannot hold %d elements", len(data), n)
	}
	return Section{data: data, n: int(n), headBits: arrayHeadBits, slots: arrayHeadSize(int(n)), width: width}, nil
}

// Len is the number of fields or elements.
func (s Section) Len() int { return s.n }

// IsNull tells whether the i-th field is null.
func (s Section) IsNull(i int) bool {
	bit := s.headBits + i
	return s.data[bit/8]&(1<<(bit%8)) != 0
}

// Int8 reads a TINYINT, or a BOOLEAN as 0 or 1.
func (s Section) Int8(i int) int8 { return int8(s.slot(i)[0]) }

// Int16 reads a SMALLINT.
func (s Section) Int16(i int) int16 { return int16(binary.LittleEndian.Uint16(s.slot(i))) }

// Int32 reads an INT, DATE or TIME.
func (s Section) Int32(i int) int32 { return int32(binary.LittleEndian.Uint32(s.slot(i))) }

// Int64 reads a BIGINT, a DECIMAL of up to 18 digits or a TIMESTAMP of up to 3.
func (s Section) Int64(i int) int64 { return int64(binary.LittleEndian.Uint64(s.slot(i))) }

// Float32 reads a FLOAT.
func (s Section) Float32(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(s.slot(i)))
}

// Float64 reads a DOUBLE.
func (s Section) Float64(i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(s.slot(i)))
}

// Bytes reads a string or binary. The slice is a part of the row.
func (s Section) Bytes(i int) ([]byte, error) {
	slot := s.slot(i)
	if slot[7]&0x80 == 0 {
		return s.Nested(i)
	}
	n := int(slot[7] & 0x7f)
	if n > maxInline {
		return nil, fmt.Errorf("inline string of %d bytes, more than %d", n, maxInline)
	}
	return slot[:n:n], nil
}

// Nested reads the binary form of an array, map or row. The slice is a part of the row.
func (s Section) Nested(i int) ([]byte, error) {
	slot := binary.LittleEndian.Uint64(s.slot(i))
	return s.part(slot>>32, slot&math.MaxUint32)
}

// Timestamp reads a TIMESTAMP of more than 3 digits.
func (s Section) Timestamp(i int) (millis int64, nanos int32, err error) {
	slot := binary.LittleEndian.Uint64(s.slot(i))
	if low := slot & math.MaxUint32; low > 999_999 {
		return 0, 0, fmt.Errorf("timestamp with %d nanoseconds in a millisecond", low)
	}
	p, err := s.part(slot>>32, timestampArea)
	if err != nil {
		return 0, 0, err
	}
	return int64(binary.LittleEndian.Uint64(p)), int32(slot & math.MaxUint32), nil
}

// part is the given piece of the row. Offset and size are below 2^32, so their sum cannot overflow.
func (s Section) part(offset, size uint64) ([]byte, error) {
	end := offset + size
	if end > uint64(len(s.data)) {
		return nil, fmt.Errorf("bytes %d to %d are outside of the row's %d", offset, end, len(s.data))
	}
	return s.data[offset:end:end], nil
}

func (s Section) slot(i int) []byte {
	at := s.slots + i*s.width
	return s.data[at : at+s.width]
}
