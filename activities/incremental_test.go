package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/source"
)

func incremental(t *testTable) { t.Append, t.Watermark = true, "id" }

// grow gives a shard more rows, with higher ids.
func (w *world) grow(shard, rows int) {
	s := &w.source().shards[shard]
	for range rows {
		next := int64(shard * 100)
		if n := len(s.ids); n > 0 {
			next = s.ids[n-1] + 1
		}
		s.ids = append(s.ids, next)
	}
}

// kept is the watermark of each shard in the snapshot that the job's tag keeps.
func (w *world) kept() map[string]string {
	w.t.Helper()
	s, err := w.snapshots().Tag(w.t.Context(), "tributary-shop")
	require.NoError(w.t, err)
	var state struct {
		Column string
		Shards map[string]string
	}
	require.NoError(w.t, json.Unmarshal([]byte(s.Properties["tributary.watermark"]), &state))
	require.Equal(w.t, "id", state.Column)
	return state.Shards
}

// Runs one after another read each row once: rows that were added, shards that appear, and nothing where nothing is new. The
// watermark of a shard that is gone stays, and the shard goes on from it when it is back.
func TestIncrementalRunsReadEachRowOnce(t *testing.T) {
	for name, change := range map[string]func(*testTable){"append table": func(*testTable) {}, "key table": keyed("_table", "id")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			job := orders(incremental, change)
			result := w.run(job, "r1")
			require.EqualValues(t, 10, result.Read)
			require.Contains(t, result.Notes, "2 of 2 shards have no watermark yet: all their rows up to now are read")
			require.Equal(t, map[string]string{"one/shop/a": "4", "one/shop/b": "104"}, w.kept())

			result = w.run(job, "r2")
			require.Equal(t, activities.StateUnchanged, result.Status)
			require.Zero(t, result.Snapshot)
			require.Contains(t, result.Notes, "nothing is new: no snapshot is made")
			require.Equal(t, snapshot.ID(1), w.latest())

			w.grow(0, 3)
			w.source().shards = append(w.source().shards, shard("c", 500, 4))
			result = w.run(job, "r3")
			require.EqualValues(t, 7, result.Read)
			require.ElementsMatch(t, w.source().lines(), w.rows())

			all, gone := w.source().lines(), w.source().shards[1]
			w.source().shards = slices.Delete(w.source().shards, 1, 2)
			w.source().shards[0].ids = append(w.source().shards[0].ids, 50)
			result = w.run(job, "r4")
			require.EqualValues(t, 1, result.Read)
			require.Contains(t, result.Notes, "1 shards of earlier runs are not there any more: their rows stay, and their watermarks are kept")
			require.Equal(t, map[string]string{"one/shop/a": "50", "one/shop/b": "104", "one/shop/c": "503"}, w.kept())

			gone.ids = append(gone.ids, 105)
			w.source().shards = append(w.source().shards, gone)
			require.EqualValues(t, 1, w.run(job, "r5").Read)
			require.ElementsMatch(t, append(all, "shop/a 50 n50", "shop/b 105 NULL"), w.rows())
			w.tidy()
		})
	}
}

// The watermark is found where only the tag keeps the snapshot, and where others wrote after it.
func TestWatermarkOutlivesItsSnapshot(t *testing.T) {
	w := newWorld(t)
	w.run(orders(incremental), "r1")
	other := orders(appending)
	other.Job = "others"
	require.EqualValues(t, 10, w.runAs(other, "o1").Read)
	require.NoError(t, w.snapshots().Delete(t.Context(), 1))
	w.grow(1, 1)
	require.EqualValues(t, 1, w.run(orders(incremental), "r2").Read)
	require.Len(t, w.rows(), 21)
	tag, err := w.snapshots().Tag(t.Context(), "tributary-shop")
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(3), tag.ID)
}

// runAs makes a whole run of another job.
func (w *world) runAs(job testJob, run string) *activities.TableResult {
	w.t.Helper()
	in := part(run)
	in.Job = job.Job
	_, err := call(w.t.Context(), w.prepare, activities.PrepareInput{Job: job.json(w.t), Run: run})
	require.NoError(w.t, err)
	planned, err := call(w.t.Context(), w.plan, activities.PlanInput{TableRun: in})
	require.NoError(w.t, err)
	for unit := range planned.Units {
		_, err := call(w.t.Context(), w.write, activities.WriteInput{TableRun: in, Unit: unit})
		require.NoError(w.t, err)
	}
	result, err := call(w.t.Context(), w.commit, activities.CommitInput{TableRun: in})
	require.NoError(w.t, err)
	return result
}

