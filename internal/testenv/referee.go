package testenv

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// externalReferee names a variable with the command of another referee that takes `read WAREHOUSE DB.TABLE --sort
// [--snapshot N]` and prints the same canonical text; what the two read must be the same.
const externalReferee = "TRIBUTARY_REFEREE"

// JavaReferee answers for one release of Apache Paimon's own Java library, in one JVM that serves the whole test binary.
// Its methods may be called from several goroutines; they wait for each other.
type JavaReferee struct {
	release string
	mu      sync.Mutex
	proc    *process
	in      io.WriteCloser
	out     *bufio.Reader
	log     *os.File       // what the JVM says on stderr
	reads   map[string]int // by the second referee that could have been asked
}

// asks tells whether a second referee is asked about this read. It starts a JVM each time, which takes seconds of a processor, so
// from the fourth read of a test binary on it is asked about every fortieth.
func (r *JavaReferee) asks(second string) bool {
	if second == "" || r.release != DefaultRelease {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reads == nil {
		r.reads = map[string]int{}
	}
	n := r.reads[second]
	r.reads[second]++
	return n < 3 || n%40 == 0
}

// Release is the release of Paimon, such as 1.4.2.
func (r *JavaReferee) Release() string { return r.release }

// theReferees holds the JVMs of this test binary by release, which Go gives no other place to keep. The kernel ends them
// with the process.
var theReferees = &registry[string, *JavaReferee]{}

func startReferee(ctx context.Context, release string) (*JavaReferee, error) {
	classPath, err := installReferee(ctx, release)
	if err != nil {
		return nil, err
	}
	cmd := refereeCommand(ctx, release, classPath, "serve")
	r := &JavaReferee{release: release}
	if r.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	if r.log, err = os.CreateTemp("", "trb-referee-"); err != nil {
		return nil, err
	}
	// The open file is enough, and a name would stay behind.
	if err := os.Remove(r.log.Name()); err != nil {
		return nil, err
	}
	cmd.Stderr = r.log
	r.proc, err = startProcess(cmd, true)
	return r, err
}

// refereeCommand is the referee as a program. UTC, because Paimon's local-zone types read as the JVM's zone; a small
// compiler and collector, because it lives briefly; little memory for all but the default release, which alone reads
// large tables, so that all of them fit beside each other.
func refereeCommand(ctx context.Context, release, classPath string, args ...string) *exec.Cmd {
	heap := "-Xmx512m"
	if release == DefaultRelease {
		heap = "-Xmx2g"
	}
	java := []string{
		heap, "-Xms16m", "-XX:MinHeapFreeRatio=10", "-XX:MaxHeapFreeRatio=30", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Duser.timezone=UTC", "-Dfile.encoding=UTF-8", "-Dreferee.release=" + release,
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		"--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
		"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "-cp", classPath, "tributary.referee.Referee",
	}
	return exec.CommandContext(ctx, "java", append(java, args...)...)
}

// Read returns the table's rows as JSON lines of canonical text, sorted by their bytes (e2e/referee/README.md).
// Snapshot 0 is the latest. When TRIBUTARY_REFEREE names a second referee, the test fails unless it reads the same
// (it is asked about the first three reads of a test binary, then about every fortieth).
func (r *JavaReferee) Read(tb testing.TB, warehouse, table string, snapshot int64) []string {
	tb.Helper()
	rows := splitLines(r.do(tb, tableArgs("read", warehouse, table, snapshot)...))
	if command := os.Getenv(externalReferee); r.asks(command) {
		args := append(tableArgs("read", warehouse, table, snapshot), "--sort")
		out, err := exec.CommandContext(tb.Context(), command, args...).Output()
		if err != nil {
			tb.Fatalf("testenv: %s=%s: %v%s", externalReferee, command, err, stderrOf(err))
		}
		if d := difference(rows, splitLines(out)); d != "" {
			tb.Errorf("testenv: the referee and %s read %s differently: %s", command, table, d)
		}
	}
	return rows
}

// RowCount is the number of rows of a table, and a checksum over them that their order does not change.
type RowCount struct {
	Rows     int64  `json:"rows"`
	Checksum string `json:"checksum"`
}

// Count counts the rows; snapshot 0 is the latest.
func (r *JavaReferee) Count(tb testing.TB, warehouse, table string, snapshot int64) RowCount {
	tb.Helper()
	var out RowCount
	decode(tb, r.do(tb, tableArgs("count", warehouse, table, snapshot)...), &out)
	return out
}

// Describe tells what the metadata says; live files and statistics are those of the snapshot, 0 for the latest.
func (r *JavaReferee) Describe(tb testing.TB, warehouse, table string, snapshot int64) Description {
	tb.Helper()
	var out Description
	decode(tb, r.do(tb, tableArgs("describe", warehouse, table, snapshot)...), &out)
	return out
}

// do runs a command and returns what it printed.
func (r *JavaReferee) do(tb testing.TB, args ...string) []byte {
	tb.Helper()
	out, err := r.try(tb.TempDir(), args...)
	if err != nil {
		tb.Fatalf("testenv: referee %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// try runs a command with a file in scratch as its output.
func (r *JavaReferee) try(scratch string, args ...string) ([]byte, error) {
	out := filepath.Join(scratch, "answer")
	request, err := json.Marshal(map[string]any{"args": args, "out": out})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.in.Write(append(request, '\n')); err != nil {
		return nil, r.died(err)
	}
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		return nil, r.died(err)
	}
	var answer struct{ Error string }
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, fmt.Errorf("answer %q: %w", line, err)
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return os.ReadFile(out)
}

func (r *JavaReferee) died(err error) error {
	log, _ := io.ReadAll(io.NewSectionReader(r.log, 0, 1<<20)) // an extra to an error that stands by itself
	return fmt.Errorf("the JVM does not answer: %w\n%s", err, lastLines(string(log), 30))
}

// Description is a table as its metadata tells it.
type Description struct {
	// Schemas are the schema files, oldest first.
	Schemas []json.RawMessage `json:"schemas"`
	// BucketMode is Paimon's name, such as BUCKET_UNAWARE.
	BucketMode string           `json:"bucketMode"`
	Snapshots  []Snapshot       `json:"snapshots"`
	Tags       map[string]int64 `json:"tags"`
	Files      []DataFile       `json:"files"`
	IndexFiles []IndexFile      `json:"indexFiles"`
}

// Snapshot is what tests look at in a snapshot file.
type Snapshot struct {
	ID               int64  `json:"id"`
	SchemaID         int64  `json:"schemaId"`
	CommitUser       string `json:"commitUser"`
	CommitIdentifier int64  `json:"commitIdentifier"`
	CommitKind       string `json:"commitKind"`
	TimeMillis       int64  `json:"timeMillis"`
	// ChangelogRecordCount is nil where Paimon leaves it out.
	ChangelogRecordCount *int64            `json:"changelogRecordCount"`
	TotalRecordCount     int64             `json:"totalRecordCount"`
	DeltaRecordCount     int64             `json:"deltaRecordCount"`
	Watermark            *int64            `json:"watermark"`
	Properties           map[string]string `json:"properties"`
}

// DataFile is a live data file. Values are canonical text, nil for NULL.
type DataFile struct {
	Partition map[string]*string `json:"partition"`
	// PartitionPath is the directory below the table, such as day=2024-02-29/; empty without partitions.
	PartitionPath string `json:"partitionPath"`
	Bucket        int    `json:"bucket"`
	TotalBuckets  int    `json:"totalBuckets"`
	Name          string `json:"name"`
	Size          int64  `json:"size"`
	Rows          int64  `json:"rows"`
	Level         int    `json:"level"`
	SchemaID      int64  `json:"schemaId"`
	MinSequence   int64  `json:"minSequence"`
	MaxSequence   int64  `json:"maxSequence"`
	// DeleteRows is nil where the writer did not count.
	DeleteRows *int64 `json:"deleteRows"`
	// MinKey and MaxKey have the columns of the primary key that are no partition's; nil for tables without one.
	MinKey map[string]*string     `json:"minKey"`
	MaxKey map[string]*string     `json:"maxKey"`
	Stats  map[string]ColumnStats `json:"stats"`
}

// IndexFile is an entry of the snapshot's index manifest.
type IndexFile struct {
	Partition map[string]*string `json:"partition"`
	Bucket    int                `json:"bucket"`
	// File has Paimon's fields of IndexFileMeta by name, values as canonical text.
	File map[string]any `json:"file"`
}

// ColumnStats are the statistics of one column in the manifest; nil means that there is none. The text of nested
// types is their JSON.
type ColumnStats struct {
	Min   *string `json:"min"`
	Max   *string `json:"max"`
	Nulls *int64  `json:"nulls"`
}

func tableArgs(command, warehouse, table string, snapshot int64) []string {
	args := []string{command, warehouse, table}
	if snapshot != 0 {
		args = append(args, "--snapshot", strconv.FormatInt(snapshot, 10))
	}
	return args
}

func decode(tb testing.TB, data []byte, to any) {
	tb.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		tb.Fatalf("testenv: referee's answer %.500s: %v", data, err)
	}
}

func splitLines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// difference tells where two lists first differ, or nothing.
func difference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("row %d:\n%s\n%s", i, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d rows", len(a), len(b))
	}
	return ""
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "\n" + lastLines(string(exit.Stderr), 30)
	}
	return ""
}
