package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxSize bounds what is parsed at all, in bytes. A Temporal payload ends at 2 MiB, so a larger job could not be started.
const MaxSize = 4 << 20

// Fault is what is wrong with a file as YAML or JSON, whatever its keys should be.
type Fault struct {
	// Line and column count from 1; both are 0 for a fault of the file as a whole.
	Line, Column int
	// Path is the key with its parents, empty at the top.
	Path string
	// Message says what is wrong. It never quotes a value.
	Message string
	// Hint says what to do, where that is not plain from the message.
	Hint string
}

// faults gathers what a reader finds.
type faults []Fault

func (f *faults) add(found Fault) { *f = append(*f, found) }

// problem adds a fault of the value n.
func (f *faults) problem(n *Node, at Place, message, hint string) {
	f.add(Fault{Line: n.Line, Column: n.Column, Path: at.Path, Message: message, Hint: hint})
}

// whole is a single fault of which the first line is the place.
func whole(message string) []Fault { return []Fault{{Line: 1, Column: 1, Message: message}} }

// Read parses a file: JSON when its name ends in .json or it is a JSON mapping, else YAML; name may be empty. The node
// is nil when there is nothing to bind, and faults say why; there may also be a node and faults.
func Read(name string, data []byte) (*Node, []Fault) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > MaxSize {
		return nil, []Fault{{Message: fmt.Sprintf("the file has more than %dMiB", MaxSize>>20)}}
	}
	if !utf8.Valid(data) {
		return nil, []Fault{{Message: "the file is not UTF-8"}}
	}
	if isJSON(name, data) {
		return readJSON(data)
	}
	return readYAML(data)
}

// isJSON decides how a file is read. Every JSON job is also YAML, but a JSON reader gives JSON's own errors and does
// not take numbers or escapes for something else.
func isJSON(name string, data []byte) bool {
	if strings.HasSuffix(strings.ToLower(name), ".json") {
		return true
	}
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) && json.Valid(data)
}
