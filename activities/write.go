package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/pipe"
	"github.com/tributary-lake/tributary/activities/sink"
	"github.com/tributary-lake/tributary/activities/units"
	"github.com/tributary-lake/tributary/activities/verify"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// identifier of the only commit that a run makes in a table.
const identifier = 1

// Writer reads units and writes data files.
type Writer struct {
	Env Env
	// Producer is written into message files, for people: tributary/<version>.
	Producer string
	// Memory is what all that this process reads and writes at the same time shares.
	Memory *budget.Budget
	// Spill, unless nil, gives an empty folder for rows that do not fit into memory. done removes it with all that it holds.
	Spill func() (folder fileio.Store, done func() error, err error)

	codecs lake.Codecs
}

// Write reads one unit, writes its rows as data files, keeps their commit messages and claims the unit. A unit that is
// claimed already gives its winner at once.
func (w *Writer) Write(ctx context.Context, in WriteInput) (*Written, error) {
	staging, err := w.Env.Staging(ctx, in.Staging, in.Store)
	if err != nil {
		return nil, err
	}
	l := ledger.Open(staging, in.Key)
	if won, err := l.Winner(ctx, in.Unit); err != nil || won != nil {
		return written(won), err
	}
	plan, err := planOf(ctx, l)
	if err != nil {
		return nil, err
	}
	unit, err := l.Unit(ctx, plan, in.Unit)
	if err != nil {
		return nil, err
	}
	job, err := jobOf(ctx, staging, in.Key)
	if err != nil {
		return nil, err
	}
	s, err := w.Env.Open(ctx, job, in.Table)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	a := &attempt{ledger: l, plan: plan, unit: unit, session: s, producer: w.Producer, codecs: &w.codecs, memory: w.Memory}
	defer beatWith(ctx, a.progress)()
	if w.Spill == nil {
		return a.run(ctx)
	}
	folder, done, err := w.Spill()
	if err != nil {
		return nil, err
	}
	a.spill = folder
	won, err := a.run(ctx)
	if left := done(); left != nil {
		activity.GetLogger(ctx).Warn("rows that were spilled to disk could not be removed", "error", left)
	}
	return won, err
}

func written(c *ledger.Claim) *Written {
	if c == nil {
		return nil
	}
	return &Written{Unit: c.Unit, Message: c.Message, Counts: c.Counts}
}

// attempt is one try of a unit.
type attempt struct {
	ledger   *ledger.Ledger
	plan     *ledger.Plan
	unit     ledger.Unit
	session  *Session
	producer string
	codecs   *lake.Codecs
	memory   *budget.Budget
	spill    fileio.Store

	// again tells that it is a merge made again, which a commit that was decided may be waiting for.
	again bool

	record  ledger.Attempt
	rows    atomic.Int64
	written atomic.Int64
	// moment is the one at which all is read, nil for none.
	moment *source.Moment
}

func (a *attempt) progress() any {
	return Progress{RowsRead: a.rows.Load(), Bytes: a.written.Load(), At: time.Now().UTC()}
}

// errLost tells an attempt that another one has won the unit.
var errLost = errors.New("another attempt has written the unit")

// run writes the unit.
func (a *attempt) run(ctx context.Context) (*Written, error) {
	return a.claim(ctx, func(_ context.Context, table *lake.Table) (abortable, work, error) {
		if a.plan.Consistency == units.Shard || a.plan.Consistency == units.Instance {
			c := &momentCopy{attempt: a, table: table, left: a.unit.Splits}
			return c, c.write, nil
		}
		out, err := sink.New(table, a.sinks(), 0, 1)
		return out, func(ctx context.Context) ([]byte, ledger.Counts, error) { return a.write(ctx, table, out) }, err
	})
}

// abortable is whatever writes an attempt's files: it can remove them.
type abortable interface {
	Abort(ctx context.Context) error
}

// work makes an attempt's files. It returns what the claim refers to, and its counts.
type work func(ctx context.Context) ([]byte, ledger.Counts, error)

// claim registers the attempt, lets it work and claims the unit. Its own files are removed when they cannot count any more.
func (a *attempt) claim(ctx context.Context, begin func(ctx context.Context, table *lake.Table) (abortable, work, error)) (*Written, error) {
	if err := a.allowed(ctx); err != nil {
		return a.lost(ctx, err)
	}
	frozen, err := schema.Parse(a.plan.Schema)
	if err != nil {
		return nil, fmt.Errorf("%w: schema of the plan at %s: %w", ledger.ErrCorrupt, a.ledger.URI(), err)
	}
	if a.record, err = a.ledger.Register(ctx, a.unit.ID); err != nil {
		return nil, err
	}
	out, work, err := begin(ctx, lake.NewTable(a.session.Warehouse, a.plan.Path, frozen))
	if err != nil {
		return nil, err
	}
	claim, err := a.keep(ctx, work)
	if err != nil {
		if dropped := a.drop(ctx, out); dropped != nil {
			return nil, errors.Join(err, dropped)
		}
		return a.lost(ctx, err)
	}
	won, err := a.ledger.Claim(ctx, *claim)
	if err != nil {
		// Whether the claim stands is unknown: the files stay, the attempt's prefix finds them.
		return nil, err
	}
	if won.Attempt != claim.Attempt {
		return written(won), a.drop(ctx, out)
	}
	return written(won), nil
}

