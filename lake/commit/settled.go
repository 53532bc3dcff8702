package commit

import (
	"context"
	"slices"
	"time"

	"github.com/tributary-lake/tributary/lake/snapshot"
)

// settling bounds the wait for a snapshot to be beyond replacement. A temporary file that lies there longer is most likely
// what a dead committer left.
const settling = 5 * time.Second

// settled returns the ids of all snapshots, ascending, when the last of them can no longer be replaced.
//
// On a local disk Paimon's RenamingSnapshotCommit looks whether its number is free and then moves its file there, which
// replaces a snapshot that was made in between. Whoever had read that one builds on what is gone, and its committer takes
// for done what is lost. Both are avoided by not believing in a snapshot while somebody is about to publish under its number.
func (c *Committer) settled(ctx context.Context) ([]snapshot.ID, error) {
	until := time.Now().Add(c.settling)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		ids, pending, err := c.snapshots.ListPending(ctx)
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 || !slices.Contains(pending, ids[len(ids)-1]) || time.Now().After(until) {
			return ids, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}
