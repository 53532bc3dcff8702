package commit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

const (
	// firstWait and maxWait bound the pause after a try: Paimon's commit.min-retry-wait and commit.max-retry-wait.
	firstWait = 10 * time.Millisecond
	maxWait   = 10 * time.Second
	// maxFailures is the number of errors of the store in a row after which a call gives up. Lost races do not count.
	maxFailures = 5
	// patience is how long a call whose context has ended may still take to learn what became of its snapshot, and to
	// remove what it wrote in vain.
	patience = 10 * time.Second
)

// Publish makes the commit visible, unless it is already. On success exactly one snapshot of the request is in the table,
// whatever calls were made before or at the same time. ErrConflict and ErrRefused say that none is and that this call
// published none; ErrOutcomeUnknown that it cannot be told. Any other error, the context's included, says that this call
// published nothing, but nothing of earlier calls: call again.
func (c *Committer) Publish(ctx context.Context, req Request) (Result, error) {
	if err := req.validate(); err != nil {
		return Result{}, c.fail("publish", err)
	}
	if !c.store.Exclusive() {
		return Result{}, c.fail("publish", refusal("the store cannot create a file only if it is absent"))
	}
	result, err := c.publish(ctx, &req)
	if err != nil {
		return Result{}, c.fail("publish", err)
	}
	if then := req.compaction(); then != nil {
		second, err := c.publish(ctx, then)
		if err != nil && !errors.Is(err, ErrConflict) {
			return Result{}, c.fail("publish", fmt.Errorf("compaction of the commit: %w", err))
		}
		result.Compaction, result.CompactionLost = second.Snapshot, err != nil
	}
	return result, nil
}

// publish makes one snapshot visible.
func (c *Committer) publish(ctx context.Context, req *Request) (Result, error) {
	if req.nothing() {
		return Result{Kind: req.Kind}, nil
	}
	return newPublication(c, req).run(ctx)
}

// Fence makes sure that a commit will never be in the table: it publishes an empty snapshot of the request's user and
// identifier that is marked by AbortedProperty and that every later try of the commit finds. Result.Fenced tells that it
// is so; false means that the commit itself is in the table, as Result.Snapshot. Of the request, Messages, Planned and
// Properties are not looked at. ErrOutcomeUnknown says that snapshots are gone which could have been the commit; none was
// published then.
func (c *Committer) Fence(ctx context.Context, req Request) (Result, error) {
	return c.fence(ctx, req, false)
}

// FenceAnyway is Fence also where snapshots are gone that could have been the commit. That none will come is all that it
// tells then: whether the commit is in the table must be known from elsewhere.
func (c *Committer) FenceAnyway(ctx context.Context, req Request) (Result, error) {
	return c.fence(ctx, req, true)
}

func (c *Committer) fence(ctx context.Context, req Request, anyway bool) (Result, error) {
	if !c.store.Exclusive() {
		return Result{}, c.fail("fence", refusal("the store cannot create a file only if it is absent"))
	}
	empty := Request{
		User: req.User, Identifier: req.Identifier, Kind: req.Kind, Base: req.Base,
		Planned: &schema.Table{}, Properties: map[string]string{AbortedProperty: "true"},
	}
	if err := empty.validate(); err != nil {
		return Result{}, c.fail("fence", err)
	}
	p := newPublication(c, &empty)
	p.fencing, p.anyway = true, anyway
	result, err := p.run(ctx)
	if err != nil {
		return Result{}, c.fail("fence", err)
	}
	return result, nil
}

// publication is one call of Publish or Fence.
type publication struct {
	c       *Committer
	req     *Request
	fencing bool
	anyway  bool // see FenceAnyway
	history *history
	names   *manifest.Names
	checked bool // the files were looked at

	draft *draft // written and not known to be lost
	// doubt is the number under which the draft may have become visible, 0 when it certainly has not. It is resolved when
	// any snapshot has that number.
	doubt snapshot.ID
	// visible tells that the draft certainly was visible under the number of doubt, replaced that it was so and is no more.
	visible, replaced bool
}

func newPublication(c *Committer, req *Request) *publication {
	return &publication{
		c: c, req: req, names: manifest.NewNames(),
		history: newHistory(c, req.User, req.Identifier, req.Kind, req.Base),
	}
}

