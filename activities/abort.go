package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
)

// Aborter gives runs up.
type Aborter struct {
	Env Env
}

// Abort gives a table's run up: it decides ABORT unless COMMIT stands, and only then deletes. Under COMMIT it reports what
// became of the commit and deletes nothing, unless it is asked to fence the commit off. A run that never got a plan leaves
// nothing at all.
func (a *Aborter) Abort(ctx context.Context, in AbortInput) (*Aborted, error) {
	defer beat(ctx)()
	r, err := openRun(ctx, a.Env, in.TableRun)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.abort(ctx, in.Fence)
}

func (r *run) abort(ctx context.Context, fence bool) (*Aborted, error) {
	if r.plan == nil {
		return &Aborted{State: StateAborted, Message: "nothing was committed"}, r.forget(ctx)
	}
	result, err := r.ledger.Result(ctx)
	if err != nil {
		return nil, err
	}
	if result != nil && result.Outcome == ledger.Committed {
		return r.committed(result.Snapshot), nil
	}
	verdict, err := r.ledger.Decide(ctx, identifier, ledger.Abort)
	if err != nil {
		return nil, err
	}
	own, err := r.committer().Find(ctx, r.user(), identifier, r.kind(), snapshot.ID(r.plan.Base))
	silent := unanswered(err)
	switch {
	case err != nil && !silent:
		return nil, err
	case own != nil:
		return r.foundCommitted(ctx, int64(own.ID))
	case verdict == ledger.Abort && !silent:
		return r.drop(ctx)
	case verdict == ledger.Abort || silent && fence:
		return r.dropUnnamed(ctx, err)
	case silent:
		return r.unknown(err), nil
	}
	return r.abortDecided(ctx, fence)
}

// unanswered tells errors after which the snapshots will never say whether a commit is among them: they have expired, or
// the table was rolled back, dropped or made anew.
func unanswered(err error) bool {
	return errors.Is(err, commit.ErrOutcomeUnknown) || errors.Is(err, commit.ErrConflict)
}

// abortDecided gives up a run under COMMIT whose snapshot is not in the table: only behind a fence.
func (r *run) abortDecided(ctx context.Context, fence bool) (*Aborted, error) {
	fenced, err := r.fenced(ctx)
	if err != nil {
		return nil, err
	}
	if fenced {
		return r.drop(ctx)
	}
	if fence {
		return r.fenceOff(ctx)
	}
	if refusal := r.refusal(ctx); refusal != nil {
		return &Aborted{State: StateRefused, Message: fmt.Sprintf(
			"the commit was decided and cannot be made any more (%s); nothing was deleted; `starter abort %s` gives it up", refusal, r.key.Run)}, nil
	}
	return &Aborted{State: StateNotCommitted, Message: fmt.Sprintf(
		"the commit was decided and is not in the table yet; nothing was deleted; `starter resume %s` finishes it, `starter abort %s` gives it up",
		r.key.Run, r.key.Run)}, nil
}

// refusal is what would refuse the commit now, nil when nothing is known to.
func (r *run) refusal(ctx context.Context) error {
	messages, _, err := r.messages(ctx)
	if err == nil {
		err = r.committer().Check(ctx, r.request(messages))
	}
	for _, c := range []error{commit.ErrConflict, commit.ErrRefused, ErrMismatch, ledger.ErrCorrupt} {
		if errors.Is(err, c) {
			return err
		}
	}
	return nil
}

// fenced tells whether an earlier call has made the commit impossible.
func (r *run) fenced(ctx context.Context) (bool, error) {
	latest, err := r.snapshots().LatestID(ctx)
	if err != nil {
		return false, err
	}
	list, _, err := r.snapshots().Between(ctx, snapshot.ID(r.plan.Base), latest)
	if err != nil {
		return false, err
	}
	for _, s := range list {
		if s.CommitUser == r.user() && s.CommitIdentifier == identifier && s.Properties[commit.AbortedProperty] == "true" {
			return true, nil
		}
	}
	return false, nil
}

