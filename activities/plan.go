package activities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"github.com/tributary-lake/tributary/activities/fit"
	"github.com/tributary-lake/tributary/activities/merging"
	"github.com/tributary-lake/tributary/activities/notes"
	"github.com/tributary-lake/tributary/activities/sink"
	"github.com/tributary-lake/tributary/activities/units"
	"github.com/tributary-lake/tributary/activities/verify"
	"github.com/tributary-lake/tributary/activities/watermark"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// Planner plans runs.
type Planner struct {
	Env     Env
	Settler *Settler
}

// Merged is one schema of many shards.
type Merged struct {
	// Fields of the target, provenance columns included, in order. Their ids are not assigned.
	Fields []schema.Field
	// Outputs tells for each shard that is not left out how it is read, in the order of Fields.
	Outputs [][]source.Output
	// Drifts are the differences between the shards and what became of them.
	Drifts []source.Drift
	// LeftOut are shards that are not read, as they cannot be merged.
	LeftOut []source.LeftOut
	// Notes are what else a person should know of the shards, a sentence each.
	Notes []string
}

// draft is a plan in the making.
type draft struct {
	tables []source.Table
	merged *Merged
	// outputs tells for each table how it is read, in the order of the planned schema.
	outputs [][]source.Output
	splits  [][]source.Split
	// moments tell how connections would be opened, where something is read at one moment.
	moments []source.MomentPlan
	// existing is the target's schema, nil when it has to be created.
	existing *schema.Table
	// planned is the schema that the run writes with.
	planned *schema.Table
	// changes lead from the existing schema to the planned one; alters says for people what they were before any was made.
	changes []schema.Change
	alters  []string
	base    snapshot.ID
	path    string
	// watermark is what an incremental run does about it, nil for others.
	watermark *watermark.Plan
	// notes are what a person should know before the run, a sentence each; drift are those about shards that differ,
	// fitNotes about the target's columns.
	notes, drift, fitNotes []string
}

// Plan settles older runs of the table, then fixes what this run is going to do. A run that has a plan keeps it.
func (p *Planner) Plan(ctx context.Context, in PlanInput) (*Planned, error) {
	defer Beat(ctx)()
	staging, err := p.Env.Staging(ctx, in.Staging, in.Store)
	if err != nil {
		return nil, err
	}
	job, err := jobOf(ctx, staging, in.Key)
	if err != nil {
		return nil, err
	}
	s, err := p.Env.Open(ctx, job, in.Table)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := newRun(staging, s, in.Key)
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	if r.plan != nil {
		return r.resume(ctx)
	}
	if err := p.Settler.settle(ctx, in.TableRun, s); err != nil {
		return nil, err
	}
	d, err := prepareDraft(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := ledger.Mark(ctx, staging, r.target, in.Key); err != nil {
		return nil, err
	}
	if d.existing == nil {
		if d.planned, err = s.Catalog.CreateTable(ctx, s.Spec.Target, d.planned); err != nil {
			return nil, cannot("create", s.Spec.Target, err)
		}
	} else if err := evolve(ctx, s, d); err != nil {
		return nil, err
	}
	return r.keep(ctx, d)
}

// cannot refuses the plan where another try to create or alter the target would meet the same. A table that another writer
// has just made, or a store that fails, may let the next try pass.
func cannot(act string, target catalog.Identifier, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, catalog.ErrName) {
		return fmt.Errorf("%w: %s %s: %w", ErrPlanRefused, act, target, err)
	}
	return fmt.Errorf("%s %s: %w", act, target, err)
}

