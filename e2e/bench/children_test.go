//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCompleteReportsWhatTheCommandSaid(t *testing.T) {
	out, err := complete(t.Context(), exec.Command("sh", "-c", "echo fine"))
	require.NoError(t, err)
	require.Equal(t, "fine\n", string(out.stdout))

	_, err = complete(t.Context(), exec.Command("sh", "-c", "echo why >&2; exit 3"))
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "why")
}

// The kernel's account of a waited child is the truth for the CPU time of a command.
func TestCompleteCountsTheCommandsCPU(t *testing.T) {
	var before, after syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &before))
	out, err := complete(t.Context(), exec.Command("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"))
	require.NoError(t, err)
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &after))
	used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	require.Positive(t, used)
	require.InDelta(t, time.Duration(used).Seconds(), out.cpu.Seconds(), 0.02)
}

func TestInterruptEndsTheChild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, err := start(exec.Command("sleep", "600"))
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, c.wait(ctx), context.Canceled)
	require.ErrorIs(t, syscall.Kill(c.pid(), 0), syscall.ESRCH, "the process is gone")
}

func TestStopInsists(t *testing.T) {
	c, line, err := startLogged(t.Context(), exec.Command("sh", "-c", `trap "" TERM; echo ready; while :; do sleep 1; done`), filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	require.Equal(t, "ready", line)
	c.stop(syscall.SIGTERM, 50*time.Millisecond)
	require.ErrorIs(t, syscall.Kill(c.pid(), 0), syscall.ESRCH)
}

func TestStartLoggedShowsTheLogOfAProgramThatEnds(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	_, _, err := startLogged(t.Context(), exec.Command("sh", "-c", "echo no such server >&2; exit 1"), log)
	require.ErrorContains(t, err, "ended before it was ready")
	require.ErrorContains(t, err, "no such server")
	require.FileExists(t, log)
}

func TestMissingToolNamesTheRemedy(t *testing.T) {
	_, err := need("no-such-program-here", "apt-get install it")
	require.EqualError(t, err, "no-such-program-here is not on the PATH: apt-get install it")
	path, err := need("sh", "")
	require.NoError(t, err)
	_, err = os.Stat(path)
	require.NoError(t, err)
}

func TestOneBenchmarkAtATime(t *testing.T) {
	home := t.TempDir()
	var first, second sitting
	require.NoError(t, first.take(home))
	left := filepath.Join(first.dir, "left")
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	require.ErrorContains(t, second.take(home), "another benchmark runs")
	require.FileExists(t, left, "the other's files are not touched")
	require.NoError(t, second.close())
	require.FileExists(t, left)
	require.NoError(t, first.close())
	require.NoDirExists(t, first.dir)
	require.NoError(t, second.take(home))
	require.NoError(t, second.close())
}
