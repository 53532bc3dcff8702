package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
	"github.com/tributary-lake/tributary/source/mysql/key"
)

// Selection tells which tables are shards. A matcher that is nil matches everything.
type Selection struct {
	// Databases matches database names of an instance. MySQL's own databases are never asked about.
	Databases func(instance, database string) bool
	// Tables matches table names.
	Tables func(table string) bool
	// Exclude takes tables out again; nil takes none.
	Exclude func(table string) bool
	// Policy maps the columns.
	Policy Policy
}

// Discovery is what a selection found.
type Discovery struct {
	// Tables are the shards by instance in the order of configuration, then by database and table.
	Tables []source.Table
	// Seen is what each instance has, to explain a selection that matches nothing.
	Seen []Seen
}

// Seen is what the account may see of an instance.
type Seen struct {
	Instance string
	// Databases without MySQL's own, and those of them that the selection matches.
	Databases, Matched []string
	// Tables of the matched databases that are no views, matched by the selection or not.
	Tables []string
}

// Discover finds the shards of a selection on all instances at once. Views are no shards. A selection that matches
// nothing is no error here: Seen has what there is.
func (s *Source) Discover(ctx context.Context, sel Selection) (*Discovery, error) {
	if err := sel.Policy.Validate(); err != nil {
		return nil, err
	}
	tables := make([][]source.Table, len(s.instances))
	d := &Discovery{Seen: make([]Seen, len(s.instances))}
	g, ctx := errgroup.WithContext(ctx)
	for i, in := range s.instances {
		g.Go(func() error {
			var err error
			if tables[i], d.Seen[i], err = in.discover(ctx, sel); err != nil {
				return fmt.Errorf("discover the tables of instance %q: %w", in.config.Name, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	d.Tables = slices.Concat(tables...)
	return d, sel.Policy.Unused(d.Tables)
}

// tableName identifies a table within an instance.
type tableName struct{ database, table string }

// discovery collects the tables of one instance.
type discovery struct {
	conn   *sql.Conn
	tables map[tableName]*source.Table
	policy Policy
}

func (in *instance) discover(ctx context.Context, sel Selection) ([]source.Table, Seen, error) {
	seen := Seen{Instance: in.config.Name}
	conn, err := in.conn(ctx)
	if err != nil {
		return nil, seen, err
	}
	defer conn.Close()
	d := &discovery{conn: conn, tables: map[tableName]*source.Table{}, policy: sel.Policy}
	if err := d.databases(ctx, sel, &seen); err != nil {
		return nil, seen, classify(err)
	}
	if len(seen.Matched) == 0 {
		return nil, seen, nil
	}
	steps := []func(context.Context, Selection, *Seen) error{d.list, d.columns, d.keys}
	for _, step := range steps {
		if err := step(ctx, sel, &seen); err != nil {
			return nil, seen, classify(err)
		}
	}
	return d.sorted(), seen, nil
}

// system tells whether a database is the server's own.
func system(database string) bool {
	switch strings.ToLower(database) {
	case "mysql", "information_schema", "performance_schema", "sys":
		return true
	}
	return false
}

func (d *discovery) databases(ctx context.Context, sel Selection, seen *Seen) error {
	var name string
	return d.each(ctx, "SELECT schema_name FROM information_schema.schemata", []any{&name}, func() {
		if system(name) {
			return
		}
		seen.Databases = append(seen.Databases, name)
		if sel.Databases == nil || sel.Databases(seen.Instance, name) {
			seen.Matched = append(seen.Matched, name)
		}
	})
}

// list finds the tables. MariaDB calls those with history SYSTEM VERSIONED; what is current is read.
func (d *discovery) list(ctx context.Context, sel Selection, seen *Seen) error {
	var n tableName
	var rows, bytes sql.Null[float64] // unsigned, and only estimates
	query := "SELECT table_schema, table_name, table_rows, data_length FROM information_schema.tables" +
		" WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema IN " + inList(seen.Matched)
	return d.each(ctx, query, []any{&n.database, &n.table, &rows, &bytes}, func() {
		if !slices.Contains(seen.Matched, n.database) {
			return // the server compares without case
		}
		seen.Tables = append(seen.Tables, n.database+"."+n.table)
		if sel.Tables != nil && !sel.Tables(n.table) || sel.Exclude != nil && sel.Exclude(n.table) {
			return
		}
		d.tables[n] = &source.Table{
			Shard: source.Shard{Instance: seen.Instance, Database: n.database, Table: n.table},
			Rows:  int64(rows.V), Bytes: int64(bytes.V),
		}
	})
}

const columnFields = "column_name, column_type, COALESCE(character_set_name, ''), is_nullable, extra, column_comment"

func (d *discovery) columns(ctx context.Context, _ Selection, seen *Seen) error {
	var n tableName
	var c definition.Column
	var nullable string
	query := "SELECT table_schema, table_name, " + columnFields + " FROM information_schema.columns WHERE table_schema IN " +
		inList(seen.Matched) + " ORDER BY table_schema, table_name, ordinal_position"
	fields := []any{&n.database, &n.table, &c.Name, &c.Type, &c.Charset, &nullable, &c.Extra, &c.Comment}
	return d.each(ctx, query, fields, func() {
		t := d.tables[n]
		if t == nil {
			return
		}
		c.NotNull = nullable == "NO"
		column, loss := d.policy.Column(c)
		t.Columns = append(t.Columns, column)
		if loss != nil {
			t.Losses = append(t.Losses, *loss)
		}
	})
}

func (d *discovery) keys(ctx context.Context, _ Selection, seen *Seen) error {
	var n tableName
	var column string
	query := "SELECT table_schema, table_name, column_name FROM information_schema.statistics WHERE index_name = 'PRIMARY' AND table_schema IN " +
		inList(seen.Matched) + " ORDER BY table_schema, table_name, seq_in_index"
	return d.each(ctx, query, []any{&n.database, &n.table, &column}, func() {
		if t := d.tables[n]; t != nil {
			t.PrimaryKey = append(t.PrimaryKey, column)
		}
	})
}

// sorted gives the tables by name. One that was dropped between the queries has no columns and is left out.
func (d *discovery) sorted() []source.Table {
	out := make([]source.Table, 0, len(d.tables))
	for _, t := range d.tables {
		if len(t.Columns) > 0 {
			out = append(out, *t)
		}
	}
	slices.SortFunc(out, func(a, b source.Table) int {
		if c := strings.Compare(a.Shard.Database, b.Shard.Database); c != 0 {
			return c
		}
		return strings.Compare(a.Shard.Table, b.Shard.Table)
	})
	return out
}

// each runs a query and calls do after each row was scanned into fields.
func (d *discovery) each(ctx context.Context, query string, fields []any, do func()) error {
	rows, err := d.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		do()
	}
	return rows.Err()
}

// inList is a list of text literals for IN.
func inList(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quoteText(v)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

// quoteText is a text literal.
func quoteText(s string) string { return key.QuoteText(s) }

// quoteName is an identifier.
func quoteName(s string) string { return key.QuoteName(s) }

// tableSQL is a shard's name in a statement.
func tableSQL(s source.Shard) string { return key.TableSQL(s) }
