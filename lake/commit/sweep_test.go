package commit

import (
	"context"
	"fmt"
	"path"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// sweep breaks the k-th operation of a commit on a table of two snapshots, for every k until none is broken, and hands
// the table to judge together with what Publish said.
func sweep(t *testing.T, kind snapshot.Kind, fault func(k int) func(faultio.Op) faultio.Fault,
	judge func(t *testing.T, b *bed, req Request, result Result, err error),
) {
	for k := 0; ; k++ {
		// Few manifests are merged, so that a merge is part of the sweep.
		b := newBed(t, fileiotest.NewMemory(), map[string]string{"manifest.merge-min-count": "2"})
		req := b.request(kind, 7, b.file(t, "new1", 2), b.file(t, "new2", 3))
		req.Base = 2
		for i := range 2 {
			old := b.request(snapshot.Append, int64(i), b.file(t, fmt.Sprint("old", i), 1))
			old.Base = snapshot.ID(i)
			b.publish(t, old)
			if m := req.Messages[i]; kind == snapshot.Compact {
				m.Compact.Before = old.Messages[0].Data.NewFiles
			}
		}

		var broken atomic.Bool
		choose := fault(k)
		ctx, cancel := context.WithCancel(t.Context())
		faulty := b.over(faultio.New(b.store, func(op faultio.Op) faultio.Fault {
			f := choose(op)
			if f != faultio.None {
				broken.Store(true)
			}
			if f == faultio.Block {
				cancel() // the caller loses patience in that moment
			}
			return f
		}))
		faulty.patience, faulty.firstWait = 20*time.Millisecond, 100*time.Microsecond
		result, err := faulty.Publish(ctx, req)
		cancel()
		judge(t, b, req, result, err)
		if !broken.Load() {
			require.NoError(t, err)
			require.Greater(t, k, 20, "a commit takes more operations than that")
			return
		}
	}
}

// settled checks what must hold after any commit that went wrong in any way: the table is the old or the new one, whole,
// and trying again brings the commit in once.
func settled(t *testing.T, b *bed, req Request, result Result, err error) {
	t.Helper()
	old := []string{"old0", "old1"}
	fresh := []string{"new1", "new2"}
	if req.Kind == snapshot.Append {
		fresh = []string{"new1", "new2", "old0", "old1"}
	}
	list := b.whole(t)
	switch len(list) {
	case 2:
		require.Error(t, err, "success without a snapshot")
		require.Equal(t, old, b.names(t))
	case 3:
		require.Equal(t, fresh, b.names(t))
		if err != nil {
			require.ErrorIs(t, err, ErrOutcomeUnknown, "a commit that is in the table may only be called unknown")
		}
	default:
		t.Fatalf("%d snapshots", len(list))
	}
	if err == nil {
		require.Equal(t, Result{Snapshot: 3, Kind: req.Kind}, result)
	}
	again := b.publish(t, req)
	require.Equal(t, snapshot.ID(3), again.Snapshot)
	require.Equal(t, len(list) == 3, again.AlreadyCommitted)
	require.Equal(t, fresh, b.names(t))
	require.Len(t, b.whole(t), 3)
	found, err := b.Find(t.Context(), req.User, req.Identifier, req.Kind, req.Base)
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(3), found.ID)
}

func kinds(t *testing.T, test func(t *testing.T, kind snapshot.Kind)) {
	for _, kind := range []snapshot.Kind{snapshot.Append, snapshot.Overwrite, snapshot.Compact} {
		t.Run(string(kind), func(t *testing.T) { test(t, kind) })
	}
}

// One failing operation is survived within the call.
func TestSweepOneFault(t *testing.T) {
	for name, fault := range map[string]faultio.Fault{"before": faultio.FailBefore, "after": faultio.FailAfter} {
		t.Run(name, func(t *testing.T) {
			kinds(t, func(t *testing.T, kind snapshot.Kind) {
				sweep(t, kind, func(k int) func(faultio.Op) faultio.Fault {
					return func(op faultio.Op) faultio.Fault {
						if op.N == k {
							return fault
						}
						return faultio.None
					}
				}, func(t *testing.T, b *bed, req Request, result Result, err error) {
					require.NoError(t, err)
					settled(t, b, req, result, err)
				})
			})
		})
	}
}

// From one operation on everything fails, as when the process or the store dies in that moment.
func TestSweepDeath(t *testing.T) {
	for name, last := range map[string]faultio.Fault{"before": faultio.FailBefore, "after": faultio.FailAfter} {
		t.Run(name, func(t *testing.T) {
			kinds(t, func(t *testing.T, kind snapshot.Kind) {
				sweep(t, kind, func(k int) func(faultio.Op) faultio.Fault {
					return func(op faultio.Op) faultio.Fault {
						switch {
						case op.N < k:
							return faultio.None
						case op.N == k:
							return last
						}
						return faultio.FailBefore
					}
				}, settled)
			})
		})
	}
}

// One operation never answers, and the call is cancelled.
func TestSweepSilence(t *testing.T) {
	kinds(t, func(t *testing.T, kind snapshot.Kind) {
		sweep(t, kind, func(k int) func(faultio.Op) faultio.Fault {
			return func(op faultio.Op) faultio.Fault {
				if op.N == k {
					return faultio.Block
				}
				return faultio.None
			}
		}, settled)
	})
}

