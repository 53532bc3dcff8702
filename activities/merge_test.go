package activities_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/bucket"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/ledger"
)

// Shards whose ids are the same become a table with all their rows when the key holds their names, in files of the top level.
func TestKeyTableOfShardsWithTheSameIDs(t *testing.T) {
	w := newWorld(t)
	w.source().shards = nil
	for i := range 16 {
		w.source().shards = append(w.source().shards, shard(fmt.Sprint("orders_", i), 0, 9))
	}
	result := w.run(orders(keyed("_database", "_table", "id")), "r1")
	require.Equal(t, activities.StateCommitted, result.Status)
	require.EqualValues(t, 16*9, result.Read)
	require.EqualValues(t, 16*9, result.Written)
	require.Zero(t, result.Collapsed)
	require.ElementsMatch(t, w.source().lines(), w.rows())
	w.tidy()
	require.Empty(t, list(t, w.staging, "/orders/runs/"), "sorted rows are of no use after the commit")
	files, err := w.table().Files(t.Context(), w.latest())
	require.NoError(t, err)
	require.Greater(t, len(files), 3, "buckets are cut by ranges of keys")
	for _, f := range files {
		require.EqualValues(t, 5, f.DataFile.Level)
	}
}

// Without these names each id is met once in each shard: the run fails before anything is committed and names the shards, or
// the shard last in the plan wins.
func TestKeyCollisions(t *testing.T) {
	w := newWorld(t)
	w.source().shards = []memoryShard{shard("a", 0, 5), shard("b", 3, 5), shard("c", 4, 1)}
	planned := w.begin(orders(keyed("id")), "r1")
	for unit := range planned.Units {
		w.writeUnit("r1", unit)
	}
	merges, err := call(t.Context(), w.planMerges, activities.PlanMergesInput{TableRun: part("r1")})
	require.NoError(t, err)
	told := ""
	for n := range merges.Merges {
		_, err := call(t.Context(), w.merge, activities.MergeInput{TableRun: part("r1"), Merge: n})
		if err != nil {
			refused(t, err, activities.TypeKeyCollision, "on_key_collision")
			told += err.Error()
		}
	}
	require.Contains(t, told, "id = 3: in one/shop/a and in one/shop/b")
	require.Contains(t, told, "id = 4: in one/shop/a and in one/shop/b")
	require.Contains(t, told, "id = 4: in one/shop/b and in one/shop/c")
	require.Equal(t, 3, strings.Count(told, "id = "), told)
	_, err = call(t.Context(), w.verify, activities.VerifyInput{TableRun: part("r1")})
	refused(t, err, activities.TypeMismatch, "was never claimed")
	require.Equal(t, activities.StateAborted, w.abortRun("r1", false).State)
	require.Empty(t, w.dataFiles())
	require.Empty(t, list(t, w.staging, "/orders/runs/"))

	result := w.run(orders(keyed("id"), func(t *testTable) { t.LastWins = true }), "r2")
	require.EqualValues(t, 11, result.Read)
	require.EqualValues(t, 8, result.Written)
	require.EqualValues(t, 3, result.Collapsed)
	require.Equal(t, []string{
		"shop/a 0 NULL", "shop/a 1 n1", "shop/a 2 n2", "shop/b 3 NULL", "shop/b 5 n5", "shop/b 6 NULL", "shop/b 7 n7", "shop/c 4 n4",
	}, w.rows())
	w.tidy()
}

// A hundred of them are listed, and no more are looked for.
func TestManyKeyCollisions(t *testing.T) {
	w := newWorld(t)
	w.source().perSplit, w.source().perBatch = 1000, 100
	w.source().shards = []memoryShard{shard("a", 0, 300), shard("b", 0, 300)}
	planned := w.begin(orders(keyed("id"), func(t *testTable) { t.Buckets = "1" }), "r1")
	for unit := range planned.Units {
		w.writeUnit("r1", unit)
	}
	_, err := call(t.Context(), w.planMerges, activities.PlanMergesInput{TableRun: part("r1")})
	require.NoError(t, err)
	_, err = call(t.Context(), w.merge, activities.MergeInput{TableRun: part("r1")})
	refused(t, err, activities.TypeKeyCollision, "perhaps more")
	require.Equal(t, 100, strings.Count(err.Error(), "\n  id = "))
}

