package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/tributary-lake/tributary/internal/testenv/devserver"
	"github.com/tributary-lake/tributary/workflows"
)

// stack is what all tests of this package share: built programs and one Temporal server.
type stack struct {
	dir     string
	worker  string
	starter string
	address string
	client  client.Client
}

var sharedStack = sync.OnceValues(newStack)

func theStack(t *testing.T) *stack {
	t.Helper()
	s, err := sharedStack()
	require.NoError(t, err)
	return s
}

var cleanups []func()

func TestMain(m *testing.M) {
	code := m.Run()
	for _, c := range cleanups {
		c()
	}
	os.Exit(code)
}

// build builds a program as flags say.
func build(out, program string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-C", "..", "-o", out}, flags...), program)...)
	if !slices.Contains(flags, "-race") {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", program, err, text)
	}
	return nil
}

// newStack builds the programs, with the race detector, and starts a Temporal server.
func newStack() (*stack, error) {
	dir, err := os.MkdirTemp("", "tributary-e2e")
	if err != nil {
		return nil, err
	}
	cleanups = append(cleanups, func() { _ = os.RemoveAll(dir) })
	s := &stack{dir: dir, worker: filepath.Join(dir, "worker"), starter: filepath.Join(dir, "starter")}
	if err := build(s.worker, "./worker", "-race"); err != nil {
		return nil, err
	}
	if err := build(s.starter, "./starter", "-race"); err != nil {
		return nil, err
	}
	server, err := devserver.Start(context.Background(), "")
	if err != nil {
		return nil, err
	}
	cleanups = append(cleanups, func() { _ = server.Stop() })
	s.address = server.Address
	s.client, err = client.Dial(client.Options{HostPort: s.address, Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	return s, err
}

// queue gives every test a task queue of its own, so that a worker serves one test alone.
func queue(t *testing.T) string {
	return "q-" + strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) + fmt.Sprint(time.Now().UnixNano())
}

// process is a running worker.
type process struct {
	cmd *exec.Cmd
	log *bytes.Buffer
	// says is the line that tells that it polls, and where it answers.
	says string
}

const passwordVariable = "E2E_MYSQL_PASSWORD"

// startWorker starts a worker process and ends it with the test.
func (s *stack) startWorker(t *testing.T, queue string, args ...string) *process {
	t.Helper()
	p := &process{log: &bytes.Buffer{}}
	p.cmd = exec.Command(s.worker, append([]string{"--temporal-address", s.address, "--temporal-task-queue", queue, "--listen", "127.0.0.1:0"}, args...)...)
	p.cmd.Env = append(os.Environ(), passwordVariable+"=tributary")
	p.cmd.Stderr = p.log
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of the worker:\n%s", p.log)
		}
		require.NotContains(t, p.log.String(), "DATA RACE")
	})
	p.says, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "the worker says that it polls")
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return p
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
}

// result is what a command printed and its exit code.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the starter.
func (s *stack) run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.starter, args...)
	cmd.Env = append(os.Environ(), "TRIBUTARY_TEMPORAL_ADDRESS="+s.address, passwordVariable+"=tributary")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := result{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
	if err != nil && r.code < 0 {
		t.Fatalf("starter %v: %v\n%s%s", args, err, r.stdout, r.stderr)
	}
	return r
}

// summaryOf reads the summary that run --wait --json printed.
func summaryOf(t *testing.T, r result) workflows.Summary {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	var s workflows.Summary
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &s), "stdout: %s\nstderr: %s", r.stdout, r.stderr)
	return s
}

// patience is how long a test waits for what must come, on a machine that has much else to do.
const patience = 5 * time.Minute

// eventually polls until cond holds.
func eventually(t *testing.T, within time.Duration, what string, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, within, 5*time.Millisecond, what)
}
