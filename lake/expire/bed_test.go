package expire_test

import (
	"fmt"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// bed is a table whose snapshots a test puts together entry by entry, also such as no committer would make.
type bed struct {
	*testing.T
	store     *fileiotest.Memory
	table     string
	snapshots snapshot.Manager
	manifests manifest.Folder
	names     *manifest.Names
	latest    *snapshot.Snapshot
}

func newBed(t *testing.T, options map[string]string) *bed {
	t.Helper()
	b := &bed{T: t, store: fileiotest.NewMemory(), table: "db.db/t", names: manifest.NewNames()}
	b.snapshots = snapshot.Manager{Store: b.store, Table: b.table}
	b.manifests = manifest.In(b.store, b.table)
	table := &schema.Table{
		Fields:         []schema.Field{{ID: 0, Name: "a", Type: schema.Type{Kind: schema.Int}}},
		HighestFieldID: 0, Options: options,
	}
	require.NoError(t, snapshot.Schemas{Store: b.store, Table: b.table}.Create(t.Context(), table))
	return b
}

// entry of the data file of a name.
func entry(kind manifest.Kind, name string, level int32, extra ...string) manifest.Entry {
	if extra == nil {
		extra = []string{}
	}
	return manifest.Entry{
		Kind: kind, Partition: make([]byte, 12), Bucket: 0, TotalBuckets: 1,
		File: manifest.DataFile{
			Name: name, Size: int64(len(name)), Rows: 1, MinKey: make([]byte, 12), MaxKey: make([]byte, 12),
			KeyStats: manifest.EmptyStats(), ValueStats: manifest.EmptyStats(), ExtraFiles: extra, Level: level,
		},
	}
}

func add(name string, level int32, extra ...string) manifest.Entry {
	return entry(manifest.Add, name, level, extra...)
}

func del(name string, level int32, extra ...string) manifest.Entry {
	return entry(manifest.Delete, name, level, extra...)
}

// put writes a file that holds its own name.
func (b *bed) put(below string) {
	b.Helper()
	require.NoError(b, fileio.WriteFile(b.Context(), b.store, path.Join(b.table, below), []byte(path.Base(below))))
}

// manifest writes entries and a list of them. Added files come into being, where they are not there yet.
func (b *bed) list(entries []manifest.Entry) string {
	b.Helper()
	var metas []manifest.FileMeta
	if len(entries) > 0 {
		meta, err := b.manifests.WriteManifest(b.Context(), b.names.Manifest(), nil, entries)
		require.NoError(b, err)
		metas = append(metas, meta)
	}
	for i := range entries {
		if entries[i].Kind == manifest.Add {
			for _, name := range append([]string{entries[i].File.Name}, entries[i].File.ExtraFiles...) {
				b.put("bucket-0/" + name)
			}
		}
	}
	l, err := b.manifests.WriteList(b.Context(), b.names.List(), metas)
	require.NoError(b, err)
	return l.Name
}

// commit publishes the next snapshot, one second younger than the one before, and returns its id. The base list is all
// manifests before.
func (b *bed) commit(delta, changelog []manifest.Entry) snapshot.ID {
	b.Helper()
	s := &snapshot.Snapshot{
		Version: 3, ID: 1, CommitUser: "u", CommitKind: snapshot.Append, BaseManifestList: b.base(), DeltaManifestList: b.list(delta),
	}
	if b.latest != nil {
		s.ID = b.latest.ID + 1
	}
	if changelog != nil {
		s.ChangelogManifestList = b.list(changelog)
	}
	s.CommitIdentifier, s.TimeMillis = int64(s.ID), int64(s.ID)*1000
	require.NoError(b, b.snapshots.Publish(b.Context(), s))
	b.latest = s
	return s.ID
}

// base writes the list of all manifests of the latest snapshot.
func (b *bed) base() string {
	var metas []manifest.FileMeta
	if b.latest != nil {
		for _, name := range []string{b.latest.BaseManifestList, b.latest.DeltaManifestList} {
			more, err := b.manifests.ReadList(b.Context(), manifest.List{Name: name})
			require.NoError(b, err)
			metas = append(metas, more...)
		}
	}
	l, err := b.manifests.WriteList(b.Context(), b.names.List(), metas)
	require.NoError(b, err)
	return l.Name
}

// dataFiles that are there.
func (b *bed) dataFiles() []string {
	b.Helper()
	return files(b.T, b.store, b.table+"/bucket-0")
}

func (b *bed) tag(name string, id snapshot.ID) {
	b.Helper()
	require.NoError(b, b.snapshots.CreateTag(b.Context(), name, id))
}

// branch makes a branch of a snapshot, as Paimon does.
func (b *bed) branch(name string, id snapshot.ID) {
	b.Helper()
	data, err := fileio.ReadFile(b.Context(), b.store, b.snapshots.Path(id), 1<<20)
	require.NoError(b, err)
	p := path.Join(b.table, "branch", "branch-"+name, "snapshot", fmt.Sprintf("snapshot-%d", id))
	require.NoError(b, fileio.WriteFile(b.Context(), b.store, p, data))
}
