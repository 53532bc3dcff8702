package mysql_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// splitCase is a table on which some tool lost or repeated rows, cut in several ways.
type splitCase struct {
	name    string
	columns string // of the key, as SQL that prints them as the read does
	create  string
	inserts []string
	options mysql.SplitOptions
	// most rows in a split; 0 for any number.
	most int64
}

// series is INSERT of one row for each number below n, made of numbers i, in pieces that a server takes.
func series(table string, n int, values string) []string {
	var out []string
	for from := 0; from < n; from += 10_000 {
		to := min(from+10_000, n)
		out = append(out, fmt.Sprintf("INSERT INTO %s SELECT %s FROM (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + %d AS i FROM d a, d b, d c, d e) s WHERE i < %d", table, values, from, to))
	}
	return out
}

func (s *shop) digits(t *testing.T) {
	t.Helper()
	s.exec(t, "CREATE TABLE d (d INT)", "INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
}

// extremeCases have the least and the greatest values, and groups of rows at them.
func extremeCases() []splitCase {
	list := func(table string, values ...string) []string {
		return []string{"INSERT INTO " + table + " VALUES (" + strings.Join(values, "), (") + ")"}
	}
	composite := "(a INT, b INT, v INT, PRIMARY KEY (a, b))"
	return []splitCase{
		{"first_group", "a, b, v", composite, append(series("first_group", 1000, "1, i, 7"), series("first_group", 49, "i + 2, 0, 8")...), mysql.SplitOptions{Rows: 100}, 100},
		{"last_group", "a, b, v", composite, append(series("last_group", 1000, "2147483647, i, 7"), series("last_group", 49, "-i, 0, 8")...), mysql.SplitOptions{Rows: 100}, 100},
		{
			"middle_group", "a, b, v", "(a VARCHAR(9) COLLATE utf8mb4_general_ci, b BIGINT UNSIGNED, v INT, PRIMARY KEY (a, b))",
			append(series("middle_group", 1000, "'M', 18446744073709551615 - i, 7"), series("middle_group", 49, "ELT(1 + i % 2, 'a', 'ß'), i, 8")...),
			mysql.SplitOptions{Rows: 100},
			100,
		},
		{"from_one", "id", "(id BIGINT PRIMARY KEY)", series("from_one", 500, "1 + i"), mysql.SplitOptions{Rows: 50}, 200},
		{"from_zero", "id", "(id BIGINT PRIMARY KEY)", series("from_zero", 500, "i"), mysql.SplitOptions{Rows: 50}, 200},
		{"from_minus_one", "id", "(id BIGINT PRIMARY KEY)", series("from_minus_one", 500, "i - 1"), mysql.SplitOptions{Rows: 50}, 200},
		{
			"from_the_least", "id", "(id BIGINT PRIMARY KEY)",
			append(series("from_the_least", 500, "-9223372036854775808 + i"), list("from_the_least", "9223372036854775807", "9223372036854775806")...),
			mysql.SplitOptions{Rows: 50},
			100,
		},
		{
			"to_the_greatest", "id", "(id BIGINT UNSIGNED PRIMARY KEY)",
			append(series("to_the_greatest", 500, "18446744073709551615 - i"), list("to_the_greatest", "0", "9223372036854775807", "9223372036854775808")...),
			mysql.SplitOptions{Rows: 50},
			100,
		},
		{"to_the_greatest_by_count", "id", "(id BIGINT UNSIGNED PRIMARY KEY)", append(series("to_the_greatest_by_count", 500, "18446744073709551615 - i"), series("to_the_greatest_by_count", 500, "9223372036854775558 + CAST(i AS UNSIGNED)")...), mysql.SplitOptions{Count: 10}, 400},
		{"decimal_32", "id", "(id DECIMAL(32,0) PRIMARY KEY)", series("decimal_32", 500, "12345678901234567000 + i * 7"), mysql.SplitOptions{Rows: 50}, 50},
		{"decimal_38", "id", "(id DECIMAL(38,18) PRIMARY KEY)", series("decimal_38", 500, "(CAST(i AS DECIMAL(38,18)) - 250) * 12345678901234567.000000000000000001"), mysql.SplitOptions{Rows: 50}, 50},
		{"decimal_zero", "id", "(id DECIMAL(20,10) PRIMARY KEY)", series("decimal_zero", 500, "(i - 250) * 0.0000000001"), mysql.SplitOptions{Rows: 50}, 50},
	}
}

// valueCases have NULLs and text whose order is not that of its bytes.
func valueCases() []splitCase {
	mixed := "CONCAT(ELT(1 + i % 7, 'é', 'ß', 'ss', 'E', '😀', 'Ä', 'f'), CONV(i * 7919 % 65521, 10, 16), ELT(1 + i % 3, '', 'x', 'X'))"
	nullable := "IF(i < 30, NULL, i)"
	return []splitCase{
		{"null_in_unique", "COALESCE(id, 'NULL'), v", "(id INT NULL, v INT, UNIQUE KEY (id))", series("null_in_unique", 100, nullable+", i"), mysql.SplitOptions{Column: "id", Rows: 10}, 0},
		{"null_only", "COALESCE(id, 'NULL'), v", "(id INT NULL, v INT, KEY (id))", series("null_only", 100, "NULL, i"), mysql.SplitOptions{Column: "id", Rows: 10}, 0},
		{"null_in_text", "COALESCE(id, 'NULL'), v", "(id VARCHAR(9) NULL, v INT)", series("null_in_text", 100, nullable+", i"), mysql.SplitOptions{Column: "id", Count: 7}, 0},
		{"mixed_case", "id", "(id VARCHAR(36) COLLATE utf8mb4_general_ci PRIMARY KEY)", series("mixed_case", 3000, mixed), mysql.SplitOptions{Rows: 100}, 100},
		{"mixed_accents", "id", "(id VARCHAR(36) COLLATE utf8mb4_unicode_520_ci PRIMARY KEY)", series("mixed_accents", 3000, mixed), mysql.SplitOptions{Rows: 100}, 100},
		{"padded", "id, v", "(id VARCHAR(36) COLLATE utf8mb4_general_ci, v VARCHAR(9) COLLATE utf8mb4_bin, PRIMARY KEY (id, v))", series("padded", 3000, "CONCAT(i DIV 6, ELT(1 + i % 3, '', ' ', '  ')), i % 6"), mysql.SplitOptions{Rows: 100}, 100},
		{"quotes", "id", "(id VARCHAR(36) COLLATE utf8mb4_unicode_ci PRIMARY KEY)", series("quotes", 900, `CONCAT(ELT(1 + i % 9, '''', '"', ',', '\\', '\n', '%', '_', ';--', '\0'), i)`), mysql.SplitOptions{Rows: 100}, 100},
	}
}

// sizeCases have keys of which a part has few values, or values far apart: no split gets much more than its rows.
func sizeCases() []splitCase {
	few := "(c1 VARCHAR(64), c2 VARCHAR(64), c3 DATETIME(6), v VARCHAR(800), PRIMARY KEY (c1, c2, c3))"
	return []splitCase{
		{"two_first_values", "c1, c2, c3, v", few, series("two_first_values", 8000, "ELT(1 + i % 2, 'a', 'B'), CONCAT('k', i % 50), '2024-01-01' + INTERVAL i MICROSECOND, REPEAT('x', 800)"), mysql.SplitOptions{Rows: 500}, 500},
		{"one_first_value", "c1, c2, c3, v", few, series("one_first_value", 8000, "'a', 'b', '2024-01-01' + INTERVAL i SECOND, ''"), mysql.SplitOptions{Count: 16}, 500},
		{"flag_first", "f, id", "(f TINYINT, id BIGINT, PRIMARY KEY (f, id))", series("flag_first", 8000, "i % 10 = 0, i * 1000003"), mysql.SplitOptions{Rows: 500}, 500},
		{"flakes_unsigned", "id", "(id BIGINT UNSIGNED PRIMARY KEY)", series("flakes_unsigned", 8000, "18446744073709551615 - i * 1000000007 * 1000003 % 1000000000000000000"), mysql.SplitOptions{Rows: 500}, 2000},
		{"a_huge_gap", "id", "(id BIGINT PRIMARY KEY)", append(series("a_huge_gap", 8000, "i"), series("a_huge_gap", 100, "i + 900000000000000000")...), mysql.SplitOptions{Rows: 500}, 2000},
		{"growing_gaps", "id", "(id BIGINT PRIMARY KEY)", series("growing_gaps", 8000, "FLOOR(EXP(i / 200)) + i"), mysql.SplitOptions{Rows: 500}, 2000},
		{"growing_gaps_by_count", "id", "(id BIGINT PRIMARY KEY)", series("growing_gaps_by_count", 8000, "FLOOR(EXP(i / 200)) + i"), mysql.SplitOptions{Count: 16}, 2000},
	}
}

// TestSplitsThatLostRows cuts the tables on which other tools lost or repeated rows, and others like them. What the
// statistics say is right, nothing or much too much.
func TestSplitsThatLostRows(t *testing.T) {
	cases := slices.Concat(extremeCases(), valueCases(), sizeCases())
	onAll(t, func(t *testing.T, s *shop) {
		s.digits(t)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				s.exec(t, append([]string{"CREATE TABLE " + c.name + " " + c.create + " CHARACTER SET utf8mb4"}, c.inserts...)...)
				s.exec(t, "ANALYZE TABLE "+c.name)
				table := s.table(t, c.name, mysql.Policy{})
				want := s.all(t, c.columns, c.name)
				require.GreaterOrEqual(t, len(want), 100)
				for _, rows := range []int64{table.Rows, 0, 3_000_000_000} {
					table.Rows = rows
					splits, err := s.source.Split(t.Context(), table, c.options)
					require.NoError(t, err)
					got, most := readSized(t, s.source, readOf(t, table), splits)
					require.Equal(t, want, got, "by %d rows of statistics", rows)
					if c.most > 0 {
						require.LessOrEqual(t, most, c.most, "rows of the largest split")
						require.LessOrEqual(t, int64(len(splits)), int64(len(want))*4/c.most+1)
					}
				}
			})
		}
	})
}

