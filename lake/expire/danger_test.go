package expire_test

import (
	"context"
	"errors"
	"path"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

type entries []manifest.Entry

// TestWhatIsDeletedAndStillShownStays has the tables that a rule of thumb gets wrong. What stays is said by hand: a file
// that the last snapshot, a tag or a branch shows.
func TestWhatIsDeletedAndStillShownStays(t *testing.T) {
	for name, c := range map[string]struct {
		make func(b *bed)
		keep int
		want []string
	}{
		"replaced": {func(b *bed) {
			b.commit(entries{add("old", 0, "old.index")}, nil)
			b.commit(entries{del("old", 0, "old.index"), add("new", 0)}, nil)
		}, 1, []string{"new"}},
		"the snapshot that stays shows it no more, the one before still did": {func(b *bed) {
			b.commit(entries{add("old", 0)}, nil)
			b.commit(nil, nil)
			b.commit(entries{del("old", 0)}, nil)
		}, 2, []string{"old"}},
		"lifted to another level in one commit": {func(b *bed) {
			b.commit(entries{add("f", 0)}, nil)
			b.commit(entries{del("f", 0), add("f", 5)}, nil)
		}, 1, []string{"f"}},
		"lifted, with the new level before the old": {func(b *bed) {
			b.commit(entries{add("f", 0)}, nil)
			b.commit(entries{add("f", 5), del("f", 0)}, nil)
		}, 1, []string{"f"}},
		"lifted in two commits": {func(b *bed) {
			b.commit(entries{add("f", 0)}, nil)
			b.commit(entries{add("f", 5)}, nil)
			b.commit(entries{del("f", 0)}, nil)
			b.commit(nil, nil)
		}, 1, []string{"f"}},
		"deleted and added again at another level later": {func(b *bed) {
			b.commit(entries{add("f", 0)}, nil)
			b.commit(entries{del("f", 0)}, nil)
			b.commit(nil, nil)
			b.commit(entries{add("f", 3)}, nil)
		}, 2, []string{"f"}},
		"lifted and then deleted": {func(b *bed) {
			b.commit(entries{add("f", 0), add("g", 0)}, nil)
			b.commit(entries{del("f", 0), add("f", 5)}, nil)
			b.commit(entries{del("f", 5)}, nil)
		}, 1, []string{"g"}},
		"shown by a tag of the range": {func(b *bed) {
			b.commit(entries{add("f", 0), add("g", 0)}, nil)
			b.commit(entries{del("g", 0)}, nil)
			b.tag("t", 2)
			b.commit(entries{del("f", 0)}, nil)
		}, 1, []string{"f"}},
		"shown by a tag before the range, not by a later one": {func(b *bed) {
			b.commit(entries{add("f", 0)}, nil)
			b.tag("early", 1)
			b.commit(entries{del("f", 0), add("g", 0)}, nil)
			b.tag("late", 2)
			b.commit(entries{del("g", 0), add("h", 0)}, nil)
		}, 1, []string{"f", "g", "h"}},
		"shown by a branch": {func(b *bed) {
			b.commit(entries{add("f", 0)}, nil)
			b.branch("b", 1)
			b.commit(entries{del("f", 0)}, nil)
		}, 1, []string{"f"}},
		"a snapshot in the middle is missing": {func(b *bed) {
			b.commit(entries{add("f", 0), add("g", 0)}, nil)
			b.commit(entries{del("g", 0)}, nil)
			require.NoError(b, b.snapshots.Delete(b.Context(), 2))
			b.commit(entries{del("f", 0), add("h", 0)}, nil)
			b.commit(nil, nil)
		}, 1, []string{"g", "h"}}, // g's deletion is not to be found: an orphan, never a loss
		"a stalled committer took a number that was free again": {func(b *bed) {
			b.commit(entries{add("f", 0)}, nil)
			stalled := *b.latest
			stalled.ID, stalled.DeltaManifestList = 2, b.list(entries{del("f", 0), add("late", 0)})
			b.commit(nil, nil)
			b.commit(nil, nil)
			b.commit(nil, nil)
			for id := range 3 {
				require.NoError(b, b.snapshots.Delete(b.Context(), snapshot.ID(id+1)))
			}
			require.NoError(b, b.snapshots.Publish(b.Context(), &stalled))
			b.commit(nil, nil)
		}, 1, []string{"f", "late"}},
		"changelog files go with their snapshot": {func(b *bed) {
			b.put("bucket-0/change-1")
			b.commit(entries{add("f", 0)}, entries{add("change-1", 0)})
			b.commit(nil, entries{add("change-2", 0, "change-2.index")})
			b.commit(nil, entries{add("change-3", 0)})
		}, 1, []string{"change-3", "f"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, nil)
			c.make(b)
			ids, err := b.snapshots.List(t.Context())
			require.NoError(t, err)
			stay := ids[len(ids)-c.keep]
			readable := histories(t, b.store, b.table, stay)
			_, err = expire.Expire(t.Context(), b.store, b.table, everything(c.keep))
			require.NoError(t, err)
			require.Equal(t, c.want, b.dataFiles())
			require.Equal(t, readable, histories(t, b.store, b.table, stay))
		})
	}
}

