package mergetree

import (
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
)

// pick names a row of one of several batches.
type pick struct {
	batch int32
	row   uint32
}

// gatherer copies rows column by column. The values of a column in all batches are looked up once for many rows, which then
// cost no more than two steps through memory each.
type gatherer struct {
	i32     [][]int32
	i64     [][]int64
	f32     [][]float32
	f64     [][]float64
	data    [][]byte
	offsets [][]uint32
}

// gather adds rows of batches to a batch.
func (g *gatherer) gather(dst *row.Batch, batches []*row.Batch, picks []pick) {
	if len(picks) == 0 {
		return
	}
	for c := range dst.Columns {
		g.column(&dst.Columns[c], batches, c, picks)
	}
	dst.Rows += len(picks)
}

func (g *gatherer) column(dst *row.Vector, batches []*row.Batch, c int, picks []pick) {
	start, nulls := dst.Len(), 0
	for _, b := range batches {
		nulls += b.Columns[c].NullCount
	}
	switch dst.Layout {
	case row.LayoutInt32:
		dst.I32 = gatherValues(dst.I32, &g.i32, batches, c, picks, func(v *row.Vector) []int32 { return v.I32 })
	case row.LayoutInt64:
		dst.I64 = gatherValues(dst.I64, &g.i64, batches, c, picks, func(v *row.Vector) []int64 { return v.I64 })
	case row.LayoutNanos:
		dst.I64 = gatherValues(dst.I64, &g.i64, batches, c, picks, func(v *row.Vector) []int64 { return v.I64 })
		dst.I32 = gatherValues(dst.I32, &g.i32, batches, c, picks, func(v *row.Vector) []int32 { return v.I32 })
	case row.LayoutFloat32:
		dst.F32 = gatherValues(dst.F32, &g.f32, batches, c, picks, func(v *row.Vector) []float32 { return v.F32 })
	case row.LayoutFloat64:
		dst.F64 = gatherValues(dst.F64, &g.f64, batches, c, picks, func(v *row.Vector) []float64 { return v.F64 })
	case row.LayoutBytes:
		g.bytes(dst, batches, c, picks)
	case row.LayoutFixed:
		views(&g.data, batches, c, func(v *row.Vector) []byte { return v.Data })
		for _, p := range picks {
			at := int(p.row) * dst.Width
			dst.Data = append(dst.Data, g.data[p.batch][at:at+dst.Width]...)
		}
	}
	if nulls == 0 {
		return
	}
	for i, p := range picks {
		if v := &batches[p.batch].Columns[c]; v.NullCount > 0 && v.IsNull(int(p.row)) {
			dst.SetNull(start + i)
		}
	}
}

// views are a column's values in all batches.
func views[T any](to *[][]T, batches []*row.Batch, c int, of func(*row.Vector) []T) {
	*to = (*to)[:0]
	for _, b := range batches {
		*to = append(*to, of(&b.Columns[c]))
	}
}

func gatherValues[T any](dst []T, view *[][]T, batches []*row.Batch, c int, picks []pick, of func(*row.Vector) []T) []T {
	views(view, batches, c, of)
	n := len(dst)
	dst = slices.Grow(dst, len(picks))[:n+len(picks)]
	out, in := dst[n:], *view
	for i, p := range picks {
		out[i] = in[p.batch][p.row]
	}
	return dst
}

func (g *gatherer) bytes(dst *row.Vector, batches []*row.Batch, c int, picks []pick) {
	views(&g.data, batches, c, func(v *row.Vector) []byte { return v.Data })
	views(&g.offsets, batches, c, func(v *row.Vector) []uint32 { return v.Offsets })
	dst.Offsets = slices.Grow(dst.Offsets, len(picks))
	data := dst.Data
	for _, p := range picks {
		o := g.offsets[p.batch]
		data = append(data, g.data[p.batch][o[p.row]:o[p.row+1]]...)
		dst.Offsets = append(dst.Offsets, uint32(len(data)))
	}
	dst.Data = data
}

