package mysql_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// readSplits reads all splits and returns the rows, sorted.
func readSplits(t *testing.T, s *mysql.Source, r source.Read, splits []source.Split) []string {
	t.Helper()
	ids, _ := readSized(t, s, r, splits)
	return ids
}

// readSized also returns how many rows the largest split has.
func readSized(t *testing.T, s *mysql.Source, r source.Read, splits []source.Split) (ids []string, most int64) {
	t.Helper()
	require.NoError(t, source.CheckPlan(splits))
	ids = []string{}
	for _, split := range splits {
		r.Split = split
		rows, stats, err := collect(t.Context(), s, r)
		require.NoError(t, err)
		most = max(most, stats.Rows)
		for _, v := range rows {
			ids = append(ids, strings.Join(v, ","))
		}
	}
	slices.Sort(ids)
	return ids, most
}

// all is what the server itself says the table's rows are, sorted.
func (s *shop) all(t *testing.T, columns, table string) []string {
	t.Helper()
	ids := []string{}
	for _, v := range s.server.Query(t, fmt.Sprintf("SELECT CONCAT_WS(',', %s) FROM %s.%s", columns, s.database, table)) {
		ids = append(ids, v[0])
	}
	slices.Sort(ids)
	return ids
}

// TestSplitKeys cuts tables of every integer key and compares the multiset of keys with the server's.
func TestSplitKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	spread := make([]string, 2000)
	for i := range spread {
		spread[i] = fmt.Sprint(int64(i)*500_000_000_000_000 + random.Int64N(500_000_000_000_000))
	}
	dense := make([]string, 1500)
	for i := range dense {
		dense[i] = fmt.Sprint(i - 700)
	}
	keys := []struct {
		name, kind string
		values     []string
		least      int // splits, at 100 rows each
		most       int
	}{
		{"one", "INT", []string{"1"}, 1, 1},
		{"first_is_1", "INT", dense[701:], 4, 8},
		{"first_is_0", "BIGINT", dense[700:], 4, 8},
		{"negative", "BIGINT", dense, 10, 15},
		{"extremes", "BIGINT", append([]string{"-9223372036854775808", "9223372036854775807", "-9223372036854775807", "0"}, dense[:3]...), 1, 7},
		{"dense_and_extremes", "BIGINT", append([]string{"-9223372036854775808", "9223372036854775807"}, dense...), 10, 100},
		{"unsigned_extremes", "BIGINT UNSIGNED", []string{"0", "9223372036854775807", "9223372036854775808", "18446744073709551614", "18446744073709551615"}, 1, 5},
		{"sparse", "BIGINT", spread, 10, 40},
		{"tiny", "TINYINT", []string{"-128", "-1", "0", "127"}, 1, 4},
		{"tiny_unsigned", "TINYINT UNSIGNED", []string{"0", "255"}, 1, 2},
		{"medium_unsigned", "MEDIUMINT UNSIGNED", []string{"0", "16777215"}, 1, 2},
		{"int_unsigned", "INT UNSIGNED", []string{"4294967295", "2147483648", "0"}, 1, 3},
	}
	onAll(t, func(t *testing.T, s *shop) {
		for _, k := range keys {
			t.Run(k.name, func(t *testing.T) {
				s.exec(t, fmt.Sprintf("CREATE TABLE %s (id %s PRIMARY KEY, v INT)", k.name, k.kind),
					fmt.Sprintf("INSERT INTO %s VALUES (%s, 1)", k.name, strings.Join(k.values, ",1),(")),
					"ANALYZE TABLE "+k.name)
				table := s.table(t, k.name, mysql.Policy{})
				r := readOf(t, table)
				want := s.all(t, "id, v", k.name)
				splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 100})
				require.NoError(t, err)
				require.GreaterOrEqual(t, len(splits), k.least)
				require.LessOrEqual(t, len(splits), k.most)
				require.Equal(t, want, readSplits(t, s.source, r, splits))
				for _, count := range []int{1, 2, 3, 7, 64} {
					splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Count: count})
					require.NoError(t, err)
					require.LessOrEqual(t, len(splits), count)
					require.Equal(t, want, readSplits(t, s.source, r, splits))
				}
			})
		}
	})
}

