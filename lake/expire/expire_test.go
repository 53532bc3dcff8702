package expire_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/partition"
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

// files are the paths of all files of a table, below its folder.
func files(t *testing.T, store fileio.Store, table string) []string {
	t.Helper()
	var list []string
	require.NoError(t, store.List(t.Context(), table, func(i fileio.Info) error {
		list = append(list, strings.TrimPrefix(i.Path, table+"/"))
		return nil
	}))
	slices.Sort(list)
	return list
}

// shown reads a snapshot as a fresh reader does and returns the data and index files that it shows, each of which is
// there with its size.
func shown(t *testing.T, store fileio.Store, table string, s *snapshot.Snapshot) []string {
	t.Helper()
	latest, err := snapshot.Schemas{Store: store, Table: table}.Latest(t.Context())
	require.NoError(t, err)
	layout, err := partition.LayoutOf(table, latest)
	require.NoError(t, err)
	folder := manifest.In(store, table)
	var list []string
	have := func(p string, size int64) {
		i, err := store.Stat(t.Context(), p)
		require.NoError(t, err, "snapshot %d", s.ID)
		if size >= 0 {
			require.Equal(t, size, i.Size, p)
		}
		list = append(list, p)
	}
	var metas []manifest.FileMeta
	for _, name := range []string{s.BaseManifestList, s.DeltaManifestList} {
		more, err := folder.ReadList(t.Context(), manifest.List{Name: name})
		require.NoError(t, err, "snapshot %d", s.ID)
		metas = append(metas, more...)
	}
	// Every identity that is added and not deleted, straight from the entries.
	added, deleted := map[string]manifest.Entry{}, map[string]bool{}
	for _, m := range metas {
		require.NoError(t, folder.ReadManifest(t.Context(), m, func(e *manifest.Entry) error {
			if e.Kind == manifest.Add {
				added[e.Identity()] = *e
			} else {
				deleted[e.Identity()] = true
			}
			return nil
		}), "snapshot %d", s.ID)
	}
	for id, e := range added {
		if deleted[id] {
			continue
		}
		values, err := layout.Values(e.Partition)
		require.NoError(t, err)
		bucket := layout.Bucket(values, e.Bucket)
		have(path.Join(bucket, e.File.Name), e.File.Size)
		for _, x := range e.File.ExtraFiles {
			have(path.Join(bucket, x), -1)
		}
	}
	if s.IndexManifest != "" {
		entries, err := folder.ReadIndex(t.Context(), s.IndexManifest)
		require.NoError(t, err)
		for _, e := range entries {
			have(path.Join(table, "index", e.File.Name), e.File.Size)
		}
	}
	if s.Statistics != "" {
		have(path.Join(table, "statistics", s.Statistics), -1)
	}
	slices.Sort(list)
	return list
}

// histories reads all snapshots from one on, and all tags.
func histories(t *testing.T, store fileio.Store, table string, from snapshot.ID) map[string][]string {
	t.Helper()
	m := snapshot.Manager{Store: store, Table: table}
	all := map[string][]string{}
	ids, err := m.List(t.Context())
	require.NoError(t, err)
	for _, id := range ids {
		if id >= from {
			s, err := m.Get(t.Context(), id)
			require.NoError(t, err)
			all[fmt.Sprint(id)] = shown(t, store, table, s)
		}
	}
	tags, err := m.Tags(t.Context())
	require.NoError(t, err)
	for _, name := range tags {
		s, err := m.Tag(t.Context(), name)
		require.NoError(t, err)
		all[name] = shown(t, store, table, s)
	}
	return all
}

// everything lets all snapshots go but the newest n.
func everything(n int) expire.Options {
	return expire.Options{RetainMin: n, RetainMax: n, OlderThan: time.Now().Add(time.Hour)}
}

// TestExpireRemovesWhatJavaRemoves compares, for every golden table, which files an expiry removes with the list that
// Paimon's own left behind.
func TestExpireRemovesWhatJavaRemoves(t *testing.T) {
	for name, cases := range javaRemoved(t) {
		for keep, want := range cases {
			t.Run(fmt.Sprintf("%s keep %d", name, keep), func(t *testing.T) {
				store, table := golden(t, name)
				before := files(t, store, table)
				ids, err := snapshot.Manager{Store: store, Table: table}.List(t.Context())
				require.NoError(t, err)
				stay := ids[len(ids)-keep]
				readable := histories(t, store, table, stay)

				o := everything(keep)
				o.DryRun = true
				dry, err := expire.Expire(t.Context(), store, table, o)
				require.NoError(t, err)
				require.Equal(t, before, files(t, store, table), "a dry run removed something")

				o.DryRun = false
				result, err := expire.Expire(t.Context(), store, table, o)
				require.NoError(t, err)
				require.Equal(t, dry, result)
				require.Equal(t, ids[:len(ids)-keep], result.Snapshots)
				require.Equal(t, stay, result.Earliest)

				after := files(t, store, table)
				require.Equal(t, want, without(before, after))
				require.Equal(t, readable, histories(t, store, table, stay))
				hint, err := snapshot.Manager{Store: store, Table: table}.EarliestHint(t.Context())
				require.NoError(t, err)
				require.Equal(t, stay, hint)

				again, err := expire.Expire(t.Context(), store, table, o)
				require.NoError(t, err)
				require.Equal(t, &expire.Result{Earliest: stay}, again)
			})
		}
	}
}

func without(list, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(p string) bool { return slices.Contains(gone, p) })
}

