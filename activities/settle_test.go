package activities_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
)

// endedBefore makes the end of a run older.
func (w *world) endedBefore(run string, age time.Duration) {
	w.t.Helper()
	r, err := w.ledger(run).Result(w.t.Context())
	require.NoError(w.t, err)
	r.At = r.At.Add(-age)
	data, err := json.Marshal(r)
	require.NoError(w.t, err)
	require.NoError(w.t, fileio.WriteFile(w.t.Context(), w.staging, ledgerFile(run, "result"), data))
}

func TestPlanSettlesAnUndecidedRun(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	w.load(orders(), "r2") // its workflow was terminated
	w.begin(orders(), "r3")
	require.Len(t, w.dataFiles(), 6, "r1's")
	require.Zero(t, w.pinned("r2"))
	refused(t, w.commitError("r2"), activities.TypeAborted)
	for unit := range 6 {
		w.writeUnit("r3", unit)
	}
	w.commitRun("r3")
	w.cleanRun("r3")
	w.tidy()
	require.Len(t, w.rows(), 10)
}

func TestPlanFinishesADecidedRun(t *testing.T) {
	w := newWorld(t)
	w.decided(orders(appending), "r1")
	w.begin(orders(appending), "r2")
	require.Equal(t, snapshot.ID(1), w.latest())
	require.Len(t, w.rows(), 10)
	require.Equal(t, int64(1), w.planOf("r2").Base)
	require.True(t, exists(t, w.staging, ledgerFile("r1", "result")), "its ledger is kept for its retention")
	require.Equal(t, int64(1), w.commitRun("r1").Snapshot)
	w.abortRun("r2", false)
	w.tidy()
}

// Another job syncs into the same target.
func TestPlanSettlesRunsOfOtherJobs(t *testing.T) {
	w := newWorld(t)
	other := orders(appending)
	other.Job = "other"
	w.sources["else"] = w.sources["orders"]
	other.Tables[0].Name = "else"
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: other.json(t), Run: "x1"})
	require.NoError(t, err)
	theirs := activities.TableRun{Key: ledger.Key{Job: "other", Run: "x1", Table: "else"}, Staging: stagingURI}
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: theirs})
	require.NoError(t, err)
	_, err = call(t.Context(), w.write, activities.WriteInput{TableRun: theirs})
	require.NoError(t, err)
	require.Len(t, w.dataFiles(), 1)
	w.begin(orders(), "r1")
	require.Empty(t, w.dataFiles())
	_, err = call(t.Context(), w.write, activities.WriteInput{TableRun: theirs, Unit: 1})
	refused(t, err, activities.TypeAborted)
}

// A job that cannot be opened any more stands in nobody's way.
func TestPlanSettlesARunWhoseJobIsGone(t *testing.T) {
	w := newWorld(t)
	w.decided(orders(appending), "r1")
	require.NoError(t, fileio.WriteFile(t.Context(), w.staging, "shop/r1/job.json", []byte("what an older release wrote")))
	w.run(orders(appending), "r2")
	require.Len(t, w.rows(), 20)
	w.load(orders(appending), "r3")
	require.NoError(t, w.staging.Delete(t.Context(), "shop/r3/job.json"))
	_, err := call(t.Context(), w.abort, activities.AbortInput{TableRun: part("r3")})
	refused(t, err, activities.TypeCorrupt, "no job")
	w.run(orders(appending), "r4")
	require.Len(t, w.rows(), 30)
	w.tidy()
}

func TestPlanSaysWhyItCannotSettle(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	w.decided(orders(), "r2")
	w.foreign()
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r3"})
	require.NoError(t, err)
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r3")})
	refused(t, err, activities.TypeConflict, "settle the earlier run r2 of job shop", "starter abort r2")
	w.abortRun("r2", true)
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r3")})
	require.NoError(t, err)
}

func TestLedgersAreKeptForTheirRetention(t *testing.T) {
	short := orders(func(t *testTable) { t.Retention = time.Minute })
	for name, c := range map[string]struct {
		job  testJob
		age  time.Duration
		kept bool
	}{
		"within":               {orders(), 71 * time.Hour, true},
		"after":                {orders(), 73 * time.Hour, false},
		"short, but within":    {short, 50 * time.Minute, true},
		"short, after an hour": {short, 70 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.run(c.job, "r1")
			w.begin(c.job, "r2")
			w.abortRun("r2", false)
			w.endedBefore("r1", c.age)
			w.endedBefore("r2", c.age)
			w.begin(c.job, "r3")
			for _, run := range []string{"r1", "r2"} {
				require.Equal(t, c.kept, len(list(t, w.staging, "shop/"+run+"/")) > 0, run)
				require.Equal(t, c.kept, len(list(t, w.staging, "/"+run+"/orders")) > 0, run)
			}
			require.Len(t, w.rows(), 10)
		})
	}
}

