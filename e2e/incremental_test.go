package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
)

var incrementalRuns = flag.Int("incremental-runs", 4, "how many runs follow a writer, each with the worker killed, which takes half a minute; 20 is the long mode")

// Runs follow writers that insert, update and mark as deleted, some with a transaction that stays open over the ends of its windows,
// each with the worker killed at random, while Paimon's own compaction works on the key table. With consistency: instance
// the tables are after each run what MySQL had at the run's cut, as far as its windows go; with any, after one more run on a source
// that rests, what MySQL has.
func TestTwentyIncrementalRuns(t *testing.T) {
	t.Parallel() // most of its time is waiting
	for _, consistency := range []string{"instance", "split"} {
		t.Run(consistency, func(t *testing.T) {
			t.Parallel()
			f := newFollower(t, consistency)
			stop := f.h.writeOn(t)
			loaded := 0
			for i := range *incrementalRuns {
				letGo := func() {}
				if i%2 == 1 {
					letGo = f.h.hold(t)
				}
				for _, r := range f.struckRun(t) {
					if r.Status == activities.StateCommitted {
						loaded++
					}
					if consistency == "instance" {
						f.requireCut(t, r)
					}
				}
				letGo()
			}
			require.GreaterOrEqual(t, loaded, *incrementalRuns, "of %d", 2**incrementalRuns)
			stop()
			f.rested(t)
			f.run(t)
			f.requireAll(t)
			for _, r := range f.run(t) {
				require.Equal(t, activities.StateUnchanged, r.Status)
			}
		})
	}
}

// follower is a job that loads what is new in a history.
type follower struct {
	stack          *stack
	h              *history
	warehouse, job string
	queue          string
	worker         *process
	// orders are the key table's rows after the run before.
	orders map[[2]string]string
}

func newFollower(t *testing.T, consistency string) *follower {
	t.Helper()
	f := &follower{stack: theStack(t), h: newHistory(t), warehouse: t.TempDir(), queue: queue(t)}
	f.job = jobFile(t, f.warehouse, f.queue, []server{{"a", f.h.server}}, func(job, _ map[string]any) {
		job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = f.h.database
		job["run"] = map[string]any{"parallelism": 2, "consistency": consistency}
		table := func(name, column string, target map[string]any) map[string]any {
			return map[string]any{
				"name": name, "match": name + "_*", "mode": "incremental", "watermark": map[string]any{"column": column},
				"provenance": map[string]any{"table": "_table"}, "target": target,
			}
		}
		// Only Paimon compacts here: a second compactor would be refused by the first one's commit.
		orders := table("orders", "w", map[string]any{"database": "ods", "bucket": 2, "options": map[string]any{"num-sorted-run.compaction-trigger": "1000"}})
		orders["primary_key"], orders["soft_delete"] = []string{"_table", "id"}, map[string]any{"column": "gone", "value": 1}
		job["tables"] = []any{orders, table("events", "id", map[string]any{"database": "ods"})}
	})
	f.worker = f.stack.startWorker(t, f.queue)
	return f
}

// run makes a run and gives what came of its tables, orders and events.
func (f *follower) run(t *testing.T) []activities.TableResult {
	t.Helper()
	r := f.stack.run(t, "run", "-f", f.job, "--wait", "--json")
	require.Zero(t, r.code, r.stdout+r.stderr)
	return summaryOf(t, r).Tables
}

// struckRun makes a run during which the worker is killed and Paimon compacts.
func (f *follower) struckRun(t *testing.T) []activities.TableResult {
	t.Helper()
	java := testenv.Referee(t)
	done := make(chan result, 1)
	go func() { done <- f.stack.run(t, "run", "-f", f.job, "--wait", "--json") }()
	strike := time.After(time.Duration(rand.IntN(3000)) * time.Millisecond)
	compact := time.NewTicker(time.Second)
	defer compact.Stop()
	for {
		select {
		case <-strike:
			f.worker.kill()
			f.worker = f.stack.startWorker(t, f.queue)
		case <-compact.C:
			if _, err := os.Stat(filepath.Join(f.warehouse, "ods.db", "orders", "snapshot", "snapshot-1")); err == nil {
				java.Compact(t, f.warehouse, "ods.orders")
			}
		case r := <-done:
			require.Zero(t, r.code, r.stdout+r.stderr)
			return summaryOf(t, r).Tables
		}
	}
}

// requireCut compares the table that a run has made with what MySQL had at the run's cut.
func (f *follower) requireCut(t *testing.T, r activities.TableResult) {
	t.Helper()
	if r.Status == activities.StateUnchanged {
		return
	}
	require.Equal(t, activities.StateCommitted, r.Status)
	upTo := uppers(t, f.warehouse, r)
	got := testenv.Referee(t).Read(t, f.warehouse, "ods."+r.Table, r.Snapshot)
	if r.Table == "events" {
		requireSameRows(t, f.h.eventsAsOf(t, r.Cut, upTo), got)
		return
	}
	requireSameRows(t, f.h.ordersAsOf(t, r.Cut, upTo, f.orders), got)
	f.orders = byTableAndID(t, got)
}

// rested waits until all that the writers wrote lies before the server's running second.
func (f *follower) rested(t *testing.T) {
	t.Helper()
	from := f.h.server.QueryValue(t, "SELECT UTC_TIMESTAMP()")
	eventually(t, 10*time.Second, "the second after the last row", func() bool {
		return f.h.server.QueryValue(t, "SELECT UTC_TIMESTAMP() > '"+from+"' + INTERVAL 1 SECOND") == "1"
	})
}

// requireAll compares both tables with what MySQL has.
func (f *follower) requireAll(t *testing.T) {
	t.Helper()
	const zoned = "CONCAT(REPLACE(CAST(CONVERT_TZ(w, @@session.time_zone, '+00:00') AS CHAR), ' ', 'T'), 'Z')"
	var orders, events []string
	for shard := range historyShards {
		orders = append(orders, textRows(t, f.h.server, fmt.Sprintf("SELECT CAST(id AS CHAR) id, CAST(v AS CHAR) v, CAST(gone AS CHAR) gone, %s w, 'orders_%d' _table FROM %s.orders_%[2]d WHERE gone = 0", zoned, shard, f.h.database))...)
		events = append(events, textRows(t, f.h.server, fmt.Sprintf("SELECT CAST(id AS CHAR) id, CAST(v AS CHAR) v, 'events_%d' _table FROM %s.events_%[1]d", shard, f.h.database))...)
	}
	require.Greater(t, len(orders), seeded)
	requireSameRows(t, orders, refereeRows(t, f.warehouse, "ods.orders"))
	requireSameRows(t, events, refereeRows(t, f.warehouse, "ods.events"))
}
