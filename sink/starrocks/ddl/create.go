package ddl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/sink"
)

// Model is how StarRocks treats rows with the same key.
type Model string

// The models.
const (
	// Duplicate keeps every row. Its key is only the order in which they lie.
	Duplicate Model = "DUPLICATE KEY"
	// Primary keeps the last row of each key, and can update and delete.
	Primary Model = "PRIMARY KEY"
	// Unique keeps the last row of each key when it is read.
	Unique Model = "UNIQUE KEY"
)

// Table is a table to be made.
type Table struct {
	sink.Table
	Columns []Column
	Model   Model
	// Keys are columns, in order. A duplicate table without any takes the first column that can be one.
	Keys []string
	// Partition is the expression of PARTITION BY, such as date_trunc('day', dt); none when empty.
	Partition string
	// Distribution are the columns of DISTRIBUTED BY HASH; the keys when empty.
	Distribution []string
	// Buckets is left to StarRocks when zero.
	Buckets    int
	Properties map[string]string
	Comment    string
}

// Create is the statement that makes the table unless one of its name is there, with the key's columns first, as StarRocks demands.
func (t Table) Create() (string, error) {
	columns, keys, err := t.order()
	if err != nil {
		return "", err
	}
	lines := make([]string, len(columns))
	for i, c := range columns {
		m, err := Map(c)
		if err != nil {
			return "", err
		}
		isKey := i < len(keys)
		if err := t.keyable(c, m, isKey); err != nil {
			return "", err
		}
		null := "NULL"
		if c.Type.NotNull || isKey && t.Model == Primary {
			null = "NOT NULL"
		}
		lines[i] = fmt.Sprintf("  %s %s %s", Name(c.Name), m.Type, null)
		if c.Comment != "" {
			lines[i] += " COMMENT " + Text(c.Comment)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s.%s (\n%s\n) ENGINE=OLAP", Name(t.Database), Name(t.Name), strings.Join(lines, ",\n"))
	fmt.Fprintf(&b, "\n%s (%s)", t.Model, names(keys))
	if t.Comment != "" {
		fmt.Fprintf(&b, "\nCOMMENT %s", Text(t.Comment))
	}
	if t.Partition != "" {
		fmt.Fprintf(&b, "\nPARTITION BY %s", t.Partition)
	}
	by := t.Distribution
	if len(by) == 0 {
		by = keys
	}
	fmt.Fprintf(&b, "\nDISTRIBUTED BY HASH (%s)", names(by))
	if t.Buckets > 0 {
		fmt.Fprintf(&b, " BUCKETS %d", t.Buckets)
	}
	if len(t.Properties) > 0 {
		var set []string
		for _, k := range slices.Sorted(maps.Keys(t.Properties)) {
			set = append(set, Text(k)+" = "+Text(t.Properties[k]))
		}
		fmt.Fprintf(&b, "\nPROPERTIES (%s)", strings.Join(set, ", "))
	}
	return b.String(), nil
}

// order puts the key's columns first.
func (t Table) order() (columns []Column, keys []string, err error) {
	at := func(name string) int {
		return slices.IndexFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	}
	keys = t.Keys
	if len(keys) == 0 {
		if t.Model != Duplicate {
			return nil, nil, fmt.Errorf("table %s: %s needs columns", t.Table, t.Model)
		}
		for _, c := range t.Columns {
			m, err := Map(c)
			if err == nil && t.keyable(c, m, true) == nil {
				keys = []string{c.Name}
				break
			}
		}
		if len(keys) == 0 {
			return nil, nil, fmt.Errorf("table %s: no column can be its key: FLOAT, DOUBLE and VARBINARY cannot", t.Table)
		}
	}
	for _, k := range keys {
		i := at(k)
		if i < 0 {
			return nil, nil, fmt.Errorf("table %s: the key names %q, which is no column", t.Table, k)
		}
		columns = append(columns, t.Columns[i])
	}
	for _, d := range t.Distribution {
		if at(d) < 0 {
			return nil, nil, fmt.Errorf("table %s: the distribution names %q, which is no column", t.Table, d)
		}
		if t.Model != Duplicate && !slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, d) }) {
			return nil, nil, fmt.Errorf("table %s: the distribution names %q, which is not in the %s", t.Table, d, t.Model)
		}
	}
	for _, c := range t.Columns {
		isKey := slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, c.Name) })
		if !isKey {
			columns = append(columns, c)
		}
	}
	return columns, keys, nil
}

// keyable refuses what StarRocks does not take in a key, before it does.
func (t Table) keyable(c Column, m Mapped, isKey bool) error {
	if !isKey {
		return nil
	}
	name, _, _ := strings.Cut(m.Type, "(")
	switch {
	case name == "FLOAT" || name == "DOUBLE" || name == "VARBINARY":
		return fmt.Errorf("table %s: column %q is %s, which no key of StarRocks may have", t.Table, c.Name, m.Type)
	case name == "DECIMAL" && t.Model == Primary:
		return fmt.Errorf("table %s: column %q is %s, which no primary key of StarRocks may have", t.Table, c.Name, m.Type)
	case t.Model == Primary && !c.Type.NotNull:
		return fmt.Errorf("table %s: column %q of the primary key may be NULL", t.Table, c.Name)
	}
	return nil
}

func names(list []string) string {
	quoted := make([]string, len(list))
	for i, n := range list {
		quoted[i] = Name(n)
	}
	return strings.Join(quoted, ", ")
}

// Name is a name as SQL writes it.
func Name(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Text is a string as SQL writes it.
func Text(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