// A zombie of a run whose ledger is gone finds that it is not wanted.
func TestZombieOfAForgottenRun(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(), "r1")
	stalled := w.with(once(func(p string) bool { return strings.HasPrefix(p, ledgerFile("r1", "attempts")) }, func() {
		w.abortRun("r1", false)
		w.endedBefore("r1", 1000*time.Hour)
		w.begin(orders(), "r2")
		require.Empty(t, list(t, w.staging, "shop/r1/"))
	}))
	_, err := call(t.Context(), stalled.write, unitOf("r1", 0))
	refused(t, err, activities.TypeAborted, "no plan")
	require.Empty(t, w.dataFiles())
}

// A run without a plan may be waiting for its turn, until it is too old for that.
func TestRunsWithoutAPlanAreForgottenLater(t *testing.T) {
	w := newWorld(t)
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r1"})
	require.NoError(t, err)
	_, err = call(t.Context(), w.dying(false, creates("plan.json")).plan, activities.PlanInput{TableRun: part("r1")})
	require.Error(t, err)
	w.begin(orders(), "r2")
	require.True(t, exists(t, w.staging, "shop/r1/job.json"))
	w.abortRun("r2", false)
	_, err = call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r3"})
	require.NoError(t, err)
	p := &process{staging: aged{w.staging}, warehouse: w.warehouse, sources: w.sources}
	_, err = call(t.Context(), p.plan, activities.PlanInput{TableRun: part("r3")})
	require.NoError(t, err)
	require.Empty(t, list(t, w.staging, "/r1/"))
	require.Zero(t, w.pinned("r1"))
}

// Under one run id a job had asked for another target before it was refused: that run's ledger is none of this target's.
func TestMarksOfAnotherTargetHarmNobody(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(), "r1")
	w.writeUnit("r1", 0)
	w.sources["orders2"] = newSource(shard("z", 0, 1))
	second := orders(func(t *testTable) { t.Name, t.Target = "orders2", "orders2" })
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: second.json(t), Run: "r2"})
	require.NoError(t, err)
	r2 := part("r2")
	r2.Table = "orders2"
	var mark string
	for _, p := range list(t, w.staging, "_open/") {
		if strings.HasSuffix(p, "/r2/orders2") {
			mark = p
		}
	}
	stray := mark[:len("_open/")+16] + "/shop/r1/orders"
	data, err := json.Marshal(part("r1").Key)
	require.NoError(t, err)
	require.NoError(t, fileio.WriteFile(t.Context(), w.staging, stray, data))
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: r2})
	require.NoError(t, err)
	require.False(t, exists(t, w.staging, stray))
	d, err := w.ledger("r1").Decision(t.Context(), 1)
	require.NoError(t, err)
	require.Empty(t, d)
	for unit := 1; unit < 6; unit++ {
		w.writeUnit("r1", unit)
	}
	w.commitRun("r1")
	require.Len(t, w.rows(), 10)
}

// A table whose ledger was removed after its retention is not planned anew by a resume of its run: it would be loaded twice.
func TestResumeAfterRetentionLeavesTheTableOut(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	job := activities.PrepareInput{Job: orders().json(t), Run: "r1", Resume: true}
	p, err := call(t.Context(), w.prepare, job)
	require.NoError(t, err)
	require.Len(t, p.Tables, 1)
	require.Empty(t, p.Gone)
	key := part("r1").Key
	for _, m := range list(t, w.staging, "_open") {
		require.NoError(t, w.staging.Delete(t.Context(), m))
	}
	p, err = call(t.Context(), w.prepare, job)
	require.NoError(t, err)
	require.Empty(t, p.Tables)
	require.Equal(t, key, p.Gone[0].Key)
}

// A committed run whose message files are gone is over all the same: the next run is not held up, and no committed file goes.
func TestDamagedMessagesOfACommittedRunAreNotInTheWay(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	for _, m := range list(t, w.staging, "shop/r1/orders/messages") {
		require.NoError(t, w.staging.Delete(t.Context(), m))
	}
	w.run(orders(), "r2")
	require.Equal(t, snapshot.ID(2), w.latest())
}