// prepareDraft reads the source and the target and writes nothing.
func prepareDraft(ctx context.Context, s *Session) (*draft, error) {
	if err := exclusive(ctx, s.Warehouse); err != nil {
		return nil, err
	}
	d := &draft{path: s.Catalog.Path(s.Spec.Target)}
	var err error
	if d.tables, err = s.Source.Discover(ctx); err != nil {
		return nil, err
	}
	if d.merged, err = s.Source.Merge(d.tables); err != nil {
		return nil, err
	}
	found := len(d.tables)
	d.tables = slices.DeleteFunc(d.tables, func(t source.Table) bool {
		return slices.ContainsFunc(d.merged.LeftOut, func(l source.LeftOut) bool { return l.Shard == t.Shard })
	})
	d.existing, err = s.Catalog.LoadTable(ctx, s.Spec.Target)
	switch {
	case errors.Is(err, catalog.ErrNotExist):
		d.existing = nil
		fitted, err := fit.New(s.Spec.Wanted(), d.shards())
		if err := d.follow(s.Spec, fitted, err); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, fmt.Errorf("load target %s: %w", s.Spec.Target, err)
	default:
		if err := d.fitExisting(s.Spec); err != nil {
			return nil, err
		}
	}
	if err := schema.CheckWritable(d.planned); err != nil {
		return nil, fmt.Errorf("%w: target %s: %w", ErrPlanRefused, s.Spec.Target, err)
	}
	if no := s.Spec.Deletes.Check(d.planned, s.Spec.ReplaceForeign); no != "" {
		return nil, fmt.Errorf("%w: target %s: %s", ErrPlanRefused, s.Spec.Target, no)
	}
	latest, err := snapshot.NewManager(s.Warehouse, d.path).Latest(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the snapshots of target %s: %w", s.Spec.Target, err)
	}
	d.notes = append(d.notes, d.merged.Notes...)
	d.drift = notes.Drift(d.merged.Drifts, d.merged.LeftOut, found)
	for _, c := range d.changes {
		d.alters = append(d.alters, c.String())
	}
	if latest != nil {
		d.base = latest.ID
		if s.Spec.Deletes.Refresh && latest.Properties[JobProperty] == s.Spec.Job {
			d.notes = append(d.notes, notes.FewerShards(latest.Properties[shardsProperty], int64(latest.ID), len(d.tables))...)
		}
		if err := mayLeaveOut(ctx, s, d, latest, found); err != nil {
			return nil, err
		}
	}
	if err := d.window(ctx, s); err != nil {
		return nil, err
	}
	if err := splitAll(ctx, s, d); err != nil {
		return nil, err
	}
	if s.Spec.SourceSums {
		d.notes = append(d.notes, verify.SourceNote)
	}
	if s.Moments == nil {
		return d, nil
	}
	shards, readers := d.units(s).Moments()
	if d.moments, err = s.Moments.PlanMoments(ctx, shards, readers); err != nil {
		return nil, err
	}
	d.notes = append(d.notes, notes.Moments(s.Source.Consistency(), d.moments)...)
	return d, nil
}

// Wanted is what the job says of the target.
func (s TableSpec) Wanted() fit.Wanted {
	return fit.Wanted{
		Target: s.Target.String(), PartitionKeys: s.PartitionKeys, PrimaryKey: s.PrimaryKey, Options: s.Options,
		Overwrite: s.Overwrite, Deletes: s.Deletes.Fate(), LastWins: s.LastWins, Drift: s.Drift,
	}
}

// units are what the draft's splits and outputs are divided into.
func (d *draft) units(s *Session) units.Plan {
	spec := units.Spec{Consistency: s.Source.Consistency(), PackRows: s.Spec.PackRows, Parallelism: s.Spec.Parallelism}
	if o, err := d.planned.ParseOptions(); err == nil { // else the plan is refused elsewhere
		spec.FileBytes = o.TargetFileSize
	}
	return units.Of(units.Shards{Tables: d.tables, Splits: d.splits, Outputs: d.outputs}, spec)
}

// shards are those that are read.
func (d *draft) shards() fit.Shards {
	return fit.Shards{Tables: d.tables, Fields: d.merged.Fields, Outputs: d.merged.Outputs}
}

// fitExisting brings the existing target and the merged schema together.
func (d *draft) fitExisting(spec TableSpec) error {
	fitted, err := fit.Existing(spec.Wanted(), d.shards(), d.existing)
	return d.follow(spec, fitted, err)
}

