package lake_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/datafile/filereader"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/predicate"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// openTable opens a table of a warehouse with the schema of a snapshot, 0 being the latest schema.
func openTable(t *testing.T, warehouse, name string, id snapshot.ID) *lake.Table {
	t.Helper()
	store, err := fileio.NewLocal(mustAbs(t, warehouse))
	require.NoError(t, err)
	c := catalog.NewFilesystem(store)
	ident := catalog.Identifier{Database: "golden", Table: name}
	s, err := c.LoadTable(t.Context(), ident)
	require.NoError(t, err)
	if id > 0 {
		snap, err := snapshot.NewManager(store, c.Path(ident)).Get(t.Context(), id)
		require.NoError(t, err)
		s, err = snapshot.Schemas{Store: store, Table: c.Path(ident)}.Get(t.Context(), snap.SchemaID)
		require.NoError(t, err)
	}
	return lake.NewTable(store, c.Path(ident), s)
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	require.NoError(t, err)
	return abs
}

// rowsOf scans a table and gives its rows as sorted JSON lines.
func rowsOf(t *testing.T, table *lake.Table, o lake.ScanOptions) ([]string, error) {
	t.Helper()
	fields := table.Schema().Fields
	if len(o.Columns) > 0 {
		fields = nil
		for _, name := range o.Columns {
			f, ok := table.Schema().Field(name)
			require.True(t, ok)
			fields = append(fields, f)
		}
	}
	lines := []string{}
	err := table.Scan(t.Context(), o, func(b *row.Batch) error {
		for i := range b.Rows {
			lines = append(lines, line(t, fields, b, i))
		}
		return nil
	})
	slices.Sort(lines)
	return lines, err
}

