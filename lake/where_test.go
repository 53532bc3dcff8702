package lake_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/predicate"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// reads keeps the paths of the files that were opened.
type reads struct {
	fileio.Store
	mu    sync.Mutex
	paths map[string]bool
}

func (r *reads) Open(ctx context.Context, path string) (fileio.Reader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paths[path] = true
	return r.Store.Open(ctx, path)
}

// forget returns the opened data files and manifests and begins anew.
func (r *reads) forget() (data, manifests []string) {
	for _, p := range slices.Sorted(maps.Keys(r.paths)) {
		switch {
		case strings.HasSuffix(p, ".parquet"):
			data = append(data, p)
		case strings.HasPrefix(path.Base(p), "manifest-") && !strings.HasPrefix(path.Base(p), "manifest-list-"):
			manifests = append(manifests, p)
		}
	}
	clear(r.paths)
	return data, manifests
}

// checkWhere compares scans under conditions with what the same conditions leave of a full scan. It returns how many scans
// opened fewer data files, and fewer manifests.
func checkWhere(t *testing.T, table *lake.Table, opened *reads, times int, condition func() predicate.Condition) (lessData, lessManifests int) {
	t.Helper()
	for range times {
		c := condition()
		where, err := predicate.Bind(table.Schema().Fields, c)
		require.NoError(t, err)
		want := []string{}
		opened.forget()
		require.NoError(t, table.Scan(t.Context(), lake.ScanOptions{}, func(b *row.Batch) error {
			for _, i := range where.Select(b, nil) {
				want = append(want, line(t, table.Schema().Fields, b, int(i)))
			}
			return nil
		}))
		allData, allManifests := opened.forget()
		slices.Sort(want)
		rows, err := rowsOf(t, table, lake.ScanOptions{Where: c})
		require.NoError(t, err, where)
		require.Equal(t, want, rows, where)
		data, manifests := opened.forget()
		require.Subset(t, allData, data)
		require.Subset(t, allManifests, manifests)
		if len(data) < len(allData) {
			lessData++
		}
		if len(manifests) < len(allManifests) {
			lessManifests++
		}
		plan, err := table.Plan(t.Context(), lake.ScanOptions{Where: c})
		require.NoError(t, err)
		planned := 0
		for _, s := range plan.Splits {
			planned += len(s.Files)
		}
		require.Len(t, data, planned, where)
	}
	return lessData, lessManifests
}

// What a condition leaves is what a full scan has of it; files that cannot matter are not opened, nor manifests.
func TestScanWhereOfKeyTable(t *testing.T) {
	opened := &reads{Store: fileiotest.NewMemory(), paths: map[string]bool{}}
	j := newTable(t, opened, keySpec(map[string]string{"bucket": "2"}))
	random := rand.New(rand.NewPCG(3, 4))
	for n := range int32(6) {
		j.commit(snapshot.Append, lake.WriterOptions{}, func(w *lake.Writer) {
			var changes []change
			for i := range int32(50) {
				c := change{key: n/2*100 + i*2 + n%2, value: fmt.Sprintf("v%d", random.IntN(40))}
				if random.IntN(5) == 0 {
					c.kind = row.Delete
				}
				changes = append(changes, c)
			}
			b, kinds := changesOf(j.table, changes)
			require.NoError(t, w.WriteKinds(t.Context(), b, kinds))
		})
	}
	values := map[string]func() row.Value{
		"id":     func() row.Value { return row.Value{I64: random.Int64N(320) - 10} },
		"region": func() row.Value { return row.Value{I64: random.Int64N(3)} },
		"value":  func() row.Value { return row.Value{B: fmt.Appendf(nil, "v%d", random.IntN(45))} },
	}
	data, manifests := checkWhere(t, j.table, opened, 80, func() predicate.Condition { return randomCondition(random, values, 2) })
	require.Greater(t, data, 20)
	require.Greater(t, manifests, 4)
	plan, err := j.table.Plan(t.Context(), lake.ScanOptions{Where: predicate.And(
		predicate.Eq("id", row.Value{I64: 104}), predicate.Eq("region", row.Value{I64: 0}))})
	require.NoError(t, err)
	require.Len(t, plan.Splits, 1)
	require.Len(t, plan.Splits[0].Files, 1)
}

