package document

import (
	"fmt"
	"regexp"
	"strconv"
)

// Kind is what a node of a file is.
type Kind int

const (
	// Null is a key without a value.
	Null Kind = iota
	// String is text.
	String
	// Int is a whole number as it was written, whatever its size.
	Int
	// Float is a number with a point or an exponent.
	Float
	// Bool is true or false.
	Bool
	// List has items.
	List
	// Map has entries.
	Map
	// Untyped is text from outside a file (environment, flag, a default tag): it is read as its key wants it.
	Untyped
	// Invalid is a value whose problem was reported where it was read.
	Invalid
)

// String is the kind as a message names it.
func (k Kind) String() string {
	return [...]string{"nothing", "text", "a whole number", "a number", "true or false", "a list", "a mapping", "text", "invalid"}[k]
}

// Node is one value of a file with its place, the same for YAML and JSON.
type Node struct {
	Kind Kind
	// Text is a scalar as written, without quotes.
	Text string
	// Line and column count from 1; both are 0 for a value from outside the file.
	Line, Column int
	// Origin says where the value came from, when that is not the file.
	Origin string
	// Entries of a mapping, in the order of the file, each key once.
	Entries []Entry
	// Items of a list.
	Items []*Node
}

// Entry is one key of a mapping.
type Entry struct {
	Key string
	// Line and column of the key, from 1.
	Line, Column int
	Value        *Node
}

// Get is the value of a key, or nil.
func (n *Node) Get(key string) *Node {
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			return n.Entries[i].Value
		}
	}
	return nil
}

// Set replaces or adds the value at a path of keys. It changes nothing when a parent is not a mapping: that is a
// problem of the file, reported when the file is bound.
func (n *Node) Set(path []string, value *Node) {
	if n.Kind != Map {
		return
	}
	if len(path) > 1 {
		child := n.Get(path[0])
		if child == nil {
			child = &Node{Kind: Map, Origin: value.Origin}
			n.Entries = append(n.Entries, Entry{Key: path[0], Value: child})
		}
		child.Set(path[1:], value)
		return
	}
	for i := range n.Entries {
		if n.Entries[i].Key == path[0] {
			n.Entries[i].Value = value
			return
		}
	}
	n.Entries = append(n.Entries, Entry{Key: path[0], Value: value})
}

// Place is where in a file a node stands: its path for people, and the same path without list positions for rules.
type Place struct {
	// Path is as people write it: tables[0].mode.
	Path string
	// General is the same for all items: tables[].mode.
	General string
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Key is the place of a key below p.
func (p Place) Key(key string) Place {
	if !plainKey.MatchString(key) {
		quoted := "[" + strconv.Quote(key) + "]"
		return Place{p.Path + quoted, p.General + quoted}
	}
	if p.Path == "" {
		return Place{key, key}
	}
	return Place{p.Path + "." + key, p.General + "." + key}
}

// Item is the place of a list's i-th item.
func (p Place) Item(i int) Place {
	return Place{fmt.Sprintf("%s[%d]", p.Path, i), p.General + "[]"}
}
