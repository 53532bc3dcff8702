package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/workflows"
)

// scheduleID is the schedule of a job; a job has one.
func scheduleID(job string) string { return "tributary-" + job }

func (c *cli) schedule() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Run a job again and again",
		Long: `Run a job by a Temporal schedule. A run that is due while the one before goes on is
skipped; after an outage at most the newest missed run is started.`,
	}
	cmd.AddCommand(c.scheduleCreate(), c.scheduleList(),
		c.scheduleAct("pause", "Stop starting runs", func(cmd *cobra.Command, h client.ScheduleHandle) error {
			return h.Pause(cmd.Context(), client.SchedulePauseOptions{Note: "paused with starter schedule pause"})
		}),
		c.scheduleAct("unpause", "Start runs again", func(cmd *cobra.Command, h client.ScheduleHandle) error {
			return h.Unpause(cmd.Context(), client.ScheduleUnpauseOptions{Note: "unpaused with starter schedule unpause"})
		}),
		c.scheduleAct("trigger", "Start a run now", func(cmd *cobra.Command, h client.ScheduleHandle) error {
			return h.Trigger(cmd.Context(), client.ScheduleTriggerOptions{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP})
		}),
		c.scheduleAct("delete", "Remove the schedule; runs that go on are left alone", func(cmd *cobra.Command, h client.ScheduleHandle) error {
			return h.Delete(cmd.Context())
		}))
	return cmd
}

func (c *cli) scheduleCreate() *cobra.Command {
	var file, cron string
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "create -f job.yaml (--every 10m | --cron '0 2 * * *')",
		Short: "Make the job's schedule",
		Long: `Make the job's schedule. It keeps the job as the file has it now: after a change,
delete the schedule and make it again.`,
		Example: "  starter schedule create -f examples/orders.yaml --every 10m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			job, err := loadJob(file)
			if err != nil {
				return err
			}
			spec, window, err := when(every, cron)
			if err != nil {
				return usage(err)
			}
			return c.createSchedule(cmd, job, spec, window)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the job file")
	cmd.Flags().DurationVar(&every, "every", 0, "time between starts, such as 10m")
	cmd.Flags().StringVar(&cron, "cron", "", "five cron fields, in UTC")
	return cmd
}

// when makes the schedule's times and the window within which a missed start is caught up: less than one period, so
// that an outage never starts a queue of runs.
func when(every time.Duration, cron string) (client.ScheduleSpec, time.Duration, error) {
	const least = 10 * time.Second // the server's own bound for the window
	switch {
	case (every == 0) == (cron == ""):
		return client.ScheduleSpec{}, 0, errors.New("give one of --every and --cron")
	case cron != "":
		return client.ScheduleSpec{CronExpressions: []string{cron}}, 50 * time.Second, nil
	case every < least:
		return client.ScheduleSpec{}, 0, fmt.Errorf("--every %s: the shortest period is %s", every, least)
	}
	return client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: every}}}, max(every-time.Second, least), nil
}

func (c *cli) createSchedule(cmd *cobra.Command, job *config.Job, spec client.ScheduleSpec, window time.Duration) error {
	data, err := job.JSON()
	if err != nil {
		return usage(err)
	}
	err = c.makeSchedule(cmd, job, job.Name, client.ScheduleOptions{
		Spec: spec, CatchupWindow: window,
		Action: &client.ScheduleWorkflowAction{
			ID: job.Name, Workflow: workflows.SyncName, StaticSummary: "job " + job.Name, Args: []any{workflows.SyncInput{Job: data}},
		},
	})
	if err != nil || c.json {
		return err
	}
	fmt.Fprintf(c.stdout, "job %s has a schedule; runs are listed by `starter status %s`\n", job.Name, job.Name)
	return nil
}

// makeSchedule makes a schedule under a name, that of the job or one of its own for what else is done to its tables.
func (c *cli) makeSchedule(cmd *cobra.Command, job *config.Job, name string, o client.ScheduleOptions) error {
	cl, t, err := c.dial(cmd, job)
	if err != nil {
		return err
	}
	defer cl.Close()
	o.ID, o.Overlap = scheduleID(name), enumspb.SCHEDULE_OVERLAP_POLICY_SKIP
	o.Action.(*client.ScheduleWorkflowAction).TaskQueue = t.TaskQueue
	_, err = cl.ScheduleClient().Create(cmd.Context(), o)
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		err = fmt.Errorf("there is one already: remove it with `starter schedule delete %s` first", name)
	}
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("make the schedule of job %s: %w", job.Name, err)}
	}
	if c.json {
		return c.printJSON(map[string]string{"schedule": o.ID, "job": job.Name})
	}
	return nil
}

// scheduled is one line of the list of schedules.
type scheduled struct {
	Job    string     `json:"job"`
	Paused bool       `json:"paused"`
	Next   *time.Time `json:"next,omitempty"`
	Last   *time.Time `json:"last,omitempty"`
}

func (c *cli) scheduleList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List schedules", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, _, err := c.dial(cmd, nil)
			if err != nil {
				return err
			}
			defer cl.Close()
			it, err := cl.ScheduleClient().List(cmd.Context(), client.ScheduleListOptions{PageSize: 100})
			if err != nil {
				return &exitError{exitFailed, err}
			}
			out := []scheduled{}
			for it.HasNext() {
				e, err := it.Next()
				if err != nil {
					return &exitError{exitFailed, err}
				}
				if e.WorkflowType.Name != workflows.SyncName && e.WorkflowType.Name != workflows.MaintainName {
					continue
				}
				out = append(out, line(e))
			}
			if c.json {
				return c.printJSON(out)
			}
			w := c.newTable()
			w.AppendHeader(table.Row{"job", "state", "next", "last"})
			for _, s := range out {
				state := "active"
				if s.Paused {
					state = "paused"
				}
				w.AppendRow(table.Row{s.Job, state, maybeTime(s.Next), maybeTime(s.Last)})
			}
			fmt.Fprintln(c.stdout, w.Render())
			return nil
		},
	}
}

func line(e *client.ScheduleListEntry) scheduled {
	s := scheduled{Job: e.ID[min(len(scheduleID("")), len(e.ID)):], Paused: e.Paused}
	if len(e.NextActionTimes) > 0 {
		s.Next = &e.NextActionTimes[0]
	}
	if n := len(e.RecentActions); n > 0 {
		s.Last = &e.RecentActions[n-1].ActualTime
	}
	return s
}

func maybeTime(t *time.Time) string {
	if t == nil {
		return "–"
	}
	return timeText(*t)
}

func (c *cli) scheduleAct(verb, short string, act func(*cobra.Command, client.ScheduleHandle) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " JOB", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, _, err := c.dial(cmd, nil)
			if err != nil {
				return err
			}
			defer cl.Close()
			if err := act(cmd, cl.ScheduleClient().GetHandle(cmd.Context(), scheduleID(args[0]))); err != nil {
				var gone *serviceerror.NotFound
				if errors.As(err, &gone) {
					err = errors.New("there is none: `starter schedule list` shows those there are")
				}
				return &exitError{exitFailed, fmt.Errorf("%s the schedule of job %s: %w", verb, args[0], err)}
			}
			if c.json {
				return c.printJSON(map[string]string{"job": args[0], "done": verb})
			}
			fmt.Fprintf(c.stdout, "%s: done for job %s\n", verb, args[0])
			return nil
		},
	}
}
