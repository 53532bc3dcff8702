package mysql_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	driversql "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// patience bounds every wait for something that takes a moment.
const patience = 60 * time.Second

// account makes an account of the test's own, by whose name its connections are told from others'.
func (s *shop) account(t *testing.T, rights string) mysql.Config {
	t.Helper()
	name := "u" + s.database[2:12]
	s.exec(t, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%[1]s'", name), fmt.Sprintf("GRANT %s ON *.* TO '%s'@'%%'", rights, name))
	t.Cleanup(func() {
		if s.server.Running() {
			s.exec(t, fmt.Sprintf("DROP USER '%s'@'%%'", name))
		}
	})
	c := configOf(s.server, "a")
	c.User, c.Password = name, name
	return c
}

// kill ends a connection, which may have ended meanwhile.
func (s *shop) kill(t *testing.T, id string) {
	t.Helper()
	_, err := s.session(t).ExecContext(t.Context(), "KILL "+id)
	var server *driversql.MySQLError
	if !errors.As(err, &server) || server.Number != 1094 {
		require.NoError(t, err)
	}
}

// TestSlotsShared reads with three sources, which stand for three processes, through two slots. The server's own list
// of connections never has more than two that read, nor more than one that waits for each source, and all get their rows.
func TestSlotsShared(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, testenv.Start(t, f)) // slots are the server's
			r := readOf(t, s.numbers(t, "n", 3000))
			c := s.account(t, "SELECT")
			c.Connections = 2
			const sources, reads = 3, 4
			var wait sync.WaitGroup
			errs := make([]error, sources*reads)
			var mu sync.Mutex
			most, all := 0, 0
			var held []string
			sample := func() {
				mu.Lock()
				defer mu.Unlock()
				// Who asks has a slot itself, whether its statement still runs at the server or not.
				slots := s.server.Query(t, "SELECT (IS_USED_LOCK('tributary:slot:1') IS NOT NULL) + (IS_USED_LOCK('tributary:slot:2') IS NOT NULL), IS_USED_LOCK('tributary:slot:3') IS NOT NULL")
				held = append(held, slots[0][0]+" of 2, "+slots[0][1]+" more")
				list := s.server.Query(t, "SELECT COALESCE(info, '') FROM information_schema.processlist WHERE user = '"+c.User+"'")
				reading := 0
				for _, p := range list {
					if strings.HasPrefix(p[0], "SELECT `id`, `pad`") {
						reading++
					}
				}
				most, all = max(most, reading), max(all, len(list))
			}
			for i := range sources {
				src := open(t, mysql.Options{BatchRows: 500}, c)
				for j := range reads {
					wait.Go(func() {
						stats, err := src.Read(t.Context(), r, each(func(*row.Batch) error { sample(); return nil }))
						errs[i*reads+j] = err
						if err == nil && stats.Rows != 3000 {
							errs[i*reads+j] = fmt.Errorf("%d rows", stats.Rows)
						}
					})
				}
			}
			wait.Wait()
			require.NoError(t, errors.Join(errs...))
			require.LessOrEqual(t, most, 2)
			require.NotEmpty(t, held)
			for _, h := range held {
				require.Contains(t, []string{"1 of 2, 0 more", "2 of 2, 0 more"}, h)
			}
			require.LessOrEqual(t, all, 2+sources)
		})
	}
}

