package orphan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/orphan"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// onDisk copies a golden table into a warehouse that Java can read.
func onDisk(t *testing.T, name string) (warehouse string, store fileio.Store, table string) {
	t.Helper()
	warehouse = t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(warehouse, "golden.db", name), os.DirFS(filepath.Join(goldenFolder, name))))
	local, err := fileio.NewLocal(warehouse)
	require.NoError(t, err)
	return warehouse, local, "golden.db/" + name
}

// untag lets all tags go, the golden one included that is to live for a century.
func untag(t *testing.T, store fileio.Store, table string) {
	t.Helper()
	tags, err := snapshot.Manager{Store: store, Table: table}.Tags(t.Context())
	require.NoError(t, err)
	for _, name := range tags {
		_, err := expire.DeleteTag(t.Context(), store, table, name, false)
		require.NoError(t, err)
	}
}

// What our expiry leaves of Java's tables, Java reads as before, and its orphan cleaning finds nothing in it.
func TestJavaFindsNoOrphansAfterOurExpiry(t *testing.T) {
	java := testenv.Referee(t)
	for _, name := range goldenNames(t) {
		t.Run(name, func(t *testing.T) {
			warehouse, store, table := onDisk(t, name)
			m := snapshot.Manager{Store: store, Table: table}
			ids, err := m.List(t.Context())
			require.NoError(t, err)
			keep := min(2, len(ids))
			rows := map[snapshot.ID][]string{}
			for _, id := range ids[len(ids)-keep:] {
				rows[id] = java.Read(t, warehouse, "golden."+name, int64(id))
			}
			same := func() {
				t.Helper()
				left, err := m.List(t.Context())
				require.NoError(t, err)
				for _, id := range left {
					require.Equal(t, rows[id], java.Read(t, warehouse, "golden."+name, int64(id)))
				}
				require.Empty(t, java.CleanOrphans(t, warehouse, "golden."+name, 0))
			}
			for n := keep; n >= 1; n-- {
				_, err = expire.Expire(t.Context(), store, table, expire.Options{RetainMin: n, RetainMax: n})
				require.NoError(t, err)
				same()
			}
			untag(t, store, table)
			same()
			stray := filepath.Join(warehouse, filepath.FromSlash(table), "manifest", "manifest-stray")
			require.NoError(t, os.WriteFile(stray, []byte("x"), 0o600))
			old := time.Now().Add(-time.Hour)
			require.NoError(t, os.Chtimes(stray, old, old))
			require.Len(t, java.CleanOrphans(t, warehouse, "golden."+name, 0), 1, "Java finds no orphan at all")
		})
	}
}

// What Java's expiry leaves of its tables has no orphans for us either, and what it reads stays the same when we go on.
func TestWeFindNoOrphansAfterJavasExpiry(t *testing.T) {
	java := testenv.Referee(t)
	for _, name := range goldenNames(t) {
		t.Run(name, func(t *testing.T) {
			warehouse, store, table := onDisk(t, name)
			latest, err := snapshot.Manager{Store: store, Table: table}.LatestID(t.Context())
			require.NoError(t, err)
			rows := java.Read(t, warehouse, "golden."+name, int64(latest))
			for _, n := range []int{2, 1} {
				java.Expire(t, warehouse, "golden."+name, n)
				found, err := orphan.Remove(t.Context(), store, table, orphan.Options{OlderThan: time.Now().Add(time.Hour), Force: true})
				require.NoError(t, err)
				require.Empty(t, found)
			}
			require.Equal(t, rows, java.Read(t, warehouse, "golden."+name, int64(latest)))
		})
	}
}

// Deleting tags whose snapshots have expired leaves the files that Java leaves.
func TestDeletingTagsLeavesWhatJavaLeaves(t *testing.T) {
	java := testenv.Referee(t)
	for _, name := range []string{"append_overwrite", "pk_dedup", "pk_deletion_vectors", "pk_changelog_input"} {
		t.Run(name, func(t *testing.T) {
			var left [2][]string
			for side := range left {
				// Both are copies of one table, so that file names are the same.
				warehouse, store, table := onDisk(t, name)
				m := snapshot.Manager{Store: store, Table: table}
				ids, err := m.List(t.Context())
				require.NoError(t, err)
				for _, id := range ids[:len(ids)-1] {
					require.NoError(t, m.CreateTagFor(t.Context(), fmt.Sprintf("of-%d", id), id, time.Now(), time.Hour))
				}
				require.Len(t, java.Describe(t, warehouse, "golden."+name, 0).Tags, len(ids)-1)
				java.Expire(t, warehouse, "golden."+name, 1)
				before := len(files(t, store, table))
				// In an order in which neighbours go first and last.
				for _, i := range []int{1, 0, 2, 3, 4} {
					if i >= len(ids)-1 {
						continue
					}
					if tag := fmt.Sprintf("of-%d", ids[i]); side == 0 {
						java.Untag(t, warehouse, "golden."+name, tag)
					} else {
						_, err := expire.DeleteTag(t.Context(), store, table, tag, false)
						require.NoError(t, err)
					}
					require.Empty(t, java.CleanOrphans(t, warehouse, "golden."+name, 0))
				}
				left[side] = files(t, store, table)
				require.Less(t, len(left[side]), before)
			}
			require.Equal(t, left[0], left[1])
		})
	}
}