// An older run that had stalled, and that the newer one could not see since the staging root was changed, is refused when it
// commits: its rows are in the table already.
func TestStalledIncrementalRunIsAConflict(t *testing.T) {
	w := newWorld(t)
	job := orders(incremental)
	w.run(job, "r1")
	w.grow(0, 2)
	w.load(job, "r2")
	elsewhere := &world{t: t, process: &process{staging: fileiotest.NewMemory(), warehouse: w.warehouse, sources: w.sources}}
	require.EqualValues(t, 2, elsewhere.run(job, "r3").Read)

	_, err := call(t.Context(), w.commit, activities.CommitInput{TableRun: part("r2")})
	refused(t, err, activities.TypeConflict, "snapshot 2", "a newer commit of shop has moved tributary.watermark on since this one was planned")
	require.Equal(t, activities.StateAborted, w.abortRun("r2", false).State)
	require.ElementsMatch(t, w.source().lines(), w.rows())
	w.grow(0, 1)
	require.EqualValues(t, 1, w.run(job, "r4").Read)
	require.ElementsMatch(t, w.source().lines(), w.rows())
}

// What earlier runs of the job left must say how far they came, by the same column.
func TestIncrementalRunRefusesWhatItCannotGoOnFrom(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders(incremental).json(t), Run: "r2"})
	require.NoError(t, err)
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r2")})
	refused(t, err, activities.TypePlanRefused, "snapshot 1", "was not made by an incremental run")

	w = newWorld(t)
	w.run(orders(incremental), "r1")
	_, err = call(t.Context(), w.prepare, activities.PrepareInput{Job: orders(incremental, func(t *testTable) { t.Watermark = "name" }).json(t), Run: "r2"})
	require.NoError(t, err)
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r2")})
	refused(t, err, activities.TypePlanRefused, `the job's last run went by column "id"`)

	w = newWorld(t)
	w.source().refuse = fmt.Errorf("%w: no such column", source.ErrRefused)
	_, err = call(t.Context(), w.prepare, activities.PrepareInput{Job: orders(incremental).json(t), Run: "r1"})
	require.NoError(t, err)
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r1")})
	refused(t, err, activities.TypePlanRefused, "no such column")
}

// TestFaultSweepOfIncrementalRun breaks operations on the stores in every way and lets the run end in every way. Whatever came of
// it, the next run finds what is missing: each row is there once.
func TestFaultSweepOfIncrementalRun(t *testing.T) {
	for table, change := range map[string]func(*testTable){"append table": func(*testTable) {}, "key table": keyed("id")} {
		base := newBase(t, incremental, change)
		ends := endings()
		ends["settled by the next run"] = func(s *sweep, _ []step) { s.next("r2") }
		for fault, choose := range faults() {
			for ending, end := range ends {
				t.Run(table+", "+fault+", "+ending, func(t *testing.T) {
					t.Parallel()
					points := 0
					for broke := true; broke; points += strideOf(23) {
						synctest.Test(t, func(t *testing.T) {
							s := newSweep(t, base, false)
							incremental(&s.job.Tables[0])
							change(&s.job.Tables[0])
							broke = s.once(func(n int) faultio.Fault { return choose(points, n) }, end)
							s.next("r3")
							require.Equal(t, s.fresh, s.rows())
							require.Equal(t, map[string]string{"one/shop/a": "13", "one/shop/b": "111"}, s.kept())
							require.Empty(t, list(t, s.staging, "/orders/runs/"), "no sorted row is left")
							s.tidy()
						})
						if t.Failed() {
							t.Fatalf("operation %d", points)
						}
					}
					require.Greater(t, points, 100)
				})
			}
		}
	}
}

// next makes a whole run in a process without faults.
func (s *sweep) next(id string) {
	s.t.Helper()
	run, ctx := part(id), s.t.Context()
	_, err := s.later.prepare(ctx, activities.PrepareInput{Job: s.job.json(s.t), Run: id})
	require.NoError(s.t, err)
	planned, err := s.later.plan(ctx, activities.PlanInput{TableRun: run})
	require.NoError(s.t, err)
	for unit := range planned.Units {
		_, err := s.later.write(ctx, activities.WriteInput{TableRun: run, Unit: unit})
		require.NoError(s.t, err)
	}
	if len(s.job.Tables[0].PrimaryKey) > 0 {
		merges, err := s.later.planMerges(ctx, activities.PlanMergesInput{TableRun: run})
		require.NoError(s.t, err)
		for n := range merges.Merges {
			_, err := s.later.merge(ctx, activities.MergeInput{TableRun: run, Merge: n})
			require.NoError(s.t, err)
		}
	}
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := s.later.commit(ctx, activities.CommitInput{TableRun: run})
			return err
		},
		func(ctx context.Context) error {
			_, err := s.later.clean(ctx, activities.CleanInput{TableRun: run})
			return err
		},
	} {
		require.NoError(s.t, do(ctx))
	}
}
