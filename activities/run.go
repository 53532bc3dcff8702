package activities

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/tributary-lake/tributary/activities/notes"
	"github.com/tributary-lake/tributary/activities/watermark"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// run is one table's part of a run as those see it that begin or end it.
type run struct {
	key     ledger.Key
	staging fileio.Store
	ledger  *ledger.Ledger
	// session is nil when the run's job is gone, and with it all that was known of the target.
	session *Session
	target  string // see targetID
	path    string // the table's folder

	// Of a run that has a plan:
	plan   *ledger.Plan
	schema *schema.Table
	table  *lake.Table
	// cut is what the claims say of it, once messages has read them, and round is that of the merges that were read.
	cut   []source.Cut
	round int
}

// openRun opens a run by the job that it keeps. Whoever does so closes its session.
func openRun(ctx context.Context, env Env, in TableRun) (*run, error) {
	staging, err := env.Staging(ctx, in.Staging, in.Store)
	if err != nil {
		return nil, err
	}
	job, _, err := ledger.ReadJob(ctx, staging, in.Job, in.Run)
	if errors.Is(err, fileio.ErrNotExist) {
		r := newRun(staging, nil, in.Key)
		if r.plan, err = r.ledger.Plan(ctx); err == nil && r.plan != nil {
			err = fmt.Errorf("%w: the run at %s has no job any more: the staging root was cleaned by another tool", ledger.ErrCorrupt, r.ledger.URI())
		}
		return r, err
	}
	if err != nil {
		return nil, err
	}
	session, err := env.Open(ctx, job, in.Table)
	if err != nil {
		return nil, err
	}
	r := newRun(staging, session, in.Key)
	if err := r.load(ctx); err != nil {
		session.Close()
		return nil, err
	}
	return r, nil
}

// newRun names a run of a session's target.
func newRun(staging fileio.Store, s *Session, key ledger.Key) *run {
	r := &run{key: key, staging: staging, ledger: ledger.Open(staging, key), session: s}
	if s != nil {
		r.target, r.path = targetID(s.Spec.Warehouse, s.Spec.Target), s.Catalog.Path(s.Spec.Target)
	}
	return r
}

// load reads the plan, if there is one.
func (r *run) load(ctx context.Context) error {
	plan, err := r.ledger.Plan(ctx)
	if err != nil || plan == nil {
		return err
	}
	return r.follow(plan)
}

// follow takes a plan as the run's.
func (r *run) follow(plan *ledger.Plan) error {
	frozen, err := schema.Parse(plan.Schema)
	if err != nil {
		return fmt.Errorf("%w: schema of the plan at %s: %w", ledger.ErrCorrupt, r.ledger.URI(), err)
	}
	r.plan, r.schema = plan, frozen
	r.table = lake.NewTable(r.session.Warehouse, plan.Path, frozen)
	return nil
}

func (r *run) close() {
	if r.session != nil {
		r.session.Close()
	}
}

// user is the commitUser of all that the run publishes.
func (r *run) user() string { return "tributary-" + r.key.Job + "-" + r.key.Run }

func (r *run) snapshots() *snapshot.Manager {
	return snapshot.NewManager(r.session.Warehouse, r.path)
}

func (r *run) kind() snapshot.Kind {
	if r.plan.Overwrite {
		return snapshot.Overwrite
	}
	return snapshot.Append
}

// consumer is the name under which the run keeps snapshots from expiring.
func (r *run) consumer() string { return "tributary-" + r.key.Run }

// pin keeps the snapshots after a base from expiring: they are the proof of what became of the run's commit.
func (r *run) pin(ctx context.Context, base snapshot.ID) error {
	if err := r.snapshots().CreateConsumer(ctx, r.consumer(), base+1); err != nil {
		return fmt.Errorf("pin the snapshots after %d: %w", base, err)
	}
	return nil
}

