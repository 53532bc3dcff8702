package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/dryrun"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/starter/planpage"
	"github.com/tributary-lake/tributary/workflows"
)

func (c *cli) plan() *cobra.Command {
	var file string
	o := planOptions{}
	cmd := &cobra.Command{
		Use:   "plan -f job.yaml",
		Short: "Show what a run would do, and write nothing",
		Long: `Show what a run would do: shards, the merged schema and its losses, drift, splits
and sizes, memory, and what happens to the target. A worker computes it as in a run,
and makes a dry run on some rows of the shards: it reads and encodes them as a run
does, tells which values would be changed or would end the run, and estimates bytes
and time by them. Nothing is written, so whether the warehouse can be is seen only by
the run. Exit code 3 when the run would be refused, or would fail on a value.`,
		Example: "  starter plan -f examples/orders.yaml\n  starter plan -f examples/orders.yaml --sample-rows 0 --markdown",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			job, err := loadJob(file)
			if err != nil {
				return err
			}
			return c.explain(cmd, job, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&file, "file", "f", "", "the job file")
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown instead of text for a terminal")
	f.IntVar(&o.sample.Rows, "sample-rows", 1000, "rows of each shard to try the types on, twenty times as many of the largest; 0 reads none")
	f.IntVar(&o.sample.Shards, "sample-shards", 200, "the most shards to try, spread over all; 0 is all")
	f.DurationVar(&o.sample.Within, "sample-time", 30*time.Second, "when to stop trying a table's rows, done or not")
	return cmd
}

// planOptions are the flags of plan.
type planOptions struct {
	sample   dryrun.Input
	markdown bool
}

func (c *cli) explain(cmd *cobra.Command, job *config.Job, o planOptions) error {
	switch {
	case o.markdown && c.json:
		return usage(errors.New("give --json or --markdown, not both"))
	case o.sample.Rows < 0 || o.sample.Shards < 0 || o.sample.Within <= 0:
		return usage(errors.New("--sample-rows and --sample-shards cannot be below 0, and --sample-time must be above"))
	}
	data, err := job.JSON()
	if err != nil {
		return usage(err)
	}
	in := workflows.ExplainInput{Job: data, Sample: o.sample}
	for _, t := range job.Tables {
		in.Tables = append(in.Tables, t.Name)
	}
	var plans []activities.Explanation
	if err := c.ask(cmd, job, "plan", workflows.ExplainName, in, &plans); err != nil {
		return err
	}
	if c.json {
		if err := c.printJSON(plans); err != nil {
			return err
		}
		return refusedPlans(plans)
	}
	for i := range plans {
		c.planPage(&plans[i], o.markdown).Print()
	}
	return refusedPlans(plans)
}

// ask has a worker answer what changes nothing, by a workflow of its own. what is the answer's name.
func (c *cli) ask(cmd *cobra.Command, job *config.Job, what, workflow string, in, answer any) error {
	cl, t, err := c.dial(cmd, job)
	if err != nil {
		return err
	}
	defer cl.Close()
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	run, err := cl.ExecuteWorkflow(cmd.Context(), client.StartWorkflowOptions{
		ID: what + "-" + job.Name + "-" + hex.EncodeToString(b[:]), TaskQueue: t.TaskQueue, StaticSummary: what + " of job " + job.Name,
	}, workflow, in)
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("ask for the %s: %w", what, err)}
	}
	hint := time.AfterFunc(silence, func() {
		fmt.Fprintf(c.stderr, "no %s yet: is a worker running on task queue %s?\n", what, t.TaskQueue)
	})
	defer hint.Stop()
	if err := run.Get(cmd.Context(), answer); err != nil {
		var timeout *temporal.TimeoutError
		if errors.As(err, &timeout) {
			return &exitError{exitFailed, fmt.Errorf("no worker took up the %s: is one running on task queue %s?", what, t.TaskQueue)}
		}
		text, kind := activities.Describe(err)
		return &exitError{codeOf(kind), errors.New(text)}
	}
	return nil
}

func (c *cli) printPlan(p *activities.Explanation) { c.planPage(p, false).Print() }

func (c *cli) planPage(p *activities.Explanation, markdown bool) *planpage.Page {
	return &planpage.Page{Out: c.stdout, NewTable: c.newTable, Size: bytesText, Plan: p, Markdown: markdown}
}

// refusedPlans is the end of a command whose plans are refused, in full or for what the dry run found; nil when none is. The
// reasons are in the plans, which were printed.
func refusedPlans(plans []activities.Explanation) error {
	var tables []string
	for _, p := range plans {
		if len(p.Refused) > 0 {
			tables = append(tables, p.Table)
		}
	}
	if len(tables) == 0 {
		return nil
	}
	return &exitError{exitRefused, fmt.Errorf("a run would be refused, or fail: see the plan of %s", strings.Join(tables, ", "))}
}
