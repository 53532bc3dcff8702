package lake

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/deletion"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Files of postponed buckets are not seen by Paimon's batch readers, and those of level 0 only where they are merged.
func TestHiddenFiles(t *testing.T) {
	for _, c := range []struct {
		bucket, level int32
		options       map[string]string
		want          bool
	}{
		{-2, 0, nil, false},
		{0, 0, nil, true},
		{0, 0, map[string]string{"merge-engine": "first-row"}, false},
		{0, 1, map[string]string{"merge-engine": "FIRST_ROW"}, true},
		{0, 0, map[string]string{"merge-engine": "FIRST_ROW"}, false},
		{0, 0, map[string]string{"deletion-vectors.enabled": "true"}, false},
		{0, 0, map[string]string{"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"}, true},
	} {
		options := map[string]string{"bucket": "1"}
		for k, v := range c.options {
			options[k] = v
		}
		s, err := schema.New(schema.Spec{
			Fields: []schema.Field{{Name: "id", Type: schema.Of(schema.Int)}}, PrimaryKeys: []string{"id"}, Options: options,
		})
		require.NoError(t, err)
		scan, err := NewTable(nil, "ods.db/orders", s).newScan(ScanOptions{})
		require.NoError(t, err)
		may, err := scan.mayHold(t.Context(), &File{Bucket: c.bucket, TotalBuckets: 1, DataFile: manifest.DataFile{
			Level: c.level, Rows: 1, KeyStats: manifest.EmptyStats(),
		}})
		require.NoError(t, err)
		require.Equal(t, c.want, may, c)
	}
}

// Data files whose vectors lie in several index files take turns.
func TestDeletionsOfSeveralIndexFiles(t *testing.T) {
	const index = "index-50ab023f-cb47-4fae-b699-bfe85b631a30-0"
	root, err := filepath.Abs(filepath.Join("testdata", "golden.db", "pk_deletion_vectors", "index"))
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(root, index))
	require.NoError(t, err)
	store, err := fileio.NewLocal(root)
	require.NoError(t, err)
	d := &deletions{table: NewTable(store, "", nil), files: map[string]*indexFile{}}
	for _, name := range []string{"data-a.parquet", "data-b.parquet"} {
		d.files[name] = &indexFile{path: index, file: manifest.IndexFile{
			Type: deletion.IndexType, Name: index, Size: info.Size(), Rows: 1,
			DeletionVectors: []manifest.DeletionVector{{DataFile: name, Offset: 1, Length: 24}},
		}}
	}
	for name, want := range map[string]int64{"data-a.parquet": 2, "data-b.parquet": 2, "data-c.parquet": 0} {
		for range 2 {
			v, err := d.of(t.Context(), &File{DataFile: manifest.DataFile{Name: name, Rows: 16}})
			require.NoError(t, err)
			require.Equal(t, want, v.Count())
		}
	}
	_, err = d.of(t.Context(), &File{DataFile: manifest.DataFile{Name: "data-a.parquet", Rows: 1}})
	require.ErrorIs(t, err, manifest.ErrCorrupt)
}
