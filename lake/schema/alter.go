package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var (
	// ErrChange is returned for a change that a table's schema does not take. Nothing but another change helps.
	ErrChange = errors.New("the schema cannot be changed so")
	// ErrColumnExists is returned, beside ErrChange, for a column that is to be added, or to get a name, that is there.
	ErrColumnExists = errors.New("there is a column of that name")
	// ErrColumnMissing is returned, beside ErrChange, for a change of a column that is not there.
	ErrColumnMissing = errors.New("there is no column of that name")
)

// firstSystemID is where the ids of Paimon's own fields begin (org.apache.paimon.table.SpecialFields).
const firstSystemID = (1<<31 - 1) / 2

// Change is one change of a table's schema (org.apache.paimon.schema.SchemaChange). It is made by the functions of this
// package; the zero value is refused. Only whole columns are changed, never a field within a nested one.
type Change struct {
	text  string
	apply func(*alteration) error
}

// String says what the change is, for people.
func (c Change) String() string { return c.text }

// Alter gives the next version of a table that may hold rows: its id is one higher, its TimeMillis is that of t and for
// the caller to set, t itself stays as it is. The changes are made in order and all together or not at all. Changes that
// leave everything as it was give a version too, as in Paimon. A refused change gives ErrChange, a column that is there or
// is not there also ErrColumnExists or ErrColumnMissing.
//
// Ids of columns are never given again. Refused is what Paimon refuses: dropping or retyping keys, renaming partition
// keys, new columns that are NOT NULL, options on which files in place depend. Paimon would further let types change by
// casts that lose digits, wrap around or give NULL; here a type may only change into one that holds every value as it is.
func (t *Table) Alter(changes ...Change) (*Table, error) { return t.alter(changes, true) }

// AlterEmpty is Alter for a table that has no snapshot and so no rows: the number of buckets and other options on which
// the layout of files depends may then change.
func (t *Table) AlterEmpty(changes ...Change) (*Table, error) { return t.alter(changes, false) }

func (t *Table) alter(changes []Change, rows bool) (*Table, error) {
	next := *t
	next.ID++
	next.Fields = slices.Clone(t.Fields)
	next.PartitionKeys, next.PrimaryKeys = slices.Clone(t.PartitionKeys), slices.Clone(t.PrimaryKeys)
	next.Options = maps.Clone(t.Options)
	if next.Options == nil {
		next.Options = map[string]string{}
	}
	a := &alteration{Table: &next, was: t.Options, rows: rows}
	for _, c := range changes {
		if c.apply == nil {
			return nil, fmt.Errorf("alter schema %d: %w: a change is empty", t.ID, ErrChange)
		}
		if err := c.apply(a); err != nil {
			return nil, fmt.Errorf("alter schema %d: %s: %w: %w", t.ID, c.text, ErrChange, err)
		}
	}
	if err := next.Validate(); err != nil {
		return nil, fmt.Errorf("alter schema %d: %w: %w", t.ID, ErrChange, err)
	}
	return &next, nil
}

// alteration is a version in the making.
type alteration struct {
	*Table
	// was are the options before: Paimon looks there for what a change may do.
	was map[string]string
	// rows tells that the table may hold some.
	rows bool
}

// column finds a column to change.
func (a *alteration) column(name string) (int, error) {
	i := a.Index(name)
	if i < 0 {
		return 0, ErrColumnMissing
	}
	return i, nil
}

// key tells what kind of key a column is part of, "" for none.
func (t *Table) key(name string) string {
	switch {
	case slices.Contains(t.PartitionKeys, name):
		return "partition key"
	case slices.Contains(t.PrimaryKeys, name):
		return "primary key"
	case slices.Contains(t.BucketKeys(), name):
		return OptionBucketKey
	}
	return ""
}

// Position is a place among the columns. The zero value is where Paimon puts a new column by itself: at the end, or before
// the first partition key with the option add-column-before-partition.
type Position struct {
	where     place
	reference string
}

type place uint8

const (
	byDefault place = iota
	first
	last
	after
	before
)

// First is the place before all columns.
func First() Position { return Position{where: first} }

// Last is the place behind all columns.
func Last() Position { return Position{where: last} }

// After is the place behind a column.
func After(column string) Position { return Position{where: after, reference: column} }

// Before is the place in front of a column.
func Before(column string) Position { return Position{where: before, reference: column} }

// String says where it is, with a blank in front; the default says nothing.
func (p Position) String() string {
	switch p.where {
	case first:
		return " first"
	case last:
		return " last"
	case after:
		return fmt.Sprintf(" after %q", p.reference)
	case before:
		return fmt.Sprintf(" before %q", p.reference)
	default:
		return ""
	}
}

