package avro

import (
	"encoding/binary"
	"fmt"
)

// maxDepth bounds the nesting of decoded values: a schema may name itself.
const maxDepth = 64

// Decoder reads values from a block by the writer's schema. The first error stays: after it every read gives a zero
// value, and [Decoder.Err] tells. Slices that it returns share the block's memory, which nobody writes to again.
type Decoder struct {
	rest  []byte
	depth int
	// budget is the number of values that may still be met. Nearly every value takes a byte; a schema of records that
	// hold records twice over, down to nulls, makes billions that take none.
	budget int64
	err    error
}

// NewDecoder returns a decoder over encoded values.
func NewDecoder(b []byte) *Decoder {
	return &Decoder{rest: b, budget: 64*int64(len(b)) + 10_000}
}

// Err is the first error, nil while all went well.
func (d *Decoder) Err() error { return d.err }

// Len is the number of bytes left.
func (d *Decoder) Len() int { return len(d.rest) }

// Rest is what is left of the block.
func (d *Decoder) Rest() []byte { return d.rest }

func (d *Decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
		d.rest = nil
	}
}

// Fail records an error of the caller's, such as a value that is out of range.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %w", ErrMalformed, err)
		d.rest = nil
	}
}

func (d *Decoder) varint() int64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail("a number is cut off or too long")
		return 0
	}
	d.rest = d.rest[n:]
	return int64(v>>1) ^ -int64(v&1)
}

func (d *Decoder) take(n int64) []byte {
	if n < 0 || n > int64(len(d.rest)) {
		d.fail("%d bytes are announced where %d are left", n, len(d.rest))
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

// resolve follows unions to the type of the value that comes next.
func (d *Decoder) resolve(s *Schema) Kind { return d.branch(s).Kind }

var nullSchema = Schema{Kind: Null}

func (d *Decoder) branch(s *Schema) *Schema {
	if d.budget--; d.budget < 0 {
		d.fail("more values than its bytes can hold")
		return &nullSchema
	}
	if s.Kind != Union {
		return s
	}
	i := d.varint()
	if d.err != nil {
		return &nullSchema
	}
	if i < 0 || i >= int64(len(s.Branches)) || s.Branches[i].Kind == Union {
		d.fail("branch %d of a union of %d", i, len(s.Branches))
		return &nullSchema
	}
	return s.Branches[i]
}

// Long reads an int or long; ok is false for null.
func (d *Decoder) Long(s *Schema) (v int64, ok bool) {
	switch k := d.resolve(s); k {
	case Int, Long:
		v = d.varint()
		return v, d.err == nil
	case Null:
	default:
		d.fail("a number is expected, the schema says kind %d", k)
	}
	return 0, false
}

// Bytes reads bytes or a string; ok is false for null.
func (d *Decoder) Bytes(s *Schema) (b []byte, ok bool) {
	switch k := d.resolve(s); k {
	case Bytes, String:
		b = d.take(d.varint())
		return b, d.err == nil
	case Null:
	default:
		d.fail("bytes are expected, the schema says kind %d", k)
	}
	return nil, false
}

// Array calls fn for every item; ok is false for null. The number of items is never trusted: fn is called only while
// bytes are left.
func (d *Decoder) Array(s *Schema, fn func(item *Schema)) (ok bool) {
	b := d.branch(s)
	switch b.Kind {
	case Array:
		d.blocks(func() { fn(b.Items) })
		return d.err == nil
	case Null:
	default:
		d.fail("an array is expected, the schema says kind %d", b.Kind)
	}
	return false
}

// blocks reads the blocks of an array or map. A negative count is followed by the block's size in bytes.
func (d *Decoder) blocks(item func()) {
	for d.err == nil {
		n := d.varint()
		if n < 0 {
			n = -n
			d.varint()
		}
		if n == 0 || d.err != nil {
			return
		}
		// Every item that we may meet takes a byte at least.
		if n < 0 || n > int64(len(d.rest)) {
			d.fail("%d items are announced where %d bytes are left", n, len(d.rest))
			return
		}
		for ; n > 0 && d.err == nil; n-- {
			item()
		}
	}
}

// Record calls fn for every field in the writer's order; fn reads or skips the value. ok is false for null.
func (d *Decoder) Record(s *Schema, fn func(name string, field *Schema)) (ok bool) {
	b := d.branch(s)
	switch b.Kind {
	case Record:
		if d.enter() {
			defer d.leave()
			for i := range b.Fields {
				if d.err != nil {
					return false
				}
				fn(b.Fields[i].Name, b.Fields[i].Schema)
			}
		}
		return d.err == nil
	case Null:
	default:
		d.fail("a record is expected, the schema says kind %d", b.Kind)
	}
	return false
}

func (d *Decoder) enter() bool {
	if d.depth++; d.depth > maxDepth {
		d.fail("values are nested deeper than %d", maxDepth)
		return false
	}
	return d.err == nil
}

func (d *Decoder) leave() { d.depth-- }

// Skip passes over a value.
func (d *Decoder) Skip(s *Schema) {
	if !d.enter() {
		return
	}
	defer d.leave()
	b := d.branch(s)
	switch b.Kind {
	case Null:
	case Boolean:
		d.take(1)
	case Int, Long:
		d.varint()
	case Float:
		d.take(4)
	case Double:
		d.take(8)
	case Bytes, String:
		d.take(d.varint())
	case Fixed:
		d.take(int64(b.Size))
	case Array:
		d.blocks(func() { d.Skip(b.Items) })
	case Map:
		d.blocks(func() {
			d.take(d.varint())
			d.Skip(b.Items)
		})
	case Record:
		for i := range b.Fields {
			d.Skip(b.Fields[i].Schema)
		}
	default:
		d.fail("kind %d cannot be skipped", b.Kind)
	}
}
