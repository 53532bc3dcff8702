package main

import (
	"bytes"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func runCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestStartAndStop(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	require.NoError(t, l.Close())
	dir := t.TempDir()

	out, err := runCommand(t, "start", "mariadb", dir, port, "--set", "max_connections=9")
	require.NoError(t, err)
	require.Contains(t, out, "runs on 127.0.0.1:"+port)
	out, err = runCommand(t, "stop", dir)
	require.NoError(t, err)
	require.Contains(t, out, "stopped")
	_, err = runCommand(t, "stop", dir)
	require.ErrorContains(t, err, "no server runs in "+dir)
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	_, err := runCommand(t, "install", "oracle")
	require.ErrorContains(t, err, "oracle")
	_, err = runCommand(t, "start", "oracle", t.TempDir(), "1")
	require.ErrorContains(t, err, "it is one of [mariadb mysql57 mysql80]")
	_, err = runCommand(t, "start", "mariadb", t.TempDir(), "http")
	require.ErrorContains(t, err, "from 1 to 65535")
}
