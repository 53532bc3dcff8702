package mysql_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

var splitRows = flag.Int("split-rows", 2000, "rows of each table whose key is cut; 100000 is the long mode")

// create makes the table of a shape with rows that stay, whose n is above 0.
func (s *shop) create(t *testing.T, k shape, r *rand.Rand, rows int) {
	t.Helper()
	s.exec(t, fmt.Sprintf("CREATE TABLE %s (n BIGINT NOT NULL, %s) %s", k.name, k.create, k.options))
	for from := 1; from <= rows; from += 1000 {
		var values []string
		for i := from; i < from+1000 && i <= rows; i++ {
			values = append(values, fmt.Sprintf("(%d, %s)", i, k.value(r)))
		}
		s.exec(t, "SET sql_mode='ALLOW_INVALID_DATES'", k.insert(values))
	}
	s.exec(t, "ANALYZE TABLE "+k.name)
}

// insert leaves out rows whose key is there already.
func (k shape) insert(values []string) string {
	return fmt.Sprintf("INSERT IGNORE INTO %s (n, %s) VALUES %s", k.name, k.columns, strings.Join(values, ", "))
}

// churn inserts and deletes rows with an n below 0 until its end is called.
func (s *shop) churn(t *testing.T, k shape, seed uint64) (end func()) {
	t.Helper()
	c := s.session(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.ExecContext(ctx, "SET sql_mode='ALLOW_INVALID_DATES'")
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(seed, 1))
	var rounds int
	var failed error
	var done sync.WaitGroup
	started := make(chan struct{})
	done.Go(func() {
		for ; ctx.Err() == nil && failed == nil; rounds++ {
			var values []string
			for range 20 {
				values = append(values, fmt.Sprintf("(%d, %s)", -1-rounds, k.value(r)))
			}
			for _, q := range []string{k.insert(values), fmt.Sprintf("DELETE FROM %s WHERE n < 0 AND n > %d", k.name, -1-rounds)} {
				if _, err := c.ExecContext(ctx, q); err != nil && ctx.Err() == nil {
					failed = err
				}
			}
			if rounds == 0 {
				close(started)
			}
		}
	})
	<-started
	return func() {
		cancel()
		done.Wait()
		require.NoError(t, failed)
		require.Positive(t, rounds)
	}
}

// readCounted reads the numbers of all rows by split, and how many rows each split has.
func readCounted(t *testing.T, s *mysql.Source, table source.Table, splits []source.Split, where string) (stay []string, counts []int64) {
	t.Helper()
	require.NoError(t, source.CheckPlan(splits))
	r := readOf(t, table)
	r.Where = where
	r.Outputs = slices.DeleteFunc(r.Outputs, func(o source.Output) bool { return o.Column.Name != "n" })
	for _, split := range splits {
		r.Split = split
		stats, err := s.Read(t.Context(), r, each(func(b *row.Batch) error {
			for _, n := range b.Columns[0].I64 {
				if n > 0 {
					stay = append(stay, fmt.Sprint(n))
				}
			}
			return nil
		}))
		require.NoError(t, err)
		counts = append(counts, stats.Rows)
	}
	slices.Sort(stay)
	return stay, counts
}

// TestEveryKeyIsReadOnce cuts tables of every kind of key by splits of random size, and reads them while other rows come
// and go: of the rows that stay, the server itself tells which there are.
func TestEveryKeyIsReadOnce(t *testing.T) {
	shapes := slices.Concat(integerShapes(), textShapes(), otherShapes())
	onAll(t, func(t *testing.T, s *shop) {
		random := rand.New(rand.NewPCG(3, 5))
		for i, k := range shapes {
			if len(k.only) > 0 && !slices.Contains(k.only, s.server.Flavor()) {
				continue
			}
			t.Run(k.name, func(t *testing.T) {
				s.create(t, k, random, *splitRows)
				table := s.table(t, k.name, mysql.Policy{ZeroDate: source.ZeroDateNull, DecimalOverflow: mysql.DecimalString})
				want := s.all(t, "n", k.name)
				require.Greater(t, len(want), 300, "the shape has too few values")
				end := s.churn(t, k, uint64(i))
				for _, o := range []mysql.SplitOptions{
					{Rows: int64(len(want))/(2+random.Int64N(30)) + 1},
					{Count: 2 + random.IntN(20)},
					{Rows: 3 * int64(*splitRows)},
				} {
					o.Column = k.column
					table.Rows = []int64{table.Rows, 0, int64(random.IntN(10 * *splitRows))}[random.IntN(3)]
					splits, err := s.source.Split(t.Context(), table, o)
					require.NoError(t, err)
					got, counts := readCounted(t, s.source, table, splits, "")
					require.Equal(t, want, got, "%+v: %d splits", o, len(splits))
					checkSizes(t, k, o, int64(len(want)), counts)
				}
				s.everyValueIsABound(t, k, table)
				end()
			})
		}
	})
}

// everyValueIsABound cuts after each value of the first rows.
func (s *shop) everyValueIsABound(t *testing.T, k shape, table source.Table) {
	t.Helper()
	const where = "n BETWEEN 1 AND 60"
	var want []string
	for _, v := range s.server.Query(t, fmt.Sprintf("SELECT n FROM %s.%s WHERE %s", s.database, k.name, where)) {
		want = append(want, v[0])
	}
	slices.Sort(want)
	splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 1, Column: k.column, Where: where})
	require.NoError(t, err)
	if !k.whole && !k.loose && splits[0].Range == nil {
		require.LessOrEqual(t, len(splits), len(want))
		require.Greater(t, len(splits), len(want)*8/10, "but for days that the calendar lacks")
	}
	got, _ := readCounted(t, s.source, table, splits, where)
	require.Equal(t, want, got)
}

// checkSizes holds splits to their size.
func checkSizes(t *testing.T, k shape, o mysql.SplitOptions, rows int64, counts []int64) {
	t.Helper()
	if k.whole {
		require.Len(t, counts, 1)
		return
	}
	target := o.Rows
	if o.Count > 0 {
		target = rows/int64(o.Count) + 1
		require.LessOrEqual(t, len(counts), o.Count+1, "and one of NULLs")
	}
	require.LessOrEqual(t, int64(len(counts)), 2*(rows+200)/target+2, "splits of %d rows", target)
	if !k.loose {
		require.LessOrEqual(t, slices.Max(counts), 4*target+100, "splits of %d rows", target)
	}
}
