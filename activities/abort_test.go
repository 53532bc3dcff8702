package activities_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
)

func TestAbortBeforeThePlanLeavesNothing(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, activities.StateAborted, w.abortRun("unknown", false).State)
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r1"})
	require.NoError(t, err)
	a := w.abortRun("r1", false)
	require.Equal(t, activities.StateAborted, a.State)
	require.Equal(t, "nothing was committed", a.Message)
	require.Empty(t, list(t, w.staging, ""))
	require.Empty(t, list(t, w.warehouse, ""))

	// The planner died right before the plan: snapshots are pinned and units are there.
	_, err = call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r2"})
	require.NoError(t, err)
	_, err = call(t.Context(), w.dying(false, creates("plan.json")).plan, activities.PlanInput{TableRun: part("r2")})
	require.Error(t, err)
	require.NotZero(t, w.pinned("r2"))
	require.NotEmpty(t, list(t, w.staging, "/units/"))
	w.abortRun("r2", false)
	require.Empty(t, list(t, w.staging, ""))
	w.tidy()
}

// A table of the run whose turn has not come needs the job.
func TestAbortKeepsTheJobForOtherTables(t *testing.T) {
	w := newWorld(t)
	w.sources["items"] = newSource(shard("x", 0, 1))
	job := orders()
	job.Tables = append(job.Tables, testTable{Name: "items", Target: "items"})
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: job.json(t), Run: "r1"})
	require.NoError(t, err)
	w.abortRun("r1", false)
	items := part("r1")
	items.Table = "items"
	planned, err := call(t.Context(), w.plan, activities.PlanInput{TableRun: items})
	require.NoError(t, err)
	require.Equal(t, 1, planned.Units)
	_, err = call(t.Context(), w.abort, activities.AbortInput{TableRun: items})
	require.NoError(t, err)
	require.True(t, exists(t, w.staging, "shop/r1/job.json"), "as long as the ledger")
}

func TestAbortOfAnUndecidedRun(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	old := w.rows()
	w.begin(orders(), "r2")
	w.writeUnit("r2", 0)
	w.writeUnit("r2", 3)
	a := w.abortRun("r2", false)
	require.Equal(t, activities.StateAborted, a.State)
	require.Equal(t, 2, a.Deleted)
	require.Equal(t, old, w.rows())
	w.tidy()
	d, err := w.ledger("r2").Decision(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, ledger.Abort, d)
	a = w.abortRun("r2", true)
	require.Equal(t, activities.StateAborted, a.State)
	require.Zero(t, a.Deleted)
	require.Equal(t, snapshot.ID(1), w.latest(), "no fence is needed")
}

func TestAbortOfACommittedRun(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	for _, fence := range []bool{false, true} {
		a := w.abortRun("r1", fence)
		require.Equal(t, activities.StateCommitted, a.State)
		require.Equal(t, int64(1), a.Snapshot)
		require.Len(t, w.rows(), 10)
		w.tidy()
	}
}

// decided is a run whose committer died between its decision and its snapshot.
func (w *world) decided(job testJob, run string) {
	w.t.Helper()
	w.load(job, run)
	_, err := call(w.t.Context(), w.dying(true, creates("decision-1")).commit, activities.CommitInput{TableRun: part(run)})
	require.Error(w.t, err)
	d, err := w.ledger(run).Decision(w.t.Context(), 1)
	require.NoError(w.t, err)
	require.Equal(w.t, ledger.Commit, d)
}

func TestAbortAfterTheDecisionDeletesNothing(t *testing.T) {
	w := newWorld(t)
	w.decided(orders(), "r1")
	a := w.abortRun("r1", false)
	require.Equal(t, activities.StateNotCommitted, a.State)
	require.Contains(t, a.Message, "starter resume r1")
	require.Len(t, w.dataFiles(), 6)
	require.Equal(t, int64(1), w.commitRun("r1").Snapshot)
	require.Len(t, w.rows(), 10)
}

func TestAbortAfterTheDecisionSaysWhatRefusesIt(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	w.decided(orders(), "r2")
	w.foreign()
	a := w.abortRun("r2", false)
	require.Equal(t, activities.StateRefused, a.State)
	require.Contains(t, a.Message, "by foreign")
	require.Contains(t, a.Message, "starter abort r2")
	require.Len(t, w.dataFiles(), 13)
	a = w.abortRun("r2", true)
	require.Equal(t, activities.StateAborted, a.State)
	require.Equal(t, 6, a.Deleted)
	w.tidy()
	require.Len(t, w.rows(), 11)
}

func TestAbortFencesADecidedCommit(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	old := w.rows()
	w.decided(orders(), "r2")
	var fenced *activities.Aborted
	stalled := w.with(once(func(p string) bool { return strings.HasSuffix(p, "/snapshot-2") }, func() { fenced = w.abortRun("r2", true) }))
	_, err := call(t.Context(), stalled.commit, activities.CommitInput{TableRun: part("r2")})
	refused(t, err, activities.TypeAborted)
	require.Equal(t, activities.StateAborted, fenced.State)
	require.Equal(t, snapshot.ID(2), w.latest())
	require.Equal(t, old, w.rows())
	w.tidy()
	refused(t, w.commitError("r2"), activities.TypeAborted)
	require.Equal(t, activities.StateAborted, w.abortRun("r2", true).State)
	require.Equal(t, snapshot.ID(2), w.latest(), "one fence")
}

