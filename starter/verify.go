package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tributary-lake/tributary/activities/comparing"
	"github.com/tributary-lake/tributary/starter/verifypage"
	"github.com/tributary-lake/tributary/workflows"
)

func (c *cli) verify() *cobra.Command {
	var file, only string
	cmd := &cobra.Command{
		Use:   "verify -f job.yaml [--table NAME]",
		Short: "Compare what the source has now with what is committed, shard by shard",
		Long: `Compare what the source has now with what is committed. The servers count and sum each
shard, workers read the table's newest snapshot and sum its rows in the same way. What
differs is a fault where the shard's binary log has no change since the rows were read;
else it is told that the shard was changed since, or why that cannot be known. Nothing is
written. Exit code 0 when all is equal, 1 when a fault was found, 3 when a table cannot be
compared, 4 when something differs that need not be a fault.`,
		Example: "  starter verify -f examples/orders.yaml\n  starter verify -f examples/orders.yaml --table orders --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			job, err := loadJob(file)
			if err != nil {
				return err
			}
			in := workflows.VerifyInput{}
			for _, t := range job.Tables {
				if only == "" || t.Name == only {
					in.Tables = append(in.Tables, t.Name)
				}
			}
			if len(in.Tables) == 0 {
				return usage(fmt.Errorf("job %s has no table %s", job.Name, only))
			}
			if in.Job, err = job.JSON(); err != nil {
				return usage(err)
			}
			var found []comparing.Result
			if err := c.ask(cmd, job, "comparison", workflows.VerifyName, in, &found); err != nil {
				return err
			}
			if c.json {
				err = c.printJSON(found)
			} else {
				verifypage.Print(c.stdout, c.newTable, found)
			}
			return errors.Join(err, compared(found))
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the job file")
	cmd.Flags().StringVar(&only, "table", "", "compare this table of the job alone, by its name there")
	return cmd
}

// compared is the end of a comparison, nil when all is equal. What was found is printed.
func compared(found []comparing.Result) error {
	code := exitDone
	for _, r := range found {
		switch {
		case r.State == comparing.Fault:
			return &exitError{code: exitFailed, err: fmt.Errorf("table %s is not what its source is", r.Table)}
		case r.Refused != "":
			code = exitRefused
		case r.State != comparing.Equal && code == exitDone:
			code = exitUnknown
		}
	}
	if code == exitDone {
		return nil
	}
	return &exitError{code: code}
}