// follow takes over what fits, unless nothing does.
func (d *draft) follow(spec TableSpec, fitted *fit.Fitted, err error) error {
	var keys []string
	if err == nil {
		keys, err = fitted.Keys(spec.Wanted(), d.shards())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPlanRefused, err)
	}
	d.planned, d.changes, d.outputs, d.fitNotes = fitted.Planned, fitted.Changes, fitted.Outputs, slices.Concat(keys, fitted.Notes)
	return nil
}

// evolve changes the target's schema as the draft says, and plans with what came out: it may hold somebody else's change
// as well. The plan is written after it, so a crash between leaves a target that is ready for the next plan; until then
// nobody notices, as all changes keep every row and every other writer's files as they are.
func evolve(ctx context.Context, s *Session, d *draft) error {
	const tries = 3
	for range tries {
		if len(d.changes) == 0 {
			return nil
		}
		altered, err := s.Catalog.AlterTable(ctx, s.Spec.Target, d.changes...)
		if errors.Is(err, schema.ErrChange) {
			// It fitted a moment ago: somebody else has changed the table, perhaps in the same way.
			altered, err = s.Catalog.LoadTable(ctx, s.Spec.Target)
		}
		if err != nil {
			return cannot("alter", s.Spec.Target, err)
		}
		d.existing = altered
		if err := d.fitExisting(s.Spec); err != nil {
			return err
		}
		if err := schema.CheckWritable(d.planned); err != nil {
			return fmt.Errorf("%w: target %s: %w", ErrPlanRefused, s.Spec.Target, err)
		}
	}
	return fmt.Errorf("alter %s: its schema was changed by others %d times meanwhile", s.Spec.Target, tries)
}

// shardsProperty is the property of a snapshot that counts the shards it was made of.
const shardsProperty = "tributary.shards"

// window fixes what is new in each shard.
func (d *draft) window(ctx context.Context, s *Session) (err error) {
	if s.Windows == nil {
		return nil
	}
	job := watermark.Job{Name: s.Spec.Job, Column: s.Spec.Watermark, Keyed: len(d.planned.PrimaryKeys) > 0}
	d.watermark, err = watermark.Of(ctx, s.Windows, snapshot.NewManager(s.Warehouse, d.path), job, d.tables)
	if errors.Is(err, source.ErrRefused) {
		err = fmt.Errorf("%w: %w", ErrPlanRefused, err)
	}
	if err == nil {
		d.notes = append(d.notes, d.watermark.Notes...)
	}
	return err
}

// splitAll cuts every shard; shards of one instance wait for its connections in the source.
func splitAll(ctx context.Context, s *Session, d *draft) error {
	d.splits = make([][]source.Split, len(d.tables))
	return parallel(ctx, len(d.tables), 16, func(ctx context.Context, i int) error {
		w := d.tables[i].Window
		if w != nil && w.Range == nil {
			return nil // nothing is new
		}
		splits, err := s.Source.Split(ctx, d.tables[i])
		if err != nil {
			return fmt.Errorf("split %s: %w", d.tables[i].Shard, err)
		}
		if s.Moments != nil {
			splits = units.Whole(splits)
		}
		for j := range splits {
			splits[j].Shard = i
			if w != nil {
				splits[j].Window = w.Range
			}
		}
		d.splits[i] = splits
		return nil
	})
}