// javaRemoved reads which files Paimon's expiry removed, by table and number of snapshots kept.
func javaRemoved(t *testing.T) map[string]map[int][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/java-expire.txt")
	require.NoError(t, err)
	all := map[string]map[int][]string{}
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		require.Len(t, parts, 3)
		keep := int(parts[1][0] - '0')
		if all[parts[0]] == nil {
			all[parts[0]] = map[int][]string{}
		}
		all[parts[0]][keep] = append(all[parts[0]][keep], parts[2])
	}
	require.Greater(t, len(all), 10)
	for _, cases := range all {
		for _, list := range cases {
			slices.Sort(list)
		}
	}
	return all
}

func TestRetention(t *testing.T) {
	ms := func(id int) time.Time { return time.UnixMilli(int64(1000 * id)) }
	for name, c := range map[string]struct {
		options map[string]string
		o       expire.Options
		want    snapshot.ID // earliest of 1 to 20, made at 1 s, 2 s, ...
	}{
		"defaults keep ten":                 {nil, expire.Options{}, 11},
		"table's minimum":                   {map[string]string{"snapshot.num-retained.min": "3"}, expire.Options{}, 18},
		"minimum by argument":               {map[string]string{"snapshot.num-retained.min": "3"}, expire.Options{RetainMin: 5}, 16},
		"limit":                             {map[string]string{"snapshot.expire.limit": "4"}, expire.Options{}, 5},
		"limit by argument":                 {nil, expire.Options{Limit: 2}, 3},
		"successor as old as the bound":     {nil, expire.Options{RetainMin: 1, OlderThan: ms(8)}, 7},
		"successor older than the bound":    {nil, expire.Options{RetainMin: 1, OlderThan: ms(8).Add(time.Millisecond)}, 8},
		"maximum beats age":                 {nil, expire.Options{RetainMin: 1, RetainMax: 6, OlderThan: ms(1)}, 15},
		"minimum beats age":                 {nil, expire.Options{RetainMin: 6, OlderThan: ms(100)}, 15},
		"table's time":                      {map[string]string{"snapshot.time-retained": "400000 d"}, expire.Options{RetainMin: 1}, 1},
		"changelogs as long as snapshots":   {map[string]string{"changelog.num-retained.min": "10"}, expire.Options{}, 11},
		"a younger table than its maximum":  {nil, expire.Options{RetainMin: 1, RetainMax: 50, OlderThan: ms(1)}, 1},
		"consumer at the first it may lose": {map[string]string{"consumer": "4"}, expire.Options{RetainMin: 1}, 4},
		"consumer ahead of the table":       {map[string]string{"consumer": "21"}, expire.Options{RetainMin: 1}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, c.options)
			for range 20 {
				b.commit(nil, nil)
			}
			if next := c.options["consumer"]; next != "" {
				var id snapshot.ID
				_, err := fmt.Sscan(next, &id)
				require.NoError(t, err)
				require.NoError(t, b.snapshots.CreateConsumer(t.Context(), "reader", id))
			}
			result, err := expire.Expire(t.Context(), b.store, b.table, c.o)
			require.NoError(t, err)
			require.Equal(t, c.want, result.Earliest)
			first, err := b.snapshots.EarliestID(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, first)
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		options map[string]string
		o       expire.Options
		file    string
		want    string
		is      error
	}{
		"longer changelogs":       {options: map[string]string{"changelog.num-retained.min": "11"}, want: "changelog.*", is: expire.ErrUnsupported},
		"later changelogs":        {options: map[string]string{"changelog.time-retained": "2 h"}, want: "changelog.*", is: expire.ErrUnsupported},
		"changelogs there":        {file: "changelog/changelog-1", want: "keeps changelogs", is: expire.ErrUnsupported},
		"data elsewhere":          {options: map[string]string{"data-file.path-directory": "d"}, want: "data-file.path-directory", is: expire.ErrUnsupported},
		"data outside":            {options: map[string]string{"data-file.external-paths": "s3://x"}, want: "data-file.external-paths", is: expire.ErrUnsupported},
		"index among data":        {options: map[string]string{"index-file-in-data-file-dir": "true"}, want: "index-file-in-data-file-dir", is: expire.ErrUnsupported},
		"nothing stays":           {options: map[string]string{"snapshot.num-retained.min": "0"}, want: "latest snapshot must stay"},
		"maximum below minimum":   {o: expire.Options{RetainMin: 4, RetainMax: 3}, want: "less than"},
		"no limit":                {options: map[string]string{"snapshot.expire.limit": "0"}, want: "snapshot.expire.limit"},
		"time without a number":   {options: map[string]string{"snapshot.time-retained": "an hour"}, want: "snapshot.time-retained"},
		"time of unknown unit":    {options: map[string]string{"snapshot.time-retained": "3 weeks"}, want: "unknown unit"},
		"minimum not a number":    {options: map[string]string{"snapshot.num-retained.min": "many"}, want: "whole number"},
		"a consumer of no number": {file: "consumer/consumer-x", want: "consumer x", is: snapshot.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, c.options)
			for range 20 {
				b.commit(nil, nil)
			}
			if c.file != "" {
				require.NoError(t, fileio.WriteFile(t.Context(), b.store, path.Join(b.table, c.file), []byte("?")))
			}
			before := files(t, b.store, b.table)
			_, err := expire.Expire(t.Context(), b.store, b.table, c.o)
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			require.Equal(t, before, files(t, b.store, b.table))
		})
	}
}

func TestNoTableIsAnError(t *testing.T) {
	_, err := expire.Expire(t.Context(), fileiotest.NewMemory(), "db.db/t", expire.Options{})
	require.ErrorIs(t, err, fileio.ErrNotExist)
}

func TestEmptyTableHasNothingToExpire(t *testing.T) {
	b := newBed(t, nil)
	result, err := expire.Expire(context.WithoutCancel(t.Context()), b.store, b.table, everything(1))
	require.NoError(t, err)
	require.Equal(t, &expire.Result{}, result)
}
