package testenv

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TableSpec is a table to create. Types are written as in Paimon's schema files, such as INT NOT NULL.
type TableSpec struct {
	Fields        []FieldSpec       `json:"fields"`
	PartitionKeys []string          `json:"partitionKeys"`
	PrimaryKeys   []string          `json:"primaryKeys"`
	Options       map[string]string `json:"options"`
}

// FieldSpec is a column of a [TableSpec].
type FieldSpec struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Create has Paimon make a table, and its database if there is none.
func (r *JavaReferee) Create(tb testing.TB, warehouse, table string, spec TableSpec) {
	tb.Helper()
	r.do(tb, "create", warehouse, table, jsonFile(tb, spec))
}

// SchemaChange is one step of Alter; exactly one of Add, Drop, Rename, Retype and Set names a column or an option.
type SchemaChange struct {
	Add    string `json:"add,omitempty"`
	Drop   string `json:"drop,omitempty"`
	Rename string `json:"rename,omitempty"`
	Retype string `json:"retype,omitempty"`
	Set    string `json:"set,omitempty"`
	// Type is the column's for Add and Retype.
	Type string `json:"type,omitempty"`
	// To is the new name for Rename, the value for Set.
	To string `json:"to,omitempty"`
}

// Alter has Paimon write the table's next schema.
func (r *JavaReferee) Alter(tb testing.TB, warehouse, table string, changes ...SchemaChange) {
	tb.Helper()
	r.do(tb, "alter", warehouse, table, jsonFile(tb, changes))
}

// Row is a row to write: canonical text by column, nil or no entry for NULL, and under _kind one of +I, -U, +U and -D;
// +I when there is none.
type Row map[string]any

// ProduceOptions say how [JavaReferee.Produce] writes.
type ProduceOptions struct {
	// Overwrite looks at nothing that the table holds, as a writer for an overwrite does.
	Overwrite bool
	// Compact compacts every bucket written to, in the same messages.
	Compact bool
}

// Produce has Paimon's BatchTableWrite write rows and returns a file of its commit messages, in the release's version of
// the serializer. Nothing is committed.
func (r *JavaReferee) Produce(tb testing.TB, warehouse, table string, o ProduceOptions, rows ...Row) string {
	tb.Helper()
	dir := tb.TempDir()
	var lines []byte
	for _, row := range rows {
		line, err := json.Marshal(row)
		if err != nil {
			tb.Fatalf("testenv: row %v: %v", row, err)
		}
		lines = append(append(lines, line...), '\n')
	}
	from, to := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "messages")
	if err := os.WriteFile(from, lines, 0o600); err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	args := []string{"produce-messages", warehouse, table, from, to}
	if o.Overwrite {
		args = append(args, "--overwrite")
	}
	if o.Compact {
		args = append(args, "--compact")
	}
	r.do(tb, args...)
	return to
}

// CommitOptions say how [JavaReferee.CommitAs] commits; the zero value appends.
type CommitOptions struct {
	// Overwrite replaces the whole table, or what Dynamic says.
	Overwrite bool
	// Static replaces one partition, such as "day=2024-01-01,region=eu", with values as Paimon's partition specs have them.
	Static string
	// Dynamic sets dynamic-partition-overwrite to "true" or "false"; empty leaves it to the table.
	Dynamic string
	// Filter commits only if the user has not committed the identifier before.
	Filter bool
}

// Commit has Paimon commit the messages of Tributary's message files as one snapshot of that user and identifier, and
// returns the table's latest snapshot. An error is what the referee objects to, with Java's stack trace.
func (r *JavaReferee) Commit(tb testing.TB, warehouse, table, user string, identifier int64, files ...string) (Snapshot, error) {
	tb.Helper()
	s, _, err := r.CommitAs(tb, warehouse, table, user, identifier, CommitOptions{}, files...)
	return s, err
}

// CommitAs is [JavaReferee.Commit] by another rule. It also tells whether anything was committed, which with Filter may
// be false.
func (r *JavaReferee) CommitAs(
	tb testing.TB, warehouse, table, user string, identifier int64, o CommitOptions, files ...string,
) (latest Snapshot, committed bool, err error) {
	tb.Helper()
	args := append([]string{"commit", warehouse, table, user, strconv.FormatInt(identifier, 10)}, files...)
	if o.Overwrite {
		args = append(args, "--overwrite")
	}
	if o.Static != "" {
		args = append(args, "--static", o.Static)
	}
	if o.Dynamic != "" {
		args = append(args, "--dynamic", o.Dynamic)
	}
	if o.Filter {
		args = append(args, "--filter")
	}
	answer, err := r.try(tb.TempDir(), args...)
	if err != nil {
		return Snapshot{}, false, err
	}
	var out struct {
		Committed *int
		Snapshot  Snapshot
	}
	decode(tb, answer, &out)
	return out.Snapshot, out.Committed == nil || *out.Committed > 0, nil
}