// TestDamageEndsTheCall breaks what is to stay and asks that nothing goes.
func TestDamageEndsTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(b *bed)
		is     error
	}{
		"a list of the first that stays": {func(b *bed) {
			s, err := b.snapshots.Get(b.Context(), 3)
			require.NoError(b, err)
			require.NoError(b, b.manifests.Delete(b.Context(), s.BaseManifestList))
		}, expire.ErrUnreadable},
		"a manifest of the latest": {func(b *bed) {
			metas, err := b.manifests.ReadList(b.Context(), manifest.List{Name: b.latest.DeltaManifestList})
			require.NoError(b, err)
			require.NoError(b, b.manifests.Delete(b.Context(), metas[0].Name))
		}, expire.ErrUnreadable},
		"a list of a tag": {func(b *bed) {
			s, err := b.snapshots.Tag(b.Context(), "t")
			require.NoError(b, err)
			require.NoError(b, b.manifests.Delete(b.Context(), s.DeltaManifestList))
		}, expire.ErrUnreadable},
		"a tag": {func(b *bed) { b.put("tag/tag-u") }, snapshot.ErrCorrupt},
		"a manifest is none": {func(b *bed) {
			metas, err := b.manifests.ReadList(b.Context(), manifest.List{Name: b.latest.DeltaManifestList})
			require.NoError(b, err)
			b.put("manifest/" + metas[0].Name)
		}, manifest.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, nil)
			b.commit(entries{add("f", 0)}, nil)
			b.tag("t", 1)
			b.commit(entries{add("g", 0)}, nil)
			b.commit(entries{del("f", 0), del("g", 0)}, nil)
			b.commit(entries{add("h", 0)}, nil)
			c.damage(b)
			before := files(t, b.store, b.table)
			_, err := expire.Expire(t.Context(), b.store, b.table, everything(2))
			require.ErrorIs(t, err, c.is)
			require.Equal(t, before, files(t, b.store, b.table))
		})
	}
}

// long is a table with something of everything to expire.
func long(t *testing.T) *bed {
	b := newBed(t, nil)
	b.commit(entries{add("a", 0, "a.index"), add("b", 0)}, entries{add("ca", 0)})
	b.commit(entries{add("c", 0), del("b", 0)}, nil)
	b.tag("t", 2)
	b.commit(entries{del("a", 0, "a.index"), add("a", 5, "a.index"), del("c", 0)}, entries{add("cc", 0)})
	b.commit(entries{add("d", 0), add("e", 0)}, nil)
	b.commit(entries{del("d", 0)}, nil)
	return b
}

// sweepFaults runs an operation on fresh tables with each of its steps failing, once or from then on, and hands the table to
// judge. It ends with the first run in which nothing failed.
func sweepFaults(t *testing.T, run func(ctx context.Context, b *bed, s fileio.Store) error, judge func(t *testing.T, b *bed)) {
	for name, fault := range map[string]func(k, n int) faultio.Fault{
		"one step not done":            func(k, n int) faultio.Fault { return pick(n == k, faultio.FailBefore) },
		"one step done, answer lost":   func(k, n int) faultio.Fault { return pick(n == k, faultio.FailAfter) },
		"dead from a step on":          func(k, n int) faultio.Fault { return pick(n >= k, faultio.FailBefore) },
		"dead right after a step done": func(k, n int) faultio.Fault { return pick(n == k, faultio.FailAfter, n > k, faultio.FailBefore) },
	} {
		t.Run(name, func(t *testing.T) {
			for k := 0; ; k++ {
				b := long(t)
				var failed atomic.Bool
				err := run(t.Context(), b, faultio.New(b.store, func(op faultio.Op) faultio.Fault {
					f := fault(k, op.N)
					if f != faultio.None {
						failed.Store(true)
					}
					return f
				}))
				if !failed.Load() {
					require.NoError(t, err)
					require.Greater(t, k, 20, "too few steps for a sweep")
					return
				}
				if err != nil {
					require.ErrorIs(t, err, faultio.ErrInjected)
				}
				judge(t, b)
			}
		})
	}
}

// pick returns the fault after the first condition that holds.
func pick(pairs ...any) faultio.Fault {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i].(bool) {
			return pairs[i+1].(faultio.Fault)
		}
	}
	return faultio.None
}

