package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goldenLake is a warehouse that Apache Paimon's Java library wrote. What tests expect of it is what that library says.
func goldenLake(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../lake/testdata")
	require.NoError(t, err)
	return path
}

// command runs a command line.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// inspected runs an inspect command with --json.
func inspected(t *testing.T, args ...string) map[string]any {
	t.Helper()
	code, stdout, stderr := command(t, append([]string{"inspect", "--json"}, args...)...)
	require.Equal(t, exitDone, code, stderr)
	require.Empty(t, stderr)
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &m))
	return m
}

// columnsOf are columns of a table for people, without the header.
func columnsOf(text string) [][]string {
	var lines [][]string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

func TestInspectTable(t *testing.T) {
	m := inspected(t, "table", "--warehouse", goldenLake(t), "golden.append_partitioned", "--rows", "100")
	require.Equal(t, "golden.append_partitioned", m["table"])
	require.Equal(t, []any{"p_str", "p_date", "p_int"}, m["partition_keys"])
	require.EqualValues(t, 9, m["rows"])
	require.EqualValues(t, 9, m["files"])
	require.EqualValues(t, 2, m["snapshots"])
	require.Len(t, m["sample"], 9)
	require.Contains(t, m["sample"], map[string]any{"id": "7", "v": "all null", "p_str": nil, "p_date": nil, "p_int": nil})
	snapshot := m["snapshot"].(map[string]any)
	require.EqualValues(t, 2, snapshot["id"])
	require.Equal(t, "referee", snapshot["user"])
	require.Equal(t, "2026-11-30T15:13:32.943Z", snapshot["time"])

	code, stdout, stderr := command(t, "inspect", "table", "--warehouse", "file://"+goldenLake(t), "golden.append_partitioned", "--rows", "9")
	require.Equal(t, exitDone, code, stderr)
	require.Contains(t, stdout, "partitioned by p_str, p_date, p_int")
	require.Contains(t, stdout, "9 rows in 9 files")
	lines := columnsOf(stdout)
	require.Contains(t, lines, []string{"p_date", "DATE"})
	require.Contains(t, lines, []string{"1", "plain", "plain", "2024-01-01", "1"})
	require.Contains(t, lines, []string{"7", "all", "null", "NULL", "NULL", "NULL"})
	require.Contains(t, lines, []string{"5", "empty", "string", `""`, "2024-02-29", "0"})
	require.Contains(t, stdout, `"tab\tnl\n\x7f中é"`)
}

func TestInspectTableAtSnapshot(t *testing.T) {
	m := inspected(t, "table", "--warehouse", goldenLake(t), "golden.append_schema_evolution", "--rows", "1", "--snapshot", "1")
	require.EqualValues(t, 0, m["schema_id"])
	require.EqualValues(t, 2, m["rows"])
	require.Equal(t, []any{map[string]any{"id": "1", "name": "one", "qty": "1", "ratio": "1.5", "price": "1.10", "note": "note 1"}}, m["sample"])
	m = inspected(t, "table", "--warehouse", goldenLake(t), "golden.append_schema_evolution")
	require.EqualValues(t, 4, m["schema_id"])
	require.EqualValues(t, 7, m["rows"])
	require.NotContains(t, m, "sample")
}

func TestInspectSnapshot(t *testing.T) {
	m := inspected(t, "snapshot", "--warehouse", goldenLake(t), "golden.append_overwrite")
	list := m["snapshots"].([]any)
	require.Len(t, list, 6)
	kinds, rows := []any{}, []any{}
	for _, s := range list {
		kinds, rows = append(kinds, s.(map[string]any)["kind"]), append(rows, s.(map[string]any)["rows"])
	}
	require.Equal(t, []any{"APPEND", "APPEND", "OVERWRITE", "OVERWRITE", "OVERWRITE", "OVERWRITE"}, kinds)
	require.Equal(t, []any{3., 5., 4., 3., 2., 1.}, rows)

	m = inspected(t, "snapshot", "--warehouse", goldenLake(t), "golden.append_overwrite", "3")
	require.EqualValues(t, 3, m["id"])
	require.EqualValues(t, 3, m["identifier"])
	require.EqualValues(t, -1, m["delta_rows"])

	code, stdout, _ := command(t, "inspect", "snapshot", "--warehouse", goldenLake(t), "golden.append_overwrite")
	require.Equal(t, exitDone, code)
	require.Len(t, columnsOf(stdout), 7)
	code, stdout, _ = command(t, "inspect", "snapshot", "--warehouse", goldenLake(t), "golden.append_overwrite", "3")
	require.Equal(t, exitDone, code)
	lines := columnsOf(stdout)
	require.Contains(t, lines, []string{"kind", "OVERWRITE"})
	require.Contains(t, lines, []string{"rows", "4", "(-1)"})
}

func TestInspectSnapshotShowsProperties(t *testing.T) {
	warehouse := t.TempDir()
	require.NoError(t, os.CopyFS(warehouse, os.DirFS(goldenLake(t))))
	name := filepath.Join(warehouse, "golden.db", "append_tags", "snapshot", "snapshot-4")
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	text := strings.Replace(string(data), `"commitUser"`, `"properties" : {"tributary.job" : "orders"}, "commitUser"`, 1)
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))

	m := inspected(t, "snapshot", "--warehouse", warehouse, "golden.append_tags", "4")
	require.Equal(t, map[string]any{"tributary.job": "orders"}, m["properties"])
	_, stdout, _ := command(t, "inspect", "snapshot", "--warehouse", warehouse, "golden.append_tags", "4")
	require.Contains(t, columnsOf(stdout), []string{"property", "tributary.job", "orders"})
	require.Contains(t, columnsOf(stdout), []string{"watermark", "1700000000000"})
}

