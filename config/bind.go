package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/config/document"
)

// report gathers the problems of one file.
type report struct {
	file     string
	problems Problems
}

// add appends a problem, of this file unless it names another.
func (r *report) add(p Problem) {
	if p.File == "" {
		p.File = r.file
	}
	r.problems = append(r.problems, p)
}

// problem reports a fault of the value n.
func (r *report) problem(n *document.Node, at document.Place, message, hint string) {
	p := Problem{File: n.Origin, Path: at.Path, Message: message, Hint: hint}
	if n.Origin == "" {
		p.Line, p.Column = n.Line, n.Column
	}
	r.add(p)
}

// custom is a type that reads and writes itself, because it takes more than one shape in a file. Methods are on the
// pointer.
type custom interface {
	// fromNode reads n, reporting problems to b.
	fromNode(b *binder, n *document.Node, at document.Place, f field)
	// appendJSON appends the canonical form.
	appendJSON(to []byte) []byte
	// jsonSchema describes what fromNode takes.
	jsonSchema(f field) schemaObject
}

// enumerated is a type with few values.
type enumerated interface {
	// allowed lists the values as written in a file, the default first.
	allowed() []string
}

// field is one key as its struct tags declare it.
type field struct {
	index                  int
	key, fallback, rule    string
	doc                    string
	required, noneWhenZero bool
	minimum, maximum       int64
}

// fieldsOf reads the tags of a struct type.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		if tag.Get("key") == "" {
			continue
		}
		f := field{
			index: i, key: tag.Get("key"), fallback: tag.Get("default"), rule: tag.Get("rule"), doc: tag.Get("doc"),
			required: tag.Get("required") == "true", noneWhenZero: tag.Get("empty") == "none",
			minimum: math.MinInt64, maximum: math.MaxInt64,
		}
		if v, err := strconv.ParseInt(tag.Get("min"), 10, 64); err == nil {
			f.minimum = v
		}
		if v, err := strconv.ParseInt(tag.Get("max"), 10, 64); err == nil {
			f.maximum = v
		}
		out = append(out, f)
	}
	return out
}

// binder fills structs from nodes.
type binder struct {
	*report
	rules map[string]rule
	later map[string]availability
	// at remembers the node of each place, for checks that need more than one value.
	at map[string]*document.Node
}

func newBinder(r *report, later map[string]availability) *binder {
	return &binder{report: r, rules: rules(), later: later, at: map[string]*document.Node{}}
}

// bindStruct fills v, a struct, from a mapping; missing keys get their defaults.
func (b *binder) bindStruct(v reflect.Value, n *document.Node, at document.Place) {
	if n.Kind != document.Map {
		b.wrongKind(n, at, "a mapping of keys")
		return
	}
	fields := fieldsOf(v.Type())
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	for _, e := range n.Entries {
		if !slices.Contains(keys, e.Key) {
			b.add(Problem{
				File: e.Value.Origin, Line: e.Line, Column: e.Column, Path: at.Key(e.Key).Path,
				Message: "unknown key", Hint: didYouMean(e.Key, keys),
			})
		}
	}
	for _, f := range fields {
		value := n.Get(f.key)
		switch {
		case value != nil:
			b.bindField(v.Field(f.index), value, at.Key(f.key), f)
		case f.required:
			b.problem(n, at.Key(f.key), "is missing", f.doc)
		default:
			setDefault(v.Field(f.index), f)
		}
	}
}

// bindField fills one value and asks whether this release can carry it out.
func (b *binder) bindField(v reflect.Value, n *document.Node, at document.Place, f field) {
	b.at[at.Path] = n
	if n.Kind == document.Invalid {
		return
	}
	before := len(b.problems)
	b.bindValue(v, n, at, f)
	if len(b.problems) == before {
		b.checkAvailable(v, n, at, f)
	}
}

func (b *binder) bindValue(v reflect.Value, n *document.Node, at document.Place, f field) {
	if c, ok := v.Addr().Interface().(custom); ok {
		if n.Kind == document.Null {
			b.wrongKind(n, at, "a value")
			return
		}
		c.fromNode(b, n, at, f)
		return
	}
	switch target := v.Addr().Interface().(type) {
	case *time.Duration:
		b.bindDuration(target, n, at)
		return
	case *map[string]string:
		b.bindTexts(target, n, at)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if f.noneWhenZero && n.Kind == document.Map && len(n.Entries) == 0 {
			return
		}
		b.bindStruct(v, n, at)
	case reflect.Slice:
		b.bindList(v, n, at, f)
	case reflect.String:
		b.bindString(v, n, at, f)
	case reflect.Bool:
		b.bindBool(v, n, at)
	default:
		b.bindInt(v, n, at, f)
	}
}

// wrongKind reports a value of the wrong type, and says how to give the right one where that is known.
func (b *binder) wrongKind(n *document.Node, at document.Place, want string) {
	hint := ""
	switch {
	case n.Kind == document.Invalid:
		return
	case n.Kind == document.Null:
		b.problem(n, at, "has no value", "give "+want+" or remove the key")
		return
	case want == "text" && (n.Kind == document.Int || n.Kind == document.Float || n.Kind == document.Bool):
		hint = fmt.Sprintf("write it in quotes: %q", n.Text)
	case want == "a list" && n.Kind == document.String:
		hint = fmt.Sprintf("write [%q]", n.Text)
	}
	b.problem(n, at, fmt.Sprintf("must be %s, not %s", want, n.Kind), hint)
}