// keep works and keeps what the claim refers to.
func (a *attempt) keep(ctx context.Context, work work) (*ledger.Claim, error) {
	data, counts, err := work(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.allowed(ctx); err != nil {
		return nil, err
	}
	ref, err := a.ledger.WriteMessages(ctx, a.record, data)
	if err != nil {
		return nil, err
	}
	return &ledger.Claim{Unit: a.unit.ID, Attempt: a.record.ID, Message: ref, Counts: counts, Moment: a.moment}, nil
}

// lost turns errLost into the winner, and passes other errors on.
func (a *attempt) lost(ctx context.Context, err error) (*Written, error) {
	if !errors.Is(err, errLost) {
		return nil, err
	}
	won, err := a.ledger.Winner(ctx, a.unit.ID)
	return written(won), err
}

// write reads and writes all splits and closes the files.
func (a *attempt) write(ctx context.Context, table *lake.Table, out sink.Sink) ([]byte, ledger.Counts, error) {
	left := a.unit.Splits
	next := func() (ledger.UnitSplit, bool) {
		if len(left) == 0 {
			return ledger.UnitSplit{}, false
		}
		s := left[0]
		left = left[1:]
		return s, true
	}
	l, err := a.copy(ctx, table, a.session.Source.Read, next, out)
	if err != nil {
		return nil, l.Counts, err
	}
	data, err := l.File(table, a.sinks())
	return data, l.Counts, err
}

// sinks are how the attempt writes.
func (a *attempt) sinks() sink.Options {
	spec := a.session.Spec
	return sink.Options{
		Keyed: a.plan.Keyed, Prefix: a.record.Prefix, RunName: a.record.RunName, Store: a.ledger.Store(), RunsFolder: a.ledger.RunsFolder(),
		Guard: a.allowed, RowGroupBytes: spec.RowGroupBytes, SortBytes: spec.SortBytes, Codecs: a.codecs, Overwrite: spec.Overwrite,
		Deletes: spec.Deletes, Checksums: a.plan.Checksums, Spill: a.spill,
		Messages: sink.Messages{Producer: a.producer, Version: spec.SerializerVersion},
	}
}

// copy reads and writes splits until there is no next one, and closes the files.
func (a *attempt) copy(ctx context.Context, table *lake.Table, from pipe.Read, next func() (ledger.UnitSplit, bool), out sink.Sink) (sink.Leavings, error) {
	share, err := a.memory.Join(ctx, a.session.Spec.Job, a.session.Spec.Memory)
	if err != nil {
		return sink.Leavings{}, err
	}
	defer share.Leave()
	p := pipe.Pipe{Out: out, Share: share, Rows: &a.rows, Bytes: &a.written}
	if a.plan.Checksums {
		p.Sum = &row.Checksum{}
	}
	var counts ledger.Counts
	var splits []ledger.UnitSplit
	for s, ok := next(); ok; s, ok = next() {
		out.Begin(s)
		r := a.read(s)
		if a.plan.SourceSums {
			p.Tally = verify.Ask(&r)
		}
		stats, written, err := p.Copy(ctx, from, r)
		if err == nil {
			err = verify.Split(s, stats, written, p.Tally)
		}
		if err != nil {
			return sink.Leavings{}, err
		}
		splits = append(splits, s)
		counts.RowsRead += stats.Rows
		counts.Replaced = ledger.AddReplaced(counts.Replaced, stats.Replaced)
	}
	l, err := out.Finish(ctx)
	if p.Sum != nil && a.plan.Keyed {
		counts.Sums.Read = p.Sum.Sum
	}
	l.Counts = l.Counts.Add(counts)
	if err == nil && p.Sum != nil && !a.plan.Keyed {
		err = verify.ReadAgain(ctx, table, l, p.Sum, splits)
	}
	return l, err
}

// read is the request for one split. The source fills the provenance columns from the shard's name.
func (a *attempt) read(s ledger.UnitSplit) source.Read {
	return source.Read{Shard: s.Shard, Split: s.Split, Where: a.session.Spec.Where, Outputs: a.plan.Shapes[s.Shape].Outputs}
}

// allowed tells whether the attempt may still make files: the run is there, no decision stands, and nobody has won the
// unit. It is asked before each file and before the claim, so whoever has won is another attempt.
func (a *attempt) allowed(ctx context.Context) error {
	planned, err := a.ledger.Planned(ctx)
	if err != nil {
		return err
	}
	if !planned {
		return noPlan(a.ledger)
	}
	d, err := a.ledger.Decision(ctx, identifier)
	if err != nil {
		return err
	}
	if d == ledger.Commit && a.again {
		var end *ledger.Result
		if end, err = a.ledger.Result(ctx); err != nil {
			return err
		}
		if end == nil {
			d = ""
		}
	}
	if d != "" {
		return fmt.Errorf("%w: %s stands, unit %d is not needed", ErrAborted, d, a.unit.ID)
	}
	won, err := a.ledger.Winner(ctx, a.unit.ID)
	if err != nil {
		return err
	}
	if won != nil {
		return fmt.Errorf("unit %d: %w", a.unit.ID, errLost)
	}
	return nil
}

// drop removes the attempt's files. A cancelled context must not keep them.
func (a *attempt) drop(ctx context.Context, out abortable) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	return out.Abort(ctx)
}

const dropTimeout = 20 * time.Second

// planOf reads the plan of a run. It is gone only after the run has ended.
func planOf(ctx context.Context, l *ledger.Ledger) (*ledger.Plan, error) {
	p, err := l.Plan(ctx)
	if err == nil && p == nil {
		err = noPlan(l)
	}
	return p, err
}

func noPlan(l *ledger.Ledger) error {
	return fmt.Errorf("%w: there is no plan at %s any more", ErrAborted, l.URI())
}

// jobOf reads the job that a run keeps.
func jobOf(ctx context.Context, staging fileio.Store, key ledger.Key) (json.RawMessage, error) {
	job, _, err := ledger.ReadJob(ctx, staging, key.Job, key.Run)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no job at %s any more", ErrAborted, staging.URI(ledger.JobPath(key.Job, key.Run)))
	}
	return job, err
}
