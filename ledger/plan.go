package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/source"
)

// Plan is what a run of one table is going to do, fixed before the first row is read. It is written once.
type Plan struct {
	Key
	// Database and Name of the target table; Path is its folder below the warehouse.
	Database string `json:"database"`
	Name     string `json:"name"`
	Path     string `json:"path"`
	// Target is the target's name among the marks: see Mark.
	Target string `json:"target"`
	// Schema is the frozen schema file, Base the newest snapshot at plan time (0: none).
	Schema json.RawMessage `json:"schema"`
	Base   int64           `json:"base"`
	// Overwrite tells that the commit replaces the table's rows.
	Overwrite bool `json:"overwrite"`
	// Keyed tells that the target has a primary key: units leave sorted rows, which merges make data files of.
	Keyed bool `json:"keyed,omitempty"`
	// LastWins tells that of rows with one key the last is kept; else such rows end the run.
	LastWins bool `json:"last_wins,omitempty"`
	// Compare tells that the rows are compared with those of the table, which is to become what the source is.
	Compare bool `json:"compare,omitempty"`
	// What the job says of the end, so that a later run can settle this one without its job.
	//
	// ReplaceForeign lets the commit remove what another writer added since the plan; EmptyTarget lets a source without
	// rows empty a target that has some.
	ReplaceForeign bool `json:"replace_foreign,omitempty"`
	EmptyTarget    bool `json:"empty_target,omitempty"`
	// Checksums tells that every unit's files are read again and compared with what was read.
	Checksums bool `json:"checksums,omitempty"`
	// SourceSums tells that the source's servers sum every split, which is compared with what was read.
	SourceSums bool `json:"source_sums,omitempty"`
	// Consistency that the rows are read with.
	Consistency string `json:"consistency"`
	// Readers is by how many connections a unit is read, where it is more than one.
	Readers map[int]int `json:"readers,omitempty"`
	// Retention is how long the ledger is kept after the end.
	Retention time.Duration `json:"retention"`
	// Watermark is what an incremental run starts from and ends with, nil for others.
	Watermark *Watermark `json:"watermark,omitempty"`
	// Shapes are the distinct column lists among the shards, outputs in the target's column order.
	Shapes []Shape `json:"shapes"`
	// Shards, Units and Splits are counts; Rows and Bytes are estimates.
	Shards int   `json:"shards"`
	Units  int   `json:"units"`
	Splits int   `json:"splits"`
	Rows   int64 `json:"rows"`
	Bytes  int64 `json:"bytes"`
	// Notes are what a person should know of the plan, a sentence each.
	Notes []string `json:"notes,omitempty"`
	// LeftOut names the shards that drift: quarantine left out.
	LeftOut []string `json:"left_out,omitempty"`
	// Chunks is in the names of the files that hold the units. It is random: a stalled attempt to plan cannot change
	// what a plan that others follow refers to. WritePlan sets it.
	Chunks string `json:"chunks"`
	// ChunkStarts are the first units of these files. WritePlan sets it.
	ChunkStarts []int `json:"chunk_starts"`
}

// Watermark is the property of the job's newest snapshot when the run was planned, and that of the one that it makes.
type Watermark struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Shape is how shards of one column list are read. Provenance constants stand in Outputs with the marks below as values.
type Shape struct {
	Outputs []source.Output `json:"outputs"`
}

// Unit is what one activity reads, writes and claims: a part of a shard, a shard, or a pack of small ones.
type Unit struct {
	ID     int         `json:"id"`
	Splits []UnitSplit `json:"splits"`
}

// UnitSplit is a split with the shard and shape that it needs, so that a worker reads one chunk of the plan and no more.
type UnitSplit struct {
	Shard source.Shard `json:"shard"`
	Shape int          `json:"shape"`
	Split source.Split `json:"split"`
	// Number counts the splits of the plan, from 0.
	Number int `json:"number,omitempty"`
}

// Rows is the estimate over the unit's splits.
func (u Unit) Rows() int64 {
	var n int64
	for _, s := range u.Splits {
		n += s.Split.Rows
	}
	return n
}

// A chunk is read for each of its units, so it must be small, and each is a file, so there must not be many.
const (
	unitsPerChunk  = 100
	splitsPerChunk = 1000
)

