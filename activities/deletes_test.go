package activities_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

func comparing(t *testTable) { t.CompareKeys = true }

func marked(name string) func(*testTable) { return func(t *testTable) { t.SoftDelete = name } }

// without are lines but those of the ids.
func without(lines []string, ids ...int) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return slices.ContainsFunc(ids, func(id int) bool { return strings.Fields(line)[1] == fmt.Sprint(id) })
	})
}

// Rows that are marked as deleted take the table's away when they are added, and are left out of a refresh.
func TestSoftDelete(t *testing.T) {
	w := newWorld(t)
	w.source().perSplit, w.source().perBatch = 4, 4
	w.run(orders(keyed("id")), "r1")
	all := w.rows()
	require.Len(t, all, 10)
	// n1 and n103 are names; ids 0, 3, 6 have none.
	w.source().shards = []memoryShard{shard("a", 0, 5), shard("b", 103, 1)}
	r := w.run(orders(keyed("id"), appending, marked("n1")), "r2")
	require.EqualValues(t, 6, r.Read)
	require.EqualValues(t, 6, r.Written)
	require.Equal(t, without(all, 1), w.rows())
	// It comes back when it is marked no more.
	w.run(orders(keyed("id"), appending, marked("n103")), "r3")
	require.Equal(t, without(all, 103), w.rows())
	w.tidy()

	r = w.run(orders(keyed("id"), marked("n4")), "r4")
	require.EqualValues(t, 6, r.Read)
	require.EqualValues(t, 5, r.Written)
	require.Equal(t, without(w.source().lines(), 4), w.rows())
	files, err := w.table().Files(t.Context(), 0)
	require.NoError(t, err)
	for _, f := range files {
		require.Zero(t, *f.DataFile.DeleteRows)
	}
	// What marks no row changes nothing, and a source of marked rows alone is an empty source.
	w.run(orders(keyed("id"), marked("nothing")), "r5")
	require.Equal(t, w.source().lines(), w.rows())
	w.source().shards = []memoryShard{shard("a", 4, 1)}
	w.load(orders(keyed("id"), marked("n4")), "r6")
	refused(t, w.commitError("r6"), activities.TypePlanRefused, "the source has no rows")
}

// A refresh that compares keeps the table's history: what is as it was is not written, what differs is, and what the source has no
// more is taken away, in one snapshot of added files. It is exact in memory that holds few rows, and where shards' ids are alike.
func TestCompareKeys(t *testing.T) {
	for name, change := range map[string]func(*testTable){
		"by id": keyed("id"),
		"in little memory": func(t *testTable) {
			keyed("id")(t)
			t.Buckets, t.SortBytes = "1", 4<<10
		},
		"by shard":      keyed("_database", "_table", "id"),
		"in partitions": func(t *testTable) { keyed("_table", "id")(t); t.Partition = []string{"_table"} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.source().perSplit, w.source().perBatch = 50, 9
			w.source().shards = []memoryShard{shard("a", 0, 200), shard("b", 1000, 200), shard("c", 2000, 3)}
			job := orders(change, comparing)
			w.run(job, "r1") // into a table that is not there yet
			require.Equal(t, slices.Sorted(slices.Values(w.source().lines())), w.rows())

			r := w.run(job, "r2")
			require.Equal(t, activities.StateUnchanged, r.Status, "nothing differs")
			require.EqualValues(t, 403, r.Read)
			require.EqualValues(t, 1, w.latest())

			// Of a some are gone and some new, all of b moved to another shard, all of c are gone.
			a, b := shard("a", 5, 200), shard("d", 1000, 200)
			w.source().shards = []memoryShard{a, b}
			r = w.run(job, "r3")
			require.Equal(t, slices.Sorted(slices.Values(w.source().lines())), w.rows())
			latest, err := w.snapshots().Latest(t.Context())
			require.NoError(t, err)
			require.Equal(t, snapshot.Append, latest.CommitKind)
			require.EqualValues(t, 2, latest.ID)
			require.EqualValues(t, 400, r.Read)
			gone := 5 + 3
			if name != "by id" && name != "in little memory" {
				gone += 200 // a row of another shard is another row
			}
			require.EqualValues(t, 5+200+gone, r.Written)
			w.tidy()

			w.source().shards = []memoryShard{shard("a", 0, 0)}
			w.load(job, "r4")
			refused(t, w.commitError("r4"), activities.TypePlanRefused, "the source has no rows")
			require.Equal(t, activities.StateAborted, w.abortRun("r4", false).State)
			w.run(orders(change, comparing, func(t *testTable) { t.EmptyTarget = true }), "r5")
			require.Empty(t, w.rows())
			w.tidy()
		})
	}
}