// What is merged does not depend on how much memory there is for it, and a second attempt of a merge that was claimed gives the
// first one's.
func TestMergesInLittleMemory(t *testing.T) {
	w := newWorld(t)
	w.source().perSplit, w.source().perBatch = 200, 7
	w.source().shards = []memoryShard{shard("a", 0, 3000), shard("b", 10_000, 2000)}
	job := orders(keyed("id"), func(t *testTable) { t.Buckets, t.SortBytes, t.MergeBytes = "1", 4<<10, 1<<20 })
	planned := w.begin(job, "r1")
	for unit := range planned.Units {
		w.writeUnit("r1", unit)
	}
	require.Greater(t, len(list(t, w.staging, "/orders/runs/")), planned.Units, "rows of a unit do not fit")
	require.Equal(t, 1, w.mergeAll("r1"))
	attempts := len(list(t, w.staging, "/orders/attempts/"))
	require.Equal(t, 1, w.mergeAll("r1"))
	require.Len(t, list(t, w.staging, "/orders/attempts/"), attempts)
	require.EqualValues(t, 5000, w.commitRun("r1").Written)
	require.Equal(t, slices.Sorted(slices.Values(w.source().lines())), w.rows())
	w.cleanRun("r1")
	w.tidy()
}

// Rows that were sorted must be rows that were merged, exactly.
func TestVerifyCountsMerges(t *testing.T) {
	w := newWorld(t)
	w.load(orders(keyed("id")), "r1")
	l := w.ledger("r1")
	merges, err := l.Merges(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 10, merges.Rows)
	counts, err := call(t.Context(), w.verify, activities.VerifyInput{TableRun: part("r1")})
	require.NoError(t, err)
	require.Equal(t, ledger.Counts{
		RowsRead: 10, RowsSorted: 10, RowsMerged: 10, RowsWritten: 10, Files: counts.Files, Bytes: counts.Bytes,
	}, *counts)

	p, err := l.Plan(t.Context())
	require.NoError(t, err)
	claim := ledgerFile("r1", "splits", fmt.Sprintf("%06d", p.Units))
	data, err := fileio.ReadFile(t.Context(), w.staging, claim, 1<<20)
	require.NoError(t, err)
	data = bytes.Replace(data, []byte(`"rows_merged":`), []byte(`"rows_merged":9`), 1)
	require.NoError(t, fileio.WriteFile(t.Context(), w.staging, claim, data))
	_, err = call(t.Context(), w.verify, activities.VerifyInput{TableRun: part("r1")})
	refused(t, err, activities.TypeMismatch, "of 10 rows read 10 were sorted and")
}

// What cannot be a key table is refused in the plan, with the reason.
func TestKeyTablesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*testTable)
		want   string
	}{
		"a column that may be NULL":  {keyed("name"), "column name of the primary key may be NULL in one/shop/a (varchar(20))"},
		"a column that is not there": {keyed("id", "nowhere"), "nowhere"},
		"no buckets":                 {func(t *testTable) { t.PrimaryKey = []string{"id"} }, "set target.bucket, for about 10 rows"},
		"a partition outside":        {func(t *testTable) { keyed("id")(t); t.Partition = []string{"_table"} }, "the partition column _table is not in it"},
		"adding where new files are hidden": {func(t *testTable) {
			keyed("id")(t)
			t.Append, t.Options = true, map[string]string{"merge-engine": "first-row"}
		}, "merge-engine = first-row hides rows"},
		"adding where changes are recorded by the writer": {func(t *testTable) {
			keyed("id")(t)
			t.Append, t.Options = true, map[string]string{"changelog-producer": "input"}
		}, "changelog-producer = input needs changelog files"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders(c.change).json(t), Run: "r1"})
			require.NoError(t, err)
			_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r1")})
			refused(t, err, activities.TypePlanRefused, c.want)
		})
	}
	w := newWorld(t)
	w.run(orders(keyed("id")), "r1")
	for name, key := range map[string][]string{"none": nil, "another": {"id", "_table"}} {
		_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders(func(t *testTable) { t.PrimaryKey = key }).json(t), Run: name})
		require.NoError(t, err)
		_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part(name)})
		refused(t, err, activities.TypePlanRefused, "the target has the primary key (id), the job says (")
	}
}

