package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/workflows"
)

// One limit holds over two worker processes that share the units of a run: within ten per cent, by the times at which
// Temporal was told of units between the first ones and the last ones.
func TestLimitOverTwoWorkers(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	const limit, rows, perSplit = 4000, 48_000, 1000
	m.Exec(t, "USE "+database, "CREATE TABLE "+database+".orders_1 (id INT PRIMARY KEY, pad VARCHAR(100))",
		fmt.Sprintf("INSERT INTO %s.orders_1 SELECT seq, REPEAT('p', 100) FROM seq_1_to_%d", database, rows), "ANALYZE TABLE "+database+".orders_1")
	warehouse, q := t.TempDir(), queue(t)
	for range 2 {
		s.startWorker(t, q)
	}
	job := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
		source := job["source"].(map[string]any)
		source["instances"].([]any)[0].(map[string]any)["databases"] = database
		source["limits"] = map[string]any{"rows_per_second": limit}
		table["split"] = map[string]any{"count": rows / perSplit}
		job["run"] = map[string]any{"parallelism": 4}
	})
	r := s.run(t, "run", "-f", job, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	require.EqualValues(t, rows, summaryOf(t, r).Tables[0].Written)

	type done struct {
		at   time.Time
		rows int64
	}
	var ends []done
	started := map[int64]string{} // who, by the number of the event
	writes := map[int64]bool{}
	workers := map[string]int{}
	id := activities.WorkflowID("file://"+warehouse, catalog.Identifier{Database: "ods", Table: "orders"})
	events := s.client.GetWorkflowHistory(context.Background(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			writes[e.GetEventId()] = a.GetActivityType().GetName() == activities.WriteName
		}
		if a := e.GetActivityTaskStartedEventAttributes(); a != nil {
			started[e.GetEventId()] = a.GetIdentity()
		}
		if a := e.GetActivityTaskCompletedEventAttributes(); a != nil && writes[a.GetScheduledEventId()] {
			var w activities.Written
			require.NoError(t, json.Unmarshal(a.GetResult().GetPayloads()[0].GetData(), &w))
			ends = append(ends, done{e.GetEventTime().AsTime(), w.Counts.RowsRead})
			workers[started[a.GetStartedEventId()]]++
		}
	}
	require.Len(t, ends, rows/perSplit)
	require.Len(t, workers, 2, "both processes took part: %v", workers)
	for worker, n := range workers {
		require.GreaterOrEqual(t, n, 5, worker)
	}
	window := ends[4 : len(ends)-3]
	var read int64
	for _, e := range window[1:] {
		read += e.rows
	}
	rate := float64(read) / window[len(window)-1].at.Sub(window[0].at).Seconds()
	t.Logf("%.0f rows/s by %v", rate, workers)
	require.InEpsilon(t, limit, rate, 0.10)
	require.Equal(t, workflows.StatusDone, summaryOf(t, r).Status)
}
