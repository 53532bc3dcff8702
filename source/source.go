package source

import (
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source/tally"
)

// Shard is one physical table.
type Shard struct {
	Instance string `json:"instance"`
	Database string `json:"database"`
	Table    string `json:"table"`
}

// String is instance/database/table, for people.
func (s Shard) String() string { return s.Instance + "/" + s.Database + "/" + s.Table }

// Column is a source column and the lake type that it becomes.
type Column struct {
	// Name in the source.
	Name string `json:"name"`
	// Definition is the source's own type text, such as "bigint(20) unsigned", with what else decides how it is read
	// (character set, generated). A reader refuses a split whose column has another one by then.
	Definition string `json:"definition"`
	// Type that it becomes, nullability included.
	Type schema.Type `json:"type,omitzero"`
	// ZeroDate is what becomes of a date that does not exist; empty means [ZeroDateFail].
	ZeroDate ZeroDate `json:"zero_date,omitempty"`
	// Comment of the column in the source.
	Comment string `json:"comment,omitempty"`
	// Form says how the bytes of Type are to be understood where Type alone does not tell, such as "WKB". Columns of two
	// forms have no common type, as what was written of one would be misread as the other. See also [FormDecimal].
	Form string `json:"form,omitempty"`
}

// FormDecimal is the form of a STRING that holds numbers, because they have more digits than a DECIMAL. Integers and
// decimals have a common type with it.
const FormDecimal = "decimal text"

// ZeroDate is a policy for dates that MySQL stores although the calendar lacks them: 0000-00-00, 2024-00-10, 2023-02-31.
type ZeroDate string

// The policies for dates that do not exist.
const (
	// ZeroDateFail ends the read with an [ErrRefused] that names the value.
	ZeroDateFail ZeroDate = "fail"
	// ZeroDateNull makes them NULL; the column becomes nullable.
	ZeroDateNull ZeroDate = "null"
	// ZeroDateEpoch makes them 1970-01-01 00:00:00.
	ZeroDateEpoch ZeroDate = "epoch"
)

// Table is what discovery found out about one shard.
type Table struct {
	Shard   Shard    `json:"shard"`
	Columns []Column `json:"columns"`
	// PrimaryKey names the key's columns in index order; empty when there is none.
	PrimaryKey []string `json:"primary_key,omitempty"`
	// Rows and Bytes are the server's estimates; they may be stale or zero.
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Losses are values that would be changed or lost, or refused columns, one sentence each.
	Losses []Loss `json:"losses,omitempty"`
	// Window bounds the rows that are wanted; nil wants all.
	Window *Window `json:"window,omitempty"`
}

// Loss is a column whose values may not all arrive as they are, and what the policy does about it.
type Loss struct {
	Column string `json:"column"`
	// What is lost, in a sentence.
	What string `json:"what"`
	// Policy that decided, such as zero_date: null.
	Policy string `json:"policy"`
	// Refused tells that the column cannot be read under that policy: its Type is not set, and no merge may select it.
	Refused bool `json:"refused,omitempty"`
}

// Range bounds a split by one column. Bounds are literals in the source's own syntax, both inclusive, and are compared by
// the source alone.
type Range struct {
	Column string `json:"column"`
	// Lower and Upper are decimal integers as the source printed them.
	Lower string `json:"lower"`
	Upper string `json:"upper"`
	// Unsigned tells that the column is.
	Unsigned bool `json:"unsigned,omitempty"`
}

// KeyRange bounds a split by a key of any columns and types: the rows whose key, compared column by column in the order
// of Columns, is greater than Lower and at most Upper. Bounds are literals in the source's own syntax, one for each
// column, and are compared by the source alone, never here.
type KeyRange struct {
	Columns []string `json:"columns"`
	// Lower is exclusive; empty for the shard's first range, which has no lower bound.
	Lower []string `json:"lower,omitempty"`
	// Upper is inclusive, and always set unless Null is, or all keys up to now are wanted, whatever was added after the plan.
	Upper []string `json:"upper,omitempty"`
	// Nullable tells that the only column may be NULL. Then one split of the shard has Null set.
	Nullable bool `json:"nullable,omitempty"`
	// Null makes it the rows whose only column is NULL, which no bounds hold.
	Null bool `json:"null,omitempty"`
}

