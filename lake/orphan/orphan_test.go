package orphan_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/orphan"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

const goldenFolder = "../testdata/golden.db"

// golden copies a table that Java made into a store.
func golden(t *testing.T, name string) (store *fileiotest.Memory, table string) {
	t.Helper()
	store = fileiotest.NewMemory()
	root := filepath.Join(goldenFolder, name)
	require.NoError(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		return fileio.WriteFile(t.Context(), store, path.Join("golden.db", name, filepath.ToSlash(below)), data)
	}))
	return store, "golden.db/" + name
}

func goldenNames(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(goldenFolder)
	require.NoError(t, err)
	require.Greater(t, len(entries), 10)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func put(t *testing.T, store fileio.Store, p string) {
	t.Helper()
	require.NoError(t, fileio.WriteFile(t.Context(), store, p, []byte("x")))
}

// everything takes files of any age for orphans.
func everything() orphan.Options {
	return orphan.Options{OlderThan: time.Now().Add(time.Hour), Force: true}
}

// paths below a table's folder.
func paths(list []fileio.Info, table string) []string {
	var out []string
	for _, i := range list {
		out = append(out, strings.TrimPrefix(i.Path, table+"/"))
	}
	return out
}

func files(t *testing.T, store fileio.Store, table string) []string {
	t.Helper()
	var list []fileio.Info
	require.NoError(t, store.List(t.Context(), table, func(i fileio.Info) error {
		list = append(list, i)
		return nil
	}))
	out := paths(list, table)
	slices.Sort(out)
	return out
}

// strays are the files that were put into the golden tables when Java was asked for orphans.
func strays(name string) []string {
	const id = "00000000-0000-4000-8000-000000000000"
	part := ""
	if name == "append_partitioned" {
		part = "p_str=x/p_date=1/p_int=2/"
	}
	return []string{
		"manifest/manifest-" + id + "-0", "manifest/manifest-list-" + id + "-0", "manifest/.manifest-" + id + "-1.tmp",
		"manifest/deeper/manifest-x", "index/index-" + id + "-0", "statistics/stat-" + id + "-0",
		part + "bucket-0/data-" + id + "-0.parquet", part + "bucket-7/data-" + id + "-1.parquet.index",
		part + "bucket-postpone/changelog-" + id + "-0.parquet", part + "bucket-0/.data-" + id + "-2.parquet.tmp",
		part + "bucket-0/data-x.managed.blob", part + "bucket-0/deeper/data-y.parquet", part + "other/data-z.parquet",
		"k=v/bucket-0/data-k.parquet", "k=v/l=w/bucket-0/data-l.parquet", "k=v/l=w/m=x/bucket-0/data-m.parquet",
		"snapshot/.snapshot-99." + id + ".tmp", "snapshot/stray", "changelog/.changelog-1.tmp", "tag/.tag-x.tmp",
		"schema/.schema-9.tmp", "consumer/.consumer-x.tmp", "stray",
	}
}

func javaOrphans(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/java-orphans.txt")
	require.NoError(t, err)
	all := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		name, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		require.True(t, ok)
		if !strings.HasSuffix(file, ".managed.blob") {
			all[name] = append(all[name], file)
		}
	}
	require.Len(t, all, 4)
	return all
}

func TestFindsWhatJavaFinds(t *testing.T) {
	for name, want := range javaOrphans(t) {
		t.Run(name, func(t *testing.T) {
			store, table := golden(t, name)
			whole := files(t, store, table)
			for _, p := range strays(name) {
				put(t, store, path.Join(table, p))
			}
			before := files(t, store, table)
			slices.Sort(want)

			found, err := orphan.Find(t.Context(), store, table, everything())
			require.NoError(t, err)
			require.Equal(t, want, paths(found, table))
			require.Equal(t, before, files(t, store, table), "Find removed something")

			removed, err := orphan.Remove(t.Context(), store, table, everything())
			require.NoError(t, err)
			require.Equal(t, found, removed)
			after := files(t, store, table)
			require.Subset(t, after, whole)
			require.Len(t, after, len(before)-len(want))
		})
	}
}

