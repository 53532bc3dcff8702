package mergetree

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// keyer turns the keys of rows into bytes that compare as the keys do (row.Compare, column by column), so that sorting and
// merging compare numbers and bytes whatever the types. Per column: a byte 0 for null and 1 for a value where nulls may be,
// then the value: integers big-endian with the sign turned, floats so that their bits ascend, strings as they are when they
// end the key, else with each 0 followed by 255 and two 0 at the end.
//
// FLOAT and DOUBLE are ordered as Paimon 2.0 does it. Up to 1.4 it took -0 for 0 in keys, and a NaN for any number.
type keyer struct {
	columns []keyColumn
	// bits of a key when all keys are equally long and fit into a prefix, else 0.
	bits int
}

type keyColumn struct {
	at       int // in a batch of Spec.Fields
	layout   row.Layout
	width    int // of LayoutFixed
	nullable bool
	last     bool
}

// maxKeyBytes bounds the keys of one batch, whose offsets have 32 bits.
const maxKeyBytes = math.MaxInt32

var errKeysTooLarge = errors.New("the keys of one batch have more than 2 GiB; hand rows over in smaller batches")

func newKeyer(s *Spec) *keyer {
	k := &keyer{}
	for i, at := range s.Key {
		t := s.table.Fields[at].Type
		c := keyColumn{at: ValueColumns + at, layout: row.LayoutOf(t), nullable: !t.NotNull, last: i == len(s.Key)-1}
		if c.layout == row.LayoutFixed {
			c.width = row.FixedWidth(t.Precision)
		}
		k.columns = append(k.columns, c)
	}
	for _, c := range k.columns {
		n := 8
		switch c.layout {
		case row.LayoutInt32, row.LayoutFloat32:
			n = 4
		case row.LayoutInt64, row.LayoutFloat64:
		default:
			n = 9 // not of a fixed size, or too long
		}
		if c.nullable {
			n++
		}
		k.bits += 8 * n
	}
	if k.bits > 64 {
		k.bits = 0
	}
	return k
}

// keys are the encoded keys of a batch's rows.
type keys struct {
	// prefix has the first eight bytes of each key, as a number. It is the whole key where there are no bytes.
	prefix []uint64
	data   []byte
	// offsets of the keys in data, one more than rows; empty where the prefix is the whole key.
	offsets []uint32
}

func (k *keys) reset() {
	k.prefix, k.data, k.offsets = k.prefix[:0], k.data[:0], k.offsets[:0]
}

// bytes is the whole key of a row, nil where the prefix is.
func (k *keys) bytes(i uint32) []byte {
	if len(k.offsets) == 0 {
		return nil
	}
	return k.data[k.offsets[i]:k.offsets[i+1]]
}

// memory is the number of bytes held.
func (k *keys) memory() int { return cap(k.prefix)*8 + cap(k.data) + cap(k.offsets)*4 }

// add encodes the keys of a batch's rows from a row on, which are the rows after those that are there.
func (k *keyer) add(to *keys, b *row.Batch, from int) error {
	if k.bits > 0 {
		start := len(to.prefix)
		for range b.Rows - from {
			to.prefix = append(to.prefix, 0)
		}
		for _, c := range k.columns {
			c.shiftIn(to.prefix[start:], &b.Columns[c.at], from)
		}
		return nil
	}
	if len(to.offsets) == 0 {
		to.offsets = append(to.offsets, 0)
	}
	for i := from; i < b.Rows; i++ {
		at := len(to.data)
		for _, c := range k.columns {
			to.data = c.append(to.data, &b.Columns[c.at], i)
		}
		if len(to.data) > maxKeyBytes {
			return errKeysTooLarge
		}
		to.offsets = append(to.offsets, uint32(len(to.data)))
		to.prefix = append(to.prefix, prefixOf(to.data[at:]))
	}
	return nil
}

// prefixOf is the first eight bytes of a key, with zeros behind a shorter one.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var p [8]byte
	copy(p[:], key)
	return binary.BigEndian.Uint64(p[:])
}

