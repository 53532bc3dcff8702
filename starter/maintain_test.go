package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/ledger"
)

// ownLake is a copy of the golden lake that a test may change.
func ownLake(t *testing.T) string {
	t.Helper()
	warehouse := t.TempDir()
	require.NoError(t, os.CopyFS(warehouse, os.DirFS(goldenLake(t))))
	return warehouse
}

// ordered runs a table command with --json.
func ordered(t *testing.T, args ...string) map[string]any {
	t.Helper()
	code, stdout, stderr := command(t, append([]string{"table", "--json"}, args...)...)
	require.Equal(t, exitDone, code, stderr)
	require.Empty(t, stderr)
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &m))
	return m
}

// said runs a table command for people.
func said(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := command(t, append([]string{"table"}, args...)...)
	require.Equal(t, exitDone, code, stderr)
	return stdout
}

// javasRows are the rows of a golden table at a snapshot as Paimon reads them.
func javasRows(t *testing.T, table, file string) []any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(goldenLake(t), "expected", table, file))
	require.NoError(t, err)
	var rows []any
	for line := range strings.Lines(string(data)) {
		var row any
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		rows = append(rows, row)
	}
	return rows
}

// requireRows reads a table as it is now.
func requireRows(t *testing.T, warehouse, table string) {
	t.Helper()
	m := inspected(t, "table", "--warehouse", warehouse, "golden."+table, "--rows", "1000")
	require.ElementsMatch(t, javasRows(t, table, "expected.jsonl"), m["sample"])
}

// everyFile are the paths and sizes of all files below a folder.
func everyFile(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	files := map[string]int64{}
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			files[path] = info.Size()
		}
		return err
	}))
	return files
}

func paths(list any) []string {
	out := []string{}
	for _, p := range list.([]any) {
		out = append(out, strings.TrimPrefix(p.(string), "file://"))
	}
	return out
}

func TestExpire(t *testing.T) {
	warehouse := ownLake(t)
	table := []string{"expire", "--warehouse", warehouse, "golden.append_overwrite"}
	before := everyFile(t, warehouse)

	// The table's own options keep ten snapshots.
	require.Empty(t, ordered(t, table...)["snapshots"])
	require.Equal(t, "table golden.append_overwrite has nothing to expire\n", said(t, append(table, "--yes")...))

	keepTwo := append(table, "--retain-min", "2", "--older-than", "0s")
	shown := ordered(t, keepTwo...)
	require.Equal(t, []any{1., 2., 3., 4.}, shown["snapshots"])
	require.EqualValues(t, 5, shown["earliest"])
	require.Equal(t, false, shown["removed"])
	require.Contains(t, said(t, keepTwo...), "would expire 4 snapshots of golden.append_overwrite: 1–4; the first to stay is 5\n")
	require.Contains(t, said(t, keepTwo...), "nothing was changed: --yes does it\n")
	require.Equal(t, before, everyFile(t, warehouse))

	done := ordered(t, append(keepTwo, "--yes")...)
	require.Equal(t, true, done["removed"])
	for _, key := range []string{"snapshots", "earliest", "data_files", "metadata_files"} {
		require.Equal(t, shown[key], done[key], key)
	}
	after := everyFile(t, warehouse)
	gone := 4 // the snapshots
	for _, p := range append(paths(done["data_files"]), paths(done["metadata_files"])...) {
		require.Contains(t, before, p)
		require.NotContains(t, after, p)
		gone++
	}
	require.Len(t, after, len(before)-gone)
	requireRows(t, warehouse, "append_overwrite")
	require.Contains(t, said(t, append(table, "--retain-min", "1", "--retain-max", "1", "--yes")...), "expired 1 snapshot of golden.append_overwrite: 5; the first to stay is 6\n")
	requireRows(t, warehouse, "append_overwrite")
}

// One call goes on where the table bounds what a commit may expire.
func TestExpireGoesOn(t *testing.T) {
	warehouse := ownLake(t)
	file := filepath.Join(warehouse, "golden.db", "append_overwrite", "schema", "schema-0")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	text := strings.Replace(string(data), `"options" : {`, `"options" : { "snapshot.expire.limit" : "2"`, 1)
	require.NotEqual(t, string(data), text)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	args := []string{"expire", "--warehouse", warehouse, "golden.append_overwrite", "--retain-min", "1", "--older-than", "0s"}
	require.Len(t, ordered(t, args...)["snapshots"], 5)
	require.Equal(t, []any{1., 2., 3., 4., 5.}, ordered(t, append(args, "--yes")...)["snapshots"])
	requireRows(t, warehouse, "append_overwrite")
}

