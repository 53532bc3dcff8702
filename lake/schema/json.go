package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// currentVersion of schema files; 3 since Paimon 0.9.
	currentVersion = 3
	// maxDepth bounds nested types, against hostile files.
	maxDepth = 64
)

// Marshal is the schema file of a table: Paimon's keys in Paimon's order, printed as its Java writer prints them. Options
// are sorted by key; Java leaves their order to chance.
func Marshal(t *Table) ([]byte, error) {
	p := &printer{}
	p.beginObject()
	p.member("version", currentVersion)
	p.member("id", int64(t.ID))
	p.key("fields")
	if err := p.fields(t.Fields, 0); err != nil {
		return nil, fmt.Errorf("write schema %d: %w", t.ID, err)
	}
	p.member("highestFieldId", t.HighestFieldID)
	p.member("partitionKeys", t.PartitionKeys)
	p.member("primaryKeys", t.PrimaryKeys)
	p.key("options")
	p.beginObject()
	keys := make([]string, 0, len(t.Options))
	for k := range t.Options {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		p.member(k, t.Options[k])
	}
	p.endObject()
	if t.Comment != "" {
		p.member("comment", t.Comment)
	}
	p.member("timeMillis", t.TimeMillis)
	p.endObject()
	return p.buf.Bytes(), nil
}

// MarshalJSON is the type in the form of schema files: a string when it is atomic, else an object.
func (t Type) MarshalJSON() ([]byte, error) {
	p := &printer{}
	if err := p.dataType(t, 0); err != nil {
		return nil, err
	}
	return p.buf.Bytes(), nil
}

// MarshalJSON is the field in the form of schema files.
func (f Field) MarshalJSON() ([]byte, error) {
	p := &printer{}
	if err := p.field(f, 0); err != nil {
		return nil, err
	}
	return p.buf.Bytes(), nil
}

// printer prints as Jackson's DefaultPrettyPrinter: objects over lines, arrays within one, a space around each colon.
type printer struct {
	buf    bytes.Buffer
	indent int
	filled bool // the open object or array has something already
}

func (p *printer) beginObject() {
	p.buf.WriteByte('{')
	p.indent++
	p.filled = false
}

func (p *printer) endObject() {
	p.indent--
	if p.filled {
		p.line()
	} else {
		p.buf.WriteByte(' ')
	}
	p.buf.WriteByte('}')
	p.filled = true
}

func (p *printer) line() {
	p.buf.WriteByte('\n')
	for range p.indent {
		p.buf.WriteString("  ")
	}
}

func (p *printer) key(name string) {
	if p.filled {
		p.buf.WriteByte(',')
	}
	p.line()
	p.str(name)
	p.buf.WriteString(" : ")
	p.filled = true
}

// member writes a key with an int, int64, string or list of strings.
func (p *printer) member(name string, value any) {
	p.key(name)
	switch v := value.(type) {
	case int:
		p.buf.WriteString(strconv.Itoa(v))
	case int64:
		p.buf.WriteString(strconv.FormatInt(v, 10))
	case string:
		p.str(v)
	case []string:
		p.strings(v)
	}
}

func (p *printer) strings(texts []string) {
	p.buf.WriteByte('[')
	for i, s := range texts {
		if i > 0 {
			p.buf.WriteByte(',')
		}
		p.buf.WriteByte(' ')
		p.str(s)
	}
	p.buf.WriteString(" ]")
}

// str escapes what Jackson escapes and no more.
func (p *printer) str(s string) {
	p.buf.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			p.buf.WriteByte('\\')
			p.buf.WriteRune(r)
		case r >= ' ':
			p.buf.WriteRune(r)
		case strings.ContainsRune("\b\t\n\f\r", r):
			p.buf.WriteByte('\\')
			p.buf.WriteByte("btn?fr"[r-'\b'])
		default:
			fmt.Fprintf(&p.buf, "\\u%04X", r)
		}
	}
	p.buf.WriteByte('"')
}

func (p *printer) fields(fields []Field, depth int) error {
	p.buf.WriteByte('[')
	for i, f := range fields {
		if i > 0 {
			p.buf.WriteByte(',')
		}
		p.buf.WriteByte(' ')
		if err := p.field(f, depth); err != nil {
			return err
		}
	}
	p.buf.WriteString(" ]")
	p.filled = true
	return nil
}

func (p *printer) field(f Field, depth int) error {
	p.beginObject()
	p.member("id", f.ID)
	p.member("name", f.Name)
	p.key("type")
	if err := p.dataType(f.Type, depth); err != nil {
		return fmt.Errorf("field %q: %w", f.Name, err)
	}
	if f.Description != "" {
		p.member("description", f.Description)
	}
	if f.Default != nil {
		p.member("defaultValue", *f.Default)
	}
	p.endObject()
	return nil
}

func (p *printer) dataType(t Type, depth int) error {
	if err := t.check(); err != nil {
		return err
	}
	if !t.Nested() {
		p.str(t.String())
		return nil
	}
	if depth >= maxDepth {
		return fmt.Errorf("types are nested more than %d deep", maxDepth)
	}
	root := t.Kind.String()
	if t.NotNull {
		root += " NOT NULL"
	}
	p.beginObject()
	p.member("type", root)
	err := p.parts(t, depth+1)
	p.endObject()
	return err
}

func (p *printer) parts(t Type, depth int) error {
	switch t.Kind {
	case Row:
		p.key("fields")
		return p.fields(t.Fields, depth)
	case Map:
		p.key("key")
		if err := p.dataType(*t.Key, depth); err != nil {
			return err
		}
		p.key("value")
	default:
		p.key("element")
	}
	return p.dataType(*t.Element, depth)
}

// UnmarshalJSON reads a type in the form of schema files.
func (t *Type) UnmarshalJSON(data []byte) error {
	read, err := readType(data, 0)
	if err != nil {
		return err
	}
	*t = read
	return nil
}

// UnmarshalJSON reads a field in the form of schema files.
func (f *Field) UnmarshalJSON(data []byte) error {
	read, err := readField(data, 0)
	if err != nil {
		return err
	}
	*f = read
	return nil
}