// Whoever fenced the commit off died before removing a file: the next one, whoever it is, finishes the work.
func TestAbortThatDiedAfterItsFence(t *testing.T) {
	for name, next := range map[string]func(w *world){
		"abort":  func(w *world) { require.Equal(w.t, activities.StateAborted, w.abortRun("r2", false).State) },
		"fence":  func(w *world) { require.Equal(w.t, activities.StateAborted, w.abortRun("r2", true).State) },
		"commit": func(w *world) { refused(w.t, w.commitError("r2"), activities.TypeAborted) },
		"settle": func(w *world) { w.run(orders(), "r3") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.run(orders(), "r1")
			w.decided(orders(), "r2")
			_, err := call(t.Context(), w.dying(true, creates("/snapshot-2")).abort, activities.AbortInput{TableRun: part("r2"), Fence: true})
			require.Error(t, err)
			require.Len(t, w.dataFiles(), 12)
			next(w)
			w.tidy()
			require.Len(t, w.rows(), 10)
			r, err := w.ledger("r2").Result(t.Context())
			require.NoError(t, err)
			require.Equal(t, ledger.Aborted, r.Outcome)
		})
	}
}

// The committer died after its snapshot and before recording it.
func TestAbortFindsAnUnrecordedCommit(t *testing.T) {
	for _, fence := range []bool{false, true} {
		w := newWorld(t)
		w.load(orders(), "r1")
		_, err := call(t.Context(), w.dying(false, creates("/result")).commit, activities.CommitInput{TableRun: part("r1")})
		require.Error(t, err)
		a := w.abortRun("r1", fence)
		require.Equal(t, activities.StateCommitted, a.State)
		require.Len(t, w.rows(), 10)
		r, err := w.ledger("r1").Result(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(10), r.Counts.RowsRead)
		w.tidy()
	}
}

// dropTable removes the target as a user does who has no more need of it.
func (w *world) dropTable() {
	w.t.Helper()
	for _, p := range list(w.t, w.warehouse, "ods.db/orders/") {
		require.NoError(w.t, w.warehouse.Delete(w.t.Context(), p))
	}
}

func TestAbortOfARunWhoseTableIsGone(t *testing.T) {
	for name, decided := range map[string]bool{"undecided": false, "decided": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.run(orders(), "r1")
			w.run(orders(), "r2")
			if decided {
				w.decided(orders(), "r3")
			} else {
				w.load(orders(), "r3")
			}
			w.dropTable()
			if decided {
				require.Equal(t, activities.StateUnknown, w.abortRun("r3", false).State)
			}
			a := w.abortRun("r3", decided)
			require.Equal(t, activities.StateAborted, a.State, a.Message)
			w.run(orders(), "r4")
			require.ElementsMatch(t, w.source().lines(), w.rows())
		})
	}
}

// Snapshots after the base have expired although they were pinned. The files of the run may be in the table.
func TestAbortInDoubtDeletesNothing(t *testing.T) {
	w := newWorld(t)
	w.load(orders(appending), "r1")
	_, err := call(t.Context(), w.dying(false, creates("/result")).commit, activities.CommitInput{TableRun: part("r1")})
	require.Error(t, err)
	w.foreign()
	require.NoError(t, w.warehouse.Delete(t.Context(), "ods.db/orders/snapshot/snapshot-1"))
	for _, fence := range []bool{false, true} {
		a := w.abortRun("r1", fence)
		require.Equal(t, activities.StateUnknown, a.State)
		require.Contains(t, a.Message, "nothing was deleted")
		require.Len(t, w.rows(), 11)
	}
	require.Equal(t, activities.StateCommitted, w.commitRun("r1").Status, "the commit finds its files")
	require.Equal(t, snapshot.ID(2), w.latest())
	require.Len(t, w.rows(), 11)

	// Nobody names the files of another one: it can be given up, by those who ask for it.
	w.decided(orders(appending), "r2")
	w.foreign()
	w.foreign()
	require.NoError(t, w.warehouse.Delete(t.Context(), "ods.db/orders/snapshot/snapshot-3"))
	require.Equal(t, activities.StateUnknown, w.abortRun("r2", false).State)
	require.Equal(t, activities.StateAborted, w.abortRun("r2", true).State)
	w.tidy()
	require.Len(t, w.rows(), 13)
}

// A plan comes into being between the abort's first look and the removal of the mark.
func TestAbortAndAStalledPlan(t *testing.T) {
	w := newWorld(t)
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r1"})
	require.NoError(t, err)
	stalled, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	planner := w.with(once(func(p string) bool { return strings.HasSuffix(p, "/plan.json") }, func() {
		close(stalled)
		<-goOn
	}))
	go func() {
		defer close(done)
		if _, err := planner.plan(t.Context(), activities.PlanInput{TableRun: part("r1")}); err != nil {
			t.Error(err)
		}
	}()
	<-stalled
	first := true
	aborter := w.faulty(func(op faultio.Op) faultio.Fault {
		if first && op.Kind == faultio.Delete && strings.HasPrefix(op.Path, "_open/") {
			first = false
			close(goOn)
			<-done
		}
		return faultio.None
	})
	_, err = call(t.Context(), aborter.abort, activities.AbortInput{TableRun: part("r1")})
	require.NoError(t, err)
	require.False(t, first)
	require.Empty(t, list(t, w.staging, ""))
	w.tidy()
}

// As long as the snapshots cannot be read nothing is known, and nothing is deleted.
func TestAbortThatCannotLookDeletesNothing(t *testing.T) {
	w := newWorld(t)
	w.load(orders(), "r1")
	blind := w.faulty(func(op faultio.Op) faultio.Fault {
		if op.Kind == faultio.List && strings.HasSuffix(op.Path, "/snapshot") {
			return faultio.FailBefore
		}
		return faultio.None
	})
	for _, fence := range []bool{false, true} {
		_, err := call(t.Context(), blind.abort, activities.AbortInput{TableRun: part("r1"), Fence: fence})
		retried(t, err, activities.TypeInternal)
		require.Len(t, w.dataFiles(), 6)
	}
}
