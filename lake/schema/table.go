package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Spec is what the first version of a table's schema is made from. The ids of its fields are ignored.
type Spec struct {
	Fields        []Field
	PartitionKeys []string
	PrimaryKeys   []string
	Options       map[string]string
	Comment       string
	TimeMillis    int64
}

// New makes version 0 of a table's schema: ids are given as Paimon gives them (a column, then the fields nested in it),
// primary key columns become NOT NULL, and the options primary-key and partition become keys. It refuses what Paimon's
// SchemaValidation would, saying what to change.
func New(spec Spec) (*Table, error) {
	t := &Table{
		PartitionKeys: slices.Clone(spec.PartitionKeys),
		PrimaryKeys:   slices.Clone(spec.PrimaryKeys),
		Options:       map[string]string{},
		Comment:       spec.Comment,
		TimeMillis:    spec.TimeMillis,
	}
	for k, v := range spec.Options {
		t.Options[k] = v
	}
	if err := takeKeys(t.Options, "primary-key", &t.PrimaryKeys); err != nil {
		return nil, err
	}
	if err := takeKeys(t.Options, "partition", &t.PartitionKeys); err != nil {
		return nil, err
	}
	next := 0
	t.Fields = assignIDs(spec.Fields, &next)
	t.HighestFieldID = next - 1
	for i, f := range t.Fields {
		if slices.Contains(t.PrimaryKeys, f.Name) {
			t.Fields[i].Type.NotNull = true
		}
	}
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("new schema: %w", err)
	}
	return t, nil
}

// takeKeys moves an option that names columns to where Paimon keeps them.
func takeKeys(options map[string]string, option string, keys *[]string) error {
	text, ok := options[option]
	if !ok {
		return nil
	}
	if len(*keys) > 0 {
		return fmt.Errorf("new schema: the option %q and the list of keys exclude each other; keep one", option)
	}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			*keys = append(*keys, name)
		}
	}
	delete(options, option)
	return nil
}

// assignIDs copies columns with new ids: each column its own, then those of the fields in it
// (org.apache.paimon.schema.Schema.Builder).
func assignIDs(columns []Field, next *int) []Field {
	out := make([]Field, len(columns))
	for i, f := range columns {
		f.ID = *next
		*next++
		f.Type = assignTypeIDs(f.Type, next)
		out[i] = f
	}
	return out
}

// assignNestedIDs is for the fields of a row. Here the ids of what is in a field come before its own, other than with columns
// (org.apache.paimon.types.ReassignFieldId).
func assignNestedIDs(fields []Field, next *int) []Field {
	out := make([]Field, len(fields))
	for i, f := range fields {
		f.Type = assignTypeIDs(f.Type, next)
		f.ID = *next
		*next++
		out[i] = f
	}
	return out
}

func assignTypeIDs(t Type, next *int) Type {
	if t.Key != nil {
		key := assignTypeIDs(*t.Key, next)
		t.Key = &key
	}
	if t.Element != nil {
		element := assignTypeIDs(*t.Element, next)
		t.Element = &element
	}
	if t.Kind == Row {
		t.Fields = assignNestedIDs(t.Fields, next)
	}
	return t
}

// Field returns the column of that name.
func (t *Table) Field(name string) (Field, bool) {
	i := t.Index(name)
	if i < 0 {
		return Field{}, false
	}
	return t.Fields[i], true
}

// Index is the place of the column of that name, -1 when there is none.
func (t *Table) Index(name string) int {
	return slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name })
}

// Types are the types of the named columns in that order.
func (t *Table) Types(names []string) ([]Type, error) {
	types := make([]Type, len(names))
	for i, name := range names {
		f, ok := t.Field(name)
		if !ok {
			return nil, fmt.Errorf("the table has no column %q", name)
		}
		types[i] = f.Type
	}
	return types, nil
}

// PartitionTypes are the types of the partition keys, in their order.
func (t *Table) PartitionTypes() ([]Type, error) { return t.Types(t.PartitionKeys) }

// TrimmedPrimaryKey is the primary key without partition keys, which are the same for all rows that could share a key.
func (t *Table) TrimmedPrimaryKey() []string {
	var names []string
	for _, name := range t.PrimaryKeys {
		if !slices.Contains(t.PartitionKeys, name) {
			names = append(names, name)
		}
	}
	return names
}

// check tells what makes a table impossible to read: types, ids and keys that do not hold together.
func (t *Table) check() error {
	ids := map[int]bool{}
	if err := checkFields(t.Fields, ids, 0); err != nil {
		return err
	}
	for what, keys := range map[string][]string{"partition key": t.PartitionKeys, "primary key": t.PrimaryKeys} {
		for i, name := range keys {
			if _, ok := t.Field(name); !ok {
				return fmt.Errorf("%s %q is no column", what, clip(name))
			}
			if slices.Contains(keys[:i], name) {
				return fmt.Errorf("%s %q is named twice", what, clip(name))
			}
		}
	}
	return nil
}

func checkFields(fields []Field, ids map[int]bool, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("types are nested more than %d deep", maxDepth)
	}
	names := map[string]bool{}
	for _, f := range fields {
		switch {
		case f.Name == "" || !utf8.ValidString(f.Name):
			return fmt.Errorf("field %q: a name must be UTF-8 and not empty", clip(f.Name))
		case names[f.Name]:
			return fmt.Errorf("field %q is there twice", clip(f.Name))
		case f.ID < 0:
			return fmt.Errorf("field %q: negative id %d", clip(f.Name), f.ID)
		case ids[f.ID]:
			return fmt.Errorf("field %q: id %d is another field's too", clip(f.Name), f.ID)
		}
		names[f.Name], ids[f.ID] = true, true
		if err := checkType(f.Type, ids, depth); err != nil {
			return fmt.Errorf("field %q: %w", clip(f.Name), err)
		}
	}
	return nil
}

func checkType(t Type, ids map[int]bool, depth int) error {
	if err := t.check(); err != nil {
		return err
	}
	if depth > maxDepth {
		return fmt.Errorf("types are nested more than %d deep", maxDepth)
	}
	for _, part := range []*Type{t.Key, t.Element} {
		if part == nil {
			continue
		}
		if err := checkType(*part, ids, depth+1); err != nil {
			return err
		}
	}
	return checkFields(t.Fields, ids, depth+1)
}
