package e2e

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/workflows"
)

var update = flag.String("update-histories", "", "folder to write the recorded histories to")

func replayer() worker.WorkflowReplayer {
	r := worker.NewWorkflowReplayer()
	for name, w := range map[string]any{
		workflows.SyncName: workflows.Sync, workflows.SyncTableName: workflows.SyncTable, workflows.ExplainName: workflows.Explain,
		workflows.MaintainName: workflows.Maintain, workflows.UpkeepTableName: workflows.UpkeepTable,
	} {
		r.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name})
	}
	return r
}

// recorder collects histories, replays each, and keeps them when asked.
type recorder struct {
	stack *stack
	n     map[string]int
}

// record takes the histories of a workflow id's newest chain of executions.
func (r *recorder) record(t *testing.T, kind, workflowID string) {
	t.Helper()
	runID := ""
	for {
		h := &historypb.History{}
		events := r.stack.client.GetWorkflowHistory(context.Background(), workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			require.NoError(t, err)
			h.Events = append(h.Events, e)
		}
		require.NoError(t, replayer().ReplayWorkflowHistory(nil, h))
		r.keep(t, kind, h)
		started := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
		if runID = started.GetContinuedExecutionRunId(); runID == "" {
			return
		}
	}
}

func (r *recorder) keep(t *testing.T, kind string, h *historypb.History) {
	t.Helper()
	r.n[kind]++
	if *update == "" {
		return
	}
	data, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(h)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(*update, 0o755))
	f, err := os.Create(filepath.Join(*update, fmt.Sprintf("%s-%d.json.gz", kind, r.n[kind])))
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	_, err = z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
}

// Real executions replay on the code that made them: a plain run, one that continues as new (2,500 tiny splits among them),
// one that is cancelled, one whose worker is lost, and a plan. `make golden` keeps their histories for later releases.
func TestHistoriesReplay(t *testing.T) {
	t.Parallel() // most of its time is waiting
	r := &recorder{stack: theStack(t), n: map[string]int{}}
	f := newManySplits(t)
	table := activities.WorkflowID("file://"+f.warehouse, target())
	w := f.stack.startWorker(t, f.queue)

	require.Zero(t, f.stack.run(t, "plan", "-f", f.job).code)

	run := f.start(t)
	f.finish(t, run)
	r.record(t, "sync", run)
	r.record(t, "table", table)

	job, err := os.ReadFile(f.job)
	require.NoError(t, err)
	started, err := f.stack.client.ExecuteWorkflow(t.Context(), startOptions(f.queue), workflows.SyncName,
		workflows.SyncInput{Job: json.RawMessage(job), Run: "orders-continued", ContinueAfter: 70})
	require.NoError(t, err)
	require.NoError(t, started.Get(t.Context(), nil))
	r.record(t, "table-continued", table)
	require.Equal(t, 5, r.n["table-continued"], "300 units in executions of 70 activities")

	run = f.start(t)
	eventually(t, patience, "some units are claimed", func() bool { return len(f.ledgerFiles(run, "splits")) > 20 })
	w.kill()
	f.stack.startWorker(t, f.queue)
	f.finish(t, run)
	r.record(t, "table-worker-lost", table)

	run = f.start(t)
	eventually(t, patience, "some units are claimed", func() bool { return len(f.ledgerFiles(run, "splits")) > 20 })
	require.Zero(t, f.stack.run(t, "cancel", run).code)
	r.record(t, "sync-cancelled", run)
	r.record(t, "table-cancelled", table)
}

// 2,500 unpacked tiny splits at the default limits: the workflow continues as new by itself, when the server suggests it or
// its own limit is reached, and the run keeps its id.
func TestManyTinySplits(t *testing.T) {
	t.Parallel()
	s := theStack(t)
	f := newManySplits(t)
	f.units = 2501
	data, err := os.ReadFile(f.job)
	require.NoError(t, err)
	var job map[string]any
	require.NoError(t, json.Unmarshal(data, &job))
	job["tables"].([]any)[0].(map[string]any)["split"] = map[string]any{"count": f.units}
	job["run"] = map[string]any{"parallelism": 16}
	data, err = json.Marshal(job)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.job, data, 0o600))
	s.startWorker(t, f.queue, "--slots", "16")
	run := f.start(t)
	sum := f.finish(t, run)
	require.Equal(t, run, sum.Run)
	require.Equal(t, 2501, sum.Tables[0].Splits)
	require.Equal(t, int64(f.rows), sum.Tables[0].Written)
	f.exact(t)
	r := &recorder{stack: s, n: map[string]int{}}
	r.record(t, "tiny", activities.WorkflowID("file://"+f.warehouse, target()))
	require.GreaterOrEqual(t, r.n["tiny"], 2, "executions")
}
