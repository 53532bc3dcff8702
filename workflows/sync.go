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
	"github.com/tributary-lake/tributary/activities/dryrun"
)

// Names that people and other tools start, query and list by.
const (
	SyncName      = "Sync"
	SyncTableName = "SyncTable"
	ExplainName   = "Explain"
	// ProgressQuery is answered by Sync with RunProgress and by SyncTable with TableProgress.
	ProgressQuery = "progress"
)

const parentClosePolicy = enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL

// SyncInput starts a run. `temporal workflow start --type Sync --input '{"job": {…}}'` needs no more than the job.
type SyncInput struct {
	// Job is the job file as JSON, secrets as references.
	Job json.RawMessage `json:"job"`
	// Run is the run's id. Left out, it is the job's name and a part of the workflow's first run id.
	Run string `json:"run,omitempty"`
	// Resume goes on with a run that exists and the job that it keeps; Job tells where that is.
	Resume bool `json:"resume,omitempty"`
	// ContinueAfter is the number of activities after which a table's workflow continues as new; 0 is the default.
	ContinueAfter int `json:"continue_after,omitempty"`
}

// Summary is a run's result.
type Summary struct {
	Run    string `json:"run"`
	Job    string `json:"job"`
	Status string `json:"status"`
	// Tables in the job's order.
	Tables  []activities.TableResult `json:"tables"`
	Seconds float64                  `json:"duration_seconds"`
}

// The states of a run and of a table in it.
const (
	StatusDone      = "done"
	StatusFailed    = "failed"
	StatusCancelled = "cancelled"
	StatusUnknown   = "outcome unknown"
)

// RunProgress answers ProgressQuery while a run goes on.
type RunProgress struct {
	Run     string                     `json:"run"`
	Job     string                     `json:"job"`
	Phase   string                     `json:"phase"`
	Tables  []activities.PreparedTable `json:"tables"`
	Results []activities.TableResult   `json:"results"`
}

// RunFailed is the type of the error that a run with a failed table ends with; its detail is the Summary.
const RunFailed = "RunFailed"

// Sync runs a job: it keeps the job with the run, syncs its tables, and sums up. One table's failure does not stop the
// others: tables commit one by one.
func Sync(ctx workflow.Context, in SyncInput) (*Summary, error) {
	started := workflow.Now(ctx)
	info := workflow.GetInfo(ctx)
	progress := RunProgress{Run: in.Run, Phase: "preparing"}
	err := workflow.SetQueryHandler(ctx, ProgressQuery, func() (RunProgress, error) { return progress, nil })
	if err != nil {
		return nil, err
	}
	run := RunID(in, info.FirstRunID)
	var prepared activities.Prepared
	err = workflow.ExecuteActivity(quick(ctx, "check the job"), activities.PrepareName, activities.PrepareInput{
		Job: in.Job, Run: run, Owner: info.FirstRunID, Resume: in.Resume,
	}).Get(ctx, &prepared)
	if err != nil {
		return nil, err
	}
	progress = RunProgress{Run: run, Job: prepared.Job, Phase: "running", Tables: prepared.Tables}

	results := syncTables(ctx, prepared, in.ContinueAfter, func(r activities.TableResult) {
		progress.Results = append(progress.Results, r)
	})
	compactDue(ctx, in.Job, prepared, results)
	for _, t := range prepared.Gone {
		results = append(results, activities.TableResult{
			Table: t.Key.Table, Target: t.Target, Status: StatusFailed, ErrorType: activities.TypeAborted,
			Error: "the table's part of the run was settled or given up before and its ledger is gone: start a new run",
		})
	}
	progress.Phase = "ended"
	s := &Summary{
		Run: run, Job: prepared.Job, Status: status(results), Tables: results,
		Seconds: workflow.Now(ctx).Sub(started).Seconds(),
	}
	switch s.Status {
	case StatusDone:
		return s, nil
	case StatusCancelled:
		return s, temporal.NewCanceledError(*s)
	}
	return s, temporal.NewNonRetryableApplicationError(failure(s), RunFailed, nil, *s)
}

// syncTables runs the tables, as many at once as keeps the run within its parallelism.
func syncTables(ctx workflow.Context, p activities.Prepared, continueAfter int, ended func(activities.TableResult)) []activities.TableResult {
	results := make([]activities.TableResult, len(p.Tables))
	parallel := max(1, p.Settings.Parallelism)
	atOnce := min(parallel, max(1, len(p.Tables)))
	settings := activities.Settings{Parallelism: parallel / atOnce}
	inFlight(ctx, atOnce, len(p.Tables), func(i int) workflow.Future {
		t := p.Tables[i]
		return workflow.ExecuteChildWorkflow(child(ctx, t), SyncTableName, TableInput{PreparedTable: t, Settings: settings, ContinueAfter: continueAfter})
	}, func(i int, f workflow.Future) {
		r := activities.TableResult{}
		if err := f.Get(ctx, &r); err != nil {
			r = failedTable(p.Tables[i], err)
		}
		results[i] = r
		ended(r)
	})
	return results
}