// unpin lets them expire again.
func (r *run) unpin(ctx context.Context) error {
	if err := r.snapshots().DeleteConsumer(ctx, r.consumer()); err != nil {
		return fmt.Errorf("release the snapshots pinned by the run: %w", err)
	}
	return nil
}

// forget removes all that the run left outside the table, the mark last: until then a later run finds the rest. What a
// stalled attempt to plan adds meanwhile goes in the second round; what it adds later it removes itself, as it misses the
// mark.
func (r *run) forget(ctx context.Context) error {
	if err := r.forgetJob(ctx); err != nil {
		return err
	}
	for range 2 {
		if err := r.ledger.Remove(ctx); err != nil {
			return err
		}
		if r.session == nil {
			continue
		}
		if err := r.unpin(ctx); err != nil {
			return err
		}
		if err := ledger.Unmark(ctx, r.staging, r.target, r.key); err != nil {
			return err
		}
	}
	return nil
}

// forgetJob removes job.json unless another table of the run needs it, or may yet.
func (r *run) forgetJob(ctx context.Context) error {
	open, err := ledger.MarkedOfRun(ctx, r.staging, r.key.Job, r.key.Run)
	if err != nil {
		return err
	}
	for _, o := range open {
		if o.Key != r.key {
			return nil
		}
	}
	return r.staging.Delete(ctx, ledger.JobPath(r.key.Job, r.key.Run))
}

// claims returns the winners of all units, or ErrMismatch naming the first units that have none.
func (r *run) claims(ctx context.Context) ([]*ledger.Claim, error) {
	return r.winners(ctx, "unit", 0, r.plan.Units)
}

// winners returns the winners of n units, or merges, whose ids begin with first.
func (r *run) winners(ctx context.Context, what string, first, n int) ([]*ledger.Claim, error) {
	claims := make([]*ledger.Claim, n)
	err := parallel(ctx, n, 32, func(ctx context.Context, i int) error {
		c, err := r.ledger.Winner(ctx, first+i)
		if err == nil && c == nil {
			err = fmt.Errorf("%w: %s %d of %d was never claimed", ErrMismatch, what, i, n)
		}
		claims[i] = c
		return err
	})
	return claims, err
}

// latestRound stands for the latest round of merges of which each is claimed.
const latestRound = -1

// complete is the latest round of merges of which each is claimed; 0 when there is none.
func (r *run) complete(ctx context.Context, merges *ledger.Merges) (int, error) {
	round, err := r.ledger.Round(ctx)
	if err != nil || round == 0 {
		return 0, err
	}
	claimed, err := r.ledger.Claimed(ctx)
	if err != nil {
		return 0, err
	}
	for ; round > 0; round-- {
		if len(unclaimed(merges.Count, func(n int) bool { return claimed[merges.Unit(r.plan.Units, round, n)] })) == 0 {
			break
		}
	}
	return round, nil
}

// filed returns the claims that refer to commit messages, those of the units or of a round of the merges that followed them, and
// the sum of the counts of all claims. Of a key table every row that was read was sorted, and every sorted row was merged.
func (r *run) filed(ctx context.Context, round int) ([]*ledger.Claim, ledger.Counts, error) {
	var total ledger.Counts
	claims, err := r.claims(ctx)
	if err != nil {
		return nil, total, err
	}
	r.cut = ledger.Cuts(claims)
	for _, c := range claims {
		total = total.Add(c.Counts)
	}
	if !r.plan.Keyed {
		return claims, total, nil
	}
	merges, err := r.ledger.Merges(ctx)
	if err == nil && merges == nil {
		err = fmt.Errorf("%w: no merges were planned", ErrMismatch)
	}
	if err != nil {
		return nil, total, err
	}
	if round == latestRound {
		if round, err = r.complete(ctx, merges); err != nil {
			return nil, total, err
		}
	}
	r.round = round
	if claims, err = r.winners(ctx, "merge", merges.Unit(r.plan.Units, round, 0), merges.Count); err != nil {
		return nil, total, err
	}
	for _, c := range claims {
		total = total.Add(c.Counts)
	}
	if total.RowsRead != total.RowsSorted+total.RowsDropped || total.RowsSorted != total.RowsMerged || !total.Balanced() {
		return nil, total, fmt.Errorf("%w: of %d rows read %d were sorted and %d marked as deleted; %s",
			ErrMismatch, total.RowsRead, total.RowsSorted, total.RowsDropped, total.Merged())
	}
	if sums := total.Sums; sums.Files != sums.Wanted() {
		return nil, total, fmt.Errorf("%w: the files of all merges should have rows with checksum %016x, as was read, and have %016x", ErrMismatch, sums.Wanted(), sums.Files)
	}
	return claims, total, nil
}

