package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
)

// keep runs a command that keeps the table in order.
func (f *manySplits) keep(t *testing.T, verb string, args ...string) map[string]any {
	t.Helper()
	r := f.stack.run(t, append([]string{"table", verb, "--warehouse", "file://" + f.warehouse, "ods.orders", "--json"}, args...)...)
	require.Zero(t, r.code, r.stderr)
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &m))
	return m
}

// inMode is the job in another mode.
func (f *manySplits) inMode(t *testing.T, mode string) string {
	t.Helper()
	return f.changed(t, `"match": "orders_*"`, `"match": "orders_*", "mode": "`+mode+`"`)
}

// changed is the job with another text in the place of one.
func (f *manySplits) changed(t *testing.T, from, to string) string {
	t.Helper()
	data, err := os.ReadFile(f.job)
	require.NoError(t, err)
	text := strings.Replace(string(data), from, to, 1)
	require.NotEqual(t, string(data), text)
	path := filepath.Join(t.TempDir(), "changed.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// A run that died in Write two days ago keeps its files from a search for orphans: it can be resumed as if nothing had been,
// and once it is given up nothing of it is left.
func TestOrphansBesideALostRun(t *testing.T) {
	for _, end := range []string{"resume", "abort"} {
		t.Run(end, func(t *testing.T) {
			f := newManySplits(t)
			w := f.stack.startWorker(t, f.queue)
			run := f.start(t)
			eventually(t, patience, "some units are claimed", func() bool { return len(f.ledgerFiles(run, "splits")) > 20 })
			w.kill()
			require.NoError(t, f.stack.client.TerminateWorkflow(t.Context(), run, "", "test"))
			require.NoError(t, f.stack.client.TerminateWorkflow(t.Context(), activities.WorkflowID("file://"+f.warehouse, target()), "", "test"))
			require.Less(t, len(f.ledgerFiles(run, "splits")), f.units, "it was the middle")

			bucket := filepath.Join(f.warehouse, "ods.db", "orders", "bucket-0")
			stray := filepath.Join(bucket, "data-00000000-0000-4000-8000-000000000000-0.parquet")
			require.NoError(t, os.WriteFile(stray, []byte("x"), 0o600))
			files := dataFiles(t, f.warehouse)
			require.Greater(t, len(files), 20)
			old := time.Now().Add(-48 * time.Hour)
			for _, name := range files {
				require.NoError(t, os.Chtimes(filepath.Join(bucket, name), old, old))
			}
			found := f.keep(t, "orphans", "--yes")
			require.Len(t, found["files"], 1)
			require.NoFileExists(t, stray)
			require.EqualValues(t, len(files)-1, found["kept"])
			require.Equal(t, []any{"orders/" + run + "/orders"}, found["runs"])
			require.Len(t, dataFiles(t, f.warehouse), len(files)-1)

			f.stack.startWorker(t, f.queue)
			if end == "resume" {
				r := f.stack.run(t, "resume", run, "--wait", "--json")
				require.Zero(t, r.code, r.stderr)
				f.exact(t)
				return
			}
			r := f.stack.run(t, "abort", run)
			require.Zero(t, r.code, r.stderr)
			require.Empty(t, dataFiles(t, f.warehouse))
			found = f.keep(t, "orphans", "--older-than", "0s", "--force")
			require.Empty(t, found["files"])
			require.Empty(t, found["runs"])
		})
	}
}

// Everything that keeps a table in order is done in the middle of a run that appends, and of one that replaces all rows:
// both are committed, no row is lost or doubled, and Paimon finds neither a missing file nor one too many.
func TestMaintenanceBesideRuns(t *testing.T) {
	f := newManySplits(t)
	java := testenv.Referee(t)
	w := f.stack.startWorker(t, f.queue)
	appending := f.inMode(t, "append")
	r := f.stack.run(t, "run", "-f", appending, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	once := java.Count(t, f.warehouse, "ods.orders", 0)
	require.EqualValues(t, f.rows, once.Rows)
	f.keep(t, "tag", "loaded", "--time-retained", "720h")

	r = f.stack.run(t, "run", "-f", appending, "--json")
	require.Zero(t, r.code, r.stderr)
	f.inTheMiddle(t, w, r)
	require.EqualValues(t, 2*f.rows, java.Count(t, f.warehouse, "ods.orders", 0).Rows)

	r = f.stack.run(t, "run", "-f", f.job, "--json")
	require.Zero(t, r.code, r.stderr)
	f.inTheMiddle(t, w, r)
	require.Equal(t, once, java.Count(t, f.warehouse, "ods.orders", 0))

	// The tag still shows what was loaded first; with it, the last files of that go.
	d := java.Describe(t, f.warehouse, "ods.orders", 0)
	require.Equal(t, map[string]int64{"loaded": 1}, d.Tags)
	f.keep(t, "expire", "--retain-min", "1", "--older-than", "0s", "--yes")
	require.Empty(t, java.CleanOrphans(t, f.warehouse, "ods.orders", 0))
	require.NotEmpty(t, f.keep(t, "untag", "loaded", "--yes")["data_files"])
	require.Empty(t, f.keep(t, "orphans", "--older-than", "0s", "--force")["files"])
	require.Empty(t, java.CleanOrphans(t, f.warehouse, "ods.orders", 0))
	f.exact(t)
}

// inTheMiddle compacts, expires and cleans while a run that was started writes, and waits for its end. The worker is halted
// meanwhile, so that it is the middle however slow the commands are.
func (f *manySplits) inTheMiddle(t *testing.T, w *process, started result) {
	t.Helper()
	var run struct{ Run string }
	require.NoError(t, json.Unmarshal([]byte(started.stdout), &run))
	eventually(t, patience, "some units are claimed", func() bool { return len(f.ledgerFiles(run.Run, "splits")) > 20 })
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGSTOP))
	require.Less(t, len(f.ledgerFiles(run.Run, "splits")), f.units, "it was the middle")
	compacted := f.keep(t, "compact", "--full")
	require.NotZero(t, compacted["snapshot"])
	f.keep(t, "expire", "--retain-min", "1", "--older-than", "0s", "--yes")
	// Whatever its age, no file of the run may be taken for an orphan.
	cleaned := f.keep(t, "orphans", "--older-than", "0s", "--force", "--yes")
	require.Empty(t, cleaned["files"])
	require.NotZero(t, cleaned["kept"])
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGCONT))
	s := f.finish(t, run.Run)
	require.Equal(t, activities.StateCommitted, s.Tables[0].Status, s.Tables[0].Error)
	require.Greater(t, float64(s.Tables[0].Snapshot), compacted["snapshot"])
}

