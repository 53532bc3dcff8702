package filereader

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/tributary-lake/tributary/lake/row"
)

// decodeHybrid reads n numbers of some bits from runs of equal and of bit-packed numbers.
func decodeHybrid(dst []uint32, src []byte, width, n int) ([]uint32, error) {
	if width > 32 {
		return dst, fmt.Errorf("%w: numbers of %d bits", ErrCorrupt, width)
	}
	if width == 0 {
		for range n {
			dst = append(dst, 0)
		}
		return dst, nil
	}
	for n > 0 {
		head, size := binary.Uvarint(src)
		if size <= 0 {
			return dst, fmt.Errorf("%w: %d numbers are missing", ErrCorrupt, n)
		}
		src = src[size:]
		if head&1 == 0 {
			value, bytes := uint32(0), (width+7)/8
			if len(src) < bytes {
				return dst, fmt.Errorf("%w: a run without its number", ErrCorrupt)
			}
			for i := range bytes {
				value |= uint32(src[i]) << (8 * i)
			}
			src = src[bytes:]
			for k := min(head>>1, uint64(n)); k > 0; k-- {
				dst = append(dst, value)
				n--
			}
			continue
		}
		// Some writers leave the padding of the last group out.
		bytes := len(src)
		if groups := head >> 1; groups <= uint64(len(src))/uint64(width) {
			bytes = int(groups) * width
		}
		k := min(n, bytes*8/width)
		if k == 0 {
			return dst, fmt.Errorf("%w: an empty run", ErrCorrupt)
		}
		dst = unpack(dst, src[:bytes], width, k)
		src = src[bytes:]
		n -= k
	}
	return dst, nil
}

// unpack reads n bit-packed numbers, which src holds.
func unpack(dst []uint32, src []byte, width, n int) []uint32 {
	acc, have := uint64(0), 0
	mask := uint64(1)<<width - 1
	for range n {
		for have < width {
			acc |= uint64(src[0]) << have
			src = src[1:]
			have += 8
		}
		dst = append(dst, uint32(acc&mask))
		acc >>= width
		have -= width
	}
	return dst
}

const (
	millisOfDay  = 24 * 60 * 60 * 1000
	julianOf1970 = 2440588
)

// decodePlain appends n PLAIN values to v.
func (f *fileColumn) decodePlain(v *row.Vector, src []byte, n int) error {
	size := f.plainWidth()
	if size > 0 && n > len(src)/size {
		return fmt.Errorf("%w: %d values of %d bytes in %d bytes", ErrCorrupt, n, size, len(src))
	}
	switch f.physical {
	case format.Boolean:
		if n > len(src)*8 {
			return fmt.Errorf("%w: %d booleans in %d bytes", ErrCorrupt, n, len(src))
		}
		for i := range n {
			v.I32 = append(v.I32, int32(src[i/8]>>(i%8)&1))
		}
	case format.Int32:
		f.plainInt32(v, src[:4*n])
	case format.Int64:
		f.plainInt64(v, src[:8*n])
	case format.Int96:
		for ; n > 0; n-- {
			day := int64(int32(binary.LittleEndian.Uint32(src[8:]))) - julianOf1970
			appendNanos(v, day*millisOfDay, int64(binary.LittleEndian.Uint64(src)))
			src = src[12:]
		}
	case format.Float:
		for ; n > 0; n-- {
			v.F32 = append(v.F32, math.Float32frombits(binary.LittleEndian.Uint32(src)))
			src = src[4:]
		}
	case format.Double:
		for ; n > 0; n-- {
			v.F64 = append(v.F64, math.Float64frombits(binary.LittleEndian.Uint64(src)))
			src = src[8:]
		}
	case format.ByteArray:
		return f.plainBytes(v, src, n)
	case format.FixedLenByteArray:
		for ; n > 0; n-- {
			if err := f.appendBytes(v, src[:f.length]); err != nil {
				return err
			}
			src = src[f.length:]
		}
	}
	return nil
}

// plainWidth is the size of a PLAIN value, 0 where it varies or is less than a byte.
func (f *fileColumn) plainWidth() int {
	switch f.physical {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return f.length
	case format.Boolean, format.ByteArray:
	}
	return 0
}

func (f *fileColumn) plainInt32(v *row.Vector, src []byte) {
	for ; len(src) >= 4; src = src[4:] {
		x := binary.LittleEndian.Uint32(src)
		switch {
		case v.Layout == row.LayoutInt32:
			v.I32 = append(v.I32, int32(x))
		case f.unsigned:
			v.I64 = append(v.I64, int64(x))
		default:
			v.I64 = append(v.I64, int64(int32(x)))
		}
	}
}

