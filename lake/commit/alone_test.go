package commit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Rows that must be the latest of their buckets are refused where others have numbers that are not below theirs, whoever added
// these and when; in other buckets and partitions they are in nobody's way.
func TestAloneIsOvertaken(t *testing.T) {
	b := newKeyBed(t, nil)
	numbered := func(f manifest.DataFile, from, to int64) manifest.DataFile {
		f.MinSequence, f.MaxSequence = from, to
		return f
	}
	_, err := b.next(t, snapshot.Append, nil,
		added(1, 0, numbered(b.keyed(t, "a", 1, 0, 0, 1, 5), 0, 4)), added(1, 1, numbered(b.keyed(t, "b", 1, 1, 0, 6, 9), 0, 8)),
		added(2, 0, numbered(b.keyed(t, "c", 2, 0, 0, 1, 9), 0, 9)))
	require.NoError(t, err)
	for _, c := range []struct {
		name     string
		from     int64
		bucket   int32
		overtake bool
	}{{"low", 4, 0, true}, {"high", 5, 0, false}, {"other", 5, 1, true}, {"above", 9, 1, false}} {
		req := b.request(snapshot.Append, 100, added(1, c.bucket, numbered(b.keyed(t, c.name, 1, c.bucket, 0, 1, 3), c.from, c.from+2)))
		req.User, req.Base, req.Alone = c.name, 1, true
		err := b.Check(t.Context(), req)
		_, published := b.Publish(t.Context(), req)
		if c.overtake {
			require.ErrorIs(t, err, ErrOvertaken)
			require.ErrorIs(t, published, ErrOvertaken)
			require.ErrorIs(t, published, ErrConflict)
			continue
		}
		require.NoError(t, err, c.name)
		require.NoError(t, published, c.name)
	}
}

// What was compared with the whole table is refused when others changed rows since, not when they compacted them.
func TestUnchangedIsAConflict(t *testing.T) {
	b := newKeyBed(t, nil)
	a := b.keyed(t, "a", 1, 0, 0, 1, 5)
	_, err := b.next(t, snapshot.Append, nil, added(1, 0, a))
	require.NoError(t, err)
	req := b.request(snapshot.Append, 100, added(2, 1, b.keyed(t, "z", 2, 1, 0, 1, 3)))
	req.User, req.Base, req.Unchanged = "compared", 1, true
	lifted := a
	lifted.Level = 5
	_, err = b.next(t, snapshot.Compact, nil, compacted(1, 0, []manifest.DataFile{a}, []manifest.DataFile{lifted}))
	require.NoError(t, err)
	require.NoError(t, b.Check(t.Context(), req))
	_, err = b.next(t, snapshot.Append, nil, added(3, 0, b.keyed(t, "d", 3, 0, 0, 1, 5)))
	require.NoError(t, err)
	err = b.Check(t.Context(), req)
	require.ErrorIs(t, err, ErrConflict)
	require.NotErrorIs(t, err, ErrOvertaken)
	require.ErrorContains(t, err, "3 (APPEND, +")
}