// messages loads the winners' commit messages, of a round of the merges, and checks them against their claims.
func (r *run) messages(ctx context.Context, round int) ([]*message.Commit, ledger.Counts, error) {
	claims, total, err := r.filed(ctx, round)
	if err != nil {
		return nil, total, err
	}
	files := make([]*message.File, len(claims))
	err = parallel(ctx, len(claims), 32, func(ctx context.Context, i int) error {
		data, err := r.ledger.ReadMessages(ctx, claims[i].Message)
		if err != nil {
			return err
		}
		files[i], err = message.ReadFile(r.staging.URI(claims[i].Message.Path), data, r.schema.ID)
		return err
	})
	if err != nil {
		return nil, total, err
	}
	var all []*message.Commit
	seen := map[string]int{}
	for i, f := range files {
		var rows int64
		for _, m := range f.Messages {
			for _, d := range m.Data.NewFiles {
				rows += d.Rows
				if other, twice := seen[d.Name]; twice {
					return nil, total, fmt.Errorf("%w: units %d and %d both name the file %s", ErrMismatch, other, claims[i].Unit, d.Name)
				}
				seen[d.Name] = claims[i].Unit
			}
		}
		c := claims[i].Counts
		came := c.RowsRead
		if r.plan.Keyed {
			came = c.RowsMerged - c.RowsCollapsed - c.RowsSame + c.RowsGone
		}
		if rows != c.RowsWritten || rows != came {
			return nil, total, fmt.Errorf("%w: unit %d read %d rows and claims %d written, its messages hold %d",
				ErrMismatch, claims[i].Unit, came, c.RowsWritten, rows)
		}
		all = append(all, f.Messages...)
	}
	return all, total, nil
}

// request is the one commit of the run.
func (r *run) request(messages []*message.Commit) commit.Request {
	properties := map[string]string{
		JobProperty: r.key.Job, "tributary.run": r.key.Run, "tributary.consistency": r.plan.Consistency,
		shardsProperty: strconv.Itoa(r.plan.Shards),
	}
	if len(r.plan.LeftOut) > 0 {
		properties[leftOutProperty] = notes.Text(r.plan.LeftOut)
	}
	if r.round > 0 {
		properties[roundProperty] = strconv.Itoa(r.round)
	}
	for _, c := range r.cut {
		properties[CutProperty+c.Instance] = c.Text()
	}
	req := commit.Request{
		User: r.user(), Identifier: identifier, Kind: r.kind(), Messages: messages, Planned: r.schema,
		Base: snapshot.ID(r.plan.Base), AllowForeign: r.plan.ReplaceForeign, Alone: r.plan.Keyed, Unchanged: r.plan.Compare, Properties: properties,
	}
	watermark.Add(&req, r.key.Job, r.plan.Watermark)
	return req
}

// CutProperty and the name of an instance are the property of a snapshot that has the instance's cut: its Text.
const CutProperty = "tributary.cut."

// roundProperty is the property of a snapshot that names the round of merges whose files it has, where that is not the first.
const roundProperty = "tributary.round"

// JobProperty is the property of a snapshot that names the job it was made by.
const JobProperty = "tributary.job"

func (r *run) committer() *commit.Committer { return r.table.Committer() }
