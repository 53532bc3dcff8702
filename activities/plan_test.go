package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

func (w *world) ledger(run string) *ledger.Ledger { return ledger.Open(w.staging, part(run).Key) }

func (w *world) planOf(run string) *ledger.Plan {
	w.t.Helper()
	p, err := w.ledger(run).Plan(w.t.Context())
	require.NoError(w.t, err)
	require.NotNil(w.t, p)
	return p
}

func TestPlanOfANewTarget(t *testing.T) {
	w := newWorld(t)
	planned := w.begin(orders(), "r1")
	require.Equal(t, &activities.Planned{
		Shards: 2, Splits: 6, Units: 6, Rows: 10, Bytes: 100, Pending: []activities.Range{{From: 0, To: 6}},
	}, planned)
	fields := w.table().Schema().Fields
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	require.Equal(t, []string{"id", "name", "_database", "_table"}, names)
	require.Equal(t, "BIGINT NOT NULL", fields[0].Type.String())
	require.Equal(t, snapshot.ID(1), w.pinned("r1"), "what comes after snapshot 0 is kept")
	require.Zero(t, w.latest())
	require.Empty(t, w.dataFiles())
	p := w.planOf("r1")
	require.Equal(t, "split", p.Consistency)
	require.Len(t, p.Shapes, 1, "shards alike share a shape")
}

func TestPlanOfAnEqualTarget(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	// The source's column need not allow nulls where the target does.
	for i := range w.source().shards {
		w.source().shards[i].columns = []source.Column{nameColumn(), idColumn()}
	}
	w.begin(orders(), "r2")
	p := w.planOf("r2")
	require.Equal(t, int64(1), p.Base)
	require.Equal(t, "id", p.Shapes[0].Outputs[0].Column.Name, "outputs are in the target's order")
	require.Equal(t, snapshot.ID(2), w.pinned("r2"))
}

func TestPlanRefusesADifferentTarget(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	before := list(t, w.warehouse, "")
	extra := idColumn()
	extra.Name = "extra"
	for i := range w.source().shards {
		w.source().shards[i].columns = []source.Column{idColumn(), extra}
	}
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders(func(t *testTable) { t.Partition, t.Drift = []string{"id"}, "strict" }).json(t), Run: "r2"})
	require.NoError(t, err)
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r2")})
	refused(t, err, activities.TypePlanRefused, "column extra BIGINT NOT NULL is only in the source", "column name STRING is only in the target",
		"the target is partitioned by (), the job says (id)", "name another target")
	require.Equal(t, before, list(t, w.warehouse, ""), "a refused plan changes nothing")
	require.Equal(t, activities.StateAborted, w.abortRun("r2", false).State)
	require.Empty(t, list(t, w.staging, "/r2"))
}

func TestPlanRefusesNothing(t *testing.T) {
	w := newWorld(t)
	w.source().shards = nil
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r1"})
	require.NoError(t, err)
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r1")})
	refused(t, err, activities.TypePlanRefused, "no shard matches")
	require.Empty(t, list(t, w.warehouse, ""))
}

func TestPlanSharesShapesAndPacks(t *testing.T) {
	w := newWorld(t)
	other := shard("c", 200, 5)
	other.columns = []source.Column{nameColumn(), idColumn()} // another order is the same shape: outputs are by name
	wider := shard("d", 300, 3)
	wider.columns[1].Definition = "varchar(99)"
	elsewhere := shard("e", 400, 1)
	elsewhere.Instance = "two"
	w.source().shards = append(w.source().shards, other, wider, elsewhere)
	planned := w.begin(orders(func(t *testTable) { t.PackRows = 7 }), "r1")
	p := w.planOf("r1")
	require.Len(t, p.Shapes, 2)
	// 2+2+1 and 2, then 2+1 and 2+2, then 1 and 2+1, and the other instance alone.
	require.Equal(t, 4, planned.Units)
	require.Equal(t, 12, planned.Splits)
	rows := map[int]int64{}
	splits := 0
	for unit := range planned.Units {
		u, err := w.ledger("r1").Unit(t.Context(), p, unit)
		require.NoError(t, err)
		for _, s := range u.Splits {
			rows[unit] += s.Split.Rows
			splits++
		}
	}
	require.Equal(t, map[int]int64{0: 7, 1: 7, 2: 4, 3: 1}, rows)
	require.Equal(t, 12, splits)
	for unit := range planned.Units {
		w.writeUnit("r1", unit)
	}
	w.commitRun("r1")
	require.ElementsMatch(t, w.source().lines(), w.rows())
}

