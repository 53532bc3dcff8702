package row

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// Checksum is a checksum of rows that does not depend on their order: the sum of a hash of each, beside their number. Rows that
// differ in a value, a null or a column's place have other hashes; a row that comes twice counts twice. The zero value is that
// of no rows. It is for comparing what was read with what was written, not against anybody who means to deceive.
type Checksum struct {
	Rows int64
	Sum  uint64

	hashes []uint64 // of the batch being added
}

// Add adds the rows of a batch. Two batches of one row have one checksum if their columns have the same types in order.
func (c *Checksum) Add(b *Batch) {
	if cap(c.hashes) < b.Rows {
		c.hashes = make([]uint64, b.Rows)
	}
	h := c.hashes[:b.Rows]
	for i := range h {
		h[i] = seed
	}
	for i := range b.Columns {
		b.Columns[i].hash(h)
	}
	for _, x := range h {
		c.Sum += x
	}
	c.Rows += int64(b.Rows)
}

// Same tells whether two checksums are of the same rows.
func (c *Checksum) Same(d *Checksum) bool { return c.Rows == d.Rows && c.Sum == d.Sum }

// String gives both numbers for people.
func (c *Checksum) String() string { return fmt.Sprintf("%d rows with checksum %016x", c.Rows, c.Sum) }

const (
	seed = 0x9e3779b97f4a7c15
	// null is mixed in where a value is absent, so that a null is no zero.
	null = 0xd6e8feb86659fd93
)

// mix makes a hash of one and the next value, as the finalizer of MurmurHash3 does.
func mix(h, v uint64) uint64 {
	h ^= v * seed
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return bits.RotateLeft64(h, 23)
}

// hash mixes the vector's values into those of their rows.
func (v *Vector) hash(h []uint64) {
	nulls := v.NullCount > 0
	each := func(value func(i int) uint64) {
		for i := range h {
			if nulls && v.IsNull(i) {
				h[i] = mix(mix(h[i], null), null)
				continue
			}
			h[i] = mix(h[i], value(i))
		}
	}
	switch v.Layout {
	case LayoutInt32:
		each(func(i int) uint64 { return uint64(v.I32[i]) })
	case LayoutInt64:
		each(func(i int) uint64 { return uint64(v.I64[i]) })
	case LayoutNanos:
		each(func(i int) uint64 { return mix(uint64(v.I64[i]), uint64(v.I32[i])) })
	case LayoutFloat32:
		each(func(i int) uint64 { return uint64(math.Float32bits(v.F32[i])) })
	case LayoutFloat64:
		each(func(i int) uint64 { return math.Float64bits(v.F64[i]) })
	case LayoutBytes:
		each(func(i int) uint64 { return xxhash.Sum64(v.Data[v.Offsets[i]:v.Offsets[i+1]]) })
	case LayoutFixed:
		each(func(i int) uint64 { return xxhash.Sum64(v.Data[i*v.Width : (i+1)*v.Width]) })
	}
}
