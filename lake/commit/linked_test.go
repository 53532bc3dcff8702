package commit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// late stalls right before its first snapshot, until meanwhile is done.
func (b *bed) late(meanwhile func()) *bed {
	stalled := false
	return b.over(faultio.New(b.store, func(op faultio.Op) faultio.Fault {
		if op.Kind == faultio.CreateExclusive && !stalled {
			stalled = true
			meanwhile()
		}
		return faultio.None
	}))
}

// A fence takes the number of the commit, whose snapshot came and has expired since: it forbids nothing.
func TestAFenceBelowTheHistoryIsNone(t *testing.T) {
	b := emptyBed(t)
	req := b.request(snapshot.Append, 1, b.file(t, "mine", 1))
	fencing := b.late(func() {
		b.publish(t, req)
		b.foreign(t, snapshot.Append, "x2")
		b.expire(t, 1)
	})
	_, err := fencing.Fence(t.Context(), req)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	_, err = b.snapshots.Get(t.Context(), 1)
	require.NoError(t, err, "it is there all the same")
	_, _, err = b.Look(t.Context(), req.User, 1, snapshot.Append, 0)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.Equal(t, Result{Snapshot: 2, Kind: snapshot.Append, AlreadyCommitted: true}, b.publish(t, req), "its files are there")
	require.Equal(t, []string{"mine", "x2"}, b.names(t))
}

// A commit takes a number that had been another's: its rows are not in the table.
func TestACommitBelowTheHistoryIsNone(t *testing.T) {
	b := emptyBed(t)
	req := b.request(snapshot.Append, 1, b.file(t, "mine", 1))
	publishing := b.late(func() {
		b.foreign(t, snapshot.Append, "x1")
		b.foreign(t, snapshot.Append, "x2")
		b.expire(t, 1)
	})
	require.ErrorIs(t, publishError(t, publishing, req), ErrOutcomeUnknown)
	require.ErrorIs(t, publishError(t, b, req), ErrOutcomeUnknown)
	require.Equal(t, []string{"x1", "x2"}, b.names(t))
}

// A commit and a fence that are followed by others are found, whether or not those have merged their manifests.
func TestWhatOthersBuildOnIsFound(t *testing.T) {
	for _, least := range []string{"30", "2"} {
		for _, followers := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("merging %s, followed by %d", least, followers), func(t *testing.T) {
				b := newBed(t, fileiotest.NewMemory(), map[string]string{"manifest.merge-min-count": least})
				b.foreign(t, snapshot.Append, "x")
				req, other := b.request(snapshot.Append, 1, b.file(t, "mine", 1)), b.request(snapshot.Append, 2, b.file(t, "given up", 1))
				req.Base, other.Base = 1, 2
				b.publish(t, req)
				for i := range followers {
					b.foreign(t, snapshot.Append, fmt.Sprint("after", i))
				}
				own, fence, err := b.Look(t.Context(), req.User, 1, snapshot.Append, 1)
				require.NoError(t, err)
				require.Nil(t, fence)
				require.Equal(t, snapshot.ID(2), own.ID)
				require.Equal(t, Result{Snapshot: 2, Kind: snapshot.Append, AlreadyCommitted: true}, b.publish(t, req))
				_, err = b.Fence(t.Context(), other)
				require.NoError(t, err)
				own, fence, err = b.Look(t.Context(), req.User, 2, snapshot.Append, 2)
				require.NoError(t, err)
				require.Nil(t, own)
				require.NotNil(t, fence)
			})
		}
	}
}

// Where snapshots are gone, an attempt that is under way cannot pass the fence that says no more than that.
func TestFenceAnyway(t *testing.T) {
	b := emptyBed(t)
	req := b.request(snapshot.Append, 1, b.file(t, "mine", 1))
	b.foreign(t, snapshot.Append, "x1")
	b.foreign(t, snapshot.Append, "x2")
	publishing := b.late(func() {
		b.expire(t, 1)
		_, err := b.Fence(t.Context(), req)
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		latest, err := b.snapshots.LatestID(t.Context())
		require.NoError(t, err)
		require.Equal(t, snapshot.ID(2), latest)
		for range 2 {
			result, err := b.FenceAnyway(t.Context(), req)
			require.NoError(t, err)
			require.True(t, result.Fenced)
			require.Equal(t, snapshot.ID(3), result.Snapshot, "one is enough")
		}
	})
	require.ErrorIs(t, publishError(t, publishing, req), ErrFenced, "it had seen all snapshots before the fence")
	require.ErrorIs(t, publishError(t, b, req), ErrOutcomeUnknown, "whoever comes later has not")
	require.Equal(t, []string{"x1", "x2"}, b.names(t))
}
