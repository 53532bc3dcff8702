package commit

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Whatever is merged, a table holds what was added since its last overwrite; and manifests do not pile up.
func TestMergingChangesNoTable(t *testing.T) {
	for seed, options := range []map[string]string{
		{"manifest.merge-min-count": "3", "manifest.target-file-size": "4 kb", "manifest.full-compaction-threshold-size": "10 kb"},
		{"manifest.merge-min-count": "2", "manifest.target-file-size": "8 mb", "manifest.full-compaction-threshold-size": "6 kb"},
		{"manifest.merge-min-count": "4", "manifest.target-file-size": "2500", "manifest.full-compaction-threshold-size": "1 gb"},
		{"manifest.merge-min-count": "1000", "manifest.target-file-size": "3 kb", "manifest.full-compaction-threshold-size": "12 kb"},
	} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := newBed(t, fileiotest.NewMemory(), options)
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			want := []string{}
			most := 0
			for i := range 80 {
				kind := snapshot.Append
				if random.IntN(9) == 0 {
					kind, want = snapshot.Overwrite, []string{}
				}
				var messages []*message.Commit
				for j := range random.IntN(12) {
					name := fmt.Sprintf("data-%08x-%d-%d", random.Uint32(), i, j)
					messages = append(messages, b.file(t, name, int64(j)))
					want = append(want, name)
				}
				req := b.request(kind, int64(i), messages...)
				req.Base, req.AllowEmpty = snapshot.ID(i), true
				b.publish(t, req)
				slices.Sort(want)
				require.Equal(t, want, b.names(t), "commit %d", i)
				s, err := b.snapshots.Latest(t.Context())
				require.NoError(t, err)
				metas, err := manifestsOf(t.Context(), b.manifests, s)
				require.NoError(t, err)
				checkCounts(t, b, metas)
				most = max(most, len(metas))
			}
			require.Less(t, most, 40, "manifests pile up")
			require.Empty(t, b.orphans(t))
		})
	}
}

// checkCounts makes sure that lists tell the truth of their manifests, by which readers skip them.
func checkCounts(t *testing.T, b *bed, metas []manifest.FileMeta) {
	t.Helper()
	for _, m := range metas {
		var added, deleted int64
		require.NoError(t, b.manifests.ReadManifest(t.Context(), m, func(e *manifest.Entry) error {
			if e.Kind == manifest.Add {
				added++
			} else {
				deleted++
			}
			return nil
		}))
		require.Equal(t, [2]int64{m.Added, m.Deleted}, [2]int64{added, deleted})
		info, err := b.store.Stat(t.Context(), path.Join(b.manifests.Path, m.Name))
		require.NoError(t, err)
		require.Equal(t, m.Size, info.Size)
	}
}

// A full merge drops deletions together with what they delete, also where that lies in a manifest that is large enough
// to be left alone; else the deleted files would come back.
func TestAFullMergeReachesLargeManifests(t *testing.T) {
	b := newBed(t, fileiotest.NewMemory(), map[string]string{
		"manifest.target-file-size": "2 kb", "manifest.full-compaction-threshold-size": "2 kb", "manifest.merge-min-count": "100",
	})
	var many []*message.Commit
	for i := range 40 {
		many = append(many, b.file(t, fmt.Sprintf("large-%d-%x", i, i*2654435761), 1))
	}
	b.publish(t, b.request(snapshot.Append, 1, many...))
	s, err := b.snapshots.Latest(t.Context())
	require.NoError(t, err)
	metas, err := manifestsOf(t.Context(), b.manifests, s)
	require.NoError(t, err)
	require.Len(t, metas, 1)
	require.Greater(t, metas[0].Size, int64(2048))

	replace := b.request(snapshot.Overwrite, 2, b.file(t, "new", 1))
	replace.Base = 1
	b.publish(t, replace)
	last := b.request(snapshot.Append, 3, b.file(t, "newer", 1))
	last.Base = 2
	b.publish(t, last)
	require.Equal(t, []string{"new", "newer"}, b.names(t))
	s, err = b.snapshots.Latest(t.Context())
	require.NoError(t, err)
	base, err := b.manifests.ReadList(t.Context(), manifest.List{Name: s.BaseManifestList})
	require.NoError(t, err)
	require.Len(t, base, 1)
	require.Equal(t, [2]int64{1, 0}, [2]int64{base[0].Added, base[0].Deleted})
}

// Manifests that Java merged and ours merge alike: the same files live.
func TestMergingJavasManifests(t *testing.T) {
	for _, table := range []string{"append_tags", "append_overwrite", "append_partitioned", "append_schema_evolution"} {
		c := copyOf(t, table, 99)
		s, err := c.snapshots.Latest(t.Context())
		require.NoError(t, err)
		want := live(t, c, s)
		metas, err := manifestsOf(t.Context(), c.manifests, s)
		require.NoError(t, err)
		latest, err := c.schemas.Latest(t.Context())
		require.NoError(t, err)
		types, err := latest.PartitionTypes()
		require.NoError(t, err)
		for _, o := range []options{
			{target: 8 << 20, fullThreshold: 1, minCount: 30},
			{target: 8 << 20, fullThreshold: 16 << 20, minCount: 2},
			{target: 1, fullThreshold: 16 << 20, minCount: 2},
		} {
			m := &merger{folder: c.manifests, names: manifest.NewNames(), partition: types, options: o}
			merged, err := m.merge(t.Context(), metas)
			require.NoError(t, err)
			var got []manifest.Entry
			require.NoError(t, c.manifests.Live(t.Context(), merged, manifest.Filter{}, func(e *manifest.Entry) error {
				got = append(got, *e)
				return nil
			}))
			require.ElementsMatch(t, want, got, "%s %v", table, o)
		}
	}
}

func TestBrokenOptionsAreNamed(t *testing.T) {
	for key, value := range map[string]string{
		"manifest.merge-min-count": "many", "manifest.target-file-size": "x", "manifest.full-compaction-threshold-size": "16 yb",
	} {
		b := newBed(t, fileiotest.NewMemory(), map[string]string{key: value})
		err := b.Check(t.Context(), b.request(snapshot.Append, 1, b.file(t, "a", 1)))
		require.ErrorIs(t, err, ErrRefused)
		require.ErrorContains(t, err, key)
	}
}