// Neither Java's tables nor what our expiry leaves of them have orphans.
func TestNoOrphansWhereNoneAre(t *testing.T) {
	for _, name := range goldenNames(t) {
		t.Run(name, func(t *testing.T) {
			store, table := golden(t, name)
			found, err := orphan.Find(t.Context(), store, table, everything())
			require.NoError(t, err)
			require.Empty(t, found)
			_, err = expire.Expire(t.Context(), store, table, expire.Options{RetainMin: 1, RetainMax: 1})
			require.NoError(t, err)
			found, err = orphan.Find(t.Context(), store, table, everything())
			require.NoError(t, err)
			require.Empty(t, found)
		})
	}
}

func TestAgeAndKeep(t *testing.T) {
	store, table := golden(t, "pk_dedup")
	put(t, store, table+"/bucket-0/data-kept.parquet")
	put(t, store, table+"/bucket-0/data-orphan.parquet")

	found, err := orphan.Find(t.Context(), store, table, orphan.Options{})
	require.NoError(t, err)
	require.Empty(t, found, "all files are younger than a day")

	_, err = orphan.Find(t.Context(), store, table, orphan.Options{OlderThan: time.Now().Add(-23 * time.Hour)})
	require.ErrorIs(t, err, orphan.ErrTooYoung)
	_, err = orphan.Remove(t.Context(), store, table, orphan.Options{OlderThan: time.Now()})
	require.ErrorIs(t, err, orphan.ErrTooYoung)
	found, err = orphan.Find(t.Context(), store, table, orphan.Options{OlderThan: time.Now().Add(-25 * time.Hour)})
	require.NoError(t, err)
	require.Empty(t, found)

	o := everything()
	o.Keep = func(p string) bool { return p == table+"/bucket-0/data-kept.parquet" }
	removed, err := orphan.Remove(t.Context(), store, table, o)
	require.NoError(t, err)
	require.Equal(t, []string{"bucket-0/data-orphan.parquet"}, paths(removed, table))
	require.Contains(t, files(t, store, table), "bucket-0/data-kept.parquet")
}

// Whoever knows of files that wait for their commit is asked when all are listed, and before what names them is read: so
// nothing is missed that is committed, or comes to be known, between two of these.
func TestKeepIsAskedBetweenListingAndReading(t *testing.T) {
	store, table := golden(t, "pk_dedup")
	for i := range 3 {
		put(t, store, fmt.Sprintf("%s/bucket-0/data-orphan-%d.parquet", table, i))
	}
	put(t, store, table+"/snapshot/.snapshot-9.tmp")
	asked := map[string]bool{}
	var listed, read atomic.Bool
	o := everything()
	o.Keep = func(p string) bool {
		require.True(t, listed.Load())
		require.False(t, read.Load())
		asked[strings.TrimPrefix(p, table+"/")] = true
		return strings.Contains(p, "orphan-1") || strings.Contains(p, ".tmp")
	}
	found, err := orphan.Find(t.Context(), faultio.New(store, func(op faultio.Op) faultio.Fault {
		switch {
		case op.Kind == faultio.List && op.Path == table:
			listed.Store(true)
		case op.Kind == faultio.Open && listed.Load():
			read.Store(true)
		}
		return faultio.None
	}), table, o)
	require.NoError(t, err)
	require.Equal(t, []string{"bucket-0/data-orphan-0.parquet", "bucket-0/data-orphan-2.parquet"}, paths(found, table))
	require.Subset(t, slices.Collect(maps.Keys(asked)), []string{"snapshot/.snapshot-9.tmp", "bucket-0/data-orphan-0.parquet"})
	require.True(t, read.Load())
}

func TestAnOldFileIsFoundOnDisk(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "golden.db/pk_dedup"), os.DirFS(filepath.Join(goldenFolder, "pk_dedup"))))
	store, err := fileio.NewLocal(dir)
	require.NoError(t, err)
	const table = "golden.db/pk_dedup"
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "young": 23 * time.Hour} {
		put(t, store, table+"/bucket-0/"+name)
		when := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(filepath.Join(dir, table, "bucket-0", name), when, when))
	}
	found, err := orphan.Find(t.Context(), store, table, orphan.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"bucket-0/old"}, paths(found, table))
}

