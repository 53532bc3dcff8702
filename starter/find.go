package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/tributary-lake/tributary/workflows"
)

// find finds a run by its workflow id, or by the run id that its summary names: for runs that a schedule or another client
// started these are two.
func find(ctx context.Context, cl client.Client, id string) (*workflowpb.WorkflowExecutionInfo, error) {
	d, err := cl.DescribeWorkflow(ctx, id, "")
	if err == nil {
		return d.RawResponse.GetWorkflowExecutionInfo(), nil
	}
	var gone *serviceerror.NotFound
	dash := strings.LastIndexByte(id, '-')
	if !errors.As(err, &gone) || dash < 0 {
		return nil, noWorkflow(err, id)
	}
	// A derived run id ends as the first run id of its workflow does.
	const newest = 1000
	r, listErr := cl.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = '%s'", workflows.SyncName), PageSize: newest,
	})
	if listErr != nil {
		return nil, noWorkflow(listErr, id)
	}
	for _, e := range r.GetExecutions() {
		if strings.HasSuffix(e.GetExecution().GetRunId(), id[dash:]) {
			if d, err = cl.DescribeWorkflow(ctx, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId()); err == nil {
				return d.RawResponse.GetWorkflowExecutionInfo(), nil
			}
		}
	}
	return nil, noWorkflow(err, id)
}

// noWorkflow says it when Temporal knows no such run.
func noWorkflow(err error, run string) error {
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return &exitError{exitFailed, fmt.Errorf("no run %s is known to Temporal: `starter status` lists runs", run)}
	}
	return &exitError{exitFailed, err}
}

// runOf finds the job and the run id of a run that Temporal still knows.
func runOf(ctx context.Context, cl client.Client, id string) (json.RawMessage, string, error) {
	info, err := find(ctx, cl, id)
	if err != nil {
		return nil, "", err
	}
	first := info.GetFirstRunId()
	events := cl.GetWorkflowHistory(ctx, info.GetExecution().GetWorkflowId(), first, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if !events.HasNext() {
		return nil, "", &exitError{exitFailed, fmt.Errorf("the history of %s is gone: name the job file with -f and give the run's id", id)}
	}
	e, err := events.Next()
	if err != nil {
		return nil, "", &exitError{exitFailed, err}
	}
	var in workflows.SyncInput
	payloads := e.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := converter.GetDefaultDataConverter().FromPayloads(payloads, &in); err != nil {
		return nil, "", &exitError{exitFailed, fmt.Errorf("read the input of %s: %w", id, err)}
	}
	return in.Job, workflows.RunID(in, first), nil
}