// run tries until the outcome is known or the context ends.
func (p *publication) run(ctx context.Context) (Result, error) {
	failures := 0
	for try := 0; ; try++ {
		result, err := p.try(ctx)
		if result != nil {
			return *result, nil
		}
		switch {
		case err == nil: // lost, or to be looked up
			failures = 0
		case final(err) || permanent(err):
			return Result{}, p.giveUp(ctx, err)
		default:
			failures++
		}
		if failures == maxFailures || ctx.Err() != nil || p.pause(ctx, try) != nil {
			return p.lastAnswer(ctx, err)
		}
	}
}

// permanent tells errors that another try would meet again.
func permanent(err error) bool {
	return errors.Is(err, manifest.ErrCorrupt) || errors.Is(err, snapshot.ErrCorrupt) || errors.Is(err, fileio.ErrPath)
}

// try looks for the commit and, when it is not there, publishes it. A result ends the publication. Neither result nor
// error means that the next look decides.
func (p *publication) try(ctx context.Context) (*Result, error) {
	result, err := p.look(ctx)
	if result != nil || err != nil {
		return result, err
	}
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	s := p.draft.snapshot
	p.doubt = s.ID
	err = p.c.snapshots.Publish(ctx, s)
	if errors.Is(err, fileio.ErrExist) {
		p.doubt = 0
		p.drop(ctx)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// Not even success is believed at once: see history.gap and Committer.settled.
	p.visible = true
	return p.look(ctx)
}

// look reads what came since the last look and tells whether the commit is among it.
func (p *publication) look(ctx context.Context) (*Result, error) {
	h := p.history
	if err := h.advance(ctx); err != nil {
		return nil, err
	}
	switch {
	case h.own != nil:
		return p.found(ctx, h.own), nil
	case h.hole && !p.anyway:
		return p.resolveHole(ctx)
	case h.fence != nil && p.fencing:
		return p.found(ctx, h.fence), nil
	}
	if p.doubt != 0 && h.latest != nil && h.latest.ID >= p.doubt {
		p.doubt = 0
		p.lose(ctx)
	}
	if h.fence != nil {
		return nil, fenced(h)
	}
	return nil, nil
}

// lose ends a draft whose number has another snapshot. When it was replaced, whoever had read it before may have built on
// it, so that its metadata stays.
func (p *publication) lose(ctx context.Context) {
	if !p.visible {
		p.drop(ctx)
		return
	}
	p.visible, p.replaced, p.draft = false, true, nil
}

// found ends the publication with a snapshot that is in the table.
func (p *publication) found(ctx context.Context, s *snapshot.Snapshot) *Result {
	ours := p.draft != nil && p.draft.snapshot != nil && p.draft.snapshot.BaseManifestList == s.BaseManifestList
	p.doubt = 0
	if !ours {
		p.drop(ctx)
		p.dropDelta(ctx)
	}
	p.hint(ctx, s.ID)
	return &Result{
		Snapshot: s.ID, Kind: s.CommitKind, AlreadyCommitted: !ours,
		Fenced: s.Properties[AbortedProperty] == "true", Properties: s.Properties,
	}
}

// hint lets LATEST follow. Readers do without, so its failure is not the commit's.
func (p *publication) hint(ctx context.Context, id snapshot.ID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.c.patience)
	defer cancel()
	_ = p.c.snapshots.WriteHint(ctx, id)
}

// resolveHole looks for the request's files in the table when the snapshots that could tell are gone.
func (p *publication) resolveHole(ctx context.Context) (*Result, error) {
	live, err := p.live(ctx)
	switch {
	case err != nil:
		return nil, err
	case live:
		return &Result{Snapshot: p.history.latest.ID, Kind: p.req.Kind, AlreadyCommitted: true}, nil
	}
	return nil, p.history.unknown()
}

// live tells whether a file of the request is in the table.
func (p *publication) live(ctx context.Context) (bool, error) {
	// A compaction may lift files under their names.
	type file struct {
		name  string
		level int32
	}
	compacts := p.req.Kind == snapshot.Compact
	wanted := map[file]bool{}
	for _, m := range p.req.Messages {
		if !compacts {
			for _, f := range m.Data.NewFiles {
				wanted[file{name: f.Name}] = true
			}
			continue
		}
		for _, f := range m.Compact.After {
			wanted[file{f.Name, f.Level}] = true
		}
	}
	found := errors.New("found")
	err := LiveEntries(ctx, p.c.store, p.c.table, p.history.latest, func(e *manifest.Entry) error {
		f := file{name: e.File.Name}
		if compacts {
			f.level = e.File.Level
		}
		if wanted[f] {
			return found
		}
		return nil
	})
	if errors.Is(err, found) {
		return true, nil
	}
	return false, err
}