func TestSweepExpire(t *testing.T) {
	whole := long(t)
	readable := histories(t, whole.store, whole.table, 4)
	sweepFaults(t, func(ctx context.Context, b *bed, s fileio.Store) error {
		_, err := expire.Expire(ctx, s, b.table, everything(2))
		return err
	}, func(t *testing.T, b *bed) {
		require.Equal(t, readable, histories(t, b.store, b.table, 4), "what stays was touched")
		_, err := expire.Expire(t.Context(), b.store, b.table, everything(2))
		require.NoError(t, err)
		require.Equal(t, readable, histories(t, b.store, b.table, 4))
		require.Equal(t, []string{"a", "a.index", "c", "d", "e"}, b.dataFiles())
		ids, err := b.snapshots.List(t.Context())
		require.NoError(t, err)
		require.Equal(t, []snapshot.ID{4, 5}, ids)
		require.Len(t, files(t, b.store, b.table+"/manifest"), namedBy(t, b), "metadata that nothing names")
		hint, err := b.snapshots.EarliestHint(t.Context())
		require.NoError(t, err)
		require.Equal(t, snapshot.ID(4), hint)
	})
}

// namedBy counts the metadata files that the snapshots and tags of a table name.
func namedBy(t *testing.T, b *bed) int {
	t.Helper()
	names := map[string]bool{}
	note := func(s *snapshot.Snapshot) {
		for _, list := range []string{s.BaseManifestList, s.DeltaManifestList, s.ChangelogManifestList} {
			if list == "" {
				continue
			}
			names[list] = true
			metas, err := b.manifests.ReadList(t.Context(), manifest.List{Name: list})
			require.NoError(t, err)
			for _, m := range metas {
				names[m.Name] = true
			}
		}
	}
	ids, err := b.snapshots.List(t.Context())
	require.NoError(t, err)
	for _, id := range ids {
		s, err := b.snapshots.Get(t.Context(), id)
		require.NoError(t, err)
		note(s)
	}
	tags, err := b.snapshots.Tags(t.Context())
	require.NoError(t, err)
	for _, name := range tags {
		s, err := b.snapshots.Tag(t.Context(), name)
		require.NoError(t, err)
		s.ChangelogManifestList = ""
		note(s)
	}
	return len(names)
}

func TestSweepDeleteTag(t *testing.T) {
	expired := func(t *testing.T) *bed {
		b := long(t)
		_, err := expire.Expire(t.Context(), b.store, b.table, everything(2))
		require.NoError(t, err)
		return b
	}
	readable := histories(t, expired(t).store, "db.db/t", 4)
	delete(readable, "t")
	sweepFaults(t, func(ctx context.Context, b *bed, s fileio.Store) error {
		_, err := expire.Expire(ctx, b.store, b.table, everything(2))
		require.NoError(t, err)
		_, err = expire.DeleteTag(ctx, s, b.table, "t", false)
		return err
	}, func(t *testing.T, b *bed) {
		_, err := expire.DeleteTag(t.Context(), b.store, b.table, "t", false)
		require.NoError(t, err)
		require.Equal(t, readable, histories(t, b.store, b.table, 4))
		require.Equal(t, []string{"a", "a.index", "d", "e"}, b.dataFiles())
		require.Len(t, files(t, b.store, b.table+"/manifest"), namedBy(t, b), "metadata that nothing names")
	})
}

func TestDeleteTagKeepsWhatOthersShow(t *testing.T) {
	b := long(t)
	before := files(t, b.store, b.table)
	result, err := expire.DeleteTag(t.Context(), b.store, b.table, "t", true)
	require.NoError(t, err)
	require.Empty(t, result.DataFiles, "its snapshot is still there")
	require.Equal(t, before, files(t, b.store, b.table))

	b.tag("same", 2)
	_, err = expire.Expire(t.Context(), b.store, b.table, everything(1))
	require.NoError(t, err)
	_, err = expire.DeleteTag(t.Context(), b.store, b.table, "t", false)
	require.NoError(t, err)
	require.Contains(t, b.dataFiles(), "c", "another tag holds the same snapshot")
	shownBySame := histories(t, b.store, b.table, 5)
	require.Contains(t, shownBySame, "same")

	_, err = expire.DeleteTag(t.Context(), b.store, b.table, "same", false)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "a.index", "e"}, b.dataFiles())
	_, err = expire.DeleteTag(t.Context(), b.store, b.table, "same", false)
	require.NoError(t, err, "a missing tag is no error")
}

