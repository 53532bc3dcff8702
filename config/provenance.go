package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/config/document"
)

// Provenance are the names of the columns that say where a row came from; an empty name is a column that is not added.
type Provenance struct {
	Instance string `key:"instance" rule:"column" doc:"Column for the instance's name."`
	Database string `key:"database" rule:"column" doc:"Column for the MySQL database."`
	Table    string `key:"table" rule:"column" doc:"Column for the MySQL table."`
	// Columns hold parts of those names.
	Columns []DerivedColumn `key:"columns" doc:"Columns that hold a part of a name, as shop_eu_3 tells a region."`
}

// DerivedColumn is a column whose values are taken out of the names of shards.
type DerivedColumn struct {
	Name    string      `key:"name" required:"true" rule:"column" doc:"The column in the lake."`
	From    DerivedFrom `key:"from" default:"table" doc:"The name that it is a part of."`
	Pattern string      `key:"pattern" required:"true" rule:"text" doc:"A regular expression that matches the whole name: shop_(?P<region>[a-z]+)_[0-9]+. The column holds the group that is called like it, else the only group. A shard whose name does not match refuses the plan."`
	Type    DerivedType `key:"type" default:"STRING" doc:"The column's type."`
}

// DerivedFrom is one of the names of a shard.
type DerivedFrom string

func (DerivedFrom) allowed() []string { return []string{"table", "database", "instance"} }

// DerivedType is the type of a column that holds a part of a name.
type DerivedType string

func (DerivedType) allowed() []string {
	return []string{"STRING", "TINYINT", "SMALLINT", "INT", "BIGINT"}
}

// DefaultProvenance are the names that provenance: true gives.
func DefaultProvenance() Provenance {
	return Provenance{Instance: "_instance", Database: "_database", Table: "_table"}
}

// Names are the columns that are added, in their order.
func (p Provenance) Names() []string {
	names := slices.DeleteFunc([]string{p.Instance, p.Database, p.Table}, func(s string) bool { return s == "" })
	for _, c := range p.Columns {
		names = append(names, c.Name)
	}
	return names
}

// provenanceKeys is Provenance's long form, bound as a struct.
type provenanceKeys Provenance

func (p *Provenance) fromNode(b *binder, n *document.Node, at document.Place, _ field) {
	if n.Kind == document.Map {
		if len(n.Entries) == 0 {
			b.problem(n, at, "names no column", "write false for none, true for all three, or name some")
			return
		}
		b.bindStruct(reflect.ValueOf((*provenanceKeys)(p)).Elem(), n, at)
		return
	}
	var all bool
	if n.Kind != document.Bool && n.Kind != document.Untyped {
		b.problem(n, at, fmt.Sprintf("must be true, false or a mapping, not %s", n.Kind), "")
		return
	}
	b.bindBool(reflect.ValueOf(&all).Elem(), n, at)
	if all {
		*p = DefaultProvenance()
	}
}

func (p *Provenance) appendJSON(to []byte) []byte {
	switch {
	case len(p.Names()) == 0:
		return append(to, "false"...)
	case len(p.Columns) == 0 && slices.Equal(p.Names(), DefaultProvenance().Names()):
		return append(to, "true"...)
	}
	return appendStruct(to, reflect.ValueOf((*provenanceKeys)(p)).Elem())
}

func (p *Provenance) jsonSchema(field) schemaObject {
	names := structSchema(reflect.TypeFor[provenanceKeys](), document.Place{})
	names["minProperties"] = 1
	return schemaObject{"anyOf": []any{schemaObject{"type": "boolean"}, names}}
}

// fault is what is wrong with the pattern of a derived column.
func (c DerivedColumn) fault() (message, hint string) {
	re, err := regexp.Compile(c.Pattern)
	switch {
	case err != nil:
		return fmt.Sprintf("%q is not a regular expression: %s", c.Pattern, strings.TrimPrefix(err.Error(), "error parsing regexp: ")), ""
	case re.NumSubexp() == 0:
		return fmt.Sprintf("%q has no group", c.Pattern), fmt.Sprintf("put what the column holds in brackets, as (?P<%s>[a-z]+)", c.Name)
	case re.NumSubexp() > 1 && re.SubexpIndex(c.Name) < 0:
		return fmt.Sprintf("%q has %d groups, none of which is called %s", c.Pattern, re.NumSubexp(), c.Name),
			fmt.Sprintf("name one, as (?P<%s>[a-z]+)", c.Name)
	}
	return "", ""
}
