package config

import (
	"reflect"
	"time"

	"github.com/tributary-lake/tributary/config/document"
)

// Table is one logical table: the shards that merge, and what they become.
type Table struct {
	Name           string           `key:"name" required:"true" rule:"name" doc:"The logical table's name. It names folders and is the target table's name unless target.table says otherwise."`
	Match          Pattern          `key:"match" required:"true" doc:"The MySQL tables that are its shards: a glob, a /regular expression/, or a list of those."`
	Exclude        Pattern          `key:"exclude" doc:"Tables that match but are left out, by their names without the database: a glob, a /regular expression/, or a list of those. The plan notes each that takes nothing out."`
	Columns        []Column         `key:"columns" doc:"The columns to read; all of them when empty."`
	Where          string           `key:"where" rule:"text" doc:"SQL condition that rows must meet; all rows when empty."`
	Mode           Mode             `key:"mode" default:"full-refresh" doc:"full-refresh: the rows replace the table's. append: they are added, in a key table in place of rows with their key. incremental: rows past a watermark are, as append does. cdc: changes as they happen."`
	Watermark      Watermark        `key:"watermark" empty:"none" doc:"How incremental finds new rows."`
	Provenance     Provenance       `key:"provenance" default:"true" doc:"Columns that say where a row came from. true: _instance, _database and _table; false: none; or the names of those wanted."`
	PrimaryKey     []string         `key:"primary_key" rule:"column" doc:"Primary key of the target; empty is an append table."`
	OnKeyCollision OnKeyCollision   `key:"on_key_collision" default:"fail" doc:"What two rows with one primary key do to a load."`
	Split          Split            `key:"split" doc:"How shards are cut into splits."`
	Types          Types            `key:"types" doc:"Choices where MySQL's types have no exact counterpart."`
	Consistency    TableConsistency `key:"consistency" default:"run" doc:"What of this table is read at one moment. run: as run.consistency says; else split, shard or instance as there."`
	Drift          Drift            `key:"drift" default:"widen" doc:"What shards with different columns do. widen: they and the target take the least common type; strict: an error, unless all have the same columns with the same definitions: type with its length, character set, NOT NULL, generated or not; order, collation, defaults, comments and widths of integers may differ; quarantine: as widen, but shards that cannot be merged are left out by name, never from a refresh that would drop their rows."`
	OnConflict     OnConflict       `key:"on_conflict" default:"fail" doc:"What a full refresh does when another writer changed the table since the plan. fail, or replace: overwrite that too."`
	EmptySource    EmptySource      `key:"empty_source" default:"fail" doc:"What an empty source does to a table with rows. fail, or empty: the table becomes empty."`
	Overwrite      Overwrite        `key:"overwrite" default:"table" doc:"What a full refresh replaces: the table, or these partitions."`
	SoftDelete     SoftDelete       `key:"soft_delete" empty:"none" doc:"The column that marks a row as deleted, of a key table: such rows take the row with their key away when they are added, and are left out of a refresh."`
	DetectDeletes  DetectDeletes    `key:"detect_deletes" default:"none" doc:"How a full refresh treats a key table. none: it is replaced. compare_keys: rows are compared with it; only what differs is written, and rows that are gone from the source are deleted, so that its history is kept."`
	CDC            CDC              `key:"cdc" doc:"Settings of mode cdc."`
	Target         TableTarget      `key:"target" required:"true" doc:"The table in the lake."`
}

// Mode is how a run changes the target.
type Mode string

// The modes.
const (
	FullRefresh Mode = "full-refresh"
	Append      Mode = "append"
	Incremental Mode = "incremental"
	ChangeData  Mode = "cdc"
)

func (Mode) allowed() []string {
	return []string{string(FullRefresh), string(Append), string(Incremental), string(ChangeData)}
}

// OnKeyCollision is what two rows with one primary key do to a load.
type OnKeyCollision string

// The choices for a key collision.
const (
	FailOnCollision OnKeyCollision = "fail"
	LastWins        OnKeyCollision = "last_wins"
)

func (OnKeyCollision) allowed() []string { return []string{string(FailOnCollision), string(LastWins)} }

// Drift is what shards with different columns do.
type Drift string

// The drift policies.
const (
	Widen      Drift = "widen"
	Strict     Drift = "strict"
	Quarantine Drift = "quarantine"
)

func (Drift) allowed() []string { return []string{string(Widen), string(Strict), string(Quarantine)} }

// OnConflict is what a full refresh does about another writer's changes.
type OnConflict string

// The conflict policies.
const (
	FailOnConflict    OnConflict = "fail"
	ReplaceOnConflict OnConflict = "replace"
)

