package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// runPatience bounds one run, so that one that hangs ends the benchmark.
const runPatience = 15 * time.Minute

// product runs jobs with the starter.
type product struct {
	starter, temporal string
	ports             []int
	parallelism       int
	// dir takes warehouses and job files.
	dir string
}

// ran is what a run left.
type ran struct {
	cpu time.Duration // of the starter
	// inner is the run's own duration, from its summary.
	inner        time.Duration
	bytes, files int64
	splits       int
}

// run syncs a shape into a new table of a new warehouse, which is removed afterwards, and checks the summary.
func (p product) run(ctx context.Context, s shape, round int) (_ ran, err error) {
	dir := filepath.Join(p.dir, fmt.Sprintf("%s-%d", s.Name, round))
	if err := os.RemoveAll(dir); err != nil {
		return ran{}, err
	}
	warehouse := filepath.Join(dir, "warehouse")
	if err := os.MkdirAll(warehouse, 0o755); err != nil {
		return ran{}, err
	}
	file := filepath.Join(dir, "job.json") // YAML takes in JSON, and Go writes that
	data, err := json.Marshal(p.job(s, warehouse))
	if err != nil {
		return ran{}, err
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return ran{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, runPatience)
	defer cancel()
	cmd := exec.Command(p.starter, "run", "-f", file, "--wait", "--json", "--temporal-address", p.temporal)
	cmd.Env = environment()
	out, err := complete(ctx, cmd)
	if err != nil {
		return ran{}, err
	}
	r, err := checkSummary(out.stdout, s.Total())
	r.cpu = out.cpu
	return r, err
}

// clean removes a run's warehouse.
func (p product) clean(s shape, round int) error {
	return os.RemoveAll(filepath.Join(p.dir, fmt.Sprintf("%s-%d", s.Name, round)))
}

func (p product) job(s shape, warehouse string) map[string]any {
	var instances []any
	for i := range serverOf(s, s.Shards()-1) + 1 {
		instances = append(instances, map[string]any{
			"name": fmt.Sprintf("server%d", i+1), "host": "127.0.0.1", "port": p.ports[i], "user": account,
			"password": "${env:" + passwordVariable + "}", "databases": "shop_*", "tls": map[string]any{"mode": "disabled"},
		})
	}
	table := map[string]any{
		"name": s.Name, "match": s.Table(), "mode": "full-refresh",
		"provenance": false, // the floor has no such columns
		"target":     map[string]any{"database": "bench", "table": s.Name},
	}
	if s.Name == keyedName {
		table["primary_key"] = []string{"id"}
		table["target"].(map[string]any)["bucket"] = keyedBuckets
	}
	return map[string]any{
		"job":    "bench-" + s.Name,
		"source": map[string]any{"instances": instances},
		"tables": []any{table},
		"target": map[string]any{"warehouse": "file://" + warehouse},
		"run":    map[string]any{"parallelism": p.parallelism},
	}
}

// checkSummary reads the line that `starter run --json` ends with, and makes sure that every row was committed.
func checkSummary(stdout []byte, rows int64) (ran, error) {
	var s struct {
		Status  string  `json:"status"`
		Seconds float64 `json:"duration_seconds"`
		Tables  []struct {
			Status   string `json:"status"`
			Snapshot int64  `json:"snapshot"`
			Read     int64  `json:"rows_read"`
			Written  int64  `json:"rows_written"`
			Rejected int64  `json:"rows_rejected"`
			Bytes    int64  `json:"bytes_written"`
			Files    int64  `json:"files"`
			Splits   int    `json:"splits"`
			Error    string `json:"error"`
		} `json:"tables"`
	}
	if err := json.Unmarshal(stdout, &s); err != nil {
		return ran{}, fmt.Errorf("summary %q: %w", stdout, err)
	}
	if s.Status != "done" || len(s.Tables) != 1 {
		return ran{}, fmt.Errorf("the run is not done: %s", stdout)
	}
	t := s.Tables[0]
	switch {
	case t.Snapshot < 1:
		return ran{}, fmt.Errorf("nothing was committed: %s", stdout)
	case t.Read != rows || t.Written != rows || t.Rejected != 0:
		return ran{}, fmt.Errorf("%d rows read, %d written and %d rejected of %d", t.Read, t.Written, t.Rejected, rows)
	}
	inner := time.Duration(s.Seconds * float64(time.Second))
	return ran{inner: inner, bytes: t.Bytes, files: t.Files, splits: t.Splits}, nil
}

// recorded runs f while perf(1) samples a process, if dir says where to; docs/benchmarks.md says how to read the file.
func recorded(ctx context.Context, dir, name string, pid int, f func() (time.Duration, error)) (time.Duration, error) {
	if dir == "" {
		return f()
	}
	perf, err := need("perf", "apt-get install linux-perf")
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var g errgroup.Group
	file := filepath.Join(dir, name+".perf")
	cmd := exec.Command(perf, "record", "-F", "499", "-g", "-p", fmt.Sprint(pid), "-o", file)
	c, err := start(cmd)
	if err != nil {
		cancel()
		return 0, err
	}
	g.Go(func() error {
		<-ctx.Done()
		c.stop(os.Interrupt, patience) // it writes its file now
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("perf left nothing: %w", err)
		}
		return nil
	})
	used, err := f()
	cancel()
	return used, errors.Join(err, g.Wait())
}
