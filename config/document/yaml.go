package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// maxNodes bounds what aliases may expand to: ten lines of YAML can ask for billions of values.
	maxNodes = 200_000
	// maxDepth bounds nesting, far above what any key needs.
	maxDepth = 64
	// maxBrackets bounds open brackets, those in text included.
	maxBrackets = 2000
)

// yamlReader turns YAML into nodes, gathering faults.
type yamlReader struct {
	faults
	anchors map[string]*Node
	nodes   int
}

// readYAML parses one YAML document. The node is nil when there is nothing to bind.
func readYAML(data []byte) (*Node, []Fault) {
	if tooDeep(data) {
		return nil, whole("the file nests too deep")
	}
	file, err := parseYAML(data)
	if err != nil {
		return nil, yamlFault(err)
	}
	y := &yamlReader{anchors: map[string]*Node{}}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if _, directive := doc.Body.(*ast.DirectiveNode); directive {
			continue
		}
		if _, comment := doc.Body.(*ast.CommentGroupNode); comment {
			continue
		}
		if body != nil {
			second := &Node{}
			setPosition(second, doc.Start)
			y.problem(second, Place{}, "a second YAML document", "a file holds one")
			return nil, y.faults
		}
		body = doc.Body
	}
	if body == nil {
		return nil, whole("the file is empty")
	}
	root := y.read(body, Place{}, 0)
	return root, y.faults
}

// tooDeep reports brackets nested beyond any sense. The parser's time grows with the square of their depth, so they are
// counted before it: roughly, since brackets in text count too, but no file comes near the bound by those.
func tooDeep(data []byte) bool {
	depth := 0
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxBrackets {
			return true
		}
	}
	return false
}

// parseYAML calls the parser, whose panics on malformed input must not end a worker.
func parseYAML(data []byte) (file *ast.File, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = errors.New("malformed YAML")
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// yamlFault is a syntax error. The parser's own text quotes the source around the fault, which may hold a password, so
// only its message and its place are taken.
func yamlFault(err error) []Fault {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) {
		return whole("malformed YAML")
	}
	out := whole("malformed YAML: " + syntax.Message)
	if syntax.Token != nil && syntax.Token.Position != nil {
		out[0].Line, out[0].Column = syntax.Token.Position.Line, syntax.Token.Position.Column
	}
	return out
}

// read makes a node of a YAML node. It never returns nil.
func (y *yamlReader) read(n ast.Node, at Place, depth int) *Node {
	y.nodes++
	out := &Node{Kind: Null}
	if n == nil {
		return out
	}
	setPosition(out, n.GetToken())
	if depth > maxDepth || y.nodes > maxNodes {
		y.tooLarge(out, at)
		return out
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return y.readMap(out, n, at, depth)
	case *ast.SequenceNode:
		out.Kind = List
		for i, item := range n.Values {
			out.Items = append(out.Items, y.read(item, at.Item(i), depth+1))
		}
	case *ast.AnchorNode:
		value := y.read(n.Value, at, depth+1)
		y.anchors[n.Name.String()] = value
		return value
	case *ast.AliasNode:
		target, known := y.anchors[n.Value.String()]
		if !known {
			y.invalid(out, at, fmt.Sprintf("no anchor &%s stands before this alias", n.Value.String()), "")
			return out
		}
		return y.copyOf(target, at)
	case *ast.TagNode:
		y.invalid(out, at, "YAML tags are not used here", "write the value alone")
	default:
		y.readScalar(out, n, at)
	}
	return out
}

// readScalar fills in a scalar's kind and text.
func (y *yamlReader) readScalar(out *Node, n ast.Node, at Place) {
	switch n := n.(type) {
	case *ast.NullNode:
		out.Kind = Null
	case *ast.StringNode:
		out.Kind, out.Text = String, n.Value
	case *ast.LiteralNode:
		out.Kind, out.Text = String, n.Value.Value
	case *ast.IntegerNode:
		out.Kind, out.Text = Int, fmt.Sprint(n.Value)
	case *ast.FloatNode:
		out.Kind, out.Text = Float, n.Token.Value
	case *ast.BoolNode:
		out.Kind, out.Text = Bool, fmt.Sprint(n.Value)
	default:
		y.invalid(out, at, "this kind of YAML value is not used here", "")
	}
	if !utf8.ValidString(out.Text) {
		y.invalid(out, at, "the text is not UTF-8", "")
	}
}

