package activities

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/ledger"
)

// Preparer checks a job and keeps it with the run.
type Preparer struct {
	Env Env
}

// Run ids become folders and parts of names.
var runIDs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,179}$`)

// Prepare checks the job, keeps it in the staging root, and lists its tables.
func (p *Preparer) Prepare(ctx context.Context, in PrepareInput) (*Prepared, error) {
	if !runIDs.MatchString(in.Run) {
		return nil, fmt.Errorf("%w: run id %q: use letters, digits, dots, dashes and underscores, up to 180", ErrConfig, in.Run)
	}
	job, err := p.Env.Job(ctx, in.Job)
	if err != nil {
		return nil, err
	}
	store, err := p.Env.Staging(ctx, job.Staging, job.Store)
	if err != nil {
		return nil, err
	}
	if err := exclusive(ctx, store); err != nil {
		return nil, err
	}
	out := &Prepared{Job: job.Name, Settings: job.Settings}
	for _, t := range job.Tables {
		out.Tables = append(out.Tables, PreparedTable{
			TableRun:   TableRun{Key: ledger.Key{Job: job.Name, Run: in.Run, Table: t.Name}, Staging: job.Staging, Store: job.Store},
			Target:     t.Warehouse + " " + t.Target.String(),
			WorkflowID: WorkflowID(t.Warehouse, t.Target),
		})
	}
	if in.Resume {
		if _, _, err := ledger.ReadJob(ctx, store, job.Name, in.Run); err != nil {
			return nil, fmt.Errorf("%w: no run %s of job %s below %s: %w", ErrConfig, in.Run, job.Name, job.Staging, err)
		}
		return out, leaveOutGone(ctx, store, job, out)
	}
	if _, owner, err := ledger.ReadJob(ctx, store, job.Name, in.Run); err == nil && owner != in.Owner {
		return nil, fmt.Errorf("%w: %w: run %s of job %s: start a new run with an id of its own, or go on with that one by `starter resume %s`",
			ErrConfig, ledger.ErrRunExists, in.Run, job.Name, in.Run)
	}
	// Marks first, so that whatever the run leaves is found, and its job is kept until the last table has had its turn.
	for i, t := range job.Tables {
		if err := ledger.Mark(ctx, store, targetID(t.Warehouse, t.Target), out.Tables[i].Key); err != nil {
			return nil, cannotStage(job, err)
		}
	}
	if err := ledger.WriteJob(ctx, store, job.Name, in.Run, in.Owner, in.Job); err != nil {
		if errors.Is(err, ledger.ErrRunExists) {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		return nil, cannotStage(job, err)
	}
	return out, nil
}

// leaveOutGone parts the tables whose ledgers were removed from those that can go on. Planned anew they would be loaded
// twice.
func leaveOutGone(ctx context.Context, store fileio.Store, job *Job, p *Prepared) error {
	all := p.Tables
	p.Tables = nil
	for i, t := range job.Tables {
		marked, err := ledger.IsMarked(ctx, store, targetID(t.Warehouse, t.Target), all[i].Key)
		switch {
		case err != nil:
			return err
		case marked:
			p.Tables = append(p.Tables, all[i])
		default:
			p.Gone = append(p.Gone, all[i])
		}
	}
	return nil
}

// exclusive refuses a store on which two could win what only one may: a claim, a decision, a snapshot.
func exclusive(ctx context.Context, store fileio.Store) error {
	err := fileio.ProveExclusive(ctx, store)
	if errors.Is(err, fileio.ErrNotExclusive) {
		return fmt.Errorf("%w: %w: a table there would need a catalog lock, which is not available yet: use a store that keeps If-None-Match",
			ErrPlanRefused, err)
	}
	return err
}

func cannotStage(job *Job, err error) error {
	return fmt.Errorf("%w: the staging root %s cannot be written: %w", ErrPlanRefused, job.Staging, err)
}