func (OnConflict) allowed() []string {
	return []string{string(FailOnConflict), string(ReplaceOnConflict)}
}

// EmptySource is what an empty source does to a table with rows.
type EmptySource string

// The empty source policies.
const (
	FailOnEmpty EmptySource = "fail"
	EmptyTarget EmptySource = "empty"
)

func (EmptySource) allowed() []string { return []string{string(FailOnEmpty), string(EmptyTarget)} }

// DetectDeletes is how rows that are gone from the source are found.
type DetectDeletes string

// The ways to find deleted rows.
const (
	NoDeletes   DetectDeletes = "none"
	CompareKeys DetectDeletes = "compare_keys"
)

func (DetectDeletes) allowed() []string { return []string{string(NoDeletes), string(CompareKeys)} }

// Watermark says how incremental finds new rows. It is off when Column is empty.
type Watermark struct {
	Column  string        `key:"column" required:"true" rule:"column" doc:"A column that grows with every change of a row, in all shards: a DATETIME in UTC, a TIMESTAMP, a DATE or an integer."`
	Overlap time.Duration `key:"overlap" default:"0s" doc:"How far a window of times ends before the server's clock and the oldest open transaction. A key table also reads so much before the last watermark again."`

	OverlapValues int64 `key:"overlap_values" default:"0" min:"0" doc:"The same for an integer column, in its values; a window is held back by it only where open transactions cannot be seen."`
}

// Split says how shards are cut into splits.
type Split struct {
	Column string `key:"column" default:"auto" rule:"column" doc:"The column to cut by; auto takes a usable key."`
	Rows   int64  `key:"rows" default:"250000" min:"1" doc:"Rows that a split should have."`
	Count  int    `key:"count" default:"0" min:"0" max:"100000" doc:"Splits of each shard, whatever its size; 0 cuts by rows."`
}

// AutoSplit is the value of Split.Column that leaves the choice to the planner.
const AutoSplit = "auto"

// Types are choices where MySQL's types have no exact counterpart.
type Types struct {
	TinyInt1        TinyInt1        `key:"tinyint1" default:"tinyint" doc:"What TINYINT(1) becomes."`
	Time            TimeType        `key:"time" default:"string" doc:"What TIME becomes. MySQL's TIME spans 838 hours both ways, Paimon's one day in milliseconds: a value that is not of it ends the read."`
	ZeroDate        ZeroDate        `key:"zero_date" default:"fail" doc:"What dates such as 0000-00-00 become: an error, NULL, or 1970-01-01."`
	ZeroDateColumns ZeroDates       `key:"zero_date_columns" doc:"The same for single columns, by their names in MySQL: {paid_at: null, born: epoch}."`
	DecimalOverflow DecimalOverflow `key:"decimal_overflow" default:"fail" doc:"What DECIMAL of more than 38 digits becomes: an error, or text."`
}

// TinyInt1 is what TINYINT(1) becomes.
type TinyInt1 string

// The choices for TINYINT(1).
const (
	TinyInt1Tinyint TinyInt1 = "tinyint"
	TinyInt1Boolean TinyInt1 = "boolean"
)

func (TinyInt1) allowed() []string { return []string{string(TinyInt1Tinyint), string(TinyInt1Boolean)} }

// TimeType is what TIME becomes.
type TimeType string

// The choices for TIME.
const (
	TimeAsString TimeType = "string"
	TimeAsTime   TimeType = "time"
)

func (TimeType) allowed() []string { return []string{string(TimeAsString), string(TimeAsTime)} }

// ZeroDate is what a zero date becomes.
type ZeroDate string

// The choices for zero dates. In a file null may be written without quotes.
const (
	ZeroDateFail  ZeroDate = "fail"
	ZeroDateNull  ZeroDate = "null"
	ZeroDateEpoch ZeroDate = "epoch"
)

func (ZeroDate) allowed() []string {
	return []string{string(ZeroDateFail), string(ZeroDateNull), string(ZeroDateEpoch)}
}

// DecimalOverflow is what a DECIMAL of more than 38 digits becomes.
type DecimalOverflow string

// The choices for such decimals.
const (
	DecimalFail   DecimalOverflow = "fail"
	DecimalString DecimalOverflow = "string"
)

func (DecimalOverflow) allowed() []string {
	return []string{string(DecimalFail), string(DecimalString)}
}

// SoftDelete is the mark of a deleted row. It is off when Column is empty.
type SoftDelete struct {
	Column string `key:"column" required:"true" rule:"column" doc:"The column that marks, by its name in the lake."`
	Value  Scalar `key:"value" required:"true" doc:"Its value in a deleted row, exactly; NULL marks nothing."`
}

