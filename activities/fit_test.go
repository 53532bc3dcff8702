package activities_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/source"
)

// columnsOf gives every shard these columns, such as "id INT NOT NULL".
func (w *world) columnsOf(texts ...string) {
	w.t.Helper()
	for i := range w.source().shards {
		w.source().shards[i].columns = w.columns(texts...)
	}
}

func (w *world) columns(texts ...string) []source.Column {
	w.t.Helper()
	var columns []source.Column
	for _, text := range texts {
		name, kind, _ := strings.Cut(text, " ")
		t, err := schema.ParseType(kind)
		require.NoError(w.t, err)
		columns = append(columns, source.Column{Name: name, Definition: strings.ToLower(kind), Type: t})
	}
	return columns
}

// fields are the columns of the target's newest schema, such as "id INT NOT NULL".
func (w *world) fields() []string {
	w.t.Helper()
	var out []string
	for _, f := range w.table().Schema().Fields {
		out = append(out, f.Name+" "+f.Type.String())
	}
	return out
}

func (w *world) explain(job testJob) (*activities.Explanation, error) {
	w.t.Helper()
	return call(w.t.Context(), (&activities.Explainer{Env: w.process}).Explain, activities.ExplainInput{Job: job.json(w.t), Table: "orders"})
}

// A source that grew wider than its target changes the target, once, and rows in place stay as they are.
func TestPlanEvolvesTheTarget(t *testing.T) {
	w := newWorld(t)
	w.columnsOf("id INT NOT NULL", "name STRING")
	w.run(orders(), "r1")
	first := w.rows()
	require.Equal(t, []string{"id INT NOT NULL", "name STRING", "_database STRING NOT NULL", "_table STRING NOT NULL"}, w.fields())

	w.columnsOf("NAME STRING", "id BIGINT", "extra BIGINT NOT NULL")
	before := list(t, w.warehouse, "")
	x, err := w.explain(orders(appending))
	require.NoError(t, err)
	require.Len(t, x.Alter, 3)
	require.Contains(t, strings.Join(x.Alter, "; "), "BIGINT")
	require.Contains(t, strings.Join(x.Alter, "; "), "extra")
	require.Equal(t, before, list(t, w.warehouse, ""), "explaining writes nothing")

	result := w.run(orders(appending), "r2")
	require.Contains(t, result.Notes[0], "schema is altered")
	require.Equal(t, []string{"id BIGINT", "name STRING", "_database STRING NOT NULL", "_table STRING NOT NULL", "extra BIGINT"}, w.fields())
	require.EqualValues(t, 1, w.table().Schema().ID, "all changes are one version")
	require.ElementsMatch(t, append(first, w.source().lines()...), w.rows())
	require.Equal(t, first, w.rows(1))

	// What is narrower goes into the wider type, what is gone is NULL, and nothing is altered again.
	w.columnsOf("id TINYINT NOT NULL")
	x, err = w.explain(orders())
	require.NoError(t, err)
	require.Empty(t, x.Alter)
	require.Equal(t, "NULL", x.Columns[1].Source)
	result = w.run(orders(), "r3")
	require.Contains(t, strings.Join(result.Notes, "\n"), "column name STRING of the target is in no shard: it is NULL")
	require.EqualValues(t, 1, w.table().Schema().ID)
	require.Contains(t, w.rows(), "shop/a 4 NULL")
	require.Len(t, w.rows(), 10)
	w.tidy()
}

// What would change a value, or lose where rows belong, is refused with every difference, and nothing is altered.
func TestPlanRefusesWhatTheTargetCannotHold(t *testing.T) {
	for name, c := range map[string]struct {
		target, source []string
		job            func(*testTable)
		says           []string
	}{
		"kinds":      {[]string{"id INT", "name STRING", "x INT"}, []string{"id INT", "name INT", "x STRING"}, nil, []string{"column name is STRING in the target and INT in the source", "column x is INT"}},
		"number":     {[]string{"id BIGINT NOT NULL"}, []string{"id DECIMAL(20,0) NOT NULL"}, nil, []string{"column id is BIGINT NOT NULL in the target and DECIMAL(20, 0)"}},
		"not null":   {[]string{"id INT", "must INT NOT NULL"}, []string{"id INT", "new INT"}, nil, []string{"column must INT NOT NULL is only in the target"}},
		"other":      {[]string{"a INT"}, []string{"b INT"}, nil, []string{"none of the source's columns is in the target"}},
		"partition":  {[]string{"id INT", "p INT"}, []string{"id INT", "p BIGINT"}, func(t *testTable) { t.Partition = []string{"p"} }, []string{"column p is INT in the target and BIGINT in the source"}},
		"no p":       {[]string{"id INT", "p INT"}, []string{"id INT"}, func(t *testTable) { t.Partition = []string{"p"} }, []string{"column p INT is only in the target"}},
		"strict":     {[]string{"id INT"}, []string{"id BIGINT"}, func(t *testTable) { t.Drift = "strict" }, []string{"column id is INT in the target and BIGINT in the source"}},
		"strict too": {[]string{"id BIGINT"}, []string{"id INT"}, func(t *testTable) { t.Drift = "strict" }, []string{"column id is BIGINT in the target and INT in the source"}},
		"null":       {[]string{"id BIGINT NOT NULL"}, []string{"id BIGINT"}, func(t *testTable) { t.Drift = "strict" }, []string{"column id is BIGINT NOT NULL in the target and BIGINT in the source"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			job := orders()
			if c.job != nil {
				job = orders(c.job)
			}
			w.columnsOf(c.target...)
			w.begin(job, "r1")
			before := list(t, w.warehouse, "/schema/")
			w.columnsOf(c.source...)
			_, err := w.explain(job)
			refused(t, err, activities.TypePlanRefused, append(c.says, "another schema")...)
			require.Equal(t, before, list(t, w.warehouse, "/schema/"))
		})
	}
}

