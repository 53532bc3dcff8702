package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/workflows"
)

// result is what one run cost.
type result struct {
	units int
	// took is the time of each kind of activity; of Write from the first to the last.
	took map[string]time.Duration
	// events and historyBytes are of all executions of the table's workflow.
	events, historyBytes int64
	executions           int
	ledgerFiles          int
	ledgerBytes          int64
	peak                 int64
}

// measure runs a job of so many splits on a worker of its own.
func measure(ctx context.Context, address string, splits int, alone bool) (*result, error) {
	folder, err := os.MkdirTemp("", "trb-scale-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	w, err := startWorker(ctx, address)
	if err != nil {
		return nil, err
	}
	defer w.end()
	c, err := client.DialContext(ctx, client.Options{HostPort: address})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	j := job{Job: "scale", Shards: splits / splitsPerShard, Alone: alone, Folder: folder}
	data, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	started, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "scale-" + uuid.NewString(), TaskQueue: queue}, workflows.SyncName, workflows.SyncInput{Job: data})
	if err != nil {
		return nil, err
	}
	var sum workflows.Summary
	if err := started.Get(ctx, &sum); err != nil {
		return nil, err
	}
	if want := int64(j.Shards * splitsPerShard * readRows); sum.Status != workflows.StatusDone || sum.Tables[0].Written != want {
		return nil, fmt.Errorf("the run ended with %+v, want %d rows", sum, want)
	}
	r := &result{took: map[string]time.Duration{}}
	if err := r.histories(ctx, c, activities.WorkflowID(j.warehouse(), target())); err != nil {
		return nil, err
	}
	if err := r.ledger(filepath.Join(folder, "staging")); err != nil {
		return nil, err
	}
	r.peak, err = peakOf(w.cmd.Process.Pid)
	return r, err
}

// histories adds up the executions of a table's workflow, from its last one back.
func (r *result) histories(ctx context.Context, c client.Client, id string) error {
	run := ""
	var first, last time.Time
	for {
		described, err := c.DescribeWorkflow(ctx, id, run)
		if err != nil {
			return err
		}
		d := described.RawResponse
		r.executions++
		r.events += d.GetWorkflowExecutionInfo().GetHistoryLength()
		r.historyBytes += d.GetWorkflowExecutionInfo().GetHistorySizeBytes()
		kinds := map[int64]string{}
		begun := map[int64]time.Time{}
		before := ""
		events := c.GetWorkflowHistory(ctx, id, d.GetWorkflowExecutionInfo().GetExecution().GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				return err
			}
			at := e.GetEventTime().AsTime()
			switch a := e.Attributes.(type) {
			case *historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes:
				before = a.WorkflowExecutionStartedEventAttributes.GetContinuedExecutionRunId()
			case *historypb.HistoryEvent_ActivityTaskScheduledEventAttributes:
				kinds[e.GetEventId()] = a.ActivityTaskScheduledEventAttributes.GetActivityType().GetName()
			case *historypb.HistoryEvent_ActivityTaskStartedEventAttributes:
				begun[a.ActivityTaskStartedEventAttributes.GetScheduledEventId()] = at
			case *historypb.HistoryEvent_ActivityTaskCompletedEventAttributes:
				n := a.ActivityTaskCompletedEventAttributes.GetScheduledEventId()
				if kinds[n] != activities.WriteName {
					r.took[kinds[n]] += at.Sub(begun[n])
					continue
				}
				r.units++
				if first.IsZero() || begun[n].Before(first) {
					first = begun[n]
				}
				if at.After(last) {
					last = at
				}
			}
		}
		if before == "" {
			r.took[activities.WriteName] = last.Sub(first)
			return nil
		}
		run = before
	}
}

// ledger counts what the run keeps in its staging root.
func (r *result) ledger(root string) error {
	return filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			r.ledgerFiles++
			r.ledgerBytes += info.Size()
		}
		return err
	})
}