// TestSplitStatistics has statistics that are zero or stale, empty shards, and a column that a condition filters.
func TestSplitStatistics(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.numbers(t, "n", 2000)
		s.exec(t, "CREATE TABLE e (id INT PRIMARY KEY)", "CREATE TABLE sparse (id BIGINT PRIMARY KEY)", "INSERT INTO sparse SELECT id * 1000000007 FROM n")
		for _, stale := range []int64{0, 1, 2_000_000_000} {
			for _, name := range []string{"n", "sparse"} {
				table := s.table(t, name, mysql.Policy{})
				table.Rows = stale
				splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 100})
				require.NoError(t, err)
				if stale < 100 || name == "n" {
					require.GreaterOrEqual(t, len(splits), 10, "%s with %d rows by statistics", name, stale)
					require.LessOrEqual(t, len(splits), 40, "%s with %d rows by statistics", name, stale)
				} else {
					require.LessOrEqual(t, len(splits), mysql.MostSplits)
					continue // that many empty reads prove nothing more
				}
				r := readOf(t, table)
				r.Outputs = r.Outputs[:1]
				require.Equal(t, s.all(t, "id", name), readSplits(t, s.source, r, splits))
			}
		}
		splits, err := s.source.Split(t.Context(), s.table(t, "e", mysql.Policy{}), mysql.SplitOptions{})
		require.NoError(t, err)
		require.Empty(t, splits)

		where := "id > 1500 -- the newest"
		table := s.table(t, "n", mysql.Policy{})
		splits, err = s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 100, Where: where})
		require.NoError(t, err)
		require.Equal(t, "1501", splits[0].Range.Lower)
		r := readOf(t, table)
		r.Where = where
		require.Len(t, readSplits(t, s.source, r, splits), 500)
		for _, bad := range []string{"id >", "nothing = 1", "id = ?"} {
			r.Where = bad
			_, _, err := collect(t.Context(), s.source, r)
			require.ErrorContains(t, err, "where")
		}
		s.exec(t, "DROP TABLE n")
		_, err = s.source.Split(t.Context(), table, mysql.SplitOptions{})
		require.ErrorIs(t, err, source.ErrSchemaChanged)
	})
}

// TestSplitColumns covers tables that cannot be cut and say why, and columns that the user names.
func TestSplitColumns(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE composite (a INT, b INT, v INT, PRIMARY KEY (a, b))",
			"CREATE TABLE none (id INT, n INT NOT NULL, d DOUBLE NOT NULL)", "INSERT INTO none VALUES (1, 1, 1), (NULL, 1, 1), (NULL, 2, 2), (4, 9, 3)",
			"CREATE TABLE enum_first (e ENUM('b','a'), id INT, PRIMARY KEY (e, id))", "INSERT INTO enum_first VALUES (1, 1), (2, 2)",
			"CREATE TABLE float_last (id INT, f FLOAT, PRIMARY KEY (id, f))", "INSERT INTO float_last VALUES (1, 1.1), (1, 1.2), (2, 0)")
		s.numbers(t, "n", 1000)
		s.exec(t, "INSERT INTO composite SELECT 1, id, id FROM n", "INSERT INTO composite SELECT id, 1, 0 FROM n WHERE id BETWEEN 2 AND 50")
		for table, note := range map[string]string{
			"none": "no primary key", "enum_first": `column "e" is enum`, "float_last": `column "f" is float`,
		} {
			splits, err := s.source.Split(t.Context(), s.table(t, table, mysql.Policy{}), mysql.SplitOptions{Column: mysql.SplitAuto, Rows: 100})
			require.NoError(t, err)
			require.Len(t, splits, 1)
			require.Contains(t, splits[0].Note, note)
			require.Equal(t, table != "float_last", splits[0].Columns() == nil)
		}
		// The first column of a composite key, with 1,000 rows at its minimum.
		table := s.table(t, "composite", mysql.Policy{})
		splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Column: "a", Rows: 100})
		require.NoError(t, err)
		require.Equal(t, "1", splits[0].Range.Upper, "one value is never cut in two")
		require.Len(t, splits, 2)
		require.Equal(t, s.all(t, "a, b, v", "composite"), readSplits(t, s.source, readOf(t, table), splits))

		table = s.table(t, "none", mysql.Policy{})
		splits, err = s.source.Split(t.Context(), table, mysql.SplitOptions{Column: "N", Count: 3})
		require.NoError(t, err)
		require.Len(t, splits, 3)
		require.Len(t, readSplits(t, s.source, readOf(t, table), splits), 4)
		splits, err = s.source.Split(t.Context(), table, mysql.SplitOptions{Column: "ID", Rows: 1})
		require.NoError(t, err)
		require.Len(t, splits, 3, "two values and the NULLs")
		require.True(t, splits[2].Keys.Null)
		require.Len(t, readSplits(t, s.source, readOf(t, table), splits), 4)
		for column, part := range map[string]string{"d": "is double, which cannot be bounded", "x": "has no column"} {
			_, err = s.source.Split(t.Context(), table, mysql.SplitOptions{Column: column})
			require.ErrorIs(t, err, source.ErrRefused)
			require.ErrorContains(t, err, part)
			require.ErrorContains(t, err, table.Shard.String())
		}
	})
}

