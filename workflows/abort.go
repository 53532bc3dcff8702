package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/activities"
)

// Names of the workflows that give a run up for good.
const (
	AbortName      = "Abort"
	AbortTableName = "AbortTable"
)

// AbortRunInput names the run to give up.
type AbortRunInput struct {
	Job json.RawMessage `json:"job"`
	Run string          `json:"run"`
}

// AbortedTable is what became of one table's part of the run.
type AbortedTable struct {
	Table  string `json:"table"`
	Target string `json:"target"`
	activities.Aborted
}

// Abort gives up a run that has ended without being settled, even one whose commit was decided. A committed table stays
// committed.
func Abort(ctx workflow.Context, in AbortRunInput) ([]AbortedTable, error) {
	var prepared activities.Prepared
	err := workflow.ExecuteActivity(quick(ctx, "find the run"), activities.PrepareName, activities.PrepareInput{
		Job: in.Job, Run: in.Run, Resume: true,
	}).Get(ctx, &prepared)
	if err != nil {
		return nil, err
	}
	out := make([]AbortedTable, len(prepared.Tables))
	inFlight(ctx, 4, len(out), func(i int) workflow.Future {
		return workflow.ExecuteChildWorkflow(child(ctx, prepared.Tables[i]), AbortTableName, prepared.Tables[i])
	}, func(i int, f workflow.Future) {
		t := prepared.Tables[i]
		out[i] = AbortedTable{Table: t.Key.Table, Target: t.Target}
		if err := f.Get(ctx, &out[i].Aborted); err != nil {
			r := failedTable(t, err)
			out[i].Aborted = activities.Aborted{State: StatusFailed, Message: r.Error}
		}
	})
	return out, nil
}

// AbortTable gives up one table's part of a run. It has the workflow id of the target, as SyncTable has, so it waits for
// nobody and excludes everybody.
func AbortTable(ctx workflow.Context, t activities.PreparedTable) (*activities.Aborted, error) {
	var a activities.Aborted
	actx, cancel := cleanup(ctx, "abort "+t.Key.Table)
	defer cancel()
	err := workflow.ExecuteActivity(actx, activities.AbortName, activities.AbortInput{TableRun: t.TableRun, Fence: true}).Get(actx, &a)
	return &a, err
}
