package datafile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// column gathers one column: the values of the page under construction in PLAIN encoding, and what is known of the
// finished pages of the row group.
type column struct {
	field    schema.Field
	path     []string // in the file's schema
	physical physical
	width    int // of a value in page; 0 where it varies
	optional bool
	maxRows  int // of a page
	maxBytes int // of a page's values

	// page has room in front, levelRoom bytes, for the definition levels, which are known last.
	page      []byte
	levelRoom int
	rows      int // in page
	values    int // in page, not null
	// present is the bitmap of rows that are not null. It is only kept once the page has a null.
	present []byte
	// levels are there for a leaf of a nested column alone. Its entries count as rows.
	levels *leafLevels

	chunk chunk
	dict  dictionary
	total bounds // of the row groups written
	nulls int64  // of the row groups written
}

func newColumn(f schema.Field, opts Options) *column {
	p := physicalOf(f.Type)
	c := &column{
		field:    f,
		path:     []string{f.Name},
		physical: p,
		width:    p.width(f.Type),
		optional: !f.Type.NotNull,
		maxRows:  opts.PageRows,
		maxBytes: opts.PageBytes,
	}
	if c.width > 0 {
		c.maxRows = max(1, min(c.maxRows, opts.PageBytes/c.width))
	}
	if c.optional {
		c.levelRoom = 4 + binary.MaxVarintLen32 + c.maxRows/8 + 1
	}
	c.dict.init(p, c.width)
	c.total = newBounds(f.Type)
	c.chunk.bounds = newBounds(f.Type)
	c.startPage()
	return c
}

// startPage empties the page. Room that one long value made is given back.
func (c *column) startPage() {
	if c.levels != nil {
		c.levelRoom = 0
	}
	if cap(c.page) > 2*(c.maxBytes+c.levelRoom) {
		c.page = nil
	}
	c.page = slices.Grow(c.page[:0], c.levelRoom)[:c.levelRoom]
	c.rows, c.values = 0, 0
	c.present = c.present[:0]
	if c.levels != nil {
		c.levels.reset(c.maxBytes)
	}
}

// memory is the number of bytes held.
func (c *column) memory() int {
	n := cap(c.page) + cap(c.present) + c.dict.memory()
	if c.levels != nil {
		n += c.levels.memory()
	}
	return n
}

// pending is the size of the page under construction.
func (c *column) pending() int {
	if c.levels != nil {
		return c.levels.size()
	}
	return len(c.page)
}

// check refuses a vector that cannot be this column of a batch.
func (c *column) check(v *row.Vector, rows int) error {
	if v.Layout != row.LayoutOf(c.field.Type) {
		return fmt.Errorf("column %q: a batch column of kind %d and layout %d does not fit", c.field.Name, v.Type.Kind, v.Layout)
	}
	if v.Layout == row.LayoutFixed && v.Width != c.width {
		return fmt.Errorf("column %q: values of %d bytes do not fit, want %d", c.field.Name, v.Width, c.width)
	}
	return checkVector(c.field, v, rows)
}

func checkVector(f schema.Field, v *row.Vector, rows int) error {
	if v.Len() != rows {
		return fmt.Errorf("column %q: batch has %d values in %d rows", f.Name, v.Len(), rows)
	}
	if v.NullCount > 0 && f.Type.NotNull {
		return fmt.Errorf("column %q: %d nulls in a NOT NULL column", f.Name, v.NullCount)
	}
	return nil
}