// A snapshot, tag or changelog whose metadata is missing ends the call: any file might be the one that it shows.
func TestDamageEndsTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, store fileio.Store, table string, m snapshot.Manager, f manifest.Folder)
		is     error
	}{
		"list of a snapshot": {func(t *testing.T, _ fileio.Store, _ string, m snapshot.Manager, f manifest.Folder) {
			s, err := m.Get(t.Context(), 3)
			require.NoError(t, err)
			require.NoError(t, f.Delete(t.Context(), s.BaseManifestList))
		}, orphan.ErrUnreadable},
		"manifest of a snapshot": {func(t *testing.T, _ fileio.Store, _ string, m snapshot.Manager, f manifest.Folder) {
			s, err := m.Get(t.Context(), 2)
			require.NoError(t, err)
			metas, err := f.ReadList(t.Context(), manifest.List{Name: s.DeltaManifestList})
			require.NoError(t, err)
			require.NoError(t, f.Delete(t.Context(), metas[0].Name))
		}, orphan.ErrUnreadable},
		"index manifest": {func(t *testing.T, _ fileio.Store, _ string, m snapshot.Manager, f manifest.Folder) {
			s, err := m.Latest(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, s.IndexManifest)
			require.NoError(t, f.Delete(t.Context(), s.IndexManifest))
		}, orphan.ErrUnreadable},
		"a tag that is none": {func(t *testing.T, s fileio.Store, table string, _ snapshot.Manager, _ manifest.Folder) {
			put(t, s, table+"/tag/tag-x")
		}, snapshot.ErrCorrupt},
		"a list that is none": {func(t *testing.T, store fileio.Store, table string, m snapshot.Manager, _ manifest.Folder) {
			s, err := m.Get(t.Context(), 1)
			require.NoError(t, err)
			put(t, store, table+"/manifest/"+s.DeltaManifestList)
		}, manifest.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			store, table := golden(t, "pk_deletion_vectors")
			put(t, store, table+"/bucket-0/data-orphan.parquet")
			c.damage(t, store, table, snapshot.Manager{Store: store, Table: table}, manifest.In(store, table))
			before := files(t, store, table)
			_, err := orphan.Remove(t.Context(), store, table, everything())
			require.ErrorIs(t, err, c.is)
			require.Equal(t, before, files(t, store, table))
		})
	}
}

// A branch's snapshots and tags, and what is kept of expired snapshots as changelogs, name files too.
func TestBranchesAndChangelogsNameFiles(t *testing.T) {
	for _, folder := range []string{"branch/branch-b/snapshot/snapshot-", "branch/branch-b/tag/tag-t", "tag/tag-t", "changelog/changelog-"} {
		t.Run(folder, func(t *testing.T) {
			store, table := golden(t, "append_overwrite")
			m := snapshot.Manager{Store: store, Table: table}
			for _, id := range []snapshot.ID{1, 2, 3, 4, 5} {
				data, err := fileio.ReadFile(t.Context(), store, m.Path(id), 1<<20)
				require.NoError(t, err)
				name := folder + fmt.Sprint(id)
				require.NoError(t, fileio.WriteFile(t.Context(), store, path.Join(table, name), data))
				require.NoError(t, m.Delete(t.Context(), id))
			}
			found, err := orphan.Find(t.Context(), store, table, everything())
			require.NoError(t, err)
			require.Empty(t, found)
			// Without those names, most of the table is orphaned: the test could fail.
			for _, id := range []snapshot.ID{1, 2, 3, 4, 5} {
				require.NoError(t, store.Delete(t.Context(), path.Join(table, folder+fmt.Sprint(id))))
			}
			found, err = orphan.Find(t.Context(), store, table, everything())
			require.NoError(t, err)
			require.Greater(t, len(found), 5)
		})
	}
}

