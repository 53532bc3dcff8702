package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/app"
	"github.com/tributary-lake/tributary/workflows"
)

// demoPassword is the variable that the demo's job refers to for its password.
const demoPassword = "DEMO_MYSQL_PASSWORD"

func (c *cli) demo() *cobra.Command {
	var keep bool
	var dir string
	cmd := &cobra.Command{
		Use:   "demo [--keep]",
		Short: "Everything on this machine: Temporal, demo shards, a worker, one run",
		Long: `Sync demo shards into a local Paimon table: takes the Temporal that answers, else a
temporal command on the PATH, else builds and starts the dev stack; starts MySQL
shards that need no installation; runs a worker in this process and one run of the
job; prints the summary and where to look. Nothing but a Go toolchain is needed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			cmd.SetContext(ctx)
			return c.runDemo(cmd, dir, keep)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "stay up afterwards, until Ctrl-C")
	cmd.Flags().StringVar(&dir, "dir", filepath.Join(cacheDir(), "demo"), "folder for the warehouse and the job file")
	return cmd
}

func (c *cli) runDemo(cmd *cobra.Command, dir string, keep bool) error {
	settings, err := config.LoadStarter(cmd.Flags(), nil)
	if err != nil {
		return usage(err)
	}
	ctx := cmd.Context()
	stack, err := c.startStack(ctx, settings.Temporal)
	if err != nil {
		return &exitError{exitFailed, err}
	}
	defer stack.stop()
	t := settings.Temporal
	t.Address, t.TaskQueue = stack.address, "tributary-demo"
	job, path, err := demoJob(dir, t, stack.shards.ready.Shards)
	if err != nil {
		return &exitError{exitFailed, err}
	}
	if err := os.Setenv(demoPassword, stack.shards.ready.Shards[0].Password); err != nil {
		return &exitError{exitFailed, err}
	}
	cl, err := app.Dial(ctx, t, c.logger())
	if err != nil {
		return &exitError{exitFailed, err}
	}
	defer cl.Close()
	w, err := config.LoadWorker(nil, "")
	if err != nil {
		return usage(err)
	}
	w.Temporal = t
	wk, err := app.NewWorker(cl, *w, app.NewEnv(&config.Masker{}))
	if err != nil {
		return &exitError{exitFailed, err}
	}
	if err := wk.Start(); err != nil {
		return &exitError{exitFailed, fmt.Errorf("start the worker: %w", err)}
	}
	defer wk.Stop()
	if err := c.start(cmd, job, workflows.SyncInput{Run: newRun(job.Name, time.Now())}, true); err != nil {
		return err
	}
	c.demoEnd(stack, job, path, keep)
	if keep {
		wait(ctx)
	}
	return nil
}

// wait returns on Ctrl-C or when ctx ends.
func wait(ctx context.Context) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	<-ctx.Done()
}

func (c *cli) demoEnd(stack *demoStack, job *config.Job, path string, keep bool) {
	if c.json {
		return
	}
	target := job.Tables[0].Target
	table := target.Database + "." + target.Table
	fmt.Fprintf(c.stdout, "\ntable     %s\n", filepath.Join(strings.TrimPrefix(job.Target.Warehouse, "file://"), target.Database+".db", target.Table))
	fmt.Fprintf(c.stdout, "look at   go run ./starter inspect table --warehouse %s %s --rows 5\n", job.Target.Warehouse, table)
	fmt.Fprintf(c.stdout, "job file  %s\n", path)
	switch {
	case stack.ui == "":
	case keep:
		fmt.Fprintf(c.stdout, "UI        %s (Ctrl-C ends everything)\n", stack.ui)
	default:
		fmt.Fprintf(c.stdout, "UI        %s while it runs: `go run ./starter demo --keep` stays up\n", stack.ui)
	}
}

// demoStack is what the demo started.
type demoStack struct {
	address, ui  string
	shards       *child
	stopTemporal func()
}

func (s *demoStack) stop() {
	if s.shards != nil {
		s.shards.stop()
	}
	if s.stopTemporal != nil {
		s.stopTemporal()
	}
}

func (c *cli) startStack(ctx context.Context, t config.Temporal) (*demoStack, error) {
	s := &demoStack{}
	var g errgroup.Group
	g.Go(func() error {
		var err error
		s.address, s.ui, s.stopTemporal, err = c.devTemporal(ctx, t)
		return err
	})
	g.Go(func() error {
		path, err := c.buildStack(ctx, "demoshards")
		if err != nil {
			return err
		}
		s.shards, err = c.startChild(ctx, path)
		return err
	})
	if err := g.Wait(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// demoJob writes the demo's job file, so that a person has one to start from, and reads it as any other.
func demoJob(dir string, t config.Temporal, shards []instance) (*config.Job, string, error) {
	warehouse, err := filepath.Abs(filepath.Join(dir, "warehouse"))
	if err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(warehouse, 0o755); err != nil {
		return nil, "", err
	}
	instances := make([]map[string]any, len(shards))
	for i, s := range shards {
		instances[i] = map[string]any{
			"name": s.Name, "host": s.Host, "port": s.Port, "user": s.User, "password": "${env:" + demoPassword + "}",
			"databases": "shop_*", "tls": map[string]any{"mode": "disabled"},
		}
	}
	data, err := json.MarshalIndent(map[string]any{
		"job":      "demo",
		"temporal": map[string]any{"address": t.Address, "namespace": t.Namespace, "task_queue": t.TaskQueue},
		"source":   map[string]any{"instances": instances},
		"tables": []any{map[string]any{
			"name": "orders", "match": "orders_*", "split": map[string]any{"rows": 500},
			"target": map[string]any{"database": "ods", "table": "orders"},
		}},
		"target": map[string]any{"warehouse": "file://" + warehouse},
	}, "", "  ")
	if err != nil {
		return nil, "", err
	}
	path := filepath.Join(dir, "job.json")
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return nil, "", err
	}
	job, err := config.LoadJob(path)
	return job, path, err
}

func (c *cli) dev() *cobra.Command {
	return &cobra.Command{
		Use:   "dev",
		Short: "Keep Temporal and its UI up until Ctrl-C",
		Long: `Keep Temporal (127.0.0.1:7233) and its UI (127.0.0.1:8233) up until Ctrl-C, for a
worker and a starter without flags. What ran before is still there.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := config.LoadStarter(cmd.Flags(), nil)
			if err != nil {
				return usage(err)
			}
			ctx, done := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer done()
			address, ui, stop, err := c.devTemporal(ctx, settings.Temporal)
			if err != nil {
				return &exitError{exitFailed, err}
			}
			defer stop()
			fmt.Fprintf(c.stdout, "Temporal %s\nUI       %s\n", address, ui)
			<-ctx.Done()
			return nil
		},
	}
}