// prepare checks the request against the table as it is now and writes the metadata of its snapshot. A draft whose number
// is still free is used again: publishing the same bytes twice is harmless.
func (p *publication) prepare(ctx context.Context) error {
	h := p.history
	if p.draft != nil && p.draft.snapshot != nil && p.draft.snapshot.ID == nextID(h.latest) {
		return nil
	}
	b := &builder{c: p.c, req: p.req, kind: p.req.Kind, names: p.names, before: h.latest}
	var err error
	if p.replaced {
		if b.recorded, err = p.live(ctx); err != nil {
			return err
		}
	}
	if b.schema, err = p.check(ctx, b.recorded); err != nil {
		return err
	}
	if p.fencing {
		b.kind = snapshot.Append
	}
	if p.replaced { // and an earlier delta may have become another one since
		p.dropDelta(ctx)
	}
	var again *delta
	if p.draft != nil {
		again = p.draft.delta
	}
	p.draft, err = b.build(ctx, again)
	if err != nil {
		p.drop(ctx)
		return err
	}
	return nil
}

func nextID(latest *snapshot.Snapshot) snapshot.ID {
	if latest == nil {
		return 1
	}
	return latest.ID + 1
}

// check returns the table's latest schema when the request may be committed now, or has been and is only to be recorded.
func (p *publication) check(ctx context.Context, recorded bool) (*schema.Table, error) {
	if p.fencing || recorded {
		return p.c.schemas.Latest(ctx)
	}
	table, err := p.c.checkSchema(ctx, p.req.Planned)
	if err != nil {
		return nil, err
	}
	if err := p.c.checkChanges(ctx, p.req, table, p.history); err != nil {
		return nil, err
	}
	if !p.checked {
		if err := p.c.checkFiles(ctx, table, p.req); err != nil {
			return nil, err
		}
		p.checked = true
	}
	return table, nil
}

// drop removes the metadata of a draft that certainly did not become visible. What an append changes is the same in the
// next try and is kept for it.
func (p *publication) drop(ctx context.Context) {
	if p.draft == nil {
		return
	}
	p.remove(ctx, p.draft.files)
	complete := p.draft.delta != nil && p.draft.delta.list.Name != ""
	if p.req.Kind == snapshot.Overwrite && !p.fencing || !complete {
		p.dropDelta(ctx)
		p.draft = nil
		return
	}
	p.draft = &draft{delta: p.draft.delta}
}

// dropDelta removes what drop keeps.
func (p *publication) dropDelta(ctx context.Context) {
	if p.draft != nil && p.draft.delta != nil {
		p.remove(ctx, p.draft.delta.files)
		p.draft = nil
	}
}

// remove deletes metadata files. What cannot be deleted is an orphan, which costs a little space and no more.
func (p *publication) remove(ctx context.Context, names []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.c.patience)
	defer cancel()
	_ = p.c.manifests.Delete(ctx, names...)
}

// giveUp ends the publication with an error that another try would meet again.
func (p *publication) giveUp(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrOutcomeUnknown):
		return err
	case p.doubt != 0 || p.replaced:
		return p.inDoubt(err)
	}
	p.drop(ctx)
	p.dropDelta(ctx)
	return err
}

// lastAnswer ends a publication that ran out of time or of patience with the store.
func (p *publication) lastAnswer(ctx context.Context, cause error) (Result, error) {
	if cause == nil {
		cause = ctx.Err()
	}
	if p.doubt != 0 {
		look, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.c.patience)
		defer cancel()
		result, err := p.look(look)
		if result != nil {
			return *result, nil
		}
		if final(err) {
			return Result{}, p.giveUp(ctx, err)
		}
	}
	return Result{}, p.giveUp(ctx, cause)
}

func (p *publication) inDoubt(cause error) error {
	return &Error{
		Snapshot: p.doubt, Err: fmt.Errorf("%w: %w", ErrOutcomeUnknown, cause),
		Hint: "call again: it looks for its own snapshot first; delete nothing before it has answered",
	}
}

// pause waits before the next try: longer each time, and never as long as another committer that lost with us.
func (p *publication) pause(ctx context.Context, try int) error {
	wait := min(p.c.firstWait<<min(try, 10), maxWait)
	wait = wait/2 + rand.N(wait)/2
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