// TestMeanwhile lets a commit or an expiry come before each operation of a cleaning.
func TestMeanwhile(t *testing.T) {
	m := func(s fileio.Store) snapshot.Manager { return snapshot.Manager{Store: s, Table: "golden.db/pk_dedup"} }
	commit := func(t *testing.T, s fileio.Store) {
		latest, err := m(s).Latest(t.Context())
		require.NoError(t, err)
		f := manifest.In(s, "golden.db/pk_dedup")
		names := manifest.NewNames()
		var metas []manifest.FileMeta
		for _, l := range []string{latest.BaseManifestList, latest.DeltaManifestList} {
			more, err := f.ReadList(t.Context(), manifest.List{Name: l})
			require.NoError(t, err)
			metas = append(metas, more...)
		}
		next := *latest
		next.ID++
		base, err := f.WriteList(t.Context(), names.List(), metas)
		require.NoError(t, err)
		delta, err := f.WriteList(t.Context(), names.List(), nil)
		require.NoError(t, err)
		next.BaseManifestList, next.DeltaManifestList = base.Name, delta.Name
		next.BaseManifestListSize, next.DeltaManifestListSize = nil, nil
		require.NoError(t, m(s).Publish(t.Context(), &next))
	}
	for name, action := range map[string]func(t *testing.T, s fileio.Store){
		"commit": commit,
		"expiry": func(t *testing.T, s fileio.Store) {
			_, err := expire.Expire(t.Context(), s, "golden.db/pk_dedup", expire.Options{RetainMin: 1, RetainMax: 1})
			require.NoError(t, err)
		},
		"commit and expiry of all before": func(t *testing.T, s fileio.Store) {
			commit(t, s)
			_, err := expire.Expire(t.Context(), s, "golden.db/pk_dedup", expire.Options{RetainMin: 1, RetainMax: 1})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				store, table := golden(t, "pk_dedup")
				put(t, store, table+"/bucket-0/data-orphan.parquet")
				var came, deleting atomic.Bool
				_, err := orphan.Remove(t.Context(), faultio.New(store, func(op faultio.Op) faultio.Fault {
					if op.Kind == faultio.Delete {
						deleting.Store(true)
					}
					if op.N == n && !deleting.Load() {
						came.Store(true)
						action(t, store)
					}
					return faultio.None
				}), table, everything())
				if !came.Load() {
					require.NoError(t, err)
					require.Greater(t, n, 10)
					return
				}
				require.NoError(t, err)
				require.NotContains(t, files(t, store, table), "bucket-0/data-orphan.parquet")
				readAll(t, store, table)
			}
		})
	}
}

// readAll asks that every file is there that the snapshots name.
func readAll(t *testing.T, store fileio.Store, table string) {
	t.Helper()
	m, f := snapshot.Manager{Store: store, Table: table}, manifest.In(store, table)
	ids, err := m.List(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, ids)
	names := files(t, store, table)
	for _, id := range ids {
		s, err := m.Get(t.Context(), id)
		require.NoError(t, err)
		var metas []manifest.FileMeta
		for _, l := range []string{s.BaseManifestList, s.DeltaManifestList} {
			more, err := f.ReadList(t.Context(), manifest.List{Name: l})
			require.NoError(t, err)
			metas = append(metas, more...)
		}
		require.NoError(t, f.Live(t.Context(), metas, manifest.Filter{}, func(e *manifest.Entry) error {
			require.Contains(t, names, fmt.Sprintf("bucket-%d/%s", e.Bucket, e.File.Name))
			return nil
		}))
	}
}

func TestSweepRemove(t *testing.T) {
	for name, fault := range map[string]faultio.Fault{"before": faultio.FailBefore, "after": faultio.FailAfter} {
		t.Run(name, func(t *testing.T) {
			for k := 0; ; k++ {
				store, table := golden(t, "pk_dedup")
				for i := range 3 {
					put(t, store, fmt.Sprintf("%s/bucket-0/data-orphan-%d.parquet", table, i))
				}
				put(t, store, table+"/snapshot/.snapshot-9.tmp")
				var failed atomic.Bool
				_, err := orphan.Remove(t.Context(), faultio.New(store, func(op faultio.Op) faultio.Fault {
					if op.N >= k {
						failed.Store(true)
						if op.N == k {
							return fault
						}
						return faultio.FailBefore
					}
					return faultio.None
				}), table, everything())
				if !failed.Load() {
					require.NoError(t, err)
					require.Greater(t, k, 15)
					return
				}
				if err != nil {
					require.ErrorIs(t, err, faultio.ErrInjected)
				}
				readAll(t, store, table)
				_, err = orphan.Remove(context.WithoutCancel(t.Context()), store, table, everything())
				require.NoError(t, err)
				left, err := orphan.Find(t.Context(), store, table, everything())
				require.NoError(t, err)
				require.Empty(t, left)
				readAll(t, store, table)
			}
		})
	}
}
