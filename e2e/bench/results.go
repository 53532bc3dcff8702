package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// What is measured.
const (
	floorName   = "floor"
	productName = "tributary"
)

// result is one measurement, a line of the results file. The names are a contract with files that were written before.
type result struct {
	At          time.Time `json:"at"`
	Version     string    `json:"version"`
	Machine     string    `json:"machine"`
	What        string    `json:"what"` // floor, tributary, or another tool's name
	Shape       string    `json:"shape"`
	Round       int       `json:"round"`
	Rows        int64     `json:"rows"`
	Parallelism int       `json:"parallelism"`
	Memory      string    `json:"memory,omitempty"`
	Seconds     float64   `json:"wall_s"`
	// Inner is the run's duration as its summary has it.
	Inner float64 `json:"run_s,omitempty"`
	Rate  float64 `json:"rows_per_s"`
	// Ratio is the rate over the floor's in the same round.
	Ratio float64 `json:"ratio_to_floor,omitempty"`
	// CPU is the clients' or the worker's, in seconds.
	CPU         float64 `json:"cpu_s"`
	CPUPerM     float64 `json:"cpu_s_per_million_rows"`
	StarterCPU  float64 `json:"starter_cpu_s,omitempty"`
	TemporalCPU float64 `json:"temporal_cpu_s,omitempty"`
	DatabaseCPU float64 `json:"database_cpu_s"`
	PeakMB      float64 `json:"peak_rss_mb,omitempty"` // of the worker or the other tool, in MiB
	Foreign     float64 `json:"foreign_cpu_share"`
	Bytes       int64   `json:"bytes_written,omitempty"`
	Files       int64   `json:"files,omitempty"`
	Splits      int     `json:"splits,omitempty"`
}

// fill computes what follows from a cost.
func (r *result) fill(c cost) {
	r.Seconds = c.Wall.Seconds()
	r.Rate = float64(r.Rows) / r.Seconds
	r.DatabaseCPU, r.Foreign = c.Databases.Seconds(), c.Foreign
	if r.CPU = c.Command.Seconds(); r.What == productName {
		r.CPU, r.StarterCPU, r.TemporalCPU = c.Worker.Seconds(), c.Command.Seconds(), c.Temporal.Seconds()
		r.PeakMB = float64(c.WorkerPeak) / (1 << 20)
	}
	r.CPUPerM = r.CPU / float64(r.Rows) * 1e6
}

// appendResults adds lines to a file, which it makes if need be.
func appendResults(path string, list []result) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := json.NewEncoder(f)
	for _, r := range list {
		if err := out.Encode(r); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}

// readResults reads a file of [appendResults].
func readResults(path string) ([]result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	var list []result
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		list = append(list, r)
	}
	return list, lines.Err()
}

// best is the best of each number in earlier results, each by itself; zero is none.
type best struct{ rate, ratio, cpuPerM, peakMB float64 }

// bestOf looks at the results of the same thing: the same rows and settings.
func bestOf(list []result, like result) best {
	var b best
	least := func(a, v float64) float64 {
		if a == 0 {
			return v
		}
		return min(a, v)
	}
	for _, r := range list {
		if r.What != like.What || r.Shape != like.Shape || r.Rows != like.Rows || r.Parallelism != like.Parallelism || r.Memory != like.Memory {
			continue
		}
		b.rate, b.ratio = max(b.rate, r.Rate), max(b.ratio, r.Ratio)
		b.cpuPerM, b.peakMB = least(b.cpuPerM, r.CPUPerM), least(b.peakMB, r.PeakMB)
	}
	return b
}
