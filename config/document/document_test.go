package document

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// outline writes a tree with its places.
func outline(n *Node, at Place) []string {
	out := []string{fmt.Sprintf("%d:%d %s (%s): %s %s", n.Line, n.Column, at.Path, at.General, n.Kind, n.Text)}
	for _, e := range n.Entries {
		out = append(out, outline(e.Value, at.Key(e.Key))...)
	}
	for i, item := range n.Items {
		out = append(out, outline(item, at.Item(i))...)
	}
	return out
}

func TestPlaces(t *testing.T) {
	root, faults := Read("", []byte("a: 1\nlist:\n  - x: yes\n  - {y: 1.5, \"b c\": \"no\"}\nnone:\n"))
	require.Empty(t, faults)
	require.Equal(t, []string{
		"1:1  (): a mapping ",
		"1:4 a (a): a whole number 1",
		"3:3 list (list): a list ",
		"3:5 list[0] (list[]): a mapping ",
		"3:8 list[0].x (list[].x): text yes",
		"4:5 list[1] (list[]): a mapping ",
		"4:9 list[1].y (list[].y): a number 1.5",
		`4:21 list[1]["b c"] (list[]["b c"]): text no`,
		"5:1 none (none): nothing ",
	}, outline(root, Place{}))
}

// plain is a tree as encoding/json would have it, to compare with.
func plain(n *Node) any {
	switch n.Kind {
	case Map:
		out := map[string]any{}
		for _, e := range n.Entries {
			out[e.Key] = plain(e.Value)
		}
		return out
	case List:
		out := []any{}
		for _, item := range n.Items {
			out = append(out, plain(item))
		}
		return out
	case Int, Float:
		return json.Number(n.Text)
	case Bool:
		return n.Text == "true"
	case Null:
		return nil
	default:
		return n.Text
	}
}

// TestJSONIsYAML reads one document by both readers, and compares with encoding/json.
func TestJSONIsYAML(t *testing.T) {
	const text = `{"a": [1, -2, 2.5, true, false, null, "x", "10", ""], "b": {"c": {"d": [[], {}]}}, "été": "\u00e9\n"}`
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var want any
	require.NoError(t, decoder.Decode(&want))
	asJSON, faults := readJSON([]byte(text))
	require.Empty(t, faults)
	require.Equal(t, want, plain(asJSON))
	asYAML, faults := readYAML([]byte(text))
	require.Empty(t, faults)
	require.Equal(t, want, plain(asYAML))
}

func TestMergeAndAlias(t *testing.T) {
	root, faults := Read("job.yaml", []byte("base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo: *b\n"))
	require.Empty(t, faults)
	require.Equal(t, map[string]any{"x": json.Number("1"), "y": json.Number("3")}, plain(root.Get("one")))
	// What is set in a copy stays there.
	root.Set([]string{"two", "x"}, &Node{Kind: Untyped, Text: "9", Origin: "flag --x"})
	require.Equal(t, "9", root.Get("two").Get("x").Text)
	require.Equal(t, "1", root.Get("base").Get("x").Text)
	root.Set([]string{"new", "deep"}, &Node{Kind: Untyped, Text: "8"})
	require.Equal(t, "8", root.Get("new").Get("deep").Text)
	root.Set([]string{"two", "x", "below"}, &Node{Kind: Untyped})
	require.Equal(t, "9", root.Get("two").Get("x").Text, "a scalar does not become a mapping")
}

func TestFaults(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 10; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	for _, c := range []struct{ text, want string }{
		{"", "1:1 : the file is empty"},
		{"a: 1\nb: 2\na: 3\n", "3:1 a: the key is already in line 1"},
		{`{"a": 1, "a": 2}`, "1:10 a: the key is there twice"},
		{"a: !!set {}\n", "1:4 a: YAML tags are not used here"},
		{"a: *b\n", "1:4 a: no anchor &b stands before this alias"},
		{"a: 1\n---\nb: 2\n", "2:1 : a second YAML document"},
		{"a: \xff\n", "0:0 : the file is not UTF-8"},
		{"<<: 1\n", "1:5 : << takes a mapping or a list of mappings"},
		{strings.Repeat("[", maxBrackets+1), "1:1 : the file nests too deep"},
		{strings.Repeat("#", MaxSize+1), "0:0 : the file has more than 4MiB"},
		{`{"a":` + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + "}", "the file nests too deep"},
		{bomb, "the file nests too deep or its aliases expand to too much"},
	} {
		_, faults := Read("", []byte(c.text))
		require.Len(t, faults, 1, c.want)
		f := faults[0]
		require.Contains(t, fmt.Sprintf("%d:%d %s: %s", f.Line, f.Column, f.Path, f.Message), c.want)
	}
}

// FuzzRead checks that any input is read or refused with a fault, and that no mapping has a key twice.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"a: &x {b: 1}\nc: *x\n<<: *x\n", `{"a": [1, {"b": null}]}`, "? x\n: y\n", "- |\n  t\n- >\n  u\n", "[[[", "a: 'b\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, faults := Read("", []byte(text))
		require.True(t, root != nil || len(faults) > 0)
		if root == nil || len(faults) > 0 {
			return
		}
		var walk func(n *Node)
		walk = func(n *Node) {
			seen := map[string]bool{}
			for _, e := range n.Entries {
				require.False(t, seen[e.Key], e.Key)
				seen[e.Key] = true
				walk(e.Value)
			}
			for _, item := range n.Items {
				walk(item)
			}
		}
		walk(root)
	})
}
