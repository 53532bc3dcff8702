package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times in proc(5): USER_HZ is 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// cpuOf is the CPU time, user and system, of a process and of those of its children that it has waited for.
func cpuOf(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("CPU of process %d: %w", pid, err)
	}
	used, err := parseStat(data)
	if err != nil {
		return 0, fmt.Errorf("CPU of process %d: %w", pid, err)
	}
	return used, nil
}

// parseStat adds fields 14 to 17 of proc(5) stat: utime, stime, cutime, cstime.
func parseStat(data []byte) (time.Duration, error) {
	// The name in parentheses before may itself hold spaces and parentheses.
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return 0, fmt.Errorf("no process name in %q", data)
	}
	fields := strings.Fields(string(data[end+1:]))
	const first = 14 - 3 // the field after the name is number 3
	if len(fields) < first+4 {
		return 0, fmt.Errorf("%d fields after the name in %q", len(fields), data)
	}
	return ticks(fields[first : first+4])
}

// busyTime is the CPU time that all processes of the machine have used: of the line cpu of proc(5) stat all but idle,
// iowait, and what is counted in user already.
func busyTime() (time.Duration, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("CPU of the machine: %w", err)
	}
	return parseBusy(string(data))
}

func parseBusy(text string) (time.Duration, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 8 || fields[0] != "cpu" {
		return 0, fmt.Errorf("CPU of the machine: no line cpu in %q", line)
	}
	// cpu user nice system idle iowait irq softirq
	return ticks([]string{fields[1], fields[2], fields[3], fields[6], fields[7]})
}

func ticks(fields []string) (time.Duration, error) {
	var sum int64
	for _, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("clock ticks: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * clockTick, nil
}

// resetPeak makes the kernel count a process's peak memory from now on: see clear_refs in proc(5).
func resetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the peak memory of process %d: %w", pid, err)
	}
	return nil
}

// peakOf is the most bytes of memory that a process has had since [resetPeak].
func peakOf(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("peak memory of process %d: %w", pid, err)
	}
	return parsePeak(string(data))
}

// parsePeak reads VmHWM of proc(5) status, which is in KiB.
func parsePeak(text string) (int64, error) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, "VmHWM:")
		if !ok {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || unit != "kB" {
			return 0, fmt.Errorf("peak memory: %q is no number of kB", line)
		}
		return n << 10, nil
	}
	return 0, errors.New("peak memory: no VmHWM in the status: the process has ended")
}
