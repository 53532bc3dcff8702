package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tributary-lake/tributary/activities/notes"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/ledger/twophase"
)

// Committer verifies and commits.
type Committer struct {
	Env Env
}

// Verify checks that every unit of the plan was claimed and that the rows read, written and listed in the messages are
// the same number. It changes nothing.
func (c *Committer) Verify(ctx context.Context, in VerifyInput) (*ledger.Counts, error) {
	defer Beat(ctx)()
	r, err := c.open(ctx, in.TableRun)
	if err != nil {
		return nil, err
	}
	defer r.close()
	_, counts, err := r.messages(ctx, latestRound)
	return &counts, err
}

// Commit publishes what the run wrote, once, whatever number of times it is called.
func (c *Committer) Commit(ctx context.Context, in CommitInput) (*TableResult, error) {
	defer Beat(ctx)()
	r, err := c.open(ctx, in.TableRun)
	if err != nil {
		return nil, err
	}
	defer r.close()
	result, err := r.commit(ctx)
	if err != nil {
		return nil, err
	}
	t := &TableResult{
		Status: StateCommitted, Snapshot: result.Snapshot, Kind: result.Kind,
		Read: result.Counts.RowsRead, Written: result.Counts.RowsWritten, Bytes: result.Counts.Bytes, Files: result.Counts.Files,
		Collapsed: result.Counts.RowsCollapsed, Replaced: result.Counts.Replaced, Splits: r.plan.Splits, Consistency: r.plan.Consistency,
		Cut: result.Cut, Notes: slices.Concat(r.plan.Notes, notes.Locks(result.Cut)),
	}
	t.Upserted = r.plan.Keyed && !r.plan.Overwrite && result.Snapshot != 0
	if result.Snapshot == 0 {
		t.Status = StateUnchanged
	}
	lost, err := r.ledger.Lost(ctx, r.plan.Units)
	if err != nil {
		return nil, err
	}
	t.Notes = append(t.Notes, notes.Lost(lost)...)
	return t, nil
}

// open opens a run that must have a plan.
func (c *Committer) open(ctx context.Context, in TableRun) (*run, error) {
	r, err := openRun(ctx, c.Env, in)
	if err != nil {
		return nil, err
	}
	if r.plan == nil {
		r.close()
		return nil, noPlan(r.ledger)
	}
	return r, nil
}

// commit decides and publishes. All that can refuse is checked before COMMIT is written; from then on the messages are
// published by whoever comes, and nothing is deleted.
func (r *run) commit(ctx context.Context) (*ledger.Result, error) {
	e, err := r.end(ctx, twophase.Commit)
	if err != nil {
		return nil, err
	}
	return e.committed()
}

// committed is the result of an ending whose goal was a commit.
func (e *ending) committed() (*ledger.Result, error) {
	switch {
	case e.how == twophase.Committed:
		return e.result, nil
	case e.how == twophase.Unknown:
		return nil, e.cause
	case e.cause != nil:
		return nil, fmt.Errorf("%w: %w", ErrAborted, e.cause)
	case e.result == nil:
		return nil, fmt.Errorf("%w before it was committed: start a new one", ErrAborted)
	}
	return nil, fmt.Errorf("%w: start a new one", ErrAborted)
}

// mayCommit refuses to empty a table that has rows because the source has none, unless the job says so.
func (r *run) mayCommit(ctx context.Context, counts ledger.Counts) error {
	whole := r.plan.Overwrite || r.plan.Compare
	if !whole || counts.RowsRead > counts.RowsDropped || r.plan.EmptyTarget {
		return nil
	}
	latest, err := r.snapshots().Latest(ctx)
	if err != nil || latest == nil || latest.TotalRecordCount == 0 {
		return err
	}
	return fmt.Errorf("%w: the source has no rows and the target %s has %d: set empty_source: empty if it shall be emptied",
		ErrPlanRefused, r.session.Spec.Target, latest.TotalRecordCount)
}

// Cleaner removes what a settled run left behind.
type Cleaner struct {
	Env Env
}

// Clean removes files that the run's lost attempts left in the table's folder. It can be called at any time after the
// end, and again.
func (c *Cleaner) Clean(ctx context.Context, in CleanInput) (int, error) {
	defer Beat(ctx)()
	r, err := openRun(ctx, c.Env, in.TableRun)
	if err != nil {
		return 0, err
	}
	defer r.close()
	if r.plan == nil {
		return 0, nil
	}
	return r.clean(ctx)
}

// clean deletes data files that carry a prefix of the run and that no committed message names, and releases snapshots that
// an interrupted call may have left pinned.
func (r *run) clean(ctx context.Context) (int, error) {
	result, err := r.ledger.Result(ctx)
	if err != nil {
		return 0, err
	}
	if result == nil {
		return 0, fmt.Errorf("%w: the run at %s has not ended, nothing is removed", ErrMismatch, r.ledger.URI())
	}
	keep := map[string]bool{}
	if result.Outcome == ledger.Committed {
		messages, _, err := r.messages(ctx, result.Round)
		if err != nil {
			return 0, err
		}
		for _, m := range messages {
			for _, f := range m.Data.NewFiles {
				keep[f.Name] = true
			}
		}
	}
	n, err := r.remove(ctx, keep)
	return n, errors.Join(err, r.unpin(ctx))
}

// remove deletes the run's data files but those to keep, and its sorted rows.
func (r *run) remove(ctx context.Context, keep map[string]bool) (int, error) {
	if err := r.ledger.RemoveRuns(ctx); err != nil {
		return 0, err
	}
	prefixes, err := r.ledger.Prefixes(ctx)
	if err != nil || len(prefixes) == 0 {
		return 0, err
	}
	paths, err := r.table.DataFiles(ctx, func(name string) bool {
		return !keep[name] && ofAttempt(prefixes, name)
	})
	if err != nil {
		return 0, err
	}
	return len(paths), fileio.DeleteAll(ctx, r.session.Warehouse, 1, paths)
}

// ofAttempt tells whether a file is of one of the attempts with these prefixes.
func ofAttempt(prefixes map[string]bool, name string) bool {
	return len(name) > prefixLen && prefixes[name[:prefixLen]]
}

// prefixLen is the length of every attempt's prefix: data-<uuid>-.
const prefixLen = len("data-00000000-0000-0000-0000-000000000000-")