// write appends the selected rows of a vector, or all when selected is nil, and finishes pages as they fill.
func (c *column) write(s *sink, v *row.Vector, rows int, selected []int32) error {
	if selected != nil {
		rows = len(selected)
	}
	for from := 0; from < rows; {
		to := min(rows, from+c.maxRows-c.rows)
		if c.physical == asBytes {
			to = c.fit(v, from, to, selected)
		}
		if to > from {
			if err := c.append(s, v, from, to, selected); err != nil {
				return err
			}
			from = to
		}
		if c.rows == c.maxRows || from < rows || len(c.page)-c.levelRoom >= c.maxBytes {
			if err := c.flushPage(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// fit tells up to which row the byte values fit into the page; one always fits into an empty page.
func (c *column) fit(v *row.Vector, from, to int, selected []int32) int {
	room := c.maxBytes - (len(c.page) - c.levelRoom)
	if selected == nil && int(v.Offsets[to]-v.Offsets[from])+4*(to-from) <= room {
		return to
	}
	for i := from; i < to; i++ {
		k := i
		if selected != nil {
			k = int(selected[i])
		}
		if room -= int(v.Offsets[k+1]-v.Offsets[k]) + 4; room < 0 {
			if i == from && c.rows == 0 {
				return i + 1
			}
			return i
		}
	}
	return to
}

// append adds rows that fit into the page.
func (c *column) append(s *sink, v *row.Vector, from, to int, selected []int32) error {
	if selected == nil && v.NullCount == 0 {
		c.mark(to - from)
		c.values += to - from
		return c.appendRange(v, from, to)
	}
	if selected == nil {
		s.rows = s.rows[:0]
		for i := from; i < to; i++ {
			s.rows = append(s.rows, int32(i))
		}
		selected = s.rows
	} else {
		selected = selected[from:to]
	}
	if v.NullCount == 0 {
		c.mark(len(selected))
	} else {
		selected = c.dropNulls(s, v, selected)
	}
	c.values += len(selected)
	return c.appendSelected(v, selected)
}

// mark adds n rows that are not null.
func (c *column) mark(n int) {
	if len(c.present) > 0 {
		c.growPresent(c.rows + n)
		setBits(c.present, c.rows, c.rows+n)
	}
	c.rows += n
}

// dropNulls adds rows to the bitmap and returns those that are not null.
func (c *column) dropNulls(s *sink, v *row.Vector, selected []int32) []int32 {
	if len(c.present) == 0 {
		c.growPresent(c.rows + 1)
		setBits(c.present, 0, c.rows)
	}
	c.growPresent(c.rows + len(selected))
	out := slices.Grow(s.picked[:0], len(selected))[:len(selected)]
	s.picked = out
	n, at := 0, c.rows
	for _, i := range selected {
		out[n] = i
		if !v.IsNull(int(i)) {
			n++
			c.present[at/8] |= 1 << (at % 8)
		}
		at++
	}
	c.rows = at
	return out[:n]
}

// growPresent makes the bitmap hold n rows; the new ones are null.
func (c *column) growPresent(n int) {
	for size := (n + 7) / 8; len(c.present) < size; {
		c.present = append(c.present, 0)
	}
}

// setBits sets the bits from up to, and without, to.
func setBits(bitmap []byte, from, to int) {
	for ; from < to && from%8 != 0; from++ {
		bitmap[from/8] |= 1 << (from % 8)
	}
	for ; from+8 <= to; from += 8 {
		bitmap[from/8] = 0xFF
	}
	for ; from < to; from++ {
		bitmap[from/8] |= 1 << (from % 8)
	}
}

// extend lengthens the page by n bytes and returns them.
func (c *column) extend(n int) []byte {
	size := len(c.page)
	c.page = slices.Grow(c.page, n)[:size+n]
	return c.page[size:]
}

func (c *column) appendRange(v *row.Vector, from, to int) error {
	switch c.physical {
	case asBoolean:
		return c.booleans(v.I32[from:to])
	case asInt32:
		out := c.extend(4 * (to - from))
		for i, x := range v.I32[from:to] {
			binary.LittleEndian.PutUint32(out[4*i:], uint32(x))
		}
	case asInt64:
		out := c.extend(8 * (to - from))
		for i, x := range v.I64[from:to] {
			binary.LittleEndian.PutUint64(out[8*i:], uint64(x))
		}
	case asNarrow:
		return c.narrow(v.I64[from:to])
	case asFloat:
		out := c.extend(4 * (to - from))
		for i, x := range v.F32[from:to] {
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(x))
		}
	case asDouble:
		out := c.extend(8 * (to - from))
		for i, x := range v.F64[from:to] {
			binary.LittleEndian.PutUint64(out[8*i:], math.Float64bits(x))
		}
	case asBytes:
		c.appendBytesRange(v, from, to)
	case asFixed:
		c.page = append(c.page, v.Data[from*c.width:to*c.width]...)
	case asInt96:
		for i := from; i < to; i++ {
			c.page = appendInt96(c.page, v.I64[i], v.I32[i])
		}
	}
	return nil
}

func (c *column) appendBytesRange(v *row.Vector, from, to int) {
	start := v.Offsets[from]
	out := c.extend(int(v.Offsets[to]-start) + 4*(to-from))
	for _, end := range v.Offsets[from+1 : to+1] {
		n := end - start
		binary.LittleEndian.PutUint32(out, n)
		copy(out[4:], v.Data[start:end])
		out = out[4+n:]
		start = end
	}
}

func (c *column) booleans(values []int32) error {
	out := c.extend(len(values))
	lost := int32(0)
	for i, x := range values {
		lost |= x
		out[i] = byte(x & 1)
	}
	return c.checkBits(lost)
}

// checkBits refuses a boolean that is neither 0 nor 1, given all of them in one.
func (c *column) checkBits(all int32) error {
	if all&^1 != 0 {
		return c.rangeError()
	}
	return nil
}

func (c *column) narrow(values []int64) error {
	out := c.extend(4 * len(values))
	lost := int64(0)
	for i, x := range values {
		lost |= x ^ int64(int32(x))
		binary.LittleEndian.PutUint32(out[4*i:], uint32(x))
	}
	if lost != 0 {
		return c.rangeError()
	}
	return nil
}

func (c *column) appendSelected(v *row.Vector, selected []int32) error {
	switch c.physical {
	case asBoolean:
		out := c.extend(len(selected))
		lost := int32(0)
		for i, k := range selected {
			lost |= v.I32[k]
			out[i] = byte(v.I32[k] & 1)
		}
		return c.checkBits(lost)
	case asInt32:
		out := c.extend(4 * len(selected))
		for i, k := range selected {
			binary.LittleEndian.PutUint32(out[4*i:], uint32(v.I32[k]))
		}
	case asInt64:
		out := c.extend(8 * len(selected))
		for i, k := range selected {
			binary.LittleEndian.PutUint64(out[8*i:], uint64(v.I64[k]))
		}
	case asNarrow:
		return c.narrowSelected(v.I64, selected)
	case asFloat:
		out := c.extend(4 * len(selected))
		for i, k := range selected {
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v.F32[k]))
		}
	case asDouble:
		out := c.extend(8 * len(selected))
		for i, k := range selected {
			binary.LittleEndian.PutUint64(out[8*i:], math.Float64bits(v.F64[k]))
		}
	case asBytes:
		for _, k := range selected {
			b := v.Data[v.Offsets[k]:v.Offsets[k+1]]
			c.page = binary.LittleEndian.AppendUint32(c.page, uint32(len(b)))
			c.page = append(c.page, b...)
		}
	case asFixed:
		for _, k := range selected {
			c.page = append(c.page, v.Data[int(k)*c.width:int(k+1)*c.width]...)
		}
	case asInt96:
		for _, k := range selected {
			c.page = appendInt96(c.page, v.I64[k], v.I32[k])
		}
	}
	return nil
}

func (c *column) narrowSelected(values []int64, selected []int32) error {
	out := c.extend(4 * len(selected))
	lost := int64(0)
	for i, k := range selected {
		x := values[k]
		lost |= x ^ int64(int32(x))
		binary.LittleEndian.PutUint32(out[4*i:], uint32(x))
	}
	if lost != 0 {
		return c.rangeError()
	}
	return nil
}

func (c *column) rangeError() error {
	return fmt.Errorf("column %q: %w", c.field.Name, ErrRange)
}

const (
	millisOfDay  = 24 * 60 * 60 * 1000
	julianOf1970 = 2440588
)

// appendInt96 adds a timestamp as nanoseconds of the day and Julian day. Both are of the day that the moment lies in, also
// before 1970, where Java counts the nanoseconds backwards and its older releases cannot read that again.
func appendInt96(dst []byte, millis int64, nanos int32) []byte {
	day, rest := millis/millisOfDay, millis%millisOfDay
	if rest < 0 {
		day, rest = day-1, rest+millisOfDay
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(rest*1e6+int64(nanos)))
	return binary.LittleEndian.AppendUint32(dst, uint32(day+julianOf1970))
}
