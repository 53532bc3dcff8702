package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/catalog"
)

// written is when Temporal was told of a unit, and its rows.
type written struct {
	at   time.Time
	rows int64
}

// unitsWritten are the units of the newest run into a table, from its history.
func (s *stack) unitsWritten(t *testing.T, warehouse, table string) []written {
	t.Helper()
	var units []written
	writes := map[int64]bool{}
	id := activities.WorkflowID("file://"+warehouse, catalog.Identifier{Database: "ods", Table: table})
	events := s.client.GetWorkflowHistory(context.Background(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			writes[e.GetEventId()] = a.GetActivityType().GetName() == activities.WriteName
		}
		if a := e.GetActivityTaskCompletedEventAttributes(); a != nil && writes[a.GetScheduledEventId()] {
			var w activities.Written
			require.NoError(t, json.Unmarshal(a.GetResult().GetPayloads()[0].GetData(), &w))
			units = append(units, written{e.GetEventTime().AsTime(), w.Counts.RowsRead})
		}
	}
	return units
}

// An instance's limit holds over the processes of two workers, each with a run of its own: within ten per cent, by the times
// at which Temporal was told of units while both were at work.
func TestLimitOverTwoWorkers(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database, warehouse := m.NewDatabase(t), t.TempDir()
	const limit, rows, perSplit = 4000, 28_000, 500
	results := make([]result, 2)
	var runs sync.WaitGroup
	for i := range results {
		name := fmt.Sprintf("orders_%d", i)
		m.Exec(t, "USE "+database, "CREATE TABLE "+name+" (id INT PRIMARY KEY, pad VARCHAR(100))",
			fmt.Sprintf("INSERT INTO %s SELECT seq, REPEAT('p', 100) FROM seq_1_to_%d", name, rows), "ANALYZE TABLE "+name)
		q := queue(t)
		s.startWorker(t, q)
		job := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
			source := job["source"].(map[string]any)
			source["instances"].([]any)[0].(map[string]any)["databases"] = database
			source["limits"] = map[string]any{"rows_per_second": limit}
			table["match"], table["target"] = name, map[string]any{"database": "ods", "table": name}
			table["split"] = map[string]any{"count": rows / perSplit}
			job["job"] = name
		})
		runs.Go(func() { results[i] = s.run(t, "run", "-f", job, "--wait", "--json") })
	}
	runs.Wait()
	var from, to time.Time
	var units []written
	for i, r := range results {
		require.Zero(t, r.code, r.stderr)
		own := s.unitsWritten(t, warehouse, fmt.Sprintf("orders_%d", i))
		require.Len(t, own, rows/perSplit)
		if begin := own[4].at; begin.After(from) {
			from = begin
		}
		if end := own[len(own)-5].at; to.IsZero() || end.Before(to) {
			to = end
		}
		units = append(units, own...)
	}
	var read int64
	slices.SortFunc(units, func(a, b written) int { return a.at.Compare(b.at) })
	for _, u := range units {
		if u.at.After(from) && !u.at.After(to) {
			read += u.rows
		}
	}
	window := to.Sub(from).Seconds()
	t.Logf("%d rows in %.1f s: %.0f rows/s", read, window, float64(read)/window)
	require.Greater(t, read, int64(rows), "both were at work for most of the time")
	require.InEpsilon(t, limit, float64(read)/window, 0.10)
}
