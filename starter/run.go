package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/workflows"
)

func (c *cli) run() *cobra.Command {
	var file string
	var wait bool
	cmd := &cobra.Command{
		Use:   "run -f job.yaml [--wait]",
		Short: "Start a run of a job",
		Long: `Start a run of a job. The run goes on by itself; with --wait its progress is shown
and the command ends with the summary. The first Ctrl-C leaves the run alone,
a second one cancels it.`,
		Example: "  starter run -f examples/orders.yaml --wait",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			job, err := loadJob(file)
			if err != nil {
				return err
			}
			return c.start(cmd, job, workflows.SyncInput{Run: newRun(job.Name, time.Now())}, wait)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the job file")
	cmd.Flags().BoolVar(&wait, "wait", false, "show progress and end with the summary")
	return cmd
}

// newRun names a run by its job and minute, and four digits that tell runs of one minute apart.
func newRun(job string, at time.Time) string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%s-%s-%s", job, at.UTC().Format("20060102T1504"), hex.EncodeToString(b[:]))
}

// start starts a run, and follows it if asked.
func (c *cli) start(cmd *cobra.Command, job *config.Job, in workflows.SyncInput, wait bool) error {
	data, err := job.JSON()
	if err != nil {
		return usage(err)
	}
	in.Job = data
	cl, t, err := c.dial(cmd, job)
	if err != nil {
		return err
	}
	defer cl.Close()
	started, err := cl.ExecuteWorkflow(cmd.Context(), client.StartWorkflowOptions{
		ID: in.Run, TaskQueue: t.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		StaticSummary:            "job " + job.Name,
	}, workflows.SyncName, in)
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("start run %s: %w", in.Run, err)}
	}
	if !wait {
		if c.json {
			return c.printJSON(map[string]string{"run": in.Run, "workflow_id": started.GetID()})
		}
		fmt.Fprintf(c.stdout, "run %s started; follow it with `starter status %s`\n", in.Run, in.Run)
		return nil
	}
	return c.follow(cmd.Context(), cl, started, in.Run, t.TaskQueue)
}

// errDetached ends following a run that goes on.
var errDetached = errors.New("detached")

// follow shows a run's progress until it ends.
func (c *cli) follow(ctx context.Context, cl client.Client, started client.WorkflowRun, run, queue string) error {
	watch, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	go c.interrupted(watch, interrupts, func(cancelRun bool) {
		if cancelRun {
			_ = cl.CancelWorkflow(ctx, started.GetID(), "") // the summary tells whether it was
			return
		}
		stop(errDetached)
	})
	done := make(chan struct{})
	bars := c.newProgress(queue)
	go func() {
		defer close(done)
		bars.watch(watch, cl, started.GetID())
	}()
	var s *workflows.Summary
	err := started.Get(watch, &s)
	stop(err)
	<-done
	if errors.Is(context.Cause(watch), errDetached) {
		return &exitError{exitInterrupted, fmt.Errorf("left run %s alone, it goes on: `starter status %s` shows it, `starter cancel %s` ends it", run, run, run)}
	}
	if err != nil {
		if s, err = ended(err, run); err != nil {
			return err
		}
	}
	return c.summary(s)
}

// interrupted acts on Ctrl-C: the first is answered with what it would take, a second within the time cancels the run,
// and without a second the command lets go of it.
func (c *cli) interrupted(ctx context.Context, interrupts <-chan os.Signal, act func(cancelRun bool)) {
	select {
	case <-interrupts:
	case <-ctx.Done():
		return
	}
	fmt.Fprintln(c.stderr, "starter: leaving the run alone; press Ctrl-C again within 2 seconds to cancel it")
	again := time.NewTimer(2 * time.Second)
	defer again.Stop()
	select {
	case <-interrupts:
		fmt.Fprintln(c.stderr, "starter: cancelling the run; waiting until it is given up")
		act(true)
	case <-again.C:
		act(false)
	case <-ctx.Done():
	}
}

func (c *cli) printJSON(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return &exitError{exitFailed, err}
	}
	fmt.Fprintln(c.stdout, string(data))
	return nil
}
