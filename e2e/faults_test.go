package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/workflows"
)

// manySplits is a table that takes some hundred small units, so that there is a middle to strike at.
type manySplits struct {
	stack     *stack
	server    *testenv.MySQL
	warehouse string
	queue     string
	job       string
	rows      int
	units     int
}

func newManySplits(t *testing.T) *manySplits {
	t.Helper()
	return newManySplitsOn(t, testenv.FlavorMariaDB)
}

func newManySplitsOn(t *testing.T, flavor testenv.Flavor) *manySplits {
	t.Helper()
	m := testenv.Start(t, flavor) // runs of other tests beside it would share its slots
	database := m.NewDatabase(t)
	f := &manySplits{stack: theStack(t), server: m, warehouse: t.TempDir(), queue: queue(t), rows: 30_000, units: 300}
	m.Exec(t, "USE "+database, "CREATE TABLE orders_1 (id INT PRIMARY KEY, v VARCHAR(40))", "CREATE TABLE n (n INT)",
		"INSERT INTO n VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
		"INSERT INTO orders_1 SELECT x, MD5(x) FROM (SELECT 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS x FROM n a, n b, n c, n d, n e) AS xs WHERE x <= "+fmt.Sprint(f.rows))
	f.job = jobFile(t, f.warehouse, f.queue, []server{{"a", m}}, func(job, table map[string]any) {
		job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
		job["run"] = map[string]any{"parallelism": 2}
		table["split"] = map[string]any{"count": f.units}
	})
	return f
}

// start starts a run and returns its id.
func (f *manySplits) start(t *testing.T) string {
	t.Helper()
	r := f.stack.run(t, "run", "-f", f.job, "--json")
	require.Zero(t, r.code, r.stderr)
	var started struct{ Run string }
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &started))
	return started.Run
}

// ledgerFiles lists a folder of the run's ledger.
func (f *manySplits) ledgerFiles(run, folder string) []string {
	entries, _ := os.ReadDir(filepath.Join(f.warehouse, "_tributary", "orders", run, "orders", folder))
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// finish waits for the run's end and returns its summary.
func (f *manySplits) finish(t *testing.T, run string) workflows.Summary {
	t.Helper()
	var s workflows.Summary
	require.NoError(t, f.stack.client.GetWorkflow(t.Context(), run, "").Get(t.Context(), &s))
	return s
}

// exact requires that the table holds every row once, in one snapshot, and that nothing of the run is left beside it.
func (f *manySplits) exact(t *testing.T) {
	t.Helper()
	d := testenv.Referee(t).Describe(t, f.warehouse, "ods.orders", 0)
	require.Len(t, d.Snapshots, 1)
	require.Equal(t, int64(f.rows), d.Snapshots[0].TotalRecordCount)
	ids := map[any]bool{}
	for _, line := range testenv.Referee(t).Read(t, f.warehouse, "ods.orders", 0) {
		var row map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		require.False(t, ids[row["id"]], "row %v is there twice", row["id"])
		ids[row["id"]] = true
	}
	require.Len(t, ids, f.rows)
	live := map[string]bool{}
	for _, file := range d.Files {
		live[file.Name] = true
	}
	for _, name := range dataFiles(t, f.warehouse) {
		require.True(t, live[name], "%s is in no snapshot", name)
	}
	require.Len(t, dataFiles(t, f.warehouse), len(live))
}

// dataFiles are the names of all files in bucket folders, temporary ones too.
func dataFiles(t *testing.T, warehouse string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(warehouse, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "/bucket-") {
			names = append(names, d.Name())
		}
		return err
	}))
	return names
}

// kill -9 of the worker in the middle of Write, whatever server it reads: another worker takes over and the count is exact.
func TestWorkerKilledInWrite(t *testing.T) {
	t.Parallel() // most of its time is waiting
	for _, flavor := range testenv.Flavors() {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			f := newManySplitsOn(t, flavor)
			w := f.stack.startWorker(t, f.queue)
			run := f.start(t)
			eventually(t, patience, "some units are claimed", func() bool { return len(f.ledgerFiles(run, "splits")) > 20 })
			w.kill()
			claimed := len(f.ledgerFiles(run, "splits"))
			require.Less(t, claimed, f.units, "it was the middle")
			f.stack.startWorker(t, f.queue)
			s := f.finish(t, run)
			require.Equal(t, int64(f.rows), s.Tables[0].Written)
			f.exact(t)
		})
	}
}

