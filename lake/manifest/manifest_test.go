package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest/avro"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

var noPartition = make([]byte, 12)

func entry(kind Kind, name string) Entry {
	return Entry{Kind: kind, Partition: noPartition, TotalBuckets: -1, File: DataFile{
		Name: name, Size: 10, Rows: 2, MinKey: noPartition, MaxKey: noPartition,
		KeyStats: EmptyStats(), ValueStats: EmptyStats(), ExtraFiles: []string{}, ValueStatsColumns: []string{},
	}}
}

func ptr[T any](v T) *T { return &v }

func folder(t *testing.T) Folder {
	t.Helper()
	store, err := fileio.NewLocal(t.TempDir())
	require.NoError(t, err)
	return In(store, "db.db/t")
}

func TestIdentity(t *testing.T) {
	base := entry(Add, "f")
	same := entry(Delete, "f")
	same.File.Rows, same.File.Size, same.TotalBuckets = 99, 99, 7
	require.Equal(t, base.Identity(), same.Identity())
	ids := map[string]int{base.Identity(): -1}
	for i, change := range []func(e *Entry){
		func(e *Entry) { e.Partition = make([]byte, 20) },
		func(e *Entry) { e.Bucket = 1 },
		func(e *Entry) { e.File.Level = 5 },
		func(e *Entry) { e.File.Name = "g" },
		func(e *Entry) { e.File.ExtraFiles = []string{"f.index"} },
		func(e *Entry) { e.File.EmbeddedIndex = []byte{} },
		func(e *Entry) { e.File.EmbeddedIndex = []byte{1} },
		func(e *Entry) { e.File.ExternalPath = ptr("s3://b/f") },
	} {
		e := entry(Add, "f")
		change(&e)
		other, taken := ids[e.Identity()]
		require.False(t, taken, "change %d has the identity of %d", i, other)
		ids[e.Identity()] = i
	}
}

func TestMergeEntries(t *testing.T) {
	names := func(entries []Entry) string {
		var list []string
		for _, e := range entries {
			list = append(list, fmt.Sprintf("%d%s", e.Kind, e.File.Name))
		}
		return strings.Join(list, " ")
	}
	merged, err := MergeEntries([]Entry{
		entry(Delete, "old"), entry(Add, "a"), entry(Add, "b"), entry(Delete, "a"), entry(Add, "c"), entry(Delete, "c"),
	})
	require.NoError(t, err)
	require.Equal(t, "1old 0b", names(merged))
	for _, bad := range [][]Entry{
		{entry(Add, "a"), entry(Add, "a")},
		{entry(Delete, "a"), entry(Add, "a")},
		{entry(Delete, "a"), entry(Delete, "a")},
	} {
		_, err := MergeEntries(bad)
		require.ErrorIs(t, err, ErrCorrupt)
	}
}

func TestWriterRolls(t *testing.T) {
	f := folder(t)
	names := NewNames()
	w := f.NewWriter(names.Manifest, nil, 20_000)
	const n = 12_345
	for i := range n {
		e := entry(Add, fmt.Sprintf("data-%x-%d.parquet", i*2654435761, i))
		e.Bucket, e.File.SchemaID = int32(i), schema.ID(i/1000)
		require.NoError(t, w.Append(t.Context(), &e))
	}
	metas, err := w.Finish(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(metas), 2)
	require.Len(t, w.Written(), len(metas))
	next := int32(0)
	for _, m := range metas {
		require.Equal(t, next, *m.MinBucket)
		count := int64(0)
		require.NoError(t, f.ReadManifest(t.Context(), m, func(e *Entry) error {
			require.Equal(t, next, e.Bucket)
			next++
			count++
			return nil
		}))
		require.Equal(t, m.Added, count)
		require.Equal(t, next-1, *m.MaxBucket)
		require.Equal(t, schema.ID(next-1)/1000, m.SchemaID)
		if next < n {
			require.Zero(t, count%checkEvery)
		}
	}
	require.Equal(t, int32(n), next)
}