// TestSlotGivenUp keeps one source busy with short reads in the only slot: another one gets its turn all the same. A
// source that waits can be cancelled, and the slot of a connection that is lost is free at once.
func TestSlotGivenUp(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, testenv.Start(t, f))
			r := readOf(t, s.numbers(t, "n", 10))
			c := s.account(t, "SELECT")
			c.Connections = 1
			busy, other := open(t, mysql.Options{}, c), open(t, mysql.Options{}, c)

			held, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			lost := make(chan error, 1)
			go func() {
				_, err := busy.Read(t.Context(), r, each(func(*row.Batch) error {
					once.Do(func() { close(held) })
					<-release
					return nil
				}))
				lost <- err
			}()
			select {
			case <-held:
			case err := <-lost:
				require.NoError(t, err, "the read that is to hold the slot")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, err := other.Read(ctx, r, each(func(*row.Batch) error { return nil }))
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			holder := s.server.QueryValue(t, "SELECT IS_USED_LOCK('tributary:slot:1')")
			// A connection of MySQL that begins to wait for its next statement as it is killed goes on waiting, until it is killed
			// again: THD::awake says so.
			require.Eventually(t, func() bool {
				for _, p := range s.server.Query(t, "SELECT id FROM information_schema.processlist WHERE id = "+holder) {
					s.kill(t, p[0])
				}
				return s.server.QueryValue(t, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = "+holder) == "0"
			}, patience, 10*time.Millisecond)
			ctx, cancel = context.WithTimeout(t.Context(), patience)
			_, err = other.Read(ctx, r, each(func(*row.Batch) error { return nil }))
			cancel()
			require.NoError(t, err, "the slot of lost connection %s: %s held it before, now %s; %v", holder, holder,
				s.server.QueryValue(t, "SELECT IS_USED_LOCK('tributary:slot:1')"), s.server.Query(t, "SHOW PROCESSLIST"))
			close(release)
			<-lost // the rows were sent before the connection was lost, or not

			stop, begun := make(chan struct{}), make(chan struct{})
			ended := make(chan error, 1)
			go func() {
				for i := 0; ; i++ {
					if i == 1 {
						close(begun)
					}
					select {
					case <-stop:
						ended <- nil
						return
					default:
					}
					if _, err := busy.Read(t.Context(), r, each(func(*row.Batch) error { return nil })); err != nil {
						ended <- err
						return
					}
				}
			}()
			ctx, cancel = context.WithTimeout(t.Context(), patience)
			defer cancel()
			select {
			case <-begun:
			case err := <-ended:
				require.NoError(t, err, "the reads that keep the slot busy")
			}
			_, err = other.Read(ctx, r, each(func(*row.Batch) error { return nil }))
			require.NoError(t, err, "a turn beside a busy process")
			close(stop)
			require.NoError(t, <-ended)
		})
	}
}

// TestRate reads with two sources, which stand for two processes, under one rate. The server's clock tells how long the
// rows took.
func TestRate(t *testing.T) {
	cases := []struct {
		name        string
		rows, bytes int64
		readers     int
	}{
		{"rows", 2000, 0, 1},
		{"bytes", 0, 1_000_000, 2},
		{"the stricter one", 2000, 100_000_000, 1},
	}
	for i, f := range testenv.Flavors() {
		c := cases[i]
		t.Run(string(f)+" "+c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, testenv.Start(t, f))
			r := readOf(t, s.numbers(t, "n", 20000))
			config := s.account(t, "SELECT")
			config.RowsPerSecond, config.BytesPerSecond = c.rows, c.bytes
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var mu sync.Mutex
			var rows int64
			var wait sync.WaitGroup
			for range 2 {
				src := open(t, mysql.Options{}, config)
				for range c.readers {
					wait.Go(func() {
						_, _ = src.Read(ctx, r, each(func(b *row.Batch) error {
							mu.Lock()
							defer mu.Unlock()
							rows += int64(b.Rows)
							return nil
						}))
					})
				}
			}
			now := func() (float64, int64) {
				mu.Lock()
				defer mu.Unlock()
				at, err := strconv.ParseFloat(s.server.QueryValue(t, "SELECT UNIX_TIMESTAMP(SYSDATE(6))"), 64)
				require.NoError(t, err)
				return at, rows
			}
			require.Eventually(t, func() bool { _, n := now(); return n > 0 }, patience, 10*time.Millisecond)
			t0, n0 := now()
			require.Eventually(t, func() bool { at, _ := now(); return at > t0+5 }, patience, 20*time.Millisecond)
			t1, n1 := now()
			cancel()
			wait.Wait()
			want := float64(c.rows)
			if c.rows == 0 {
				want = float64(c.bytes) / 1013 // header, nulls, id, and the text with its length: what a row's packet has
			}
			require.InEpsilon(t, want, float64(n1-n0)/(t1-t0), 0.10)
		})
	}
}

