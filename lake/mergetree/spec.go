package mergetree

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// ErrUnsupported is returned for tables whose rows would have to be merged, or whose files would have to be written, in a way
// that this package does not know. Nothing but another table, or changed options, helps.
var ErrUnsupported = errors.New("this library does not merge the table's rows")

// Engine is how rows of one key become one (`merge-engine`).
type Engine string

const (
	// Deduplicate keeps the last row (org.apache.paimon.mergetree.compact.DeduplicateMergeFunction).
	Deduplicate Engine = "deduplicate"
	// FirstRow keeps the first row (FirstRowMergeFunction).
	FirstRow Engine = "first-row"
	// PartialUpdate keeps the last value of each column that is not null (PartialUpdateMergeFunction).
	PartialUpdate Engine = "partial-update"
)

// Producer is who records a table's changes, beside the data files, for those who follow them (`changelog-producer`).
type Producer string

const (
	// ProducerNone: nobody does.
	ProducerNone Producer = "none"
	// ProducerInput: the writer does, by changelog files of all rows that it was given.
	ProducerInput Producer = "input"
	// ProducerLookup: compactions do, as they look up what was there; a writer adds nothing.
	ProducerLookup Producer = "lookup"
	// ProducerFullCompaction: full compactions do; a writer adds nothing.
	ProducerFullCompaction Producer = "full-compaction"
)

// The places of the system columns in a batch of [Spec.Fields]; the table's columns begin at ValueColumns.
const (
	SequenceColumn = 0
	KindColumn     = 1
	ValueColumns   = 2
)

// Names and ids of the system columns in data files (org.apache.paimon.table.SpecialFields).
const (
	sequenceName = "_SEQUENCE_NUMBER"
	kindName     = "_VALUE_KIND"
	keyPrefix    = "_KEY_"

	keyID      = 1<<30 - 1 // added to the id of the key's column
	sequenceID = 1<<31 - 2
	kindID     = 1<<31 - 3
)

// Spec is what a schema says of keys and merging. It is made by [SpecOf] and not changed afterwards; several goroutines may
// use it.
type Spec struct {
	table *schema.Table
	// Key has the places of the trimmed primary key among the table's columns, in the key's order.
	Key []int
	// Sequence has the places of the columns of `sequence.field`, by which rows of a key are ordered before their sequence
	// number; usually none.
	Sequence []int
	// Descending tells that the lowest value of these is the latest (`sequence.field.sort-order`). Nulls come first all the same.
	Descending bool
	Engine     Engine
	// IgnoreDelete tells that rows which take away are left out (`ignore-delete`).
	IgnoreDelete bool
	// IgnoreUpdateBefore tells that a writer leaves out rows of kind -U (`ignore-update-before`).
	IgnoreUpdateBefore bool
	// RemoveOnDelete tells that -D removes a row of a partial-update table (`partial-update.remove-record-on-delete`).
	RemoveOnDelete bool
	// Producer is who records changes.
	Producer Producer
}

// SpecOf reads a schema's keys and merge options. A table with only some of its columns serves to read these, as long as the
// trimmed primary key and the columns of `sequence.field` are among them. What cannot be merged as Paimon does it is
// ErrUnsupported with a sentence that says why.
func SpecOf(t *schema.Table) (*Spec, error) {
	s := &Spec{table: t}
	keys := t.TrimmedPrimaryKey()
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: it has no primary key", ErrUnsupported)
	}
	var err error
	if s.Key, err = places(t, "primary key", keys); err != nil {
		return nil, err
	}
	if err := s.readEngine(t.Options); err != nil {
		return nil, err
	}
	if err := s.readSequence(); err != nil {
		return nil, err
	}
	for _, o := range []struct {
		to  *bool
		key []string
	}{
		{&s.IgnoreDelete, []string{
			"ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete",
		}},
		{&s.IgnoreUpdateBefore, []string{"ignore-update-before"}},
		{&s.RemoveOnDelete, []string{"partial-update.remove-record-on-delete"}},
	} {
		if *o.to, err = boolean(t.Options, o.key...); err != nil {
			return nil, err
		}
	}
	if s.Engine != PartialUpdate {
		s.RemoveOnDelete = false
	}
	if s.RemoveOnDelete && s.IgnoreDelete {
		return nil, fmt.Errorf("%w: ignore-delete and partial-update.remove-record-on-delete exclude each other", ErrUnsupported)
	}
	return s, nil
}

// places finds columns that rows are ordered by.
func places(t *schema.Table, what string, names []string) ([]int, error) {
	at := make([]int, len(names))
	for i, name := range names {
		if at[i] = t.Index(name); at[i] < 0 {
			return nil, fmt.Errorf("%s %q is no column", what, name)
		}
		if f := t.Fields[at[i]]; f.Type.Nested() {
			return nil, fmt.Errorf("%w: %s %q has type %s, by which rows cannot be ordered", ErrUnsupported, what, name, f.Type)
		}
	}
	return at, nil
}

