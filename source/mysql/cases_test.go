package mysql_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// TestSparseIDs has 100,000 ids spread over 10^18, as snowflake ids are: the number of splits follows the rows.
func TestSparseIDs(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE d (d INT)", "INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
			"CREATE TABLE flakes (id BIGINT PRIMARY KEY) STATS_PERSISTENT=1 STATS_AUTO_RECALC=0",
			`INSERT INTO flakes SELECT (a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d) * 10000000000000 + CRC32(a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d) FROM d a, d b, d c, d e, d f`)
		for _, analyzed := range []bool{false, true} {
			if analyzed {
				s.exec(t, "ANALYZE TABLE flakes")
			}
			table := s.table(t, "flakes", mysql.Policy{})
			splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 10_000})
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(splits), 5, "statistics say %d rows", table.Rows)
			require.LessOrEqual(t, len(splits), 20, "statistics say %d rows", table.Rows)
			r := readOf(t, table)
			var ids []int64
			for _, split := range splits {
				r.Split = split
				stats, err := s.source.Read(t.Context(), r, each(func(b *row.Batch) error {
					ids = append(ids, b.Columns[0].I64...)
					return nil
				}))
				require.NoError(t, err)
				require.LessOrEqual(t, stats.Rows, int64(40_000), "a split of more than four times the target")
			}
			slices.Sort(ids)
			require.Len(t, slices.Compact(ids), 100_000)
		}
		splits, err := s.source.Split(t.Context(), s.table(t, "flakes", mysql.Policy{}), mysql.SplitOptions{Count: 10_000})
		require.NoError(t, err)
		require.Len(t, splits, 10_000)
		require.NoError(t, source.CheckPlan(splits))
		plan, err := json.Marshal(splits)
		require.NoError(t, err)
		require.Less(t, len(plan), 2<<20)
	})
}

// TestShardsInAllStates has 32 shards, of which three are empty, one has statistics that say so wrongly, and one is
// dropped between plan and read.
func TestShardsInAllStates(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.numbers(t, "base", 120)
		for i := range 32 {
			name := fmt.Sprintf("shard_%02d", i)
			s.exec(t, "CREATE TABLE "+name+" (id BIGINT PRIMARY KEY, pad VARCHAR(1000)) STATS_PERSISTENT=1 STATS_AUTO_RECALC=0")
			if i%10 == 9 {
				continue // 9, 19 and 29 are empty
			}
			s.exec(t, fmt.Sprintf("INSERT INTO %s SELECT id, 'x' FROM base WHERE id <= %d", name, 100+i%5))
			if i != 4 {
				s.exec(t, "ANALYZE TABLE "+name)
			}
		}
		tables := slices.DeleteFunc(s.tables(t, mysql.Policy{}), func(f source.Table) bool { return f.Shard.Table == "base" })
		require.Len(t, tables, 32)
		m, err := source.Merge(tables, source.MergeOptions{Provenance: source.Provenance{Table: "_table"}})
		require.NoError(t, err)
		var plan []source.Split
		for i, table := range tables {
			splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 50})
			require.NoError(t, err)
			if i%10 == 9 {
				require.Empty(t, splits)
			} else {
				require.GreaterOrEqual(t, len(splits), 2, "%s with %d rows by statistics", table.Shard, table.Rows)
			}
			for _, split := range splits {
				split.Shard = i
				plan = append(plan, split)
			}
		}
		require.NoError(t, source.CheckPlan(plan))
		s.exec(t, "DROP TABLE shard_31")
		got := map[string]int{}
		for _, split := range plan {
			table := tables[split.Shard]
			_, err := s.source.Read(t.Context(), source.Read{Shard: table.Shard, Split: split, Outputs: m.Outputs(table)}, each(func(b *row.Batch) error {
				for i := range b.Rows {
					got[string(b.Columns[2].Bytes(i))]++
				}
				return nil
			}))
			if table.Shard.Table == "shard_31" {
				require.ErrorIs(t, err, source.ErrSchemaChanged)
				require.ErrorContains(t, err, table.Shard.String())
				continue
			}
			require.NoError(t, err)
		}
		require.Len(t, got, 28)
		for name, n := range got {
			require.Equal(t, s.server.QueryValue(t, "SELECT COUNT(*) FROM "+s.database+"."+name), fmt.Sprint(n), name)
		}
	})
}

// TestBoundsStay inserts while the splits are read: what is beyond the bounds of the plan's moment is not read.
func TestBoundsStay(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		table := s.numbers(t, "n", 1000)
		splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 100})
		require.NoError(t, err)
		want := s.all(t, "id, pad", "n")
		s.exec(t, "INSERT INTO n SELECT id + 1000, pad FROM n", "INSERT INTO n VALUES (0, 'below'), (-5, 'below')")
		require.Equal(t, want, readSplits(t, s.source, readOf(t, table), splits))
		for _, bad := range []string{"1 OR 1=1", "", "1.5", "'1'"} {
			r := readOf(t, table)
			r.Split = source.Split{Range: &source.Range{Column: "id", Lower: bad, Upper: "9"}}
			_, _, err := collect(t.Context(), s.source, r)
			require.ErrorContains(t, err, "is not a 64-bit integer", "a plan is no way to inject SQL")
		}
		_, _, err = collect(t.Context(), s.source, source.Read{Shard: source.Shard{Instance: "elsewhere"}})
		require.ErrorContains(t, err, strings.ToLower(`instance "elsewhere" is not configured`))
	})
}

// TestRightRevokedAfterThePlan tells a right that is gone, which can be given back, from a table that is gone.
func TestRightRevokedAfterThePlan(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			s := newShop(t, testenv.Start(t, f))
			r := readOf(t, s.numbers(t, "n", 10))
			s.exec(t, "CREATE USER 'limited'@'%' IDENTIFIED BY 'limited'")
			c := configOf(s.server, "a")
			c.User, c.Password = "limited", "limited"
			src := open(t, mysql.Options{}, c)
			_, _, err := collect(t.Context(), src, r)
			require.ErrorIs(t, err, source.ErrDenied)
			require.NotErrorIs(t, err, source.ErrSchemaChanged)
			s.exec(t, "GRANT SELECT ON *.* TO 'limited'@'%'")
			rows, _, err := collect(t.Context(), open(t, mysql.Options{}, c), r)
			require.NoError(t, err)
			require.Len(t, rows, 10)
		})
	}
}
