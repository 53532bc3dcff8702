package moment

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/source"
)

// session is a Session on a connection of the test's, which may be told before a statement.
type session struct {
	*sql.Conn
	before func(query string)
}

func (s *session) Exec(ctx context.Context, query string) error {
	if s.before != nil {
		s.before(query)
	}
	_, err := s.ExecContext(ctx, query)
	return err
}

func (s *session) Query(ctx context.Context, query string) ([]map[string]string, error) {
	rows, err := s.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all []map[string]string
	for rows.Next() {
		values, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		one := map[string]string{}
		for i, name := range names {
			one[strings.ToLower(name)] = values[i].String
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

func (s *session) Close() error {
	// As a lost connection does, it takes its session along; the pool must not keep it.
	_ = s.Raw(func(any) error { return driver.ErrBadConn })
	return nil
}

// bed is a server with a table, and what a request needs.
type bed struct {
	*testenv.MySQL
	table string
	shard source.Shard
}

func newBed(t *testing.T, f testenv.Flavor) *bed {
	t.Helper()
	m := testenv.Start(t, f) // its locks are for all
	database := m.NewDatabase(t)
	m.Exec(t, "CREATE TABLE "+database+".t (id INT PRIMARY KEY, v INT)", "INSERT INTO "+database+".t VALUES (1, 1), (2, 2)")
	return &bed{MySQL: m, table: database + ".t", shard: source.Shard{Instance: "a", Database: database, Table: "t"}}
}

// connect opens a connection that is the test's alone.
func (b *bed) connect(t *testing.T) *session {
	t.Helper()
	db := b.Open(t, "tributary", "")
	c, err := db.Conn(t.Context())
	require.NoError(t, err)
	return &session{Conn: c}
}

func (b *bed) request(t *testing.T, m source.MomentMethod, p pace) Request {
	t.Helper()
	one := b.connect(t)
	server, err := Examine(t.Context(), one, "a", []string{b.shard.Database})
	require.NoError(t, err)
	return Request{
		Server: server, Shards: []source.Shard{b.shard}, Readers: []Session{one, b.connect(t)}, Method: m, pace: p,
		Lock: func(context.Context) (Session, error) { return b.connect(t), nil },
	}
}

// slow runs a statement that lasts, once it is known to run.
func (b *bed) slow(t *testing.T, query string) (end func()) {
	t.Helper()
	c := b.connect(t)
	id := ""
	require.NoError(t, c.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))
	var wait sync.WaitGroup
	wait.Go(func() { _, _ = c.ExecContext(context.WithoutCancel(t.Context()), query) })
	state := "SELECT COUNT(*) FROM information_schema.processlist WHERE id = " + id + " AND command = 'Query' AND state = 'User sleep' AND time >= 1"
	require.Eventually(t, func() bool { return b.QueryValue(t, state) == "1" }, time.Minute, 20*time.Millisecond)
	return func() {
		b.Exec(t, "KILL "+id)
		wait.Wait()
	}
}

// application keeps writing and reading as an application would, and tells the longest time that it took.
func (b *bed) application(t *testing.T) (longest func() time.Duration) {
	t.Helper()
	c := b.connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	var most time.Duration
	var wait sync.WaitGroup
	wait.Go(func() {
		for ctx.Err() == nil {
			started := time.Now()
			if err := c.Exec(t.Context(), "UPDATE "+b.table+" SET v = v + 1 WHERE id = 2"); err != nil {
				t.Error(err)
			}
			if _, err := c.Query(t.Context(), "SELECT COUNT(*) FROM "+b.table); err != nil {
				t.Error(err)
			}
			most = max(most, time.Since(started))
		}
	})
	return func() time.Duration {
		cancel()
		wait.Wait()
		return most
	}
}

// Long statements must not make a lock hold up the application: it waits as long as the lock is waited for, and no longer.
// With a clear error the opening is given up; once the statement has ended it succeeds.
func TestLongStatementsHoldUpNobody(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, f)
			impatient := pace{tries: 2, early: 1, first: 10 * time.Millisecond, longest: 10 * time.Millisecond, positions: 1}
			for _, c := range []struct {
				method    source.MomentMethod
				statement string
				free      []testenv.Flavor
			}{
				{source.MomentFlush, "SELECT COUNT(*) FROM " + b.table + " WHERE id = 1 AND SLEEP(60)", []testenv.Flavor{testenv.FlavorMariaDB}},
				{source.MomentFlush, "UPDATE " + b.table + " SET v = SLEEP(60) WHERE id = 1", nil},
				{source.MomentLockTables, "UPDATE " + b.table + " SET v = SLEEP(60) WHERE id = 1", nil},
				{source.MomentLockTables, "SELECT COUNT(*) FROM " + b.table + " WHERE id = 1 AND SLEEP(60)", testenv.Flavors()},
			} {
				end := b.slow(t, c.statement)
				longest := b.application(t)
				m, err := Open(t.Context(), b.request(t, c.method, impatient))
				waited := longest()
				free := fmt.Sprint(c.free)
				if strings.Contains(free, string(f)) {
					require.NoError(t, err, "%s behind %s", c.method, c.statement)
					require.Less(t, m.Locked, lockWait)
				} else {
					require.ErrorIs(t, err, source.ErrUnavailable, "%s behind %s", c.method, c.statement)
					require.ErrorContains(t, err, "given up after 2 tries")
				}
				require.Less(t, waited, lockWait+2*time.Second, "%s behind %s", c.method, c.statement)
				end()
				_, err = Open(t.Context(), b.request(t, c.method, pace{}))
				require.NoError(t, err)
				require.NoError(t, b.connect(t).Exec(t.Context(), "UPDATE "+b.table+" SET v = 0 WHERE id = 1"), "no lock is left")
			}
		})
	}
}

