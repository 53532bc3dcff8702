package commit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

func local(t *testing.T, root string) fileio.Store {
	t.Helper()
	s, err := fileio.NewLocal(root)
	require.NoError(t, err)
	return s
}

func golden(t *testing.T, table string) *Committer {
	t.Helper()
	root, err := filepath.Abs("testdata/golden")
	require.NoError(t, err)
	return New(local(t, root), table)
}

// copyOf copies a table of Java's, without the snapshots after one.
func copyOf(t *testing.T, table string, until snapshot.ID) *Committer {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, table), os.DirFS(filepath.Join("testdata/golden", table))))
	c := New(local(t, root), table)
	ids, err := c.snapshots.List(t.Context())
	require.NoError(t, err)
	for _, id := range ids {
		if id > until {
			require.NoError(t, c.store.Delete(t.Context(), c.snapshots.Path(id)))
		}
	}
	return c
}

// deltaOf returns the entries that a snapshot added and those that it deleted.
func deltaOf(t *testing.T, c *Committer, s *snapshot.Snapshot) (metas []manifest.FileMeta, added, deleted []manifest.Entry) {
	t.Helper()
	metas, err := c.manifests.ReadList(t.Context(), manifest.List{Name: s.DeltaManifestList, Size: *s.DeltaManifestListSize})
	require.NoError(t, err)
	for _, m := range metas {
		require.NoError(t, c.manifests.ReadManifest(t.Context(), m, func(e *manifest.Entry) error {
			if e.Kind == manifest.Add {
				added = append(added, *e)
			} else {
				deleted = append(deleted, *e)
			}
			return nil
		}))
	}
	return metas, added, deleted
}

// requestOf makes the request that leads to a snapshot of Java's.
func requestOf(t *testing.T, c *Committer, s *snapshot.Snapshot) Request {
	t.Helper()
	_, added, _ := deltaOf(t, c, s)
	planned, err := c.schemas.Get(t.Context(), s.SchemaID)
	require.NoError(t, err)
	req := Request{
		User: s.CommitUser, Identifier: s.CommitIdentifier, Kind: s.CommitKind, Planned: planned, Base: s.ID - 1,
		Properties: s.Properties, Watermark: s.Watermark,
	}
	for _, e := range added {
		req.Messages = append(req.Messages, &message.Commit{
			Partition: e.Partition, Bucket: e.Bucket, TotalBuckets: &e.TotalBuckets,
			Data: message.DataIncrement{NewFiles: []manifest.DataFile{e.File}},
		})
	}
	return req
}

// essence is a snapshot without what no two committers have in common.
func essence(s *snapshot.Snapshot) snapshot.Snapshot {
	c := *s
	c.BaseManifestList, c.DeltaManifestList, c.TimeMillis = "", "", 0
	c.BaseManifestListSize, c.DeltaManifestListSize = nil, nil
	return c
}

func nameless(metas []manifest.FileMeta) []manifest.FileMeta {
	for i := range metas {
		metas[i].Name, metas[i].Size = "", 0
	}
	return metas
}

// What Java committed is committed again by us on top of Java's own table: the snapshot and its entries are the same.
func TestTheSameCommitAsJava(t *testing.T) {
	for _, c := range []struct {
		table string
		ids   []snapshot.ID
	}{
		{"append_tags", []snapshot.ID{1, 2, 3}},
		{"append_partitioned", []snapshot.ID{1, 2}},
		{"append_overwrite", []snapshot.ID{1, 2, 6}},
		{"append_schema_evolution", []snapshot.ID{1}},
	} {
		for _, id := range c.ids {
			java := golden(t, c.table)
			want, err := java.snapshots.Get(t.Context(), id)
			require.NoError(t, err)
			req := requestOf(t, java, want)
			mine := copyOf(t, c.table, id-1)
			if c.table == "append_schema_evolution" {
				for _, later := range []schema.ID{1, 2, 3, 4} {
					require.NoError(t, mine.store.Delete(t.Context(), mine.table+"/schema/schema-"+string('0'+rune(later))))
				}
			}

			require.NoError(t, mine.Check(t.Context(), req))
			result, err := mine.Publish(t.Context(), req)
			require.NoError(t, err, "%s %d", c.table, id)
			require.Equal(t, Result{Snapshot: id, Kind: want.CommitKind, Properties: want.Properties}, result)
			got, err := mine.snapshots.Latest(t.Context())
			require.NoError(t, err)
			require.Equal(t, essence(want), essence(got), "%s %d", c.table, id)

			wantMetas, wantAdded, wantDeleted := deltaOf(t, java, want)
			gotMetas, gotAdded, gotDeleted := deltaOf(t, mine, got)
			require.ElementsMatch(t, wantAdded, gotAdded)
			require.ElementsMatch(t, wantDeleted, gotDeleted)
			require.Equal(t, nameless(wantMetas), nameless(gotMetas))
			require.ElementsMatch(t, live(t, java, want), live(t, mine, got))
		}
	}
}

func live(t *testing.T, c *Committer, s *snapshot.Snapshot) []manifest.Entry {
	t.Helper()
	var entries []manifest.Entry
	require.NoError(t, LiveEntries(t.Context(), c.store, c.table, s, func(e *manifest.Entry) error {
		entries = append(entries, *e)
		return nil
	}))
	return entries
}
