package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a child of this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startProcess starts cmd in a process group of its own, so that an interrupt at the terminal ends the tests and not
// the server under their feet. When tied, the kernel kills it as soon as this process is gone.
func startProcess(cmd *exec.Cmd, tied bool) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if tied {
		dieWithParent(cmd.SysProcAttr)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux counts the end of the starting thread, not of the process, as the parent's death: stay on it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how a killed server ended says nothing
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process at once and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
}

// stop asks the process to end and insists after a while.
func (p *process) stop(patience time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.kill()
	}
}

// A pid file holds the number and the start time of a process: numbers are used again, pairs are not.

func writePID(path string, pid int) error {
	started, err := startTime(pid)
	if err != nil {
		return err
	}
	return os.WriteFile(path, fmt.Appendf(nil, "%d %s\n", pid, started), 0o644)
}

// runningPID is the process in the pid file, or 0 when that very process no longer runs.
func runningPID(path string) (int, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	number, started, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("%s holds %q, no process", path, data)
	}
	now, err := startTime(pid)
	if err != nil || now != started {
		return 0, nil //nolint:nilerr // a process that cannot be found does not run
	}
	return pid, nil
}

// startTime is the process's start in clock ticks since boot, field 22 of proc(5) stat. A zombie counts as ended.
func startTime(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The name in parentheses before may itself hold spaces and parentheses.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fields[19], nil
}

// startBroom starts a small process that removes dir once this process is gone, however it ended: a killed test run
// would leave its data directories otherwise. The returned function has it do so now. It tries more than once because
// a server that is being killed may still add files.
func startBroom(dir string) (func(), error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	cmd := exec.Command("sh", "-c", `cat >/dev/null; for i in 1 2 3 4 5; do rm -rf -- "$1" && exit; sleep 1; done`, "broom", dir)
	cmd.Stdin = read
	p, err := startProcess(cmd, false)
	err = errors.Join(err, read.Close())
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return func() { _ = write.Close(); <-p.done }, nil
}
