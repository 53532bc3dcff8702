package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// child is a running process of ours.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how it ended; set before done is closed
}

// start starts cmd in a process group of its own, so that an interrupt at the terminal reaches this program alone, which
// then ends its children in order. The kernel kills the child with this process.
func start(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux takes the end of the starting thread for the parent's: stay on it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// kill ends the process and what it has started, such as the compilers of a build, and waits for its end.
func (c *child) kill() {
	select {
	case <-c.done: // its number may be another's by now
		return
	default:
	}
	_ = syscall.Kill(-c.pid(), syscall.SIGKILL) // the group is this child's own; it may end by itself just now
	<-c.done
}

// stop asks the process to end and insists after a while. It may have ended already.
func (c *child) stop(by os.Signal, patience time.Duration) {
	_ = c.cmd.Process.Signal(by)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-c.done:
	case <-late.C:
		c.kill()
	}
}

// wait waits until the process ends, or kills it when ctx does.
func (c *child) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		c.kill()
		return ctx.Err()
	}
}

// output is what a command wrote and used.
type output struct {
	stdout []byte
	cpu    time.Duration
}

// complete runs cmd to its end. When it fails the error holds the last lines that it wrote to stderr.
func complete(ctx context.Context, cmd *exec.Cmd) (output, error) {
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	cmd.Stderr = &stderr
	c, err := start(cmd)
	if err != nil {
		return output{}, err
	}
	err = c.wait(ctx)
	out := output{stdout: stdout.Bytes(), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, lastLines(stderr.String()+stdout.String()))
	}
	return out, err
}

func lastLines(text string) string {
	const n = 20
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// need finds a program on the PATH, or says what to type.
func need(program, remedy string) (string, error) {
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is not on the PATH: %s", program, remedy)
	}
	return path, err
}
