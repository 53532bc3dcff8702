package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// secret is a password that no error may show.
const secret = "hunter2-Geheim"

// freeAddress is a port that nobody listens on.
func freeAddress(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestConnectErrors checks that each way in which an instance cannot be used gives one sentence with its remedy.
func TestConnectErrors(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	require.NoError(t, err)
	defer silent.Close()
	servers := map[testenv.Flavor]*testenv.MySQL{}
	for _, f := range testenv.Flavors() {
		servers[f] = testenv.Shared(t, f)
	}
	port := servers[testenv.FlavorMySQL80].Port()
	cases := []struct {
		name   string
		config mysql.Config
		class  error
		parts  []string
	}{
		{"unknown host", mysql.Config{Host: "no-such-host.invalid", Port: 3306}, nil, []string{"the host name cannot be resolved", "check host", "no-such-host.invalid:3306"}},
		{"refused", mysql.Config{Host: "127.0.0.1", Port: freeAddress(t)}, source.ErrUnavailable, []string{"nothing listens", "check host and port"}},
		{"silent", mysql.Config{Host: "127.0.0.1", Port: silent.Addr().(*net.TCPAddr).Port, ConnectTimeout: 200 * time.Millisecond}, source.ErrUnavailable, []string{"no answer within 200ms"}},
		{"no user", mysql.Config{Host: "127.0.0.1", Port: port, User: "nobody"}, source.ErrDenied, []string{`access denied for user "nobody"`}},
		{"no certificate file", mysql.Config{Host: "127.0.0.1", Port: port, TLS: mysql.TLS{Mode: mysql.TLSVerifyCA, CA: "/no/ca.pem"}}, source.ErrDenied, []string{"tls.ca", "/no/ca.pem"}},
		{"unknown mode", mysql.Config{Host: "127.0.0.1", Port: port, TLS: mysql.TLS{Mode: "perhaps"}}, source.ErrDenied, []string{"tls.mode", "perhaps", "verify-ca"}},
	}
	for _, f := range testenv.Flavors() {
		cases = append(cases, struct {
			name   string
			config mysql.Config
			class  error
			parts  []string
		}{
			"wrong password on " + string(f),
			mysql.Config{Host: "127.0.0.1", Port: servers[f].Port()},
			source.ErrDenied,
			[]string{`access denied for user "reader"`, "check user and password", strconv.Itoa(servers[f].Port())},
		})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.config.Name, c.config.Password = "shop-7", secret
			if c.config.User == "" {
				c.config.User = "reader"
			}
			_, err := mysql.Open(t.Context(), []mysql.Config{c.config}, mysql.Options{})
			if c.class == nil { // by what the machine's name server answers
				c.class = source.ErrUnavailable
				if errors.Is(err, source.ErrDenied) {
					c.class = source.ErrDenied
				}
			}
			require.ErrorIs(t, err, c.class)
			require.NotContains(t, err.Error(), secret)
			require.NotContains(t, fmt.Sprintf("%+v %#v", err, err), secret)
			require.Equal(t, 1, strings.Count(err.Error(), "\n")+1, "one line: %s", err)
			for _, part := range append(c.parts, `"shop-7"`) {
				require.ErrorContains(t, err, part)
			}
		})
	}
	_, err = mysql.Open(t.Context(), []mysql.Config{{Name: "x", Host: "h", User: "u"}, {Name: "x", Host: "h", User: "u"}}, mysql.Options{})
	require.ErrorContains(t, err, `two instances are called "x"`)
	for _, bad := range []mysql.Config{{}, {Name: "x"}, {Name: "x", Host: "h"}, {Name: "x", Host: "h", User: "u", Port: 70000}} {
		_, err = mysql.Open(t.Context(), []mysql.Config{bad}, mysql.Options{})
		require.ErrorIs(t, err, source.ErrDenied)
	}
}

// numbers makes a table of n rows in the shop, wide enough to fill socket buffers.
func (s *shop) numbers(t *testing.T, name string, n int) source.Table {
	t.Helper()
	s.exec(t, fmt.Sprintf("CREATE TABLE %s (id BIGINT PRIMARY KEY, pad VARCHAR(1000))", name))
	for from := 0; from < n; from += 500 {
		var b strings.Builder
		for i := from; i < min(n, from+500); i++ {
			fmt.Fprintf(&b, ",(%d,REPEAT('p',1000))", i+1)
		}
		s.exec(t, fmt.Sprintf("INSERT INTO %s VALUES %s", name, b.String()[1:]))
	}
	return s.table(t, name, mysql.Policy{})
}

// readerID is the server's number of the source's only connection.
func (s *shop) readerID(t *testing.T) string {
	t.Helper()
	return s.server.QueryValue(t, "SELECT id FROM information_schema.processlist WHERE user = 'reader' AND command <> 'Sleep' AND info LIKE 'SELECT `id`, `pad`%"+s.database+"%'")
}

