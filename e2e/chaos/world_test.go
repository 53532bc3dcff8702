package chaos

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/internal/testenv/devserver"
)

const (
	taskQueue = "chaos"
	// user reads for the jobs, with the least rights. Its connections are those that are killed.
	user             = "sync"
	password         = "9f2Xk-chaos"
	passwordVariable = "CHAOS_MYSQL_PASSWORD"
	// patience is how long anything may take that faults hold up: a lost worker is noticed after half a minute, and may be
	// lost again.
	patience = 8 * time.Minute
)

// world is the servers and workers that all lanes share.
type world struct {
	t         *testing.T
	mysql     *testenv.MySQL
	warehouse string
	dir       string
	program   string
	client    client.Client

	until time.Time
	least int
	ended atomic.Int64
	// done closes when no lane runs any more.
	done chan struct{}

	// What follows is the striker's.
	server  *devserver.Server
	workers [2]*worker
	began   int
}

func newWorld(t *testing.T, length time.Duration, least int) *world {
	t.Helper()
	w := &world{t: t, mysql: testenv.MariaDB(t), warehouse: t.TempDir(), dir: t.TempDir(), least: least, done: make(chan struct{})}
	w.mysql.Exec(t, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", user, password), fmt.Sprintf("GRANT SELECT ON *.* TO '%s'@'%%'", user))
	w.program = filepath.Join(w.dir, "worker")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-race", "-o", w.program, "./worker").CombinedOutput()
	require.NoError(t, err, string(out))
	w.server, err = devserver.Start(t.Context(), filepath.Join(w.dir, "temporal"))
	require.NoError(t, err)
	w.client, err = client.DialContext(t.Context(), client.Options{
		HostPort: w.server.Address, Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		w.client.Close()
		for _, wk := range w.workers {
			if wk != nil {
				wk.kill()
			}
		}
		w.server.Kill()
	})
	testenv.Referee(t) // builds it, so that the time is the lanes'
	for i := range w.workers {
		w.workers[i] = w.startWorker()
	}
	w.until = time.Now().Add(length)
	return w
}

// over tells whether no new run begins.
func (w *world) over() bool {
	return w.t.Failed() || time.Now().After(w.until) && int(w.ended.Load()) >= w.least
}

func (w *world) end() { close(w.done) }

// wait lets time pass, and tells whether lanes still run.
func (w *world) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-w.done:
		return false
	}
}

// insist does something until it succeeds: the server may be away.
func (w *world) insist(what string, do func(ctx context.Context) error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil || w.t.Failed() {
			require.NoError(w.t, err, what)
		}
		pause(200 * time.Millisecond)
	}
}

// pause is between two tries.
func pause(d time.Duration) { <-time.After(d) }

// worker is a worker process.
type worker struct {
	t   *testing.T
	cmd *exec.Cmd
	log string
}

// startWorker starts a worker and waits until it polls. Without Temporal it does not start, and is started again.
func (w *world) startWorker() *worker {
	w.t.Helper()
	var wk *worker
	w.insist("start a worker", func(context.Context) error {
		w.began++
		wk = &worker{t: w.t, log: filepath.Join(w.dir, fmt.Sprintf("worker-%d.log", w.began))}
		log, err := os.Create(wk.log)
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }() // the process has its own
		wk.cmd = exec.Command(w.program, "--temporal-address", w.server.Address, "--temporal-task-queue", taskQueue, "--listen", "127.0.0.1:0", "--spill", w.dir)
		wk.cmd.Env = append(os.Environ(), passwordVariable+"="+password)
		wk.cmd.Stderr = log
		stdout, err := wk.cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := wk.cmd.Start(); err != nil {
			return err
		}
		out := bufio.NewReader(stdout)
		if _, err = out.ReadString('\n'); err != nil {
			wk.kill()
			return fmt.Errorf("the worker does not poll: %w", err)
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
		return nil
	})
	return wk
}

// kill is kill -9.
func (wk *worker) kill() {
	_ = wk.cmd.Process.Signal(syscall.SIGKILL)
	_ = wk.cmd.Wait()
	wk.checkLog()
}

// drain is SIGTERM: the worker must let its activities end, or give them up, and end well.
func (wk *worker) drain() {
	wk.t.Helper()
	require.NoError(wk.t, wk.cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- wk.cmd.Wait() }()
	select {
	case err := <-ended:
		wk.checkLog()
		if err != nil {
			wk.t.Errorf("a drained worker ended with %v, see %s", err, wk.log)
		}
	case <-time.After(2 * time.Minute):
		_ = wk.cmd.Process.Signal(syscall.SIGKILL)
		wk.t.Errorf("a worker does not end at SIGTERM")
	}
}

// checkLog looks for what may not happen to a worker whatever is killed around it.
func (wk *worker) checkLog() {
	data, err := os.ReadFile(wk.log)
	if err != nil {
		return // the test's folder has gone
	}
	for _, never := range []string{"DATA RACE", "panic:", "TMPRL1100", password} {
		if text := string(data); strings.Contains(text, never) {
			wk.t.Errorf("the log of a worker has %q:\n%s", never, text)
		}
	}
}
