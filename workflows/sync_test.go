package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/workflows"
)

// fakes are activities by function; what is nil gives a good answer.
type fakes struct {
	mu      sync.Mutex
	units   map[string]int
	flying  int
	most    int
	written []int
	aborted int
	cleaned int

	prepare func(activities.PrepareInput) (*activities.Prepared, error)
	write   func(context.Context, activities.WriteInput) (*activities.Written, error)
	merge   func(activities.MergeInput)
	verify  func() error
	commit  func() (*activities.TableResult, error)
	abort   func() (*activities.Aborted, error)
}

func (f *fakes) Prepare(_ context.Context, in activities.PrepareInput) (*activities.Prepared, error) {
	if f.prepare != nil {
		return f.prepare(in)
	}
	p := &activities.Prepared{Job: "orders", Settings: activities.Settings{Parallelism: 4}}
	for table := range f.units {
		p.Tables = append(p.Tables, preparedTable(in.Run, table))
	}
	return p, nil
}

func preparedTable(run, table string) activities.PreparedTable {
	return activities.PreparedTable{
		TableRun: activities.TableRun{Key: ledger.Key{Job: "orders", Run: run, Table: table}, Staging: "file:///s"},
		Target:   "ods." + table, WorkflowID: "tributary-table-" + table,
	}
}

func (f *fakes) Plan(_ context.Context, in activities.PlanInput) (*activities.Planned, error) {
	n := f.units[in.Table]
	return &activities.Planned{Units: n, Splits: n, Pending: []activities.Range{{From: 0, To: n}}, Keyed: f.merge != nil}, nil
}

func (f *fakes) PlanMerges(_ context.Context, in activities.PlanMergesInput) (*activities.PlannedMerges, error) {
	return &activities.PlannedMerges{Merges: 3, Rows: 10, Round: in.Round, Pending: []activities.Range{{From: 0, To: 3}}}, nil
}

func (f *fakes) Merge(_ context.Context, in activities.MergeInput) (*activities.Written, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.merge(in)
	return &activities.Written{Counts: ledger.Counts{RowsMerged: 10, RowsWritten: 10}}, nil
}

func (f *fakes) Write(ctx context.Context, in activities.WriteInput) (*activities.Written, error) {
	f.mu.Lock()
	f.flying++
	f.most = max(f.most, f.flying)
	f.written = append(f.written, in.Unit)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.flying--
		f.mu.Unlock()
	}()
	if f.write != nil {
		return f.write(ctx, in)
	}
	return &activities.Written{Unit: in.Unit, Counts: ledger.Counts{RowsRead: 10, RowsWritten: 10, Files: 1}}, nil
}

func (f *fakes) Verify(context.Context, activities.VerifyInput) (*ledger.Counts, error) {
	if f.verify != nil {
		return nil, f.verify()
	}
	return &ledger.Counts{}, nil
}

func (f *fakes) Commit(context.Context, activities.CommitInput) (*activities.TableResult, error) {
	if f.commit != nil {
		return f.commit()
	}
	return &activities.TableResult{Status: activities.StateCommitted, Snapshot: 1, Kind: "OVERWRITE"}, nil
}

func (f *fakes) Clean(context.Context, activities.CleanInput) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cleaned++
	return 0, nil
}

func (f *fakes) Abort(context.Context, activities.AbortInput) (*activities.Aborted, error) {
	f.mu.Lock()
	f.aborted++
	f.mu.Unlock()
	if f.abort != nil {
		return f.abort()
	}
	return &activities.Aborted{State: activities.StateAborted, Message: "the run was given up"}, nil
}

func environment(t *testing.T, f *fakes) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var s testsuite.WorkflowTestSuite
	s.SetLogger(tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := s.NewTestWorkflowEnvironment()
	env.SetTestTimeout(2 * time.Minute)
	for name, w := range map[string]any{
		workflows.SyncName: workflows.Sync, workflows.SyncTableName: workflows.SyncTable,
		workflows.AbortName: workflows.Abort, workflows.AbortTableName: workflows.AbortTable,
	} {
		env.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name})
	}
	for name, a := range map[string]any{
		activities.PrepareName: f.Prepare, activities.PlanName: f.Plan, activities.WriteName: f.Write, activities.VerifyName: f.Verify,
		activities.PlanMergesName: f.PlanMerges, activities.MergeName: f.Merge,
		activities.CommitName: f.Commit, activities.CleanName: f.Clean, activities.AbortName: f.Abort,
	} {
		env.RegisterActivityWithOptions(a, activity.RegisterOptions{Name: name})
	}
	return env
}

func refused(kind string) error {
	return temporal.NewNonRetryableApplicationError("it is "+kind, kind, nil)
}

