package upkeep

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/compact"
	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/orphan"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Names of the activities as Temporal knows them. They are part of every history: never changed, only added to.
const (
	TablesName  = "UpkeepTables"
	CompactName = "Compact"
	ExpireName  = "Expire"
	OrphansName = "Orphans"
)

// Table is a table to keep in order.
type Table struct {
	// Job is the job file as JSON, secrets as references; Name is the logical table's.
	Job  json.RawMessage `json:"job"`
	Name string          `json:"name"`
	// Target is for people; WorkflowID is that of the one workflow that keeps the target in order.
	Target     string `json:"target"`
	WorkflowID string `json:"workflow_id"`
}

// WorkflowID of the upkeep of a target, by that of its sync.
func WorkflowID(sync string) string {
	return "tributary-upkeep-" + strings.TrimPrefix(sync, "tributary-table-")
}

// CompactInput asks for a compaction.
type CompactInput struct {
	Table
	// Due compacts those buckets of a key table that have come to num-sorted-run.compaction-trigger (5) sorted runs, and none of
	// a table that is write-only; otherwise all that is worth it.
	Due bool `json:"due,omitempty"`
}

// Compacted tells what a compaction did.
type Compacted struct {
	// Snapshot is the compaction's, 0 when there was nothing to do or it was left.
	Snapshot    int64 `json:"snapshot"`
	FilesBefore int   `json:"files_before"`
	FilesAfter  int   `json:"files_after"`
	// Left tells why it was left to the next time or to another engine, if it was.
	Left string `json:"left,omitempty"`
}

// ExpireInput asks to let old snapshots go. Zero values leave it to the table's options.
type ExpireInput struct {
	Table
	RetainMin int           `json:"retain_min,omitempty"`
	RetainMax int           `json:"retain_max,omitempty"`
	OlderThan time.Duration `json:"older_than,omitempty"`
}

// Expired tells what went.
type Expired struct {
	Snapshots int    `json:"snapshots"`
	Files     int    `json:"files"`
	Left      string `json:"left,omitempty"`
}

// OrphansInput asks to remove files that nothing names.
type OrphansInput struct {
	Table
	// OlderThan is their least age, a day or more.
	OlderThan time.Duration `json:"older_than"`
}

// Removed tells what went.
type Removed struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Kept counts files of runs that are not settled.
	Kept int `json:"kept"`
}

// Keeper keeps tables in order.
type Keeper struct {
	Env activities.Env
	// Memory is what all that this process reads and writes at the same time shares.
	Memory *budget.Budget
}

// Tables lists the tables of a job.
func (k *Keeper) Tables(ctx context.Context, data json.RawMessage) ([]Table, error) {
	job, err := k.Env.Job(ctx, data)
	if err != nil {
		return nil, err
	}
	var out []Table
	for _, t := range job.Tables {
		out = append(out, Table{
			Job: data, Name: t.Name, Target: t.Warehouse + " " + t.Target.String(),
			WorkflowID: WorkflowID(activities.WorkflowID(t.Warehouse, t.Target)),
		})
	}
	return out, nil
}

// open opens a target. It is nil when there is no such table yet.
func (k *Keeper) open(ctx context.Context, t Table) (*activities.Session, *schema.Table, error) {
	s, err := k.Env.Open(ctx, t.Job, t.Name)
	if err != nil {
		return nil, nil, err
	}
	found, err := s.Catalog.LoadTable(ctx, s.Spec.Target)
	if errors.Is(err, catalog.ErrNotExist) {
		err = nil
	}
	if err != nil {
		s.Close()
		return nil, nil, fmt.Errorf("load target %s: %w", s.Spec.Target, err)
	}
	return s, found, nil
}

// Compact makes few large files of many small ones.
func (k *Keeper) Compact(ctx context.Context, in CompactInput) (*Compacted, error) {
	defer activities.Beat(ctx)()
	s, table, err := k.open(ctx, in.Table)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	switch {
	case table == nil:
		return &Compacted{}, nil
	case in.Due && strings.EqualFold(table.Options["write-only"], "true"):
		return &Compacted{Left: "the table is write-only"}, nil
	}
	share, err := k.Memory.Join(ctx, s.Spec.Job, s.Spec.Memory)
	if err != nil {
		return nil, err
	}
	defer share.Leave()
	share.Fixed()
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	r, err := compact.Run(ctx, s.Warehouse, s.Catalog.Path(s.Spec.Target), "tributary-compact-"+hex.EncodeToString(random[:]), 1,
		compact.Options{Due: in.Due, RowGroupBytes: s.Spec.RowGroupBytes})
	switch {
	case err == nil:
		return &Compacted{Snapshot: int64(r.Snapshot), FilesBefore: r.Before, FilesAfter: r.After}, nil
	case errors.Is(err, compact.ErrRefused), errors.Is(err, schema.ErrNotWritable), errors.Is(err, commit.ErrConflict),
		errors.Is(err, commit.ErrOutcomeUnknown), errors.Is(err, fileio.ErrNotExist):
		// No row depends on it. What it made in vain are orphans at worst.
		return &Compacted{Left: err.Error()}, nil
	}
	return nil, err
}

// Expire lets old snapshots go, and the files that only they show. What a tag or a consumer needs stays, and with it what an
// unsettled run must be able to look at.
func (k *Keeper) Expire(ctx context.Context, in ExpireInput) (*Expired, error) {
	defer activities.Beat(ctx)()
	s, table, err := k.open(ctx, in.Table)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out := &Expired{}
	if table == nil {
		return out, nil
	}
	o := expire.Options{RetainMin: in.RetainMin, RetainMax: in.RetainMax}
	if in.OlderThan > 0 {
		o.OlderThan = time.Now().Add(-in.OlderThan)
	}
	for {
		r, err := expire.Expire(ctx, s.Warehouse, s.Catalog.Path(s.Spec.Target), o)
		if errors.Is(err, expire.ErrUnsupported) {
			out.Left = err.Error()
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out.Snapshots += len(r.Snapshots)
		out.Files += len(r.DataFiles) + len(r.Metadata)
		if len(r.Snapshots) == 0 {
			return out, nil
		}
	}
}

// Orphans removes files that neither a snapshot nor a tag nor a run of the job's staging root has a use for.
func (k *Keeper) Orphans(ctx context.Context, in OrphansInput) (*Removed, error) {
	defer activities.Beat(ctx)()
	s, table, err := k.open(ctx, in.Table)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if table == nil {
		return &Removed{}, nil
	}
	job, err := k.Env.Job(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	staging, err := k.Env.Staging(ctx, job.Staging, job.Store)
	if err != nil {
		return nil, err
	}
	u := NewUnsettled(ctx, staging)
	gone, err := orphan.Remove(ctx, s.Warehouse, s.Catalog.Path(s.Spec.Target), orphan.Options{OlderThan: time.Now().Add(-in.OlderThan), Keep: u.Keep})
	if err := errors.Join(u.Err(), err); err != nil {
		return nil, err
	}
	out := &Removed{Files: len(gone), Kept: u.Kept()}
	for _, f := range gone {
		out.Bytes += f.Size
	}
	return out, nil
}