// appendValue adds a value of a vector of the same type.
func appendValue(dst, v *row.Vector, i int) {
	if v.NullCount > 0 && v.IsNull(i) {
		dst.AppendNull()
		return
	}
	switch v.Layout {
	case row.LayoutInt32:
		dst.I32 = append(dst.I32, v.I32[i])
	case row.LayoutInt64:
		dst.I64 = append(dst.I64, v.I64[i])
	case row.LayoutFloat32:
		dst.F32 = append(dst.F32, v.F32[i])
	case row.LayoutFloat64:
		dst.F64 = append(dst.F64, v.F64[i])
	case row.LayoutBytes:
		dst.Data = append(dst.Data, v.Data[v.Offsets[i]:v.Offsets[i+1]]...)
		dst.Offsets = append(dst.Offsets, uint32(len(dst.Data)))
	case row.LayoutFixed:
		dst.Data = append(dst.Data, v.Bytes(i)...)
	case row.LayoutNanos:
		dst.I64, dst.I32 = append(dst.I64, v.I64[i]), append(dst.I32, v.I32[i])
	}
}

// appendRow adds one row of a batch.
func appendRow(dst, b *row.Batch, i uint32) {
	for c := range dst.Columns {
		appendValue(&dst.Columns[c], &b.Columns[c], int(i))
	}
	dst.Rows++
}

// appendRange adds the values of a range of rows to a vector of the same type.
func appendRange(dst, v *row.Vector, from, to int) {
	start := dst.Len()
	switch v.Layout {
	case row.LayoutInt32:
		dst.I32 = append(dst.I32, v.I32[from:to]...)
	case row.LayoutInt64:
		dst.I64 = append(dst.I64, v.I64[from:to]...)
	case row.LayoutFloat32:
		dst.F32 = append(dst.F32, v.F32[from:to]...)
	case row.LayoutFloat64:
		dst.F64 = append(dst.F64, v.F64[from:to]...)
	case row.LayoutBytes:
		shift := uint32(len(dst.Data)) - v.Offsets[from]
		dst.Data = append(dst.Data, v.Data[v.Offsets[from]:v.Offsets[to]]...)
		for _, end := range v.Offsets[from+1 : to+1] {
			dst.Offsets = append(dst.Offsets, end+shift)
		}
	case row.LayoutFixed:
		dst.Data = append(dst.Data, v.Data[from*v.Width:to*v.Width]...)
	case row.LayoutNanos:
		dst.I64, dst.I32 = append(dst.I64, v.I64[from:to]...), append(dst.I32, v.I32[from:to]...)
	}
	if v.NullCount == 0 {
		return
	}
	for i := from; i < to; i++ {
		if v.IsNull(i) {
			dst.SetNull(start + i - from)
		}
	}
}

// rowSize is the number of bytes of a row's values.
func rowSize(b *row.Batch, i int) int {
	n := 0
	for c := range b.Columns {
		switch v := &b.Columns[c]; v.Layout {
		case row.LayoutInt32, row.LayoutFloat32:
			n += 4
		case row.LayoutInt64, row.LayoutFloat64:
			n += 8
		case row.LayoutNanos:
			n += 12
		case row.LayoutFixed:
			n += v.Width
		case row.LayoutBytes:
			n += 4 + int(v.Offsets[i+1]-v.Offsets[i])
		}
	}
	return n
}

// heldBytes is the memory that a batch holds, used or not.
func heldBytes(b *row.Batch) int {
	n := 0
	for c := range b.Columns {
		v := &b.Columns[c]
		n += cap(v.I32)*4 + cap(v.I64)*8 + cap(v.F32)*4 + cap(v.F64)*8 + cap(v.Data) + cap(v.Offsets)*4
		if v.NullCount > 0 {
			n += v.Len() / 8
		}
	}
	return n
}
