package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/app"
	"github.com/tributary-lake/tributary/workflows"
)

// Exit codes. They are a contract with scripts.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitUnknown     = 4
	exitInterrupted = 130
)

// exitError ends the command with a code. An empty text has been said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{exitUsage, err} }

// cli is what commands share.
type cli struct {
	stdout, stderr io.Writer
	json           bool
	verbose        bool
}

// run executes a command line and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &cli{stdout: stdout, stderr: stderr}
	root := c.root() //nolint:contextcheck // the commands get ctx from ExecuteContext
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		// What cobra itself finds wrong is the command line.
		exit = &exitError{exitUsage, err}
	}
	if exit.err != nil {
		fmt.Fprintln(stderr, "starter: "+exit.err.Error())
	}
	return exit.code
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "starter",
		Short: "Bring sharded MySQL into one Apache Paimon table, through Temporal",
		Long: `Starter starts, watches and settles runs of Tributary.

Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 plan or table refused,
4 outcome unknown (with the command that settles it), 130 interrupted.`,
		Version:       app.Version(),
		SilenceErrors: true, SilenceUsage: true,
	}
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON for programs instead of text for people")
	root.PersistentFlags().BoolVarP(&c.verbose, "verbose", "v", false, "log what the Temporal client does")
	config.AddStarterFlags(root.PersistentFlags())
	root.AddCommand(c.demo(), c.dev(), c.plan(), c.run(), c.verify(), c.status(), c.cancel(), c.resume(), c.abort(),
		c.schedule(), c.inspect(), c.table(), c.maintain(), c.schema())
	return root
}

func (c *cli) logger() *slog.Logger {
	if c.verbose {
		return slog.New(slog.NewTextHandler(c.stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// dial connects to Temporal as flags, environment and job say, and makes sure that it answers.
func (c *cli) dial(cmd *cobra.Command, job *config.Job) (client.Client, config.Temporal, error) {
	s, err := config.LoadStarter(cmd.Flags(), job)
	if err != nil {
		return nil, config.Temporal{}, usage(err)
	}
	cl, err := app.Dial(cmd.Context(), s.Temporal, c.logger())
	if errors.Is(err, app.ErrTemporalTLS) {
		return nil, s.Temporal, usage(err)
	}
	if err != nil {
		return nil, s.Temporal, &exitError{exitFailed, fmt.Errorf(
			"no answer from Temporal at %s (namespace %s): start it with `make dev`, or name another with --temporal-address: %w",
			s.Temporal.Address, s.Temporal.Namespace, err)}
	}
	return cl, s.Temporal, nil
}

// loadJob reads and checks a job file.
func loadJob(path string) (*config.Job, error) {
	if path == "" {
		return nil, usage(errors.New("name the job file with -f job.yaml"))
	}
	job, err := config.LoadJob(path)
	if err != nil {
		return nil, usage(err)
	}
	return job, nil
}

// codeOf is the exit code for an error's type.
func codeOf(kind string) int {
	switch kind {
	case activities.TypeConfig:
		return exitUsage
	case activities.TypePlanRefused:
		return exitRefused
	case activities.TypeUnknown:
		return exitUnknown
	}
	return exitFailed
}

// ended turns the error of a run's workflow into a summary where it has one, and an exit code.
func ended(err error, run string) (*workflows.Summary, error) {
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == workflows.RunFailed {
		var s workflows.Summary
		if app.Details(&s) == nil {
			return &s, nil
		}
	}
	var cancelled *temporal.CanceledError
	if errors.As(err, &cancelled) {
		var s workflows.Summary
		if cancelled.HasDetails() && cancelled.Details(&s) == nil {
			return &s, nil
		}
		return nil, &exitError{exitInterrupted, errors.New("the run was cancelled before a table was planned")}
	}
	var terminated *temporal.TerminatedError
	if errors.As(err, &terminated) {
		return nil, &exitError{exitUnknown, fmt.Errorf("run %s was terminated, so nothing of it was settled: `starter resume %s` goes on with it, `starter abort %s` gives it up", run, run, run)}
	}
	text, kind := activities.Describe(err)
	return nil, &exitError{codeOf(kind), errors.New(text)}
}
