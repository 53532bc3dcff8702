package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/activities/notes"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// allNotes are the notes of plan and result.
func (d *draft) allNotes() []string {
	notes := slices.Concat(d.drift, d.notes)
	if len(d.alters) > 0 {
		notes = append(notes, fmt.Sprintf("the target's schema is altered: %s", strings.Join(d.alters, "; ")))
	}
	return append(notes, d.fitNotes...)
}

// leftOutProperty is the property of a snapshot that names the shards which its run left out, one a line, or is empty when
// they are too many to name.
const leftOutProperty = "tributary.left_out"

// mayLeaveOut refuses a refresh that would drop the rows of the shards that are left out: it replaces all rows of the
// target, and would not bring theirs back. It may pass if the target is empty, or if the rows were made by a run of the job
// that had left out the same shards, so that none of their rows is there.
func mayLeaveOut(ctx context.Context, s *Session, d *draft, latest *snapshot.Snapshot, found int) error {
	left := notes.Names(d.merged.LeftOut)
	if len(left) == 0 || !s.Spec.Deletes.Refresh || latest.TotalRecordCount == 0 {
		return nil
	}
	made := latest
	for made.CommitKind == snapshot.Compact && made.ID > 1 {
		before, err := snapshot.NewManager(s.Warehouse, d.path).Get(ctx, made.ID-1)
		if errors.Is(err, fileio.ErrNotExist) {
			break // it has expired: nobody knows
		}
		if err != nil {
			return fmt.Errorf("read the snapshots of target %s: %w", s.Spec.Target, err)
		}
		made = before
	}
	before := strings.Split(made.Properties[leftOutProperty], "\n")
	mayBeThere := func(name string) bool { return !slices.Contains(before, name) }
	if made.CommitKind == snapshot.Overwrite && made.Properties[JobProperty] == s.Spec.Job && !slices.ContainsFunc(left, mayBeThere) {
		return nil
	}
	return fmt.Errorf("%w: %d of %d shards cannot be merged with the others and would be left out (drift: quarantine), but a full refresh replaces all rows of %s (snapshot %d has %d), also those that these shards may have there: %s. Alter them, give the column a type with columns: {name, type}, exclude them if their rows may go, or use mode: append",
		ErrPlanRefused, len(left), found, s.Spec.Target, latest.ID, latest.TotalRecordCount, notes.LeftOut(d.merged.LeftOut))
}