func syncInput() workflows.SyncInput {
	return workflows.SyncInput{Job: json.RawMessage(`{"job":"orders"}`), Run: "orders-1"}
}

func TestSyncSumsUpItsTables(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 3, "b": 5}}
	env := environment(t, f)
	env.ExecuteWorkflow(workflows.SyncName, syncInput())
	require.NoError(t, env.GetWorkflowError())
	var s workflows.Summary
	require.NoError(t, env.GetWorkflowResult(&s))
	require.Equal(t, workflows.StatusDone, s.Status)
	require.Equal(t, "orders-1", s.Run)
	require.Len(t, s.Tables, 2)
	for _, table := range s.Tables {
		require.Equal(t, activities.StateCommitted, table.Status)
		require.Equal(t, "ods."+table.Table, table.Target)
	}
	require.Len(t, f.written, 8)
	require.Equal(t, 2, f.cleaned)
	require.Zero(t, f.aborted)
}

func TestRunStaysWithinItsParallelism(t *testing.T) {
	for tables, parallelism := range map[int]int{1: 4, 2: 5, 7: 3} {
		f := &fakes{units: map[string]int{}}
		for i := range tables {
			f.units[fmt.Sprint("t", i)] = 12
		}
		f.prepare = func(in activities.PrepareInput) (*activities.Prepared, error) {
			p := &activities.Prepared{Job: "orders", Settings: activities.Settings{Parallelism: parallelism}}
			for table := range f.units {
				p.Tables = append(p.Tables, preparedTable(in.Run, table))
			}
			return p, nil
		}
		gate := make(chan struct{}, 1000)
		f.write = func(_ context.Context, in activities.WriteInput) (*activities.Written, error) {
			gate <- struct{}{}
			return &activities.Written{Unit: in.Unit}, nil
		}
		env := environment(t, f)
		env.ExecuteWorkflow(workflows.SyncName, syncInput())
		require.NoError(t, env.GetWorkflowError())
		require.Len(t, f.written, 12*tables)
		require.LessOrEqual(t, f.most, parallelism, "%d tables", tables)
	}
}

// A history stays short: the workflow drains its window and continues as new, and every unit is written once over all
// executions.
func TestSyncTableContinuesAsNew(t *testing.T) {
	const units, limit = 2500, 300
	f := &fakes{units: map[string]int{"a": units}}
	in := workflows.TableInput{PreparedTable: preparedTable("orders-1", "a"), Settings: activities.Settings{Parallelism: 50}, ContinueAfter: limit}
	executions := 0
	for {
		env := environment(t, f)
		before := len(f.written)
		env.ExecuteWorkflow(workflows.SyncTableName, in)
		executions++
		require.True(t, env.IsWorkflowCompleted())
		var again *workflow.ContinueAsNewError
		err := env.GetWorkflowError()
		require.LessOrEqual(t, len(f.written)-before, limit)
		if !errors.As(err, &again) {
			require.NoError(t, err)
			break
		}
		in = workflows.TableInput{} // JSON leaves out what is empty
		require.NoError(t, json.Unmarshal(again.Input.GetPayloads()[0].GetData(), &in))
		require.Equal(t, "orders-1", in.Run, "the run's id goes on")
		require.Equal(t, len(f.written), in.State.Done, "nothing is in flight")
	}
	require.Equal(t, (units+limit-1)/limit, executions)
	require.Len(t, f.written, units)
	seen := map[int]bool{}
	for _, u := range f.written {
		require.False(t, seen[u], "unit %d was written twice", u)
		seen[u] = true
	}
}

func TestFailedTableDoesNotStopTheOthers(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 2, "b": 2}}
	f.write = func(_ context.Context, in activities.WriteInput) (*activities.Written, error) {
		if in.Table == "b" {
			return nil, refused(activities.TypeValue)
		}
		return &activities.Written{Unit: in.Unit}, nil
	}
	env := environment(t, f)
	env.ExecuteWorkflow(workflows.SyncName, syncInput())
	var app *temporal.ApplicationError
	require.ErrorAs(t, env.GetWorkflowError(), &app)
	require.Equal(t, workflows.RunFailed, app.Type())
	var s workflows.Summary
	require.NoError(t, app.Details(&s))
	require.Equal(t, workflows.StatusFailed, s.Status)
	for _, table := range s.Tables {
		switch table.Table {
		case "a":
			require.Equal(t, activities.StateCommitted, table.Status)
		case "b":
			require.Equal(t, workflows.StatusFailed, table.Status)
			require.Equal(t, activities.TypeValue, table.ErrorType)
			require.Contains(t, table.Error, "it is ValueRefused")
			require.Contains(t, table.Error, "given up")
		}
	}
	require.Equal(t, 1, f.aborted)
}

