package filereader

import (
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/tributary-lake/tributary/lake/schema"
)

// maxLevels bounds how deep a file's schema is nested.
const maxLevels = 100

// fileNode is a field of the file's schema with all that is below.
type fileNode struct {
	element  *format.SchemaElement
	children []*fileNode // none of a leaf
	leaf     int         // its number among the leaves, by which row groups list chunks
	// The levels at which there is a value of the field: how many optional and repeated fields, and how many repeated
	// ones, the path to it has.
	def, rep int
}

func (n *fileNode) repeated() bool { return n.element.RepetitionType.V == format.Repeated }

// child finds a field of a group by its name, nil when there is none. Where the file has its id under another name, the
// schema that the name comes from is not the one that the file was written with, and its values are not null.
func (n *fileNode) child(f schema.Field) (*fileNode, error) {
	var other *fileNode
	ids := false // a file without ids seems to have zeros
	for _, c := range n.children {
		if c.element.Name == f.Name {
			return c, nil
		}
		ids = ids || c.element.FieldID > 0
		if int(c.element.FieldID) == f.ID {
			other = c
		}
	}
	if ids && other != nil {
		return nil, fmt.Errorf("%w: the file names field %d %q, its schema %q", ErrCorrupt, f.ID, other.element.Name, f.Name)
	}
	return nil, nil
}

// schemaWalk turns the list of elements into a tree.
type schemaWalk struct {
	elements   []format.SchemaElement
	at, leaves int
}

// fileTree reads a file's schema. It returns the root and the number of leaves.
func fileTree(elements []format.SchemaElement) (*fileNode, int, error) {
	if len(elements) == 0 {
		return nil, 0, fmt.Errorf("%w: no schema", ErrCorrupt)
	}
	w := schemaWalk{elements: elements}
	root := &fileNode{element: &elements[0]}
	if err := w.below(root, 0); err != nil {
		return nil, 0, err
	}
	return root, w.leaves, nil
}

// below reads the children of the element that the walk stands at.
func (w *schemaWalk) below(n *fileNode, depth int) error {
	w.at++
	count := n.element.NumChildren.V
	if count < 0 || int(count) > len(w.elements)-w.at {
		return fmt.Errorf("%w: the schema ends early", ErrCorrupt)
	}
	if depth > maxLevels {
		return fmt.Errorf("%w: a schema of more than %d levels", ErrUnsupported, maxLevels)
	}
	for range count {
		if w.at >= len(w.elements) {
			return fmt.Errorf("%w: the schema ends early", ErrCorrupt)
		}
		c := &fileNode{element: &w.elements[w.at], def: n.def, rep: n.rep}
		switch c.element.RepetitionType.V {
		case format.Required:
		case format.Optional:
			c.def++
		case format.Repeated:
			c.def++
			c.rep++
		default:
			return fmt.Errorf("%w: repetition %d", ErrCorrupt, c.element.RepetitionType.V)
		}
		if c.element.NumChildren.V == 0 {
			c.leaf = w.leaves
			w.leaves++
		}
		n.children = append(n.children, c)
		if err := w.below(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}