// kill -9 between the publication of the snapshot and the return of Commit: the run completes with that one snapshot, and
// committing once more is a no-op.
func TestWorkerKilledAfterPublish(t *testing.T) {
	t.Parallel()
	for range 5 {
		f := newManySplits(t)
		w := f.stack.startWorker(t, f.queue)
		run := f.start(t)
		snapshot := filepath.Join(f.warehouse, "ods.db", "orders", "snapshot", "snapshot-1")
		for deadline := time.Now().Add(patience); ; {
			if _, err := os.Stat(snapshot); err == nil {
				break
			}
			require.True(t, time.Now().Before(deadline), "the snapshot appears")
		}
		w.kill()
		if len(f.ledgerFiles(run, "")) > 0 && contains(f.ledgerFiles(run, ""), "result") {
			continue // the worker was faster: its Commit had gone on, so this was not the moment
		}
		f.stack.startWorker(t, f.queue)
		s := f.finish(t, run)
		require.Equal(t, activities.StateCommitted, s.Tables[0].Status)
		require.Equal(t, int64(1), s.Tables[0].Snapshot)
		f.exact(t)

		r := f.stack.run(t, "resume", run, "--wait", "--json")
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, int64(1), summaryOf(t, r).Tables[0].Snapshot)
		f.exact(t)
		return
	}
	t.Fatal("in five tries the worker was never struck between publish and return")
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// Cancel leaves no data file and no snapshot, and says so.
func TestCancel(t *testing.T) {
	t.Parallel()
	f := newManySplits(t)
	f.stack.startWorker(t, f.queue)
	run := f.start(t)
	eventually(t, patience, "some units are claimed", func() bool { return len(f.ledgerFiles(run, "splits")) > 20 })
	r := f.stack.run(t, "abort", run)
	require.Equal(t, 1, r.code, "a run that goes on is not aborted behind its back")
	require.Contains(t, r.stderr, "starter cancel "+run)
	r = f.stack.run(t, "cancel", run)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "no row of it is in the table")
	require.Contains(t, r.stdout, "cancelled")
	require.Empty(t, dataFiles(t, f.warehouse))
	require.NoDirExists(t, filepath.Join(f.warehouse, "ods.db", "orders", "snapshot"))

	// The next run finds nothing in its way.
	r = f.stack.run(t, "run", "-f", f.job, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	f.exact(t)
}

// A terminated run leaves its ledger; resume does only what is missing, in the same run.
func TestResumeAfterTerminate(t *testing.T) {
	t.Parallel()
	f := newManySplits(t)
	f.stack.startWorker(t, f.queue)
	run := f.start(t)
	eventually(t, patience, "some units are claimed", func() bool { return len(f.ledgerFiles(run, "splits")) > 20 })
	require.NoError(t, f.stack.client.TerminateWorkflow(t.Context(), run, "", "test"))
	table := activities.WorkflowID("file://"+f.warehouse, target())
	require.NoError(t, f.stack.client.TerminateWorkflow(t.Context(), table, "", "test"))
	r := f.stack.run(t, "status", run)
	require.Equal(t, 4, r.code, "nothing was settled by that")
	require.Contains(t, r.stderr, "starter resume "+run)
	before := f.ledgerFiles(run, "splits")
	require.Less(t, len(before), f.units)
	attempts := len(f.ledgerFiles(run, "attempts"))
	r = f.stack.run(t, "resume", run, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, int64(f.rows), summaryOf(t, r).Tables[0].Written)
	require.Equal(t, run, summaryOf(t, r).Run)
	// Attempts that were under way at the termination may finish or be lost; all others are made once.
	require.LessOrEqual(t, len(f.ledgerFiles(run, "attempts"))-attempts, f.units-len(before)+2)
	f.exact(t)
}

