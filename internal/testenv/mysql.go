package testenv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MySQL is one running server with a data directory of its own. Its methods may be called from several goroutines.
type MySQL struct {
	flavor  Flavor
	build   build
	opts    options
	dir     string
	socket  string
	port    int
	version string
	db      *sql.DB
	sweep   func() // removes a temporary directory

	mu   sync.Mutex
	proc *process // nil before the first start
}

// How long a server may take to be ready and to stop. Both take a second or two; a loaded machine takes more.
const (
	startPatience = 2 * time.Minute
	stopPatience  = 30 * time.Second
	portAttempts  = 5
)

// Start starts a server for this test and ends it, and removes its data, when the test is over.
func Start(tb testing.TB, f Flavor, opts ...Option) *MySQL {
	tb.Helper()
	m, err := StartServer(tb.Context(), f, opts...)
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Errorf("testenv: end of %s: %v", f, err)
		}
	})
	return m
}

// MariaDB is Start with [FlavorMariaDB].
func MariaDB(tb testing.TB, opts ...Option) *MySQL {
	tb.Helper()
	return Start(tb, FlavorMariaDB, opts...)
}

// MySQL57 is Start with [FlavorMySQL57].
func MySQL57(tb testing.TB, opts ...Option) *MySQL {
	tb.Helper()
	return Start(tb, FlavorMySQL57, opts...)
}

// MySQL80 is Start with [FlavorMySQL80].
func MySQL80(tb testing.TB, opts ...Option) *MySQL {
	tb.Helper()
	return Start(tb, FlavorMySQL80, opts...)
}

// StartServer installs the server when it is not there, starts it and waits until it answers. The context bounds only
// this call; [MySQL.Close] ends the server.
func StartServer(ctx context.Context, f Flavor, opts ...Option) (*MySQL, error) {
	m := &MySQL{flavor: f}
	for _, o := range opts {
		o(&m.opts)
	}
	if m.opts.detached && m.opts.dir == "" {
		return nil, fmt.Errorf("start %s: a detached server needs a directory: give InDir", f)
	}
	var err error
	if m.build, err = installServer(ctx, f); err != nil {
		return nil, err
	}
	empty, err := template(ctx, f, m.build)
	if err != nil {
		return nil, err
	}
	if err := m.prepareDir(ctx, empty); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", f, err), m.Close())
	}
	if err := m.firstStart(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", f, err), m.Close())
	}
	return m, nil
}

// prepareDir makes the server's directory, with a copy of the empty data directory unless it has data.
func (m *MySQL) prepareDir(ctx context.Context, empty string) error {
	var err error
	if m.dir = m.opts.dir; m.dir == "" {
		if m.dir, err = os.MkdirTemp(shortTempDir(), "trb-"); err != nil {
			return err
		}
		if m.sweep, err = startBroom(m.dir); err != nil {
			return errors.Join(err, os.RemoveAll(m.dir))
		}
	}
	if m.dir, err = filepath.Abs(m.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(m.dir, "tmp"), 0o755); err != nil {
		return err
	}
	pid, err := runningPID(m.pidFile())
	if err != nil {
		return err
	}
	if pid != 0 {
		return fmt.Errorf("%s is in use by the server with pid %d: stop it first", m.dir, pid)
	}
	m.socket = filepath.Join(m.dir, "s.sock")
	data := filepath.Join(m.dir, "data")
	if !exists(filepath.Join(data, "mysql")) {
		err := replaceDir(data, func(tmp string) error {
			return run(ctx, "", "cp", "-a", "--reflink=auto", empty+"/.", tmp)
		})
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(m.dir, "init.sql"), []byte(initSQL), 0o644)
}

// shortTempDir is the directory for temporary files, or /tmp when that one is so deep that a socket in it would have
// a name over the kernel's limit of 107 bytes.
func shortTempDir() string {
	if dir := os.TempDir(); len(dir) < 70 {
		return dir
	}
	return "/tmp"
}

// firstStart finds a port and starts the server, with another port when somebody was faster.
func (m *MySQL) firstStart(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		var err error
		if m.port = m.opts.port; m.port == 0 {
			if m.port, err = freePort(); err != nil {
				return err
			}
		}
		if err = m.openPool(); err != nil {
			return err
		}
		err = m.launch(ctx)
		if err == nil {
			break
		}
		if m.opts.port != 0 || attempt == portAttempts || !strings.Contains(err.Error(), "Address already in use") {
			return err
		}
	}
	if err := m.db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&m.version); err != nil {
		return fmt.Errorf("version: %w", err)
	}
	return nil
}

