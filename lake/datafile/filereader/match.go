package filereader

import (
	"fmt"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// node is a part of a nested column: how values of a type are put together from the leaves of the file.
type node struct {
	typ schema.Type
	// def is the definition level from which on there is a value; below, it or something around it is null.
	def int
	// item is the definition level from which on an ARRAY, MAP or MULTISET has an element, rep the repetition level of
	// the elements after the first.
	item, rep int
	// kids are the element of an ARRAY, key and value of a MAP or MULTISET, the fields of a ROW: nil where the file lacks one.
	kids []*node
	// types are those of the kids.
	types []schema.Type
	// leaves are all below; a leaf is its own and only one.
	leaves  []*chunkReader
	convert conversion
}

// matcher finds in the file what is asked for.
type matcher struct {
	leaf func(fileColumn) *chunkReader
}

// match makes the node of a type from a field of the file. single says that the field stands for one element although it is
// repeated: the elements of a list of two levels.
func (m *matcher) match(f *fileNode, t schema.Type, single bool) (*node, error) {
	n := &node{typ: t, def: f.def}
	var err error
	switch t.Kind {
	case schema.Array:
		n.types = []schema.Type{*t.Element}
		err = m.array(n, f, single)
	case schema.Map, schema.Multiset:
		key, value := row.MapTypes(t)
		n.types = []schema.Type{key, value}
		err = m.mapping(n, f, single)
	case schema.Row:
		n.types = row.Types(t.Fields)
		err = m.row(n, f, single)
	default:
		err = m.scalar(n, f, single)
	}
	if err != nil {
		return nil, err
	}
	for _, k := range n.kids {
		if k != nil {
			n.leaves = append(n.leaves, k.leaves...)
		}
	}
	return n, nil
}

func (m *matcher) kid(n *node, f *fileNode, single bool) error {
	k, err := m.match(f, n.types[len(n.kids)], single)
	n.kids = append(n.kids, k)
	return err
}

func (m *matcher) scalar(n *node, f *fileNode, single bool) error {
	if len(f.children) > 0 || f.repeated() && !single {
		return fmt.Errorf("%w: a nested field as %s", ErrUnsupported, n.typ.Kind)
	}
	c, err := fileColumnOf(f)
	if err != nil {
		return err
	}
	if n.convert, err = conversionOf(c.typ, n.typ); err != nil {
		return err
	}
	n.leaves = []*chunkReader{m.leaf(c)}
	return nil
}

// array knows the forms of Parquet's LogicalTypes.md: three levels, the older two, and a repeated field by itself.
func (m *matcher) array(n *node, f *fileNode, single bool) error {
	if f.repeated() && !single {
		n.def, n.item, n.rep = f.def-1, f.def, f.rep
		return m.kid(n, f, true)
	}
	if len(f.children) != 1 || !f.children[0].repeated() {
		return fmt.Errorf("%w: a field that is no list as ARRAY", ErrUnsupported)
	}
	list := f.children[0]
	n.item, n.rep = list.def, list.rep
	name := list.element.Name
	if len(list.children) != 1 || name == "array" || name == f.element.Name+"_tuple" {
		return m.kid(n, list, true)
	}
	return m.kid(n, list.children[0], false)
}

func (m *matcher) mapping(n *node, f *fileNode, single bool) error {
	if len(f.children) != 1 || !f.children[0].repeated() || len(f.children[0].children) != 2 || f.repeated() && !single {
		return fmt.Errorf("%w: a field that is no map as %s", ErrUnsupported, n.typ.Kind)
	}
	pairs := f.children[0]
	n.item, n.rep = pairs.def, pairs.rep
	if err := m.kid(n, pairs.children[0], false); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if err := m.kid(n, pairs.children[1], false); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	return nil
}

func (m *matcher) row(n *node, f *fileNode, single bool) error {
	if len(f.children) == 0 || f.repeated() && !single {
		return fmt.Errorf("%w: a field that is no group as ROW", ErrUnsupported)
	}
	found := false
	for _, want := range n.typ.Fields {
		in, err := f.child(want)
		if err != nil {
			return err
		}
		if in == nil {
			n.kids = append(n.kids, nil)
			continue
		}
		found = true
		if err := m.kid(n, in, false); err != nil {
			return fmt.Errorf("field %q: %w", want.Name, err)
		}
	}
	if !found {
		return fmt.Errorf("%w: a ROW none of whose fields is in the file", ErrUnsupported)
	}
	return nil
}
