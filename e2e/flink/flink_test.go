package flink

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/compact"
	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/orphan"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// A bed is a warehouse that lake and Flink share.
type bed struct {
	flink     *session
	warehouse string
	store     fileio.Store
}

// Flink and lake take turns at tables that lake made. All share one JVM, whose start is most of the time.
func TestFlinkAndLakeTakeTurns(t *testing.T) {
	warehouse := t.TempDir()
	store, err := fileio.NewLocal(warehouse)
	require.NoError(t, err)
	b := bed{startSession(t, warehouse), warehouse, store}
	for _, c := range []struct {
		name string
		spec schema.Spec
	}{
		{"append_partitioned", schema.Spec{PartitionKeys: []string{"day"}}},
		{"append_buckets", schema.Spec{Options: map[string]string{"bucket": "2", "bucket-key": "id"}}},
		{"keyed", schema.Spec{PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "2"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := createTable(t, store, c.name, c.spec)
			for n := range 6 {
				table.write(t, table.changes(n)...)
			}
			b.flinkReadsWhatLakeWrote(t, table)
			tagged := b.flinkTags(t, table)
			b.flinkWrites(t, table)
			b.flinkCompacts(t, table)
			b.flinkExpires(t, table)
			b.flinkRemovesOrphans(t, table)
			b.lakeMaintains(t, table)

			// What the tag holds has outlived all of it.
			require.Equal(t, tagged, table.selected(t, b.flink, "/*+ OPTIONS('scan.tag-name' = 'of-flink') */"))
			b.flinkWrites(t, table)
			table.flinkReads(t, b.flink)
		})
	}
	t.Run("altered", b.flinkMakesAndAlters)
	for name, options := range flinksOwn() {
		t.Run(name, func(t *testing.T) { b.lakeCleansFlinksOwn(t, name, options) })
	}
}

// changes are the n-th commit: rows to add, and where there are keys some to replace and to delete.
func (b *table) changes(n int) []change {
	from := 10 * n
	all := inserts(from, 10, fmt.Sprintf("of commit %d", n))
	if len(b.Schema().PrimaryKeys) == 0 || n == 0 {
		return all
	}
	for id := from - 10; id < from-5; id++ {
		all = append(all, change{row.UpdateAfter, recordOf(id, "replaced")})
	}
	return append(all, change{row.Delete, recordOf(from-1, "")}, change{row.Delete, recordOf(from+1000, "never there")})
}

func (b bed) flinkReadsWhatLakeWrote(t *testing.T, table *table) {
	t.Helper()
	table.weRead(t)
	table.flinkReads(t, b.flink)

	// Conditions make Flink use what lake says of files: partitions, buckets and statistics.
	conditions := map[string]func(r record) bool{
		"id = 17":               func(r record) bool { return r["id"] == "17" },
		"`day` IS NULL":         func(r record) bool { return r["day"] == nil },
		"`day` = 'a/b=c d%é'":   func(r record) bool { return r["day"] == "a/b=c d%é" },
		"`text` IS NULL":        func(r record) bool { return r["text"] == nil },
		"money <= -50000000000": func(r record) bool { return r["money"] != nil && r["money"].(string)[0] == '-' },
		"`at` >= TIMESTAMP '1979-01-01 00:00:00'": func(r record) bool { return r["at"] != nil && r["at"].(string) >= "1979" },
	}
	var want, selects []string
	for condition, wanted := range conditions {
		where := strings.ReplaceAll(condition, "'", "")
		selects = append(selects, fmt.Sprintf("SELECT '%s: ' || CAST(id AS STRING) FROM %s WHERE %s", where, table.name, condition))
		before := len(want)
		for id, r := range table.rows {
			if wanted(r) {
				want = append(want, where+": "+id)
			}
		}
		require.Greater(t, len(want), before, condition)
	}
	require.Equal(t, sorted(want), sorted(b.flink.column(t, strings.Join(selects, " UNION ALL "))))

	// Flink's system tables show what lake's metadata says.
	want = []string{}
	for i := range 6 {
		want = append(want, fmt.Sprintf("tributary %d APPEND", i+1))
	}
	files, err := table.Files(t.Context(), 0)
	require.NoError(t, err)
	for _, f := range files {
		want = append(want, fmt.Sprintf("%s %d %d", filepath.Base(f.Path), f.DataFile.Rows, f.DataFile.Level))
	}
	system := func(name string) string { return strings.Replace(table.name, ".", ".`", 1) + "$" + name + "`" }
	shown := b.flink.column(t, "SELECT commit_user || ' ' || CAST(commit_identifier AS STRING) || ' ' || commit_kind FROM "+system("snapshots")+
		" UNION ALL SELECT REGEXP_REPLACE(file_path, '.*/', '') || ' ' || CAST(record_count AS STRING) || ' ' || CAST(`level` AS STRING) FROM "+system("files"))
	require.Equal(t, sorted(want), sorted(shown))
}

