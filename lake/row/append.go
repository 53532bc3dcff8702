package row

import "slices"

// appendRows adds values of a vector of the same type by their numbers.
func (v *Vector) appendRows(src *Vector, rows []int32) {
	start := v.Len()
	switch v.Layout {
	case LayoutInt32:
		v.I32 = pick(v.I32, src.I32, rows)
	case LayoutInt64:
		v.I64 = pick(v.I64, src.I64, rows)
	case LayoutNanos:
		v.I64, v.I32 = pick(v.I64, src.I64, rows), pick(v.I32, src.I32, rows)
	case LayoutFloat32:
		v.F32 = pick(v.F32, src.F32, rows)
	case LayoutFloat64:
		v.F64 = pick(v.F64, src.F64, rows)
	case LayoutBytes:
		v.Offsets = slices.Grow(v.Offsets, len(rows))
		for _, i := range rows {
			v.AppendBytes(src.Data[src.Offsets[i]:src.Offsets[i+1]])
		}
	case LayoutFixed:
		for _, i := range rows {
			v.Data = append(v.Data, src.Bytes(int(i))...)
		}
	}
	if src.NullCount == 0 {
		return
	}
	for at, i := range rows {
		if src.IsNull(int(i)) {
			v.SetNull(start + at)
		}
	}
}

func pick[T any](dst, src []T, rows []int32) []T {
	n := len(dst)
	dst = slices.Grow(dst, len(rows))[:n+len(rows)]
	for at, i := range rows {
		dst[n+at] = src[i]
	}
	return dst
}