func TestInspectFiles(t *testing.T) {
	m := inspected(t, "files", "--warehouse", goldenLake(t), "golden.append_partitioned", "--snapshot", "1")
	files := m["files"].([]any)
	require.Len(t, files, 8)
	first := files[0].(map[string]any)
	require.Equal(t, map[string]any{"p_str": "+ &,~$!@()", "p_date": "1969-12-31", "p_int": "-5"}, first["partition"])
	require.True(t, strings.HasSuffix(first["path"].(string), "/p_date=-1/p_int=-5/bucket-0/data-3daca832-9b3f-425a-b6bc-45b5a3ffa366-0.parquet"))
	require.EqualValues(t, 1137, first["bytes"])

	// A key table, whose rows are not read: its files have levels and sequences.
	m = inspected(t, "files", "--warehouse", goldenLake(t), "golden.pk_deletion_vectors")
	require.Len(t, m["files"], 4)
	code, stdout, stderr := command(t, "inspect", "files", "--warehouse", goldenLake(t), "golden.pk_deletion_vectors")
	require.Equal(t, exitDone, code, stderr)
	require.Contains(t, columnsOf(stdout), []string{"0", "5", "24", "1.3", "KiB", "0", "0–23", "data-630081f8-cb25-44df-8ac8-a5bd6ba89d63-0.parquet"})
	require.Contains(t, stdout, "snapshot 5: 43 rows in 4 files")
}

// jobFile writes a job with tables of the golden lake.
func jobFile(t *testing.T, tables ...string) string {
	t.Helper()
	text := "job: j\nsource: {instances: [{name: a, host: h, user: u, databases: d}]}\ntarget: {warehouse: " + goldenLake(t) + "}\ntables:\n"
	for _, name := range tables {
		text += "  - {name: " + name + ", match: m, target: {database: golden, table: " + name + "}}\n"
	}
	path := filepath.Join(t.TempDir(), "job.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestInspectTakesTheTableFromTheJob(t *testing.T) {
	one, two := jobFile(t, "append_tags"), jobFile(t, "append_tags", "append_overwrite")
	require.Equal(t, "golden.append_tags", inspected(t, "table", "-f", one)["table"])
	require.Equal(t, "golden.append_overwrite", inspected(t, "table", "-f", one, "golden.append_overwrite")["table"])
	require.Equal(t, "golden.append_overwrite", inspected(t, "files", "-f", two, "golden.append_overwrite")["table"])
	require.EqualValues(t, 2, inspected(t, "snapshot", "-f", one, "2")["id"])
	require.Len(t, inspected(t, "snapshot", "-f", one)["snapshots"], 4)

	code, _, stderr := command(t, "inspect", "table", "-f", two)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "golden.append_tags, golden.append_overwrite")
}