func line(t *testing.T, fields []schema.Field, b *row.Batch, i int) string {
	t.Helper()
	m := map[string]any{}
	for c, f := range fields {
		require.Equal(t, b.Rows, b.Columns[c].Len(), f.Name)
		m[f.Name] = nil
		v := b.Columns[c].Value(i)
		if v.Null {
			continue
		}
		text := row.Text(f.Type, v)
		m[f.Name] = text
		if f.Type.Nested() {
			var parts any
			require.NoError(t, json.Unmarshal([]byte(text), &parts))
			m[f.Name] = parts
		}
	}
	return marshal(t, m)
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

func expectedFile(table string, id snapshot.ID) string {
	return filepath.Join("testdata", "expected", table, fmt.Sprintf("expected-%d.jsonl", id))
}

// expectedRows are those of Paimon's own reader, in the form of rowsOf.
func expectedRows(t *testing.T, table string, id snapshot.ID) []string {
	t.Helper()
	data, err := os.ReadFile(expectedFile(table, id))
	require.NoError(t, err)
	lines := []string{}
	for text := range strings.Lines(string(data)) {
		lines = append(lines, canonicalLine(t, text))
	}
	slices.Sort(lines)
	return lines
}

// canonicalLine is a row of Paimon's in the form of rowsOf.
func canonicalLine(t *testing.T, text string) string {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return marshal(t, m)
}

func TestScanReadsEverySnapshotAsPaimonDoes(t *testing.T) {
	tables, err := os.ReadDir(filepath.Join("testdata", "expected"))
	require.NoError(t, err)
	require.Len(t, tables, 16)
	for _, table := range tables {
		name := table.Name()
		latest := snapshot.ID(0)
		for _, err := os.Stat(expectedFile(name, 1)); err == nil; _, err = os.Stat(expectedFile(name, latest+1)) {
			latest++
			t.Run(fmt.Sprintf("%s/%d", name, latest), func(t *testing.T) {
				rows, err := rowsOf(t, openTable(t, "testdata", name, latest), lake.ScanOptions{Snapshot: latest})
				require.NoError(t, err)
				require.Equal(t, expectedRows(t, name, latest), rows)
			})
		}
		t.Run(name+"/latest", func(t *testing.T) {
			rows, err := rowsOf(t, openTable(t, "testdata", name, 0), lake.ScanOptions{})
			require.NoError(t, err)
			require.Equal(t, expectedRows(t, name, latest), rows)
		})
	}
}

// Each column alone is read as it is among all, whatever else must be read to merge rows.
func TestScanOfEachColumn(t *testing.T) {
	tables, err := os.ReadDir(filepath.Join("testdata", "expected"))
	require.NoError(t, err)
	for _, entry := range tables {
		name := entry.Name()
		table := openTable(t, "testdata", name, 0)
		latest, err := snapshot.NewManager(localStore(t), "golden.db/"+name).LatestID(t.Context())
		require.NoError(t, err)
		for _, f := range table.Schema().Fields {
			want := []string{}
			for _, text := range expectedRows(t, name, latest) {
				var m map[string]any
				require.NoError(t, json.Unmarshal([]byte(text), &m))
				want = append(want, marshal(t, map[string]any{f.Name: m[f.Name]}))
			}
			slices.Sort(want)
			rows, err := rowsOf(t, table, lake.ScanOptions{Columns: []string{f.Name}})
			require.NoError(t, err)
			require.Equal(t, want, rows, "%s.%s", name, f.Name)
		}
	}
}

// A file's column of an old name must not be taken for the new column of that name.
func TestScanMatchesColumnsByID(t *testing.T) {
	table := openTable(t, "testdata", "append_schema_evolution", 0)
	rows, err := rowsOf(t, table, lake.ScanOptions{Snapshot: 1, Columns: []string{"note", "title", "id"}})
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":"1","note":null,"title":"one"}`, `{"id":"2","note":null,"title":"two"}`}, rows)
}

func TestScanOfSomeColumns(t *testing.T) {
	table := openTable(t, "testdata", "append_overwrite", 0)
	keys, err := rowsOf(t, table, lake.ScanOptions{Columns: []string{"p"}})
	require.NoError(t, err)
	want := []string{}
	for _, text := range expectedRows(t, "append_overwrite", 6) {
		var m map[string]*string
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		want = append(want, marshal(t, map[string]*string{"p": m["p"]}))
	}
	slices.Sort(want)
	require.Equal(t, want, keys)

	err = table.Scan(t.Context(), lake.ScanOptions{Columns: []string{"nope"}}, nil)
	require.ErrorContains(t, err, `no column "nope"`)
}

func TestScanReturnsTheCallersError(t *testing.T) {
	enough := errors.New("enough")
	err := openTable(t, "testdata", "append_tags", 0).Scan(t.Context(), lake.ScanOptions{}, func(*row.Batch) error { return enough })
	require.Equal(t, enough, err)
}

func TestScanOfUnknownSnapshot(t *testing.T) {
	table := openTable(t, "testdata", "append_tags", 0)
	_, err := rowsOf(t, table, lake.ScanOptions{Snapshot: 99})
	require.ErrorIs(t, err, fileio.ErrNotExist)
	_, err = table.Files(t.Context(), 99)
	require.ErrorIs(t, err, fileio.ErrNotExist)
}

// A tag shows its snapshot when that has expired.
func TestScanOfTag(t *testing.T) {
	warehouse := copyOf(t, "append_tags")
	table := openTable(t, warehouse, "append_tags", 0)
	require.NoError(t, os.Remove(filepath.Join(warehouse, "golden.db", "append_tags", "snapshot", "snapshot-1")))
	rows, err := rowsOf(t, table, lake.ScanOptions{Tag: "first"})
	require.NoError(t, err)
	require.Equal(t, expectedRows(t, "append_tags", 1), rows)
	_, err = rowsOf(t, table, lake.ScanOptions{Tag: "missing"})
	require.ErrorIs(t, err, fileio.ErrNotExist)
	_, err = rowsOf(t, table, lake.ScanOptions{Tag: "first", Snapshot: 2})
	require.ErrorContains(t, err, "exclude each other")
}

func TestScanOfTableWithoutSnapshot(t *testing.T) {
	warehouse := copyOf(t, "append_tags")
	require.NoError(t, os.RemoveAll(filepath.Join(warehouse, "golden.db", "append_tags", "snapshot")))
	table := openTable(t, warehouse, "append_tags", 0)
	rows, err := rowsOf(t, table, lake.ScanOptions{})
	require.NoError(t, err)
	require.Empty(t, rows)
	files, err := table.Files(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestScanRefusesWhatItWouldMisread(t *testing.T) {
	for option, why := range map[string]string{
		`"merge-engine" : "aggregation"`: "must be merged", `"record-level.expire-time" : "1 d"`: "vanish by their age",
	} {
		warehouse := copyOf(t, "pk_dedup")
		replaceInFile(t, filepath.Join(warehouse, "golden.db", "pk_dedup", "schema", "schema-0"), `"options" : {`, `"options" : { `+option+`,`)
		_, err := rowsOf(t, openTable(t, warehouse, "pk_dedup", 0), lake.ScanOptions{})
		require.ErrorIs(t, err, lake.ErrNotReadable)
		require.ErrorContains(t, err, why)
	}

	warehouse := copyOf(t, "append_tags")
	replaceInFile(t, filepath.Join(warehouse, "golden.db", "append_tags", "schema", "schema-0"), `"options" : {`, `"options" : { "data-evolution.enabled" : "true"`)
	_, err := rowsOf(t, openTable(t, warehouse, "append_tags", 0), lake.ScanOptions{})
	require.ErrorIs(t, err, lake.ErrNotReadable)
}

// An append table has deletion vectors when its snapshot names an index manifest with them. Here a file of ours takes the name
// of the one that a vector of Paimon's is for.
func TestScanLeavesDeletedRowsOut(t *testing.T) {
	const manifestName = "index-manifest-d2801949-88dc-4804-8d4c-72e373ed0251-0"
	const index, file = "index-50ab023f-cb47-4fae-b699-bfe85b631a30-0", "data-80806d9b-06ac-4267-9e83-27586e5a77ae-"
	const rows = 10_000
	warehouse := t.TempDir()
	store, err := fileio.NewLocal(warehouse)
	require.NoError(t, err)
	j := newTable(t, store, schema.Spec{Fields: []schema.Field{
		{Name: "region", Type: schema.StringType()}, {Name: "n", Type: schema.Of(schema.Int)},
	}})
	messages := write(t, j.table, lake.WriterOptions{Prefix: file}, numbered(j.table, rows))
	_, err = j.table.Committer().Publish(t.Context(), commit.Request{
		User: "job", Identifier: 1, Kind: snapshot.Append, Messages: messages, Planned: j.table.Schema(),
	})
	require.NoError(t, err)
	golden, folder := filepath.Join("testdata", "golden.db", "pk_deletion_vectors"), filepath.Join(warehouse, "ods.db", "orders")
	vector := copyFile(t, filepath.Join(golden, "index", index), filepath.Join(folder, "index", index))
	copyFile(t, filepath.Join(golden, "manifest", manifestName), filepath.Join(folder, "manifest", manifestName))
	replaceInFile(t, filepath.Join(folder, "snapshot", "snapshot-1"), `"commitUser"`, `"indexManifest" : "`+manifestName+`", "commitUser"`)

	// The file ends with the two positions of the vector, of 16 bits each, and a checksum.
	gone := map[int32]bool{}
	for _, at := range []int{8, 6} {
		gone[int32(binary.LittleEndian.Uint16(vector[len(vector)-at:]))] = true
	}
	seen := map[int32]bool{}
	require.NoError(t, j.table.Scan(t.Context(), lake.ScanOptions{Columns: []string{"n"}}, func(b *row.Batch) error {
		for _, n := range b.Columns[0].I32 {
			require.False(t, gone[n] || seen[n])
			seen[n] = true
		}
		return nil
	}))
	require.Len(t, gone, 2)
	require.Len(t, seen, rows-2)
	none, err := rowsOf(t, j.table, lake.ScanOptions{Where: predicate.Eq("n", row.Value{I64: int64(slices.Sorted(maps.Keys(gone))[0])})})
	require.NoError(t, err)
	require.Empty(t, none)

	require.NoError(t, os.Remove(filepath.Join(folder, "index", index)))
	_, err = rowsOf(t, j.table, lake.ScanOptions{})
	require.ErrorIs(t, err, fileio.ErrNotExist)
	require.ErrorContains(t, err, index)
}

func copyFile(t *testing.T, from, to string) []byte {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
	require.NoError(t, os.WriteFile(to, data, 0o600))
	return data
}

// Paimon casts these; reading them as they are would give other values.
func TestScanRefusesCasts(t *testing.T) {
	for _, types := range [][2]string{{"STRING", "VARCHAR(3)"}, {"STRING", "BYTES"}, {"STRING", "INT"}} {
		warehouse := copyOf(t, "append_tags")
		folder := filepath.Join(warehouse, "golden.db", "append_tags", "schema")
		data, err := os.ReadFile(filepath.Join(folder, "schema-0"))
		require.NoError(t, err)
		text := strings.Replace(string(data), `"id" : 0,`, `"id" : 1,`, 1)
		text = strings.Replace(text, `"type" : "`+types[0]+`"`, `"type" : "`+types[1]+`"`, 1)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "schema-1"), []byte(text), 0o600))
		_, err = rowsOf(t, openTable(t, warehouse, "append_tags", 0), lake.ScanOptions{})
		require.Error(t, err, types)
		require.ErrorContains(t, err, ".parquet", types)
	}
}

