package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// TestSchemaChanged alters a table between plan and read: nothing is read, and the error names shard and column.
func TestSchemaChanged(t *testing.T) {
	cases := []struct{ name, alter, column, planned, found string }{
		{"type", "ALTER TABLE t MODIFY v BIGINT", "v", "int(11)", "bigint(20)"},
		{"unsigned", "ALTER TABLE t MODIFY v INT UNSIGNED", "v", "int(11)", "int(10) unsigned"},
		{"nullable", "ALTER TABLE t MODIFY n VARCHAR(10) NULL", "n", "not null", "varchar(10)"},
		{"charset", "ALTER TABLE t MODIFY n VARCHAR(10) CHARACTER SET latin1 NOT NULL", "n", "utf8mb4", "latin1"},
		{"scale", "ALTER TABLE t MODIFY d DECIMAL(10,4)", "d", "decimal(10,2)", "decimal(10,4)"},
		{"dropped column", "ALTER TABLE t DROP COLUMN v", "v", "int(11)", "was dropped or renamed"},
		{"renamed column", "ALTER TABLE t CHANGE v w INT", "v", "int(11)", "was dropped or renamed"},
		{"dropped table", "DROP TABLE t", "", "", "the table was dropped or renamed"},
		{"view in its place", "RENAME TABLE t TO u; CREATE VIEW t AS SELECT id, v + 0 AS v, n, d FROM u", "v", "int(11)", "bigint"},
	}
	onAll(t, func(t *testing.T, s *shop) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				s.exec(t, "DROP DATABASE "+s.database, "CREATE DATABASE "+s.database, "USE "+s.database, "CREATE TABLE t (id INT PRIMARY KEY, v INT, n VARCHAR(10) NOT NULL, d DECIMAL(10,2))", "INSERT INTO t VALUES (1, 2, 'c', 4)")
				r := readOf(t, s.table(t, "t", mysql.Policy{}))
				s.exec(t, c.alter)
				_, err := s.source.Read(t.Context(), r, each(func(*row.Batch) error { t.Error("rows were handed on"); return nil }))
				require.ErrorIs(t, err, source.ErrSchemaChanged)
				var changed *source.SchemaChangedError
				require.ErrorAs(t, err, &changed)
				require.Equal(t, r.Shard, changed.Shard)
				require.Equal(t, c.column, changed.Column)
				for _, part := range []string{r.Shard.String(), c.planned, c.found} {
					require.ErrorContains(t, err, part)
				}
			})
		}
		// What a reader does not select may change.
		s.exec(t, "DROP DATABASE "+s.database, "CREATE DATABASE "+s.database, "USE "+s.database, "CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 2)")
		r := readOf(t, s.table(t, "t", mysql.Policy{}))
		s.exec(t, "ALTER TABLE t ADD COLUMN more INT FIRST")
		rows, _, err := collect(t.Context(), s.source, r)
		require.NoError(t, err)
		require.Equal(t, [][]string{{"1", "2"}}, rows)
		s.exec(t, "DROP DATABASE "+s.database, "CREATE DATABASE "+s.database)
		_, _, err = collect(t.Context(), s.source, r)
		require.ErrorIs(t, err, source.ErrSchemaChanged)
	})
}

// TestNames reads databases, tables and columns whose names need quoting.
func TestNames(t *testing.T) {
	names := []string{"order", "select", "with space", "with`tick", "quote'\"", "数据", "dot.dash-", "percent%_", `back\slash`, "CamelCase"}
	onAll(t, func(t *testing.T, s *shop) {
		var columns, values []string
		for i, n := range names {
			columns = append(columns, "`"+strings.ReplaceAll(n, "`", "``")+"` INT")
			values = append(values, fmt.Sprint(i))
		}
		database := s.database + "-`数 '"
		quoted := "`" + strings.ReplaceAll(database, "`", "``") + "`"
		s.exec(t, "CREATE DATABASE "+quoted)
		t.Cleanup(func() { s.exec(t, "DROP DATABASE "+quoted) })
		for _, n := range names {
			table := quoted + ".`" + strings.ReplaceAll(n, "`", "``") + "`"
			s.exec(t, "CREATE TABLE "+table+" ("+strings.Join(columns, ", ")+", PRIMARY KEY (`with``tick`))", "INSERT INTO "+table+" VALUES ("+strings.Join(values, ", ")+")")
		}
		d, err := s.source.Discover(t.Context(), mysql.Selection{Databases: func(_, n string) bool { return n == database }})
		require.NoError(t, err)
		require.Len(t, d.Tables, len(names))
		for _, table := range d.Tables {
			splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{})
			require.NoError(t, err)
			require.Len(t, splits, 1)
			r := readOf(t, table)
			r.Split = splits[0]
			rows, _, err := collect(t.Context(), s.source, r)
			require.NoError(t, err)
			require.Equal(t, [][]string{values}, rows)
		}
	})
}