// shiftIn adds a column of fixed size to prefixes.
func (c *keyColumn) shiftIn(prefix []uint64, v *row.Vector, from int) {
	for i := range prefix {
		at := from + i
		p := prefix[i]
		if c.nullable {
			p <<= 8
			if !v.IsNull(at) {
				p |= 1
			}
		}
		if c.layout == row.LayoutInt64 || c.layout == row.LayoutFloat64 {
			p = c.bits64(v, at) // alone: there is no room for another
		} else {
			p = p<<32 | uint64(c.bits32(v, at))
		}
		prefix[i] = p
	}
}

func (c *keyColumn) bits32(v *row.Vector, i int) uint32 {
	if c.layout == row.LayoutFloat32 {
		return float32Bits(v.F32[i])
	}
	return uint32(v.I32[i]) ^ 1<<31
}

func (c *keyColumn) bits64(v *row.Vector, i int) uint64 {
	if c.layout == row.LayoutFloat64 {
		return float64Bits(v.F64[i])
	}
	return uint64(v.I64[i]) ^ 1<<63
}

// append adds one value's bytes.
func (c *keyColumn) append(dst []byte, v *row.Vector, i int) []byte {
	if c.nullable {
		if v.IsNull(i) {
			return append(dst, 0)
		}
		dst = append(dst, 1)
	}
	switch c.layout {
	case row.LayoutInt32, row.LayoutFloat32:
		return binary.BigEndian.AppendUint32(dst, c.bits32(v, i))
	case row.LayoutInt64, row.LayoutFloat64:
		return binary.BigEndian.AppendUint64(dst, c.bits64(v, i))
	case row.LayoutNanos:
		dst = binary.BigEndian.AppendUint64(dst, c.bits64(v, i))
		return binary.BigEndian.AppendUint32(dst, uint32(v.I32[i]))
	case row.LayoutFixed:
		p := v.Bytes(i)
		return append(append(dst, p[0]^0x80), p[1:]...)
	case row.LayoutBytes:
	}
	if c.last {
		return append(dst, v.Bytes(i)...)
	}
	for _, b := range v.Bytes(i) {
		if dst = append(dst, b); b == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}

// float32Bits ascend as Java's Float.compare: -0 before 0, one NaN behind all.
func float32Bits(v float32) uint32 {
	if v != v {
		return math.MaxUint32
	}
	b := math.Float32bits(v)
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}

// float64Bits ascend as Java's Double.compare.
func float64Bits(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	b := math.Float64bits(v)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// sequencer orders rows of one key.
type sequencer struct {
	columns    []int // of `sequence.field`, in a batch of Spec.Fields
	types      []schema.Type
	descending bool
}

func newSequencer(s *Spec) *sequencer {
	q := &sequencer{descending: s.Descending}
	for _, at := range s.Sequence {
		q.columns = append(q.columns, ValueColumns+at)
		q.types = append(q.types, s.table.Fields[at].Type)
	}
	return q
}

// compare orders two rows of a key: negative when the first is earlier. Nulls are earliest in either direction, as
// org.apache.paimon.codegen's comparators have them.
func (q *sequencer) compare(a *row.Batch, i uint32, b *row.Batch, j uint32) int {
	for k, at := range q.columns {
		x, y := a.Columns[at].Value(int(i)), b.Columns[at].Value(int(j))
		c := row.Compare(q.types[k], x, y)
		if q.descending && !x.Null && !y.Null {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	if x, y := a.Columns[SequenceColumn].I64[i], b.Columns[SequenceColumn].I64[j]; x != y {
		if x < y {
			return -1
		}
		return 1
	}
	return retractRank(a, i) - retractRank(b, j)
}

// retractRank puts rows that take away before those that add.
func retractRank(b *row.Batch, i uint32) int {
	if row.Kind(b.Columns[KindColumn].I32[i]).Retracts() {
		return 0
	}
	return 1
}
