package activities

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/tributary-lake/tributary/activities/watermark"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/ledger/twophase"
)

// ending brings a run to an end by the steps that package twophase allows.
type ending struct {
	*run
	see twophase.Sight
	// how it ended.
	how twophase.Step

	loaded   bool
	messages []*message.Commit
	counts   ledger.Counts
	// snapshot of the commit, 0 when there was nothing to publish.
	snapshot snapshot.ID
	// made is the round of merges that the snapshot is made of.
	made int
	// result is what the ledger has recorded.
	result *ledger.Result
	// cause is why the table cannot tell, or what forbids the commit; refusal what would refuse it.
	cause, refusal error
	deleted        int
}

// end takes all steps to the goal. After an error, what was seen so far is returned too.
func (r *run) end(ctx context.Context, goal twophase.Goal) (*ending, error) {
	e := &ending{run: r}
	if err := e.readResult(ctx); err != nil {
		return e, err
	}
	var err error
	if e.see.Verdict, err = r.ledger.Decision(ctx, identifier); err != nil {
		return e, err
	}
	for {
		step := twophase.Next(goal, e.see)
		if step.End() {
			e.how = step
			return e, nil
		}
		if err := e.do(ctx, step); err != nil {
			return e, err
		}
	}
}

func (e *ending) readResult(ctx context.Context) (err error) {
	if e.result, err = e.run.ledger.Result(ctx); err == nil && e.result != nil {
		e.see.Result = e.result.Outcome
	}
	return err
}

func (e *ending) do(ctx context.Context, step twophase.Step) error {
	switch step {
	case twophase.Prepare:
		return e.prepare(ctx)
	case twophase.DecideCommit:
		return e.decide(ctx, ledger.Commit)
	case twophase.DecideAbort:
		return e.decide(ctx, ledger.Abort)
	case twophase.Publish:
		return e.saw(ctx, e.publish)
	case twophase.Look:
		return e.saw(ctx, e.look)
	case twophase.Fence:
		return e.saw(ctx, e.fence)
	case twophase.FenceAnyway:
		return e.saw(ctx, e.fenceAnyway)
	case twophase.Judge:
		e.refusal = e.judge(ctx)
		e.see.Refused = answer(e.refusal != nil)
		return nil
	case twophase.Search:
		named, err := e.named(ctx)
		e.see.Named = answer(named)
		return err
	case twophase.Delete:
		n, err := e.remove(ctx, nil)
		e.deleted, e.see.Deleted = n, err == nil
		return err
	case twophase.RecordCommitted:
		return e.recordCommitted(ctx)
	case twophase.RecordRolledBack:
		return e.record(ctx, ledger.Result{Outcome: ledger.Aborted})
	case twophase.Release:
		e.see.Released = true
		return e.unpin(ctx)
	case twophase.Committed, twophase.RolledBack, twophase.Refuses, twophase.Pending, twophase.Unknown:
	}
	return fmt.Errorf("step %d of a run's end cannot be carried out", step)
}

func answer(yes bool) twophase.Answer {
	if yes {
		return twophase.Yes
	}
	return twophase.No
}

// prepare makes every check that can refuse the commit.
func (e *ending) prepare(ctx context.Context) error {
	if err := e.load(ctx); err != nil {
		return err
	}
	if err := e.mayCommit(ctx, e.counts); err != nil {
		return err
	}
	req := e.request(e.messages)
	if err := e.committer().Check(ctx, req); err != nil {
		return err
	}
	// Again: the consumer made at plan time may have expired by its age.
	if err := e.pin(ctx, req.Base); err != nil {
		return err
	}
	e.see.Prepared = true
	return nil
}

func (e *ending) load(ctx context.Context) (err error) {
	if !e.loaded {
		e.messages, e.counts, err = e.run.messages(ctx, latestRound)
		e.loaded = err == nil
	}
	return err
}

func (e *ending) decide(ctx context.Context, v ledger.Verdict) (err error) {
	e.see.Verdict, err = e.ledger.Decide(ctx, identifier, v)
	return err
}

// saw makes a look at the table. What it does not show may have been recorded by somebody who had seen it.
func (e *ending) saw(ctx context.Context, look func(context.Context) error) error {
	if err := look(ctx); err != nil {
		return err
	}
	if !e.see.Table.Doubtful() {
		return nil
	}
	err := e.readResult(ctx)
	if err != nil && errors.Is(e.cause, commit.ErrOutcomeUnknown) {
		return fmt.Errorf("%w; and the ledger cannot be read: %w", e.cause, err)
	}
	return err
}