// TestBusyTable plans while rows are inserted at the end of the key without pause: the last split ends where the key
// ended then, and a later read of it finds no more rows.
func TestBusyTable(t *testing.T) {
	keys := []struct{ name, create, value string }{
		{"by_number", "(id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT)", "NULL"},
		{"by_time", "(id DATETIME(6), v INT DEFAULT 0, PRIMARY KEY (id, v))", "'2024-01-01' + INTERVAL %d SECOND"},
		{"by_text", "(id VARCHAR(30) COLLATE utf8mb4_unicode_ci PRIMARY KEY, v INT)", "LPAD(%d, 20, '0')"},
	}
	onAll(t, func(t *testing.T, s *shop) {
		for _, k := range keys {
			t.Run(k.name, func(t *testing.T) {
				s.exec(t, "CREATE TABLE "+k.name+" "+k.create)
				next := 0
				insert := func() string {
					var values []string
					for range 100 {
						next++
						values = append(values, "("+strings.ReplaceAll(k.value, "%d", fmt.Sprint(next))+")")
					}
					return "INSERT INTO " + k.name + " (id) VALUES " + strings.Join(values, ", ")
				}
				for range 20 {
					s.exec(t, insert())
				}
				c := s.session(t)
				ctx, stop := t.Context(), make(chan struct{})
				var done sync.WaitGroup
				var failed error
				done.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						if _, err := c.ExecContext(ctx, insert()); err != nil {
							failed = err
							return
						}
					}
				})
				splits, err := s.source.Split(t.Context(), s.table(t, k.name, mysql.Policy{}), mysql.SplitOptions{Rows: 100})
				close(stop)
				done.Wait()
				require.NoError(t, err)
				require.NoError(t, failed)
				r := readOf(t, s.table(t, k.name, mysql.Policy{}))
				first := readSplits(t, s.source, r, splits)
				require.GreaterOrEqual(t, len(first), 2000)
				s.exec(t, insert(), insert())
				require.Equal(t, first, readSplits(t, s.source, r, splits), "nothing that came after the plan")
				r.Split = splits[len(splits)-1]
				last, _, err := collect(t.Context(), s.source, r)
				require.NoError(t, err)
				require.LessOrEqual(t, len(last), 400)
			})
		}
	})
}