// chunks cuts units into chunks; a unit of many splits is one of its own.
func chunks(units []Unit) (starts []int) {
	splits := 0
	for i, u := range units {
		n := len(starts)
		if n == 0 || i-starts[n-1] == unitsPerChunk || splits+len(u.Splits) > splitsPerChunk {
			starts, splits = append(starts, i), 0
		}
		splits += len(u.Splits)
	}
	return starts
}

// ErrPlanned is returned by WritePlan when the run has a plan already.
var ErrPlanned = errors.New("the run already has a plan")

// WritePlan keeps units first and the plan last, so that a plan that can be read is whole.
func (l *Ledger) WritePlan(ctx context.Context, p Plan, units []Unit) error {
	if p.Units != len(units) {
		return fmt.Errorf("plan of %d units holds %d", p.Units, len(units))
	}
	p.Chunks = uuid.NewString()
	p.ChunkStarts = chunks(units)
	for i, start := range p.ChunkStarts {
		end := len(units)
		if i+1 < len(p.ChunkStarts) {
			end = p.ChunkStarts[i+1]
		}
		data, err := json.Marshal(units[start:end])
		if err != nil {
			return err
		}
		if err := fileio.WriteFile(ctx, l.store, l.chunkPath(p.Chunks, start), data); err != nil {
			return fmt.Errorf("keep the plan: %w", err)
		}
	}
	if err := l.create(ctx, l.path(planFile), p); err != nil {
		if errors.Is(err, fileio.ErrExist) {
			return fmt.Errorf("%w at %s", ErrPlanned, l.URI())
		}
		return fmt.Errorf("keep the plan: %w", err)
	}
	return nil
}

// Plan returns the plan, or nil when there is none yet.
func (l *Ledger) Plan(ctx context.Context) (*Plan, error) {
	var p Plan
	ok, err := l.read(ctx, l.path(planFile), &p)
	if err != nil || !ok {
		return nil, err
	}
	return &p, nil
}

// Planned tells whether there is a plan, without reading it.
func (l *Ledger) Planned(ctx context.Context) (bool, error) {
	_, err := l.store.Stat(ctx, l.path(planFile))
	if errors.Is(err, fileio.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the plan: %w", err)
	}
	return true, nil
}

// Unit returns one unit of a plan.
func (l *Ledger) Unit(ctx context.Context, p *Plan, id int) (Unit, error) {
	at, found := slices.BinarySearch(p.ChunkStarts, id)
	if !found {
		at--
	}
	if at < 0 {
		return Unit{}, fmt.Errorf("%w: the plan at %s has no unit %d", ErrCorrupt, l.URI(), id)
	}
	start := p.ChunkStarts[at]
	units, err := l.chunk(ctx, p, start)
	if err != nil {
		return Unit{}, err
	}
	if i := id - start; i < len(units) && units[i].ID == id {
		return units[i], nil
	}
	return Unit{}, fmt.Errorf("%w: the plan at %s has no unit %d", ErrCorrupt, l.URI(), id)
}

// ShardsOf finds the shards of splits by the splits' numbers. It reads the whole plan.
func (l *Ledger) ShardsOf(ctx context.Context, p *Plan, splits iter.Seq[int]) (map[int]source.Shard, error) {
	shards := map[int]source.Shard{}
	for n := range splits {
		shards[n] = source.Shard{}
	}
	for _, start := range p.ChunkStarts {
		units, err := l.chunk(ctx, p, start)
		if err != nil {
			return nil, err
		}
		for _, u := range units {
			for _, s := range u.Splits {
				if _, wanted := shards[s.Number]; wanted {
					shards[s.Number] = s.Shard
				}
			}
		}
	}
	return shards, nil
}

// chunk reads the units that are kept together, from their first one on.
func (l *Ledger) chunk(ctx context.Context, p *Plan, start int) ([]Unit, error) {
	var units []Unit
	path := l.chunkPath(p.Chunks, start)
	ok, err := l.read(ctx, path, &units)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s is missing", ErrCorrupt, l.store.URI(path))
	}
	return units, err
}

func (l *Ledger) chunkPath(chunks string, start int) string {
	return l.path("units", fmt.Sprintf("%06d-%s", start, chunks))
}

const planFile = "plan.json"
