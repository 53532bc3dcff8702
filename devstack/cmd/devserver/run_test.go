package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/tributary-lake/tributary/devstack/demoshards"
)

// asServer makes the test binary behave as the program itself, for tests that have to kill it.
const asServer = "DEVSERVER_TEST_RUN_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// inProcess is a run in a goroutine of the test.
type inProcess struct {
	ready  ready
	stdin  *io.PipeWriter
	rest   <-chan string
	done   <-chan error
	cancel context.CancelFunc
}

func begin(t *testing.T, args ...string) *inProcess {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdinReader, stdin := io.Pipe()
	stdoutReader, stdout := io.Pipe()
	done, rest := make(chan error, 1), make(chan string, 1)
	var stderr bytes.Buffer
	go func() {
		err := run(ctx, args, stdinReader, stdout, &stderr)
		_ = stdout.Close()
		done <- err
	}()
	t.Cleanup(func() { cancel(); _ = stdin.Close() })
	out := bufio.NewReader(stdoutReader)
	line, err := out.ReadBytes('\n')
	if err != nil {
		require.NoError(t, errors.Join(err, <-done), stderr.String())
	}
	p := &inProcess{stdin: stdin, done: done, rest: rest, cancel: cancel}
	require.NoError(t, json.Unmarshal(line, &p.ready))
	go func() {
		b, _ := io.ReadAll(out)
		rest <- string(b)
	}()
	return p
}

func (p *inProcess) end(t *testing.T) {
	t.Helper()
	select {
	case err := <-p.done:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		require.Fail(t, "run did not return")
	}
	require.Empty(t, <-p.rest, "stdout has one line only")
}

func TestReadyLineSaysTheTruth(t *testing.T) {
	p := begin(t, "-port=0", "-ui-port=0", "-namespace=shop", "-demo-shards=0", "-search-attribute=Campaign=Keyword")
	require.True(t, p.ready.Ready)
	require.Equal(t, os.Getpid(), p.ready.PID)
	require.Equal(t, "shop", p.ready.Namespace)

	c, err := client.DialContext(t.Context(), client.Options{HostPort: p.ready.Address, Namespace: p.ready.Namespace})
	require.NoError(t, err)
	c.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.ready.UI, http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)

	require.Len(t, p.ready.Shards, 2)
	for _, s := range p.ready.Shards {
		dsn := fmt.Sprintf("%s:%s@tcp(%s)/", s.User, s.Password, net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
		rows, amount := countShard(t, dsn, s)
		require.Equal(t, s.Rows, rows)
		require.Equal(t, s.Amount, amount)
	}
	p.cancel()
	p.end(t)
}

// countShard adds up what the databases and tables of the ready line hold.
func countShard(t *testing.T, dsn string, s demoshards.Description) (rows int64, amount string) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	var cents int64
	for _, database := range s.Databases {
		for _, table := range s.Tables {
			var n, c int64
			q := fmt.Sprintf("SELECT COUNT(*), CAST(SUM(amount)*100 AS SIGNED) FROM `%s`.`%s`", database, table)
			require.NoError(t, db.QueryRowContext(t.Context(), q).Scan(&n, &c))
			rows += n
			cents += c
		}
	}
	return rows, fmt.Sprintf("%d.%02d", cents/100, cents%100)
}

func TestEndOfStdinEndsTheRun(t *testing.T) {
	p := begin(t, "-port=0", "-ui-port=-1", "-stdin-eof")
	require.Empty(t, p.ready.UI)
	require.Empty(t, p.ready.Shards)
	require.NoError(t, p.stdin.Close())
	p.end(t)
}

func TestTakenPortIsNamedWithItsFlag(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	free := map[string]int{"-port": 0, "-ui-port": 0, "-demo-shards": noShards}
	for name := range free {
		args := []string{fmt.Sprintf("%s=%d", name, port)}
		for other, value := range free {
			if other != name {
				args = append(args, fmt.Sprintf("%s=%d", other, value))
			}
		}
		var stdout, stderr bytes.Buffer
		err := run(t.Context(), args, nil, &stdout, &stderr)
		require.ErrorContains(t, err, fmt.Sprintf("port %d cannot be used", port))
		require.ErrorContains(t, err, "with "+name+" ")
		require.NotContains(t, err.Error(), "\n")
		require.Empty(t, stdout.String())
	}
}

func TestUsage(t *testing.T) {
	for args, message := range map[string]string{
		"-prot=1":                      "flag provided but not defined: -prot",
		"-port=x":                      "invalid value",
		"-search-attribute=Campaign":   "write it as NAME=TYPE",
		"-search-attribute=C=Keywords": "type of C",
		"-log-level=loud":              "invalid value",
		"now":                          "takes no arguments",
	} {
		var stdout, stderr bytes.Buffer
		require.ErrorIs(t, run(t.Context(), []string{args}, nil, &stdout, &stderr), errUsage, args)
		require.Contains(t, stderr.String(), message)
		require.Empty(t, stdout.String())
	}
	var stdout, stderr bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, nil, &stdout, &stderr), flag.ErrHelp)
	require.Contains(t, stderr.String(), "-demo-shards")
}

// A process killed while it makes the schema leaves half a database; the next start must not trust it.
func TestKilledInSchemaSetUp(t *testing.T) {
	dir := killInSetUp(t)
	p := begin(t, "-dir="+dir, "-port=0", "-ui-port=-1")
	c, err := client.DialContext(t.Context(), client.Options{HostPort: p.ready.Address})
	require.NoError(t, err)
	_, err = c.CheckHealth(t.Context(), &client.CheckHealthRequest{})
	require.NoError(t, err)
	c.Close()
	require.FileExists(t, filepath.Join(dir, "temporal.db.schema"))
	p.cancel()
	p.end(t)
}

// killInSetUp returns a state folder whose process was killed after it made the database file and before the marker.
// A kill that comes too late is tried again.
func killInSetUp(t *testing.T) string {
	t.Helper()
	for range 10 {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-dir="+dir, "-port=0", "-ui-port=-1")
		cmd.Env = append(os.Environ(), asServer+"=1")
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			info, err := os.Stat(filepath.Join(dir, "temporal.db-wal"))
			return err == nil && info.Size() > 0
		}, 30*time.Second, time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		_, err := os.Stat(filepath.Join(dir, "temporal.db.schema"))
		if errors.Is(err, os.ErrNotExist) {
			return dir
		}
	}
	require.Fail(t, "no kill came before the end of schema set-up")
	return ""
}