// flinkTags has Flink tag the second snapshot and returns the rows that it shows.
func (b bed) flinkTags(t *testing.T, table *table) []string {
	t.Helper()
	b.flink.run(t, "CALL sys.create_tag(`table` => '"+table.name+"', tag => 'of-flink', snapshot_id => 2)")
	tag, err := table.snapshots.Tag(t.Context(), "of-flink")
	require.NoError(t, err)
	require.EqualValues(t, 2, tag.ID)
	then := table.scan(t, 2)
	require.Equal(t, then, table.selected(t, b.flink, "/*+ OPTIONS('scan.tag-name' = 'of-flink') */"))
	require.NotEqual(t, then, table.want())
	table.weRead(t)
	return then
}

// flinkWrites has Flink insert rows made of those that lake wrote; into key tables some with keys that are there.
func (b bed) flinkWrites(t *testing.T, table *table) {
	t.Helper()
	before, from := table.latest(t), 1000*len(table.rows)
	var names []string
	for _, c := range columns()[3:] {
		names = append(names, "`"+c[0]+"`")
	}
	rest := strings.Join(names, ", ")
	insert := fmt.Sprintf("INSERT INTO %s SELECT id + %d, `day`, 'by Flink', %s FROM %s WHERE id < 6", table.name, from, rest, table.name)
	if len(table.Schema().PrimaryKeys) > 0 {
		insert += fmt.Sprintf(" UNION ALL SELECT id, `day`, 'by Flink', %s FROM %s WHERE id BETWEEN 20 AND 27", rest, table.name)
	}
	b.flink.run(t, insert)
	for _, old := range table.want() {
		r := parse(t, old)
		id, err := strconv.Atoi(r["id"].(string))
		require.NoError(t, err)
		r["text"] = "by Flink"
		if id < 6 {
			r["id"] = strconv.Itoa(id + from)
		}
		if id < 6 || len(table.Schema().PrimaryKeys) > 0 && 20 <= id && id <= 27 {
			table.expect(change{row.Insert, r})
		}
	}
	require.Greater(t, table.latest(t).ID, before.ID)
	table.weRead(t)
}

func (b bed) flinkCompacts(t *testing.T, table *table) {
	t.Helper()
	// Flink's writers compact key tables on the way, so that there may be nothing to do yet.
	for range 2 {
		table.write(t, inserts(30_000+len(table.rows), 4, "before Flink's compaction")...)
	}
	files := table.files(t)
	b.flink.run(t, "CALL sys.compact(`table` => '"+table.name+"', compact_strategy => 'full')")
	require.Equal(t, snapshot.Compact, table.latest(t).CommitKind)
	require.Less(t, len(table.files(t)), len(files))
	table.weRead(t)

	// Rows that lake adds to Flink's files.
	n := len(table.rows)
	table.write(t, inserts(10_000+n, 5, "after Flink's compaction")...)
	if len(table.Schema().PrimaryKeys) > 0 {
		table.write(t, change{row.UpdateAfter, recordOf(22, "replaced again")}, change{row.Delete, recordOf(24, "")})
	}
	table.weRead(t)
	table.flinkReads(t, b.flink)
}

func (b bed) flinkExpires(t *testing.T, table *table) {
	t.Helper()
	latest := table.latest(t).ID
	b.flink.run(t, "CALL sys.expire_snapshots(`table` => '"+table.name+"', retain_max => 2, retain_min => 1)")
	left, err := table.snapshots.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []snapshot.ID{latest - 1, latest}, left)
	table.weRead(t)
}

