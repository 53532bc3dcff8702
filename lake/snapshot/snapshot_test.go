package snapshot_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

func ptr[T any](v T) *T { return &v }

// What Java wrote is read and written again to the last byte.
func TestJavasSnapshots(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*/snapshot/snapshot-*")
	require.NoError(t, err)
	require.Len(t, files, 22)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		s, err := snapshot.Parse(data)
		require.NoError(t, err, name)
		again, err := s.Marshal()
		require.NoError(t, err)
		require.Equal(t, string(data), string(again), name)
	}
}

func TestFieldsOfASnapshot(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/append_tags/snapshot/snapshot-2")
	require.NoError(t, err)
	s, err := snapshot.Parse(data)
	require.NoError(t, err)
	require.Equal(t, &snapshot.Snapshot{
		Version: 3, ID: 2, SchemaID: 0,
		BaseManifestList:      "manifest-list-e9d8b539-bf40-4abc-bb3a-8b8d423a25da-0",
		BaseManifestListSize:  ptr(int64(1107)),
		DeltaManifestList:     "manifest-list-e9d8b539-bf40-4abc-bb3a-8b8d423a25da-1",
		DeltaManifestListSize: ptr(int64(1113)),
		CommitUser:            "referee", CommitIdentifier: 2, CommitKind: snapshot.Append, TimeMillis: 1796050685463,
		TotalRecordCount: 2, DeltaRecordCount: 1, Watermark: ptr(int64(1700000000000)),
		Properties: map[string]string{"tributary.range": "10..20", "tributary.run": "run-2"}, NextRowID: ptr(int64(0)),
	}, s)
}

const minimal = `{"version":3,"id":7,"schemaId":1,"baseManifestList":"b","deltaManifestList":"d","commitUser":"u",` +
	`"commitIdentifier":9223372036854775807,"commitKind":"APPEND","timeMillis":1,"logOffsets":{},"totalRecordCount":9007199254740993,` +
	`"deltaRecordCount":-1,"aKeyOfTomorrow":[{"x":1}]}`

// Identifiers and counts beyond 2^53 keep their last digit; keys of other releases do not matter.
func TestLargeNumbersAndUnknownKeys(t *testing.T) {
	s, err := snapshot.Parse([]byte(minimal))
	require.NoError(t, err)
	require.Equal(t, int64(math.MaxInt64), s.CommitIdentifier)
	require.Equal(t, int64(1<<53+1), s.TotalRecordCount)
	again, err := s.Marshal()
	require.NoError(t, err)
	require.Contains(t, string(again), "\"commitIdentifier\" : 9223372036854775807,")
	require.NotContains(t, string(again), "watermark")
}

func TestBrokenSnapshots(t *testing.T) {
	for _, change := range [][2]string{
		{`"version":3`, `"version":4`},
		{`"id":7`, `"id":0`},
		{`"id":7`, `"id":"7"`},
		{`"id":7`, `"id":7.5`},
		{`"schemaId":1,`, ``},
		{`"commitUser":"u",`, ``},
		{`"commitIdentifier":9223372036854775807,`, ``},
		{`"commitIdentifier":9223372036854775807`, `"commitIdentifier":9223372036854775808`},
		{`"commitKind":"APPEND",`, ``},
		{`"baseManifestList":"b"`, `"baseManifestList":"../b"`},
		{`"deltaManifestList":"d"`, `"deltaManifestList":""`},
		{`"totalRecordCount"`, `"t0talRecordCount"`},
		{`"deltaRecordCount"`, `"deltaRecordC0unt"`},
		{`"commitUser":"u"`, "\"commitUser\":\"\xb5\""},
		{`"timeMillis":1`, `"timeMillis":1,"indexManifest":"a/b"`},
		{`}]}`, ``},
	} {
		_, err := snapshot.Parse([]byte(strings.Replace(minimal, change[0], change[1], 1)))
		require.ErrorIs(t, err, snapshot.ErrCorrupt, "%s instead of %s", change[1], change[0])
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := snapshot.Parse(data)
		if err != nil {
			return
		}
		again, err := s.Marshal()
		require.NoError(t, err)
		b, err := snapshot.Parse(again)
		require.NoError(t, err, "%s", again)
		if len(s.Properties) == 0 {
			s.Properties = nil
		}
		require.Equal(t, s, b)
	})
}

func TestSchemas(t *testing.T) {
	root, err := filepath.Abs("testdata/golden")
	require.NoError(t, err)
	store, err := fileio.NewLocal(root)
	require.NoError(t, err)
	java := snapshot.Schemas{Store: store, Table: "append_schema_evolution"}
	ids, err := java.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []schema.ID{0, 1, 2, 3, 4}, ids)
	latest, err := java.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, schema.ID(4), latest.ID)
	require.Equal(t, 7, latest.HighestFieldID)
	_, err = java.Get(t.Context(), 5)
	require.ErrorIs(t, err, fileio.ErrNotExist)
	_, err = snapshot.Schemas{Store: store, Table: "none"}.Latest(t.Context())
	require.ErrorIs(t, err, fileio.ErrNotExist)

	mine, err := fileio.NewLocal(t.TempDir())
	require.NoError(t, err)
	schemas := snapshot.Schemas{Store: mine, Table: "t"}
	first, err := java.Get(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, schemas.Create(t.Context(), first))
	require.NoError(t, schemas.Create(t.Context(), first), "the same again")
	other := *first
	other.Comment = "another"
	require.ErrorIs(t, schemas.Create(t.Context(), &other), fileio.ErrExist)
	got, err := schemas.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, got)
}
