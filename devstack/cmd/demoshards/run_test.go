package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

// begin runs in a goroutine of the test and returns the ready line.
func begin(ctx context.Context, t *testing.T, stdin io.Reader, args ...string) (line ready, done <-chan error) {
	t.Helper()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, stdin, stdout, io.Discard)
		_ = stdout.CloseWithError(err) // a reader sees why there is no line
		ended <- err
	}()
	b, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &line))
	return line, ended
}

func TestReadyLineSaysTheTruth(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	line, done := begin(ctx, t, nil)
	require.True(t, line.Ready)
	require.Len(t, line.Shards, 2)
	for _, s := range line.Shards {
		db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s)/", s.User, s.Password, net.JoinHostPort(s.Host, strconv.Itoa(s.Port))))
		require.NoError(t, err)
		var rows, cents int64
		for _, database := range s.Databases {
			for _, table := range s.Tables {
				var n, c int64
				q := fmt.Sprintf("SELECT COUNT(*), CAST(SUM(amount)*100 AS SIGNED) FROM `%s`.`%s`", database, table)
				require.NoError(t, db.QueryRowContext(t.Context(), q).Scan(&n, &c))
				rows += n
				cents += c
			}
		}
		require.NoError(t, db.Close())
		require.Equal(t, s.Rows, rows)
		require.Equal(t, s.Amount, fmt.Sprintf("%d.%02d", cents/100, cents%100))
	}
	cancel()
	require.NoError(t, <-done)
}

func TestEndOfStdinEndsTheRun(t *testing.T) {
	stdin, parent := io.Pipe()
	_, done := begin(t.Context(), t, stdin, "-stdin-eof")
	require.NoError(t, parent.Close())
	require.NoError(t, <-done)
}

func TestTakenPort(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	err = run(t.Context(), []string{fmt.Sprintf("-port=%d", port)}, nil, io.Discard, io.Discard)
	require.ErrorContains(t, err, fmt.Sprintf("port %d cannot be used", port))
	require.ErrorContains(t, err, "with -port ")
}

func TestUsage(t *testing.T) {
	for args, message := range map[string]string{"-prot=1": "not defined: -prot", "now": "takes no arguments"} {
		var stderr bytes.Buffer
		require.ErrorIs(t, run(t.Context(), []string{args}, nil, io.Discard, &stderr), errUsage)
		require.Contains(t, stderr.String(), message)
	}
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, nil, io.Discard, io.Discard), flag.ErrHelp)
}
