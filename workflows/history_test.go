package workflows_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/workflows"
)

// eventsPerActivity is the most that an activity has cost in a recorded history, with its share of the workflow's tasks.
func eventsPerActivity(t *testing.T) float64 {
	t.Helper()
	paths, err := filepath.Glob("testdata/replay/*/table-*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	most := 0.0
	for _, path := range paths {
		events, scheduled := recorded(t, path).GetEvents(), 0
		for _, e := range events {
			if e.GetActivityTaskScheduledEventAttributes() != nil {
				scheduled++
			}
		}
		if scheduled > 50 {
			most = max(most, float64(len(events))/float64(scheduled))
		}
	}
	require.Greater(t, most, 3.0, "scheduled, started and completed")
	return most
}

// A table of 100,000 units comes nowhere near Temporal's limits: an execution's history stays below the 10,240 events at which the
// server warns (it ends a workflow at 51,200), even where no server suggests to continue as new, and what an execution hands to
// the next stays small however many units are left. The executions are the first ones and, all being alike, the last ones.
func TestHistoryOfAHundredThousandUnits(t *testing.T) {
	const units, warning, handedOver = 100_000, 10_240, 2 << 10
	f := &fakes{units: map[string]int{"a": units}}
	in := workflows.TableInput{PreparedTable: preparedTable("orders-1", "a"), Settings: activities.Settings{Parallelism: 200}}
	most := 0
	for execution := 1; ; execution++ {
		env := environment(t, f)
		before := len(f.written)
		env.ExecuteWorkflow(workflows.SyncTableName, in)
		most = max(most, len(f.written)-before)
		var again *workflow.ContinueAsNewError
		if err := env.GetWorkflowError(); !errors.As(err, &again) {
			require.NoError(t, err)
			require.Greater(t, execution, 3)
			break
		}
		data := again.Input.GetPayloads()[0].GetData()
		require.Less(t, len(data), handedOver)
		in = workflows.TableInput{}
		require.NoError(t, json.Unmarshal(data, &in))
		if execution == 2 {
			require.Equal(t, []activities.Range{{From: len(f.written), To: units}}, in.State.Pending)
			in.State.Pending[0].From, in.State.Done = units-most-1, units-most-1
		}
	}
	events := float64(most+5) * eventsPerActivity(t) // beside units: plan, verify, commit, clean and one more
	require.Less(t, events, float64(warning))
	t.Logf("%d units and %.0f events at most in an execution", most, events)
}
