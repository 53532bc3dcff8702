package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// javaName is Paimon's own writer in one thread, which makes the same rows by itself, into a table as that of keyed.
const javaName = "paimon-java"

// javaRun measures the writer without the start of its JVM and after it has warmed up: what the writer says of itself. CPU and peak
// memory are those of the whole process.
func (b *sitting) javaRun(ctx context.Context, s shape, round int) (_ result, err error) {
	r := b.result(javaName, s, round)
	dir := filepath.Join(b.dir, fmt.Sprintf("%s-%d", javaName, round))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	spec, err := json.Marshal(testenv.TableSpec{
		Fields: []testenv.FieldSpec{
			{Name: "id", Type: "BIGINT NOT NULL"},
			{Name: "user_id", Type: "INT NOT NULL"},
			{Name: "amount", Type: "DECIMAL(12, 2) NOT NULL"},
			{Name: "status", Type: "STRING NOT NULL"},
			{Name: "created_at", Type: "TIMESTAMP(0) NOT NULL"},
		},
		PartitionKeys: []string{}, PrimaryKeys: []string{"id"},
		// The writer of a full load compacts nothing; Parquet and zstd's level as the product writes them.
		Options: map[string]string{"bucket": fmt.Sprint(keyedBuckets), "write-only": "true", "file.compression.zstd-level": "1"},
	})
	if err != nil {
		return r, err
	}
	schema, warehouse := filepath.Join(dir, "schema.json"), filepath.Join(dir, "warehouse")
	if err := os.WriteFile(schema, spec, 0o600); err != nil {
		return r, err
	}
	if _, _, err := askPaimon(ctx, "create", warehouse, "bench.keyed", schema); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, runPatience)
	defer cancel()
	var out output
	c, err := b.meter.measure(func() (_ time.Duration, err error) {
		out, r.PeakMB, err = askPaimon(ctx, "bench-write", warehouse, "bench.keyed", fmt.Sprint(r.Rows))
		return out.cpu, err
	})
	if err != nil {
		return r, err
	}
	var told struct {
		Rows    int64
		Seconds float64
	}
	if err := json.Unmarshal(out.stdout, &told); err != nil || told.Rows != r.Rows || told.Seconds <= 0 {
		return r, fmt.Errorf("the writer says %q of %d rows: %w", out.stdout, r.Rows, err)
	}
	r.fill(c)
	r.Seconds, r.Rate = told.Seconds, float64(r.Rows)/told.Seconds
	return r, nil
}

// askPaimon runs the referee as a program, with the compiler and the collector that a JVM has by itself: the tests' are small ones. It
// also tells the most memory that it had, in MiB.
func askPaimon(ctx context.Context, args ...string) (output, float64, error) {
	cmd, err := testenv.JudgeCommand(ctx, testenv.Judges()[0], args...)
	if err != nil {
		return output{}, 0, err
	}
	cmd.Args = slices.DeleteFunc(cmd.Args, func(arg string) bool { return strings.HasPrefix(arg, "-XX:") })
	out, err := complete(ctx, cmd)
	if err != nil {
		return output{}, 0, fmt.Errorf("%s: %w", javaName, err)
	}
	// Maxrss of Linux is in KiB.
	return out, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024, nil
}
