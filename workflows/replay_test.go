package workflows_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/workflows"
)

func replayer() worker.WorkflowReplayer {
	r := worker.NewWorkflowReplayer()
	for name, w := range map[string]any{
		workflows.SyncName: workflows.Sync, workflows.SyncTableName: workflows.SyncTable, workflows.ExplainName: workflows.Explain,
		workflows.MaintainName: workflows.Maintain, workflows.UpkeepTableName: workflows.UpkeepTable,
		workflows.AbortName: workflows.Abort, workflows.AbortTableName: workflows.AbortTable,
	} {
		r.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name})
	}
	return r
}

func recorded(t *testing.T, path string) *historypb.History {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)
	var h historypb.History
	require.NoError(t, temporalproto.CustomJSONUnmarshalOptions{}.Unmarshal(data, &h))
	require.NotEmpty(t, h.GetEvents())
	return &h
}

// Histories that a release recorded on a real server must replay on today's code: runs go on while workers are deployed.
func TestRecordedHistoriesReplay(t *testing.T) {
	paths, err := filepath.Glob("testdata/replay/*/*.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, paths, "record them with `make golden`")
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			require.NoError(t, replayer().ReplayWorkflowHistory(nil, recorded(t, path)))
		})
	}
}

// The check can fail: a history in which another activity ran is refused.
func TestReplaySeesAnotherOrder(t *testing.T) {
	paths, err := filepath.Glob("testdata/replay/*/sync-1.json.gz")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	h := recorded(t, paths[0])
	for _, e := range h.GetEvents() {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			a.ActivityType.Name = "Other"
			break
		}
	}
	require.ErrorContains(t, replayer().ReplayWorkflowHistory(nil, h), "TMPRL1100")
}