// Write produces messages and commits them as one snapshot of the user.
func (r *JavaReferee) Write(tb testing.TB, warehouse, table, user string, identifier int64, rows ...Row) Snapshot {
	tb.Helper()
	s, err := r.Commit(tb, warehouse, table, user, identifier, r.Produce(tb, warehouse, table, ProduceOptions{}, rows...))
	if err != nil {
		tb.Fatalf("testenv: referee commits to %s: %v", table, err)
	}
	return s
}

// Abort has Paimon delete the files that the messages name.
func (r *JavaReferee) Abort(tb testing.TB, warehouse, table string, files ...string) {
	tb.Helper()
	r.do(tb, append([]string{"abort", warehouse, table}, files...)...)
}

// Compact compacts every bucket fully, or puts the files of each partition of a table without buckets together, and commits
// that as the user referee. It returns the number of messages committed.
func (r *JavaReferee) Compact(tb testing.TB, warehouse, table string) int {
	tb.Helper()
	var out struct{ Messages int }
	decode(tb, r.do(tb, "compact", warehouse, table), &out)
	return out.Messages
}

// CompactionMessages compacts as Compact does and commits nothing: it returns a file of the messages.
func (r *JavaReferee) CompactionMessages(tb testing.TB, warehouse, table string) string {
	tb.Helper()
	to := filepath.Join(tb.TempDir(), "messages")
	r.do(tb, "compact", warehouse, table, "--to", to)
	return to
}

// Expire removes all but the newest snapshots, whatever their age, and returns how many went.
func (r *JavaReferee) Expire(tb testing.TB, warehouse, table string, keep int) int {
	tb.Helper()
	var out struct{ Expired int }
	decode(tb, r.do(tb, "expire", warehouse, table, strconv.Itoa(keep)), &out)
	return out.Expired
}

// CleanOrphans has Paimon delete the files older than that many seconds which nothing names, and returns their addresses.
func (r *JavaReferee) CleanOrphans(tb testing.TB, warehouse, table string, seconds int) []string {
	tb.Helper()
	return splitLines(r.do(tb, "orphan-clean", warehouse, table, strconv.Itoa(seconds)))
}

// Tag makes a tag of a snapshot, 0 for the latest.
func (r *JavaReferee) Tag(tb testing.TB, warehouse, table, name string, snapshot int64) {
	tb.Helper()
	args := []string{"tag", warehouse, table, name}
	if snapshot != 0 {
		args = append(args, strconv.FormatInt(snapshot, 10))
	}
	r.do(tb, args...)
}

// Untag deletes a tag.
func (r *JavaReferee) Untag(tb testing.TB, warehouse, table, name string) {
	tb.Helper()
	r.do(tb, "untag", warehouse, table, name)
}

// SerializerVersion is what the release's CommitMessageSerializer.getVersion() says.
func (r *JavaReferee) SerializerVersion(tb testing.TB) int {
	tb.Helper()
	var out struct{ Serializer int }
	decode(tb, r.do(tb, "version"), &out)
	return out.Serializer
}

// DecodedFile is a message file as the release reads it.
type DecodedFile struct {
	Version  int   `json:"version"`
	SchemaID int64 `json:"schemaId"`
	// Messages are JSON objects: partition and hex, which is the message itself, in hexadecimal, files by the names that
	// Paimon gives their fields, and reencodes, which tells that the release writes the same bytes again.
	Messages []json.RawMessage `json:"messages"`
}

// DecodeMessages has Paimon read a message file. An error is what it objects to.
func (r *JavaReferee) DecodeMessages(tb testing.TB, file string) (DecodedFile, error) {
	tb.Helper()
	answer, err := r.try(tb.TempDir(), "message-decode", file)
	if err != nil {
		return DecodedFile{}, err
	}
	var out DecodedFile
	decode(tb, answer, &out)
	return out, nil
}

// EncodeMessages has Paimon read a message file and write its messages in the release's own version, into the file returned.
func (r *JavaReferee) EncodeMessages(tb testing.TB, file string) string {
	tb.Helper()
	to := filepath.Join(tb.TempDir(), "messages")
	r.do(tb, "message-encode", file, to)
	return to
}

func jsonFile(tb testing.TB, content any) string {
	tb.Helper()
	data, err := json.Marshal(content)
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	path := filepath.Join(tb.TempDir(), "content.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return path
}