func TestTagsWhoseTimeIsOver(t *testing.T) {
	b := long(t)
	made := time.Date(2024, 3, 4, 5, 6, 0, 0, time.UTC)
	require.NoError(t, b.snapshots.CreateTagFor(t.Context(), "short", 1, made, time.Hour))
	require.NoError(t, b.snapshots.CreateTagFor(t.Context(), "longer", 1, made, 2*time.Hour))
	gone, err := expire.ExpireTags(t.Context(), b.store, b.table, made.Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, gone, "the hour is not over before it is past")
	gone, err = expire.ExpireTags(t.Context(), b.store, b.table, made.Add(time.Hour+time.Millisecond))
	require.NoError(t, err)
	require.Equal(t, []string{"short"}, gone)
	tags, err := b.snapshots.Tags(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"longer", "t"}, tags)
}

// interfere runs an action before the n-th operation of a kind that an expiry makes.
func interfere(s fileio.Store, kind faultio.Kind, n int, action func()) fileio.Store {
	var seen atomic.Int64
	return faultio.New(s, func(op faultio.Op) faultio.Fault {
		if op.Kind == kind && seen.Add(1) == int64(n) {
			action()
		}
		return faultio.None
	})
}

// TestMeanwhile lets other processes work while snapshots are listed, read or removed.
func TestMeanwhile(t *testing.T) {
	others := func(n int) func(b *bed) error {
		return func(b *bed) error {
			_, err := expire.Expire(b.Context(), b.store, b.table, everything(n))
			return err
		}
	}
	for name, action := range map[string]func(b *bed) error{
		"a commit": func(b *bed) error {
			b.commit(entries{add("new", 0), del("e", 0)}, nil)
			return nil
		},
		"an expiry of as much": others(2),
		"an expiry of more":    others(1),
		"an expiry of less":    others(4),
		"a tag goes": func(b *bed) error {
			_, err := expire.DeleteTag(b.Context(), b.store, b.table, "t", false)
			return err
		},
		"a tag comes of what stays": func(b *bed) error { return b.snapshots.CreateTag(b.Context(), "new", 5) },
		"a consumer comes":          func(b *bed) error { return b.snapshots.CreateConsumer(b.Context(), "c", 5) },
	} {
		for _, kind := range []faultio.Kind{faultio.List, faultio.Open, faultio.Delete} {
			t.Run(name+" while it makes "+string(kind), func(t *testing.T) {
				for n := 1; ; n++ {
					b := long(t)
					var met error
					came := false
					s := interfere(b.store, kind, n, func() {
						came = true
						met = action(b)
					})
					_, err := expire.Expire(t.Context(), s, b.table, everything(2))
					if !came {
						require.Greater(t, n, 3)
						break
					}
					require.NoError(t, err)
					if kind == faultio.Delete && met != nil {
						// Who wants to keep a snapshot that is half gone is told so and changes nothing.
						require.ErrorIs(t, met, expire.ErrUnreadable)
					} else {
						require.NoError(t, met)
					}
					all := histories(t, b.store, b.table, 1) // everything that is left is whole
					require.Contains(t, all, "5")
				}
			})
		}
	}
}

// A tag made before the first file goes holds its snapshot, however late in the reading it comes.
func TestATagThatComesInTimeHolds(t *testing.T) {
	for n := 1; ; n++ {
		b := long(t)
		var tagged, deleting atomic.Bool
		s := faultio.New(b.store, func(op faultio.Op) faultio.Fault {
			if op.Kind == faultio.Delete {
				deleting.Store(true)
			}
			if op.N == n && !deleting.Load() {
				tagged.Store(true)
				b.tag("late", 1)
			}
			return faultio.None
		})
		_, err := expire.Expire(t.Context(), s, b.table, everything(2))
		require.NoError(t, err)
		if !tagged.Load() {
			require.Greater(t, n, 10)
			return
		}
		m := snapshot.Manager{Store: b.store, Table: b.table}
		held, err := m.Tag(t.Context(), "late")
		require.NoError(t, err)
		_, statErr := b.store.Stat(t.Context(), path.Join(b.table, "bucket-0/b"))
		if errors.Is(statErr, fileio.ErrNotExist) {
			// Only the very last look, at the tags, can be missed.
			require.True(t, deletesNext(t, n), "operation %d", n)
			continue
		}
		shown(t, b.store, b.table, held)
	}
}

// deletesNext tells whether the operation after the n-th of an expiry is a removal.
func deletesNext(t *testing.T, n int) bool {
	t.Helper()
	b := long(t)
	var next atomic.Bool
	_, err := expire.Expire(t.Context(), faultio.New(b.store, func(op faultio.Op) faultio.Fault {
		if op.N == n+1 {
			next.Store(op.Kind == faultio.Delete)
		}
		return faultio.None
	}), b.table, everything(2))
	require.NoError(t, err)
	return next.Load()
}