// What a second try may overcome is kept for resume; what it cannot is given up at once.
func TestFailureIsKeptOrGivenUp(t *testing.T) {
	for kind, kept := range map[string]bool{
		activities.TypeSource: true, activities.TypeStorage: true, activities.TypeAccess: true, activities.TypeInternal: true,
		activities.TypeSchemaChanged: false, activities.TypeValue: false, activities.TypeConflict: false,
	} {
		f := &fakes{units: map[string]int{"a": 9}}
		f.write = func(_ context.Context, in activities.WriteInput) (*activities.Written, error) {
			if in.Unit == 4 {
				return nil, refused(kind)
			}
			return &activities.Written{Unit: in.Unit}, nil
		}
		env := environment(t, f)
		env.ExecuteWorkflow(workflows.SyncName, syncInput())
		require.Error(t, env.GetWorkflowError())
		require.Equal(t, !kept, f.aborted == 1, kind)
		if kept {
			require.ErrorContains(t, env.GetWorkflowError(), "starter resume orders-1")
		}
		require.Zero(t, f.cleaned)
	}
}

func TestVerificationFailureCommitsNothing(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 1}}
	f.verify = func() error { return refused(activities.TypeMismatch) }
	f.commit = func() (*activities.TableResult, error) {
		t.Error("committed")
		return nil, nil
	}
	env := environment(t, f)
	env.ExecuteWorkflow(workflows.SyncName, syncInput())
	require.Error(t, env.GetWorkflowError())
	require.Equal(t, 1, f.aborted)
}

// Rows that others overtook are merged again, in rounds of their own, and no more often than is reasonable. What the units read is
// not read again.
func TestOvertakenRowsAreMergedAgain(t *testing.T) {
	for _, refusals := range []int{2, 100} {
		f := &fakes{units: map[string]int{"a": 4}}
		rounds := map[int]int{}
		f.merge = func(in activities.MergeInput) { rounds[in.Round]++ }
		commits := 0
		f.commit = func() (*activities.TableResult, error) {
			if commits++; commits <= refusals {
				return nil, refused(activities.TypeOvertaken)
			}
			return &activities.TableResult{Status: activities.StateCommitted, Snapshot: 7}, nil
		}
		env := environment(t, f)
		env.ExecuteWorkflow(workflows.SyncName, syncInput())
		require.Len(t, f.written, 4)
		if refusals == 2 {
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, map[int]int{0: 3, 1: 3, 2: 3}, rounds)
			require.Zero(t, f.aborted)
			continue
		}
		require.Error(t, env.GetWorkflowError())
		require.Equal(t, map[int]int{0: 3, 1: 3, 2: 3, 3: 3, 4: 3, 5: 3}, rounds)
		require.Equal(t, 1, f.aborted)
	}
}

// A commit whose reply is lost is not taken back: Abort finds it and the run ends as committed.
func TestAbortThatFindsTheCommitEndsCommitted(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 1}}
	f.commit = func() (*activities.TableResult, error) { return nil, refused(activities.TypeConflict) }
	f.abort = func() (*activities.Aborted, error) {
		return &activities.Aborted{State: activities.StateCommitted, Snapshot: 7, Message: "the run is committed as snapshot 7"}, nil
	}
	env := environment(t, f)
	env.ExecuteWorkflow(workflows.SyncName, syncInput())
	require.NoError(t, env.GetWorkflowError())
	var s workflows.Summary
	require.NoError(t, env.GetWorkflowResult(&s))
	require.Equal(t, activities.StateCommitted, s.Tables[0].Status)
	require.Equal(t, int64(7), s.Tables[0].Snapshot)
}

func TestUnknownOutcomeIsSaid(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 1}}
	f.commit = func() (*activities.TableResult, error) { return nil, refused(activities.TypeConflict) }
	f.abort = func() (*activities.Aborted, error) {
		return &activities.Aborted{State: activities.StateUnknown, Message: "not known; `starter resume orders-1` settles it"}, nil
	}
	env := environment(t, f)
	env.ExecuteWorkflow(workflows.SyncName, syncInput())
	var app *temporal.ApplicationError
	require.ErrorAs(t, env.GetWorkflowError(), &app)
	var s workflows.Summary
	require.NoError(t, app.Details(&s))
	require.Equal(t, workflows.StatusUnknown, s.Status)
	require.Contains(t, s.Tables[0].Error, "starter resume orders-1")
}