// Paimon's own library reads a target that was altered: rows from before and after, in one type.
func TestPaimonReadsAnEvolvedTarget(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	local, err := fileio.OpenLocal(dir)
	require.NoError(t, err)
	w.warehouse = local
	w.source().shards = []memoryShard{shard("a", 1, 2)}
	w.columnsOf("id INT NOT NULL", "name STRING")
	w.run(orders(), "r1")
	w.columnsOf("id BIGINT NOT NULL", "extra BIGINT NOT NULL", "name STRING")
	w.run(orders(appending), "r2")
	w.columnsOf("id SMALLINT")
	w.run(orders(appending), "r3")
	row := func(id, name, extra string) string {
		return fmt.Sprintf(`{"id":%s,"name":%s,"_database":"shop","_table":"a","extra":%s}`, id, name, extra)
	}
	referee := testenv.Referee(t)
	require.ElementsMatch(t, []string{
		row(`"1"`, `"n1"`, "null"), row(`"2"`, `"n2"`, "null"), row(`"1"`, `"n1"`, `"1"`), row(`"2"`, `"n2"`, `"2"`),
		row(`"1"`, "null", "null"), row(`"2"`, "null", "null"),
	}, referee.Read(t, dir, "ods.orders", 0))
	require.Len(t, referee.Read(t, dir, "ods.orders", 1), 2)
}

// A crash at any operation after the target was altered, or while it is, leaves a target that the next try plans with.
func TestPlanSurvivesACrashAroundTheAlteration(t *testing.T) {
	for _, after := range []bool{false, true} {
		for _, file := range []string{"/schema/schema-1", "consumer-tributary-r2", ledgerFile("r2", "plan.json")} {
			w := newWorld(t)
			w.columnsOf("id INT NOT NULL", "name STRING")
			w.run(orders(), "r1")
			w.columnsOf("id BIGINT NOT NULL", "name STRING", "extra INT")
			_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r2"})
			require.NoError(t, err)
			_, err = w.dying(after, creates(file)).plan(t.Context(), activities.PlanInput{TableRun: part("r2")})
			require.Error(t, err)
			w.load(orders(), "r2")
			require.EqualValues(t, 1, w.table().Schema().ID)
			w.commitRun("r2")
			w.cleanRun("r2")
			require.ElementsMatch(t, w.source().lines(), w.rows())
			w.tidy()
		}
	}
}

// Somebody else alters the target at the same time: both changes are in it, and the run writes with both.
func TestPlanKeepsAnotherAlteration(t *testing.T) {
	for name, change := range map[string]schema.Change{
		"another column": schema.AddColumn(schema.Field{Name: "theirs", Type: schema.Of(schema.Int)}, schema.First()),
		"the same":       schema.AddColumn(schema.Field{Name: "extra", Type: schema.Of(schema.BigInt)}, schema.Position{}),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.columnsOf("id INT NOT NULL", "name STRING")
			w.run(orders(), "r1")
			w.columnsOf("id BIGINT NOT NULL", "name STRING", "extra INT")
			_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r2"})
			require.NoError(t, err)
			stalled := w.with(once(func(path string) bool { return strings.HasSuffix(path, "/schema/schema-1") }, func() {
				_, err := catalog.NewFilesystem(w.warehouse).AlterTable(t.Context(), target("orders"), change)
				require.NoError(t, err)
			}))
			planned, err := call(t.Context(), stalled.plan, activities.PlanInput{TableRun: part("r2")})
			require.NoError(t, err)
			for unit := range planned.Units {
				w.writeUnit("r2", unit)
			}
			w.commitRun("r2")
			require.ElementsMatch(t, w.source().lines(), w.rows())
			fields := strings.Join(w.fields(), ", ")
			require.Contains(t, fields, "id BIGINT NOT NULL")
			require.Equal(t, 1, strings.Count(fields, "extra "))
			require.Equal(t, name == "another column", strings.Contains(fields, "theirs INT"))
		})
	}
}

