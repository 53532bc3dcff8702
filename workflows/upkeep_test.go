package workflows_test

import (
	"encoding/json"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/upkeep"
	"github.com/tributary-lake/tributary/workflows"
)

// Rows that were added to a key table start a compaction of what is due, in the one workflow that keeps the target in order, and
// the run does not fail by it.
func TestUpsertsStartACompaction(t *testing.T) {
	for _, upserted := range []bool{true, false} {
		f := &fakes{units: map[string]int{"a": 1}}
		f.commit = func() (*activities.TableResult, error) {
			return &activities.TableResult{Status: activities.StateCommitted, Snapshot: 7, Kind: "APPEND", Upserted: upserted}, nil
		}
		env := environment(t, f)
		var compacted []upkeep.CompactInput
		var id string
		env.RegisterWorkflowWithOptions(func(ctx workflow.Context, in workflows.UpkeepInput) (*workflows.UpkeepResult, error) {
			id = workflow.GetInfo(ctx).WorkflowExecution.ID
			return workflows.UpkeepTable(ctx, in)
		}, workflow.RegisterOptions{Name: workflows.UpkeepTableName})
		env.RegisterActivityWithOptions(func(in upkeep.CompactInput) (*upkeep.Compacted, error) {
			compacted = append(compacted, in)
			return nil, refused(activities.TypeInternal)
		}, activity.RegisterOptions{Name: upkeep.CompactName})
		env.ExecuteWorkflow(workflows.SyncName, syncInput())
		require.NoError(t, env.GetWorkflowError())
		if !upserted {
			require.Empty(t, compacted)
			continue
		}
		require.Len(t, compacted, 1)
		require.Equal(t, "tributary-upkeep-a", id)
		require.Equal(t, id, compacted[0].WorkflowID)
		require.Equal(t, "a", compacted[0].Name)
		require.True(t, compacted[0].Due)
		require.JSONEq(t, string(syncInput().Job), string(compacted[0].Job))
	}
}

// Maintain compacts, expires and cleans each table in this order, with the settings that it was given; one that fails does not keep
// it from the others.
func TestMaintain(t *testing.T) {
	for _, fails := range []bool{false, true} {
		var s testsuite.WorkflowTestSuite
		s.SetLogger(tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
		env := s.NewTestWorkflowEnvironment()
		env.RegisterWorkflowWithOptions(workflows.Maintain, workflow.RegisterOptions{Name: workflows.MaintainName})
		env.RegisterWorkflowWithOptions(workflows.UpkeepTable, workflow.RegisterOptions{Name: workflows.UpkeepTableName})
		var mu sync.Mutex // the tables' activities go on beside each other
		done := map[string][]string{}
		note := func(table, step string) {
			mu.Lock()
			defer mu.Unlock()
			done[table] = append(done[table], step)
		}
		env.RegisterActivityWithOptions(func(json.RawMessage) ([]upkeep.Table, error) {
			return []upkeep.Table{{Name: "a", WorkflowID: "upkeep-a"}, {Name: "b", WorkflowID: "upkeep-b"}}, nil
		}, activity.RegisterOptions{Name: upkeep.TablesName})
		env.RegisterActivityWithOptions(func(in upkeep.CompactInput) (*upkeep.Compacted, error) {
			note(in.Name, "compact")
			if fails && in.Name == "a" {
				return nil, refused(activities.TypeInternal)
			}
			require.False(t, in.Due)
			return &upkeep.Compacted{Snapshot: 5, FilesBefore: 3, FilesAfter: 1}, nil
		}, activity.RegisterOptions{Name: upkeep.CompactName})
		env.RegisterActivityWithOptions(func(in upkeep.ExpireInput) (*upkeep.Expired, error) {
			note(in.Name, "expire")
			require.Equal(t, []int64{2, 9, 1000}, []int64{int64(in.RetainMin), int64(in.RetainMax), int64(in.OlderThan)})
			return &upkeep.Expired{Snapshots: 4}, nil
		}, activity.RegisterOptions{Name: upkeep.ExpireName})
		env.RegisterActivityWithOptions(func(in upkeep.OrphansInput) (*upkeep.Removed, error) {
			note(in.Name, "orphans")
			require.EqualValues(t, 77, in.OlderThan)
			return &upkeep.Removed{Files: 6}, nil
		}, activity.RegisterOptions{Name: upkeep.OrphansName})
		env.ExecuteWorkflow(workflows.MaintainName, workflows.MaintainInput{
			Job: json.RawMessage(`{}`), Upkeep: workflows.Upkeep{RetainMin: 2, RetainMax: 9, OlderThan: 1000, Orphans: 77},
		})
		require.Equal(t, []string{"compact", "expire", "orphans"}, done["b"])
		if fails {
			require.ErrorContains(t, env.GetWorkflowError(), "a: ")
			require.Equal(t, []string{"compact"}, done["a"])
			continue
		}
		require.NoError(t, env.GetWorkflowError())
		var out []workflows.UpkeepResult
		require.NoError(t, env.GetWorkflowResult(&out))
		require.Len(t, out, 2)
		require.Equal(t, workflows.UpkeepResult{
			Table: "b", Compacted: upkeep.Compacted{Snapshot: 5, FilesBefore: 3, FilesAfter: 1}, Expired: upkeep.Expired{Snapshots: 4}, Removed: upkeep.Removed{Files: 6},
		}, out[1])
	}
}