func (e *ending) publish(ctx context.Context) error {
	if err := e.load(ctx); err != nil {
		return err
	}
	e.see.Table, e.made = twophase.Present, e.round
	if len(e.messages) == 0 && !e.plan.Overwrite {
		return nil
	}
	published, err := e.committer().Publish(ctx, e.request(e.messages))
	switch {
	case errors.Is(err, commit.ErrFenced):
		e.see.Table, e.cause = twophase.Fenced, err
	case errors.Is(err, commit.ErrOutcomeUnknown):
		e.see.Table, e.cause = twophase.Lost, err
	case err != nil:
		return err
	default:
		e.foundIn(published.Snapshot, published.Properties)
	}
	return nil
}

// foundIn notes the snapshot that is the commit, and of which round of merges it says that it is made: it may be that of an
// attempt which had stalled. Where its properties are gone, the files that were looked for are in the table.
func (e *ending) foundIn(id snapshot.ID, properties map[string]string) {
	e.snapshot, e.made = id, e.round
	if properties != nil {
		e.made, _ = strconv.Atoi(properties[roundProperty])
	}
}

func (e *ending) look(ctx context.Context) error {
	own, fence, err := e.committer().Look(ctx, e.user(), identifier, e.kind(), snapshot.ID(e.plan.Base))
	switch {
	case unanswered(err):
		e.see.Table, e.cause = twophase.Lost, err
	case err != nil:
		return err
	case own != nil:
		e.see.Table = twophase.Present
		e.foundIn(own.ID, own.Properties)
	case fence != nil:
		e.see.Table = twophase.Fenced
	default:
		e.see.Table = twophase.Absent
	}
	return nil
}

// fence makes a decided commit impossible before anything is deleted: an empty snapshot of the run's own, which a stalled
// attempt finds in its place.
func (e *ending) fence(ctx context.Context) error {
	found, err := e.committer().Fence(ctx, e.request(nil))
	switch {
	case unanswered(err) || errors.Is(err, fileio.ErrNotExist):
		e.see.Table, e.cause = twophase.Lost, err
	case err != nil:
		return err
	case !found.Fenced:
		e.see.Table = twophase.Present
		e.foundIn(found.Snapshot, found.Properties)
	default:
		e.see.Table = twophase.Fenced
	}
	return nil
}

func (e *ending) fenceAnyway(ctx context.Context) error {
	found, err := e.committer().FenceAnyway(ctx, e.request(nil))
	switch {
	case err != nil && !unanswered(err) && !errors.Is(err, fileio.ErrNotExist):
		return err
	case err == nil && !found.Fenced:
		e.see.Table = twophase.Present
		e.foundIn(found.Snapshot, found.Properties)
	default: // a table that is gone or another one needs no fence
		e.see.Table, e.see.Named = twophase.LostFenced, twophase.Unasked
	}
	return nil
}

// unanswered tells errors after which the snapshots will never say whether a commit is among them: they have expired, or
// the table was rolled back, dropped or made anew.
func unanswered(err error) bool {
	return errors.Is(err, commit.ErrOutcomeUnknown) || errors.Is(err, commit.ErrConflict)
}

// recordCommitted records a commit that is in the table, maybe for a caller that did not live to do so.
func (e *ending) recordCommitted(ctx context.Context) error {
	result := ledger.Result{Outcome: ledger.Committed, Snapshot: int64(e.snapshot), Counts: e.counts, Round: e.made}
	if e.snapshot != 0 {
		result.Kind = string(e.kind())
	}
	if !e.loaded || e.made != e.round {
		_, counts, err := e.filed(ctx, e.made)
		switch {
		case errors.Is(err, ErrMismatch), errors.Is(err, ledger.ErrCorrupt):
			// The counts are lost. That the rows are in the table is what matters.
		case err != nil:
			return err
		default:
			result.Counts = counts
		}
	}
	if e.plan.Watermark != nil && e.snapshot != 0 {
		if err := watermark.Keep(ctx, e.snapshots(), e.key.Job); err != nil {
			return err
		}
	}
	result.Cut = e.cut // known since the claims were read
	return e.record(ctx, result)
}

func (e *ending) record(ctx context.Context, result ledger.Result) (err error) {
	if e.result, err = e.ledger.Finish(ctx, result); err == nil {
		e.see.Result = e.result.Outcome
	}
	return err
}