// messages collects what is logged.
type messages struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.b.Write(p)
}

func (m *messages) count(text string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Count(m.b.String(), text)
}

// TestThreadsRunning makes a server busy with others' statements while a split is read: it pauses, and goes on.
func TestThreadsRunning(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, testenv.Start(t, f))
			r := readOf(t, s.numbers(t, "n", 20000))
			c := s.account(t, "SELECT")
			c.MaxThreadsRunning = 5
			var log messages
			src := open(t, mysql.Options{BatchRows: 100, Log: slog.New(slog.NewTextHandler(&log, nil))}, c)
			busy := func() (end func()) {
				var wait sync.WaitGroup
				ctx, cancel := context.WithCancel(t.Context())
				db := s.server.Open(t, "tributary", "")
				for range 8 {
					wait.Go(func() { _, _ = db.ExecContext(ctx, "DO SLEEP(300)") })
				}
				return func() {
					for _, p := range s.server.Query(t, "SELECT id FROM information_schema.processlist WHERE info = 'DO SLEEP(300)'") {
						s.kill(t, p[0])
					}
					cancel()
					wait.Wait()
				}
			}
			var end func()
			// The caller is so slow that the pause comes before the end.
			stats, err := src.Read(t.Context(), r, each(func(*row.Batch) error {
				if end == nil {
					end = busy()
					go func() {
						defer end()
						for start := time.Now(); log.count("reading is paused") == 0 && time.Since(start) < patience; {
							<-time.After(10 * time.Millisecond)
						}
					}()
				}
				for start := time.Now(); log.count("reading is paused") == 0 && time.Since(start) < patience; {
					<-time.After(10 * time.Millisecond)
				}
				return nil
			}))
			require.NoError(t, err)
			require.EqualValues(t, 20000, stats.Rows)
			require.Equal(t, 1, log.count("reading is paused"))
			require.Equal(t, 1, log.count("reading goes on"))
			require.Equal(t, 1, log.count("threads for others, more than max_threads_running 5"))
		})
	}
}

// replicate makes a server the replica of another, from now on.
func replicate(t *testing.T, primary, replica *testenv.MySQL) {
	t.Helper()
	at := primary.Query(t, "SHOW MASTER STATUS")[0]
	key := ""
	if primary.Flavor() == testenv.FlavorMySQL80 {
		key = ", GET_MASTER_PUBLIC_KEY = 1"
	}
	replica.Exec(t, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %d, MASTER_USER = 'tributary', MASTER_PASSWORD = 'tributary', MASTER_LOG_FILE = '%s', MASTER_LOG_POS = %s%s",
		primary.Host(), primary.Port(), at[0], at[1], key), "START SLAVE")
}

