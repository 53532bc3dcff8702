package watermark

import (
	"context"
	"fmt"

	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// Source tells what is new in shards.
type Source interface {
	// Windows finds it, in the order of the shards. A column that cannot be a watermark is a [source.ErrRefused].
	Windows(ctx context.Context, shards []source.Since) (source.Windows, error)
}

// Job is what a plan needs to know of it.
type Job struct {
	Name string
	// Column is the watermark's.
	Column string
	// Keyed tells that rows replace those with their key.
	Keyed bool
}

// Plan is what a run does about the watermark.
type Plan struct {
	// Kept goes into the run's ledger.
	Kept  *ledger.Watermark
	Notes []string
}

// shownNotes bounds the source's notes in a plan and in a result.
const shownNotes = 20

// Of plans the windows of tables and puts them there. The tables' sizes become those of what is new. What cannot be is a
// [source.ErrRefused].
func Of(ctx context.Context, src Source, m *snapshot.Manager, job Job, tables []source.Table) (*Plan, error) {
	newest, _, err := last(ctx, m, job.Name)
	if err != nil {
		return nil, fmt.Errorf("look for the watermark: %w", err)
	}
	from, before, err := job.start(newest)
	if err != nil {
		return nil, err
	}
	since := make([]source.Since, len(tables))
	for i, t := range tables {
		since[i] = source.Since{Table: t, After: before.Shards[t.Shard.String()]}
	}
	found, err := src.Windows(ctx, since)
	if err != nil {
		return nil, err
	}
	to, err := before.moved(job.Column, found.List)
	if err != nil {
		return nil, err
	}
	for i := range tables {
		t, w := &tables[i], found.List[i]
		if t.Rows > 0 {
			t.Bytes = int64(float64(t.Bytes) / float64(t.Rows) * float64(w.Rows))
		}
		t.Window, t.Rows = &w, w.Rows
	}
	return &Plan{Kept: &ledger.Watermark{From: from, To: to}, Notes: job.notes(before, found)}, nil
}

// start is the state to go on from, as text too.
func (j Job) start(newest *snapshot.Snapshot) (string, state, error) {
	if newest == nil {
		return "", state{}, nil
	}
	text := newest.Properties[property]
	before, err := parse(text)
	switch {
	case err != nil:
		return "", before, fmt.Errorf("snapshot %d: %w", newest.ID, err)
	case text == "" && !j.Keyed:
		return "", before, fmt.Errorf("%w: snapshot %d, the newest of job %s, was not made by an incremental run: nobody knows which rows of the source it has, so that some would come twice. Load into a table of its own",
			source.ErrRefused, newest.ID, j.Name)
	case text != "" && before.Column != j.Column:
		return "", before, fmt.Errorf("%w: the job's last run went by column %q, whose values say nothing of %q: keep watermark.column, or load into a new table",
			source.ErrRefused, before.Column, j.Column)
	}
	return text, before, nil
}

// notes say what is read and what is not seen.
func (j Job) notes(before state, found source.Windows) []string {
	twice := "a row that is changed is added once more"
	if j.Keyed {
		twice = "a row that is changed replaces the one with its key"
	}
	notes := []string{fmt.Sprintf("incremental by %s: %s; rows that are deleted stay, and changes that leave %[1]s as it is are not seen", j.Column, twice)}
	var fresh, idle int
	here := map[string]bool{}
	for _, w := range found.List {
		here[w.Shard.String()] = true
		if w.After == "" {
			fresh++
		}
		if w.Range == nil {
			idle++
		}
	}
	n := len(found.List)
	if fresh > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d shards have no watermark yet: all their rows up to now are read", fresh, n))
	}
	if idle == n {
		notes = append(notes, "nothing is new: no snapshot is made")
	}
	gone := 0
	for name := range before.Shards {
		if !here[name] {
			gone++
		}
	}
	if gone > 0 {
		notes = append(notes, fmt.Sprintf("%d shards of earlier runs are not there any more: their rows stay, and their watermarks are kept", gone))
	}
	notes = append(notes, found.Notes[:min(len(found.Notes), shownNotes)]...)
	return notes
}
