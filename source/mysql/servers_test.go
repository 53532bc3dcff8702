package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
	"github.com/tributary-lake/tributary/source/tally"
)

// onAll runs a test on each of the servers, in a database of its own.
func onAll(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) { test(t, newShop(t, testenv.Shared(t, f))) })
	}
}

// shop is a database on a server, and the source under test that reads it as the account "reader".
type shop struct {
	server   *testenv.MySQL
	database string
	source   *mysql.Source
}

func newShop(t *testing.T, server *testenv.MySQL) *shop {
	t.Helper()
	return &shop{server: server, database: server.NewDatabase(t), source: open(t, mysql.Options{}, configOf(server, "a"))}
}

func configOf(server *testenv.MySQL, name string) mysql.Config {
	return mysql.Config{Name: name, Host: server.Host(), Port: server.Port(), User: "reader", Password: "reader"}
}

func open(t *testing.T, o mysql.Options, configs ...mysql.Config) *mysql.Source {
	t.Helper()
	s, err := mysql.Open(t.Context(), configs, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// exec runs statements in the shop's database.
func (s *shop) exec(t *testing.T, texts ...string) {
	t.Helper()
	s.server.Exec(t, append([]string{"USE " + s.database, "SET sql_mode='', time_zone='+00:00'"}, texts...)...)
}

// session is a connection of the test's own to the shop's database, in UTC.
func (s *shop) session(t *testing.T) *sql.Conn {
	t.Helper()
	c, err := s.server.Open(t, "tributary", s.database).Conn(t.Context())
	require.NoError(t, err)
	_, err = c.ExecContext(t.Context(), "SET time_zone = '+00:00'")
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// tables discovers the shop's tables.
func (s *shop) tables(t *testing.T, p mysql.Policy) []source.Table {
	t.Helper()
	d, err := s.source.Discover(t.Context(), mysql.Selection{
		Databases: func(_, database string) bool { return database == s.database },
		Policy:    p,
	})
	require.NoError(t, err)
	return d.Tables
}

// table discovers one table.
func (s *shop) table(t *testing.T, name string, p mysql.Policy) source.Table {
	t.Helper()
	for _, found := range s.tables(t, p) {
		if found.Shard.Table == name {
			return found
		}
	}
	require.Failf(t, "no table", "%s", name)
	return source.Table{}
}

// readOf reads a whole shard with its own columns.
func readOf(t *testing.T, table source.Table) source.Read {
	t.Helper()
	m, err := source.Merge([]source.Table{table}, source.MergeOptions{})
	require.NoError(t, err)
	return source.Read{Shard: table.Shard, Outputs: m.Outputs(table)}
}

// collect reads all rows as text, in batches as they come. What it has read it reads again and compares with the server's own
// sum, so that every value of these tests is one that the two agree on.
func collect(ctx context.Context, s *mysql.Source, r source.Read) ([][]string, source.ReadStats, error) {
	var rows [][]string
	stats, err := s.Read(ctx, r, each(func(b *row.Batch) error {
		for i := range b.Rows {
			values := make([]string, len(b.Columns))
			for j := range b.Columns {
				values[j] = text(&b.Columns[j], i)
			}
			rows = append(rows, values)
		}
		return nil
	}))
	if err == nil && r.Sample == nil {
		err = summed(ctx, s, r)
	}
	return rows, stats, err
}

// summed reads rows and compares their sum with the server's own.
func summed(ctx context.Context, s *mysql.Source, r source.Read) error {
	r.Tally = true
	own := tally.NewAdder(source.Read{Outputs: r.Outputs}.FromSource())
	stats, err := s.Read(ctx, r, each(func(b *row.Batch) error {
		own.Add(b)
		return nil
	}))
	if err == nil && !own.Sum.Same(*stats.Tally) {
		err = fmt.Errorf("read were %s, the server says %s", own.Sum, stats.Tally)
	}
	return err
}

// each reads batches one after another and keeps none.
func each(fn func(*row.Batch) error) func(*row.Batch) (*row.Batch, error) {
	return func(full *row.Batch) (*row.Batch, error) { return full, fn(full) }
}
