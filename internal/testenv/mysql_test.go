package testenv_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

func TestServerStartsAnswersRestartsAndIsGone(t *testing.T) {
	wantVersion := map[testenv.Flavor]string{
		testenv.FlavorMariaDB: "10.11.",
		testenv.FlavorMySQL57: "5.7.29",
		testenv.FlavorMySQL80: "8.0.15",
	}
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			var m *testenv.MySQL
			lived := t.Run("life", func(t *testing.T) {
				m = testenv.Start(t, f)
				require.True(t, strings.HasPrefix(m.Version(), wantVersion[f]), m.Version())
				require.Less(t, len(m.Socket()), 108)
				m.Exec(t, "CREATE DATABASE kept; USE kept; CREATE TABLE a (i INT PRIMARY KEY, s VARCHAR(9))",
					"INSERT INTO a VALUES (1, 'x'), (2, NULL)")
				m.Restart(t)
				m.Kill()
				require.False(t, m.Running())
				m.Restart(t)
				require.Equal(t, [][]string{{"1", "x"}, {"2", "NULL"}}, m.Query(t, "SELECT * FROM kept.a ORDER BY i"))
				require.Equal(t, strconv.Itoa(m.Port()), m.QueryValue(t, "SELECT @@server_id"))
			})
			require.True(t, lived)
			requireGone(t, m.PID())
			require.NoDirExists(t, m.Dir())
			_, err := net.Dial("tcp", m.Addr())
			require.Error(t, err)
		})
	}
}

func TestAccountsAndReplicationSettings(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			m := testenv.Shared(t, f)
			require.Same(t, m, testenv.Shared(t, f))
			name := m.NewDatabase(t)
			m.Exec(t, "CREATE TABLE "+name+".a (i INT)", "INSERT INTO "+name+".a VALUES (7)")

			reader := m.Open(t, "reader", name)
			var i int
			require.NoError(t, reader.QueryRowContext(t.Context(), "SELECT i FROM a").Scan(&i))
			require.Equal(t, 7, i)
			_, err := reader.ExecContext(t.Context(), "INSERT INTO a VALUES (8)")
			require.ErrorContains(t, err, "denied")
			rows, err := reader.QueryContext(t.Context(), "SHOW MASTER STATUS")
			require.NoError(t, err)
			require.NoError(t, rows.Err())
			require.NoError(t, rows.Close())

			require.Equal(t, [][]string{{"ROW", "FULL", "1", "0"}},
				m.Query(t, "SELECT @@binlog_format, @@binlog_row_image, @@log_bin, @@performance_schema"))
			gtid := "@@gtid_mode"
			if f == testenv.FlavorMariaDB {
				gtid = "IF(@@gtid_strict_mode AND @@gtid_binlog_pos LIKE '0-%', 'ON', 'OFF')"
			}
			require.Equal(t, "ON", m.QueryValue(t, "SELECT "+gtid))
		})
	}
}

func TestOptionsReachTheServer(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			m := testenv.Start(t, f, testenv.TimeZone("+05:30"), testenv.MaxConnections(33),
				testenv.BufferPool("128M"), testenv.Setting("wait_timeout", "77"))
			require.Equal(t, [][]string{{"+05:30", "33", strconv.Itoa(128 << 20), "77"}},
				m.Query(t, "SELECT @@time_zone, @@max_connections, @@innodb_buffer_pool_size, @@global.wait_timeout"))
		})
	}
}

func TestTwoServersAtOnceAreApart(t *testing.T) {
	a, b := testenv.MariaDB(t), testenv.MariaDB(t)
	require.NotEqual(t, a.Port(), b.Port())
	a.Exec(t, "CREATE DATABASE only_a")
	require.Empty(t, b.Query(t, "SHOW DATABASES LIKE 'only_a'"))

	// Servers with one UUID refuse to replicate from each other.
	c, d := testenv.MySQL80(t), testenv.MySQL80(t)
	require.NotEqual(t, c.QueryValue(t, "SELECT @@server_uuid"), d.QueryValue(t, "SELECT @@server_uuid"))
}

func TestWrongSettingSaysWhatTheServerSaid(t *testing.T) {
	_, err := testenv.StartServer(t.Context(), testenv.FlavorMariaDB, testenv.Setting("no_such_setting", "1"))
	require.ErrorContains(t, err, "no_such_setting=1")
}

func TestPortInUseIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = testenv.StartServer(t.Context(), testenv.FlavorMariaDB, testenv.OnPort(l.Addr().(*net.TCPAddr).Port))
	require.ErrorContains(t, err, "Address already in use")
}

func TestDetachedServerIsFoundAgainAndStopped(t *testing.T) {
	dir := t.TempDir()
	m, err := testenv.StartServer(t.Context(), testenv.FlavorMariaDB, testenv.InDir(dir), testenv.Detached())
	require.NoError(t, err)
	m.Exec(t, "CREATE DATABASE stays")
	require.NoError(t, m.Close())
	require.True(t, m.Running())
	_, err = testenv.StartServer(t.Context(), testenv.FlavorMariaDB, testenv.InDir(dir))
	require.ErrorContains(t, err, "in use by the server")

	pid, err := testenv.StopDetached(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, m.PID(), pid)
	pid, err = testenv.StopDetached(t.Context(), dir)
	require.NoError(t, err)
	require.Zero(t, pid)

	again := testenv.MariaDB(t, testenv.InDir(dir))
	require.Equal(t, [][]string{{"stays"}}, again.Query(t, "SHOW DATABASES LIKE 'stays'"))
}

// childMark tells this test binary that it is the child of TestServerDiesWithAKilledProcess.
const childMark = "TESTENV_CHILD"

func TestServerDiesWithAKilledProcess(t *testing.T) {
	if os.Getenv(childMark) != "" {
		m, err := testenv.StartServer(t.Context(), testenv.FlavorMariaDB)
		require.NoError(t, err)
		fmt.Printf("child %d %s\n", m.PID(), m.Dir())
		select {} // until it is killed
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), childMark+"=1")
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var pid int
	var dir string
	_, err = fmt.Fscanf(out, "child %d %s\n", &pid, &dir)
	require.NoError(t, err)
	require.DirExists(t, dir)
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())

	requireGone(t, pid)
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	}, 20*time.Second, 50*time.Millisecond, "%s was not removed", dir)
}

func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return errors.Is(err, os.ErrNotExist) || strings.Contains(string(stat), ") Z ")
	}, 20*time.Second, 50*time.Millisecond, "process %d lives on", pid)
}

func TestInterruptedStartLeavesNothing(t *testing.T) {
	require.NoError(t, testenv.Install(t.Context(), "mariadb"))
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := testenv.StartServer(ctx, testenv.FlavorMariaDB)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}
