package datafile

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/rle"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// shredder takes the values of a nested column apart into leaves, as Google's Dremel paper has it.
type shredder struct {
	field  schema.Field
	root   *shredNode
	leaves []*column
	nulls  int64 // of the file
}

// shredNode is a part of a nested type.
type shredNode struct {
	name string
	typ  schema.Type
	// def is the definition level of a value that is there.
	def int
	// item and rep are the definition level of an element that is there and the repetition level of those after the first, of
	// ARRAY, MAP and MULTISET.
	item, rep int
	// kids are the element of an ARRAY, key and value of a MAP or MULTISET, the fields of a ROW.
	kids   []*shredNode
	types  []schema.Type // of the kids
	leaves []*column     // all below; a leaf is its own and only one
}

// leafLevels are what a leaf of a nested column gathers for a page: its values, none of them null, and a definition and a
// repetition level for each entry, which is a value or something that is not there.
type leafLevels struct {
	maxDef, maxRep int
	values         row.Vector
	defs, reps     []byte
	rows           int
}

func newShredder(f schema.Field, opts Options) *shredder {
	s := &shredder{field: f}
	s.root = s.node(f, []string{f.Name}, 0, 0, opts)
	s.leaves = s.root.leaves
	return s
}

// node makes the node of a field below definition and repetition levels.
func (s *shredder) node(f schema.Field, path []string, def, rep int, opts Options) *shredNode {
	if !f.Type.NotNull {
		def++
	}
	n := &shredNode{name: f.Name, typ: f.Type, def: def}
	if !f.Type.Nested() {
		n.leaves = []*column{newLeaf(f.Type, path, def, rep, opts)}
		return n
	}
	below := path
	if middle := middleGroup(f.Type); middle != "" {
		def, rep = def+1, rep+1
		n.item, n.rep = def, rep
		below = append(path[:len(path):len(path)], middle)
	}
	for _, k := range childFields(f.Type) {
		kid := s.node(k, append(below[:len(below):len(below)], k.Name), def, rep, opts)
		n.kids, n.types, n.leaves = append(n.kids, kid), append(n.types, k.Type), append(n.leaves, kid.leaves...)
	}
	return n
}

// middleGroup is the name of the repeated group within an ARRAY, MAP or MULTISET.
func middleGroup(t schema.Type) string {
	switch t.Kind { //nolint:exhaustive // the others have none
	case schema.Array:
		return "list"
	case schema.Map, schema.Multiset:
		return "key_value"
	}
	return ""
}

// childFields are the parts of a nested type under their names in Parquet, with no ids but those of a ROW's fields.
func childFields(t schema.Type) []schema.Field {
	switch t.Kind { //nolint:exhaustive // ROW is left
	case schema.Array:
		return []schema.Field{{Name: "element", Type: *t.Element}}
	case schema.Map, schema.Multiset:
		key, value := row.MapTypes(t)
		return []schema.Field{{Name: "key", Type: key}, {Name: "value", Type: value}}
	}
	return t.Fields
}

// check refuses a vector that cannot be this column of a batch.
func (s *shredder) check(v *row.Vector, rows int) error {
	if v.Layout != row.LayoutBytes {
		return fmt.Errorf("column %q: a batch column of kind %d and layout %d does not fit", s.field.Name, v.Type.Kind, v.Layout)
	}
	return checkVector(s.field, v, rows)
}