func TestInspectTableWithoutSnapshot(t *testing.T) {
	warehouse := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(warehouse, "golden.db", "t", "schema"), os.DirFS(filepath.Join(goldenLake(t), "golden.db", "append_tags", "schema"))))
	m := inspected(t, "table", "--warehouse", warehouse, "golden.t", "--rows", "3")
	require.Nil(t, m["snapshot"])
	require.EqualValues(t, 0, m["rows"])
	for _, what := range []string{"table", "snapshot", "files"} {
		code, stdout, stderr := command(t, "inspect", what, "--warehouse", warehouse, "golden.t")
		require.Equal(t, exitDone, code, stderr)
		require.Contains(t, stdout, "no snapshot yet")
	}
	code, _, stderr := command(t, "inspect", "snapshot", "--warehouse", warehouse, "golden.t", "1")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "nothing has been committed yet")
}

func TestInspectErrors(t *testing.T) {
	lake := goldenLake(t)
	damaged := t.TempDir()
	require.NoError(t, os.CopyFS(damaged, os.DirFS(lake)))
	const file = "data-eabff7df-d7c6-44f8-a464-7fcfad4e9d14-0.parquet"
	require.NoError(t, os.Truncate(filepath.Join(damaged, "golden.db", "append_all_types", "bucket-0", file), 100))
	list := filepath.Join(damaged, "golden.db", "append_tags", "manifest", "manifest-list-515a77dd-7fe3-4a19-adfc-328dc5f1082a-1")
	require.NoError(t, os.Truncate(list, 100))
	require.NoError(t, os.WriteFile(filepath.Join(damaged, "golden.db", "append_overwrite", "snapshot", "snapshot-6"), []byte("{"), 0o600))

	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "name the warehouse with --warehouse", []string{"table", "golden.append_tags"}},
		{exitUsage, "not with both", []string{"table", "--warehouse", lake, "-f", "job.yaml", "golden.append_tags"}},
		{exitUsage, "name the table", []string{"table", "--warehouse", lake}},
		{exitUsage, "name the table", []string{"snapshot", "--warehouse", lake, "3"}},
		{exitUsage, "DATABASE.TABLE", []string{"table", "--warehouse", lake, "append_tags"}},
		{exitUsage, "absolute path", []string{"table", "--warehouse", "lake", "golden.append_tags"}},
		{exitUsage, "numbered from 1", []string{"table", "--warehouse", lake, "golden.append_tags", "--snapshot", "0"}},
		{exitUsage, "numbered from 1", []string{"files", "--warehouse", lake, "golden.append_tags", "--snapshot", "-1"}},
		{exitUsage, "numbered from 1", []string{"snapshot", "--warehouse", lake, "golden.append_tags", "first"}},
		{exitUsage, "--rows -1", []string{"table", "--warehouse", lake, "golden.append_tags", "--rows", "-1"}},
		{exitUsage, "not \"tables\"", []string{"tables"}},
		{exitUsage, "unknown flag", []string{"files", "--nope"}},
		{exitUsage, "arg", []string{"message"}},
		{exitFailed, "no table golden.nope: the warehouse file://" + lake + " has golden.append_all_types, golden.append_fixed_bucket", []string{"table", "--warehouse", lake, "golden.nope"}},
		{exitFailed, "has no table at all", []string{"files", "--warehouse", t.TempDir(), "golden.nope"}},
		{exitFailed, "no snapshot 7: its 6 snapshots are between 1 and 6", []string{"snapshot", "--warehouse", lake, "golden.append_overwrite", "7"}},
		{exitFailed, "no snapshot 7", []string{"files", "--warehouse", lake, "golden.append_overwrite", "--snapshot", "7"}},
		{exitFailed, "no snapshot 9: its only one is 1", []string{"table", "--warehouse", lake, "golden.append_all_types", "--snapshot", "9"}},
		{exitFailed, file, []string{"table", "--warehouse", damaged, "golden.append_all_types", "--rows", "1"}},
		{exitFailed, "manifest-list-515a77dd-7fe3-4a19-adfc-328dc5f1082a-1", []string{"files", "--warehouse", damaged, "golden.append_tags", "--snapshot", "1"}},
		{exitFailed, "snapshot-6", []string{"snapshot", "--warehouse", damaged, "golden.append_overwrite"}},
		{exitFailed, "does not exist", []string{"message", "nope.msg"}},
		{exitFailed, "no commit message file", []string{"message", "inspect.go"}},
	} {
		code, stdout, stderr := command(t, append([]string{"inspect"}, c.args...)...)
		require.Equal(t, c.code, code, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.want, c.args)
		require.Empty(t, stdout, c.args)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

// messageFile frames a message that Paimon's own serializer wrote, by hand.
func messageFile(t *testing.T, golden string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../lake/message/testdata/golden", golden))
	require.NoError(t, err)
	utf := func(b []byte, text string) []byte {
		return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
	}
	b := utf(utf([]byte("TRBCMSG1"), "tributary/0.0.9"), "1.4")
	b = append(b, data[:4]...) // the golden file begins with the serializer's version
	b = binary.BigEndian.AppendUint64(b, 7)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)-4))
	b = append(b, data[4:]...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	path := filepath.Join(t.TempDir(), "message")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

func TestInspectMessage(t *testing.T) {
	path := messageFile(t, "append-partitioned-bucket-paimon-1.4.2-v11.bin")
	for _, name := range []string{path, "file://" + path} {
		m := inspected(t, "message", name)
		require.Equal(t, "tributary/0.0.9", m["producer"])
		require.Equal(t, "1.4", m["paimon_line"])
		require.EqualValues(t, 11, m["serializer_version"])
		require.EqualValues(t, 7, m["schema_id"])
		require.EqualValues(t, 1, m["files"])
		require.EqualValues(t, 1, m["rows"])
		require.EqualValues(t, 917, m["bytes"])
		entry := m["messages"].([]any)[0].(map[string]any)
		require.EqualValues(t, 2, entry["bucket"])
		require.EqualValues(t, 4, entry["total_buckets"])
		require.Equal(t, "0000000200000000000000000b4d000000000000120000001800000061206c6f6e67657220706172746974696f6e000000000000", entry["partition"])
		require.Equal(t, "data-3424bcc7-33c9-4969-8237-fba06768a0f0-0.parquet", entry["new_files"].([]any)[0].(map[string]any)["name"])
	}
	code, stdout, stderr := command(t, "inspect", "message", path)
	require.Equal(t, exitDone, code, stderr)
	require.Contains(t, stdout, "written by tributary/0.0.9 for Paimon 1.4, serializer version 11, schema 7")
	require.Contains(t, stdout, "1 message with 1 new file, 1 row, 917 B")

	code, stdout, stderr = command(t, "inspect", "message", messageFile(t, "pk-changelog-paimon-1.4.2-v11.bin"))
	require.Equal(t, exitDone, code, stderr)
	require.Contains(t, stdout, "of an index: 1")

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[len(data)-1] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
	code, _, stderr = command(t, "inspect", "message", path)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "does not match its checksum")
}

