package row

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/tributary-lake/tributary/lake/schema"
)

// nestedText is a nested value as JSON.
func nestedText(t schema.Type, v Value) string {
	text, err := appendJSON(nil, t, v, 0)
	if err != nil {
		return hex.EncodeToString(v.B)
	}
	return string(text)
}

func appendJSON(dst []byte, t schema.Type, v Value, depth int) ([]byte, error) {
	switch {
	case v.Null:
		return append(dst, "null"...), nil
	case !t.Nested():
		return appendQuoted(dst, Text(t, v)), nil
	}
	if err := checkNested(t, depth); err != nil {
		return dst, err
	}
	switch t.Kind {
	case schema.Array:
		return appendJSONArray(dst, t, v, depth)
	case schema.Row:
		return appendJSONRow(dst, t, v, depth)
	default:
		return appendJSONMap(dst, t, v, depth)
	}
}

// checkNested refuses a nested type without its parts, and one that is too deep.
func checkNested(t schema.Type, depth int) error {
	switch {
	case depth >= maxDepth:
		return fmt.Errorf("values are nested more than %d deep", maxDepth)
	case t.Kind != schema.Row && t.Element == nil, t.Kind == schema.Map && t.Key == nil:
		return fmt.Errorf("%s lacks the type of its elements", t.Kind)
	}
	return nil
}

func appendJSONArray(dst []byte, t schema.Type, v Value, depth int) ([]byte, error) {
	s, err := ReadArray(v.B, ElementWidth(*t.Element))
	if err != nil {
		return dst, err
	}
	dst = append(dst, '[')
	for i := range s.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		e, err := s.Value(i, *t.Element)
		if err != nil {
			return dst, err
		}
		if dst, err = appendJSON(dst, *t.Element, e, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendJSONRow(dst []byte, t schema.Type, v Value, depth int) ([]byte, error) {
	values, err := ReadBinary(Types(t.Fields), v.B)
	if err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	for i, f := range t.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, f.Name), ':')
		if dst, err = appendJSON(dst, f.Type, values[i], depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendJSONMap(dst []byte, t schema.Type, v Value, depth int) ([]byte, error) {
	key, value := MapTypes(t)
	keys, values, err := ReadMap(v.B, key, value)
	if err != nil {
		return dst, err
	}
	type member struct {
		name  []uint16
		key   string
		value Value
	}
	members := make([]member, keys.Len())
	for i := range members {
		k, err := keys.Value(i, key)
		if err != nil {
			return dst, err
		}
		m := member{key: Text(key, k)}
		m.name = utf16.Encode([]rune(m.key))
		if m.value, err = values.Value(i, value); err != nil {
			return dst, err
		}
		members[i] = m
	}
	slices.SortStableFunc(members, func(a, b member) int { return slices.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, m.key), ':')
		if dst, err = appendJSON(dst, value, m.value, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendQuoted adds a JSON string and escapes what Jackson escapes, and no more.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			dst = append(dst, '\\', "btn?fr"[c-'\b'])
		default:
			dst = fmt.Appendf(dst, "\\u%04X", c)
		}
	}
	return append(dst, '"')
}

// parseNested reads what nestedText wrote. The decoder of the standard library goes through the text token by token, since
// only so the order of members and repeated keys can be seen.
func parseNested(t schema.Type, text string) (Value, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := parseJSON(d, t, 0)
	if err != nil {
		return Value{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Value{}, errors.New("want one JSON value")
	}
	if v.Null {
		return Value{}, errors.New("want a JSON array or object")
	}
	return v, nil
}

func parseJSON(d *json.Decoder, t schema.Type, depth int) (Value, error) {
	token, err := d.Token()
	if err != nil {
		return Value{}, err
	}
	if t.Nested() {
		if err := checkNested(t, depth); err != nil {
			return Value{}, err
		}
	}
	open, _ := token.(json.Delim)
	switch {
	case token == nil:
		return NullValue(), nil
	case open == '[' && t.Kind == schema.Array:
		return parseJSONArray(d, t, depth)
	case open == '{' && t.Kind == schema.Row:
		return parseJSONRow(d, t, depth)
	case open == '{' && (t.Kind == schema.Map || t.Kind == schema.Multiset):
		return parseJSONMap(d, t, depth)
	case open != 0 || t.Nested():
		return Value{}, fmt.Errorf("JSON %v is no %s", token, t.WithNotNull(false))
	}
	return ParseText(t, fmt.Sprint(token))
}

func parseJSONArray(d *json.Decoder, t schema.Type, depth int) (Value, error) {
	var elements []Value
	for d.More() {
		e, err := parsePart(d, *t.Element, depth)
		if err != nil {
			return Value{}, fmt.Errorf("element %d: %w", len(elements), err)
		}
		elements = append(elements, e)
	}
	_, err := d.Token()
	return Value{B: AppendArray(nil, *t.Element, elements)}, err
}

func parsePart(d *json.Decoder, t schema.Type, depth int) (Value, error) {
	v, err := parseJSON(d, t, depth+1)
	if err == nil && v.Null && t.NotNull {
		err = fmt.Errorf("null in %s", t)
	}
	return v, err
}

func parseJSONRow(d *json.Decoder, t schema.Type, depth int) (Value, error) {
	values := make([]Value, len(t.Fields))
	for i := range values {
		values[i] = NullValue()
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return Value{}, err
		}
		i := slices.IndexFunc(t.Fields, func(f schema.Field) bool { return f.Name == name })
		if i < 0 {
			return Value{}, fmt.Errorf("no field %q in %s", name, t)
		}
		if values[i], err = parsePart(d, t.Fields[i].Type, depth); err != nil {
			return Value{}, fmt.Errorf("field %q: %w", name, err)
		}
	}
	for i, f := range t.Fields {
		if values[i].Null && f.Type.NotNull {
			return Value{}, fmt.Errorf("field %q: null in %s", f.Name, f.Type)
		}
	}
	_, err := d.Token()
	return Value{B: AppendBinary(nil, Types(t.Fields), values)}, err
}

func parseJSONMap(d *json.Decoder, t schema.Type, depth int) (Value, error) {
	key, value := MapTypes(t)
	var keys, values []Value
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return Value{}, err
		}
		k, err := ParseText(key, fmt.Sprint(name))
		if err != nil {
			return Value{}, fmt.Errorf("key %q: %w", name, err)
		}
		if canonical := Text(key, k); seen[canonical] {
			return Value{}, fmt.Errorf("key %q appears twice", name)
		} else {
			seen[canonical] = true
		}
		v, err := parsePart(d, value, depth)
		if err != nil {
			return Value{}, fmt.Errorf("value of %q: %w", name, err)
		}
		keys, values = append(keys, k), append(values, v)
	}
	_, err := d.Token()
	return Value{B: AppendMap(nil, key, value, keys, values)}, err
}
