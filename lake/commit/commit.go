package commit

import (
	"context"
	"fmt"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// AbortedProperty marks, with the value "true", the snapshot that Fence publishes.
const AbortedProperty = "tributary.aborted"

// Result tells of a commit that is in the table.
type Result struct {
	// Snapshot of the commit. 0 for an Append without files, which needs none. When the commit's own snapshot has expired,
	// the latest one, which holds its files.
	Snapshot snapshot.ID
	Kind     snapshot.Kind
	// AlreadyCommitted tells that an earlier call had published it.
	AlreadyCommitted bool
	// Compaction is the snapshot of what the messages' writers compacted on the way. CompactionLost tells that others had
	// changed those files first, so that the compaction was left out: no row depends on it.
	Compaction     snapshot.ID
	CompactionLost bool
	// Fenced tells that Fence made the commit impossible; Snapshot is then the one that says so.
	Fenced bool
	// Properties are those of the commit's own snapshot. There are none where that has expired.
	Properties map[string]string
}

// Committer commits to one table.
type Committer struct {
	store     fileio.Store
	table     string
	snapshots *snapshot.Manager
	schemas   snapshot.Schemas
	manifests manifest.Folder
	patience  time.Duration
	firstWait time.Duration
	settling  time.Duration
}

// New returns the committer of the table in a folder of a store. Nothing is read.
func New(store fileio.Store, table string) *Committer {
	return &Committer{
		store: store, table: table,
		snapshots: snapshot.NewManager(store, table),
		schemas:   snapshot.Schemas{Store: store, Table: table},
		manifests: manifest.In(store, table),
		patience:  patience,
		firstWait: firstWait,
		settling:  settling,
	}
}

// Find returns the snapshot of a commit after a given one, nil when it is not in the table. ErrOutcomeUnknown says that
// the snapshots that could tell are gone. The snapshot of a Fence is not a commit and is not returned.
func (c *Committer) Find(ctx context.Context, user string, identifier int64, kind snapshot.Kind, after snapshot.ID) (*snapshot.Snapshot, error) {
	own, _, err := c.Look(ctx, user, identifier, kind, after)
	return own, err
}

// Look is Find that also returns the snapshot of a Fence, nil when there is none. With ErrOutcomeUnknown both are nil.
func (c *Committer) Look(
	ctx context.Context, user string, identifier int64, kind snapshot.Kind, after snapshot.ID,
) (own, fence *snapshot.Snapshot, err error) {
	h := newHistory(c, user, identifier, kind, after)
	if err := h.advance(ctx); err != nil {
		return nil, nil, c.fail("find", err)
	}
	if h.own == nil && h.hole {
		return nil, nil, c.fail("find", h.unknown())
	}
	return h.own, h.fence, nil
}

// LiveEntries calls fn for every data file that a snapshot holds, in the order of commits. See manifest.Folder.Live for
// how long entries are valid.
func LiveEntries(ctx context.Context, store fileio.Store, table string, s *snapshot.Snapshot, fn func(*manifest.Entry) error) error {
	folder := manifest.In(store, table)
	metas, err := manifestsOf(ctx, folder, s)
	if err != nil {
		return fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	if err := folder.Live(ctx, metas, manifest.Filter{}, fn); err != nil {
		return fmt.Errorf("snapshot %d: %w", s.ID, err)
	}
	return nil
}

// manifestsOf returns all manifests of a snapshot in the order of commits; none for nil.
func manifestsOf(ctx context.Context, folder manifest.Folder, s *snapshot.Snapshot) ([]manifest.FileMeta, error) {
	if s == nil {
		return nil, nil
	}
	base, err := folder.ReadList(ctx, manifest.List{Name: s.BaseManifestList, Size: sizeOf(s.BaseManifestListSize)})
	if err != nil {
		return nil, err
	}
	delta, err := folder.ReadList(ctx, manifest.List{Name: s.DeltaManifestList, Size: sizeOf(s.DeltaManifestListSize)})
	if err != nil {
		return nil, err
	}
	return append(base, delta...), nil
}

func sizeOf(size *int64) int64 {
	if size == nil {
		return 0
	}
	return *size
}

// fail adds operation and table to an error.
func (c *Committer) fail(op string, err error) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // only the outermost is ours to complete
		e.Op, e.Table = op, c.store.URI(c.table)
		return e
	}
	return &Error{Op: op, Table: c.store.URI(c.table), Err: err}
}

// nowMillis is the time of a new snapshot, never before that of the one before it: time travel by timestamp relies on it.
func nowMillis(before *snapshot.Snapshot) int64 {
	now := time.Now().UnixMilli()
	if before != nil {
		return max(now, before.TimeMillis)
	}
	return now
}