// A row of a partial update may have what is asked for although no file has it in one row.
func TestScanWhereOfPartialUpdates(t *testing.T) {
	j := newTable(t, fileiotest.NewMemory(), schema.Spec{
		Fields: []schema.Field{
			{Name: "id", Type: schema.Of(schema.Int)}, {Name: "a", Type: schema.Of(schema.Int)}, {Name: "b", Type: schema.Of(schema.Int)},
		},
		PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1", "merge-engine": "partial-update"},
	})
	for column := 1; column <= 2; column++ {
		j.commit(snapshot.Append, lake.WriterOptions{}, func(w *lake.Writer) {
			b := row.NewBatch(row.Types(j.table.Schema().Fields))
			b.Columns[0].Append(row.Value{I64: 7})
			b.Columns[column].Append(row.Value{I64: int64(column)})
			b.Columns[3-column].AppendNull()
			b.Rows = 1
			require.NoError(t, w.Write(t.Context(), b))
		})
	}
	for _, c := range []struct {
		a, b int64
		want []string
	}{{1, 2, []string{`{"a":"1","b":"2","id":"7"}`}}, {1, 1, []string{}}} {
		rows, err := rowsOf(t, j.table, lake.ScanOptions{Where: predicate.And(
			predicate.Eq("a", row.Value{I64: c.a}), predicate.Eq("b", row.Value{I64: c.b}))})
		require.NoError(t, err)
		require.Equal(t, c.want, rows)
	}
}

// The bucket is found when the condition gives all of the bucket key.
func TestScanWhereOfBuckets(t *testing.T) {
	opened := &reads{Store: fileiotest.NewMemory(), paths: map[string]bool{}}
	j := newTable(t, opened, schema.Spec{
		Fields: []schema.Field{{Name: "region", Type: schema.StringType()}, {Name: "n", Type: schema.Of(schema.Int)}},
		Options: map[string]string{
			"bucket": "16", "bucket-key": "n", schema.OptionStatsMode: "none", // so that nothing else can leave files out
		},
	})
	j.commit(snapshot.Append, lake.WriterOptions{}, func(w *lake.Writer) { fillBuckets(t, j.table, w, 1000) })
	for n := range int64(50) {
		opened.forget()
		rows, err := rowsOf(t, j.table, lake.ScanOptions{Where: predicate.Eq("n", row.Value{I64: n})})
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprintf(`{"n":"%d","region":"row %d"}`, n, n)}, rows)
		data, _ := opened.forget()
		require.Len(t, data, 1)
	}
}

// Paimon's own tables, their partitions, buckets, statistics, old schemas and levels, under conditions on any column.
func TestScanWhereOfGoldenTables(t *testing.T) {
	tables, err := os.ReadDir(filepath.Join("testdata", "expected"))
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(5, 6))
	less := 0
	for _, entry := range tables {
		t.Run(entry.Name(), func(t *testing.T) {
			golden := openTable(t, "testdata", entry.Name(), 0)
			local, err := fileio.NewLocal(mustAbs(t, "testdata"))
			require.NoError(t, err)
			opened := &reads{Store: local, paths: map[string]bool{}}
			table := lake.NewTable(opened, "golden.db/"+entry.Name(), golden.Schema())
			values := map[string]func() row.Value{}
			for i, f := range golden.Schema().Fields {
				var seen []row.Value
				require.NoError(t, golden.Scan(t.Context(), lake.ScanOptions{}, func(b *row.Batch) error {
					copied := clone(b)
					for r := range b.Rows {
						if v := copied.Columns[i].Value(r); !v.Null {
							seen = append(seen, v)
						}
					}
					return nil
				}))
				if len(seen) > 0 && !f.Type.Nested() {
					values[f.Name] = func() row.Value { return seen[random.IntN(len(seen))] }
				}
			}
			if len(values) > 0 {
				data, _ := checkWhere(t, table, opened, 25, func() predicate.Condition { return randomCondition(random, values, 2) })
				less += data
			}
		})
	}
	require.Greater(t, less, 50)
}

// randomCondition is one on some of the columns that there are values for.
func randomCondition(random *rand.Rand, values map[string]func() row.Value, depth int) predicate.Condition {
	names := slices.Sorted(maps.Keys(values))
	column := names[random.IntN(len(names))]
	v := values[column]()
	switch random.IntN(12) {
	case 0:
		return predicate.NotEq(column, v)
	case 1:
		return predicate.Less(column, v)
	case 2:
		return predicate.GreaterOrEq(column, v)
	case 3:
		return predicate.IsNull(column)
	case 4:
		return predicate.IsNotNull(column)
	case 5:
		return predicate.LessOrEq(column, v)
	case 6:
		return predicate.In(column, v, values[column]())
	case 7, 8, 9:
		if depth > 0 {
			parts := []predicate.Condition{randomCondition(random, values, depth-1), randomCondition(random, values, depth-1)}
			if random.IntN(3) == 0 {
				return predicate.Or(parts...)
			}
			return predicate.And(parts...)
		}
	}
	return predicate.Eq(column, v)
}