func TestTags(t *testing.T) {
	warehouse := ownLake(t)
	at := func(args ...string) []string {
		return append([]string{args[0], "--warehouse", warehouse, "golden.append_tags"}, args[1:]...)
	}
	// What Java made.
	tags := ordered(t, at("tags")...)["tags"].([]any)
	require.Len(t, tags, 2)
	first, ttl := tags[0].(map[string]any), tags[1].(map[string]any)
	require.Equal(t, "first", first["name"])
	require.EqualValues(t, 1, first["snapshot"].(map[string]any)["id"])
	require.NotContains(t, first, "expires")
	require.Equal(t, "with-ttl", ttl["name"])
	require.Equal(t, "2126-11-06 14:58:05", ttl["expires"], "36,500 days after 2026-11-30")

	require.Contains(t, columnsOf(said(t, at("tag", "v1.0", "--snapshot", "3")...))[1], "v1.0")
	ordered(t, at("tag", "v1.0", "--snapshot", "3")...) // once more is the same
	made := ordered(t, at("tag", "now", "--time-retained", "1s")...)
	require.EqualValues(t, 4, made["snapshot"].(map[string]any)["id"], "the latest")
	require.NotEmpty(t, made["expires"])
	code, _, stderr := command(t, append([]string{"table"}, at("tag", "v1.0", "--snapshot", "2")...)...)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "has a tag v1.0 already: choose another name, or delete it with `starter table untag`")

	// A tag keeps its rows from expiring, and with it they go.
	require.Len(t, ordered(t, at("expire", "--retain-min", "1", "--retain-max", "1", "--yes")...)["snapshots"], 3)
	before := everyFile(t, warehouse)
	shown := ordered(t, at("untag", "v1.0")...)
	require.NotEmpty(t, shown["data_files"], "only the tag shows the files that snapshot 4 compacted")
	require.Equal(t, before, everyFile(t, warehouse))
	for _, p := range append(paths(shown["data_files"]), paths(shown["metadata_files"])...) {
		require.Contains(t, before, p)
	}
	require.Contains(t, said(t, at("untag", "v1.0")...), "would delete tag v1.0 of golden.append_tags, which kept snapshot 3\n")
	done := ordered(t, at("untag", "v1.0", "--yes")...)
	require.Equal(t, shown["data_files"], done["data_files"])
	for _, p := range paths(done["data_files"]) {
		require.NoFileExists(t, p)
	}
	code, _, stderr = command(t, append([]string{"table"}, at("untag", "v1.0")...)...)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "has no tag v1.0: it has first, now, with-ttl")
	requireRows(t, warehouse, "append_tags")
}

// A tag's manifests name files that were replaced before it was made and are gone: it is not told that they go with it.
func TestUntagTellsOfFilesThatAreThere(t *testing.T) {
	warehouse := ownLake(t)
	at := []string{"--warehouse", warehouse, "golden.append_overwrite"}
	ordered(t, append(append([]string{"tag"}, at...), "five", "--snapshot", "5")...)
	ordered(t, append(append([]string{"expire"}, at...), "--retain-min", "1", "--older-than", "0s", "--yes")...)
	before := everyFile(t, warehouse)
	untag := append(append([]string{"untag"}, at...), "five")
	shown := ordered(t, untag...)
	require.Len(t, shown["data_files"], 2, "Java's own files of snapshot 5")
	ordered(t, append(untag, "--yes")...)
	gone := 1 // the tag
	for _, key := range []string{"data_files", "metadata_files"} {
		for _, p := range paths(shown[key]) {
			require.Contains(t, before, p)
			require.NoFileExists(t, p)
			gone++
		}
	}
	require.Len(t, everyFile(t, warehouse), len(before)-gone)
	requireRows(t, warehouse, "append_overwrite")
}

// A tag whose time is over goes with the next expiry.
func TestExpireDeletesTagsWhoseTimeIsOver(t *testing.T) {
	warehouse := ownLake(t)
	name := filepath.Join(warehouse, "golden.db", "append_tags", "tag", "tag-with-ttl")
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	text := strings.Replace(string(data), `"tagTimeRetained" : 3153600000.`, `"tagTimeRetained" : 1.`, 1)
	text = strings.Replace(text, `[ 2026, 11, 30`, `[ 2020, 1, 1`, 1)
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	args := []string{"expire", "--warehouse", warehouse, "golden.append_tags"}
	require.Contains(t, said(t, "tags", "--warehouse", warehouse, "golden.append_tags"), "2020-01-01 14:58:06, over")
	require.Contains(t, said(t, args...), "would expire 1 tag of golden.append_tags: with-ttl\n")
	require.FileExists(t, name)
	require.Equal(t, []any{"with-ttl"}, ordered(t, append(args, "--yes")...)["tags"])
	require.NoFileExists(t, name)
	requireRows(t, warehouse, "append_tags")
}

