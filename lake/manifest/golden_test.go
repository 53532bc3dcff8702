package manifest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest/avro"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// described is what Paimon's own reader says of a table.
type described struct {
	Schemas []struct {
		ID     int64
		Fields []struct {
			Name string
			Type json.RawMessage
		}
		PartitionKeys, PrimaryKeys []string
	}
	Snapshots  []snapshot
	Files      []describedFile
	IndexFiles []struct {
		Bucket    int32
		IndexFile struct {
			Type string              `json:"_INDEX_TYPE"`
			Name string              `json:"_FILE_NAME"`
			Size string              `json:"_FILE_SIZE"`
			Rows string              `json:"_ROW_COUNT"`
			Raw  []map[string]string `json:"_DELETIONS_VECTORS_RANGES"`
		}
	}
}

type snapshot struct {
	ID                    int64
	BaseManifestList      string
	BaseManifestListSize  int64
	DeltaManifestList     string
	DeltaManifestListSize int64
	IndexManifest         string
	TotalRecordCount      int64
	DeltaRecordCount      int64
}

type describedFile struct {
	Partition                map[string]*string
	Bucket, TotalBuckets     int32
	Name                     string
	Size, Rows               int64
	DeleteRows               *int64
	Level                    int32
	SchemaID                 schema.ID
	MinSequence, MaxSequence int64
	Source                   string
	ExtraFiles               []string
	MinKey, MaxKey           map[string]*string
	KeyStats                 map[string]bounds
	ValueStatsCols           []string
	ValueStats               map[string]bounds
}

type bounds struct {
	Min, Max *string
	Nulls    *int64
}

func tables(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("testdata/golden")
	require.NoError(t, err)
	require.Len(t, entries, 16)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func golden(t *testing.T, table string) (Folder, described) {
	t.Helper()
	root, err := filepath.Abs("testdata/golden")
	require.NoError(t, err)
	store, err := fileio.NewLocal(root)
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(root, table, "describe.json"))
	require.NoError(t, err)
	var d described
	require.NoError(t, json.Unmarshal(data, &d))
	return In(store, table), d
}

// manifests returns the manifests of a snapshot, base before delta.
func manifests(t *testing.T, f Folder, s snapshot) (base, delta []FileMeta) {
	t.Helper()
	base, err := f.ReadList(t.Context(), List{Name: s.BaseManifestList, Size: s.BaseManifestListSize})
	require.NoError(t, err)
	delta, err = f.ReadList(t.Context(), List{Name: s.DeltaManifestList, Size: s.DeltaManifestListSize})
	require.NoError(t, err)
	return base, delta
}

func entriesOf(t *testing.T, f Folder, m FileMeta) []Entry {
	t.Helper()
	var entries []Entry
	require.NoError(t, f.ReadManifest(t.Context(), m, func(e *Entry) error {
		entries = append(entries, *e)
		return nil
	}))
	return entries
}

// typesOf returns the types of columns by name, nil for nested ones, whose bounds Paimon does not keep.
func (d described) typesOf(t *testing.T, id schema.ID) map[string]schema.Type {
	t.Helper()
	for _, s := range d.Schemas {
		if schema.ID(s.ID) != id {
			continue
		}
		types := map[string]schema.Type{}
		for _, f := range s.Fields {
			var text string
			if json.Unmarshal(f.Type, &text) != nil {
				continue
			}
			typ, err := schema.ParseType(text)
			require.NoError(t, err)
			types[f.Name] = typ
		}
		return types
	}
	t.Fatalf("no schema %d", id)
	return nil
}