func TestScanFindsDamage(t *testing.T) {
	const table = "append_all_types"
	const file = "data-eabff7df-d7c6-44f8-a464-7fcfad4e9d14-0.parquet"
	damage := func(t *testing.T, do func(folder string)) error {
		t.Helper()
		warehouse := copyOf(t, table)
		do(filepath.Join(warehouse, "golden.db", table))
		_, err := rowsOf(t, openTable(t, warehouse, table, 0), lake.ScanOptions{})
		require.Error(t, err)
		return err
	}
	t.Run("cut file", func(t *testing.T) {
		err := damage(t, func(folder string) {
			require.NoError(t, os.Truncate(filepath.Join(folder, "bucket-0", file), 1000))
		})
		require.ErrorIs(t, err, filereader.ErrCorrupt)
		require.ErrorContains(t, err, file)
	})
	t.Run("missing file", func(t *testing.T) {
		err := damage(t, func(folder string) { require.NoError(t, os.Remove(filepath.Join(folder, "bucket-0", file))) })
		require.ErrorIs(t, err, fileio.ErrNotExist)
		require.ErrorContains(t, err, file)
	})
	t.Run("damaged page", func(t *testing.T) {
		err := damage(t, func(folder string) {
			name := filepath.Join(folder, "bucket-0", file)
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			for i := 4; i < 200; i++ {
				data[i] ^= 0xff
			}
			require.NoError(t, os.WriteFile(name, data, 0o600))
		})
		require.ErrorContains(t, err, file)
	})
	t.Run("rows of the snapshot", func(t *testing.T) {
		err := damage(t, func(folder string) {
			replaceInFile(t, filepath.Join(folder, "snapshot", "snapshot-1"), `"totalRecordCount" : `, `"totalRecordCount" : 1`)
		})
		require.ErrorIs(t, err, manifest.ErrCorrupt)
	})
	t.Run("missing manifest list", func(t *testing.T) {
		err := damage(t, func(folder string) {
			require.NoError(t, os.Remove(filepath.Join(folder, "manifest", "manifest-list-004f4488-bbb1-4c06-91a7-dee01464c19e-1")))
		})
		require.ErrorIs(t, err, fileio.ErrNotExist)
		require.ErrorContains(t, err, "manifest-list-004f4488")
	})
}

