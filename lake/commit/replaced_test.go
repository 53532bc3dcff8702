package commit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// mover is a store on which another committer publishes as Paimon does on a local disk: its temporary file is there, it has
// seen that the number is free, and moves the file there after we have taken the number.
type mover struct {
	fileio.Store
	target, temporary string
	data              []byte
	// meanwhile is what others do between our snapshot and its replacement.
	meanwhile func()
	taken     bool
	looks     int
}

func (m *mover) CreateExclusive(ctx context.Context, path string, data []byte) error {
	if path == m.target && !m.taken {
		if err := fileio.WriteFile(ctx, m.Store, m.temporary, m.data); err != nil {
			return err
		}
		m.taken = true
	}
	return m.Store.CreateExclusive(ctx, path, data)
}

// List lets the move happen after the second look at the folder.
func (m *mover) List(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	if m.taken {
		m.looks++
	}
	if m.looks == 3 {
		if m.meanwhile != nil {
			m.meanwhile()
		}
		if err := fileio.WriteFile(ctx, m.Store, m.target, m.data); err != nil {
			return err
		}
		if err := m.Delete(ctx, m.temporary); err != nil {
			return err
		}
	}
	return m.Store.List(ctx, folder, fn)
}

// newMover prepares a table of one snapshot, and a rival's second one that is not published yet.
func newMover(t *testing.T) (*bed, *mover) {
	t.Helper()
	b := emptyBed(t)
	b.publish(t, b.request(snapshot.Append, 1, b.file(t, "first", 1)))
	rival := b.request(snapshot.Append, 1, b.file(t, "rival", 2))
	rival.User, rival.Base = "rival", 1
	b.publish(t, rival)
	m := &mover{Store: b.store, target: b.snapshots.Path(2), temporary: tablePath + "/snapshot/.snapshot-2.0b9c5a1e-0000-4000-8000-000000000000.tmp"}
	var err error
	m.data, err = fileio.ReadFile(t.Context(), b.store, m.target, 1<<20)
	require.NoError(t, err)
	require.NoError(t, b.store.Delete(t.Context(), m.target))
	require.NoError(t, fileio.WriteFile(t.Context(), b.store, tablePath+"/snapshot/LATEST", []byte("1")))
	return b, m
}

func TestAReplacedSnapshotIsPublishedAgain(t *testing.T) {
	b, m := newMover(t)
	ours := b.request(snapshot.Append, 2, b.file(t, "ours", 3))
	ours.Base = 1
	require.Equal(t, Result{Snapshot: 3, Kind: snapshot.Append}, b.over(m).publish(t, ours))
	require.GreaterOrEqual(t, m.looks, 3, "nothing was replaced")
	require.Equal(t, []string{"first", "ours", "rival"}, b.names(t))
	require.Len(t, b.whole(t), 3)
	ours.Base = 1
	require.Equal(t, Result{Snapshot: 3, Kind: snapshot.Append, AlreadyCommitted: true}, b.publish(t, ours))
}

// Somebody who had read our snapshot before it was replaced has our files in the next one. They must not be added twice,
// nor may what that snapshot names be removed; a snapshot of ours says that they are committed.
func TestAReplacedSnapshotThatOthersBuiltOn(t *testing.T) {
	for _, kind := range []snapshot.Kind{snapshot.Append, snapshot.Overwrite} {
		b, m := newMover(t)
		m.meanwhile = func() {
			hasty := b.over(b.store)
			hasty.settling = 0
			other := b.request(snapshot.Append, 1, b.file(t, "other", 4))
			other.User, other.Base = "other", 2
			require.Equal(t, snapshot.ID(3), hasty.publish(t, other).Snapshot)
		}
		ours := b.request(kind, 2, b.file(t, "ours", 3))
		ours.Base = 1
		require.Equal(t, Result{Snapshot: 4, Kind: kind}, b.over(m).publish(t, ours))
		want := []string{"first", "other", "ours"}
		if kind == snapshot.Overwrite {
			want = want[1:]
		}
		require.Equal(t, want, b.names(t))
		latest, err := b.snapshots.Latest(t.Context())
		require.NoError(t, err)
		require.Zero(t, latest.DeltaRecordCount)
		require.Equal(t, Result{Snapshot: 4, Kind: kind, AlreadyCommitted: true}, b.publish(t, ours))
		require.Equal(t, want, b.names(t))
	}
}

// What a dead committer left costs a wait, not the commit.
func TestATemporaryFileThatStays(t *testing.T) {
	b, m := newMover(t)
	m.looks = 10 // nobody moves it any more
	c := b.over(m)
	c.settling = 20 * time.Millisecond
	ours := b.request(snapshot.Append, 2, b.file(t, "ours", 3))
	ours.Base = 1
	start := time.Now()
	require.Equal(t, Result{Snapshot: 2, Kind: snapshot.Append}, c.publish(t, ours))
	require.GreaterOrEqual(t, time.Since(start), c.settling, fmt.Sprint(m.looks, " looks"))
	require.Equal(t, []string{"first", "ours"}, b.names(t))
}
