package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/internal/app"
	"github.com/tributary-lake/tributary/internal/testenv"
)

const queue = "scale"

// program is a child that ends when its stdin does.
type program struct {
	cmd   *exec.Cmd
	stdin io.Closer
	// said is the first line of its stdout.
	said []byte
}

func start(cmd *exec.Cmd) (*program, error) {
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &program{cmd: cmd, stdin: stdin}
	if p.said, err = bufio.NewReader(stdout).ReadBytes('\n'); err != nil {
		p.end()
		return nil, fmt.Errorf("%s ended before it was ready: %w", filepath.Base(cmd.Path), err)
	}
	return p, nil
}

func (p *program) end() {
	_ = p.stdin.Close()
	_ = p.cmd.Wait()
}

// temporal is a running Temporal.
type temporal struct {
	*program
	address string
}

func startTemporal(ctx context.Context) (*temporal, error) {
	cache, err := testenv.CacheDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(cache, "devserver")
	fmt.Fprintln(os.Stderr, "building devstack/cmd/devserver (the first time: some minutes)")
	build := exec.CommandContext(ctx, "go", "build", "-C", "devstack", "-trimpath", "-ldflags", "-s -w", "-o", path, "./cmd/devserver")
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the dev server (run this from the project's folder): %w\n%s", err, text)
	}
	p, err := start(exec.Command(path, "-port", "0", "-ui-port", "-1", "-stdin-eof"))
	if err != nil {
		return nil, err
	}
	t := &temporal{program: p}
	var ready struct {
		Address string `json:"address"`
	}
	if err := json.Unmarshal(p.said, &ready); err != nil || ready.Address == "" {
		t.end()
		return nil, fmt.Errorf("the dev server said %q instead of its address", p.said)
	}
	t.address = ready.Address
	return t, nil
}

func startWorker(ctx context.Context, address string) (*program, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(exec.CommandContext(ctx, self, "-worker", address))
}

// work is a worker of the stub until stdin ends.
func work(ctx context.Context, address string, stdout io.Writer) error {
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, queue, worker.Options{MaxConcurrentActivityExecutionSize: 2 * parallelism})
	app.Register(w, stub{}, app.Resources{Memory: budget.New(1<<30, nil)})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peakOf is the most resident memory that a process has had, in bytes (proc(5), VmHWM).
func peakOf(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	found := highWater.FindSubmatch(bytes.TrimSpace(status))
	if found == nil {
		return 0, errors.New("no VmHWM in the status of the worker: it has ended")
	}
	kb, err := strconv.ParseInt(string(found[1]), 10, 64)
	return kb << 10, err
}
