package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/ledger/twophase"
)

// Aborter gives runs up.
type Aborter struct {
	Env Env
}

// Abort gives a table's run up: it decides ABORT unless COMMIT stands, and only then deletes. Under COMMIT it reports what
// became of the commit and deletes nothing, unless it is asked to fence the commit off. A run that never got a plan leaves
// nothing at all.
func (a *Aborter) Abort(ctx context.Context, in AbortInput) (*Aborted, error) {
	defer Beat(ctx)()
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
	goal := twophase.RollBack
	if fence {
		goal = twophase.Force
	}
	e, err := r.end(ctx, goal)
	if err != nil {
		return nil, err
	}
	return e.report(), nil
}

// report says how it ended, with the command that settles what is open.
func (e *ending) report() *Aborted {
	run := e.key.Run
	switch e.how {
	case twophase.Committed:
		return e.reportCommitted()
	case twophase.RolledBack:
		return e.reportRolledBack()
	case twophase.Refuses:
		return &Aborted{State: StateRefused, Message: fmt.Sprintf(
			"the commit was decided and cannot be made any more (%s); nothing was deleted; `starter abort %s` gives it up", e.refusal, run)}
	case twophase.Pending:
		return &Aborted{State: StateNotCommitted, Message: fmt.Sprintf(
			"the commit was decided and is not in the table yet; nothing was deleted; `starter resume %s` finishes it, `starter abort %s` gives it up",
			run, run)}
	default:
		return &Aborted{State: StateUnknown, Message: fmt.Sprintf(
			"whether the run is committed is not known (%s); nothing was deleted; `starter resume %s` looks for its files in the table; "+
				"where none is, `starter abort %s` gives it up", e.cause, run, run)}
	}
}

func (e *ending) reportCommitted() *Aborted {
	id := e.result.Snapshot
	if id == 0 {
		return &Aborted{State: StateCommitted, Message: "the run has ended: there was nothing to commit"}
	}
	return &Aborted{State: StateCommitted, Snapshot: id, Message: fmt.Sprintf("the run is committed as snapshot %d and stays so", id)}
}

func (e *ending) reportRolledBack() *Aborted {
	a := &Aborted{State: StateAborted, Deleted: e.deleted}
	if e.see.Verdict == ledger.Commit && e.cause != nil {
		a.Message = fmt.Sprintf("the run was given up: nothing in the table names a file of it, %d data files were removed; "+
			"whether its rows had been there before cannot be told (%s)", e.deleted, e.cause)
		return a
	}
	a.Message = fmt.Sprintf("the run was given up: no row of it is in the table, %d data files were removed", e.deleted)
	return a
}

// judge returns what would refuse the commit now, nil when nothing is known to.
func (r *run) judge(ctx context.Context) error {
	messages, _, err := r.messages(ctx, latestRound)
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

// named tells whether a snapshot or a tag that is there names a file of the run. The table has no use for the files if not.
func (r *run) named(ctx context.Context) (bool, error) {
	prefixes, err := r.ledger.Prefixes(ctx)
	if err != nil {
		return false, err
	}
	views, err := r.snapshots().Views(ctx)
	if err != nil {
		return false, err
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
			return true, nil
		case err != nil && !errors.Is(err, fileio.ErrNotExist): // it expired meanwhile
			return false, err
		}
	}
	return false, nil
}