func TestEmptyList(t *testing.T) {
	f := folder(t)
	l, err := f.WriteList(t.Context(), NewNames().List(), nil)
	require.NoError(t, err)
	metas, err := f.ReadList(t.Context(), l)
	require.NoError(t, err)
	require.Empty(t, metas)
	l.Size++
	_, err = f.ReadList(t.Context(), l)
	require.ErrorIs(t, err, ErrCorrupt)
	_, err = f.ReadList(t.Context(), List{Name: "manifest-list-none-0"})
	require.ErrorIs(t, err, fileio.ErrNotExist)
	_, err = f.ReadList(t.Context(), List{Name: "../snapshot/snapshot-1"})
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestOptionalFieldsComeBack(t *testing.T) {
	f := folder(t)
	full := entry(Add, "full.parquet")
	full.File.ExtraFiles = []string{"full.index", "b"}
	full.File.CreationMillis, full.File.DeleteRows = ptr(int64(-5)), ptr(int64(3))
	full.File.EmbeddedIndex, full.File.Source = []byte{1, 2}, ptr(SourceCompact)
	full.File.ValueStatsColumns, full.File.ExternalPath = []string{"a", "b"}, ptr("s3://bucket/full.parquet")
	full.File.FirstRowID, full.File.WriteColumns = ptr(int64(1<<40)), []string{"a"}
	full.File.ValueStats.NullCounts = []*int64{nil, ptr(int64(7))}
	bare := entry(Delete, "bare.parquet")
	bare.File.ValueStatsColumns = nil
	meta, err := f.WriteManifest(t.Context(), "manifest-x-0", nil, []Entry{full, bare})
	require.NoError(t, err)
	require.Equal(t, []Entry{full, bare}, entriesOf(t, f, meta))
	require.Nil(t, meta.MinRowID, "not every entry has row ids")
	require.Equal(t, [2]int64{1, 1}, [2]int64{meta.Added, meta.Deleted})
}

// A partition of a type that Java cannot compare has null counts and no bounds; an all-null one neither.
func TestPartitionStats(t *testing.T) {
	types := []schema.Type{schema.Of(schema.Int), schema.BytesType(), schema.StringType()}
	s := newSummary(types)
	for _, n := range []int64{7, -3, 5} {
		e := entry(Add, "f")
		e.Partition = row.Serialize(types, []row.Value{{I64: n}, {B: []byte("x")}, row.NullValue()})
		require.NoError(t, s.add(&e))
	}
	stats := s.stats()
	require.Equal(t, row.Serialize(types, []row.Value{{I64: -3}, row.NullValue(), row.NullValue()}), stats.Min)
	require.Equal(t, row.Serialize(types, []row.Value{{I64: 7}, row.NullValue(), row.NullValue()}), stats.Max)
	require.Equal(t, []*int64{ptr(int64(0)), ptr(int64(0)), ptr(int64(3))}, stats.NullCounts)

	e := entry(Add, "f")
	require.Error(t, s.add(&e), "a partition of another arity")
}

func TestNamesThatLeadOutAreRefused(t *testing.T) {
	f := folder(t)
	for _, name := range []string{"", ".", "..", "../x", "a/b", "a\\b", "a\x00"} {
		e := entry(Add, name)
		_, err := f.WriteManifest(t.Context(), "manifest-x-0", nil, []Entry{e})
		require.NoError(t, err)
		err = f.ReadManifest(t.Context(), FileMeta{Name: "manifest-x-0"}, func(*Entry) error { return nil })
		require.ErrorIs(t, err, ErrCorrupt, "%q", name)
	}
}

func TestUnknownVersionsAreRefused(t *testing.T) {
	e := entry(Add, "f")
	for _, version := range []int64{0, 1, 3} {
		record := avro.AppendLong(nil, version)
		record = append(record, appendEntry(nil, &e)[1:]...)
		w, err := avro.NewWriter(entrySchema)
		require.NoError(t, err)
		w.Append(record)
		f := folder(t)
		require.NoError(t, fileio.WriteFile(t.Context(), f.Store, f.Path+"/manifest-x-0", w.Finish()))
		err = f.ReadManifest(t.Context(), FileMeta{Name: "manifest-x-0"}, func(*Entry) error { return nil })
		require.ErrorContains(t, err, fmt.Sprintf("format version %d", version))
	}
}

// Fields that a later release added are skipped; ones that an earlier release lacked are null.
func TestOtherReleases(t *testing.T) {
	e := entry(Add, "f")
	e.File.WriteColumns = nil
	later := strings.Replace(entrySchema, `{"name":"_WRITE_COLS",`, `{"name":"_WRITE_COLS_SEQUENCES","type":["null",{"type":"array","items":"long"}],"default":null},{"name":"_WRITE_COLS",`, 1)
	record := appendEntry(nil, &e)
	record = append(record[:len(record)-1], 2, 4, 6, 8, 0, 0)
	earlier := entrySchema[:strings.Index(entrySchema, `,{"name":"_DELETE_ROW_COUNT"`)] + "]}}]}"
	old := appendEntry(nil, &e)
	old = old[:len(old)-8] // the eight optional fields, one byte each but for an empty list of two
	for name, file := range map[string]struct {
		schema string
		record []byte
	}{"later": {later, record}, "earlier": {earlier, old}} {
		t.Run(name, func(t *testing.T) {
			w, err := avro.NewWriter(file.schema)
			require.NoError(t, err)
			w.Append(file.record)
			f := folder(t)
			require.NoError(t, fileio.WriteFile(t.Context(), f.Store, f.Path+"/manifest-x-0", w.Finish()))
			got := entriesOf(t, f, FileMeta{Name: "manifest-x-0"})
			want := e
			if name == "earlier" {
				want.File.ValueStatsColumns = nil
			}
			require.Equal(t, []Entry{want}, got)
		})
	}
}

func FuzzReadManifest(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*/manifest/*")
	require.NoError(f, err)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := avro.Open(data, nil)
		if err != nil {
			return
		}
		for _, read := range []func(d source){
			func(d source) { d.entry(file.Schema) },
			func(d source) { d.fileMeta(file.Schema) },
			func(d source) { d.indexEntry(file.Schema) },
		} {
			again, err := avro.Open(data, nil)
			require.NoError(t, err)
			err = again.Each(func(d *avro.Decoder) error {
				read(source{d})
				return d.Err()
			})
			if err != nil {
				require.ErrorIs(t, err, avro.ErrMalformed)
			}
		}
	})
}
