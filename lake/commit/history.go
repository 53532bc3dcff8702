package commit

import (
	"context"
	"errors"
	"fmt"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// history is what the snapshots after a request's base say of it. It grows: snapshots never change, so each is read once.
type history struct {
	c          *Committer
	user       string
	identifier int64
	kind       snapshot.Kind
	base       snapshot.ID

	seen   snapshot.ID        // snapshots up to here are known
	latest *snapshot.Snapshot // nil when the table has none
	// own is the request's snapshot, fence the one that forbids it.
	own, fence *snapshot.Snapshot
	// foreign are changes of other users.
	foreign []*snapshot.Snapshot
	// linked is the own snapshot or fence that the snapshots after it are known to build on.
	linked *snapshot.Snapshot
	// hole tells that a snapshot is missing that could have been the request's.
	hole bool
}

func newHistory(c *Committer, user string, identifier int64, kind snapshot.Kind, base snapshot.ID) *history {
	return &history{c: c, user: user, identifier: identifier, kind: kind, base: base, seen: base}
}

// advance reads the snapshots that came since the last look.
func (h *history) advance(ctx context.Context) error {
	ids, err := h.c.settled(ctx)
	if err != nil {
		return err
	}
	var last snapshot.ID
	if len(ids) > 0 {
		last = ids[len(ids)-1]
	}
	if last < h.seen {
		return &Error{
			Snapshot: h.seen, Err: fmt.Errorf("%w: the latest snapshot is %d, so snapshots were removed", ErrConflict, last),
			Hint: "the table was rolled back or made anew; plan anew",
		}
	}
	for _, id := range ids {
		if id <= h.seen {
			continue
		}
		s, err := h.c.snapshots.Get(ctx, id)
		if errors.Is(err, fileio.ErrNotExist) {
			h.gap()
			h.seen = id
			continue
		}
		if err != nil {
			return err
		}
		if id != h.seen+1 {
			h.gap()
		}
		h.note(s)
		h.seen, h.latest = id, s
	}
	if last > 0 && (h.latest == nil || h.latest.ID != last) {
		if h.latest, err = h.c.snapshots.Get(ctx, last); err != nil {
			return err
		}
	}
	return h.link(ctx)
}

// link makes sure that what speaks for or against the commit is a part of the table's history.
func (h *history) link(ctx context.Context) error {
	for _, s := range []*snapshot.Snapshot{h.own, h.fence} {
		if s == nil || s == h.linked || s.ID >= h.latest.ID {
			continue
		}
		linked, err := h.c.linked(ctx, s)
		if err != nil {
			return err
		}
		if !linked {
			h.gap()
			return nil
		}
		h.linked = s
	}
	return nil
}

// gap notes missing snapshots. An own snapshot below them proves nothing: a committer that had stalled while newer ones
// came and expired may have taken a number that was free again.
func (h *history) gap() { h.hole, h.own, h.fence = true, nil, nil }

func (h *history) note(s *snapshot.Snapshot) {
	fence := s.Properties[AbortedProperty] == "true" && s.DeltaRecordCount == 0
	switch {
	case s.CommitUser == h.user && s.CommitIdentifier == h.identifier && fence:
		h.fence = s
	case s.CommitUser == h.user && s.CommitIdentifier == h.identifier && s.CommitKind == h.kind:
		h.own = s
	case s.CommitUser != h.user && !fence && (s.CommitKind == snapshot.Append || s.CommitKind == snapshot.Overwrite):
		h.foreign = append(h.foreign, s)
	}
}

func (h *history) unknown() error {
	return &Error{
		Err: fmt.Errorf("%w: snapshots between %d and %d are gone", ErrOutcomeUnknown, h.base, h.latest.ID),
		Hint: fmt.Sprintf("the commit of user %s, identifier %d may have been among them; compare the table's rows with the source",
			h.user, h.identifier),
	}
}
