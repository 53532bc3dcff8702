package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/upkeep"
	"github.com/tributary-lake/tributary/internal/testenv"
)

// Runs into a key table whose worker is killed while rows are sorted, while they are merged, and when the snapshot has just been made:
// each ends with exactly MySQL's rows. Additions that have come to the trigger are compacted beside, and maintenance leaves no file
// too many. All histories replay; `make golden` keeps them.
func TestKeyedHistoriesReplay(t *testing.T) {
	t.Parallel() // most of its time is waiting
	r := &recorder{stack: theStack(t), n: map[string]int{}}
	f := newManySplits(t)
	f.units = 60
	f.edit(t, func(table map[string]any) {
		table["primary_key"], table["provenance"], table["split"] = []string{"id"}, false, map[string]any{"count": f.units}
		table["target"].(map[string]any)["bucket"] = 8
		table["target"].(map[string]any)["options"] = map[string]any{"num-sorted-run.compaction-trigger": "3"}
	})
	table := activities.WorkflowID("file://"+f.warehouse, target())
	snapshots := func() (n int) {
		entries, _ := os.ReadDir(filepath.Join(f.warehouse, "ods.db", "orders", "snapshot"))
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "snapshot-") {
				n++
			}
		}
		return n
	}
	exact := func() {
		t.Helper()
		count := testenv.Referee(t).Count(t, f.warehouse, "ods.orders", 0)
		require.EqualValues(t, f.rows, count.Rows)
	}
	w := f.stack.startWorker(t, f.queue)
	run := f.start(t)
	f.finish(t, run)
	r.record(t, "keyed-sync", run)
	r.record(t, "keyed-table", table)
	f.exact(t)

	f.edit(t, func(table map[string]any) { table["mode"] = "append" })
	before := 0
	for _, kill := range []struct {
		kind string
		when func(run string) bool
	}{
		{"keyed-killed-sorting", func(run string) bool { return len(f.ledgerFiles(run, "splits")) > 10 }},
		{"keyed-killed-merging", func(run string) bool { return len(f.ledgerFiles(run, "splits")) > f.units }},
		{"keyed-killed-published", func(string) bool { return snapshots() > before }},
	} {
		before = snapshots()
		run = f.start(t)
		eventually(t, patience, kill.kind, func() bool { return kill.when(run) })
		w.kill()
		w = f.stack.startWorker(t, f.queue)
		s := f.finish(t, run)
		require.EqualValues(t, f.rows, s.Tables[0].Written, kill.kind)
		r.record(t, kill.kind, table)
		r.record(t, kill.kind+"-sync", run)
		exact()
	}
	// Each bucket has had four runs by now, the trigger is three.
	keeps := upkeep.WorkflowID(table)
	compacted := func() bool {
		for _, s := range testenv.Referee(t).Describe(t, f.warehouse, "ods.orders", 0).Snapshots {
			if s.CommitKind == "COMPACT" {
				return true
			}
		}
		return false
	}
	eventually(t, patience, "a compaction", compacted)
	require.NoError(t, f.stack.client.GetWorkflow(t.Context(), keeps, "").Get(t.Context(), nil))
	r.record(t, "upkeep-due", keeps)
	exact()
	out := f.stack.run(t, "maintain", "-f", f.job, "--retain-min", "1", "--older-than", "1ns")
	require.Zero(t, out.code, out.stderr)
	require.Contains(t, out.stdout, "snapshots and")
	r.record(t, "maintain", "orders-maintain")
	r.record(t, "upkeep", keeps)
	require.Equal(t, 1, snapshots())
	exact()
	require.Empty(t, testenv.Referee(t).CleanOrphans(t, f.warehouse, "ods.orders", 0))
}
