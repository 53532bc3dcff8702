package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/workflows"
)

func (c *cli) plan() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "plan -f job.yaml",
		Short: "Show what a run would do, and write nothing",
		Long: `Show what a run would do: shards, the merged schema and its losses, splits and
sizes, and what happens to the target. A worker computes it as in a run. Nothing
is written, so whether the warehouse can be is seen only by the run. Exit code 3 when
the plan is refused.`,
		Example: "  starter plan -f examples/orders.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			job, err := loadJob(file)
			if err != nil {
				return err
			}
			return c.explain(cmd, job)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the job file")
	return cmd
}

func (c *cli) explain(cmd *cobra.Command, job *config.Job) error {
	data, err := job.JSON()
	if err != nil {
		return usage(err)
	}
	cl, t, err := c.dial(cmd, job)
	if err != nil {
		return err
	}
	defer cl.Close()
	in := workflows.ExplainInput{Job: data}
	for _, t := range job.Tables {
		in.Tables = append(in.Tables, t.Name)
	}
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	run, err := cl.ExecuteWorkflow(cmd.Context(), client.StartWorkflowOptions{
		ID: "plan-" + job.Name + "-" + hex.EncodeToString(b[:]), TaskQueue: t.TaskQueue, StaticSummary: "plan of job " + job.Name,
	}, workflows.ExplainName, in)
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("ask for the plan: %w", err)}
	}
	hint := time.AfterFunc(silence, func() {
		fmt.Fprintf(c.stderr, "no plan yet: is a worker running on task queue %s?\n", t.TaskQueue)
	})
	defer hint.Stop()
	var plans []activities.Explanation
	if err := run.Get(cmd.Context(), &plans); err != nil {
		var timeout *temporal.TimeoutError
		if errors.As(err, &timeout) {
			return &exitError{exitFailed, fmt.Errorf("no worker took up the plan: is one running on task queue %s?", t.TaskQueue)}
		}
		text, kind := activities.Describe(err)
		return &exitError{codeOf(kind), errors.New(text)}
	}
	if c.json {
		return c.printJSON(plans)
	}
	for i := range plans {
		c.printPlan(&plans[i])
	}
	return nil
}

func (c *cli) printPlan(p *activities.Explanation) {
	fate := "rows will be added to it"
	switch {
	case p.Create:
		fate = "will be created"
	case p.Replace:
		fate = fmt.Sprintf("its rows will be replaced in one snapshot (newest now: %d)", p.Base)
	}
	fmt.Fprintf(c.stdout, "table %s → %s: %s\n", p.Table, p.Target, fate)
	fmt.Fprintf(c.stdout, "%d shards, about %d rows and %s, in %d splits and %d units of work; consistency: %s\n",
		p.ShardCount, p.Rows, bytesText(p.Bytes), p.Splits, p.Units, p.Consistency)
	if len(p.Partition) > 0 {
		fmt.Fprintf(c.stdout, "partitioned by %v\n", p.Partition)
	}
	w := c.newTable()
	w.AppendHeader(table.Row{"column", "type", "from"})
	for _, col := range p.Columns {
		w.AppendRow(table.Row{col.Name, col.Type, col.Source})
	}
	fmt.Fprintln(c.stdout, w.Render())
	c.printDrift(p)
	w = c.newTable()
	w.AppendHeader(table.Row{"shard", "rows (estimate)", "bytes", "splits", "split by"})
	for _, s := range p.Shards {
		w.AppendRow(table.Row{s.Shard, s.Rows, bytesText(s.Bytes), s.Splits, s.Key})
	}
	fmt.Fprintln(c.stdout, w.Render())
	if n := p.ShardCount - len(p.Shards); n > 0 {
		fmt.Fprintf(c.stdout, "… and %d more shards\n", n)
	}
	for _, l := range p.Losses {
		fmt.Fprintf(c.stdout, "note: %s\n", l)
	}
	fmt.Fprintln(c.stdout)
}

// printDrift tells what would be altered in the target, which shards would be left out, and how the others differ.
func (c *cli) printDrift(p *activities.Explanation) {
	for _, a := range p.Alter {
		fmt.Fprintf(c.stdout, "would alter the target: %s\n", a)
	}
	if p.LeftOutCount > 0 {
		fmt.Fprintf(c.stdout, "WOULD LEAVE OUT %d of %d shards, none of their rows would be read:\n", p.LeftOutCount, p.LeftOutCount+p.ShardCount)
	}
	for _, l := range p.LeftOut {
		fmt.Fprintf(c.stdout, "  %s\n", l)
	}
	if n := p.LeftOutCount - len(p.LeftOut); n > 0 {
		fmt.Fprintf(c.stdout, "  … and %d more\n", n)
	}
	for _, d := range p.Drift {
		fmt.Fprintf(c.stdout, "drift: %s\n", d)
	}
}