func (b *binder) bindList(v reflect.Value, n *document.Node, at document.Place, f field) {
	if n.Kind != document.List {
		b.wrongKind(n, at, "a list")
		return
	}
	if f.required && len(n.Items) == 0 {
		b.problem(n, at, "the list is empty", "give at least one")
	}
	list := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	item := f
	item.required = true
	for i := range n.Items {
		b.bindField(list.Index(i), n.Items[i], at.Item(i), item)
	}
	if len(n.Items) == 0 {
		list = reflect.Zero(v.Type())
	}
	v.Set(list)
}

func (b *binder) bindString(v reflect.Value, n *document.Node, at document.Place, f field) {
	text := n.Text
	enum, isEnum := v.Interface().(enumerated)
	switch {
	case isEnum && n.Kind == document.Null && slices.Contains(enum.allowed(), "null"):
		// A bare null is YAML's null; here it is a policy's name.
		text = "null"
	case isEnum && n.Kind == document.Bool && slices.Contains(enum.allowed(), n.Text):
		// So are true and false.
	case n.Kind != document.String && n.Kind != document.Untyped:
		b.wrongKind(n, at, "text")
		return
	}
	if isEnum {
		b.bindEnum(v, text, n, at, enum.allowed())
		return
	}
	if strings.Contains(text, "${env:") || strings.Contains(text, "${file:") {
		b.problem(n, at, "references are followed for secrets only", "write the value itself, or override the key by its TRIBUTARY_ variable")
		return
	}
	if text != "" || f.required {
		if message, hint := b.rules[f.rule].check(text); message != "" {
			b.problem(n, at, message, hint)
			return
		}
	}
	v.SetString(text)
}

func (b *binder) bindEnum(v reflect.Value, text string, n *document.Node, at document.Place, allowed []string) {
	if !slices.Contains(allowed, text) {
		hint := ""
		if near := nearest(text, allowed); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		b.problem(n, at, fmt.Sprintf("%q is not one of %s", text, strings.Join(allowed, ", ")), hint)
		return
	}
	v.SetString(text)
}

func (b *binder) bindBool(v reflect.Value, n *document.Node, at document.Place) {
	if n.Kind == document.Untyped && (n.Text == "true" || n.Text == "false") || n.Kind == document.Bool {
		v.SetBool(n.Text == "true")
		return
	}
	if n.Kind == document.Untyped {
		b.problem(n, at, fmt.Sprintf("%q is neither true nor false", n.Text), "")
		return
	}
	b.wrongKind(n, at, "true or false")
}

func (b *binder) bindInt(v reflect.Value, n *document.Node, at document.Place, f field) {
	if n.Kind != document.Int && n.Kind != document.Untyped {
		b.wrongKind(n, at, "a whole number")
		return
	}
	value, err := strconv.ParseInt(n.Text, 10, 64)
	if err != nil || v.OverflowInt(value) {
		b.problem(n, at, fmt.Sprintf("%q is not a whole number in range", n.Text), "")
		return
	}
	if enum, ok := v.Interface().(enumerated); ok {
		if !slices.Contains(enum.allowed(), n.Text) {
			b.problem(n, at, fmt.Sprintf("%d is not one of %s", value, strings.Join(enum.allowed(), ", ")), "")
			return
		}
	}
	if value < f.minimum || value > f.maximum {
		b.problem(n, at, fmt.Sprintf("%d is %s", value, outOf(f)), "")
		return
	}
	v.SetInt(value)
}

// outOf words the limits of a number.
func outOf(f field) string {
	if f.maximum == math.MaxInt64 {
		return fmt.Sprintf("less than %d", f.minimum)
	}
	return fmt.Sprintf("not between %d and %d", f.minimum, f.maximum)
}

func (b *binder) bindDuration(target *time.Duration, n *document.Node, at document.Place) {
	const hint = `write a number with its unit: "30s", "5m", "72h"`
	if n.Kind != document.String && n.Kind != document.Untyped {
		if n.Kind == document.Int || n.Kind == document.Float {
			b.problem(n, at, n.Text+" has no unit", hint)
			return
		}
		b.wrongKind(n, at, "a duration")
		return
	}
	value, err := parseDuration(n.Text)
	if err != nil {
		b.problem(n, at, fmt.Sprintf("%q is not a duration", n.Text), hint)
		return
	}
	*target = value
}

// bindTexts fills a mapping of any keys to text; numbers and booleans stand for their text.
func (b *binder) bindTexts(target *map[string]string, n *document.Node, at document.Place) {
	if n.Kind != document.Map {
		b.wrongKind(n, at, "a mapping of keys")
		return
	}
	out := make(map[string]string, len(n.Entries))
	for _, e := range n.Entries {
		if e.Value.Kind == document.Null || e.Value.Kind == document.List || e.Value.Kind == document.Map {
			b.wrongKind(e.Value, at.Key(e.Key), "text")
			continue
		}
		out[e.Key] = e.Value.Text
	}
	if len(out) > 0 {
		*target = out
	}
}

// setDefault fills a value whose key is missing.
func setDefault(v reflect.Value, f field) {
	if f.fallback != "" {
		quiet := newBinder(&report{}, nil)
		quiet.bindValue(v, &document.Node{Kind: document.Untyped, Text: f.fallback}, document.Place{}, f)
		return
	}
	if _, isCustom := v.Addr().Interface().(custom); isCustom || v.Kind() != reflect.Struct || f.noneWhenZero {
		return
	}
	for _, inner := range fieldsOf(v.Type()) {
		setDefault(v.Field(inner.index), inner)
	}
}