func TestCompact(t *testing.T) {
	warehouse := ownLake(t)
	args := []string{"compact", "--warehouse", warehouse, "golden.append_partitioned"}
	require.Contains(t, said(t, args...), "has nothing worth compacting; --full takes less")
	m := ordered(t, append(args, "--full")...)
	require.EqualValues(t, 3, m["snapshot"])
	require.EqualValues(t, 2, m["files_before"])
	require.EqualValues(t, 1, m["files_after"])
	requireRows(t, warehouse, "append_partitioned")
	s := inspected(t, "snapshot", "--warehouse", warehouse, "golden.append_partitioned", "3")
	require.Equal(t, "COMPACT", s["kind"])
	require.Equal(t, m["user"], s["user"])
	require.Regexp(t, "^tributary-compact-[0-9a-f]{16}$", s["user"])
	require.Equal(t, "table golden.append_partitioned has nothing to compact\n", said(t, append(args, "--full")...))

	require.Regexp(t, `^compacted 5 files of golden\.pk_dedup, .* in snapshot 6\n$`, said(t, "compact", "--warehouse", warehouse, "golden.pk_dedup"))
	requireRows(t, warehouse, "pk_dedup")
}

// orphanIn makes a file of a name in a table, two days old.
func orphanIn(t *testing.T, warehouse, name string) string {
	t.Helper()
	path := filepath.Join(warehouse, "golden.db", "append_tags", "bucket-0", name)
	require.NoError(t, os.WriteFile(path, []byte("orphan"), 0o600))
	old := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
	return path
}

func TestOrphans(t *testing.T) {
	warehouse := ownLake(t)
	args := []string{"orphans", "--warehouse", warehouse, "golden.append_tags"}
	require.Equal(t, "table golden.append_tags has no orphans\n", said(t, args...))
	orphan := orphanIn(t, warehouse, "data-x-0.parquet")
	require.Equal(t, "table golden.append_tags has no orphans\n", said(t, append(args, "--older-than", "72h", "--yes")...))
	text := said(t, args...)
	require.Contains(t, text, "1 orphan of golden.append_tags, 6 B\nnothing was changed: --yes does it\n")
	require.Contains(t, text, "bucket-0/data-x-0.parquet")
	require.FileExists(t, orphan)
	m := ordered(t, append(args, "--yes")...)
	file := m["files"].([]any)[0].(map[string]any)
	require.Equal(t, "file://"+orphan, file["path"])
	require.EqualValues(t, 6, file["bytes"])
	require.NoFileExists(t, orphan)
	requireRows(t, warehouse, "append_tags")

	young := orphanIn(t, warehouse, "data-y-0.parquet")
	require.NoError(t, os.Chtimes(young, time.Now(), time.Now().Add(-time.Minute)))
	require.Empty(t, ordered(t, append(args, "--yes")...)["files"])
	require.Contains(t, said(t, append(args, "--older-than", "10s", "--force", "--yes")...), "removed 1 orphan of golden.append_tags, 6 B\n")
	require.NoFileExists(t, young)
	requireRows(t, warehouse, "append_tags")
}

// Wherever a job keeps its ledgers, orphans finds them: by default, from the job file, and by --staging.
func TestOrphansFindsLedgers(t *testing.T) {
	elsewhere := t.TempDir()
	for name, staging := range map[string]string{"default": "", "job": elsewhere, "flag": elsewhere} {
		t.Run(name, func(t *testing.T) {
			warehouse := ownLake(t)
			root := staging
			if root == "" {
				root = filepath.Join(warehouse, "_tributary")
			}
			store, err := fileio.NewLocal(root)
			require.NoError(t, err)
			key := ledger.Key{Job: "orders", Run: "orders-" + name, Table: "append_tags"}
			require.NoError(t, ledger.Mark(t.Context(), store, "target", key))
			l := ledger.Open(store, key)
			a, err := l.Register(t.Context(), 1)
			require.NoError(t, err)
			file := orphanIn(t, warehouse, a.Prefix+"0.parquet")

			args := []string{"orphans", "--yes", "--warehouse", warehouse, "golden.append_tags"}
			switch name {
			case "job":
				job := jobFile(t, "append_tags")
				data, err := os.ReadFile(job)
				require.NoError(t, err)
				text := strings.Replace(string(data), "warehouse: "+goldenLake(t), fmt.Sprintf("warehouse: %s, staging: %s", warehouse, staging), 1)
				require.NoError(t, os.WriteFile(job, []byte(text), 0o600))
				args = []string{"orphans", "--yes", "-f", job}
			case "flag":
				args = append(args, "--staging", staging)
			}
			text := said(t, args...)
			require.Contains(t, text, "1 file of runs that are not settled stay; `starter resume` or `starter abort` settles orders/orders-"+name+"/append_tags\n")
			require.Contains(t, text, "has no orphans")
			require.FileExists(t, file)
			_, err = l.Finish(t.Context(), ledger.Result{Outcome: ledger.Aborted})
			require.NoError(t, err)
			require.Contains(t, said(t, args...), "removed 1 orphan")
			require.NoFileExists(t, file)
		})
	}
}