func (b bed) flinkRemovesOrphans(t *testing.T, table *table) {
	t.Helper()
	stays := b.onDisk(t, table)
	young, _ := b.litter(t, table)
	b.flinkCleans(t, table)
	require.Equal(t, sorted(append(slices.Clone(stays), young)), b.onDisk(t, table))
	table.weRead(t)
	found, err := orphan.Find(t.Context(), b.store, table.path, orphan.Options{OlderThan: time.Now().Add(-time.Hour), Force: true})
	require.NoError(t, err)
	require.Empty(t, found)
	require.NoError(t, os.Remove(filepath.Join(b.warehouse, young)))
}

// lakeMaintains has lake compact, expire and clean what Flink has had its hands on.
func (b bed) lakeMaintains(t *testing.T, table *table) {
	t.Helper()
	for range 2 {
		table.write(t, inserts(20_000+len(table.rows), 6, "before lake's compaction")...)
	}
	files := table.files(t)
	result, err := compact.Run(t.Context(), b.store, table.path, "compactor-"+table.name, 1, compact.Options{Full: true})
	require.NoError(t, err)
	require.NotZero(t, result.Snapshot)
	require.Less(t, len(table.files(t)), len(files))
	table.weRead(t)
	table.flinkReads(t, b.flink)
	b.lakeCleans(t, table)

	// Of what lake left, Flink finds only the orphan that was too young for us.
	stays := b.onDisk(t, table)
	young, _ := b.litter(t, table)
	require.NoError(t, os.Chtimes(filepath.Join(b.warehouse, young), longAgo(), longAgo()))
	b.flinkCleans(t, table)
	require.Equal(t, stays, b.onDisk(t, table))
}

// lakeCleans has lake expire all snapshots but the latest and remove orphans.
func (b bed) lakeCleans(t *testing.T, table *table) {
	t.Helper()
	_, err := expire.Expire(t.Context(), b.store, table.path, expire.Options{RetainMin: 1, RetainMax: 1})
	require.NoError(t, err)
	stays := b.onDisk(t, table)
	young, old := b.litter(t, table)
	removed, err := orphan.Remove(t.Context(), b.store, table.path, orphan.Options{OlderThan: time.Now().Add(-time.Hour), Force: true})
	require.NoError(t, err)
	var names []string
	for _, f := range removed {
		names = append(names, f.Path)
	}
	require.ElementsMatch(t, old, names)
	require.Equal(t, sorted(append(slices.Clone(stays), young)), b.onDisk(t, table))
	require.NoError(t, os.Remove(filepath.Join(b.warehouse, young)))
	table.weRead(t)
	table.flinkReads(t, b.flink)
}

// flinkCleans has Flink remove orphans older than an hour.
func (b bed) flinkCleans(t *testing.T, table *table) {
	t.Helper()
	b.flink.run(t, fmt.Sprintf("CALL sys.remove_orphan_files(`table` => '%s', older_than => '%s')",
		table.name, time.Now().UTC().Add(-time.Hour).Format(time.DateTime)))
}

func longAgo() time.Time { return time.Now().Add(-48 * time.Hour) }

// litter makes all files of the table look old and puts orphans between them: one that is young, and old ones.
func (b bed) litter(t *testing.T, table *table) (young string, old []string) {
	t.Helper()
	for _, p := range b.onDisk(t, table) {
		require.NoError(t, os.Chtimes(filepath.Join(b.warehouse, p), longAgo(), longAgo()))
	}
	files, err := table.Files(t.Context(), 0)
	require.NoError(t, err)
	bucket := filepath.Dir(files[0].Path)
	put := func(path string) string {
		require.NoError(t, os.WriteFile(filepath.Join(b.warehouse, path), []byte("x"), 0o600))
		return path
	}
	old = []string{
		put(filepath.Join(bucket, "data-"+uuid.NewString()+"-0.parquet")),
		put(filepath.Join(table.path, "manifest", "manifest-"+uuid.NewString()+"-0")),
		put(filepath.Join(table.path, "manifest", "manifest-list-"+uuid.NewString()+"-0")),
	}
	for _, p := range old {
		require.NoError(t, os.Chtimes(filepath.Join(b.warehouse, p), longAgo(), longAgo()))
	}
	return put(filepath.Join(bucket, "data-"+uuid.NewString()+"-0.parquet")), old
}

// onDisk are the paths of all files of the table below the warehouse, sorted.
func (b bed) onDisk(t *testing.T, table *table) []string {
	t.Helper()
	var all []string
	require.NoError(t, fs.WalkDir(os.DirFS(b.warehouse), table.path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, p)
		}
		return err
	}))
	return sorted(all)
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
