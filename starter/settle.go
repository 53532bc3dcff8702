package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/workflows"
)

// target of resume and abort: a run with its job, from Temporal's history or, when that is gone, from a job file.
func (c *cli) runAndJob(cmd *cobra.Command, id, file string) (client.Client, *config.Job, string, string, error) {
	var job *config.Job
	if file != "" {
		var err error
		if job, err = loadJob(file); err != nil {
			return nil, nil, "", "", err
		}
	}
	cl, _, err := c.dial(cmd, job)
	if err != nil {
		return nil, nil, "", "", err
	}
	run := id
	if job == nil {
		job, run, err = jobOfRun(cmd.Context(), cl, id)
	}
	var s *config.Starter
	if err == nil {
		s, err = config.LoadStarter(cmd.Flags(), job) // its workers poll the job's task queue
	}
	if err != nil {
		cl.Close()
		return nil, nil, "", "", err
	}
	return cl, job, run, s.Temporal.TaskQueue, nil
}

// jobOfRun takes a run's job from Temporal's history.
func jobOfRun(ctx context.Context, cl client.Client, id string) (*config.Job, string, error) {
	data, run, err := runOf(ctx, cl, id)
	if err != nil {
		return nil, "", err
	}
	job, err := config.ParseJob("", data)
	if err != nil {
		return nil, "", usage(err)
	}
	return job, run, nil
}

func (c *cli) resume() *cobra.Command {
	var file string
	var wait bool
	cmd := &cobra.Command{
		Use:   "resume RUN [-f job.yaml] [--wait]",
		Short: "Go on with a run that failed or was lost, doing only what is missing",
		Long: `Go on with a run in a new workflow. Units that are written and claimed in the run's
ledger are kept, a decided commit is finished. When Temporal no longer knows the
run, name its job file, whose staging root holds the ledger.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, job, run, _, err := c.runAndJob(cmd, args[0], file)
			if err != nil {
				return err
			}
			cl.Close()
			return c.start(cmd, job, workflows.SyncInput{Run: run, Resume: true}, wait)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the job file, when Temporal no longer knows the run")
	cmd.Flags().BoolVar(&wait, "wait", false, "show progress and end with the summary")
	return cmd
}

func (c *cli) abort() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "abort RUN [-f job.yaml]",
		Short: "Give up a run that has ended without being settled, and remove its files",
		Long: `Give up a run that failed or was lost. A committed table stays committed. A commit
that was decided but is not in the table is made impossible by an empty snapshot
before anything is deleted. A run that goes on is cancelled with starter cancel.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, job, run, queue, err := c.runAndJob(cmd, args[0], file)
			if err != nil {
				return err
			}
			defer cl.Close()
			if e, err := find(cmd.Context(), cl, args[0]); err == nil && e.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				return &exitError{exitFailed, fmt.Errorf("run %s goes on: `starter cancel %s` ends it and gives it up", args[0], args[0])}
			}
			data, err := job.JSON()
			if err != nil {
				return usage(err)
			}
			started, err := cl.ExecuteWorkflow(cmd.Context(), client.StartWorkflowOptions{
				ID: "abort-" + run, TaskQueue: queue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			}, workflows.AbortName, workflows.AbortRunInput{Job: data, Run: run})
			if err != nil {
				return &exitError{exitFailed, fmt.Errorf("give up run %s: %w", run, err)}
			}
			var tables []workflows.AbortedTable
			if err := started.Get(cmd.Context(), &tables); err != nil {
				text, kind := activities.Describe(err)
				return &exitError{codeOf(kind), errors.New(text)}
			}
			return c.aborted(tables)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the job file, when Temporal no longer knows the run")
	return cmd
}

func (c *cli) aborted(tables []workflows.AbortedTable) error {
	code := exitDone
	w := c.newTable()
	w.AppendHeader(table.Row{"table", "state", "what happened"})
	for _, t := range tables {
		w.AppendRow(table.Row{t.Table, t.State, t.Message})
		switch t.State {
		case activities.StateUnknown:
			code = exitUnknown
		case workflows.StatusFailed:
			code = max(code, exitFailed)
		}
	}
	if c.json {
		if err := c.printJSON(tables); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(c.stdout, w.Render())
	}
	if code != exitDone {
		return &exitError{code: code}
	}
	return nil
}
