package e2e

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
)

// A run into a key table that was terminated when its merges were planned: resume merges the sorted rows that are there and
// reads no unit again, abort leaves neither a data file nor a sorted row, and the next run finds nothing in its way.
func TestKeyTablesRunAfterTerminate(t *testing.T) {
	t.Parallel() // most of its time is waiting
	for _, end := range []string{"resume", "abort"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			f := newManySplits(t)
			f.units = 60
			f.edit(t, func(table map[string]any) {
				table["split"], table["primary_key"] = map[string]any{"count": f.units}, []string{"_table", "id"}
				table["target"].(map[string]any)["bucket"] = 16
			})
			run := f.terminatedInMerge(t)
			require.NotEmpty(t, f.ledgerFiles(run, "runs"))
			attempts := len(f.ledgerFiles(run, "attempts"))
			f.stack.startWorker(t, f.queue)
			if end == "resume" {
				r := f.stack.run(t, "resume", run, "--wait", "--json")
				require.Zero(t, r.code, r.stderr)
				require.EqualValues(t, f.rows, summaryOf(t, r).Tables[0].Written)
				merges := len(f.ledgerFiles(run, "splits")) - f.units
				require.Positive(t, merges)
				require.LessOrEqual(t, len(f.ledgerFiles(run, "attempts"))-attempts, merges, "units are not read again")
			} else {
				r := f.stack.run(t, "abort", run, "--json")
				require.Zero(t, r.code, r.stderr)
				require.Contains(t, r.stdout, activities.StateAborted)
				require.Empty(t, dataFiles(t, f.warehouse))
				require.NoDirExists(t, filepath.Join(f.warehouse, "ods.db", "orders", "snapshot"))
				require.Empty(t, f.ledgerFiles(run, "runs"))
				r = f.stack.run(t, "resume", run, "--wait")
				require.NotZero(t, r.code)
				require.Contains(t, r.stdout+r.stderr, "given up")
				r = f.stack.run(t, "run", "-f", f.job, "--wait", "--json")
				require.Zero(t, r.code, r.stderr)
			}
			f.exact(t)
			require.Empty(t, f.ledgerFiles(run, "runs"))
		})
	}
}

// terminatedInMerge starts a run, and kills its worker and terminates its workflows as soon as merges are planned.
func (f *manySplits) terminatedInMerge(t *testing.T) string {
	t.Helper()
	w := f.stack.startWorker(t, f.queue)
	run := f.start(t)
	eventually(t, patience, "merges are planned", func() bool { return contains(f.ledgerFiles(run, ""), "merges.json") })
	w.kill()
	require.NoError(t, f.stack.client.TerminateWorkflow(t.Context(), run, "", "test"))
	require.NoError(t, f.stack.client.TerminateWorkflow(t.Context(), activities.WorkflowID("file://"+f.warehouse, target()), "", "test"))
	require.NotContains(t, f.ledgerFiles(run, ""), "result", "it was the middle")
	return run
}