func (d described) columns(id schema.ID) []string {
	var names []string
	for _, s := range d.Schemas {
		if schema.ID(s.ID) == id {
			for _, f := range s.Fields {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

func pick(types map[string]schema.Type, names []string) []schema.Type {
	var list []schema.Type
	for _, n := range names {
		list = append(list, types[n])
	}
	return list
}

func text(typ schema.Type, v row.Value) *string {
	if v.Null {
		return nil
	}
	s := row.Text(typ, v)
	return &s
}

func texts(t *testing.T, types map[string]schema.Type, names []string, data []byte) map[string]*string {
	t.Helper()
	values, err := row.Deserialize(pick(types, names), data)
	require.NoError(t, err)
	m := map[string]*string{}
	for i, n := range names {
		m[n] = text(types[n], values[i])
	}
	return m
}

func statsText(t *testing.T, types map[string]schema.Type, names []string, s Stats) map[string]bounds {
	t.Helper()
	low, high := texts(t, types, names, s.Min), texts(t, types, names, s.Max)
	require.Len(t, s.NullCounts, len(names))
	m := map[string]bounds{}
	for i, n := range names {
		m[n] = bounds{low[n], high[n], s.NullCounts[i]}
	}
	return m
}

// trimmed are the primary keys that are no partition keys.
func (d described) trimmed() []string {
	partition := map[string]bool{}
	for _, k := range d.Schemas[0].PartitionKeys {
		partition[k] = true
	}
	var keys []string
	for _, k := range d.Schemas[0].PrimaryKeys {
		if !partition[k] {
			keys = append(keys, k)
		}
	}
	return keys
}

// describe puts an entry the way the Java reader does.
func describe(t *testing.T, d described, e Entry) describedFile {
	t.Helper()
	f := e.File
	types := d.typesOf(t, f.SchemaID)
	out := describedFile{
		Partition: texts(t, types, d.Schemas[0].PartitionKeys, e.Partition),
		Bucket:    e.Bucket, TotalBuckets: e.TotalBuckets, Name: f.Name, Size: f.Size, Rows: f.Rows, DeleteRows: f.DeleteRows,
		Level: f.Level, SchemaID: f.SchemaID, MinSequence: f.MinSequence, MaxSequence: f.MaxSequence,
		ExtraFiles: f.ExtraFiles, ValueStatsCols: f.ValueStatsColumns,
	}
	require.NotNil(t, f.Source)
	out.Source = map[FileSource]string{SourceAppend: "APPEND", SourceCompact: "COMPACT"}[*f.Source]
	if keys := d.trimmed(); len(keys) > 0 {
		out.MinKey, out.MaxKey = texts(t, types, keys, f.MinKey), texts(t, types, keys, f.MaxKey)
		out.KeyStats = statsText(t, types, keys, f.KeyStats)
	} else {
		require.Equal(t, make([]byte, 12), f.MinKey)
		require.Equal(t, make([]byte, 12), f.MaxKey)
		require.Equal(t, EmptyStats(), f.KeyStats)
	}
	columns := f.ValueStatsColumns
	if columns == nil {
		columns = d.columns(f.SchemaID)
	}
	out.ValueStats = statsText(t, types, columns, f.ValueStats)
	return out
}

func TestLiveFilesAreThoseThatJavaSees(t *testing.T) {
	for _, table := range tables(t) {
		t.Run(table, func(t *testing.T) {
			f, d := golden(t, table)
			last := d.Snapshots[len(d.Snapshots)-1]
			base, delta := manifests(t, f, last)
			got := []describedFile{}
			rows := int64(0)
			require.NoError(t, f.Live(t.Context(), append(base, delta...), Filter{}, func(e *Entry) error {
				require.Equal(t, Add, e.Kind)
				rows += e.File.Rows
				got = append(got, describe(t, d, *e))
				return nil
			}))
			sortFiles(got)
			sortFiles(d.Files)
			require.Equal(t, d.Files, got)
			require.Equal(t, last.TotalRecordCount, rows)
		})
	}
}

func sortFiles(files []describedFile) {
	sort.Slice(files, func(i, j int) bool { return files[i].Name < files[j].Name })
}

// Every snapshot's delta changes the row count by what the snapshot says, and merging all entries in order leaves the
// same files as collecting deletions first.
func TestSnapshotsAddUp(t *testing.T) {
	for _, table := range tables(t) {
		t.Run(table, func(t *testing.T) {
			f, d := golden(t, table)
			for _, s := range d.Snapshots {
				base, delta := manifests(t, f, s)
				rows := int64(0)
				for _, m := range delta {
					for _, e := range entriesOf(t, f, m) {
						if e.Kind == Add {
							rows += e.File.Rows
						} else {
							rows -= e.File.Rows
						}
					}
				}
				require.Equal(t, s.DeltaRecordCount, rows, "snapshot %d", s.ID)

				var all []Entry
				for _, m := range append(base, delta...) {
					all = append(all, entriesOf(t, f, m)...)
				}
				merged, err := MergeEntries(all)
				require.NoError(t, err)
				var live []Entry
				require.NoError(t, f.Live(t.Context(), append(base, delta...), Filter{}, func(e *Entry) error {
					live = append(live, *e)
					return nil
				}))
				require.ElementsMatch(t, live, merged)
			}
		})
	}
}

// What we would say of a manifest is what Java says in its lists: counts, bounds of partitions, levels and buckets.
func TestSummariesAreJavas(t *testing.T) {
	seen := 0
	for _, table := range tables(t) {
		f, d := golden(t, table)
		types := pick(d.typesOf(t, 0), d.Schemas[0].PartitionKeys)
		for _, s := range d.Snapshots {
			base, delta := manifests(t, f, s)
			for _, want := range append(base, delta...) {
				sum := newSummary(types)
				for _, e := range entriesOf(t, f, want) {
					require.NoError(t, sum.add(&e))
				}
				got := sum.meta
				got.Name, got.Size, got.PartitionStats = want.Name, want.Size, sum.stats()
				require.Equal(t, want, got, "%s of %s", want.Name, table)
				seen++
			}
		}
	}
	require.Greater(t, seen, 100)
}

// Our encoding of what Java wrote is byte for byte what Java wrote, under the same schema text.
func TestEncodingIsJavas(t *testing.T) {
	for _, table := range tables(t) {
		f, _ := golden(t, table)
		files, err := os.ReadDir(filepath.Join("testdata/golden", table, "manifest"))
		require.NoError(t, err)
		for _, file := range files {
			data, err := fileio.ReadFile(t.Context(), f.Store, f.Path+"/"+file.Name(), 1<<20)
			require.NoError(t, err)
			var encode func(d source, s *avro.Schema) []byte
			var text string
			switch {
			case len(file.Name()) > 14 && file.Name()[:14] == "manifest-list-":
				text = listSchema
				encode = func(d source, s *avro.Schema) []byte { m := d.fileMeta(s); return appendFileMeta(nil, &m) }
			case file.Name()[:9] == "manifest-":
				text = entrySchema
				encode = func(d source, s *avro.Schema) []byte { e := d.entry(s); return appendEntry(nil, &e) }
			default:
				continue
			}
			require.Contains(t, string(data), text, file.Name())
			a, err := avro.Open(data, nil)
			require.NoError(t, err)
			require.NoError(t, a.Each(func(d *avro.Decoder) error {
				raw := d.Rest()
				again := encode(source{d}, a.Schema)
				require.Equal(t, raw[:len(raw)-d.Len()], again, "%s of %s", file.Name(), table)
				return d.Err()
			}))
		}
	}
}

func TestIndexManifest(t *testing.T) {
	f, d := golden(t, "pk_deletion_vectors")
	last := d.Snapshots[len(d.Snapshots)-1]
	entries, err := f.ReadIndex(t.Context(), last.IndexManifest)
	require.NoError(t, err)
	require.Len(t, entries, len(d.IndexFiles))
	for i, want := range d.IndexFiles {
		got := entries[i]
		require.Equal(t, Add, got.Kind)
		require.Equal(t, want.Bucket, got.Bucket)
		require.Equal(t, want.IndexFile.Type, got.File.Type)
		require.Equal(t, want.IndexFile.Name, got.File.Name)
		require.Equal(t, want.IndexFile.Size, strconv.FormatInt(got.File.Size, 10))
		require.Equal(t, want.IndexFile.Rows, strconv.FormatInt(got.File.Rows, 10))
		require.Nil(t, got.File.ExternalPath)
		require.Nil(t, got.File.GlobalIndex)
		require.Len(t, got.File.DeletionVectors, len(want.IndexFile.Raw))
		for j, dv := range got.File.DeletionVectors {
			require.Equal(t, want.IndexFile.Raw[j], map[string]string{
				"f0": dv.DataFile, "f1": fmt.Sprint(dv.Offset), "f2": fmt.Sprint(dv.Length), "_CARDINALITY": fmt.Sprint(*dv.Cardinality),
			})
		}
	}
}