// The connection that holds the lock is lost while the others open: that moment is void, whatever they saw, and another try
// makes one. A client that falls silent while it holds the lock is cut off by the server; one that is gone leaves no lock.
func TestLockThatIsLost(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, f)
			for _, method := range []source.MomentMethod{source.MomentFlush, source.MomentLockTables} {
				r := b.request(t, method, pace{})
				var id string
				r.Lock = func(context.Context) (Session, error) {
					c := b.connect(t)
					return c, c.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id)
				}
				lost := 0
				r.Readers[0].(*session).before = func(query string) {
					if lost++; strings.HasPrefix(query, "START") && lost == 1 {
						killer := b.connect(t)
						// MySQL may keep a connection that is killed as it begins to wait for its next statement, until it is killed again.
						require.Eventually(t, func() bool {
							_ = killer.Exec(t.Context(), "KILL "+id) // it may be gone, which is what is asked next
							return b.QueryValue(t, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = "+id) == "0"
						}, time.Minute, 10*time.Millisecond)
						b.Exec(t, "UPDATE "+b.table+" SET v = v + 1 WHERE id = 1")
					}
				}
				m, err := Open(t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, 2, m.Tries, "%s", method)
				require.Equal(t, method, m.Method)
				for _, s := range r.Readers {
					require.NoError(t, s.Close())
				}

				silent := b.connect(t)
				for _, q := range append(lockSettings(), "SET SESSION wait_timeout = 1", lockStatement(method, b.shard)) {
					require.NoError(t, silent.Exec(t.Context(), q))
				}
				b.Exec(t, "UPDATE "+b.table+" SET v = v + 1 WHERE id = 1") // waits until the server has cut the silent one off
				gone := b.connect(t)
				require.NoError(t, gone.Exec(t.Context(), lockStatement(method, b.shard)))
				require.NoError(t, gone.Close())
				b.Exec(t, "UPDATE "+b.table+" SET v = v + 1 WHERE id = 1")
			}
		})
	}
}

func lockStatement(m source.MomentMethod, shard source.Shard) string {
	if m == source.MomentFlush {
		return "FLUSH TABLES WITH READ LOCK"
	}
	return lockTables([]source.Shard{shard})
}

// A transaction that XA has prepared is in the binary log before its rows can be seen, so while one is there no moment counts as
// quiet; and no lock of tables holds it back once its connection is gone. A flush does.
func TestPreparedTransactions(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, f)
			impatient := pace{tries: 1, early: 1, first: 10 * time.Millisecond, longest: 10 * time.Millisecond, positions: 3}
			c := b.connect(t)
			for _, q := range []string{"XA START 'p'", "UPDATE " + b.table + " SET v = v + 1 WHERE id = 1", "XA END 'p'", "XA PREPARE 'p'"} {
				require.NoError(t, c.Exec(t.Context(), q))
			}
			for _, gone := range []bool{false, true} {
				if gone {
					require.NoError(t, c.Close())
				}
				for _, method := range []source.MomentMethod{source.MomentPosition, source.MomentLockTables} {
					_, err := Open(t.Context(), b.request(t, method, impatient))
					require.ErrorIs(t, err, source.ErrUnavailable)
					if gone && f != testenv.FlavorMySQL80 || method == source.MomentPosition {
						require.ErrorContains(t, err, `1 transactions are prepared and wait for XA COMMIT or XA ROLLBACK, such as "p"`)
					}
				}
				_, err := Open(t.Context(), b.request(t, source.MomentFlush, impatient))
				require.NoError(t, err)
			}
			lock, other := b.connect(t), b.connect(t)
			require.NoError(t, lock.Exec(t.Context(), "FLUSH TABLES WITH READ LOCK"))
			require.NoError(t, other.Exec(t.Context(), "SET lock_wait_timeout = 1"))
			require.ErrorContains(t, other.Exec(t.Context(), "XA COMMIT 'p'"), "Lock wait timeout exceeded")
			require.NoError(t, lock.Exec(t.Context(), "UNLOCK TABLES"))
			b.Exec(t, "XA COMMIT 'p'")
			for _, method := range []source.MomentMethod{source.MomentPosition, source.MomentLockTables} {
				_, err := Open(t.Context(), b.request(t, method, impatient))
				require.NoError(t, err)
			}
		})
	}
}