// write appends the selected rows of a vector, or all when selected is nil, and finishes the leaves' pages as they fill.
func (s *shredder) write(out *sink, v *row.Vector, rows int, selected []int32) error {
	if selected != nil {
		rows = len(selected)
	}
	for i := range rows {
		if selected != nil {
			i = int(selected[i])
		}
		x := v.Value(i)
		if x.Null {
			s.nulls++
		}
		if err := s.root.add(x, 0, 0); err != nil {
			return fmt.Errorf("column %q: %w", s.field.Name, err)
		}
		for _, l := range s.leaves {
			l.levels.rows++
			if l.levels.rows >= l.maxRows || l.levels.size() >= l.maxBytes {
				if err := l.flushPage(out); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// add gives the leaves a value that stands at a repetition level, within something that is there at a definition level.
func (n *shredNode) add(v row.Value, rep, def int) error {
	switch {
	case v.Null && n.typ.NotNull:
		return fmt.Errorf("%s: a null in %s", n.name, n.typ)
	case v.Null:
		n.missing(rep, def)
		return nil
	case len(n.kids) == 0:
		return n.leaves[0].levels.add(v, rep)
	case n.typ.Kind == schema.Row:
		values, err := row.ReadBinary(n.types, v.B)
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		for i, k := range n.kids {
			if err := k.add(values[i], rep, n.def); err != nil {
				return fmt.Errorf("%s.%w", n.name, err)
			}
		}
		return nil
	}
	parts, err := n.sections(v.B)
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	if parts[0].Len() == 0 {
		n.missing(rep, n.def)
		return nil
	}
	for i := range parts[0].Len() {
		for j, k := range n.kids {
			x, err := parts[j].Value(i, n.types[j])
			if err == nil {
				err = k.add(x, rep, n.item)
			}
			if err != nil {
				return fmt.Errorf("%s.%w", n.name, err)
			}
		}
		rep = n.rep
	}
	return nil
}

// sections are the elements of an ARRAY, or keys and values of a MAP or MULTISET.
func (n *shredNode) sections(b []byte) (parts [2]row.Section, err error) {
	if n.typ.Kind == schema.Array {
		parts[0], err = row.ReadArray(b, row.ElementWidth(n.types[0]))
		return parts, err
	}
	parts[0], parts[1], err = row.ReadMap(b, n.types[0], n.types[1])
	return parts, err
}

// missing gives all leaves the entry of something that is not there.
func (n *shredNode) missing(rep, def int) {
	for _, l := range n.leaves {
		l.levels.defs, l.levels.reps = append(l.levels.defs, byte(def)), append(l.levels.reps, byte(rep))
	}
}

// newLeaf is a column for a leaf of a nested column.
func newLeaf(t schema.Type, path []string, def, rep int, opts Options) *column {
	c := newColumn(schema.Field{Name: strings.Join(path, "."), Type: t.WithNotNull(true)}, opts)
	c.path = path
	c.maxRows = opts.PageRows
	c.levels = &leafLevels{maxDef: def, maxRep: rep, values: row.NewVector(t)}
	return c
}

func (l *leafLevels) add(v row.Value, rep int) error {
	// A page is not larger than 2 GiB, and only one row can make it so.
	if len(l.values.Data)+len(v.B) > math.MaxInt32 {
		return fmt.Errorf("the values of one row exceed 2 GiB: %w", ErrRange)
	}
	l.values.Append(v)
	l.defs, l.reps = append(l.defs, byte(l.maxDef)), append(l.reps, byte(rep))
	return nil
}

// size is about what the page takes.
func (l *leafLevels) size() int { return l.values.Size() + len(l.defs) }

// memory is the number of bytes held.
func (l *leafLevels) memory() int {
	v := &l.values
	return 4*cap(v.I32) + 8*cap(v.I64) + 4*cap(v.F32) + 8*cap(v.F64) + cap(v.Data) + 4*cap(v.Offsets) + cap(l.defs) + cap(l.reps)
}

// reset empties the page. Room that one long row made is given back.
func (l *leafLevels) reset(limit int) {
	if l.memory() > 4*limit {
		*l = leafLevels{maxDef: l.maxDef, maxRep: l.maxRep, values: row.NewVector(l.values.Type)}
	}
	l.values.Reset()
	l.defs, l.reps, l.rows = l.defs[:0], l.reps[:0], 0
}

// fillPage makes the page of a leaf: its levels, where a flat column leaves room for them, and its values.
func (c *column) fillPage() error {
	l := c.levels
	c.rows, c.values = len(l.defs), l.values.Len()
	if c.rows == 0 {
		return nil
	}
	var err error
	if c.page, err = appendLevels(c.page[:0], l.reps, l.maxRep); err == nil {
		c.page, err = appendLevels(c.page, l.defs, l.maxDef)
	}
	if err != nil {
		return fmt.Errorf("column %q: encode levels: %w", c.field.Name, err)
	}
	c.levelRoom = len(c.page)
	return c.appendRange(&l.values, 0, c.values)
}

// appendLevels adds levels from 0 to most with their size in front; nothing where all can only be 0.
func appendLevels(dst, levels []byte, most int) ([]byte, error) {
	if most == 0 {
		return dst, nil
	}
	encoding := rle.Encoding{BitWidth: bits.Len(uint(most))}
	encoded, err := encoding.EncodeLevels(nil, levels)
	if err != nil {
		return dst, err
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(encoded)))
	return append(dst, encoded...), nil
}