func TestPlanIsTakenUpWithItsHoles(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(), "r1")
	for _, unit := range []int{1, 2, 4} {
		w.writeUnit("r1", unit)
	}
	w.source().shards = nil // the plan stands whatever becomes of the source
	require.NoError(t, w.warehouse.Delete(t.Context(), "ods.db/orders/consumer/consumer-tributary-r1"))
	planned, err := call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r1")})
	require.NoError(t, err)
	require.Equal(t, []activities.Range{{From: 0, To: 1}, {From: 3, To: 4}, {From: 5, To: 6}}, planned.Pending)
	require.Nil(t, planned.Done)
	require.Equal(t, snapshot.ID(1), w.pinned("r1"), "its snapshots are pinned again")
}

func TestPlanOfAnEndedRun(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	planned, err := call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r1")})
	require.NoError(t, err)
	require.Empty(t, planned.Pending)
	require.Equal(t, int64(1), planned.Done.Snapshot)
	w.tidy()

	w.begin(orders(), "r2")
	w.abortRun("r2", false)
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r2")})
	refused(t, err, activities.TypeAborted, "start a new run")
	w.tidy()
}

// A stalled attempt to plan may go on when another has planned already: the units of the plan that stands must stay.
func TestPlanOfAStalledAttemptChangesNothing(t *testing.T) {
	w := newWorld(t)
	stalled := w.with(once(func(path string) bool { return path == ledgerFile("r1", "plan.json") }, func() {
		w.source().perSplit = 5
		_, err := w.plan(t.Context(), activities.PlanInput{TableRun: part("r1")})
		require.NoError(t, err)
		w.writeUnit("r1", 0)
		w.foreign()
	}))
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders(appending).json(t), Run: "r1"})
	require.NoError(t, err)
	planned, err := call(t.Context(), stalled.plan, activities.PlanInput{TableRun: part("r1")})
	require.NoError(t, err)
	require.Equal(t, []activities.Range{{From: 1, To: 2}}, planned.Pending, "the plan that stands is taken up")
	require.Equal(t, snapshot.ID(1), w.pinned("r1"), "and its base is pinned")
	w.writeUnit("r1", 1)
	w.commitRun("r1")
	require.ElementsMatch(t, append(w.source().lines(), "foreign/foreign 1 x"), w.rows())
}

// The run is given up while its plan is being made: nothing of it stays.
func TestPlanOfARunThatIsGivenUp(t *testing.T) {
	w := newWorld(t)
	for _, at := range []string{ledgerFile("r1", "plan.json"), "ods.db/orders/consumer/consumer-tributary-r1"} {
		stalled := w.with(once(func(path string) bool { return path == at }, func() {
			require.Equal(t, activities.StateAborted, w.abortRun("r1", false).State)
		}))
		_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r1"})
		require.NoError(t, err)
		_, err = call(t.Context(), stalled.plan, activities.PlanInput{TableRun: part("r1")})
		refused(t, err, activities.TypeAborted)
		require.Empty(t, list(t, w.staging, ""))
		w.tidy()
	}
}

func TestExplainWritesNothing(t *testing.T) {
	w := newWorld(t)
	explain := (&activities.Explainer{Env: w.process}).Explain
	x, err := call(t.Context(), explain, activities.ExplainInput{Job: orders().json(t), Table: "orders"})
	require.NoError(t, err)
	require.True(t, x.Create)
	require.Equal(t, 6, x.Splits)
	require.Equal(t, "name of the table", x.Columns[3].Source)
	require.Empty(t, list(t, w.warehouse, ""))
	require.Empty(t, list(t, w.staging, ""))
	w.run(orders(), "r1")
	x, err = call(t.Context(), explain, activities.ExplainInput{Job: orders().json(t), Table: "orders"})
	require.NoError(t, err)
	require.False(t, x.Create)
	require.True(t, x.Replace)
	require.Equal(t, int64(1), x.Base)
}

