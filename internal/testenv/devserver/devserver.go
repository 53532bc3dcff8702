package devserver

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
	"strings"
	"syscall"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// Server is a Temporal server with one namespace and without a UI.
type Server struct {
	// Address of the frontend.
	Address string `json:"address"`
	program string
	dir     string
	cmd     *exec.Cmd
	stdin   io.Closer
}

// Start builds the server, which takes minutes the first time, starts it on a free port and waits until it answers. It keeps
// its state in dir, or in memory where that is empty.
func Start(ctx context.Context, dir string) (*Server, error) {
	program, err := build(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{program: program, dir: dir}
	return s, s.start(ctx, "0")
}

// Restart starts a server that was ended, at the same address with what it kept in its folder.
func (s *Server) Restart(ctx context.Context) error {
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return fmt.Errorf("address of the server: %w", err)
	}
	return s.start(ctx, port)
}

func (s *Server) start(ctx context.Context, port string) error {
	// It ends when this process does, whatever way: the end of its stdin tells it.
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), s.program, "-port", port, "-ui-port", "-1", "-dir", s.dir, "-stdin-eof")
	s.cmd.Stderr = os.Stderr
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, s)
	}
	if err != nil {
		s.Kill()
		return fmt.Errorf("the dev stack's server did not get ready: %w", err)
	}
	return nil
}

// Kill is kill -9.
func (s *Server) Kill() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	_ = s.cmd.Wait()
}

// Stop ends the server as a person would.
func (s *Server) Stop() error {
	_ = s.stdin.Close()
	return s.cmd.Wait()
}

// build returns the program, built from the checkout that the test belongs to.
func build(ctx context.Context) (string, error) {
	cache, err := testenv.CacheDir()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tributary-lake/tributary").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(cache, ".devserver.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // closing unlocks; nothing was written
	for {
		if err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	program := filepath.Join(cache, "devserver")
	fmt.Fprintln(os.Stderr, "building devstack/cmd/devserver (the first time: some minutes)")
	// The flags are those of devstack/Makefile: others compile Temporal anew.
	cmd := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(strings.TrimSpace(string(out)), "devstack"), "-trimpath", "-ldflags", "-s -w", "-o", program, "./cmd/devserver")
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return program, nil
}