// CDC are the settings of mode cdc.
type CDC struct {
	Interval      time.Duration `key:"interval" default:"10s" doc:"Longest time between commits."`
	Rows          int64         `key:"rows" default:"0" min:"0" doc:"Rows after which a commit is made; 0 is no limit."`
	Bytes         Bytes         `key:"bytes" default:"0" min:"0" doc:"Bytes after which a commit is made; 0 is no limit."`
	SchemaChange  SchemaChange  `key:"schema_change" default:"evolve" doc:"What a change of columns in the source does."`
	ConsistentCut bool          `key:"consistent_cut" default:"false" doc:"Whether all instances are brought to one time in each snapshot."`
}

// SchemaChange is what a change of columns in the source does.
type SchemaChange string

// The choices for schema changes.
const (
	Evolve SchemaChange = "evolve"
	Ignore SchemaChange = "ignore"
	Stop   SchemaChange = "stop"
)

func (SchemaChange) allowed() []string { return []string{string(Evolve), string(Ignore), string(Stop)} }

// TableTarget is the table in the lake.
type TableTarget struct {
	Database  string            `key:"database" required:"true" rule:"name" doc:"The database."`
	Table     string            `key:"table" rule:"name" doc:"The table; the logical table's name when empty."`
	Partition []string          `key:"partition" rule:"column" doc:"Columns to partition by."`
	Bucket    int               `key:"bucket" default:"-1" min:"-2" max:"65536" doc:"Buckets of each partition; -1 is none for an append table and dynamic for a key table, -2 is postponed."`
	Options   map[string]string `key:"options" doc:"Paimon table options, as they stand."`
}

// Column is one column to read: its name, or {name, as, type}.
type Column struct {
	Name string `key:"name" required:"true" rule:"column" doc:"The column in MySQL."`
	As   string `key:"as" rule:"column" doc:"Its name in the lake; the same when empty."`
	Type string `key:"type" rule:"text" doc:"Its Paimon type; by the rules when empty. A type that would change a value is refused, or ends the read at that value."`
}

// Target is the column's name in the lake.
func (c Column) Target() string {
	if c.As != "" {
		return c.As
	}
	return c.Name
}

// columnKeys is Column's long form, bound as a struct.
type columnKeys Column

func (c *Column) fromNode(b *binder, n *document.Node, at document.Place, f field) {
	if n.Kind == document.Map {
		b.bindStruct(reflect.ValueOf((*columnKeys)(c)).Elem(), n, at)
		return
	}
	b.bindString(reflect.ValueOf(&c.Name).Elem(), n, at, field{rule: "column", required: true})
}

func (c *Column) appendJSON(to []byte) []byte {
	if c.As == "" && c.Type == "" {
		return appendText(to, c.Name)
	}
	return appendStruct(to, reflect.ValueOf((*columnKeys)(c)).Elem())
}

func (c *Column) jsonSchema(field) schemaObject {
	name := schemaOf(reflect.TypeFor[string](), field{rule: "column", required: true}, document.Place{})
	return schemaObject{"anyOf": []any{name, structSchema(reflect.TypeFor[columnKeys](), document.Place{General: "tables[].columns[]"})}}
}

// Overwrite is what a full refresh replaces: the whole table when Partitions is empty, else these partitions, each a
// mapping of partition columns to values.
type Overwrite struct {
	Partitions []map[string]string
}

func (o *Overwrite) fromNode(b *binder, n *document.Node, at document.Place, _ field) {
	switch {
	case n.Kind == document.List && len(n.Items) == 0:
		b.problem(n, at, "the list is empty", "write table for the whole table")
	case n.Kind == document.List:
		for i, item := range n.Items {
			var spec map[string]string
			b.bindTexts(&spec, item, at.Item(i))
			if item.Kind == document.Map && len(item.Entries) == 0 {
				b.problem(item, at.Item(i), "names no partition column", "")
			}
			o.Partitions = append(o.Partitions, spec)
		}
	case n.Text != "table" || n.Kind != document.String && n.Kind != document.Untyped:
		b.problem(n, at, "must be table or a list of partitions", `such as [{dt: "2026-01-01"}]`)
	}
}

func (o *Overwrite) appendJSON(to []byte) []byte {
	if len(o.Partitions) == 0 {
		return appendText(to, "table")
	}
	return appendValue(to, reflect.ValueOf(o.Partitions))
}

func (o *Overwrite) jsonSchema(field) schemaObject {
	spec := schemaOf(reflect.TypeFor[map[string]string](), field{}, document.Place{})
	spec["minProperties"] = 1
	return schemaObject{"anyOf": []any{
		schemaObject{"const": "table"},
		schemaObject{"type": "array", "minItems": 1, "items": spec},
	}}
}