// TestReplicaLag pauses while a replica is behind or has stopped, and refuses replicas that cannot be watched.
func TestReplicaLag(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, testenv.Start(t, f))
			replica := testenv.Start(t, f)
			r := readOf(t, s.numbers(t, "n", 1000))
			c := configOf(s.server, "a")
			c.User, c.Password = "tributary", "tributary"
			c.Replica = mysql.Address{Host: replica.Host(), Port: replica.Port()}
			c.MaxReplicaLag = time.Second

			_, err := mysql.Open(t.Context(), []mysql.Config{c}, mysql.Options{})
			require.ErrorIs(t, err, source.ErrDenied)
			require.ErrorContains(t, err, "replicates from nowhere")

			replicate(t, s.server, replica)
			replica.Exec(t, "CREATE USER 'plain'@'%' IDENTIFIED BY 'plain'", "GRANT SELECT ON *.* TO 'plain'@'%'")
			s.server.Exec(t, "SET sql_log_bin = 0", "CREATE USER 'plain'@'%' IDENTIFIED BY 'plain'", "GRANT SELECT ON *.* TO 'plain'@'%'",
				"SET sql_log_bin = 1") // the connection is used again
			poor := c
			poor.User, poor.Password = "plain", "plain"
			_, err = mysql.Open(t.Context(), []mysql.Config{poor}, mysql.Options{})
			require.ErrorIs(t, err, source.ErrDenied)
			require.ErrorContains(t, err, "grant REPLICATION CLIENT")

			var log messages
			src := open(t, mysql.Options{BatchRows: 100, Log: slog.New(slog.NewTextHandler(&log, nil))}, c)
			read := func() <-chan error {
				out := make(chan error, 1)
				go func() {
					_, err := src.Read(t.Context(), r, each(func(*row.Batch) error { return nil }))
					out <- err
				}()
				return out
			}
			paused := func(times int, reason string, done <-chan error) {
				require.Eventually(t, func() bool {
					return log.count("reading is paused") == times && log.count(reason) > 0
				}, patience, 10*time.Millisecond, reason)
				require.Empty(t, done)
				require.Equal(t, "0", s.server.QueryValue(t, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT `id`, `pad`%'"), "a read that waits holds nothing")
			}
			require.Eventually(t, func() bool { // connecting takes a moment, in which the lag is not known
				return log.count("reading is paused") == log.count("reading goes on") && <-read() == nil
			}, patience, 10*time.Millisecond)
			before := log.count("reading is paused")

			replica.Exec(t, "STOP SLAVE SQL_THREAD")
			<-time.After(1100 * time.Millisecond) // what was known of the replica is a second old at most
			done := read()
			paused(before+1, "has stopped replicating", done)
			replica.Exec(t, "START SLAVE SQL_THREAD")
			require.NoError(t, <-done)

			lock, err := replica.Open(t, "tributary", "").Conn(t.Context())
			require.NoError(t, err)
			_, err = lock.ExecContext(t.Context(), "FLUSH TABLES WITH READ LOCK")
			require.NoError(t, err)
			s.server.NewDatabase(t)
			<-time.After(3500 * time.Millisecond) // the replica's clock makes the lag
			done = read()
			paused(before+2, "lags by", done)
			_, err = lock.ExecContext(t.Context(), "UNLOCK TABLES")
			require.NoError(t, err)
			require.NoError(t, <-done)
			require.Equal(t, before+2, log.count("reading goes on"))
		})
	}
}

// TestCancelEndsStatement cancels a read whose statement sorts and sends nothing: the server ends it, which it would not
// notice by itself.
func TestCancelEndsStatement(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		r := readOf(t, s.numbers(t, "n", 10))
		r.Where = "id > 0 AND SLEEP(300) = 0"
		running := func() string {
			return s.server.QueryValue(t, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(300)%"+"' AND info LIKE '%"+s.database+"%' AND info NOT LIKE '%processlist%'")
		}
		run := map[string]func(context.Context) error{
			"read": func(ctx context.Context) error {
				_, err := s.source.Read(ctx, r, each(func(*row.Batch) error { return nil }))
				return err
			},
			"plan": func(ctx context.Context) error {
				_, err := s.source.Split(ctx, s.table(t, "n", mysql.Policy{}), mysql.SplitOptions{Where: r.Where, Count: 3})
				return err
			},
		}
		for name, f := range run {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- f(ctx) }()
			require.Eventually(t, func() bool { return running() == "1" }, patience, 5*time.Millisecond, name)
			cancel()
			require.ErrorIs(t, <-done, context.Canceled, name)
			require.Eventually(t, func() bool { return running() == "0" }, 5*time.Second, 5*time.Millisecond, name)
		}
	})
}
