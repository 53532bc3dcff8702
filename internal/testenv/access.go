package testenv

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
)

// Flavor is which server this is.
func (m *MySQL) Flavor() Flavor { return m.flavor }

// Version is what SELECT VERSION() says, such as 5.7.29-log.
func (m *MySQL) Version() string { return m.version }

// Host is the address the server listens on: 127.0.0.1.
func (m *MySQL) Host() string { return "127.0.0.1" }

// Port is the TCP port the server listens on.
func (m *MySQL) Port() int { return m.port }

// Addr is host:port.
func (m *MySQL) Addr() string { return fmt.Sprintf("%s:%d", m.Host(), m.port) }

// Socket is the path of the Unix socket, where root logs in without a password.
func (m *MySQL) Socket() string { return m.socket }

// Dir is the server's directory; its tables are in data below.
func (m *MySQL) Dir() string { return m.dir }

// LogPath is the server's error log.
func (m *MySQL) LogPath() string { return filepath.Join(m.dir, "server.log") }

func (m *MySQL) pidFile() string { return filepath.Join(m.dir, "pid") }

// PID is the number of the server's process, also after it has ended.
func (m *MySQL) PID() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.proc.cmd.Process.Pid
}

// DSN is a data source name for go-sql-driver/mysql. The user is tributary, who may do everything, or reader, who may
// select and replicate; the password is the name. The database may be empty.
func (m *MySQL) DSN(user, database string) string {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd = user, user
	cfg.Net, cfg.Addr = "tcp", m.Addr()
	cfg.DBName = database
	return cfg.FormatDSN()
}

// Open is a pool on the database for that user (see [MySQL.DSN]), closed after the test.
func (m *MySQL) Open(tb testing.TB, user, database string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("mysql", m.DSN(user, database))
	if err != nil {
		tb.Fatalf("testenv: open %s: %v", database, err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs the texts in order on one connection as tributary, so USE and SET hold for those that follow.
// A text may hold several statements separated by semicolons.
func (m *MySQL) Exec(tb testing.TB, texts ...string) {
	tb.Helper()
	// A test's context has ended in its clean-up functions, where helpers must still work.
	ctx := context.WithoutCancel(tb.Context())
	conn, err := m.db.Conn(ctx)
	if err != nil {
		tb.Fatalf("testenv: connect to %s: %v", m.flavor, err)
	}
	defer conn.Close()
	for _, text := range texts {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			tb.Fatalf("testenv: %s: %s: %v", m.flavor, shorten(text), err)
		}
	}
}

// Query runs one statement as tributary and returns all rows as text; NULL reads as NULL, like in the mysql client.
func (m *MySQL) Query(tb testing.TB, query string, args ...any) [][]string {
	tb.Helper()
	out, err := m.query(context.WithoutCancel(tb.Context()), query, args)
	if err != nil {
		tb.Fatalf("testenv: %s: %s: %v", m.flavor, shorten(query), err)
	}
	return out
}

// QueryValue is the only value of the only row of a query, as [MySQL.Query] gives it.
func (m *MySQL) QueryValue(tb testing.TB, query string, args ...any) string {
	tb.Helper()
	rows := m.Query(tb, query, args...)
	if len(rows) != 1 || len(rows[0]) != 1 {
		tb.Fatalf("testenv: %s: %s: want one value, have %v", m.flavor, shorten(query), rows)
	}
	return rows[0][0]
}

func (m *MySQL) query(ctx context.Context, query string, args []any) ([][]string, error) {
	rows, err := m.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]sql.NullString, len(columns))
	targets := make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	var out [][]string
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := make([]string, len(values))
		for i, v := range values {
			if row[i] = v.String; !v.Valid {
				row[i] = "NULL"
			}
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// NewDatabase makes a database with a name that no other test has, and drops it after the test.
func (m *MySQL) NewDatabase(tb testing.TB) string {
	tb.Helper()
	name := "t_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:16]
	m.Exec(tb, "CREATE DATABASE "+name)
	tb.Cleanup(func() {
		if m.Running() {
			m.Exec(tb, "DROP DATABASE IF EXISTS "+name)
		}
	})
	return name
}

func shorten(text string) string {
	if text = strings.TrimSpace(text); len(text) > 200 {
		return text[:200] + " …"
	}
	return text
}

// sharedServers holds the servers of [Shared]: one of each flavor for the life of the test binary, which Go gives no
// other place to keep. The kernel ends them with the process.
var sharedServers = &registry[Flavor, *MySQL]{}

// Shared is a server of that flavor that all tests of the binary use, each in a database of its own
// ([MySQL.NewDatabase]). Tests that change settings, stop it or read its binlog take one by [Start].
func Shared(tb testing.TB, f Flavor) *MySQL {
	tb.Helper()
	m, err := sharedServers.get(f, func() (*MySQL, error) {
		return StartServer(context.WithoutCancel(tb.Context()), f)
	})
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return m
}

// registry makes each thing once, even when several goroutines ask for it at the same time.
type registry[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]func() (V, error)
}

func (r *registry[K, V]) get(key K, start func() (V, error)) (V, error) {
	r.mu.Lock()
	once, ok := r.made[key]
	if !ok {
		if r.made == nil {
			r.made = map[K]func() (V, error){}
		}
		once = sync.OnceValues(start)
		r.made[key] = once
	}
	r.mu.Unlock()
	return once()
}
