package key

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
)

// Key is what a shard is cut by.
type Key struct {
	Columns []Column
	// Index has the columns first, in this order; empty when none has.
	Index string
	// Unique tells that no two rows have the same key.
	Unique bool
}

// Integer tells whether the key is one integer that is never NULL.
func (k Key) Integer() bool {
	return len(k.Columns) == 1 && k.Columns[0].Integer() && !k.Columns[0].Nullable
}

// index is an index of a shard.
type index struct {
	name string
	// unique, with no column that may be NULL.
	unique bool
	// ordered can be walked from one end to the other, and the optimizer may use it.
	ordered bool
	columns []indexColumn
}

// indexColumn is a column of an index.
type indexColumn struct {
	name string // empty for an expression
	// prefix tells that only the beginning of the value is in the index.
	prefix, descending bool
}

// Catalog is a shard's columns and indexes now.
type Catalog struct {
	columns map[string]Column
	indexes []index
}

// Read asks for a shard's columns and indexes.
func Read(ctx context.Context, c *sql.Conn, shard source.Shard) (*Catalog, error) {
	k := &Catalog{columns: map[string]Column{}}
	rows, err := c.QueryContext(ctx, "SELECT column_name, column_type, COALESCE(collation_name, ''), is_nullable FROM information_schema.columns WHERE table_schema = "+
		QuoteText(shard.Database)+" AND table_name = "+QuoteText(shard.Table))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var column Column
		var kind, nullable string
		if err := rows.Scan(&column.Name, &kind, &column.Collation, &nullable); err != nil {
			return nil, err
		}
		column.Kind, column.Nullable = definition.Parse(kind), nullable != "NO"
		k.columns[strings.ToLower(column.Name)] = column
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return k, k.readIndexes(ctx, c, shard)
}

// Empty tells that the server shows no columns: the table is gone, or may not be seen.
func (k *Catalog) Empty() bool { return len(k.columns) == 0 }

// readIndexes uses SHOW, whose columns can be told by name: releases differ in which there are.
func (k *Catalog) readIndexes(ctx context.Context, c *sql.Conn, shard source.Shard) error {
	rows, err := c.QueryContext(ctx, "SHOW INDEX FROM "+TableSQL(shard))
	if err != nil {
		return err
	}
	defer rows.Close()
	fields, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]sql.NullString, len(fields))
	into := make([]any, len(fields))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row := map[string]string{}
		for i, f := range fields {
			row[strings.ToLower(f)] = values[i].String
		}
		k.add(row)
	}
	return rows.Err()
}

// add takes in a row of SHOW INDEX, which are in the order of indexes and of their columns.
func (k *Catalog) add(row map[string]string) {
	if n := len(k.indexes); n == 0 || k.indexes[n-1].name != row["key_name"] {
		ordered := true
		switch strings.ToUpper(row["index_type"]) {
		case "HASH", "FULLTEXT", "SPATIAL", "RTREE", "VECTOR":
			ordered = false
		}
		if row["visible"] == "NO" || row["ignored"] == "YES" {
			ordered = false
		}
		k.indexes = append(k.indexes, index{name: row["key_name"], unique: row["non_unique"] == "0", ordered: ordered})
	}
	i := &k.indexes[len(k.indexes)-1]
	i.columns = append(i.columns, indexColumn{name: row["column_name"], prefix: row["sub_part"] != "", descending: row["collation"] == "D"})
	i.unique = i.unique && row["null"] != "YES"
}

// usable are the columns that an index begins with, as far as a shard can be cut by them, and why not by more.
func (k *Catalog) usable(i index) ([]Column, string) {
	if !i.ordered {
		return nil, fmt.Sprintf("index %q has no order that can be used", i.name)
	}
	var out []Column
	for _, c := range i.columns {
		column, ok := k.columns[strings.ToLower(c.name)]
		switch {
		case !ok:
			return out, fmt.Sprintf("index %q goes on with an expression or a hidden column", i.name)
		case c.prefix:
			return out, fmt.Sprintf("index %q has only the beginning of column %q", i.name, column.Name)
		case c.descending != i.columns[0].descending:
			return out, fmt.Sprintf("index %q has column %q in the other direction", i.name, column.Name)
		case formOf(column.Kind) == noForm:
			return out, fmt.Sprintf("column %q is %s, which cannot be bounded exactly", column.Name, column.Kind.Base)
		}
		out = append(out, column)
	}
	return out, ""
}

// Choose finds the key to cut by: the primary key, else a unique key that is never NULL, else what the primary key begins
// with, else none. The note says why it is not a whole key.
func (k *Catalog) Choose() (*Key, string) {
	var partial, best *Key
	note := "there is no primary key, and no unique key of NOT NULL columns"
	for _, i := range k.indexes {
		if !i.unique {
			continue
		}
		columns, why := k.usable(i)
		found := &Key{Columns: columns, Index: i.name, Unique: why == ""}
		switch primary := i.name == "PRIMARY"; {
		case primary && why == "":
			return found, ""
		case primary && len(columns) > 0:
			partial, note = found, why
		case why != "" && partial == nil:
			note = why
		case why == "" && (best == nil || simpler(columns, best.Columns)):
			best = found
		}
	}
	if best != nil {
		return best, ""
	}
	return partial, note
}

// simpler prefers fewer columns, then more integers.
func simpler(a, b []Column) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return integers(a) > integers(b)
}

func integers(columns []Column) int {
	n := 0
	for _, c := range columns {
		if c.Integer() {
			n++
		}
	}
	return n
}

// Forced is the key of one column that the user names. It may be NULL, and need not be unique.
// A column that is not there or cannot be bounded exactly is a [source.ErrRefused].
func (k *Catalog) Forced(shard source.Shard, name string) (*Key, error) {
	column, ok := k.columns[strings.ToLower(name)]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: shard %s has no column %q, which split.column names", source.ErrRefused, shard, name)
	case formOf(column.Kind) == noForm:
		return nil, fmt.Errorf("%w: shard %s: split.column %q is %s, which cannot be bounded exactly: name another one or auto",
			source.ErrRefused, shard, column.Name, column.Kind.Base)
	}
	key := &Key{Columns: []Column{column}}
	for _, i := range k.indexes {
		first := i.columns[0]
		if !i.ordered || first.prefix || !strings.EqualFold(first.name, column.Name) {
			continue
		}
		unique := i.unique && len(i.columns) == 1
		if key.Index == "" || unique && !key.Unique {
			key.Index, key.Unique = i.name, unique
		}
	}
	return key, nil
}

// Plain is the key of a shard whose primary key is one integer, which needs no look at its indexes; else nil.
func Plain(t source.Table) *Key {
	if len(t.PrimaryKey) != 1 {
		return nil
	}
	at := slices.IndexFunc(t.Columns, func(c source.Column) bool { return strings.EqualFold(c.Name, t.PrimaryKey[0]) })
	if at < 0 {
		return nil
	}
	kind := definition.Parse(t.Columns[at].Definition)
	if !kind.Integer() {
		return nil
	}
	return &Key{Columns: []Column{{Name: t.Columns[at].Name, Kind: kind}}, Index: "PRIMARY", Unique: true}
}