func (s *Spec) readEngine(options map[string]string) error {
	s.Engine = Engine(choice(options, "merge-engine", string(Deduplicate)))
	switch s.Engine {
	case Deduplicate, FirstRow:
	case PartialUpdate:
		for key, v := range options {
			group := strings.HasPrefix(key, "fields") && strings.HasSuffix(key, "sequence-group")
			aggregate := strings.HasPrefix(key, "fields.") && strings.HasSuffix(key, "aggregate-function")
			if group || aggregate || key == "partial-update.remove-record-on-sequence-group" {
				return fmt.Errorf("%w: %s = %s asks for sequence groups or aggregation, which partial updates have not here",
					ErrUnsupported, key, v)
			}
		}
	default:
		return fmt.Errorf("%w: merge-engine = %s, and only deduplicate, first-row and partial-update are known",
			ErrUnsupported, s.Engine)
	}
	if ordering, err := boolean(options, "sequence.snapshot-ordering"); err != nil {
		return err
	} else if ordering {
		return fmt.Errorf("%w: sequence.snapshot-ordering orders rows by the snapshots that added them", ErrUnsupported)
	}
	s.Producer = Producer(choice(options, "changelog-producer", string(ProducerNone)))
	switch s.Producer {
	case ProducerNone, ProducerInput, ProducerLookup, ProducerFullCompaction:
		return nil
	}
	return fmt.Errorf("%w: changelog-producer = %s is none of none, input, lookup and full-compaction", ErrUnsupported, s.Producer)
}

func (s *Spec) readSequence() error {
	names := []string{}
	if text, ok := s.table.Options["sequence.field"]; ok {
		for name := range strings.SplitSeq(text, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	if len(names) > 0 && s.Engine == FirstRow {
		return fmt.Errorf("%w: sequence.field is not for merge-engine = first-row", ErrUnsupported)
	}
	var err error
	if s.Sequence, err = places(s.table, "sequence.field", names); err != nil {
		return err
	}
	switch order := choice(s.table.Options, "sequence.field.sort-order", "ascending"); order {
	case "ascending":
	case "descending":
		s.Descending = true
	default:
		return fmt.Errorf("%w: sequence.field.sort-order = %s is neither ascending nor descending", ErrUnsupported, order)
	}
	return nil
}

// choice is an option of a fixed set, which Paimon reads in any case of letters and with either separator.
func choice(options map[string]string, key, otherwise string) string {
	v, ok := options[key]
	if !ok {
		return otherwise
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(v)), "_", "-")
}

// boolean is the first of some options that is set.
func boolean(options map[string]string, keys ...string) (bool, error) {
	for _, key := range keys {
		switch v, ok := options[key]; {
		case !ok:
		case strings.EqualFold(v, "true"):
			return true, nil
		case strings.EqualFold(v, "false"):
			return false, nil
		default:
			return false, fmt.Errorf("option %s = %q: want true or false", key, v)
		}
	}
	return false, nil
}

// Table is the schema that the spec was made of.
func (s *Spec) Table() *schema.Table { return s.table }

// Fields are the columns of a batch in memory: sequence number, row kind, then the table's columns, with Paimon's names and
// ids. A data file of the table is read by them.
func (s *Spec) Fields() []schema.Field {
	return append([]schema.Field{
		{ID: sequenceID, Name: sequenceName, Type: schema.Of(schema.BigInt).WithNotNull(true)},
		{ID: kindID, Name: kindName, Type: schema.Of(schema.TinyInt).WithNotNull(true)},
	}, s.table.Fields...)
}

// FileFields are the columns of a data file as Paimon writes them: those of Fields, behind copies of the key's columns named
// _KEY_ unless `data-file.thin-mode` leaves these out (org.apache.paimon.KeyValue.schema).
func (s *Spec) FileFields() []schema.Field {
	return append(s.keyFields(), s.Fields()...)
}

// keyFields are the copies of the key's columns in a data file.
func (s *Spec) keyFields() []schema.Field {
	if thin, err := boolean(s.table.Options, "data-file.thin-mode"); err != nil || thin {
		return nil
	}
	fields := make([]schema.Field, len(s.Key))
	for i, at := range s.Key {
		f := s.table.Fields[at]
		fields[i] = schema.Field{ID: keyID + f.ID, Name: keyPrefix + f.Name, Type: f.Type, Description: f.Description}
	}
	return fields
}

// NewBatch returns an empty batch of Fields.
func (s *Spec) NewBatch() *row.Batch { return row.NewBatch(row.Types(s.Fields())) }

// KeyTypes are the types of the trimmed primary key, in its order.
func (s *Spec) KeyTypes() []schema.Type {
	types := make([]schema.Type, len(s.Key))
	for i, at := range s.Key {
		types[i] = s.table.Fields[at].Type
	}
	return types
}

// ignores tells whether a writer leaves out incoming rows of a kind.
func (s *Spec) ignores(k row.Kind) bool {
	return s.IgnoreDelete && k.Retracts() || s.IgnoreUpdateBefore && k == row.UpdateBefore
}

// CheckWritable tells why files of the table must not be written here: ErrUnsupported with one sentence, or nil. It adds to
// schema.CheckWritable what concerns the files of key tables.
func (s *Spec) CheckWritable() error {
	for key, harmless := range map[string][]string{
		"file.format": {"parquet"}, "changelog-file.format": {"parquet"}, "rowkind.field": nil,
	} {
		if v, ok := s.table.Options[key]; ok && !slices.Contains(harmless, strings.ToLower(v)) {
			return fmt.Errorf("%w: %s = %s is not known here", ErrUnsupported, key, v)
		}
	}
	formats, err := perLevel(s.table.Options, "file.format.per.level")
	if err != nil {
		return err
	}
	for level, format := range formats {
		if !strings.EqualFold(format, "parquet") {
			return fmt.Errorf("%w: file.format.per.level asks for %s on level %d, and only parquet is written", ErrUnsupported, format, level)
		}
	}
	_, err = boolean(s.table.Options, "data-file.thin-mode")
	return err
}
