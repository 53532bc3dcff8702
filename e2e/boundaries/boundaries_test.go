package boundaries

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/app"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/internal/testenv/devserver"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/workflows"
)

var everyPoint = flag.Bool("every-point", false, "try every boundary instead of every fifth")

const (
	taskQueue        = "boundaries"
	passwordVariable = "BOUNDARIES_PASSWORD"
	// rows are in the source, and half of them are in the old table.
	rows  = 60
	units = 3
)

// TestMain lets runs wait beside each other: most of their time they wait for the server.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// mode is how a run loads its table.
type mode struct {
	name string
	// keyed targets have a primary key, and their rows go through a shuffle.
	keyed bool
}

// world is what all runs share.
type world struct {
	client   client.Client
	gate     *gate
	mysql    *testenv.MySQL
	database string
	// all and half are the lines that Paimon prints of the new and of the old table.
	all, half []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Setenv(passwordVariable, "reader")
	w := &world{gate: &gate{byWorkflow: map[string]*boundary{}}, mysql: testenv.Shared(t, testenv.FlavorMariaDB)}
	w.database = w.mysql.NewDatabase(t)
	w.mysql.Exec(t, "USE "+w.database, "CREATE TABLE s_1 (id INT PRIMARY KEY, v VARCHAR(40))",
		fmt.Sprintf("INSERT INTO s_1 SELECT seq, CONCAT('row ', seq) FROM seq_1_to_%d", rows))
	for id := 1; id <= rows; id++ {
		line := fmt.Sprintf(`{"id":"%d","v":"row %[1]d"}`, id)
		w.all = append(w.all, line)
		if id <= rows/2 {
			w.half = append(w.half, line)
		}
	}
	server, err := devserver.Start(t.Context(), "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop() })
	w.client, err = client.DialContext(t.Context(), client.Options{HostPort: server.Address, Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(w.client.Close)
	env := app.NewEnv(&config.Masker{})
	wk := worker.New(w.client, taskQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: 1000, // those that hang hold theirs
		Interceptors:                       []interceptor.WorkerInterceptor{&activities.Interceptor{Mask: env.Masker.Mask}, w.gate},
	})
	app.Register(wk, env, app.Resources{Memory: budget.New(1<<30, nil)})
	require.NoError(t, wk.Start())
	t.Cleanup(wk.Stop)
	return w
}

// table is one target with the runs that load it.
type table struct {
	*world
	t         *testing.T
	mode      mode
	name      string
	warehouse string
	runs      int
}

func (w *world) newTable(t *testing.T, m mode, name string) *table {
	t.Helper()
	return &table{world: w, t: t, mode: m, name: name, warehouse: t.TempDir()}
}

func (tb *table) job(where string) json.RawMessage {
	spec := map[string]any{
		"name": "s", "match": "s_*", "mode": "full-refresh", "where": where, "provenance": false, "split": map[string]any{"count": units},
		"target": map[string]any{"database": "ods", "table": tb.name},
	}
	if tb.mode.keyed {
		spec["primary_key"] = []string{"id"}
		spec["target"].(map[string]any)["bucket"] = 2
	}
	data, err := json.Marshal(map[string]any{
		"job": tb.name, "temporal": map[string]any{"task_queue": taskQueue}, "tables": []any{spec},
		"source": map[string]any{"instances": []any{map[string]any{
			"name": "a", "host": "127.0.0.1", "port": tb.mysql.Port(), "user": "reader", "password": "${env:" + passwordVariable + "}", "databases": tb.database,
		}}},
		"target": map[string]any{"warehouse": "file://" + tb.warehouse},
		"run":    map[string]any{"parallelism": units},
	})
	require.NoError(tb.t, err)
	return data
}

// ids are the workflows of a run.
func (tb *table) ids(run string) []string {
	return []string{run, activities.WorkflowID("file://"+tb.warehouse, catalog.Identifier{Database: "ods", Table: tb.name})}
}

// execute makes a workflow and waits for its end.
func (tb *table) execute(id, name string, input, result any) error {
	tb.t.Helper()
	run, err := tb.client.ExecuteWorkflow(tb.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: taskQueue}, name, input)
	require.NoError(tb.t, err)
	err = run.Get(tb.t.Context(), result)
	var failed *temporal.WorkflowExecutionError
	if err != nil {
		require.ErrorAs(tb.t, err, &failed, "%s", id)
	}
	return err
}

// run makes a run of the whole source, with something at a boundary, and tells whether it says that it has committed.
func (tb *table) run(b *boundary) (id string, committed bool) {
	tb.t.Helper()
	tb.runs++
	id = fmt.Sprintf("%s-%d", tb.name, tb.runs)
	b.stop = func() {
		for _, workflow := range tb.ids(id) {
			var err error
			switch b.fault {
			case cancelledBefore, cancelledAfter:
				err = tb.client.CancelWorkflow(context.Background(), id, "")
			default:
				err = tb.client.TerminateWorkflow(context.Background(), workflow, "", "boundary")
			}
			var gone *serviceerror.NotFound
			if err != nil && !errors.As(err, &gone) {
				tb.t.Errorf("stop %s: %v", workflow, err)
			}
		}
	}
	tb.gate.watch(b, tb.ids(id)...)
	var s workflows.Summary
	err := tb.execute(id, workflows.SyncName, workflows.SyncInput{Job: tb.job(""), Run: id}, &s)
	return id, err == nil && s.Tables[0].Status == activities.StateCommitted
}

// seed loads the old table.
func (tb *table) seed() {
	tb.t.Helper()
	var s workflows.Summary
	require.NoError(tb.t, tb.execute(tb.name+"-old", workflows.SyncName, workflows.SyncInput{Job: tb.job(fmt.Sprintf("id <= %d", rows/2)), Run: tb.name + "-old"}, &s))
	require.Equal(tb.t, activities.StateCommitted, s.Tables[0].Status)
}

func (tb *table) read() []string {
	tb.t.Helper()
	return testenv.Referee(tb.t).Read(tb.t, tb.warehouse, "ods."+tb.name, 0)
}

// wholeOldOrNew requires that a fresh reader sees one of the two tables.
func (tb *table) wholeOldOrNew(committed bool) {
	tb.t.Helper()
	got := tb.read()
	if !committed && len(got) == len(tb.half) {
		require.ElementsMatch(tb.t, tb.half, got)
		return
	}
	require.ElementsMatch(tb.t, tb.all, got)
}

// settle brings a run that has not committed to its end, by going on with it or by giving it up and making another one.
func (tb *table) settle(id string, resume bool) {
	tb.t.Helper()
	if resume {
		var s workflows.Summary
		err := tb.execute(id+"-resumed", workflows.SyncName, workflows.SyncInput{Job: tb.job(""), Run: id, Resume: true}, &s)
		if err == nil {
			require.Equal(tb.t, activities.StateCommitted, s.Tables[0].Status)
			return
		}
		require.Regexp(tb.t, "was given up at|no run of this id", err.Error())
	} else {
		var tables []workflows.AbortedTable
		err := tb.execute(id+"-abort", workflows.AbortName, workflows.AbortRunInput{Job: tb.job(""), Run: id}, &tables)
		if err != nil {
			_, kind := activities.Describe(err)
			require.Contains(tb.t, []string{activities.TypeAborted, activities.TypeConfig}, kind, "%v", err)
		}
	}
	_, committed := tb.run(newBoundary(fails, -1))
	require.True(tb.t, committed, "a run that nothing happens to")
}

// clean requires that nothing is left of runs: no data file that no snapshot names, no sorted rows, nothing that Paimon does not know.
func (tb *table) clean() {
	tb.t.Helper()
	live := map[string]bool{}
	for _, snapshot := range testenv.Referee(tb.t).Describe(tb.t, tb.warehouse, "ods."+tb.name, 0).Snapshots {
		for _, f := range testenv.Referee(tb.t).Describe(tb.t, tb.warehouse, "ods."+tb.name, snapshot.ID).Files {
			live[f.Name] = true
		}
	}
	require.Eventually(tb.t, func() bool { return len(tb.stray(live)) == 0 }, 30*time.Second, 50*time.Millisecond, "files of no snapshot")
	require.Empty(tb.t, testenv.Referee(tb.t).CleanOrphans(tb.t, tb.warehouse, "ods."+tb.name, 0))
}

func (tb *table) stray(live map[string]bool) []string {
	var out []string
	_ = filepath.WalkDir(tb.warehouse, func(path string, d fs.DirEntry, err error) error { // files come and go
		if err == nil && !d.IsDir() && (strings.Contains(path, "/bucket-") && !live[d.Name()] || strings.Contains(path, "/runs/")) {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// TestEveryBoundary lets each fault strike at each activity of a run that replaces an old table by a new one.
func TestEveryBoundary(t *testing.T) {
	w := newWorld(t)
	for _, m := range []mode{{"append", false}, {"keyed", true}} {
		calm := w.newTable(t, m, m.name)
		calm.seed()
		quiet := newBoundary(fails, -1)
		_, committed := calm.run(quiet)
		require.True(t, committed)
		calm.wholeOldOrNew(true)
		count := quiet.seen.Load()
		require.GreaterOrEqual(t, count, int64(units+5), "Prepare, Plan, a Write for each unit, Verify, Commit, Clean")
		t.Logf("%s: %d activities", m.name, count)
		stride := int64(5)
		if *everyPoint {
			stride = 1
		}
		for i, f := range []fault{fails, replyLost, hangs, cancelledBefore, cancelledAfter, terminatedBefore, terminatedAfter} {
			for at := int64(i) % stride; at < count; at += stride {
				t.Run(fmt.Sprintf("%s/%s/%d", m.name, f, at), func(t *testing.T) {
					t.Parallel()
					w.try(t, m, fmt.Sprintf("%s_%d_%d", m.name, i, at), f, at)
				})
			}
		}
	}
}

func (w *world) try(t *testing.T, m mode, name string, f fault, at int64) {
	tb := w.newTable(t, m, name)
	tb.seed()
	b := newBoundary(f, at)
	id, committed := tb.run(b)
	select {
	case activity := <-b.struck:
		t.Logf("%s %s; committed: %t", activity, f, committed)
	default:
		require.Fail(t, "the run had no such activity")
	}
	if f == fails || f == replyLost || f == hangs {
		require.True(t, committed, "one fault is made good by trying again")
	}
	tb.wholeOldOrNew(committed)
	if !committed {
		tb.settle(id, at%2 == 0)
		require.ElementsMatch(t, tb.all, tb.read())
	}
	if f == hangs {
		close(b.over)
		<-b.woken
		require.ElementsMatch(t, tb.all, tb.read(), "an attempt that comes late changes nothing")
	}
	tb.clean()
}