// insertAt is where a column not among the fields has to be inserted.
func (a *alteration) insertAt(p Position) (int, error) {
	switch p.where {
	case first:
		return 0, nil
	case after, before:
		i := a.Index(p.reference)
		if i < 0 {
			return 0, fmt.Errorf("column %q: %w", clip(p.reference), ErrColumnMissing)
		}
		if p.where == after {
			i++
		}
		return i, nil
	case byDefault:
		if strings.EqualFold(a.was["add-column-before-partition"], "true") {
			for i, f := range a.Fields {
				if slices.Contains(a.PartitionKeys, f.Name) {
					return i, nil
				}
			}
		}
	case last:
	}
	return len(a.Fields), nil
}

// AddColumn adds a column by its name, type and description; ids in it are given anew, from the highest one that the table
// ever had, then to the fields nested in it. Rows in place have no value for it, so it cannot be NOT NULL; nor has it a
// default value, as in Paimon.
func AddColumn(f Field, at Position) Change {
	return Change{text: fmt.Sprintf("add column %q%s", clip(f.Name), at), apply: func(a *alteration) error {
		switch {
		case a.Index(f.Name) >= 0:
			return ErrColumnExists
		case f.Type.NotNull:
			return errors.New("a new column cannot be NOT NULL, because the rows in place have no value for it")
		case f.Default != nil:
			return errors.New("a new column cannot have a default value")
		}
		i, err := a.insertAt(at)
		if err != nil {
			return err
		}
		next := max(a.HighestFieldID, highestID(a.Fields)) + 1
		fields := assignIDs([]Field{f}, &next)
		if next > firstSystemID {
			return fmt.Errorf("all ids below %d have been given", firstSystemID)
		}
		a.HighestFieldID = next - 1
		a.Fields = slices.Insert(a.Fields, i, fields...)
		return nil
	}}
}

// MoveColumn puts a column at another place; to its own place is refused. Rows are not touched.
func MoveColumn(name string, to Position) Change {
	return Change{text: fmt.Sprintf("move column %q%s", clip(name), to), apply: func(a *alteration) error {
		i, err := a.column(name)
		if err != nil {
			return err
		}
		own := to.where == first && i == 0 || to.where == last && i == len(a.Fields)-1 || to.reference == name && name != ""
		switch {
		case to.where == byDefault:
			return errors.New("the place is missing")
		case own:
			return errors.New("the column cannot be moved to where it is")
		}
		f := a.Fields[i]
		a.Fields = slices.Delete(a.Fields, i, i+1)
		j, err := a.insertAt(to)
		if err != nil {
			return err
		}
		a.Fields = slices.Insert(a.Fields, j, f)
		return nil
	}}
}

// RenameColumn gives a column another name. A partition key keeps its name, because folders carry it. The primary key and
// the options bucket-key, sequence.field and fields.<column>.… follow.
func RenameColumn(from, to string) Change {
	return Change{text: fmt.Sprintf("rename column %q to %q", clip(from), clip(to)), apply: func(a *alteration) error {
		i, err := a.column(from)
		switch {
		case err != nil:
			return err
		case a.Index(to) >= 0:
			return ErrColumnExists
		case slices.Contains(a.PartitionKeys, from):
			return errors.New("a partition key keeps its name, because folders carry it")
		}
		if err := a.free(from); err != nil {
			return err
		}
		a.renameInOptions(from, to)
		a.Fields[i].Name = to
		replace(a.PrimaryKeys, from, to)
		return nil
	}}
}

func replace(names []string, from, to string) {
	for i, name := range names {
		if name == from {
			names[i] = to
		}
	}
}

// DropColumn drops a column. Its values stay in the files and are never seen again, not even by a column of its name.
// Keys, columns that options name, and the last column cannot be dropped.
func DropColumn(name string) Change {
	return Change{text: fmt.Sprintf("drop column %q", clip(name)), apply: func(a *alteration) error {
		i, err := a.column(name)
		if err != nil {
			return err
		}
		if key := a.key(name); key != "" {
			return fmt.Errorf("it is a part of the %s", key)
		}
		if err := a.free(name); err != nil {
			return err
		}
		if len(a.Fields) == 1 {
			return errors.New("it is the last column")
		}
		a.Fields = slices.Delete(a.Fields, i, i+1)
		return nil
	}}
}

// SetColumnComment sets or, with "", removes a column's description.
func SetColumnComment(name, comment string) Change {
	return Change{text: fmt.Sprintf("set comment of column %q", clip(name)), apply: func(a *alteration) error {
		i, err := a.column(name)
		if err == nil {
			a.Fields[i].Description = comment
		}
		return err
	}}
}

// SetComment sets or, with "", removes the table's comment.
func SetComment(comment string) Change {
	return Change{text: "set comment of the table", apply: func(a *alteration) error {
		a.Comment = comment
		return nil
	}}
}
