package lake

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/compact"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// goldenTables are Paimon's own, to be written again.
func goldenTables(t *testing.T) warehouse {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "golden.db"), os.DirFS("../../lake/testdata/golden.db")))
	return openWarehouse(t, dir)
}

// evolution are the changes between the schemas of append_schema_evolution and pk_schema_evolution.
func evolution() [][]schema.Change {
	return [][]schema.Change{
		{schema.RenameColumn("name", "title"), schema.AddColumn(schema.Field{Name: "added", Type: schema.StringType()}, schema.Last())},
		{
			schema.ChangeType("qty", schema.Of(schema.BigInt)), schema.ChangeType("ratio", schema.Of(schema.Double)),
			schema.ChangeType("price", schema.DecimalType(12, 2)),
		},
		{schema.DropColumn("note")},
		{schema.AddColumn(schema.Field{Name: "note", Type: schema.StringType()}, schema.Last())},
	}
}

// Every golden table is written again by this library, snapshot by snapshot with the same changes: rows added, replaced,
// deleted, overwritten and compacted. Paimon's Java and paimon-rust read the same rows of each snapshot as of the original's,
// and Paimon says the same of the files.
func TestGoldenTablesWrittenAgain(t *testing.T) {
	golden := goldenTables(t)
	entries, err := os.ReadDir(filepath.Join(golden.dir, "golden.db"))
	require.NoError(t, err)
	require.Len(t, entries, 16)
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			golden := openWarehouse(t, golden.dir)
			original := golden.open("golden." + e.Name())
			if e.Name() == "pk_deletion_vectors" {
				_, err := original.NewWriter(lake.WriterOptions{Prefix: "data-x-"})
				require.ErrorIs(t, err, schema.ErrNotWritable)
				return
			}
			if e.Name() == "pk_first_row" {
				loadAgain(t, original)
				return
			}
			again(t, original)
		})
	}
}

// again writes a table again.
func again(t *testing.T, original *made) {
	t.Helper()
	first, err := snapshot.Schemas{Store: original.in.disk, Table: original.path}.Get(t.Context(), 0)
	require.NoError(t, err)
	ours := openWarehouse(t, t.TempDir()).create("golden."+original.id.Table, schema.Spec{
		Fields: first.Fields, PartitionKeys: first.PartitionKeys, PrimaryKeys: first.PrimaryKeys, Options: first.Options,
	})
	snapshots := snapshot.NewManager(original.in.disk, original.path)
	for id := snapshot.ID(1); id <= original.latest(); id++ {
		s, err := snapshots.Get(t.Context(), id)
		require.NoError(t, err)
		for ours.Schema().ID < s.SchemaID {
			ours.alter(evolution()[ours.Schema().ID]...)
		}
		replay(t, original, ours, s)
	}
	for id := snapshot.ID(1); id <= original.latest(); id++ {
		compareWithOriginal(t, original, ours, id)
	}
	require.Equal(t, original.java(testenv.Referee(t), 0), ours.java(testenv.Referee(t), 0))
	requireSameLines(t, original.java(testenv.Referee(t), 0), ours.rust(0), "paimon-rust")
	ours.check(0)
}

// loadAgain writes what a table shows as one load, for tables whose new files would wait for a compaction to be seen.
func loadAgain(t *testing.T, original *made) {
	t.Helper()
	ours := openWarehouse(t, t.TempDir()).create("golden."+original.id.Table, schema.Spec{
		Fields: original.Schema().Fields, PrimaryKeys: original.Schema().PrimaryKeys, Options: original.Schema().Options,
	})
	var rows []testenv.Row
	want := testenv.Referee(t).Read(t, original.in.dir, original.id.String(), 0)
	for _, line := range want {
		var r testenv.Row
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		rows = append(rows, r)
	}
	_, err := ours.NewWriter(lake.WriterOptions{Prefix: "data-x-"})
	require.ErrorIs(t, err, schema.ErrNotWritable)
	w := ours.newWriter(lake.WriterOptions{Overwrite: true, TopLevel: true})
	ours.feed(w, rows, 100)
	messages, err := w.Close(t.Context())
	require.NoError(t, err)
	ours.publish(snapshot.Overwrite, nil, messages)
	require.Equal(t, want, testenv.Referee(t).Read(t, ours.in.dir, ours.id.String(), 0))
	requireSameLines(t, sortedLines(t, want), ours.rust(0), "paimon-rust")
	ours.check(0)
	require.Equal(t, 5, ours.describe(0).Files[0].Level)
}

// replay does to our table what a snapshot did to the original.
func replay(t *testing.T, original, ours *made, s *snapshot.Snapshot) {
	t.Helper()
	at, err := snapshot.Schemas{Store: original.in.disk, Table: original.path}.Get(t.Context(), s.SchemaID)
	require.NoError(t, err)
	require.Equal(t, at.Fields, ours.Schema().Fields)
	then := *original
	then.Table = lake.NewTable(original.in.disk, original.path, at)
	before, added, removed := turnover(t, &then, s.ID)
	if s.CommitKind == snapshot.Compact {
		ours.jobs++
		_, err := compact.Run(t.Context(), ours.in.disk, ours.path, "compactor", ours.jobs, compact.Options{Full: true})
		require.NoError(t, err)
		return
	}
	o, replace := lake.WriterOptions{}, (*commit.Replace)(nil)
	if s.CommitKind == snapshot.Overwrite {
		o.Overwrite = true
		replace = &commit.Replace{Partitions: partitionsOf(t, &then, append(removed, added...))}
	}
	w := ours.newWriter(o)
	for _, f := range added {
		rows, numbers := then.written(f)
		if numbers != nil {
			rows = asNumbered(rows, numbers, firstNumber(before, f))
		}
		ours.feed(w, rows, 100)
	}
	messages, err := w.Close(t.Context())
	require.NoError(t, err)
	ours.publish(s.CommitKind, replace, messages)
}

