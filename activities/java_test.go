package activities_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/fileio"
)

// onDisk is a world whose warehouse Paimon can write to.
func onDisk(t *testing.T) (w *world, warehouse string) {
	t.Helper()
	w, warehouse = newWorld(t), t.TempDir()
	local, err := fileio.NewLocal(warehouse)
	require.NoError(t, err)
	w.warehouse = local
	return w, warehouse
}

// javaLines are the rows that Paimon reads, as world.rows has them.
func javaLines(w *world, java *testenv.JavaReferee, warehouse string) []string {
	var lines []string
	for _, line := range java.Read(w.t, warehouse, "ods.orders", 0) {
		var r map[string]any
		require.NoError(w.t, json.Unmarshal([]byte(line), &r))
		name := "NULL"
		if r["name"] != nil {
			name = fmt.Sprint(r["name"])
		}
		lines = append(lines, fmt.Sprintf("%v/%v %v %s", r["_database"], r["_table"], r["id"], name))
	}
	slices.Sort(lines)
	return lines
}

// Paimon's writer adds to the same bucket between a run's merge and its commit, and between runs: of each key the row that came
// last stays, for Paimon's reader, before and after its compaction.
func TestJavaWriterBetweenUpserts(t *testing.T) {
	java := testenv.Referee(t)
	w, warehouse := onDisk(t)
	one := func(t *testTable) { t.Buckets, t.Options = "1", map[string]string{"write-only": "true"} }
	w.source().shards = []memoryShard{shard("a", 0, 6)}
	w.run(orders(keyed("id"), one), "r0")
	last := map[int64]string{}
	for _, line := range w.source().lines() {
		var id int64
		_, err := fmt.Sscan(strings.Fields(line)[1], &id)
		require.NoError(t, err)
		last[id] = line
	}
	writes := 0
	javaAdds := func(ids ...int64) {
		var rows []testenv.Row
		writes++
		for _, id := range ids {
			name := fmt.Sprint("java", writes)
			rows = append(rows, testenv.Row{"id": fmt.Sprint(id), "name": name, "_instance": "j", "_database": "j", "_table": "j"})
			last[id] = fmt.Sprintf("j/j %d %s", id, name)
		}
		java.Write(t, warehouse, "ods.orders", "java", int64(writes), rows...)
	}
	for run := range 4 {
		id := fmt.Sprint("r", run+1)
		javaAdds(0, 1, 2, 10)
		s := shard(fmt.Sprint("s", run), 1, 2)
		w.source().shards = []memoryShard{s}
		w.load(orders(keyed("id"), one, appending), id)
		// More rows than the run has, so that their numbers reach beyond the run's.
		javaAdds(2, 3, 4, 5, 11)
		refused(t, w.commitError(id), activities.TypeOvertaken)
		w.mergeAgain(id, 1)
		require.Equal(t, activities.StateCommitted, w.commitRun(id).Status)
		w.cleanRun(id)
		last[1], last[2] = s.lines()[0], s.lines()[1]
		var want []string
		for _, line := range last {
			want = append(want, line)
		}
		slices.Sort(want)
		require.Equal(t, want, javaLines(w, java, warehouse))
		require.Equal(t, want, w.rows())
		if run%2 == 1 {
			require.Positive(t, java.Compact(t, warehouse, "ods.orders"))
			require.Equal(t, want, javaLines(w, java, warehouse))
		}
	}
	// Paimon goes on from the numbers of the last run.
	javaAdds(1, 2)
	require.Contains(t, javaLines(w, java, warehouse), last[1])
	require.Contains(t, javaLines(w, java, warehouse), last[2])
}
