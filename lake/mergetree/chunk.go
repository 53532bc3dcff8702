package mergetree

import (
	"bytes"
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
)

// chunk is a part of the rows that a sorter has in memory. It is sorted on its own, while it lies in the processor's caches.
type chunk struct {
	batch *row.Batch
	keys  keys
	rows  []uint32 // in sorted order
	held  int      // memory when it was last looked at
}

// slot is what sorting moves about.
type slot struct {
	prefix uint64
	row    uint32
}

func (c *chunk) reset() {
	c.batch.Reset()
	c.keys.reset()
	c.rows = c.rows[:0]
}

// memory is the number of bytes held.
func (c *chunk) memory() int { return heldBytes(c.batch) + c.keys.memory() + cap(c.rows)*4 }

// sorting is memory to sort in, kept for the next chunk.
type sorting struct{ slots, other []slot }

func (s *sorting) memory() int { return (cap(s.slots) + cap(s.other)) * 16 }

// sort finds the order of the rows.
func (c *chunk) sort(k *keyer, q *sequencer, w *sorting) error {
	if err := k.add(&c.keys, c.batch, 0); err != nil {
		return err
	}
	w.slots = w.slots[:0]
	for i, p := range c.keys.prefix {
		w.slots = append(w.slots, slot{p, uint32(i)})
	}
	w.byPrefix()
	// Rows of equal prefixes are now in the order in which they came, which is that of their sequence numbers.
	if k.bits == 0 || len(q.columns) > 0 {
		for from := 0; from < len(w.slots); {
			to := from + 1
			for to < len(w.slots) && w.slots[to].prefix == w.slots[from].prefix {
				to++
			}
			slices.SortFunc(w.slots[from:to], func(a, b slot) int {
				if n := bytes.Compare(c.keys.bytes(a.row), c.keys.bytes(b.row)); n != 0 {
					return n
				}
				return q.compare(c.batch, a.row, c.batch, b.row)
			})
			from = to
		}
	}
	c.rows = slices.Grow(c.rows, len(w.slots))
	for i, s := range w.slots {
		c.keys.prefix[i] = s.prefix
		c.rows = append(c.rows, s.row)
	}
	return nil
}

// byPrefix sorts slots by their prefixes byte by byte, the last first, and keeps the order of equal ones. Bytes that all have
// alike, as numbers near each other do, cost nothing.
func (s *sorting) byPrefix() {
	n := len(s.slots)
	s.other = slices.Grow(s.other[:0], n)[:n]
	var counts [8][256]uint32
	for _, x := range s.slots {
		for b := range counts {
			counts[b][byte(x.prefix>>(8*b))]++
		}
	}
	for b := range counts {
		starts := &counts[b]
		if n == 0 || starts[byte(s.slots[0].prefix>>(8*b))] == uint32(n) {
			continue
		}
		at := uint32(0)
		for i, count := range starts {
			starts[i] = at
			at += count
		}
		for _, x := range s.slots {
			digit := byte(x.prefix >> (8 * b))
			s.other[starts[digit]] = x
			starts[digit]++
		}
		s.slots, s.other = s.other, s.slots
	}
}

func (c *chunk) cursor() *cursor { return &cursor{batch: c.batch, keys: c.keys, rows: c.rows} }
