package expire_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/orphan"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// history is what a random table should hold, kept beside it.
type history struct {
	*bed
	random *rand.Rand
	made   int
	live   map[string]int32 // level by name
	shows  map[snapshot.ID][]string
	tags   map[string][]string
}

// commitRandomly adds, deletes and lifts files.
func (h *history) commitRandomly() {
	var delta, changes []manifest.Entry
	for _, name := range slices.Sorted(maps.Keys(h.live)) {
		level := h.live[name]
		switch h.random.IntN(6) {
		case 0:
			delta = append(delta, del(name, level))
			delete(h.live, name)
		case 1:
			delta = append(delta, del(name, level), add(name, level+1))
			h.live[name] = level + 1
		}
	}
	for range h.random.IntN(4) {
		h.made++
		name := fmt.Sprintf("f%d", h.made)
		delta = append(delta, add(name, 0))
		h.live[name] = 0
	}
	h.random.Shuffle(len(delta), func(i, j int) { delta[i], delta[j] = delta[j], delta[i] })
	if h.random.IntN(3) == 0 {
		h.made++
		changes = append(changes, add(fmt.Sprintf("c%d", h.made), 0))
	}
	h.shows[h.commit(delta, changes)] = slices.Sorted(maps.Keys(h.live))
}

// check asks that what is left shows what it showed, and that no file lies there that nothing names.
func (h *history) check() {
	h.Helper()
	base := func(paths []string) []string {
		names := []string{}
		for _, p := range paths {
			names = append(names, p[len(h.table+"/bucket-0/"):])
		}
		slices.Sort(names)
		return names
	}
	for key, paths := range histories(h.T, h.store, h.table, 1) {
		want, tagged := h.tags[key]
		if !tagged {
			var id snapshot.ID
			_, err := fmt.Sscan(key, &id)
			require.NoError(h, err)
			want = h.shows[id]
		}
		require.Equal(h, append([]string{}, want...), base(paths), "%s", key)
	}
	found, err := orphan.Find(h.Context(), h.store, h.table, orphan.Options{OlderThan: time.Now().Add(time.Hour), Force: true})
	require.NoError(h, err)
	require.Empty(h, found)
}

// TestRandomHistories lets tables of random commits and tags expire in random steps. In the end the store holds the files of
// the last snapshot and no other.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &history{
				bed: newBed(t, nil), random: rand.New(rand.NewPCG(seed, 1)), live: map[string]int32{},
				shows: map[snapshot.ID][]string{}, tags: map[string][]string{},
			}
			for range 30 {
				h.commitRandomly()
				switch h.random.IntN(5) {
				case 0:
					ids, err := h.snapshots.List(t.Context())
					require.NoError(t, err)
					id := ids[h.random.IntN(len(ids))]
					name := fmt.Sprintf("t%d-%d", id, len(h.tags)+h.made)
					h.tag(name, id)
					h.tags[name] = h.shows[id]
				case 1:
					for _, name := range slices.Sorted(maps.Keys(h.tags)) {
						if h.random.IntN(3) == 0 {
							_, err := expire.DeleteTag(t.Context(), h.store, h.table, name, false)
							require.NoError(t, err)
							delete(h.tags, name)
						}
					}
				case 2:
					o := everything(1 + h.random.IntN(5))
					o.Limit = 1 + h.random.IntN(6)
					_, err := expire.Expire(t.Context(), h.store, h.table, o)
					require.NoError(t, err)
				}
				h.check()
			}
			for name := range h.tags {
				_, err := expire.DeleteTag(t.Context(), h.store, h.table, name, false)
				require.NoError(t, err)
				delete(h.tags, name)
			}
			_, err := expire.Expire(t.Context(), h.store, h.table, everything(1))
			require.NoError(t, err)
			h.check()
			data := slices.DeleteFunc(h.dataFiles(), func(name string) bool { return h.latest.ChangelogManifestList != "" && name[0] == 'c' })
			require.Equal(t, slices.Sorted(maps.Keys(h.live)), data)
			require.Len(t, files(t, h.store, h.table+"/manifest"), namedBy(t, h.bed))
		})
	}
}
