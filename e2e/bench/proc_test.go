//go:build linux

package main

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseStatTakesUserSystemAndChildren(t *testing.T) {
	// Fields 14 to 17 are 100, 20, 3 and 4 ticks of 1/100 s. The name is one that a process may give itself.
	line := "42 (a) S (b c) R 1 42 42 0 -1 4194304 11 12 13 14 100 20 3 4 20 0 9 0 5000 6 7\n"
	used, err := parseStat([]byte(line))
	require.NoError(t, err)
	require.Equal(t, 1270*time.Millisecond, used)

	for _, bad := range []string{"", "42 worker R 1", "42 (worker) R 1 2 3", "42 (w) R 1 42 42 0 -1 4194304 11 12 13 14 x 20 3 4"} {
		_, err := parseStat([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestParseBusyLeavesIdleAndGuestOut(t *testing.T) {
	// cpu user nice system idle iowait irq softirq steal guest guest_nice; guest is in user already.
	used, err := parseBusy("cpu  100 10 50 99999 88888 2 3 7 40 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	require.NoError(t, err)
	require.Equal(t, 1650*time.Millisecond, used)
	for _, bad := range []string{"", "cpu0 1 2 3 4 5 6 7 8 9 10", "cpu 1 2 3", "cpu a b c d e f g h"} {
		_, err := parseBusy(bad)
		require.Error(t, err, bad)
	}
}

func TestParsePeak(t *testing.T) {
	peak, err := parsePeak("Name:\tworker\nVmPeak:\t 9 kB\nVmHWM:\t  2048 kB\nVmRSS:\t 1 kB\n")
	require.NoError(t, err)
	require.EqualValues(t, 2<<20, peak)
	for _, bad := range []string{"", "VmRSS: 1 kB\n", "VmHWM: many kB\n", "VmHWM: 12 MB\n"} {
		_, err := parsePeak(bad)
		require.Error(t, err, bad)
	}
}

// The kernel counts CPU time for getrusage(2) and for proc(5) alike.
func TestCPUAgreesWithGetrusage(t *testing.T) {
	for began := time.Now(); time.Since(began) < 100*time.Millisecond; {
		runtime.Gosched()
	}
	used, err := cpuOf(os.Getpid())
	require.NoError(t, err)
	var own, children syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children))
	sum := func(r syscall.Rusage) time.Duration { return time.Duration(r.Utime.Nano() + r.Stime.Nano()) }
	require.InDelta(t, (sum(own) + sum(children)).Seconds(), used.Seconds(), 0.1)
}

// Memory that is touched and given back shows in the peak, until the peak is reset.
func TestPeakSeesMemoryThatIsGoneAgain(t *testing.T) {
	pid := os.Getpid()
	require.NoError(t, resetPeak(pid))
	before, err := peakOf(pid)
	require.NoError(t, err)

	const size = 64 << 20
	block, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	for i := 0; i < size; i += os.Getpagesize() {
		block[i] = 1
	}
	require.NoError(t, syscall.Munmap(block))

	peak, err := peakOf(pid)
	require.NoError(t, err)
	require.GreaterOrEqual(t, peak-before, int64(size-(4<<20)))
	require.NoError(t, resetPeak(pid))
	after, err := peakOf(pid)
	require.NoError(t, err)
	require.Less(t, after, peak-size/2)
}

func TestUnknownProcess(t *testing.T) {
	_, err := cpuOf(1 << 30)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = peakOf(1 << 30)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorIs(t, resetPeak(1<<30), os.ErrNotExist)
}