// turnover are the files of the snapshot before, and those that a snapshot added to them and took away.
func turnover(t *testing.T, original *made, id snapshot.ID) (before, added, removed []lake.File) {
	t.Helper()
	if id > 1 {
		var err error
		before, err = original.Files(t.Context(), id-1)
		require.NoError(t, err)
	}
	after, err := original.Files(t.Context(), id)
	require.NoError(t, err)
	without := func(files, others []lake.File) []lake.File {
		return slices.DeleteFunc(slices.Clone(files), func(f lake.File) bool {
			return slices.ContainsFunc(others, func(o lake.File) bool { return o.Path == f.Path })
		})
	}
	added, removed = without(after, before), without(before, after)
	slices.SortFunc(added, func(a, b lake.File) int { return int(a.DataFile.MinSequence - b.DataFile.MinSequence) })
	return before, added, removed
}

// firstNumber is the sequence number with which the writer of a file began.
func firstNumber(before []lake.File, f lake.File) int64 {
	first := int64(0)
	for _, b := range before {
		if filepath.Dir(b.Path) == filepath.Dir(f.Path) {
			first = max(first, b.DataFile.MaxSequence+1)
		}
	}
	return first
}

// asNumbered are the rows of a key table's file in the order in which they were written. In the place of rows that were
// replaced within the file stands the next row, to be replaced by itself.
func asNumbered(rows []testenv.Row, numbers []int64, first int64) []testenv.Row {
	byNumber := map[int64]testenv.Row{}
	for i, n := range numbers {
		byNumber[n] = rows[i]
	}
	var out []testenv.Row
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		for ; first <= n; first++ {
			out = append(out, byNumber[n])
		}
	}
	return out
}

// partitionsOf names the partitions that files lie in; nothing is the whole table.
func partitionsOf(t *testing.T, m *made, files []lake.File) []partition.Spec {
	t.Helper()
	types, err := m.Schema().PartitionTypes()
	require.NoError(t, err)
	specs := []partition.Spec{}
	for _, f := range files {
		spec := partition.Spec{}
		for i, key := range m.Schema().PartitionKeys {
			spec[key] = row.Text(types[i], f.Partition[i])
			if f.Partition[i].Null {
				spec[key] = "__DEFAULT_PARTITION__"
			}
		}
		specs = append(specs, spec)
	}
	return specs
}

// compareWithOriginal compares a snapshot of our table with the original's.
func compareWithOriginal(t *testing.T, original, ours *made, id snapshot.ID) {
	t.Helper()
	who := fmt.Sprintf("snapshot %d", id)
	java := testenv.Referee(t)
	want := original.java(java, id)
	requireSameLines(t, want, ours.java(java, id), who+" by Paimon")
	theirs, mine := original.describe(id), ours.describe(id)
	require.Equal(t, theirs.BucketMode, mine.BucketMode)
	require.Equal(t, summary(theirs.Snapshots[id-1]), summary(mine.Snapshots[id-1]), who)
	require.Equal(t, shapes(theirs.Files), shapes(mine.Files), who)
}

// summary is what a snapshot says of rows.
func summary(s testenv.Snapshot) string {
	changelog := "none"
	if s.ChangelogRecordCount != nil {
		changelog = fmt.Sprint(*s.ChangelogRecordCount)
	}
	return fmt.Sprintf("%d %s schema %d rows %d, %+d, changelog %s", s.ID, s.CommitKind, s.SchemaID, s.TotalRecordCount, s.DeltaRecordCount, changelog)
}

// shapes say of files everything but names and sizes, in an order that does not depend on them.
func shapes(files []testenv.DataFile) []string {
	var out []string
	for _, f := range files {
		deleted := "unknown"
		if f.DeleteRows != nil {
			deleted = fmt.Sprint(*f.DeleteRows)
		}
		text := fmt.Sprintf("%sbucket-%d of %d: level %d, schema %d, rows %d, deleted %s, numbers %d to %d, keys %s to %s",
			f.PartitionPath, f.Bucket, f.TotalBuckets, f.Level, f.SchemaID, f.Rows, deleted, f.MinSequence, f.MaxSequence,
			cells(f.MinKey), cells(f.MaxKey))
		for _, name := range slices.Sorted(maps.Keys(f.Stats)) {
			s := f.Stats[name]
			if s.Max != nil && *s.Max == "NaN" { // of such a column this library's writer says nothing, as readers compare NaN differently
				s.Min, s.Max = nil, nil
			}
			nulls := "unknown"
			if s.Min == nil && s.Max == nil && s.Nulls == nil {
				continue
			}
			if s.Nulls != nil {
				nulls = fmt.Sprint(*s.Nulls)
			}
			text += fmt.Sprintf("\n  %s %s to %s, nulls %s", name, cell(s.Min), cell(s.Max), nulls)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

func cells(key map[string]*string) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(key)) {
		text += name + "=" + cell(key[name]) + " "
	}
	return text
}

func cell(text *string) string {
	if text == nil {
		return "nothing"
	}
	return fmt.Sprintf("%q", *text)
}
