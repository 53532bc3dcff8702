package compact_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/compact"
	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/orphan"
	"github.com/tributary-lake/tributary/lake/schema"
)

const goldenFolder = "../testdata/golden.db"

// onDisk copies a golden table into a warehouse that Java can read.
func onDisk(t *testing.T, name string) (warehouse string, store fileio.Store, table string) {
	t.Helper()
	warehouse = t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(warehouse, "golden.db", name), os.DirFS(filepath.Join(goldenFolder, name))))
	local, err := fileio.NewLocal(warehouse)
	require.NoError(t, err)
	return warehouse, local, "golden.db/" + name
}

// shape says of the live files of each bucket what a compaction decides.
func shape(files []testenv.DataFile) map[string][]string {
	all := map[string][]string{}
	for _, f := range files {
		key := fmt.Sprintf("%sbucket-%d of %d", f.PartitionPath, f.Bucket, f.TotalBuckets)
		deletes := int64(0)
		if f.DeleteRows != nil {
			deletes = *f.DeleteRows
		}
		all[key] = append(all[key], fmt.Sprintf("level %d, rows %d, sequence %d to %d, deletes %d, keys %s to %s",
			f.Level, f.Rows, f.MinSequence, f.MaxSequence, deletes, text(f.MinKey), text(f.MaxKey)))
	}
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

func text(key map[string]*string) string {
	s := ""
	for _, name := range slices.Sorted(maps.Keys(key)) {
		value := "null"
		if key[name] != nil {
			value = *key[name]
		}
		s += name + "=" + value + " "
	}
	return s
}

// TestJavaReadsTheSame compacts copies of Java's tables and has Java read them: as before and, for key tables, as Java's own
// compaction leaves them, file by file.
func TestJavaReadsTheSame(t *testing.T) {
	java := testenv.Referee(t)
	entries, err := os.ReadDir(goldenFolder)
	require.NoError(t, err)
	compacted, compared := 0, 0
	for _, e := range entries {
		name := e.Name()
		t.Run(name, func(t *testing.T) {
			ours, store, table := onDisk(t, name)
			c, err := compact.New(t.Context(), store, table, compact.Options{Full: true})
			if name == "pk_deletion_vectors" {
				require.ErrorIs(t, err, schema.ErrNotWritable)
				return
			}
			require.NoError(t, err)
			p, err := c.Plan(t.Context())
			require.NoError(t, err)
			before := java.Read(t, ours, "golden."+name, 0)
			theirs, _, _ := onDisk(t, name)
			java.Compact(t, theirs, "golden."+name)
			want := java.Read(t, theirs, "golden."+name, 0)

			r, err := compact.Run(t.Context(), store, table, "compactor", 1, compact.Options{Full: true})
			require.NoError(t, err)
			require.Equal(t, len(p.Tasks) > 0, r.Snapshot > 0)
			if r.Snapshot > 0 {
				compacted++
			}
			require.Equal(t, want, java.Read(t, ours, "golden."+name, 0))
			if name != "pk_first_row" { // whose level 0 was hidden
				require.Equal(t, before, java.Read(t, ours, "golden."+name, 0))
			}
			if keyed := java.Describe(t, theirs, "golden."+name, 0); keyed.BucketMode == "HASH_FIXED" && name[:2] == "pk" {
				compared++
				require.Equal(t, shape(keyed.Files), shape(java.Describe(t, ours, "golden."+name, 0).Files))
			}

			// Java goes on from there: it compacts, we expire, nothing is lost and nothing left behind.
			java.Compact(t, ours, "golden."+name)
			require.Equal(t, want, java.Read(t, ours, "golden."+name, 0))
			_, err = expire.Expire(t.Context(), store, table, expire.Options{RetainMin: 1, RetainMax: 1})
			require.NoError(t, err)
			require.Equal(t, want, java.Read(t, ours, "golden."+name, 0))
			require.Empty(t, java.CleanOrphans(t, ours, "golden."+name, 0))
		})
	}
	require.Greater(t, compacted, 8, "hardly a table was compacted")
	require.Equal(t, 8, compared, "key tables that both compacted")
}

// TestJavaReadsOurFiles has Java read what we wrote, compacted and expired, and compact it further.
func TestJavaReadsOurFiles(t *testing.T) {
	java := testenv.Referee(t)
	for name, b := range map[string]*bed{
		"append":  newBed(t, nil, []string{"part"}, nil),
		"buckets": newBed(t, nil, nil, map[string]string{"bucket": "2", "bucket-key": "id"}),
		"keys":    newBed(t, []string{"id"}, nil, map[string]string{"bucket": "2"}),
		"partial": newBed(t, []string{"id"}, nil, map[string]string{"bucket": "1", "merge-engine": "partial-update"}),
	} {
		t.Run(name, func(t *testing.T) {
			warehouse := t.TempDir()
			disk, err := fileio.NewLocal(warehouse)
			require.NoError(t, err)
			b.T = t
			b.moveTo(disk)
			for i := range 6 {
				b.write(rowOf{id: i, part: i % 2, text: "a"}, rowOf{id: i + 1, part: 1, text: "b"}, rowOf{id: 100 - i, part: 1})
			}
			want := java.Read(t, warehouse, "db.t", 0)
			require.NotEmpty(t, want)
			r := b.run(compact.Options{})
			require.Greater(t, r.Before, r.After)
			require.Equal(t, want, java.Read(t, warehouse, "db.t", 0))
			_, err = expire.Expire(t.Context(), disk, tablePath, expire.Options{RetainMin: 1, RetainMax: 1})
			require.NoError(t, err)
			require.Equal(t, want, java.Read(t, warehouse, "db.t", 0))
			require.Empty(t, java.CleanOrphans(t, warehouse, "db.t", 0))
			b.write(rowOf{id: 3, part: 1, text: "c"})
			want = java.Read(t, warehouse, "db.t", 0)
			java.Compact(t, warehouse, "db.t")
			require.Equal(t, want, java.Read(t, warehouse, "db.t", 0))
			java.Expire(t, warehouse, "db.t", 1)
			found, err := orphan.Find(t.Context(), disk, tablePath, orphan.Options{OlderThan: time.Now().Add(time.Hour), Force: true})
			require.NoError(t, err)
			require.Empty(t, found)
			require.Equal(t, want, java.Read(t, warehouse, "db.t", 0))
		})
	}
}
