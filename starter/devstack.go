package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/app"
)

// stackFolder is the module of the dev stack within a checkout. It is a module of its own so that the Temporal server
// and the demo database are never part of this program.
const stackFolder = "devstack"

// ready is the line that a program of the dev stack prints when it answers.
type ready struct {
	Address string     `json:"address"`
	UI      string     `json:"ui"`
	Shards  []instance `json:"shards"`
}

// instance is a demo MySQL server.
type instance struct {
	Name      string   `json:"name"`
	Host      string   `json:"host"`
	Port      int      `json:"port"`
	User      string   `json:"user"`
	Password  string   `json:"password"`
	Databases []string `json:"databases"`
	Tables    []string `json:"tables"`
	Rows      int64    `json:"rows"`
}

// buildStack builds a program of the dev stack into the user's cache and returns its path.
func (c *cli) buildStack(ctx context.Context, program string) (string, error) {
	module, err := findStack()
	if err != nil {
		return "", err
	}
	out := filepath.Join(cacheDir(), program)
	fmt.Fprintf(c.stderr, "building %s/cmd/%s: some minutes the first time, seconds when nothing has changed\n", stackFolder, program)
	args := []string{"build", "-C", module, "-trimpath", "-ldflags", "-s -w", "-o", out}
	if isTerminal(c.stderr) {
		args = append(args, "-v") // shows which package is being compiled
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/"+program)...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = c.stderr, c.stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w", program, err)
	}
	return out, nil
}

func findStack() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, stackFolder, "go.mod")); err == nil {
			return filepath.Join(dir, stackFolder), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the dev stack is built from a checkout: run this inside one (folder devstack), or start Temporal yourself")
		}
		dir = parent
	}
}

// cacheDir is where built programs and the demo's lake lie.
func cacheDir() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "tributary")
}

// child is a running program of the dev stack. It ends when this process does, however it ends: its stdin closes.
type child struct {
	ready ready
	cmd   *exec.Cmd
	stdin io.Closer
}

// startChild starts a program and waits for its ready line.
func (c *cli) startChild(ctx context.Context, path string, args ...string) (*child, error) {
	cmd := exec.CommandContext(ctx, path, append(args, "-stdin-eof")...)
	cmd.Stderr = c.stderr
	cmd.WaitDelay = 10 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
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
	p := &child{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.ready)
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s did not get ready: %w", filepath.Base(path), err)
	}
	return p, nil
}

func (p *child) stop() {
	_ = p.stdin.Close()
	_ = p.cmd.Wait() // how it ends does not matter any more
}

// devTemporal returns an address where Temporal answers and its UI, starting a server if there is none: a `temporal`
// command on the PATH, else the dev stack's.
func (c *cli) devTemporal(ctx context.Context, t config.Temporal) (address, ui string, stop func(), err error) {
	if answers(ctx, c, t) {
		fmt.Fprintf(c.stderr, "using the Temporal that answers at %s\n", t.Address)
		return t.Address, "", func() {}, nil
	}
	host, port, err := net.SplitHostPort(t.Address)
	if err != nil || host != "127.0.0.1" && host != "localhost" {
		return "", "", nil, fmt.Errorf("no answer from Temporal at %s, and one can be started on this machine only", t.Address)
	}
	if path, err := exec.LookPath("temporal"); err == nil {
		return c.temporalCommand(ctx, path, t, port)
	}
	path, err := c.buildStack(ctx, "devserver")
	if err != nil {
		return "", "", nil, err
	}
	p, err := c.startChild(ctx, path, "-port", port, "-ui-port", uiPort, "-namespace", t.Namespace, "-dir", filepath.Join(cacheDir(), "temporal"))
	if err != nil {
		return "", "", nil, err
	}
	fmt.Fprintf(c.stderr, "started the dev stack's Temporal at %s\n", p.ready.Address)
	return p.ready.Address, p.ready.UI, p.stop, nil
}

const uiPort = "8233"

// temporalCommand starts the server of Temporal's own command line.
func (c *cli) temporalCommand(ctx context.Context, path string, t config.Temporal, port string) (string, string, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, path, "server", "start-dev", "--ip", "127.0.0.1", "--port", port, "--ui-port", uiPort,
		"--namespace", t.Namespace, "--log-level", "error")
	cmd.WaitDelay = 10 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = c.stderr
	if err := cmd.Start(); err != nil {
		cancel()
		return "", "", nil, fmt.Errorf("start %s: %w", path, err)
	}
	stop := func() {
		cancel()
		_ = cmd.Wait() // it was told to end
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for range 150 {
		if answers(ctx, c, t) {
			fmt.Fprintf(c.stderr, "started %s at %s\n", path, t.Address)
			return t.Address, "http://127.0.0.1:" + uiPort, stop, nil
		}
		<-tick.C
	}
	stop()
	return "", "", nil, fmt.Errorf("%s server start-dev does not answer at %s after 30 seconds", path, t.Address)
}

func answers(ctx context.Context, c *cli, t config.Temporal) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	cl, err := app.Dial(ctx, t, c.logger())
	if err != nil {
		return false
	}
	cl.Close()
	return true
}