// A schedule of maintenance compacts and expires what runs leave, again and again until it is deleted.
func TestMaintenanceBySchedule(t *testing.T) {
	t.Parallel() // most of its time is waiting
	f := newManySplits(t)
	f.job = f.changed(t, `"job": "orders"`, `"job": "kept"`)
	f.edit(t, func(table map[string]any) { table["mode"], table["split"] = "append", map[string]any{"count": 20} })
	f.stack.startWorker(t, f.queue)
	load := func() {
		t.Helper()
		r := f.stack.run(t, "run", "-f", f.job, "--wait", "--json")
		require.Zero(t, r.code, r.stderr)
	}
	load()
	r := f.stack.run(t, "maintain", "-f", f.job, "--retain-min", "1", "--older-than", "1ns", "--every", "10s")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "starter schedule delete kept-maintain")
	deleted := false
	t.Cleanup(func() {
		if !deleted {
			f.stack.run(t, "schedule", "delete", "kept-maintain")
		}
	})
	require.Contains(t, f.stack.run(t, "schedule", "list").stdout, "kept-maintain")
	java := testenv.Referee(t)
	var last int64
	for turn := range 2 {
		require.Eventually(t, func() bool {
			d := java.Describe(t, f.warehouse, "ods.orders", 0)
			if len(d.Snapshots) != 1 || d.Snapshots[0].CommitKind != "COMPACT" || d.Snapshots[0].ID <= last {
				return false
			}
			last = d.Snapshots[0].ID
			return len(d.Files) == 1
		}, patience, time.Second, "one snapshot of one file is left")
		require.EqualValues(t, (turn+1)*f.rows, java.Count(t, f.warehouse, "ods.orders", 0).Rows)
		load()
	}
	r = f.stack.run(t, "schedule", "delete", "kept-maintain")
	require.Zero(t, r.code, r.stderr)
	deleted = true
	require.NotContains(t, f.stack.run(t, "schedule", "list").stdout, "kept-maintain")
	require.EqualValues(t, 3*f.rows, java.Count(t, f.warehouse, "ods.orders", 0).Rows)
}
