package deletion

import "github.com/RoaringBitmap/roaring/v2/roaring64"

// Vector is the set of the rows of a data file that are deleted, by their positions: 0 is the first row of the file. A nil
// vector has none.
type Vector struct {
	rows *roaring64.Bitmap
}

// Deleted tells whether the row at a position is deleted.
func (v *Vector) Deleted(position int64) bool {
	return v != nil && position >= 0 && v.rows.Contains(uint64(position))
}

// Count is the number of rows that are deleted.
func (v *Vector) Count() int64 {
	if v == nil {
		return 0
	}
	return int64(v.rows.GetCardinality())
}

// Live appends to dst which of the n rows from a position on, such as those of a batch, are not deleted: numbers from 0, as
// datafile's WriteRows takes them. The position must not be negative.
func (v *Vector) Live(dst []int32, position int64, n int) []int32 {
	next := int32(0)
	if v != nil {
		rows := v.rows.Iterator()
		for rows.AdvanceIfNeeded(uint64(position)); rows.HasNext(); {
			gone := rows.Next() - uint64(position)
			if gone >= uint64(n) {
				break
			}
			for ; next < int32(gone); next++ {
				dst = append(dst, next)
			}
			next++
		}
	}
	for ; next < int32(n); next++ {
		dst = append(dst, next)
	}
	return dst
}
