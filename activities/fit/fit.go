package fit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// Wanted is what a job says of its target.
type Wanted struct {
	// Target is the table's name, for people.
	Target        string
	PartitionKeys []string
	// PrimaryKey may stand among the Options instead, as Paimon's DDL has it.
	PrimaryKey []string
	Options    map[string]string
	// Overwrite replaces the table's rows.
	Overwrite bool
	// Deletes says for people what becomes of rows that are gone from the source.
	Deletes string
	// LastWins keeps one of several rows with one key; else they end the run.
	LastWins bool
	Drift    source.DriftPolicy
}

// Shards are what was found in the source: tables, and how they are read into the fields of one schema.
type Shards struct {
	Tables  []source.Table
	Fields  []schema.Field
	Outputs [][]source.Output
}

// Fitted is how the target is written.
type Fitted struct {
	// Planned is the schema that the run writes with.
	Planned *schema.Table
	// Outputs tells for each shard how it is read, in the order of the planned schema.
	Outputs [][]source.Output
	// Changes lead from the target's schema to the planned one.
	Changes []schema.Change
	// Notes are what a person should know of the target's columns, a sentence each.
	Notes []string
}

// optionPrimaryKey names a new table's key among its options.
const optionPrimaryKey = "primary-key"

// key is the primary key that the job asks for.
func (w Wanted) key() []string {
	if len(w.PrimaryKey) > 0 || w.Options[optionPrimaryKey] == "" {
		return w.PrimaryKey
	}
	var key []string
	for name := range strings.SplitSeq(w.Options[optionPrimaryKey], ",") {
		key = append(key, strings.TrimSpace(name))
	}
	return key
}

// New makes the schema of a target that does not exist.
func New(w Wanted, s Shards) (*Fitted, error) {
	for _, name := range w.key() {
		i := slices.IndexFunc(s.Fields, func(f schema.Field) bool { return f.Name == name })
		if i >= 0 && !s.Fields[i].Type.NotNull { // a column that is not there is refused with the schema
			return nil, fmt.Errorf("target %s: column %s of the primary key may be NULL in %s, and a key never is: make it NOT NULL there, or take another key",
				w.Target, name, s.nullable(i))
		}
	}
	planned, err := schema.New(schema.Spec{
		Fields: s.Fields, PartitionKeys: w.PartitionKeys, PrimaryKeys: w.PrimaryKey, Options: w.Options, TimeMillis: time.Now().UnixMilli(),
	})
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", w.Target, err)
	}
	return &Fitted{Planned: planned, Outputs: s.Outputs}, nil
}

// nullable names a shard in which a column may be NULL.
func (s Shards) nullable(column int) string {
	for i, t := range s.Tables {
		switch o := s.Outputs[i][column]; {
		case o.Provenance != "" || o.Column.Type.NotNull:
		case o.Column.Name == "":
			return t.Shard.String() + ", which lacks it"
		default:
			return fmt.Sprintf("%s (%s)", t.Shard, o.Column.Definition)
		}
	}
	return "a shard"
}
