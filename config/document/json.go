package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// jsonReader turns JSON into nodes.
type jsonReader struct {
	faults
	data    []byte
	decoder *json.Decoder
	// offset, line and start (of the line) are how far places were counted, so that counting stays linear.
	offset, line, start int
}

// readJSON parses one JSON value. The node is nil when it is malformed.
func readJSON(data []byte) (*Node, []Fault) {
	var valid json.RawMessage
	if err := json.Unmarshal(data, &valid); err != nil {
		out := whole("malformed JSON")
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			out[0].Message += ": " + syntax.Error()
			out[0].Line, out[0].Column = lineOf(data, int(syntax.Offset)-1)
		}
		return nil, out
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	j := &jsonReader{data: data, decoder: decoder, line: 1}
	root := j.read(Place{}, 0)
	return root, j.faults
}

// read makes a node of the next value.
func (j *jsonReader) read(at Place, depth int) *Node {
	out := &Node{}
	out.Line, out.Column = j.next()
	value, err := j.decoder.Token()
	if err != nil {
		j.problem(out, at, "malformed JSON", "")
		return out
	}
	switch value := value.(type) {
	case json.Delim:
		if depth > maxDepth {
			out.Kind = Invalid
			j.problem(out, at, "the file nests too deep", "")
			j.skip()
			return out
		}
		if value == '[' {
			j.readList(out, at, depth)
		} else {
			j.readMap(out, at, depth)
		}
	case string:
		out.Kind, out.Text = String, value
	case json.Number:
		out.Kind, out.Text = Float, value.String()
		if !strings.ContainsAny(out.Text, ".eE") {
			out.Kind = Int
		}
	case bool:
		out.Kind, out.Text = Bool, fmt.Sprint(value)
	}
	return out
}

func (j *jsonReader) readList(out *Node, at Place, depth int) {
	out.Kind = List
	for i := 0; j.decoder.More(); i++ {
		out.Items = append(out.Items, j.read(at.Item(i), depth+1))
	}
	j.close()
}

func (j *jsonReader) readMap(out *Node, at Place, depth int) {
	out.Kind = Map
	seen := map[string]bool{}
	for j.decoder.More() {
		line, column := j.next()
		token, err := j.decoder.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			j.problem(out, at, "malformed JSON", "")
			return
		}
		value := j.read(at.Key(key), depth+1)
		if seen[key] {
			j.add(Fault{Line: line, Column: column, Path: at.Key(key).Path, Message: "the key is there twice"})
			continue
		}
		seen[key] = true
		out.Entries = append(out.Entries, Entry{Key: key, Line: line, Column: column, Value: value})
	}
	j.close()
}

// close takes the closing bracket, which is there: the whole input was found to be valid before.
func (j *jsonReader) close() {
	if _, err := j.decoder.Token(); err != nil {
		j.add(Fault{Message: "malformed JSON"})
	}
}

// skip passes over the rest of a list or mapping whose opening bracket was read.
func (j *jsonReader) skip() {
	for depth := 1; depth > 0; {
		token, err := j.decoder.Token()
		if err != nil {
			return
		}
		if delim, ok := token.(json.Delim); ok {
			if delim == '[' || delim == '{' {
				depth++
			} else {
				depth--
			}
		}
	}
}

// next is the place of the next token.
func (j *jsonReader) next() (line, column int) {
	offset := int(j.decoder.InputOffset())
	for offset < len(j.data) && strings.IndexByte(" \t\r\n,:", j.data[offset]) >= 0 {
		offset++
	}
	for ; j.offset < offset; j.offset++ {
		if j.data[j.offset] == '\n' {
			j.line, j.start = j.line+1, j.offset+1
		}
	}
	return j.line, utf8.RuneCount(j.data[j.start:j.offset]) + 1
}

// lineOf is the line and column, from 1, of a byte.
func lineOf(data []byte, offset int) (line, column int) {
	offset = max(0, min(offset, len(data)))
	before := data[:offset]
	line = bytes.Count(before, []byte("\n")) + 1
	start := bytes.LastIndexByte(before, '\n') + 1
	return line, utf8.RuneCount(before[start:]) + 1
}
