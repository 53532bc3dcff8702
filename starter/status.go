package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/tributary-lake/tributary/workflows"
)

func (c *cli) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status [JOB | RUN]",
		Short: "List runs, or show one",
		Long: `Without an argument list the newest runs, with a job's name its runs, and with a
run's id (or workflow id) that run: its progress while it goes on, else its summary.`,
		Example: "  starter status\n  starter status orders",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, t, err := c.dial(cmd, nil)
			if err != nil {
				return err
			}
			defer cl.Close()
			if len(args) == 1 {
				e, err := find(cmd.Context(), cl, args[0])
				if err == nil {
					return c.showRun(cmd.Context(), cl, e)
				}
			}
			job := ""
			if len(args) == 1 {
				job = args[0]
			}
			return c.listRuns(cmd.Context(), cl, t.Namespace, job)
		},
	}
}

// listed is one line of the list of runs.
type listed struct {
	Workflow string    `json:"workflow_id"`
	Status   string    `json:"status"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"duration_seconds"`
}

// shownRuns is how many runs a list has at most.
const shownRuns = 50

func (c *cli) listRuns(ctx context.Context, cl client.Client, namespace, job string) error {
	q := fmt.Sprintf("WorkflowType = '%s'", workflows.SyncName)
	if job != "" {
		q += fmt.Sprintf(" AND WorkflowId STARTS_WITH '%s'", strings.ReplaceAll(job, "'", "''")+"-")
	}
	r, err := cl.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: q, PageSize: shownRuns})
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("list runs: %w", err)}
	}
	runs := []listed{}
	for _, e := range r.GetExecutions() {
		l := listed{Workflow: e.GetExecution().GetWorkflowId(), Status: statusText(e.GetStatus()), Started: e.GetStartTime().AsTime()}
		end := time.Now()
		if e.GetCloseTime() != nil {
			end = e.GetCloseTime().AsTime()
		}
		l.Seconds = end.Sub(l.Started).Seconds()
		runs = append(runs, l)
	}
	if len(runs) == 0 && job != "" {
		return &exitError{exitFailed, fmt.Errorf("there is no run or job %s: `starter status` lists all runs", job)}
	}
	if c.json {
		return c.printJSON(runs)
	}
	w := c.newTable()
	w.AppendHeader(table.Row{"run", "status", "started", "seconds"})
	for _, l := range runs {
		w.AppendRow(table.Row{l.Workflow, l.Status, l.Started.Local().Format(time.DateTime), fmt.Sprintf("%.1f", l.Seconds)})
	}
	fmt.Fprintln(c.stdout, w.Render())
	return nil
}

func statusText(s enumspb.WorkflowExecutionStatus) string {
	if s == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED {
		return workflows.StatusCancelled
	}
	return strings.ToLower(s.String())
}

func (c *cli) showRun(ctx context.Context, cl client.Client, e *workflowpb.WorkflowExecutionInfo) error {
	id := e.GetExecution().GetWorkflowId()
	if e.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		var s *workflows.Summary
		if err := cl.GetWorkflow(ctx, id, "").Get(ctx, &s); err != nil {
			if s, err = ended(err, id); err != nil {
				return err
			}
		}
		return c.summary(s)
	}
	var run workflows.RunProgress
	if !query(ctx, cl, id, &run) {
		return &exitError{exitFailed, fmt.Errorf("run %s goes on, but no worker answers for it: is one running?", id)}
	}
	var tables []workflows.TableProgress
	for _, t := range run.Tables {
		var p workflows.TableProgress
		if query(ctx, cl, t.WorkflowID, &p) {
			tables = append(tables, p)
		}
	}
	if c.json {
		return c.printJSON(map[string]any{"run": run.Run, "phase": run.Phase, "tables": tables, "results": run.Results})
	}
	fmt.Fprintf(c.stdout, "run %s: %s since %s\n", run.Run, run.Phase, e.GetStartTime().AsTime().Local().Format(time.DateTime))
	w := c.newTable()
	w.AppendHeader(table.Row{"table", "phase", "units", "in flight", "rows read", "of about", "bytes"})
	for _, t := range tables {
		units := fmt.Sprintf("%d/%d", t.Done, t.Units)
		if t.Merges > 0 {
			units += fmt.Sprintf(", merges %d/%d", t.Merged, t.Merges)
		}
		w.AppendRow(table.Row{t.Table, t.Phase, units, t.InFlight, t.Counts.RowsRead, t.RowsPlan, bytesText(t.Counts.Bytes)})
	}
	fmt.Fprintln(c.stdout, w.Render())
	return nil
}

func (c *cli) cancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run: nothing is committed and its files are removed",
		Long: `Cancel a run. What is committed stays; everything else of the run is given up and
its data files are removed. The command waits until a worker has done that.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, _, err := c.dial(cmd, nil)
			if err != nil {
				return err
			}
			defer cl.Close()
			ctx := cmd.Context()
			e, err := find(ctx, cl, args[0])
			if err != nil {
				return err
			}
			id := e.GetExecution().GetWorkflowId()
			if s := e.GetStatus(); s != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				return &exitError{exitFailed, fmt.Errorf("run %s is not running: it is %s", args[0], statusText(s))}
			}
			if err := cl.CancelWorkflow(ctx, id, ""); err != nil {
				return noWorkflow(err, args[0])
			}
			hint := time.AfterFunc(silence, func() {
				fmt.Fprintf(c.stderr, "waiting for a worker to give the run up: is one running on task queue %s?\n", e.GetTaskQueue())
			})
			defer hint.Stop()
			var s *workflows.Summary
			if err := cl.GetWorkflow(ctx, id, "").Get(ctx, &s); err != nil {
				if s, err = ended(err, args[0]); err != nil {
					return err
				}
			}
			err = c.summary(s)
			var exit *exitError
			if errors.As(err, &exit) && exit.code == exitInterrupted {
				return nil // that is what was asked for
			}
			return err
		},
	}
}
