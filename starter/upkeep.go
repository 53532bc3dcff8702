package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/tributary-lake/tributary/workflows"
)

func (c *cli) maintain() *cobra.Command {
	var file string
	var every time.Duration
	var in workflows.MaintainInput
	cmd := &cobra.Command{
		Use:   "maintain -f job.yaml [--every 24h]",
		Short: "Keep a job's tables in order: compact, expire, clean",
		Long: `Keep a job's tables in order, by the workers: compact them, let old snapshots go, remove
files that nothing names. With --every it is done again and again, by a schedule named
<job>-maintain. It is safe beside runs; what they changed first is left to the next time.`,
		Example: "  starter maintain -f examples/orders.yaml --older-than 72h --every 24h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			job, err := loadJob(file)
			if err != nil {
				return err
			}
			if in.Orphans != 0 && in.Orphans < 24*time.Hour {
				return usage(fmt.Errorf("--orphans %s: nothing but its age tells an orphan from a file whose commit is still to come: give 24h or more", in.Orphans))
			}
			if in.Job, err = job.JSON(); err != nil {
				return usage(err)
			}
			name := job.Name + "-maintain"
			if every != 0 {
				spec, window, err := when(every, "")
				if err != nil {
					return usage(err)
				}
				action := &client.ScheduleWorkflowAction{ID: name, Workflow: workflows.MaintainName, StaticSummary: "maintain job " + job.Name, Args: []any{in}}
				err = c.makeSchedule(cmd, job, name, client.ScheduleOptions{Spec: spec, CatchupWindow: window, Action: action})
				if err == nil && !c.json {
					fmt.Fprintf(c.stdout, "job %s is maintained every %s; `starter schedule delete %s` ends it\n", job.Name, every, name)
				}
				return err
			}
			cl, t, err := c.dial(cmd, job)
			if err != nil {
				return err
			}
			defer cl.Close()
			started, err := cl.ExecuteWorkflow(cmd.Context(), client.StartWorkflowOptions{ID: name, TaskQueue: t.TaskQueue}, workflows.MaintainName, in)
			var out []workflows.UpkeepResult
			if err == nil {
				err = started.Get(cmd.Context(), &out)
			}
			if err != nil {
				return failed(errors.Join(errors.New("maintain the tables of job "+job.Name), err))
			}
			return c.printUpkeep(out)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the job file")
	cmd.Flags().DurationVar(&every, "every", 0, "make a schedule with this time between starts, such as 24h")
	cmd.Flags().IntVar(&in.RetainMin, "retain-min", 0, "newest snapshots that stay whatever their age; by the table's options when 0")
	cmd.Flags().IntVar(&in.RetainMax, "retain-max", 0, "newest snapshots beyond which none stays")
	cmd.Flags().DurationVar(&in.OlderThan, "older-than", 0, "time for which a snapshot stays after the next one replaced it")
	cmd.Flags().DurationVar(&in.Orphans, "orphans", 72*time.Hour, "age of files that nothing names, from which they are removed; 0 leaves them")
	return cmd
}

func (c *cli) printUpkeep(tables []workflows.UpkeepResult) error {
	if c.json {
		return c.printJSON(tables)
	}
	for _, t := range tables {
		fmt.Fprintf(c.stdout, "%s: %d files compacted to %d, %d snapshots and %d files expired, %d orphans removed\n",
			t.Table, t.Compacted.FilesBefore, t.Compacted.FilesAfter, t.Expired.Snapshots, t.Expired.Files, t.Removed.Files)
		for _, left := range []string{t.Compacted.Left, t.Expired.Left, t.Error} {
			if left != "" {
				fmt.Fprintf(c.stdout, "  left to the next time: %s\n", left)
			}
		}
	}
	return nil
}