// keep writes the plan, after pinning the snapshots from which it will be known what became of the commit.
func (r *run) keep(ctx context.Context, d *draft) (*Planned, error) {
	p, units, err := r.planFor(d)
	if err != nil {
		return nil, err
	}
	if err := r.pin(ctx, d.base); err != nil {
		return nil, err
	}
	if err := r.ledger.WritePlan(ctx, *p, units); err != nil {
		if !errors.Is(err, ledger.ErrPlanned) {
			return nil, err
		}
		// A lost attempt of this activity was faster: its plan counts, and its base is to be pinned.
		if err := r.load(ctx); err != nil {
			return nil, err
		}
		if r.plan == nil {
			return nil, fmt.Errorf("%w while it was planned", ErrAborted)
		}
		return r.resume(ctx)
	}
	marked, err := ledger.IsMarked(ctx, r.staging, r.target, r.key)
	if err != nil {
		return nil, err
	}
	if !marked {
		// The run was given up meanwhile, by somebody who found no plan to stop it with.
		return nil, errors.Join(fmt.Errorf("%w while it was planned", ErrAborted), r.forget(ctx))
	}
	return planned(p, []Range{{From: 0, To: p.Units}}), nil
}

// planFor makes the plan and its units of a draft.
func (r *run) planFor(d *draft) (*ledger.Plan, []ledger.Unit, error) {
	frozen, err := schema.Marshal(d.planned)
	if err != nil {
		return nil, nil, err
	}
	spec := r.session.Spec
	u := d.units(r.session)
	p := &ledger.Plan{
		Key: r.key, Database: spec.Target.Database, Name: spec.Target.Table, Path: d.path, Target: r.target,
		Schema: frozen, Base: int64(d.base), Overwrite: spec.Overwrite, Notes: d.allNotes(), LeftOut: notes.Names(d.merged.LeftOut),
		ReplaceForeign: spec.ReplaceForeign, EmptyTarget: spec.EmptyTarget, Keyed: len(d.planned.PrimaryKeys) > 0, Compare: spec.Deletes.Compare, LastWins: spec.LastWins, Checksums: spec.Checksums, SourceSums: spec.SourceSums,
		Consistency: r.session.Source.Consistency(), Readers: u.Readers, Retention: spec.Retention,
		Shapes: u.Shapes, Shards: len(d.tables), Units: len(u.Units),
	}
	if d.watermark != nil {
		p.Watermark = d.watermark.Kept
	}
	for i, t := range d.tables {
		p.Splits += len(d.splits[i])
		p.Rows += t.Rows
		p.Bytes += t.Bytes
	}
	if p.Keyed && p.Checksums {
		err := merging.Summable(d.planned)
		if p.Checksums = err == nil; err != nil && !p.SourceSums {
			return nil, nil, fmt.Errorf("%w: target %s: %w", ErrPlanRefused, spec.Target, err)
		}
	}
	if p.Keyed && p.Splits > sink.MaxSplits {
		return nil, nil, fmt.Errorf("%w: %d splits are more than the %d that rows of a key table can be numbered by: raise split.rows", ErrPlanRefused, p.Splits, sink.MaxSplits)
	}
	return p, u.Units, nil
}

func planned(p *ledger.Plan, pending []Range) *Planned {
	if p.Units == 0 {
		pending = nil
	}
	return &Planned{Shards: p.Shards, Splits: p.Splits, Units: p.Units, Rows: p.Rows, Bytes: p.Bytes, Pending: pending, Keyed: p.Keyed, Readers: p.Readers}
}

// resume finds out what is left of the run's plan, and pins its snapshots for as long as it has not ended.
func (r *run) resume(ctx context.Context) (*Planned, error) {
	result, err := r.ledger.Result(ctx)
	if err != nil {
		return nil, err
	}
	if result == nil {
		if err := r.pin(ctx, snapshot.ID(r.plan.Base)); err != nil {
			return nil, err
		}
		// The run may have ended in between: whoever ended it released what was pinned before that.
		if result, err = r.ledger.Result(ctx); err != nil {
			return nil, err
		}
		if result != nil {
			if err := r.unpin(ctx); err != nil {
				return nil, err
			}
		}
	}
	if result != nil && result.Outcome == ledger.Aborted {
		return nil, fmt.Errorf("%w at %s: start a new run", ErrAborted, result.At.Format(time.RFC3339))
	}
	claimed, err := r.ledger.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	pending := unclaimed(r.plan.Units, func(unit int) bool { return claimed[unit] })
	out := planned(r.plan, pending)
	out.Done = result
	return out, nil
}