// The publishing operation does its work and its answer is lost, while from then on nothing can be read: the call must not
// call it a failure, and must not remove a file.
func TestALostAnswerIsUnknown(t *testing.T) {
	b := emptyBed(t)
	req := b.request(snapshot.Append, 1, b.file(t, "a", 1))
	published := false
	faulty := b.over(faultio.New(b.store, func(op faultio.Op) faultio.Fault {
		if op.Kind == faultio.CreateExclusive {
			published = true
			return faultio.FailAfter
		}
		if published && op.Kind != faultio.Delete {
			return faultio.FailBefore
		}
		return faultio.None
	}))
	_, err := faulty.Publish(t.Context(), req)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorIs(t, err, faultio.ErrInjected)
	require.Equal(t, []string{"a"}, b.names(t))
	require.Len(t, b.whole(t), 1)
	require.True(t, b.publish(t, req).AlreadyCommitted)
}

// Another committer takes the number between our look and our publishing, again and again.
func TestLosingMakesNoMess(t *testing.T) {
	kinds(t, func(t *testing.T, kind snapshot.Kind) {
		b := emptyBed(t)
		req := b.request(kind, 1, b.file(t, "mine", 1))
		req.AllowForeign = true
		losses := 0
		raced := b.over(faultio.New(b.store, func(op faultio.Op) faultio.Fault {
			if op.Kind == faultio.CreateExclusive && losses < 4 {
				losses++
				b.foreign(t, snapshot.Append, fmt.Sprint("theirs", losses))
			}
			return faultio.None
		}))
		result, err := raced.Publish(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, Result{Snapshot: 5, Kind: kind}, result)
		require.Len(t, b.whole(t), 5)
		require.Empty(t, b.orphans(t))
		require.Contains(t, b.names(t), "mine")
		if kind == snapshot.Overwrite {
			require.Equal(t, []string{"mine"}, b.names(t))
		}
	})
}

// A foreign append comes between the check and the publishing of an overwrite: it is seen, and nothing stays behind.
func TestALateConflictIsSeen(t *testing.T) {
	b := emptyBed(t)
	req := b.request(snapshot.Overwrite, 1, b.file(t, "mine", 1))
	require.NoError(t, b.Check(t.Context(), req))
	came := false
	raced := b.over(faultio.New(b.store, func(op faultio.Op) faultio.Fault {
		if op.Kind == faultio.CreateExclusive && !came {
			came = true
			b.foreign(t, snapshot.Append, "theirs")
		}
		return faultio.None
	}))
	_, err := raced.Publish(t.Context(), req)
	require.ErrorIs(t, err, ErrConflict)
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	require.Equal(t, []string{"theirs"}, b.names(t))
	require.Empty(t, b.orphans(t))
}

// A fence comes while an attempt stalls right before its publishing: the attempt finds it and stops.
func TestAStalledAttemptCannotPassAFence(t *testing.T) {
	kinds(t, func(t *testing.T, kind snapshot.Kind) {
		b := emptyBed(t)
		req := b.request(kind, 1, b.file(t, "mine", 1))
		stalled := b.over(faultio.New(b.store, func(op faultio.Op) faultio.Fault {
			if op.Kind == faultio.CreateExclusive {
				result, err := b.Fence(t.Context(), req)
				require.NoError(t, err)
				require.True(t, result.Fenced)
			}
			return faultio.None
		}))
		_, err := stalled.Publish(t.Context(), req)
		require.ErrorIs(t, err, ErrFenced)
		require.Empty(t, b.names(t))
		require.Empty(t, b.orphans(t))
	})
}

// Fencing survives the same faults as committing.
func TestSweepFence(t *testing.T) {
	for _, fault := range []faultio.Fault{faultio.FailBefore, faultio.FailAfter} {
		for k := 0; ; k++ {
			b := emptyBed(t)
			req := b.request(snapshot.Overwrite, 1, b.file(t, "mine", 1))
			var broken atomic.Bool
			faulty := b.over(faultio.New(b.store, func(op faultio.Op) faultio.Fault {
				if op.N == k {
					broken.Store(true)
					return fault
				}
				return faultio.None
			}))
			result, err := faulty.Fence(t.Context(), req)
			require.NoError(t, err)
			require.True(t, result.Fenced)
			require.Len(t, b.whole(t), 1)
			require.ErrorIs(t, publishError(t, b, req), ErrFenced)
			if !broken.Load() {
				break
			}
		}
	}
}

// Data files that vanish between the check and the publishing are never named by a snapshot.
func TestAFileThatVanishedIsNotCommitted(t *testing.T) {
	b := emptyBed(t)
	req := b.request(snapshot.Append, 1, b.file(t, "a", 1), b.file(t, "b", 1))
	require.NoError(t, b.Check(t.Context(), req))
	require.NoError(t, b.store.Delete(t.Context(), path.Join(tablePath, "bucket-0/a")))
	require.ErrorIs(t, publishError(t, b, req), ErrRefused)
	require.Empty(t, b.whole(t))
	require.Empty(t, b.orphans(t))
}