// fenceOff makes a decided commit impossible before anything is deleted: an empty snapshot of the run's own, which a
// stalled attempt finds in its place.
func (r *run) fenceOff(ctx context.Context) (*Aborted, error) {
	found, err := r.committer().Fence(ctx, r.request(nil))
	switch {
	case unanswered(err) || errors.Is(err, fileio.ErrNotExist):
		return r.dropUnnamed(ctx, err)
	case err != nil:
		return nil, err
	case !found.Fenced:
		return r.foundCommitted(ctx, int64(found.Snapshot))
	}
	return r.drop(ctx)
}

// dropUnnamed gives up a run of which the snapshots after its base cannot tell, provided that no snapshot or tag that
// is there names a file of it. The table can have no use for the files then, and a stalled commit refuses to go on when it
// looks at such a table.
func (r *run) dropUnnamed(ctx context.Context, cause error) (*Aborted, error) {
	prefixes, err := r.ledger.Prefixes(ctx)
	if err != nil {
		return nil, err
	}
	views, err := r.views(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range views {
		named := errors.New("named")
		err := commit.LiveEntries(ctx, r.session.Warehouse, r.path, s, func(e *manifest.Entry) error {
			if ofAttempt(prefixes, e.File.Name) {
				return named
			}
			return nil
		})
		switch {
		case errors.Is(err, named):
			return r.unknown(cause), nil
		case err != nil && !errors.Is(err, fileio.ErrNotExist): // it expired meanwhile
			return nil, err
		}
	}
	return r.drop(ctx)
}

// views are all snapshots of the table, and those that only tags keep.
func (r *run) views(ctx context.Context) ([]*snapshot.Snapshot, error) {
	m := r.snapshots()
	latest, err := m.LatestID(ctx)
	if err != nil {
		return nil, err
	}
	list, _, err := m.Between(ctx, 0, latest)
	if err != nil {
		return nil, err
	}
	tags, err := m.Tags(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range tags {
		s, err := m.Tag(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (r *run) unknown(cause error) *Aborted {
	return &Aborted{State: StateUnknown, Message: fmt.Sprintf(
		"whether the run is committed is not known (%s); nothing was deleted; `starter resume %s` settles it", cause, r.key.Run)}
}

// drop deletes the run's data files and records the end. The ledger stays for its retention: a stalled attempt must find
// the decision.
func (r *run) drop(ctx context.Context) (*Aborted, error) {
	n, err := r.remove(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err := r.finish(ctx, ledger.Result{Outcome: ledger.Aborted}); err != nil {
		return nil, err
	}
	return &Aborted{State: StateAborted, Deleted: n, Message: fmt.Sprintf(
		"the run was given up: no row of it is in the table, %d data files were removed", n)}, nil
}

// foundCommitted records a commit that is in the table and whose caller did not live to record it.
func (r *run) foundCommitted(ctx context.Context, id int64) (*Aborted, error) {
	result := ledger.Result{Outcome: ledger.Committed, Snapshot: id, Kind: string(r.kind())}
	_, counts, err := r.filed(ctx)
	switch {
	case errors.Is(err, ErrMismatch), errors.Is(err, ledger.ErrCorrupt):
		// The counts are lost. That the rows are in the table is what matters.
	case err != nil:
		return nil, err
	default:
		result.Counts = counts
	}
	if _, err := r.finish(ctx, result); err != nil {
		return nil, err
	}
	return r.committed(id), nil
}

func (r *run) committed(id int64) *Aborted {
	if id == 0 {
		return &Aborted{State: StateCommitted, Message: "the run has ended: there was nothing to commit"}
	}
	return &Aborted{State: StateCommitted, Snapshot: id, Message: fmt.Sprintf("the run is committed as snapshot %d and stays so", id)}
}