// The paths of files must be those under which Paimon put them.
func TestFilesLieWherePaimonPutThem(t *testing.T) {
	for _, name := range []string{"append_partitioned", "append_tags", "pk_deletion_vectors"} {
		files, err := openTable(t, "testdata", name, 0).Files(t.Context(), 0)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, f := range files {
			info, err := os.Stat(filepath.Join("testdata", filepath.FromSlash(f.Path)))
			require.NoError(t, err)
			require.Equal(t, info.Size(), f.DataFile.Size)
		}
	}
	files, err := openTable(t, "testdata", "append_partitioned", 0).Files(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, files, 8)
	for _, f := range files {
		if strings.Contains(f.Path, "p_date=-1") {
			require.Equal(t, "+ &,~$!@()", string(f.Partition[0].B))
			require.Equal(t, int64(-1), f.Partition[1].I64)
			require.Equal(t, int64(-5), f.Partition[2].I64)
			require.Equal(t, int64(1), f.DataFile.Rows)
		}
	}
}

// copyOf copies a golden table into a warehouse that a test may damage.
func copyOf(t *testing.T, table string) string {
	t.Helper()
	warehouse := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(warehouse, "golden.db", table), os.DirFS(filepath.Join("testdata", "golden.db", table))))
	return warehouse
}

func replaceInFile(t *testing.T, name, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(data), old)
	require.NoError(t, os.WriteFile(name, []byte(strings.Replace(string(data), old, replacement, 1)), 0o600))
}