// launch starts the process and waits until the server answers. On failure the process has ended.
func (m *MySQL) launch(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writeConfig(); err != nil {
		return err
	}
	log, err := os.OpenFile(m.LogPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server writes to its own copy
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	cmd := exec.Command(m.build.binary, "--defaults-file="+filepath.Join(m.dir, "my.cnf"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.dir, log, log
	if m.proc, err = startProcess(cmd, !m.opts.detached); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := m.waitReady(ctx, before); err != nil {
		m.proc.kill()
		said, _ := m.logSince(before) // the log is an extra to an error that stands by itself
		return fmt.Errorf("%w; its log %s ends:\n%s", err, m.LogPath(), lastLines(said, 25))
	}
	return writePID(m.pidFile(), cmd.Process.Pid)
}

// waitReady waits for the line that ends the server's start, then for a login: the line alone comes too early for
// some versions, and logins before it would fill the server's log.
func (m *MySQL) waitReady(ctx context.Context, before int64) error {
	said := false
	err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
		if m.proc.ended() {
			return false, errors.New("the server ended before it was ready")
		}
		if !said {
			log, err := m.logSince(before)
			if err != nil {
				return false, err
			}
			if said = strings.Contains(log, "ready for connections"); !said {
				return false, nil
			}
		}
		return m.db.PingContext(ctx) == nil, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the server was not ready in time: %w", err)
	}
	return err
}

func (m *MySQL) logSince(offset int64) (string, error) {
	data, err := os.ReadFile(m.LogPath())
	if err != nil {
		return "", err
	}
	return string(data[min(offset, int64(len(data))):]), nil
}

func (m *MySQL) writeConfig() error {
	settings, err := baseSettings(m.dir, m.socket, m.port)
	if err != nil {
		return err
	}
	settings = append(settings, m.build.settings...)
	settings = append(settings, m.opts.settings...) // of two lines the server takes the later
	var b strings.Builder
	b.WriteString("[mysqld]\n")
	for _, s := range settings {
		fmt.Fprintf(&b, "%s=%s\n", s.name, s.value)
	}
	return os.WriteFile(filepath.Join(m.dir, "my.cnf"), []byte(b.String()), 0o644)
}

// openPool opens the pool that the helpers use, as the account that may do everything.
func (m *MySQL) openPool() error {
	if m.db != nil {
		_ = m.db.Close() // it was for another port, and never connected
	}
	cfg, err := mysql.ParseDSN(m.DSN("tributary", ""))
	if err != nil {
		return err
	}
	cfg.MultiStatements = true
	cfg.Logger = &mysql.NopLogger{} // refused logins are expected until the server is ready
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	m.db = sql.OpenDB(connector)
	return nil
}

// Stop shuts the server down in order. Its data stays; [MySQL.Restart] starts it again.
func (m *MySQL) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		m.proc.stop(stopPatience)
	}
}

// Kill ends the server at once, as a crash would. Its data stays; [MySQL.Restart] starts it again.
func (m *MySQL) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		m.proc.kill()
	}
}

// Running says whether the server's process runs.
func (m *MySQL) Running() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.proc != nil && !m.proc.ended()
}

// Restart stops the server when it runs, and starts it on the same data, socket and port.
func (m *MySQL) Restart(tb testing.TB) {
	tb.Helper()
	m.Stop()
	if err := m.launch(tb.Context()); err != nil {
		tb.Fatalf("testenv: restart of %s: %v", m.flavor, err)
	}
}

// Close ends the server, and removes its directory if that is a temporary one. It may be called again.
// A detached server is left running.
func (m *MySQL) Close() error {
	var errs []error
	if m.db != nil {
		errs = append(errs, m.db.Close())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil && !m.opts.detached {
		if m.sweep != nil {
			m.proc.kill() // its data goes away, so nothing is gained by an orderly end
		} else {
			m.proc.stop(stopPatience)
		}
		errs = append(errs, os.RemoveAll(m.pidFile()))
	}
	if m.sweep != nil {
		m.sweep()
		m.sweep = nil
		if exists(m.dir) {
			errs = append(errs, fmt.Errorf("%s could not be removed", m.dir))
		}
	}
	return errors.Join(errs...)
}

// StopDetached ends the server that a process before left running in dir, and reports its pid, or 0 if none ran.
func StopDetached(ctx context.Context, dir string) (int, error) {
	file := filepath.Join(dir, "pid")
	pid, err := runningPID(file)
	if err != nil || pid == 0 {
		return 0, err
	}
	child, err := os.FindProcess(pid)
	if err != nil {
		return 0, fmt.Errorf("stop server %d: %w", pid, err)
	}
	if err := child.Signal(syscall.SIGTERM); err != nil {
		return 0, fmt.Errorf("stop server %d: %w", pid, err)
	}
	err = poll(ctx, 50*time.Millisecond, func() (bool, error) {
		now, err := runningPID(file)
		return now == 0, err
	})
	if err != nil {
		return 0, fmt.Errorf("server %d does not end: %w", pid, err)
	}
	return pid, os.Remove(file)
}