// TestStreamBroken breaks a read in its middle in the ways that a server and a network have: the read fails, tells
// that it may be tried again, and the source goes on with another connection.
func TestStreamBroken(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		r := readOf(t, s.numbers(t, "n", 20000))
		s.source = open(t, mysql.Options{BatchRows: 100}, configOf(s.server, "a"))
		for _, kill := range []string{"KILL ", "KILL QUERY "} {
			killed := false
			stats, err := s.source.Read(t.Context(), r, each(func(*row.Batch) error {
				if !killed {
					killed = true
					s.exec(t, kill+s.readerID(t))
				}
				return nil
			}))
			require.ErrorIs(t, err, source.ErrUnavailable, kill)
			require.ErrorContains(t, err, r.Shard.String())
			require.Zero(t, stats, "no partial success")
			if kill == "KILL QUERY " {
				var server *driversql.MySQLError
				require.ErrorAs(t, err, &server)
				require.EqualValues(t, 1317, server.Number)
			}
		}
		p := newProxy(t, s.server)
		c := configOf(s.server, "a")
		c.Port = p.port(t)
		cut := open(t, mysql.Options{}, c)
		for _, after := range []int64{100_000, 65536, 33333} {
			p.limit.Store(after)
			_, stats, err := collect(t.Context(), cut, r)
			require.ErrorIs(t, err, source.ErrUnavailable)
			require.ErrorContains(t, err, "net_write_timeout")
			require.Zero(t, stats)
		}
		require.GreaterOrEqual(t, p.cuts.Load(), int64(3))
		p.limit.Store(0)
		for _, src := range []*mysql.Source{s.source, cut} {
			rows, stats, err := collect(t.Context(), src, r)
			require.NoError(t, err)
			require.Len(t, rows, 20000)
			require.EqualValues(t, 20000, stats.Rows)
		}
	})
}

// TestEmitAndCancel ends reads from this side: by an error of the caller, and by a cancelled context.
func TestEmitAndCancel(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		r := readOf(t, s.numbers(t, "n", 20000))
		s.source = open(t, mysql.Options{BatchRows: 100}, configOf(s.server, "a"))
		full := errors.New("the lake is full")
		_, err := s.source.Read(t.Context(), r, each(func(*row.Batch) error { return full }))
		require.ErrorIs(t, err, full)
		require.NotErrorIs(t, err, source.ErrUnavailable)

		ctx, cancel := context.WithCancel(t.Context())
		_, err = s.source.Read(ctx, r, each(func(*row.Batch) error { cancel(); return nil }))
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.source.Read(ctx, r, each(func(*row.Batch) error { return nil }))
		require.ErrorIs(t, err, context.Canceled)
		require.Eventually(t, func() bool {
			return s.server.QueryValue(t, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'reader' AND info LIKE '%"+s.database+"%'") == "0"
		}, 10*time.Second, 10*time.Millisecond, "the server still works for a reader that has gone")

		rows, _, err := collect(t.Context(), s.source, r)
		require.NoError(t, err)
		require.Len(t, rows, 20000)
	})
}

// TestSlowCaller lets the caller be slower than the server's net_write_timeout would allow.
func TestSlowCaller(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, testenv.Start(t, f, testenv.Setting("net_write_timeout", "1")))
			r := readOf(t, s.numbers(t, "n", 20000))
			waited := false
			stats, err := s.source.Read(t.Context(), r, each(func(*row.Batch) error {
				if !waited {
					waited = true
					<-time.After(2500 * time.Millisecond) // the server's clock is what is waited for
				}
				return nil
			}))
			require.NoError(t, err)
			require.EqualValues(t, 20000, stats.Rows)
		})
	}
}

// TestConnectionCap reads with more goroutines than connections, and samples the server's list.
func TestConnectionCap(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		r := readOf(t, s.numbers(t, "n", 3000))
		s.exec(t, "CREATE USER IF NOT EXISTS 'capped'@'%' IDENTIFIED BY 'capped'", "GRANT SELECT ON *.* TO 'capped'@'%'")
		c := configOf(s.server, "a")
		c.User, c.Password, c.Connections = "capped", "capped", 2
		src := open(t, mysql.Options{BatchRows: 500}, c)
		var wait sync.WaitGroup
		errs := make([]error, 8)
		var mu sync.Mutex
		most := 0
		for i := range errs {
			wait.Go(func() {
				_, errs[i] = src.Read(t.Context(), r, each(func(*row.Batch) error {
					mu.Lock()
					defer mu.Unlock()
					n, err := strconv.Atoi(s.server.QueryValue(t, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'capped'"))
					most = max(most, n)
					return err
				}))
			})
		}
		wait.Wait()
		require.NoError(t, errors.Join(errs...))
		require.Equal(t, 2, most)
	})
}

// TestConnectionReused reads many times on one connection: it is not opened again, and no statement stays prepared. Then
// the server is restarted: the read after that takes a new connection.
func TestConnectionReused(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, testenv.Start(t, f))
			r := readOf(t, s.numbers(t, "n", 300))
			c := configOf(s.server, "a")
			c.Connections = 1
			src := open(t, mysql.Options{}, c)
			status := func(name string) string {
				return s.server.Query(t, "SHOW GLOBAL STATUS LIKE '"+name+"'")[0][1]
			}
			_, _, err := collect(t.Context(), src, r)
			require.NoError(t, err)
			before := status("Connections")
			for range 50 {
				_, stats, err := collect(t.Context(), src, r)
				require.NoError(t, err)
				require.EqualValues(t, 300, stats.Rows)
			}
			require.Equal(t, before, status("Connections"))
			require.Equal(t, "0", status("Prepared_stmt_count"))
			s.server.Restart(t)
			_, stats, err := collect(t.Context(), src, r)
			require.NoError(t, err)
			require.EqualValues(t, 300, stats.Rows)
		})
	}
}