// Rows that are added replace those with the same key, whatever numbers these have, and leave the others.
func TestKeyTableIsAddedTo(t *testing.T) {
	w := newWorld(t)
	w.run(orders(keyed("id")), "r1")
	// As many rows as there are before, so that numbers which began with 0 would lose.
	w.source().shards = []memoryShard{shard("c", 3, 4), shard("d", 200, 2)}
	add := orders(keyed("id"), appending)
	require.EqualValues(t, 6, w.run(add, "r2").Written)
	want := []string{
		"shop/a 0 NULL", "shop/a 1 n1", "shop/a 2 n2", "shop/b 100 n100", "shop/b 101 n101", "shop/b 102 NULL", "shop/b 103 n103", "shop/b 104 n104",
		"shop/c 3 NULL", "shop/c 4 n4", "shop/c 5 n5", "shop/c 6 NULL", "shop/d 200 n200", "shop/d 201 NULL",
	}
	require.Equal(t, want, w.rows())
	w.source().shards = []memoryShard{shard("e", 3, 1)}
	w.run(add, "r3")
	want[8] = "shop/e 3 NULL"
	require.ElementsMatch(t, want, w.rows())
	w.tidy()
}

// What another writer added to a bucket after rows for it were merged has numbers that these were not numbered after: the commit
// is refused before anything is decided, the rows are merged again, and win. What was added before that, or to other buckets, is
// in nobody's way.
func TestAddingToBucketsThatOthersAddTo(t *testing.T) {
	of := func(id int64) int {
		return bucket.Of([]schema.Type{schema.Of(schema.BigInt)}, []row.Value{{I64: id}}, 2)
	}
	conflicts := 0
	for id := range int64(8) {
		w := newWorld(t)
		two := func(t *testTable) { t.Buckets = "2" }
		w.run(orders(keyed("id"), two), "r1")
		w.source().shards = []memoryShard{shard("c", id, 1)}
		planned := w.begin(orders(keyed("id"), appending, two), "r2")
		w.foreign() // of id 1
		for unit := range planned.Units {
			w.writeUnit("r2", unit)
		}
		require.Equal(t, 1, w.mergeAll("r2"))
		w.foreign() // and again
		if of(id) == of(1) {
			conflicts++
			refused(t, w.commitError("r2"), activities.TypeOvertaken, "others added rows to the same buckets")
			require.Empty(t, w.decision("r2"))
			w.mergeAgain("r2", 1)
		}
		require.Equal(t, activities.StateCommitted, w.commitRun("r2").Status)
		want := []string{"foreign/foreign 1 x"}
		if id == 1 {
			want = nil
		}
		for _, line := range append((&memorySource{shards: []memoryShard{shard("a", 0, 5), shard("b", 100, 5)}}).lines(), w.source().lines()...) {
			if key := strings.Fields(line)[1]; key != "1" && (key != fmt.Sprint(id) || strings.HasPrefix(line, "shop/c")) || line == "shop/c 1 n1" {
				want = append(want, line)
			}
		}
		require.ElementsMatch(t, want, w.rows())
		w.cleanRun("r2")
		w.tidy()
	}
	require.Greater(t, conflicts, 1)
	require.Less(t, conflicts, 8)
}

// A commit that is decided already and refused then is made of another round of merges. An attempt that had stalled with the first
// round may still publish that: the rows are in the table once, and its files stay.
func TestMergingAgainAfterTheDecision(t *testing.T) {
	one := func(t *testTable) { t.Buckets = "1" }
	begin := func(t *testing.T) *world {
		w := newWorld(t)
		w.run(orders(keyed("id"), one), "r1")
		w.source().shards = []memoryShard{shard("c", 1, 3)}
		w.load(orders(keyed("id"), appending, one), "r2")
		return w
	}
	decided := func(w *world) {
		_, err := w.ledger("r2").Decide(t.Context(), 1, ledger.Commit)
		require.NoError(t, err)
	}
	t.Run("merged again", func(t *testing.T) {
		w := begin(t)
		decided(w)
		w.foreign()
		refused(t, w.commitError("r2"), activities.TypeOvertaken)
		w.mergeAgain("r2", 1)
		require.EqualValues(t, 3, w.commitRun("r2").Written)
		require.Contains(t, w.rows(), "shop/c 1 n1")
		require.Positive(t, w.cleanRun("r2"), "files of the first round")
		w.tidy()
		require.Contains(t, w.rows(), "shop/c 1 n1")
	})
	t.Run("the first round lands all the same", func(t *testing.T) {
		w := begin(t)
		decided(w)
		w.mergeAgain("r2", 1)
		// It has read the claims of the first round.
		first := w.with(func(s fileio.Store) fileio.Store { return unopened{s} })
		result, err := call(t.Context(), first.commit, activities.CommitInput{TableRun: part("r2")})
		require.NoError(t, err)
		require.EqualValues(t, result.Snapshot, w.commitRun("r2").Snapshot)
		require.Positive(t, w.cleanRun("r2"), "files of the second round")
		w.tidy()
		require.Contains(t, w.rows(), "shop/c 1 n1")
	})
	t.Run("given up between", func(t *testing.T) {
		w := begin(t)
		decided(w)
		w.foreign()
		refused(t, w.commitError("r2"), activities.TypeOvertaken)
		merges, err := call(t.Context(), w.planMerges, activities.PlanMergesInput{TableRun: part("r2"), Round: 1})
		require.NoError(t, err)
		require.Equal(t, 1, merges.Round)
		require.Equal(t, activities.StateAborted, w.abortRun("r2", true).State)
		_, err = call(t.Context(), w.merge, activities.MergeInput{TableRun: part("r2"), Round: 1})
		refused(t, err, activities.TypeAborted)
		w.tidy()
		require.NotContains(t, w.rows(), "shop/c 1 n1")
	})
}

