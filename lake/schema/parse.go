package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrVersion is returned for a schema file of a version that this library does not know. A newer release wrote it; only a
// newer library helps.
var ErrVersion = errors.New("unknown version of schema file")

// Parse reads a schema file of any version from 1 to 3. What older versions left out is filled in as their readers
// understood it. Unknown keys are ignored, as Paimon does; unknown types are errors, because rows could not be read.
func Parse(data []byte) (*Table, error) {
	// The decoder would take other bytes than UTF-8 for a question mark, and so a damaged name for another column's.
	if !utf8.Valid(data) {
		return nil, errors.New("parse schema: it is not UTF-8")
	}
	t, err := parseTable(data)
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	return t, nil
}

// object is a JSON object by its exact keys; encoding/json would match a struct's keys whatever their case.
type object map[string]json.RawMessage

func parseTable(data []byte) (*Table, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	t := &Table{Options: map[string]string{}, PartitionKeys: []string{}, PrimaryKeys: []string{}}
	version := 1
	var fields []json.RawMessage
	options := map[string]any{}
	for _, want := range []struct {
		key      string
		into     any
		required bool
	}{
		{"version", &version, false},
		{"id", &t.ID, true},
		{"fields", &fields, true},
		{"highestFieldId", &t.HighestFieldID, true},
		{"partitionKeys", &t.PartitionKeys, true},
		{"primaryKeys", &t.PrimaryKeys, true},
		{"options", &options, true},
		{"comment", &t.Comment, false},
		{"timeMillis", &t.TimeMillis, false},
	} {
		if err := o.read(want.key, want.into, want.required); err != nil {
			return nil, err
		}
	}
	if version < 1 || version > currentVersion {
		return nil, fmt.Errorf("%w: %d, known are 1 to %d", ErrVersion, version, currentVersion)
	}
	for i, raw := range fields {
		f, err := readField(raw, 0)
		if err != nil {
			return nil, fmt.Errorf("fields[%d]: %w", i, err)
		}
		t.Fields = append(t.Fields, f)
	}
	if err := fillOptions(t, options, version); err != nil {
		return nil, err
	}
	return t, t.check()
}

// fillOptions takes the options' scalars as text, as Jackson's asText, and adds the defaults of older versions.
func fillOptions(t *Table, options map[string]any, version int) error {
	for k, v := range options {
		switch v := v.(type) {
		case string:
			t.Options[k] = v
		case bool, float64:
			t.Options[k] = fmt.Sprint(v)
		default:
			return fmt.Errorf("options[%q] is not a string", clip(k))
		}
	}
	if _, ok := t.Options[OptionBucket]; !ok && version <= 1 {
		t.Options[OptionBucket] = "1"
	}
	if _, ok := t.Options[OptionFileFormat]; !ok && version <= 2 {
		t.Options[OptionFileFormat] = "orc"
	}
	return nil
}

// read reads one key. A null is as an absent key.
func (o object) read(key string, into any, required bool) error {
	raw, ok := o[key]
	if !ok || string(raw) == "null" {
		if required {
			return fmt.Errorf("%q is missing", key)
		}
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%q: %w", key, err)
	}
	return nil
}

func readField(data []byte, depth int) (Field, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return Field{}, err
	}
	var f Field
	if err := o.read("name", &f.Name, true); err != nil {
		return Field{}, err
	}
	err := errors.Join(
		o.read("id", &f.ID, true),
		o.read("description", &f.Description, false),
		o.read("defaultValue", &f.Default, false),
	)
	if err == nil {
		f.Type, err = o.readType("type", depth)
	}
	if err != nil {
		return Field{}, fmt.Errorf("field %q: %w", clip(f.Name), err)
	}
	return f, nil
}

func (o object) readType(key string, depth int) (Type, error) {
	raw, ok := o[key]
	if !ok {
		return Type{}, fmt.Errorf("%q is missing", key)
	}
	return readType(raw, depth)
}

func readType(data []byte, depth int) (Type, error) {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return ParseType(text)
	}
	if depth >= maxDepth {
		return Type{}, fmt.Errorf("types are nested more than %d deep", maxDepth)
	}
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return Type{}, fmt.Errorf("a type is a string or an object: %w", err)
	}
	var root string
	if err := o.read("type", &root, true); err != nil {
		return Type{}, err
	}
	word, nullability, _ := strings.Cut(strings.TrimSpace(root), " ")
	t := Type{}
	switch strings.Join(strings.Fields(nullability), " ") {
	case "":
	case "NULL":
	case "NOT NULL":
		t.NotNull = true
	default:
		return Type{}, fmt.Errorf("type %q: unexpected %q", clip(root), clip(nullability))
	}
	err := t.readParts(word, o, depth+1)
	return t, err
}

func (t *Type) readParts(word string, o object, depth int) (err error) {
	part := func(key string) *Type {
		if err != nil {
			return nil
		}
		var p Type
		if p, err = o.readType(key, depth); err != nil {
			err = fmt.Errorf("%s of %s: %w", key, word, err)
			return nil
		}
		return &p
	}
	switch word {
	case "ARRAY":
		t.Kind, t.Element = Array, part("element")
	case "MULTISET":
		t.Kind, t.Element = Multiset, part("element")
	case "MAP":
		t.Kind, t.Key, t.Element = Map, part("key"), part("value")
	case "ROW":
		t.Kind = Row
		var fields []json.RawMessage
		if err = o.read("fields", &fields, true); err != nil {
			return err
		}
		for i, raw := range fields {
			f, err := readField(raw, depth)
			if err != nil {
				return fmt.Errorf("fields[%d] of ROW: %w", i, err)
			}
			t.Fields = append(t.Fields, f)
		}
	default:
		return fmt.Errorf("type %q is not one that this library knows", clip(word))
	}
	return err
}