// TestIndexesOfNoUse has indexes that are unique, but have no order, are hidden from queries, or are of an expression.
func TestIndexesOfNoUse(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		tables := map[string]string{
			"hashed": "(a INT NOT NULL, UNIQUE KEY x (a) USING HASH) ENGINE=MEMORY",
			"prefix": "(a VARCHAR(9) NOT NULL, UNIQUE KEY x (a(3)))",
		}
		switch s.server.Flavor() {
		case testenv.FlavorMariaDB:
			tables["hidden"] = "(f DOUBLE NOT NULL DEFAULT (RAND()), a INT NOT NULL, UNIQUE KEY y (f), UNIQUE KEY x (a) IGNORED)"
			tables["long_text"] = "(a TEXT NOT NULL, UNIQUE KEY x (a))"
		case testenv.FlavorMySQL80:
			tables["hidden"] = "(f DOUBLE NOT NULL DEFAULT (RAND()), a INT NOT NULL, UNIQUE KEY y (f), UNIQUE KEY x (a) INVISIBLE)"
			tables["expression"] = "(a INT NOT NULL, UNIQUE KEY x ((a + 1)))"
		case testenv.FlavorMySQL57:
		}
		for name, create := range tables {
			s.exec(t, "CREATE TABLE "+name+" "+create, "INSERT INTO "+name+" (a) VALUES (1), (2), (3)")
			table := s.table(t, name, mysql.Policy{})
			splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 1})
			require.NoError(t, err, name)
			require.Len(t, splits, 1, name)
			require.Nil(t, splits[0].Columns(), name)
			require.NotEmpty(t, splits[0].Note, name)
			splits, err = s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 1, Column: "a"})
			require.NoError(t, err, name)
			require.Len(t, splits, 3, "%s: it can be cut when it is named, by a sort", name)
			r := readOf(t, table)
			r.Outputs = slices.DeleteFunc(r.Outputs, func(o source.Output) bool { return o.Column.Name != "a" })
			require.Equal(t, []string{"1", "2", "3"}, readSplits(t, s.source, r, splits), name)
		}
	})
}

// TestCollationChangesAfterThePlan alters the key's collation and character set between plan and read: bounds are
// compared as they were when they were found, or the read fails.
func TestCollationChangesAfterThePlan(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		for i, to := range []string{"utf8mb4 COLLATE utf8mb4_bin", "utf8mb4 COLLATE utf8mb4_unicode_ci", "latin1 COLLATE latin1_german1_ci", "utf16 COLLATE utf16_bin"} {
			name := fmt.Sprintf("t%d", i)
			s.exec(t, "CREATE TABLE "+name+" (id VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY, n INT NOT NULL)",
				"INSERT INTO "+name+" VALUES ('b', 1), ('A', 2), ('Z', 3), ('é', 4), ('D', 5), ('ä1', 6), ('f', 7), ('ß', 8), ('_', 9)")
			table := s.table(t, name, mysql.Policy{})
			splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 1})
			require.NoError(t, err)
			require.Len(t, splits, 9)
			s.exec(t, "ALTER TABLE "+name+" MODIFY id VARCHAR(9) CHARACTER SET "+to)
			r := readOf(t, table)
			r.Outputs = r.Outputs[1:]
			require.Equal(t, s.all(t, "n", name), readSplits(t, s.source, r, splits), to)
		}
	})
}
