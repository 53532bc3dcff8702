package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/app"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cmd := command(stdout, stderr) //nolint:contextcheck // the command gets ctx from ExecuteContext
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(stderr, "worker: "+err.Error())
	var failed *failure
	if errors.As(err, &failed) {
		return exitFailed
	}
	return exitUsage
}

// failure is what goes wrong after the command line was understood.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

func command(stdout, stderr io.Writer) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "worker [--config worker.yaml]",
		Short: "Run the workflows and activities of Tributary",
		Long: `Run the workflows and activities of Tributary until SIGTERM or Ctrl-C. Any number of
workers may share a task queue. Settings come from flags, from TRIBUTARY_…
environment variables, from the file, in this order. Secrets that jobs refer to
(${env:…}, ${file:…}) are resolved here.`,
		Example: "  MYSQL_PASSWORD=… worker\n  worker --temporal-address temporal:7233 --memory 4GiB",
		Version: app.Version(), Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := config.LoadWorker(cmd.Flags(), file)
			if err != nil {
				return err
			}
			if err := serve(cmd.Context(), *w, stdout, stderr); err != nil {
				return &failure{err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "file with the worker's settings")
	config.AddWorkerFlags(cmd.Flags())
	return cmd
}

func logger(w config.Worker, masker *config.Masker, stderr io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(w.LogLevel)) // the setting was checked
	options := &slog.HandlerOptions{Level: level}
	out := masker.Writer(stderr)
	if w.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// serve runs the worker until ctx ends.
func serve(ctx context.Context, w config.Worker, stdout, stderr io.Writer) error {
	masker := &config.Masker{}
	log := logger(w, masker, stderr)
	c, err := app.Dial(ctx, w.Temporal, log)
	if errors.Is(err, app.ErrTemporalTLS) {
		return err
	}
	if err != nil {
		return fmt.Errorf("no answer from Temporal at %s (namespace %s): start it with `make dev`, or name another with --temporal-address: %w",
			w.Temporal.Address, w.Temporal.Namespace, err)
	}
	defer c.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", w.Listen)
	if err != nil {
		return fmt.Errorf("listen for /healthz and /metrics on %s: %w: choose another address with --listen", w.Listen, err)
	}
	server := &http.Server{Handler: handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer func() { _ = server.Close() }()
	env := app.NewEnv(masker)
	env.Log = log
	wk, err := app.NewWorker(c, w, env)
	if err != nil {
		return err
	}
	if err := wk.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	fmt.Fprintf(stdout, "worker %s polls %s on %s (namespace %s), %d activities at once; http://%s/healthz\n",
		app.Version(), w.Temporal.TaskQueue, w.Temporal.Address, w.Temporal.Namespace, app.Slots(w), listener.Addr())
	<-ctx.Done()
	log.Info("stopping: no new work is taken, what runs may end")
	wk.Stop()
	return nil
}

func handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n") // the caller has gone if this fails
	})
	return mux
}
