package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/ledger/twophase"
)

// Settler ends what older runs of a table left open, before a new one is planned. The workflow id of the table makes
// sure that none of them is running; a stalled attempt of theirs is held off by the decision.
type Settler struct {
	Env Env
}

// graceful is how long a settled ledger stays at least: longer than a stalled attempt can go without noticing that it
// is not wanted any more. As long a run without a plan is left alone: it may be waiting for its turn.
const graceful = time.Hour

// settle finishes a decided commit, gives up what was never decided, cleans again, and removes ledgers that are past
// their retention. It works in the session of the run that is to be planned, which has the same target: the plans of
// the older ones say all that is needed, so a job that changed since or cannot be opened any more stands in nobody's way.
func (s *Settler) settle(ctx context.Context, in TableRun, session *Session) error {
	staging, err := s.Env.Staging(ctx, in.Staging, in.Store)
	if err != nil {
		return err
	}
	open, err := ledger.Marked(ctx, staging, targetID(session.Spec.Warehouse, session.Spec.Target))
	if err != nil {
		return err
	}
	for _, o := range open {
		if o.Key == in.Key {
			continue
		}
		if err := settleOne(ctx, newRun(staging, session, o.Key), o.Since); err != nil {
			return fmt.Errorf("settle the earlier run %s of job %s: %w", o.Run, o.Job, err)
		}
	}
	return nil
}

func settleOne(ctx context.Context, r *run, since time.Time) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	if r.plan == nil {
		if time.Since(since) < graceful {
			return r.unpin(ctx) // it pins anew when it plans
		}
		return r.forget(ctx)
	}
	if r.plan.Target != r.target {
		// A run that was refused had asked for another target under the same id.
		return ledger.Unmark(ctx, r.staging, r.target, r.key)
	}
	result, err := r.ledger.Result(ctx)
	if err != nil {
		return err
	}
	if result == nil {
		if result, err = r.settle(ctx); err != nil {
			return err
		}
	}
	_, err = r.clean(ctx)
	if errors.Is(err, ledger.ErrCorrupt) || errors.Is(err, ErrMismatch) {
		// Without its messages nothing tells a run's committed files from those of its lost attempts, so all stay. No reader
		// sees the latter, and a run that is over must not be in the way of the next one.
		activity.GetLogger(ctx).Warn("the ledger of an ended run is damaged: files of its lost attempts are not removed",
			"run", r.key.Run, "table", r.key.Table, "error", err)
		err = r.unpin(ctx)
	}
	if err != nil {
		return err
	}
	if time.Since(result.At) < max(graceful, r.plan.Retention) {
		return nil
	}
	return r.forget(ctx)
}

// settle brings an unfinished run to its end: a decided commit is published, anything else is given up.
func (r *run) settle(ctx context.Context) (*ledger.Result, error) {
	e, err := r.end(ctx, twophase.Settle)
	if err == nil && e.how == twophase.Unknown {
		err = fmt.Errorf("whether it is committed is not known: %w", e.cause)
	}
	if err != nil && e.see.Verdict == ledger.Commit {
		err = fmt.Errorf("its commit was decided: finish it with `starter resume %s` or give it up with `starter abort %s`: %w",
			r.key.Run, r.key.Run, err)
	}
	return e.result, err
}