func TestInspectMessageExtracts(t *testing.T) {
	for golden, version := range map[string]int{"append-paimon-1.0.1-v6.bin": 6, "every-field-paimon-1.4.2-v11.bin": 11, "empty-paimon-2.0.0-v12.bin": 12} {
		want, err := os.ReadFile(filepath.Join("../lake/message/testdata/golden", golden))
		require.NoError(t, err)
		path, dir := messageFile(t, golden), filepath.Join(t.TempDir(), "new", "messages")
		out := inspected(t, "message", path, "--extract", dir)
		require.Equal(t, []any{"message-1.bin"}, out["files"])
		require.EqualValues(t, version, out["serializer_version"])
		require.EqualValues(t, 7, out["schema_id"])
		body, err := os.ReadFile(filepath.Join(dir, "message-1.bin"))
		require.NoError(t, err)
		require.Equal(t, want[4:], body) // behind the version

		index, err := os.ReadFile(filepath.Join(dir, "messages.json"))
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"serializer_version": %d, "paimon_line": "1.4", "producer": "tributary/0.0.9", "schema_id": 7, "count": 1}`, version), string(index))
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 2)

		code, stdout, stderr := command(t, "inspect", "message", path, "--extract", dir)
		require.Equal(t, exitFailed, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "holds message-1.bin already: name a new or empty directory")
	}
	path, dir := messageFile(t, "append-paimon-1.4.2-v11.bin"), t.TempDir()
	code, stdout, stderr := command(t, "inspect", "message", path, "--extract", dir)
	require.Equal(t, exitDone, code, stderr)
	require.Contains(t, stdout, "1 message of serializer version 11 (Paimon 1.4), schema 7, in "+dir)
	code, _, stderr = command(t, "inspect", "message", path, "--extract", "")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--extract needs a directory")
	other := filepath.Join(t.TempDir(), "out")
	code, _, _ = command(t, "inspect", "message", "inspect.go", "--extract", other)
	require.Equal(t, exitFailed, code)
	require.NoDirExists(t, other)
}
