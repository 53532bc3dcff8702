package block

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
)

// Append adds the rows of a batch as bytes, column by column: a byte that tells whether there are nulls, a bit for each
// row that is null if so, and the values little-endian; those of varying length have all lengths in front.
func Append(dst []byte, b *row.Batch) []byte {
	for c := range b.Columns {
		v := &b.Columns[c]
		dst = appendNulls(dst, v, b.Rows)
		switch v.Layout {
		case row.LayoutInt32:
			dst = append32(dst, v.I32)
		case row.LayoutInt64:
			dst = append64(dst, v.I64)
		case row.LayoutNanos:
			dst = append32(append64(dst, v.I64), v.I32)
		case row.LayoutFloat32:
			for _, x := range v.F32 {
				dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
			}
		case row.LayoutFloat64:
			for _, x := range v.F64 {
				dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
			}
		case row.LayoutBytes:
			for i := range b.Rows {
				dst = binary.LittleEndian.AppendUint32(dst, v.Offsets[i+1]-v.Offsets[i])
			}
			dst = append(dst, v.Data...)
		case row.LayoutFixed:
			dst = append(dst, v.Data...)
		}
	}
	return dst
}

func appendNulls(dst []byte, v *row.Vector, rows int) []byte {
	if v.NullCount == 0 {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	at := len(dst)
	dst = append(dst, make([]byte, (rows+7)/8)...)
	for i := range rows {
		if v.IsNull(i) {
			dst[at+i/8] |= 1 << (i % 8)
		}
	}
	return dst
}

func append32(dst []byte, values []int32) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 4*len(values))[:at+4*len(values)]
	for i, x := range values {
		binary.LittleEndian.PutUint32(dst[at+4*i:], uint32(x))
	}
	return dst
}

func append64(dst []byte, values []int64) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 8*len(values))[:at+8*len(values)]
	for i, x := range values {
		binary.LittleEndian.PutUint64(dst[at+8*i:], uint64(x))
	}
	return dst
}

// ErrColumns is returned for bytes that are not those of a batch with these columns and rows.
var ErrColumns = errors.New("a block's columns are not those of its rows")

// reader takes the parts of a block.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.data) {
		r.bad = true
		return nil
	}
	p := r.data[:n]
	r.data = r.data[n:]
	return p
}

// Read adds the rows of a block to an empty batch.
func Read(b *row.Batch, data []byte, rows int) error {
	r := &reader{data: data}
	for c := range b.Columns {
		var nulls []byte
		switch flag := r.take(1); {
		case r.bad || flag[0] > 1:
			return ErrColumns
		case flag[0] == 1:
			nulls = r.take((rows + 7) / 8)
		}
		if !r.bad {
			r.column(&b.Columns[c], nulls, rows)
		}
		if r.bad {
			return ErrColumns
		}
	}
	if len(r.data) > 0 {
		return ErrColumns
	}
	b.Rows = rows
	return nil
}

func (r *reader) column(v *row.Vector, nulls []byte, rows int) {
	switch v.Layout {
	case row.LayoutInt32:
		v.I32 = read32(v.I32, r.take(4*rows))
	case row.LayoutInt64:
		v.I64 = read64(v.I64, r.take(8*rows))
	case row.LayoutNanos:
		v.I64 = read64(v.I64, r.take(8*rows))
		v.I32 = read32(v.I32, r.take(4*rows))
	case row.LayoutFloat32:
		p := r.take(4 * rows)
		for i := 0; i < len(p); i += 4 {
			v.F32 = append(v.F32, math.Float32frombits(binary.LittleEndian.Uint32(p[i:])))
		}
	case row.LayoutFloat64:
		p := r.take(8 * rows)
		for i := 0; i < len(p); i += 8 {
			v.F64 = append(v.F64, math.Float64frombits(binary.LittleEndian.Uint64(p[i:])))
		}
	case row.LayoutBytes:
		r.bytes(v, rows)
	case row.LayoutFixed:
		v.Data = append(v.Data, r.take(v.Width*rows)...)
	}
	for i := 0; nulls != nil && !r.bad && i < rows; i++ {
		if nulls[i/8]&(1<<(i%8)) != 0 {
			v.SetNull(i)
		}
	}
}

func (r *reader) bytes(v *row.Vector, rows int) {
	lengths := r.take(4 * rows)
	total := 0
	for i := 0; i < len(lengths); i += 4 {
		if total += int(binary.LittleEndian.Uint32(lengths[i:])); total > len(r.data) {
			r.bad = true
			return
		}
		v.Offsets = append(v.Offsets, uint32(total))
	}
	v.Data = append(v.Data, r.take(total)...)
}

func read32(dst []int32, p []byte) []int32 {
	dst = slices.Grow(dst, len(p)/4)[:len(p)/4]
	for i := range dst {
		dst[i] = int32(binary.LittleEndian.Uint32(p[4*i:]))
	}
	return dst
}

func read64(dst []int64, p []byte) []int64 {
	dst = slices.Grow(dst, len(p)/8)[:len(p)/8]
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(p[8*i:]))
	}
	return dst
}