// Whoever interrupts a command finds the table as it was.
func TestInterrupted(t *testing.T) {
	warehouse := ownLake(t)
	before := everyFile(t, warehouse)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"compact", "--full"}, {"expire", "--retain-min", "1", "--older-than", "0s", "--yes"}, {"orphans", "--yes"}} {
		var out, errs bytes.Buffer
		code := run(ctx, append([]string{"table", args[0], "--warehouse", warehouse, "golden.append_partitioned"}, args[1:]...), &out, &errs)
		require.Equal(t, exitInterrupted, code, errs.String())
	}
	require.Equal(t, before, everyFile(t, warehouse))
}

func TestTableErrors(t *testing.T) {
	lake := ownLake(t)
	require.NoError(t, os.Remove(filepath.Join(lake, "golden.db", "append_tags", "manifest", "manifest-list-515a77dd-7fe3-4a19-adfc-328dc5f1082a-1")))
	orphanIn(t, lake, "data-x-0.parquet")
	before := everyFile(t, lake)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, `not "orphan"`, []string{"orphan"}},
		{exitUsage, "name the warehouse with --warehouse", []string{"compact", "golden.append_tags"}},
		{exitUsage, "arg", []string{"tag", "--warehouse", lake}},
		{exitUsage, "name the table", []string{"untag", "--warehouse", lake, "v1.0"}},
		{exitUsage, "--retain-min 0", []string{"expire", "--warehouse", lake, "golden.append_tags", "--retain-min", "0"}},
		{exitUsage, "give --retain-min", []string{"expire", "--warehouse", lake, "golden.append_tags", "--retain-max", "3"}},
		{exitUsage, "--retain-max 1 is below --retain-min 2", []string{"expire", "--warehouse", lake, "golden.append_tags", "--retain-max", "1", "--retain-min", "2"}},
		{exitUsage, "not negative", []string{"expire", "--warehouse", lake, "golden.append_tags", "--older-than", "-1h"}},
		{exitUsage, "invalid argument", []string{"expire", "--warehouse", lake, "golden.append_tags", "--older-than", "yesterday"}},
		{exitUsage, "--force takes them", []string{"orphans", "--warehouse", lake, "golden.append_tags", "--older-than", "23h59m"}},
		{exitUsage, "not negative", []string{"orphans", "--warehouse", lake, "golden.append_tags", "--older-than", "-1s", "--force"}},
		{exitUsage, "correct its name", []string{"orphans", "--warehouse", lake, "golden.append_tags", "--staging", filepath.Join(lake, "nope")}},
		{exitUsage, "absolute path", []string{"orphans", "--warehouse", lake, "golden.append_tags", "--staging", "nope"}},
		{exitUsage, "numbered from 1", []string{"tag", "--warehouse", lake, "golden.append_tags", "x", "--snapshot", "0"}},
		{exitUsage, "a second or more", []string{"tag", "--warehouse", lake, "golden.append_tags", "x", "--time-retained", "0s"}},
		{exitFailed, "no table golden.nope", []string{"compact", "--warehouse", lake, "golden.nope"}},
		{exitFailed, "no snapshot 9", []string{"tag", "--warehouse", lake, "golden.append_tags", "x", "--snapshot", "9"}},
		{exitFailed, "must not be a number", []string{"tag", "--warehouse", lake, "golden.append_tags", "9"}},
		{exitFailed, "has no tag x, and no other", []string{"untag", "--warehouse", lake, "golden.append_overwrite", "x"}},
		{exitFailed, "nothing was removed: finish an expiry", []string{"orphans", "--warehouse", lake, "golden.append_tags", "--yes"}},
		{exitRefused, "nothing was changed", []string{"compact", "--warehouse", lake, "golden.pk_deletion_vectors"}},
	} {
		code, stdout, stderr := command(t, append([]string{"table"}, c.args...)...)
		require.Equal(t, c.code, code, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.want, c.args)
		require.Empty(t, stdout, c.args)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	require.Equal(t, before, everyFile(t, lake))
}