func TestPrepareRefuses(t *testing.T) {
	w := newWorld(t)
	owner := "first"
	prepare := func(job string, run string, resume bool) error {
		_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: []byte(job), Run: run, Owner: owner, Resume: resume})
		return err
	}
	good := string(orders().json(t))
	for _, run := range []string{"", "a/b", "..", "-x", "ünïcode", string(make([]byte, 300))} {
		refused(t, prepare(good, run, false), activities.TypeConfig, "run id")
	}
	refused(t, prepare(`{"tables":[]}`, "r1", false), activities.TypeConfig, "no job")
	refused(t, prepare(good, "r1", true), activities.TypeConfig, "no run r1 of job shop")
	require.Empty(t, list(t, w.staging, ""))
	require.NoError(t, prepare(good, "r1", false))
	require.NoError(t, prepare(good, "r1", false), "a retry")
	require.NoError(t, prepare(good, "r1", true))
	before := list(t, w.staging, "")
	owner = "second"
	refused(t, prepare(good, "r1", false), activities.TypeConfig, "exists already")
	refused(t, prepare(string(orders(func(t *testTable) { t.Target = "other" }).json(t)), "r1", false), activities.TypeConfig, "exists already")
	require.Equal(t, before, list(t, w.staging, ""))
}

func TestPrepareListsTables(t *testing.T) {
	w := newWorld(t)
	job := orders()
	job.Tables = append(job.Tables, testTable{Name: "items", Target: "items"})
	p, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: job.json(t), Run: "r1"})
	require.NoError(t, err)
	require.Equal(t, 2, p.Settings.Parallelism)
	require.Len(t, p.Tables, 2)
	require.Equal(t, "memory://warehouse ods.items", p.Tables[1].Target)
	require.Equal(t, activities.WorkflowID(warehouseURI, catalog.Identifier{Database: "ods", Table: "items"}), p.Tables[1].WorkflowID)
	require.NotEqual(t, p.Tables[0].WorkflowID, p.Tables[1].WorkflowID)
}

// The run ends while a stalled attempt takes its plan up: nothing stays pinned.
func TestPlanTakenUpWhileTheRunEnds(t *testing.T) {
	w := newWorld(t)
	w.load(orders(), "r1")
	stalled := w.with(once(func(path string) bool { return path == "ods.db/orders/consumer/consumer-tributary-r1" }, func() { w.commitRun("r1") }))
	planned, err := call(t.Context(), stalled.plan, activities.PlanInput{TableRun: part("r1")})
	require.NoError(t, err)
	require.Equal(t, int64(1), planned.Done.Snapshot)
	require.Zero(t, w.pinned("r1"))
}

// A run that waited long for its turn does not take itself for an old one.
func TestPlanOfARunThatWaited(t *testing.T) {
	w := newWorld(t)
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r1"})
	require.NoError(t, err)
	p := &process{staging: aged{w.staging}, warehouse: w.warehouse, sources: w.sources}
	_, err = call(t.Context(), p.plan, activities.PlanInput{TableRun: part("r1")})
	require.NoError(t, err)
	require.True(t, exists(t, w.staging, "shop/r1/job.json"))
	w.writeUnit("r1", 0)
}

// A refresh from fewer shards than the job's last one says so in the plan and in the result: a right that is gone looks like
// a table that is gone.
func TestFewerShardsThanLastTimeAreNoted(t *testing.T) {
	w := newWorld(t)
	require.Empty(t, w.run(orders(), "r1").Notes)
	require.Empty(t, w.run(orders(), "r2").Notes)
	all := w.source().shards
	w.source().shards = all[:1]
	explain := (&activities.Explainer{Env: w}).Explain
	x, err := call(t.Context(), explain, activities.ExplainInput{Job: orders().json(t), Table: "orders"})
	require.NoError(t, err)
	require.Contains(t, x.Losses[0], "1 shards where snapshot 2 was made of 2")
	require.Empty(t, w.run(orders(appending), "r3").Notes, "an append drops nothing")
	require.Len(t, w.run(orders(), "r4").Notes, 0, "compared with the append, which was made of one")
	w.source().shards = all
	require.Empty(t, w.run(orders(), "r5").Notes)
	w.source().shards = all[1:]
	require.Contains(t, w.run(orders(), "r6").Notes[0], "may the account no longer read them?")
}
