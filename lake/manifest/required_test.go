package manifest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest/avro"
)

// A field that every release writes cannot be missing, as when its name is damaged in a file's schema: the record would
// have a zero there, and so lie in another bucket, or be an addition where it was a deletion.
func TestMissingFieldsAreRefused(t *testing.T) {
	e := entry(Delete, "f")
	read := map[string]func(Folder) error{
		entrySchema: func(f Folder) error {
			return f.ReadManifest(t.Context(), FileMeta{Name: "file"}, func(*Entry) error { return nil })
		},
		listSchema: func(f Folder) error {
			_, err := f.ReadList(t.Context(), List{Name: "file"})
			return err
		},
	}
	records := map[string][]byte{entrySchema: appendEntry(nil, &e), listSchema: appendFileMeta(nil, &FileMeta{Name: "m", PartitionStats: e.File.KeyStats})}
	for text, names := range map[string][]string{
		entrySchema: {
			"_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE", "_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_MIN_KEY", "_MAX_KEY",
			"_KEY_STATS", "_VALUE_STATS", "_MIN_VALUES", "_MAX_VALUES", "_NULL_COUNTS", "_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER", "_SCHEMA_ID",
			"_LEVEL", "_EXTRA_FILES",
		},
		listSchema: {
			"_VERSION", "_FILE_NAME", "_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES", "_PARTITION_STATS", "_MIN_VALUES", "_SCHEMA_ID",
		},
	} {
		for _, name := range append(names, "") {
			damaged := text
			if name != "" {
				damaged = strings.Replace(text, `"name":"`+name+`"`, `"name":"`+name+`X"`, 1)
				require.NotEqual(t, text, damaged)
			}
			w, err := avro.NewWriter(damaged)
			require.NoError(t, err)
			w.Append(records[text])
			f := folder(t)
			require.NoError(t, fileio.WriteFile(t.Context(), f.Store, f.Path+"/file", w.Finish()))
			err = read[text](f)
			if name == "" {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, ErrCorrupt, name)
			require.ErrorContains(t, err, f.Store.URI(f.Path+"/file"), name)
		}
	}
}

// A manifest has the entries that its list counts, no more and no fewer.
func TestEntriesAreCounted(t *testing.T) {
	f := folder(t)
	meta, err := f.WriteManifest(t.Context(), "manifest-x-0", nil, []Entry{entry(Add, "a"), entry(Add, "b"), entry(Delete, "c")})
	require.NoError(t, err)
	require.Equal(t, [2]int64{2, 1}, [2]int64{meta.Added, meta.Deleted})
	for _, counts := range [][2]int64{{2, 1}, {0, 0}, {1, 1}, {2, 0}, {3, 1}, {2, 2}, {1, 2}} {
		meta.Added, meta.Deleted = counts[0], counts[1]
		read := 0
		err := f.ReadManifest(t.Context(), meta, func(*Entry) error {
			read++
			return nil
		})
		if counts == [2]int64{2, 1} || counts == [2]int64{} { // without numbers anything is taken
			require.NoError(t, err)
			require.Equal(t, 3, read)
			continue
		}
		require.ErrorIs(t, err, ErrCorrupt, counts)
		require.ErrorContains(t, err, "manifest-x-0")
	}
}