// unopened shows no round of merges but the first, as it was for who looked before.
type unopened struct{ fileio.Store }

func (u unopened) List(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	if strings.HasSuffix(folder, "/rounds") {
		return nil
	}
	return u.Store.List(ctx, folder, fn)
}

// mergeAgain makes the merges of a run once more.
func (w *world) mergeAgain(run string, round int) {
	w.t.Helper()
	merges, err := call(w.t.Context(), w.planMerges, activities.PlanMergesInput{TableRun: part(run), Round: round})
	require.NoError(w.t, err)
	require.Equal(w.t, round, merges.Round)
	require.Equal(w.t, []activities.Range{{From: 0, To: merges.Merges}}, merges.Pending)
	for n := range merges.Merges {
		_, err := call(w.t.Context(), w.merge, activities.MergeInput{TableRun: part(run), Merge: n, Round: round})
		require.NoError(w.t, err)
	}
	_, err = call(w.t.Context(), w.verify, activities.VerifyInput{TableRun: part(run)})
	require.NoError(w.t, err)
}

// decision is what was decided of a run, empty for nothing.
func (w *world) decision(run string) ledger.Verdict {
	w.t.Helper()
	d, err := w.ledger(run).Decision(w.t.Context(), 1)
	require.NoError(w.t, err)
	return d
}

// A refresh may have another number of buckets than before: its rows are distributed anew.
func TestKeyTableIsRescaled(t *testing.T) {
	w := newWorld(t)
	w.run(orders(keyed("id")), "r1")
	rescaled := orders(keyed("id"), func(t *testTable) { t.Buckets = "5" })
	x, err := call(t.Context(), (&activities.Explainer{Env: w.process}).Explain, activities.ExplainInput{Job: rescaled.json(t), Table: "orders"})
	require.NoError(t, err)
	require.Len(t, x.Alter, 1)
	require.Contains(t, x.Alter[0], "bucket")
	w.run(rescaled, "r2")
	require.ElementsMatch(t, w.source().lines(), w.rows())
	require.Equal(t, "5", w.table().Schema().Options["bucket"])
	w.tidy()

	_, err = call(t.Context(), w.prepare, activities.PrepareInput{Job: orders(keyed("id"), func(t *testTable) { t.Buckets = "-1" }).json(t), Run: "r3"})
	require.NoError(t, err)
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r3")})
	refused(t, err, activities.TypePlanRefused, "the target has bucket = 5, the job says -1")
}

// A refresh replaces the rows of a key table.
func TestKeyTableIsRefreshed(t *testing.T) {
	w := newWorld(t)
	w.run(orders(keyed("id")), "r1")
	w.source().shards = []memoryShard{shard("a", 2, 2)}
	w.run(orders(keyed("id")), "r2")
	require.Equal(t, w.source().lines(), slices.Sorted(slices.Values(w.rows())))
	files, err := w.table().Files(t.Context(), w.latest())
	require.NoError(t, err)
	for _, f := range files {
		require.Equal(t, manifest.SourceAppend, *f.DataFile.Source)
	}
	w.tidy()
}
