package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// passwordVariable is the worker's variable that the job file refers to.
	passwordVariable = "BENCH_MYSQL_PASSWORD"
	// patience is how long a program may take to be ready, and to end.
	patience = time.Minute
)

// checkout is the root folder of the sources, from which the programs are built.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "devstack", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the programs are built from a checkout: run this inside one")
		}
		dir = parent
	}
}

// programs are the paths of what was built.
type programs struct{ worker, starter, devserver string }

// buildPrograms builds worker, starter and the dev stack's Temporal into folders of the cache.
func buildPrograms(ctx context.Context, root, cache string, say io.Writer) (programs, error) {
	goTool, err := need("go", "install Go, https://go.dev/dl")
	if err != nil {
		return programs{}, err
	}
	bin := filepath.Join(cache, "bench", "bin")
	p := programs{
		worker: filepath.Join(bin, "worker"), starter: filepath.Join(bin, "starter"),
		devserver: filepath.Join(cache, "devserver"),
	}
	if _, err := os.Stat(p.devserver); err != nil {
		fmt.Fprintln(say, "bench: building Temporal for the first time takes some minutes")
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return programs{}, err
	}
	for _, args := range [][]string{
		{"build", "-C", root, "-trimpath", "-o", bin + "/", "./worker", "./starter"},
		{"build", "-C", filepath.Join(root, "devstack"), "-trimpath", "-ldflags", "-s -w", "-o", p.devserver, "./cmd/devserver"},
	} {
		cmd := exec.Command(goTool, args...)
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
		if _, err := complete(ctx, cmd); err != nil {
			return programs{}, fmt.Errorf("build: %w", err)
		}
	}
	return p, nil
}

// environment is the one for programs of the product: nothing of the user's own settings for it.
func environment(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "TRIBUTARY_") })
	return append(env, more...)
}

// temporal is a running Temporal.
type temporal struct {
	*child
	address string
	stdin   io.Closer
}

// startTemporal starts a Temporal that keeps its state in memory, on a free port. It logs to a file.
func startTemporal(ctx context.Context, path, logFile string) (*temporal, error) {
	cmd := exec.Command(path, "-port", "0", "-ui-port", "-1", "-stdin-eof")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	t := &temporal{stdin: stdin}
	var line string
	if t.child, line, err = startLogged(ctx, cmd, logFile); err != nil {
		return nil, err
	}
	var ready struct {
		Address string `json:"address"`
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.Address == "" {
		t.end()
		return nil, fmt.Errorf("%s said %q instead of its address", filepath.Base(path), line)
	}
	t.address = ready.Address
	return t, nil
}

func (t *temporal) end() {
	_ = t.stdin.Close()
	t.stop(os.Interrupt, patience)
}

// startWorker starts a worker and waits until it polls.
func startWorker(ctx context.Context, path, address, memory, logFile string) (*child, error) {
	args := []string{"--temporal-address", address, "--listen", "127.0.0.1:0", "--log-level", "warn"}
	if memory != "" {
		args = append(args, "--memory", memory)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = environment(passwordVariable + "=" + account)
	c, _, err := startLogged(ctx, cmd, logFile)
	return c, err
}

// endWorker ends a worker. One in the middle of a run would drain for a while, which nobody needs here.
func endWorker(c *child) { c.stop(syscall.SIGTERM, 3*time.Second) }

// startLogged starts a program with its stderr going to a file, and waits for the first line of its stdout.
func startLogged(ctx context.Context, cmd *exec.Cmd, logFile string) (*child, string, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = log.Close() }() // the child has its own
	read, write, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	cmd.Stdout, cmd.Stderr = write, log
	c, err := start(cmd)
	if err := errors.Join(err, write.Close()); err != nil {
		return nil, "", errors.Join(err, read.Close())
	}
	line := make(chan string, 1)
	go func() {
		defer func() { _ = read.Close() }()
		in := bufio.NewReader(read)
		first, _ := in.ReadString('\n') // empty when it ends before it is ready
		line <- strings.TrimSpace(first)
		_, _ = io.Copy(io.Discard, in) // a program that nobody reads from would stop
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case first := <-line:
		if first != "" {
			return c, first, nil
		}
		err = errors.New("it ended before it was ready")
	case <-ctx.Done():
		err = fmt.Errorf("it is not ready: %w", ctx.Err())
	}
	c.kill()
	said, _ := os.ReadFile(logFile) // an extra to an error that stands by itself
	return nil, "", fmt.Errorf("%s: %w; its log %s ends:\n%s", filepath.Base(cmd.Path), err, logFile, lastLines(string(said)))
}
