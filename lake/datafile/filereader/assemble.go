package filereader

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// assembler puts the values of a nested column together from its leaves' values and levels, as Google's Dremel paper has it,
// in Paimon's binary form.
type assembler struct {
	root  *node
	limit int // of the memory that one value may take
	// The value under construction: the parts of what is open, and the bytes of all parts.
	parts []row.Value
	bytes []byte
}

// read appends n rows.
func (a *assembler) read(v *row.Vector, n int) error {
	for range n {
		a.parts, a.bytes = a.parts[:0], a.bytes[:0]
		for _, l := range a.root.leaves {
			if rep, err := l.peek(); err != nil {
				return err
			} else if rep != 0 {
				return fmt.Errorf("%w: the values of a row begin within the row before", ErrCorrupt)
			}
		}
		x, err := a.value(a.root)
		if err != nil {
			return err
		}
		if x.Null {
			v.AppendNull()
			continue
		}
		if err := checkRoom(v, len(x.B)); err != nil {
			return err
		}
		v.AppendBytes(x.B)
	}
	return nil
}

// checkRoom makes sure that a batch can hold some more bytes.
func checkRoom(v *row.Vector, size int) error {
	if len(v.Data)+size > math.MaxUint32 {
		return fmt.Errorf("a batch of more than 4 GiB; ask for fewer rows at a time: %w", ErrUnsupported)
	}
	return nil
}

// value takes the next value of a node from its leaves.
func (a *assembler) value(n *node) (row.Value, error) {
	if len(n.kids) == 0 {
		return a.scalar(n)
	}
	def, err := n.leaves[0].level()
	if err != nil {
		return row.Value{}, err
	}
	switch {
	case def < n.def:
		return row.NullValue(), n.skip(n.def)
	case n.typ.Kind == schema.Row:
		return a.row(n)
	case n.typ.Kind == schema.Array:
		return a.array(n, def)
	default:
		return a.mapping(n, def)
	}
}

// scalar takes the value of a leaf. Its bytes are copied, for those of the page do not outlast it.
func (a *assembler) scalar(n *node) (row.Value, error) {
	v, err := n.leaves[0].take()
	if err != nil || v.Null {
		return v, err
	}
	if n.convert != nil {
		if v, err = n.convert(v); err != nil {
			return v, err
		}
	}
	if v.B != nil {
		start := len(a.bytes)
		a.bytes = append(a.bytes, v.B...)
		v.B = a.bytes[start:len(a.bytes):len(a.bytes)]
	}
	return v, a.check()
}

// check bounds the memory that a value takes: some bytes may say that an array has any number of nulls.
func (a *assembler) check() error {
	if len(a.parts)*int(unsafe.Sizeof(row.Value{}))+len(a.bytes) > a.limit {
		return fmt.Errorf("%w: a nested value of more than %d bytes", ErrCorrupt, a.limit)
	}
	return nil
}

// finish makes the binary form of what has been added to the bytes since start.
func (a *assembler) finish(start, base int) (row.Value, error) {
	clear(a.parts[base:])
	a.parts = a.parts[:base]
	return row.Value{B: a.bytes[start:len(a.bytes):len(a.bytes)]}, a.check()
}

func (a *assembler) row(n *node) (row.Value, error) {
	base := len(a.parts)
	for _, k := range n.kids {
		v := row.NullValue()
		if k != nil {
			var err error
			if v, err = a.value(k); err != nil {
				return v, err
			}
		}
		a.parts = append(a.parts, v)
	}
	start := len(a.bytes)
	a.bytes = row.AppendBinary(a.bytes, n.types, a.parts[base:])
	return a.finish(start, base)
}

func (a *assembler) array(n *node, def int) (row.Value, error) {
	base := len(a.parts)
	err := a.each(n, def, func() error {
		v, err := a.value(n.kids[0])
		a.parts = append(a.parts, v)
		return err
	})
	if err != nil {
		return row.Value{}, err
	}
	start := len(a.bytes)
	a.bytes = row.AppendArray(a.bytes, n.types[0], a.parts[base:])
	return a.finish(start, base)
}

func (a *assembler) mapping(n *node, def int) (row.Value, error) {
	base := len(a.parts)
	err := a.each(n, def, func() error {
		for _, k := range n.kids {
			v, err := a.value(k)
			if err != nil {
				return err
			}
			if v.Null && k == n.kids[0] {
				return fmt.Errorf("%w: a map with a null key", ErrCorrupt)
			}
			a.parts = append(a.parts, v)
		}
		return nil
	})
	if err != nil {
		return row.Value{}, err
	}
	// Keys and values lie in turns; apart they go behind.
	pairs := a.parts[base:]
	for i := 0; i < len(pairs); i += 2 {
		a.parts = append(a.parts, pairs[i])
	}
	for i := 1; i < len(pairs); i += 2 {
		a.parts = append(a.parts, pairs[i])
	}
	half := len(pairs) / 2
	apart := a.parts[base+len(pairs):]
	start := len(a.bytes)
	a.bytes = row.AppendMap(a.bytes, n.types[0], n.types[1], apart[:half], apart[half:])
	return a.finish(start, base)
}

// each calls fn for every element of an ARRAY, MAP or MULTISET that is there, and makes sure that all leaves agree on where
// the elements end.
func (a *assembler) each(n *node, def int, fn func() error) error {
	if def < n.item {
		return n.skip(n.item)
	}
	for {
		if err := fn(); err != nil {
			return err
		}
		if err := a.check(); err != nil {
			return err
		}
		more := false
		for i, l := range n.leaves {
			rep, err := l.peek()
			if err != nil {
				return err
			}
			if i == 0 {
				more = rep >= n.rep
			}
			if more != (rep >= n.rep) || rep > n.rep {
				return fmt.Errorf("%w: columns of one field disagree on its elements", ErrCorrupt)
			}
		}
		if !more {
			return nil
		}
	}
}

// skip passes over the one entry that each leaf has for a value that is not there: all levels must be below the given one.
func (n *node) skip(below int) error {
	for _, l := range n.leaves {
		def, err := l.level()
		if err != nil {
			return err
		}
		if def >= below {
			return fmt.Errorf("%w: columns of one field disagree on whether it is there", ErrCorrupt)
		}
		if _, err := l.take(); err != nil {
			return err
		}
	}
	return nil
}

// peek is the repetition level of the next entry: 0, and so a new row, behind the last.
func (r *chunkReader) peek() (int, error) {
	if r.row == r.count {
		if r.rows == 0 {
			return 0, nil
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	if len(r.reps) == 0 {
		return 0, nil
	}
	return int(r.reps[r.row]), nil
}

// level is the definition level of the next entry.
func (r *chunkReader) level() (int, error) {
	if r.row == r.count {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	if len(r.levels) == 0 {
		return r.column.maxDef, nil
	}
	return int(r.levels[r.row]), nil
}

// take passes over the next entry and returns its value, a null where its level says that there is none. Its bytes are valid
// until the next page.
func (r *chunkReader) take() (row.Value, error) {
	def, err := r.level()
	if err != nil {
		return row.Value{}, err
	}
	r.row++
	if def < r.column.maxDef {
		return row.NullValue(), nil
	}
	r.value++
	return r.values.Value(r.value - 1), nil
}