func (f *fileColumn) plainInt64(v *row.Vector, src []byte) {
	for ; len(src) >= 8; src = src[8:] {
		x := int64(binary.LittleEndian.Uint64(src))
		if v.Layout == row.LayoutNanos { // a timestamp in nanoseconds
			appendNanos(v, 0, x)
			continue
		}
		v.I64 = append(v.I64, x)
	}
}

// appendNanos adds a timestamp of milliseconds and any number of nanoseconds. These are negative where Java wrote a moment
// before 1970.
func appendNanos(v *row.Vector, millis, nanos int64) {
	more, rest := nanos/1e6, nanos%1e6
	if rest < 0 {
		more, rest = more-1, rest+1e6
	}
	v.I64, v.I32 = append(v.I64, millis+more), append(v.I32, int32(rest))
}

func (f *fileColumn) plainBytes(v *row.Vector, src []byte, n int) error {
	for ; n > 0; n-- {
		if len(src) < 4 {
			return fmt.Errorf("%w: %d values are missing", ErrCorrupt, n)
		}
		size := binary.LittleEndian.Uint32(src)
		if uint64(size) > uint64(len(src)-4) {
			return fmt.Errorf("%w: a value of %d bytes in %d bytes", ErrCorrupt, size, len(src)-4)
		}
		if err := f.appendBytes(v, src[4:4+size]); err != nil {
			return err
		}
		src = src[4+size:]
	}
	return nil
}

// appendBytes adds bytes: as they are, or as the big-endian number of a decimal.
func (f *fileColumn) appendBytes(v *row.Vector, b []byte) error {
	switch v.Layout {
	case row.LayoutBytes:
		if len(v.Data)+len(b) > math.MaxUint32 {
			return fmt.Errorf("%w: a page of more than 4 GiB", ErrCorrupt)
		}
		v.AppendBytes(b)
		return nil
	case row.LayoutInt64:
		x, ok := signExtend(b, 8)
		if !ok {
			return fmt.Errorf("%w: a decimal of %d bytes is too large", ErrCorrupt, len(b))
		}
		v.I64 = append(v.I64, int64(binary.BigEndian.Uint64(x[8:])))
		return nil
	default: // LayoutFixed
		x, ok := signExtend(b, v.Width)
		if !ok {
			return fmt.Errorf("%w: a decimal of %d bytes is too large", ErrCorrupt, len(b))
		}
		v.Data = append(v.Data, x[16-v.Width:]...)
		return nil
	}
}

// signExtend makes a big-endian two's complement number 16 bytes long. It fails where width bytes cannot hold it.
func signExtend(b []byte, width int) (x [16]byte, ok bool) {
	fill := byte(0)
	if len(b) > 0 && b[0]&0x80 != 0 {
		fill = 0xFF
	}
	for len(b) > width {
		if b[0] != fill || (b[1]^fill)&0x80 != 0 {
			return x, false
		}
		b = b[1:]
	}
	for i := range 16 - len(b) {
		x[i] = fill
	}
	copy(x[16-len(b):], b)
	return x, true
}

// gather appends the values of a dictionary that indices name, of no more than limit bytes.
func gather(v, dict *row.Vector, indices []uint32, limit int) error {
	n := uint32(dict.Len())
	for _, i := range indices {
		if i >= n {
			return fmt.Errorf("%w: value %d of a dictionary of %d", ErrCorrupt, i, n)
		}
	}
	switch v.Layout {
	case row.LayoutInt32:
		for _, i := range indices {
			v.I32 = append(v.I32, dict.I32[i])
		}
	case row.LayoutInt64:
		for _, i := range indices {
			v.I64 = append(v.I64, dict.I64[i])
		}
	case row.LayoutFloat32:
		for _, i := range indices {
			v.F32 = append(v.F32, dict.F32[i])
		}
	case row.LayoutFloat64:
		for _, i := range indices {
			v.F64 = append(v.F64, dict.F64[i])
		}
	case row.LayoutNanos:
		for _, i := range indices {
			v.I64, v.I32 = append(v.I64, dict.I64[i]), append(v.I32, dict.I32[i])
		}
	case row.LayoutFixed:
		for _, i := range indices {
			v.Data = append(v.Data, dict.Bytes(int(i))...)
		}
	case row.LayoutBytes:
		return gatherBytes(v, dict, indices, limit)
	}
	return nil
}

func gatherBytes(v, dict *row.Vector, indices []uint32, limit int) error {
	size := len(v.Data)
	for _, i := range indices {
		size += int(dict.Offsets[i+1] - dict.Offsets[i])
	}
	if size > limit {
		return fmt.Errorf("%w: a page of %d bytes", ErrCorrupt, size)
	}
	for _, i := range indices {
		v.AppendBytes(dict.Bytes(int(i)))
	}
	return nil
}