// A resume after kill -9 at nine tenths reads again only what was not finished, as the server counts it.
func TestResumeReadsOnlyWhatIsMissing(t *testing.T) {
	f := newManySplits(t)
	w := f.stack.startWorker(t, f.queue)
	run := f.start(t)
	eventually(t, patience, "nine of ten units are claimed", func() bool { return len(f.ledgerFiles(run, "splits")) > f.units*9/10 })
	w.kill()
	require.NoError(t, f.stack.client.TerminateWorkflow(t.Context(), run, "", "test"))
	require.NoError(t, f.stack.client.TerminateWorkflow(t.Context(), activities.WorkflowID("file://"+f.warehouse, target()), "", "test"))
	missing := f.units - len(f.ledgerFiles(run, "splits"))
	require.NotZero(t, missing, "it was not over")
	sent := func() int {
		n, err := strconv.Atoi(f.server.Query(t, "SHOW GLOBAL STATUS LIKE 'Rows_sent'")[0][1])
		require.NoError(t, err)
		return n
	}
	f.stack.startWorker(t, f.queue)
	before := sent()
	r := f.stack.run(t, "resume", run, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	const besides = 40 // rows a unit that tell of sessions and definitions
	require.LessOrEqual(t, sent()-before, missing*(f.rows/f.units+besides), "%d units were missing", missing)
	require.Equal(t, int64(f.rows), summaryOf(t, r).Tables[0].Written)
	f.exact(t)
}

// A terminated run that nobody resumes is given up by the next run of the table, and by abort.
func TestAbortAfterTerminate(t *testing.T) {
	t.Parallel()
	f := newManySplits(t)
	f.stack.startWorker(t, f.queue)
	run := f.start(t)
	eventually(t, patience, "some units are claimed", func() bool { return len(f.ledgerFiles(run, "splits")) > 20 })
	require.NoError(t, f.stack.client.TerminateWorkflow(t.Context(), run, "", "test"))
	require.NoError(t, f.stack.client.TerminateWorkflow(t.Context(), activities.WorkflowID("file://"+f.warehouse, target()), "", "test"))
	require.NotEmpty(t, dataFiles(t, f.warehouse))
	r := f.stack.run(t, "abort", run, "--json")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, activities.StateAborted)
	// An attempt that the termination overtook removes its own file when it learns of the decision.
	eventually(t, 30*time.Second, "no data file is left", func() bool { return len(dataFiles(t, f.warehouse)) == 0 })
	r = f.stack.run(t, "resume", run, "--wait")
	require.NotZero(t, r.code)
	require.Contains(t, r.stdout+r.stderr, "given up")
	r = f.stack.run(t, "run", "-f", f.job, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	f.exact(t)
}

// SIGTERM drains: activities end, and another worker goes on.
func TestWorkerDrainsOnSIGTERM(t *testing.T) {
	t.Parallel()
	f := newManySplits(t)
	w := f.stack.startWorker(t, f.queue)
	run := f.start(t)
	eventually(t, patience, "some units are claimed", func() bool { return len(f.ledgerFiles(run, "splits")) > 20 })
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	err := w.cmd.Wait()
	require.NoError(t, err, "the worker ends with 0: %s", w.log)
	f.stack.startWorker(t, f.queue)
	require.Equal(t, int64(f.rows), f.finish(t, run).Tables[0].Written)
	f.exact(t)
}

// A run that any other client starts, as `temporal workflow start --type Sync --input-file job.json` does.
func TestStartedByAnotherClient(t *testing.T) {
	t.Parallel()
	f := newManySplits(t)
	f.stack.startWorker(t, f.queue)
	job, err := os.ReadFile(f.job)
	require.NoError(t, err)
	path, err := exec.LookPath("temporal")
	input := filepath.Join(t.TempDir(), "input.json")
	require.NoError(t, os.WriteFile(input, []byte(`{"job": `+string(job)+`}`), 0o600))
	if err == nil {
		out, err := exec.Command(path, "workflow", "start", "--address", f.stack.address, "--type", "Sync", "--task-queue", f.queue,
			"--workflow-id", f.queue, "--input-file", input).CombinedOutput()
		require.NoError(t, err, string(out))
	} else {
		started, err := f.stack.client.ExecuteWorkflow(t.Context(), startOptions(f.queue), "Sync", json.RawMessage(`{"job": `+string(job)+`}`))
		require.NoError(t, err)
		require.Equal(t, f.queue, started.GetID())
	}
	s := f.finish(t, f.queue)
	require.Regexp(t, `^orders-[0-9a-f]{12}$`, s.Run)
	require.Zero(t, f.stack.run(t, "status", s.Run).code, "the run is found by the id that its summary names")
	require.Equal(t, int64(f.rows), s.Tables[0].Written)
	f.exact(t)
}