// TestShardsOfEveryKey has 32 shards by a composite key and by a text, three of them empty, one whose statistics say that
// it is, and one dropped between plan and read.
func TestShardsOfEveryKey(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.digits(t)
		for i := range 32 {
			name := fmt.Sprintf("shard_%02d", i)
			key := []string{"a INT, b CHAR(9), PRIMARY KEY (a, b)", "b CHAR(9), a INT, PRIMARY KEY (b)"}[i%2]
			s.exec(t, "CREATE TABLE "+name+" ("+key+") STATS_PERSISTENT=1 STATS_AUTO_RECALC=0")
			if i%10 == 9 {
				continue // 9, 19 and 29 are empty
			}
			s.exec(t, "INSERT INTO "+name+" (a, b) SELECT d.d, CONCAT('é', d.d, x.d) FROM d, d x")
			if i != 4 {
				s.exec(t, "ANALYZE TABLE "+name)
			}
		}
		tables := slices.DeleteFunc(s.tables(t, mysql.Policy{}), func(f source.Table) bool { return f.Shard.Table == "d" })
		require.Len(t, tables, 32)
		plan := map[int][]source.Split{}
		for i, table := range tables {
			splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 30})
			require.NoError(t, err)
			require.Len(t, splits, []int{4, 0}[max(0, i%10-8)], "%s with %d rows by statistics", table.Shard, table.Rows)
			plan[i] = splits
		}
		s.exec(t, "DROP TABLE shard_31")
		for i, table := range tables {
			if i == 31 {
				r := readOf(t, table)
				r.Split = plan[i][0]
				_, _, err := collect(t.Context(), s.source, r)
				require.ErrorIs(t, err, source.ErrSchemaChanged)
				require.ErrorContains(t, err, table.Shard.String())
				_, err = s.source.Split(t.Context(), table, mysql.SplitOptions{})
				require.ErrorIs(t, err, source.ErrSchemaChanged)
				continue
			}
			columns := table.Columns[0].Name + ", " + table.Columns[1].Name
			require.Equal(t, s.all(t, columns, table.Shard.Table), readSplits(t, s.source, readOf(t, table), plan[i]))
		}
	})
}

