package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Reader reads tables through paimon-rust, which shares no code with Paimon's Java library.
type Reader struct{ dir string }

// RustReader is the reader, installed when the first test asks for it.
func RustReader(tb testing.TB) *Reader {
	tb.Helper()
	dir, err := installReader(context.WithoutCancel(tb.Context()))
	if err != nil {
		tb.Fatalf("testenv: reader: %v", err)
	}
	return &Reader{dir: dir}
}

// Read returns the table's rows as [JavaReferee.Read] does. Snapshot 0 is the latest. The warehouse is an absolute path.
func (r *Reader) Read(tb testing.TB, warehouse, table string, snapshot int64) []string {
	tb.Helper()
	out, err := r.command(tb.Context(), readerArgs("read", warehouse, table, snapshot)...).Output()
	if err != nil {
		tb.Fatalf("testenv: reader: read %s: %v%s", table, err, stderrOf(err))
	}
	return splitLines(out)
}

// ReadThrough is Read of the latest snapshot through a catalog with other options, such as one in S3. The warehouse, where the same
// table lies as files, gives the schema alone.
func (r *Reader) ReadThrough(tb testing.TB, options map[string]string, warehouse, table string) []string {
	tb.Helper()
	text, err := json.Marshal(options)
	if err != nil {
		tb.Fatalf("testenv: reader: %v", err)
	}
	cmd := r.command(tb.Context(), readerArgs("read", warehouse, table, 0)...)
	cmd.Env = append(os.Environ(), "PAIMON_CATALOG="+string(text))
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("testenv: reader: read %s through %s: %v%s", table, options["warehouse"], err, stderrOf(err))
	}
	return splitLines(out)
}

// Check compares the live data files with their manifest entries and their Parquet footers with the values in them,
// without any Paimon library. The error lists every difference.
func (r *Reader) Check(tb testing.TB, warehouse, table string, snapshot int64) error {
	tb.Helper()
	out, err := r.command(tb.Context(), readerArgs("check", warehouse, table, snapshot)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(out) > 0 {
		return fmt.Errorf("check %s: %s", table, strings.TrimSpace(string(out)))
	}
	if err != nil {
		return fmt.Errorf("check %s: %w%s", table, err, stderrOf(err))
	}
	return nil
}

func (r *Reader) command(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{filepath.Join(r.dir, "reader.py")}, args...)
	return exec.CommandContext(ctx, filepath.Join(r.dir, "venv", "bin", "python"), args...)
}

func readerArgs(verb, warehouse, table string, snapshot int64) []string {
	args := []string{verb, warehouse, table}
	if snapshot != 0 {
		args = append(args, strconv.FormatInt(snapshot, 10))
	}
	return args
}