// TestThousandColumns reads the widest table that InnoDB has.
func TestThousandColumns(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		var columns, values []string
		for i := range 1000 {
			kind := []string{"TINYINT", "INT", "DATE", "DECIMAL(5,2)"}[i%4]
			columns = append(columns, fmt.Sprintf("c%d %s", i, kind))
			values = append(values, []string{"1", "NULL", "'2020-01-02'", "1.5"}[i%4])
		}
		s.exec(t, "CREATE TABLE w ("+strings.Join(columns, ", ")+") ROW_FORMAT=DYNAMIC", "INSERT INTO w VALUES ("+strings.Join(values, ", ")+")")
		rows, _, err := collect(t.Context(), s.source, readOf(t, s.table(t, "w", mysql.Policy{})))
		require.NoError(t, err)
		require.Len(t, rows, 1)
		for i, v := range rows[0] {
			require.Equal(t, []string{"1", "NULL", "2020-01-02", "1.50"}[i%4], v)
		}
	})
}

// TestLargeRow reads rows of 64 MB among small ones: each makes a batch alone, and its memory is given back.
func TestLargeRow(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			s := newShop(t, testenv.Start(t, f, testenv.Setting("max_allowed_packet", "256M")))
			s.exec(t, "CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB) ENGINE=MyISAM")
			// Around the length at which a packet is full, and 64 MB.
			sizes := []int{10, 1<<24 - 12, 1<<24 - 11, 1<<24 - 10, 1<<24 - 1, 1 << 24, 64 << 20, 11, 12, 2*(1<<24-1) - 10, 13}
			for i, n := range sizes {
				s.exec(t, fmt.Sprintf("INSERT INTO big VALUES (%d, CONCAT(REPEAT('x', %d), 'end'))", i, n-3))
			}
			next := 0
			stats, err := s.source.Read(t.Context(), readOf(t, s.table(t, "big", mysql.Policy{})), each(func(b *row.Batch) error {
				for i := range b.Rows {
					require.EqualValues(t, next, b.Columns[0].I32[i])
					v := b.Columns[1].Bytes(i)
					require.Len(t, v, sizes[next])
					require.Equal(t, "end", string(v[len(v)-3:]))
					require.Equal(t, len(v)-3, strings.Count(string(v), "x"))
					next++
				}
				require.True(t, b.Rows == 1 || b.Size() < 1<<20)
				if b.Size() < 1<<20 {
					require.LessOrEqual(t, cap(b.Columns[1].Data), 2<<20, "the memory of a large row is given back")
				}
				return nil
			}))
			require.NoError(t, err)
			require.EqualValues(t, len(sizes), stats.Rows)
		})
	}
}

// TestDiscover covers what is a shard and what is not, and what is told when nothing matches.
func TestDiscover(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE orders_2 (id INT PRIMARY KEY)", "CREATE TABLE orders_10 (a INT, b INT, PRIMARY KEY (b, a))",
			"CREATE TABLE orders_old (id INT)", "CREATE TABLE other (id INT)", "CREATE VIEW orders_view AS SELECT * FROM orders_2")
		if s.server.Flavor() == testenv.FlavorMariaDB {
			s.exec(t, "CREATE TABLE orders_v (id INT PRIMARY KEY) WITH SYSTEM VERSIONING", "CREATE SEQUENCE orders_seq")
		} else {
			s.exec(t, "CREATE TABLE orders_v (id INT PRIMARY KEY)")
		}
		two := open(t, mysql.Options{}, configOf(s.server, "z"), configOf(s.server, "a"))
		d, err := two.Discover(t.Context(), mysql.Selection{
			Databases: func(_, n string) bool { return n == s.database },
			Tables:    func(n string) bool { return strings.HasPrefix(n, "orders_") },
			Exclude:   func(n string) bool { return n == "orders_old" },
		})
		require.NoError(t, err)
		var names []string
		for _, found := range d.Tables {
			names = append(names, found.Shard.Instance+"."+found.Shard.Table)
		}
		require.Equal(t, []string{"z.orders_10", "z.orders_2", "z.orders_v", "a.orders_10", "a.orders_2", "a.orders_v"}, names)
		require.Equal(t, []string{"b", "a"}, d.Tables[0].PrimaryKey)
		require.Len(t, d.Tables[2].Columns, 1)

		d, err = two.Discover(t.Context(), mysql.Selection{
			Databases: func(instance, n string) bool { return instance == "a" && n == s.database },
			Tables:    func(string) bool { return false },
		})
		require.NoError(t, err)
		require.Empty(t, d.Tables)
		require.Empty(t, d.Seen[0].Matched)
		require.Contains(t, d.Seen[0].Databases, s.database)
		require.NotContains(t, d.Seen[0].Databases, "mysql")
		require.Equal(t, []string{s.database}, d.Seen[1].Matched)
		require.ElementsMatch(t, []string{"orders_2", "orders_10", "orders_old", "other", "orders_v"}, trimDatabase(d.Seen[1].Tables))
	})
}

func trimDatabase(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		_, out[i], _ = strings.Cut(n, ".")
	}
	return out
}