// What another writer changed since the plan was not compared, so the run is refused before anything is decided.
func TestCompareKeysWhileOthersChange(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		w := newWorld(t)
		job := orders(keyed("id"), comparing)
		w.run(job, "r1")
		w.source().shards = []memoryShard{shard("a", 0, 4)}
		planned := w.begin(job, "r2")
		for unit := range planned.Units {
			w.writeUnit("r2", unit)
		}
		if when == "before" {
			w.foreign()
		}
		w.mergeAll("r2")
		if when == "after" {
			w.foreign()
		}
		refused(t, w.commitError("r2"), activities.TypeConflict, "others changed the table since snapshot 1")
		require.Equal(t, activities.StateAborted, w.abortRun("r2", false).State)
		w.run(job, "r3")
		require.Equal(t, w.source().lines(), w.rows())
		w.tidy()
	}
}

// What cannot be done exactly is refused in the plan, with what to do instead.
func TestDeletesThatAreRefused(t *testing.T) {
	option := func(key, value string) func(*testTable) {
		return func(t *testTable) { t.Options = map[string]string{key: value} }
	}
	for name, c := range map[string]struct {
		change []func(*testTable)
		want   string
	}{
		"a mark without a key":       {[]func(*testTable){appending, marked("x")}, "leave them out by where"},
		"a refresh without a key":    {[]func(*testTable){comparing}, "compare_keys needs a primary_key"},
		"comparing what is added":    {[]func(*testTable){keyed("id"), appending, comparing}, "needs mode: full-refresh"},
		"replacing what is compared": {[]func(*testTable){keyed("id"), comparing, func(t *testTable) { t.ReplaceForeign = true }}, "on_conflict: replace"},
		"rows that may lose":         {[]func(*testTable){keyed("id"), comparing, option("sequence.field", "name")}, "sequence.field"},
		"an engine that keeps rows":  {[]func(*testTable){keyed("id"), comparing, option("merge-engine", "partial-update")}, "merge-engine = deduplicate"},
		"deletes that are ignored":   {[]func(*testTable){keyed("id"), appending, marked("x"), option("ignore-delete", "true")}, "ignore-delete = true"},
		"deletes that are refused":   {[]func(*testTable){keyed("id"), appending, marked("x"), option("merge-engine", "partial-update")}, "partial-update"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders(c.change...).json(t), Run: "r1"})
			require.NoError(t, err)
			_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r1")})
			refused(t, err, activities.TypePlanRefused, c.want)
			require.Empty(t, list(t, w.warehouse, "orders"), "nothing is created")
		})
	}
}

// Paimon reads what both ways of deleting leave, before and after its compaction, and goes on writing to it.
func TestJavaReadsAfterDeletes(t *testing.T) {
	java := testenv.Referee(t)
	w, warehouse := onDisk(t)
	change := func(t *testTable) {
		keyed("id")(t)
		t.Buckets, t.Options = "2", map[string]string{"write-only": "true"}
	}
	w.source().perSplit, w.source().perBatch = 30, 8
	check := func(want []string) {
		t.Helper()
		slices.Sort(want)
		require.Equal(t, want, javaLines(w, java, warehouse))
		require.Equal(t, want, w.rows())
	}
	for round := range int64(3) {
		w.source().shards = []memoryShard{shard("a", round*10, 60), shard("b", 200+round, 30)}
		w.run(orders(change, comparing), fmt.Sprint("compared", round))
		check(w.source().lines())
		w.source().shards = []memoryShard{shard("a", round*10, 60), shard("b", 200+round, 30)}
		w.run(orders(change, appending, marked("n31")), fmt.Sprint("marked", round))
		check(without(w.source().lines(), 31))
		if round == 1 {
			require.Positive(t, java.Compact(t, warehouse, "ods.orders"))
			check(without(w.source().lines(), 31))
		}
		java.Write(t, warehouse, "ods.orders", "java", round+1, testenv.Row{"id": "31", "name": "java", "_instance": "j", "_database": "j", "_table": "j"})
		check(append(without(w.source().lines(), 31), "j/j 31 java"))
	}
}
