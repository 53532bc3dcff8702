package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/upkeep"
)

// Names of the workflows that keep tables in order.
const (
	MaintainName    = "Maintain"
	UpkeepTableName = "UpkeepTable"
)

// MaintainInput says which tables are kept in order, and how.
type MaintainInput struct {
	// Job is the job file as JSON, secrets as references.
	Job json.RawMessage `json:"job"`
	Upkeep
}

// Upkeep says what is done to a table.
type Upkeep struct {
	// Due compacts only what has come to the table's own trigger, and does nothing else.
	Due bool `json:"due,omitempty"`
	// RetainMin, RetainMax and OlderThan say which snapshots stay; zero values leave it to the table's options.
	RetainMin int           `json:"retain_min,omitempty"`
	RetainMax int           `json:"retain_max,omitempty"`
	OlderThan time.Duration `json:"older_than,omitempty"`
	// Orphans is the least age of files that nothing names, at which they are removed; 0 leaves them.
	Orphans time.Duration `json:"orphans,omitempty"`
}

// UpkeepInput is one table's part.
type UpkeepInput struct {
	upkeep.Table
	Upkeep
}

// UpkeepResult tells what was done to a table.
type UpkeepResult struct {
	Table     string           `json:"table"`
	Target    string           `json:"target"`
	Compacted upkeep.Compacted `json:"compacted"`
	Expired   upkeep.Expired   `json:"expired,omitzero"`
	Removed   upkeep.Removed   `json:"removed,omitzero"`
	// Error says what went wrong, and what is left to the next time.
	Error string `json:"error,omitempty"`
}

// maintainFailed is the type of the error that Maintain ends with when a table failed; its detail is the list of results.
const maintainFailed = "MaintainFailed"

// Maintain keeps the tables of a job in order, each in a workflow of its own of which one at a time goes on. One table's failure does
// not stop the others.
func Maintain(ctx workflow.Context, in MaintainInput) ([]UpkeepResult, error) {
	var tables []upkeep.Table
	if err := workflow.ExecuteActivity(quick(ctx, "check the job"), upkeep.TablesName, in.Job).Get(ctx, &tables); err != nil {
		return nil, err
	}
	out := make([]UpkeepResult, len(tables))
	failed := 0
	inFlight(ctx, 2, len(tables), func(i int) workflow.Future {
		return workflow.ExecuteChildWorkflow(keeping(ctx, tables[i], parentClosePolicy), UpkeepTableName, UpkeepInput{tables[i], in.Upkeep})
	}, func(i int, f workflow.Future) {
		err := f.Get(ctx, &out[i])
		out[i].Table, out[i].Target = tables[i].Name, tables[i].Target
		if err == nil {
			return
		}
		failed++
		out[i].Error, _ = activities.Describe(err)
		var busy *temporal.ChildWorkflowExecutionAlreadyStartedError
		if errors.As(err, &busy) {
			failed--
			out[i].Error = fmt.Sprintf("workflow %s is keeping it in order already", tables[i].WorkflowID)
		}
	})
	if failed > 0 {
		var texts []string
		for _, r := range out {
			if r.Error != "" {
				texts = append(texts, r.Table+": "+r.Error)
			}
		}
		return nil, temporal.NewNonRetryableApplicationError(strings.Join(texts, "; "), maintainFailed, nil, out)
	}
	return out, nil
}

// UpkeepTable keeps one table in order: compaction first, whose old files go with their snapshots.
func UpkeepTable(ctx workflow.Context, in UpkeepInput) (*UpkeepResult, error) {
	out := &UpkeepResult{Table: in.Name, Target: in.Target}
	err := workflow.ExecuteActivity(tidy(ctx, "compact "+in.Name), upkeep.CompactName, upkeep.CompactInput{Table: in.Table, Due: in.Due}).Get(ctx, &out.Compacted)
	if err != nil || in.Due {
		return out, err
	}
	err = workflow.ExecuteActivity(tidy(ctx, "expire snapshots of "+in.Name), upkeep.ExpireName, upkeep.ExpireInput{
		Table: in.Table, RetainMin: in.RetainMin, RetainMax: in.RetainMax, OlderThan: in.OlderThan,
	}).Get(ctx, &out.Expired)
	if err != nil || in.Orphans == 0 {
		return out, err
	}
	err = workflow.ExecuteActivity(tidy(ctx, "remove orphans of "+in.Name), upkeep.OrphansName, upkeep.OrphansInput{Table: in.Table, OlderThan: in.Orphans}).Get(ctx, &out.Removed)
	return out, err
}

// compactDue starts the compaction of key tables that rows were added to, beside whatever comes next. One that goes on already
// goes on.
func compactDue(ctx workflow.Context, job json.RawMessage, p activities.Prepared, results []activities.TableResult) {
	var started []workflow.ChildWorkflowFuture
	for i, r := range results[:len(p.Tables)] {
		if !r.Upserted {
			continue
		}
		t := upkeep.Table{Job: job, Name: p.Tables[i].Key.Table, Target: p.Tables[i].Target, WorkflowID: upkeep.WorkflowID(p.Tables[i].WorkflowID)}
		alone := keeping(ctx, t, enumspb.PARENT_CLOSE_POLICY_ABANDON)
		started = append(started, workflow.ExecuteChildWorkflow(alone, UpkeepTableName, UpkeepInput{t, Upkeep{Due: true}}))
	}
	for _, f := range started {
		var busy *temporal.ChildWorkflowExecutionAlreadyStartedError
		if err := f.GetChildWorkflowExecution().Get(ctx, nil); err != nil && !errors.As(err, &busy) {
			workflow.GetLogger(ctx).Warn("a compaction could not be started", "error", err)
		}
	}
}