// tableFailed is the type of the error that SyncTable ends with; its detail is the TableResult.
const tableFailed = "TableFailed"

// failedTable turns an activity's or a child's error into a result.
func failedTable(t activities.PreparedTable, err error) activities.TableResult {
	r := activities.TableResult{}
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == tableFailed && app.Details(&r) == nil {
		return r
	}
	var cancelled *temporal.CanceledError
	if errors.As(err, &cancelled) && cancelled.HasDetails() && cancelled.Details(&r) == nil {
		return r
	}
	r = activities.TableResult{Table: t.Key.Table, Target: t.Target, Status: StatusFailed}
	r.Error, r.ErrorType = activities.Describe(err)
	var busy *temporal.ChildWorkflowExecutionAlreadyStartedError
	if errors.As(err, &busy) {
		r.ErrorType = activities.TypeBusy
		r.Error = fmt.Sprintf("another run is syncing %s (workflow %s): wait for it; `starter status` lists runs", t.Target, t.WorkflowID)
	}
	if cancelled != nil {
		r.Status = StatusCancelled
	}
	return r
}

// inFlight starts n futures, at most limit at once, in order, and hands each to done when it is ready.
func inFlight(ctx workflow.Context, limit, n int, start func(int) workflow.Future, done func(int, workflow.Future)) {
	sel := workflow.NewSelector(ctx)
	next, running := 0, 0
	for next < n || running > 0 {
		for next < n && running < limit {
			i := next
			sel.AddFuture(start(i), func(f workflow.Future) {
				running--
				done(i, f)
			})
			next++
			running++
		}
		sel.Select(ctx)
	}
}

// status of a run is the gravest of its tables'.
func status(tables []activities.TableResult) string {
	s := StatusDone
	for _, t := range tables {
		switch t.Status {
		case StatusUnknown:
			return StatusUnknown
		case StatusFailed:
			s = StatusFailed
		case StatusCancelled:
			if s == StatusDone {
				s = StatusCancelled
			}
		}
	}
	return s
}

func failure(s *Summary) string {
	var b strings.Builder
	for _, t := range s.Tables {
		if t.Error != "" {
			b.WriteString("table " + t.Table + ": " + t.Error + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// RunID is the id of a run: the one it was started with, else the job's name and the end of the workflow's first run id,
// which stays the same after a reset or a retry. The end, because Temporal's run ids begin with the time: two runs of one
// minute share their first digits.
func RunID(in SyncInput, firstRunID string) string {
	if in.Run != "" {
		return in.Run
	}
	var j struct {
		Job string `json:"job"`
	}
	// A job that is no JSON is refused by Prepare, with a better message than here. The result depends on in alone; the
	// check minds what the reflection below may do.
	_ = json.Unmarshal(in.Job, &j) //workflowcheck:ignore
	id := firstRunID[strings.LastIndexByte(firstRunID, '-')+1:]
	if j.Job == "" {
		return "run-" + id
	}
	return j.Job + "-" + id
}

// ExplainInput asks for the plan of a job's tables.
type ExplainInput struct {
	Job json.RawMessage `json:"job"`
	// Tables by name, all that are to be explained.
	Tables []string `json:"tables"`
	// Sample bounds the dry run on some rows of each; the zero value makes none.
	Sample dryrun.Input `json:"sample,omitzero"`
}

// Explain computes the plans of a job's tables as a run would, and writes nothing. A table whose plan is refused has the
// reason in place of a plan, so that the others are seen.
func Explain(ctx workflow.Context, in ExplainInput) ([]activities.Explanation, error) {
	plans := make([]activities.Explanation, len(in.Tables))
	var first error
	inFlight(ctx, 4, len(in.Tables), func(i int) workflow.Future {
		return workflow.ExecuteActivity(quick(ctx, "plan "+in.Tables[i]), activities.ExplainName, activities.ExplainInput{Job: in.Job, Table: in.Tables[i], Sample: in.Sample})
	}, func(i int, f workflow.Future) {
		err := f.Get(ctx, &plans[i])
		if err == nil {
			return
		}
		if text, kind := activities.Describe(err); kind == activities.TypePlanRefused {
			plans[i] = activities.Explanation{Table: in.Tables[i], Refused: []string{text}}
		} else if first == nil {
			first = err
		}
	})
	return plans, first
}

// seconds since a time, in workflow time.
func seconds(ctx workflow.Context, since time.Time) float64 {
	return workflow.Now(ctx).Sub(since).Seconds()
}