// readMap fills in a mapping: duplicate keys are problems, merge keys (<<) are resolved last, so that keys written out
// win.
func (y *yamlReader) readMap(out *Node, n *ast.MappingNode, at Place, depth int) *Node {
	out.Kind = Map
	var merges []ast.Node
	lines := make(map[string]int, len(n.Values))
	for _, pair := range n.Values {
		if pair.Key.IsMergeKey() {
			merges = append(merges, pair.Value)
			continue
		}
		key := Entry{Key: keyText(pair.Key)}
		position := pair.Key.GetToken().Position
		key.Line, key.Column = position.Line, position.Column
		if len(out.Entries) == 0 && !n.IsFlowStyle {
			out.Line, out.Column = key.Line, key.Column
		}
		key.Value = y.read(pair.Value, at.Key(key.Key), depth+1)
		if key.Value.Kind == Null {
			// Nothing has no place of its own.
			key.Value.Line, key.Value.Column = key.Line, key.Column
		}
		if line, twice := lines[key.Key]; twice {
			y.add(Fault{
				Line: key.Line, Column: key.Column, Path: at.Key(key.Key).Path,
				Message: fmt.Sprintf("the key is already in line %d", line),
			})
			continue
		}
		lines[key.Key] = key.Line
		out.Entries = append(out.Entries, key)
	}
	for _, merge := range merges {
		y.merge(out, y.read(merge, at, depth+1), at)
	}
	return out
}

// merge adds the keys of from (a mapping, or a list of them) that into does not have.
func (y *yamlReader) merge(into, from *Node, at Place) {
	switch from.Kind {
	case Map:
		for _, e := range from.Entries {
			if into.Get(e.Key) == nil {
				into.Entries = append(into.Entries, e)
			}
		}
	case List:
		for _, item := range from.Items {
			y.merge(into, item, at)
		}
	case Invalid:
	default:
		y.problem(from, at, "<< takes a mapping or a list of mappings", "")
	}
}

// copyOf is a deep copy, so that an alias can be changed without its anchor.
func (y *yamlReader) copyOf(n *Node, at Place) *Node {
	y.nodes++
	out := *n
	if y.nodes > maxNodes {
		y.tooLarge(&out, at)
		return &out
	}
	out.Entries = slices.Clone(n.Entries)
	for i := range out.Entries {
		out.Entries[i].Value = y.copyOf(out.Entries[i].Value, at)
	}
	out.Items = slices.Clone(n.Items)
	for i := range out.Items {
		out.Items[i] = y.copyOf(out.Items[i], at)
	}
	return &out
}

// invalid reports a value that cannot be read.
func (y *yamlReader) invalid(n *Node, at Place, message, hint string) {
	n.Kind = Invalid
	y.problem(n, at, message, hint)
}

// tooLarge reports the bounds once, however often they are met.
func (y *yamlReader) tooLarge(n *Node, at Place) {
	const message = "the file nests too deep or its aliases expand to too much"
	n.Kind = Invalid
	if !slices.ContainsFunc(y.faults, func(f Fault) bool { return f.Message == message }) {
		y.problem(n, at, message, "")
	}
}

// keyText is a key as text: 1, true and null are keys like any other.
func keyText(key ast.MapKeyNode) string {
	if explicit, ok := key.(*ast.MappingKeyNode); ok {
		if s, ok := explicit.Value.(*ast.StringNode); ok {
			return strings.ToValidUTF8(s.Value, "")
		}
		return strings.ToValidUTF8(explicit.Value.GetToken().Value, "")
	}
	if s, ok := key.(*ast.StringNode); ok {
		return strings.ToValidUTF8(s.Value, "")
	}
	return strings.ToValidUTF8(key.GetToken().Value, "")
}

func setPosition(n *Node, tk *token.Token) {
	if tk != nil && tk.Position != nil {
		n.Line, n.Column = tk.Position.Line, tk.Position.Column
	}
}