// TestManyShards plans 200 shards on two instances at once, two of which are large, and logs how long that takes.
func TestManyShards(t *testing.T) {
	rows := 100 * *splitRows
	target := int64(rows / 40)
	shops := []*shop{newShop(t, testenv.Shared(t, testenv.FlavorMariaDB)), newShop(t, testenv.Start(t, testenv.FlavorMariaDB))}
	src := open(t, mysql.Options{}, configOf(shops[0].server, "a"), configOf(shops[1].server, "b"))
	random := rand.New(rand.NewPCG(4, 4))
	for i, s := range shops {
		var create []string
		for n := range 99 {
			create = append(create, fmt.Sprintf("CREATE TABLE s_%02d (id BIGINT PRIMARY KEY, v INT)", n),
				fmt.Sprintf("INSERT INTO s_%02d SELECT seq * %d, seq FROM seq_1_to_%d", n, 1+random.Int64N(1e12), 50+random.IntN(200)))
		}
		create = append(create, []string{
			"CREATE TABLE s_99 (id BIGINT PRIMARY KEY, v INT)",
			"CREATE TABLE s_99 (id VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, v INT)",
		}[i], fmt.Sprintf("INSERT INTO s_99 SELECT seq + IF(seq %% 3 = 0, 1000000000000, 0), seq FROM seq_1_to_%d", rows), "ANALYZE TABLE s_99")
		s.exec(t, create...)
	}
	began := time.Now()
	d, err := src.Discover(t.Context(), mysql.Selection{
		Databases: func(_, n string) bool { return n == shops[0].database || n == shops[1].database },
		Tables:    func(n string) bool { return strings.HasPrefix(n, "s_") },
	})
	require.NoError(t, err)
	require.Len(t, d.Tables, 200)
	discovered := time.Since(began)
	splits := make([][]source.Split, len(d.Tables))
	errs := make([]error, len(d.Tables))
	var group sync.WaitGroup
	for i, table := range d.Tables {
		group.Go(func() { splits[i], errs[i] = src.Split(t.Context(), table, mysql.SplitOptions{Rows: target}) })
	}
	group.Wait()
	t.Logf("200 shards, two of %d rows: discovered in %s, cut in %s", rows, discovered, time.Since(began)-discovered)
	var plan []source.Split
	for i, table := range d.Tables {
		require.NoError(t, errs[i])
		if table.Shard.Table != "s_99" {
			require.Len(t, splits[i], 1)
		}
		for _, split := range splits[i] {
			split.Shard = i
			plan = append(plan, split)
		}
	}
	require.NoError(t, source.CheckPlan(plan))
	require.LessOrEqual(t, len(plan), 300)
	sizes := map[int]int64{}
	for _, split := range plan {
		table := d.Tables[split.Shard]
		m, err := source.Merge([]source.Table{table}, source.MergeOptions{Columns: []source.Select{{Name: "v"}}})
		require.NoError(t, err)
		stats, err := src.Read(t.Context(), source.Read{Shard: table.Shard, Split: split, Outputs: m.Outputs(table)}, each(func(*row.Batch) error { return nil }))
		require.NoError(t, err)
		sizes[split.Shard] += stats.Rows
		require.LessOrEqual(t, stats.Rows, 4*target)
	}
	require.EqualValues(t, rows, sizes[99])
	require.EqualValues(t, rows, sizes[199])
}

// TestManySplits plans 10,000 splits of a text key: the plan stays small.
func TestManySplits(t *testing.T) {
	s := newShop(t, testenv.Shared(t, testenv.FlavorMariaDB))
	s.exec(t, "CREATE TABLE t (id CHAR(32) CHARACTER SET ascii PRIMARY KEY)", "INSERT INTO t SELECT MD5(seq) FROM seq_1_to_10000")
	splits, err := s.source.Split(t.Context(), s.table(t, "t", mysql.Policy{}), mysql.SplitOptions{Rows: 1})
	require.NoError(t, err)
	require.Len(t, splits, 10_000)
	require.NoError(t, source.CheckPlan(splits))
	plan, err := json.Marshal(splits)
	require.NoError(t, err)
	require.Less(t, len(plan), 4<<20)
}