// A target that may not be altered refuses the plan; another try would meet the same.
func TestPlanOfATargetThatMayNotBeAltered(t *testing.T) {
	w := newWorld(t)
	w.columnsOf("id INT NOT NULL")
	w.run(orders(), "r1")
	w.columnsOf("id BIGINT NOT NULL")
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r2"})
	require.NoError(t, err)
	denied := w.faulty(func(op faultio.Op) faultio.Fault {
		if creates("/schema/schema-1")(op) {
			return faultio.FailBefore
		}
		return faultio.None
	})
	_, err = denied.plan(t.Context(), activities.PlanInput{TableRun: part("r2")})
	require.Error(t, err)
	require.False(t, errors.Is(err, activities.ErrPlanRefused), "a store that fails may work the next time")
	require.ErrorContains(t, err, "alter ods.orders")
}

func quarantined(t *testTable) { t.Drift = "quarantine" }

// Shards that cannot be merged are left out by name, and no refresh drops rows of theirs that are in the table.
func TestQuarantine(t *testing.T) {
	w := newWorld(t)
	w.source().drift = source.DriftQuarantine
	odd := shard("odd", 500, 3)
	odd.columns = w.columns("id STRING", "name STRING")
	all := append(w.source().shards, shard("c", 200, 2), shard("d", 300, 2), odd)
	w.source().shards = all
	lines := func(but ...string) []string {
		var out []string
		for _, s := range all {
			if s.Table != but[0] && s.Table != but[len(but)-1] {
				out = append(out, s.lines()...)
			}
		}
		return out
	}
	x, err := w.explain(orders(quarantined))
	require.NoError(t, err)
	require.Equal(t, 1, x.LeftOutCount)
	require.Equal(t, 4, x.ShardCount)
	require.Equal(t, "odd", x.LeftOut[0].Shard.Table)
	require.Contains(t, x.LeftOut[0].String(), "one/shop/odd (about 3 rows)")

	result := w.run(orders(quarantined), "r1")
	require.Contains(t, result.Notes[0], "1 of 5 shards are LEFT OUT")
	require.Contains(t, result.Notes[0], "one/shop/odd (about 3 rows)")
	require.ElementsMatch(t, lines("odd"), w.rows())
	result = w.run(orders(quarantined), "r2") // none of its rows is there to be dropped
	require.Equal(t, int64(2), result.Snapshot)

	all[1].columns = w.columns("id STRING", "name STRING")
	_, err = w.explain(orders(quarantined))
	refused(t, err, activities.TypePlanRefused, "2 of 5 shards", "one/shop/b", "snapshot 2 has 14", "exclude them", "mode: append")
	w.run(orders(quarantined, appending), "r3") // drops nothing
	require.ElementsMatch(t, append(lines("odd"), lines("odd", "b")...), w.rows())
	all[1].columns = all[0].columns
	_, err = w.explain(orders(quarantined))
	refused(t, err, activities.TypePlanRefused, "1 of 5 shards") // what an append left out says nothing of the rows before

	w.source().shards = all[:4]
	w.run(orders(quarantined), "r4")
	require.ElementsMatch(t, lines("odd"), w.rows())
	w.source().shards = all
	_, err = w.explain(orders(quarantined))
	refused(t, err, activities.TypePlanRefused, "one/shop/odd")
}

// A compaction between two refreshes does not hide what the last one left out.
func TestQuarantineAfterACompaction(t *testing.T) {
	w := newWorld(t)
	w.source().drift = source.DriftQuarantine
	odd := shard("odd", 500, 3)
	odd.columns = w.columns("id STRING", "name STRING")
	w.source().shards = append(w.source().shards, odd)
	w.run(orders(quarantined), "r1")
	made, err := w.snapshots().Latest(t.Context())
	require.NoError(t, err)
	compacted := *made
	compacted.ID, compacted.CommitUser, compacted.CommitKind, compacted.Properties = 2, "foreign", snapshot.Compact, nil
	require.NoError(t, w.snapshots().Publish(t.Context(), &compacted))
	require.Equal(t, snapshot.ID(2), w.latest())
	_, err = w.explain(orders(quarantined))
	require.NoError(t, err)
	w.foreign()
	_, err = w.explain(orders(quarantined))
	refused(t, err, activities.TypePlanRefused, "one/shop/odd")
}