func TestCancelGivesTheRunUp(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 50}}
	f.write = func(ctx context.Context, in activities.WriteInput) (*activities.Written, error) {
		if in.Unit < 8 {
			return &activities.Written{Unit: in.Unit}, nil
		}
		<-ctx.Done()
		return nil, temporal.NewCanceledError()
	}
	env := environment(t, f)
	env.RegisterDelayedCallback(env.CancelWorkflow, 100*time.Millisecond)
	env.ExecuteWorkflow(workflows.SyncName, syncInput())
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, env.GetWorkflowError(), &cancelled)
	var s workflows.Summary
	require.NoError(t, cancelled.Details(&s))
	require.Equal(t, workflows.StatusCancelled, s.Status)
	require.Contains(t, s.Tables[0].Error, "given up")
	require.Equal(t, 1, f.aborted)
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Less(t, len(f.written), 50)
}

func TestResumeWritesOnlyWhatIsMissing(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 10}}
	env := environment(t, f)
	env.OnActivity(activities.PlanName, mock.Anything, mock.Anything).Return(&activities.Planned{
		Units: 10, Pending: []activities.Range{{From: 2, To: 3}, {From: 7, To: 9}},
	}, nil)
	env.ExecuteWorkflow(workflows.SyncTableName, workflows.TableInput{PreparedTable: preparedTable("r", "a"), Settings: activities.Settings{Parallelism: 1}})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []int{2, 7, 8}, f.written)
}

// A table whose ledger is gone is not loaded a second time by a resume.
func TestResumeLeavesOutWhatIsGone(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 2, "b": 2}}
	f.prepare = func(in activities.PrepareInput) (*activities.Prepared, error) {
		return &activities.Prepared{Job: "orders", Tables: []activities.PreparedTable{preparedTable(in.Run, "a")}, Gone: []activities.PreparedTable{preparedTable(in.Run, "b")}}, nil
	}
	env := environment(t, f)
	env.ExecuteWorkflow(workflows.SyncName, workflows.SyncInput{Job: json.RawMessage(`{}`), Run: "r", Resume: true})
	var app *temporal.ApplicationError
	require.ErrorAs(t, env.GetWorkflowError(), &app)
	var s workflows.Summary
	require.NoError(t, app.Details(&s))
	require.Equal(t, activities.StateCommitted, s.Tables[0].Status)
	require.Equal(t, workflows.StatusFailed, s.Tables[1].Status)
	require.Contains(t, s.Tables[1].Error, "start a new run")
	require.Len(t, f.written, 2)
}

func TestResumeOfAnEndedRunOnlyReports(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 10}}
	f.verify = func() error { return errors.New("verified again") }
	env := environment(t, f)
	env.OnActivity(activities.PlanName, mock.Anything, mock.Anything).Return(&activities.Planned{
		Units: 10, Done: &ledger.Result{Outcome: ledger.Committed, Snapshot: 5},
	}, nil)
	env.ExecuteWorkflow(workflows.SyncTableName, workflows.TableInput{PreparedTable: preparedTable("r", "a")})
	require.NoError(t, env.GetWorkflowError())
	require.Empty(t, f.written)
}

func TestProgressIsAnswered(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 3}}
	env := environment(t, f)
	env.ExecuteWorkflow(workflows.SyncTableName, workflows.TableInput{PreparedTable: preparedTable("r", "a"), Settings: activities.Settings{Parallelism: 2}})
	v, err := env.QueryWorkflow(workflows.ProgressQuery)
	require.NoError(t, err)
	var p workflows.TableProgress
	require.NoError(t, v.Get(&p))
	require.Equal(t, 3, p.Done)
	require.Equal(t, int64(30), p.Counts.RowsRead)
	require.Equal(t, "done", p.Phase)
}

func TestRunIDIsDerivedFromTheFirstRun(t *testing.T) {
	in := workflows.SyncInput{Job: json.RawMessage(`{"job":"orders"}`)}
	require.Equal(t, "orders-444444444444", workflows.RunID(in, "0199aabb-1111-2222-3333-444444444444"))
	in.Run = "mine"
	require.Equal(t, "mine", workflows.RunID(in, "0199aabb-1111"))
	require.Equal(t, "run-1111", workflows.RunID(workflows.SyncInput{Job: json.RawMessage(`{`)}, "0199aabb-1111"))
}

func TestAbortSettlesEveryTable(t *testing.T) {
	f := &fakes{units: map[string]int{"a": 1, "b": 1}}
	env := environment(t, f)
	env.ExecuteWorkflow(workflows.AbortName, workflows.AbortRunInput{Run: "orders-1"})
	require.NoError(t, env.GetWorkflowError())
	var tables []workflows.AbortedTable
	require.NoError(t, env.GetWorkflowResult(&tables))
	require.Len(t, tables, 2)
	require.Equal(t, activities.StateAborted, tables[0].State)
	require.Equal(t, 2, f.aborted)
}