// Split is a bounded range of one shard, or the whole of it.
type Split struct {
	// Shard is the index of the shard in the plan.
	Shard int `json:"shard"`
	// Range bounds by one integer column, Keys by any other key. At most one is set; without both it is the whole shard.
	Range *Range `json:"range,omitempty"`
	// Keys bounds by a key that is not one integer column.
	Keys *KeyRange `json:"keys,omitempty"`
	// Window bounds the rows further, by a column that need not be the one that the shard is cut by.
	Window *KeyRange `json:"window,omitempty"`
	// Rows is an estimate.
	Rows int64 `json:"rows"`
	// Note tells on a shard's first split why it is not cut by its whole key, a clause for people; empty when it is.
	Note string `json:"note,omitempty"`
}

// Columns are those that the split is bounded by, none for a whole shard.
func (s Split) Columns() []string {
	switch {
	case s.Range != nil:
		return []string{s.Range.Column}
	case s.Keys != nil:
		return s.Keys.Columns
	}
	return nil
}

// Output is one column of the batches that a reader fills: a source column, or a constant.
type Output struct {
	// Column is what is read; its Name is empty for a constant and for a column that this shard lacks.
	Column Column `json:"column,omitzero"`
	// Type in the batch: the merged type, which may be wider or more nullable than the shard's own.
	Type schema.Type `json:"type"`
	// Provenance tells which of the shard's names fills the column; empty for a column that is read.
	Provenance Origin `json:"provenance,omitempty"`
	// Derive tells which part of that name it is; the zero value is all of it.
	Derive Derivation `json:"derive,omitzero"`
	// Constant is that name, or the part. Plans leave it out, so that shards alike share one list of outputs.
	Constant *string `json:"constant,omitempty"`
}

// Read asks for the rows of one split.
type Read struct {
	Shard Shard
	Split Split
	// Where is an SQL condition of the user's, or empty.
	Where string
	// Outputs are the columns of the batch in order.
	Outputs []Output
	// Every tells that Outputs have all columns of the shard: another one, added after the plan, changes the schema.
	Every bool `json:"-"`
	// Sample, unless nil, reads only some rows and finds the values that would not arrive as they are.
	Sample *Sample `json:"-"`
	// Tally asks the server for its own count and sum of the rows, in the snapshot in which they are read.
	Tally bool `json:"-"`
	// Room, unless nil, is called before the reader takes memory for a row of more than a few MiB: with the row's bytes or, while
	// more, with those of a part of it. The next batch that is handed on holds that row alone. Its error ends the read.
	Room func(bytes int, more bool) error `json:"-"`
}

// FromSource are the places of the outputs that the shard's rows decide, not its names.
func (r Read) FromSource() []int {
	var places []int
	for i, o := range r.Outputs {
		if o.Provenance == "" {
			places = append(places, i)
		}
	}
	return places
}

// ReadStats is what one read did.
type ReadStats struct {
	// Rows is the number of rows handed on.
	Rows int64 `json:"rows"`
	// Bytes is the size of their packets as the source sent them.
	Bytes int64 `json:"bytes"`
	// Tally is what the server itself counted and summed, when it was asked to.
	Tally *tally.Sum `json:"tally,omitempty"`
	// Replaced counts values that a policy changed, per column; columns without such values are left out.
	Replaced []Replaced `json:"replaced,omitempty"`
}

// Replaced counts the values of a column that did not arrive as they are.
type Replaced struct {
	Column string `json:"column"`
	// Policy that decided, such as zero_date: null.
	Policy string `json:"policy"`
	Count  int64  `json:"count"`
}
