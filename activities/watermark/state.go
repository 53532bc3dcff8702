package watermark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

const (
	// property of a snapshot is the state that the run ended with, as JSON. It is handed on byte for byte.
	property = "tributary.watermark"
	// jobProperty names the job that made a snapshot.
	jobProperty = "tributary.job"
)

// state is what a run ended with.
type state struct {
	Column string `json:"column"`
	// Shards are literals by the shards' names.
	Shards map[string]string `json:"shards"`
}

func parse(text string) (state, error) {
	var s state
	if text == "" {
		return s, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("%w: property %s is %.200q: %w", source.ErrRefused, property, text, err)
	}
	return s, nil
}

// moved is the state after windows, as text.
func (s state) moved(column string, windows []source.Window) (string, error) {
	next := state{Column: column, Shards: maps.Clone(s.Shards)}
	if next.Shards == nil {
		next.Shards = map[string]string{}
	}
	for _, w := range windows {
		if w.UpTo != "" {
			next.Shards[w.Shard.String()] = w.UpTo
		}
	}
	text, err := json.Marshal(next) // which sorts the names
	return string(text), err
}

// tag is the name of the tag that keeps a job's newest snapshot.
func tag(job string) string { return "tributary-" + job }

// last is the newest snapshot of a job, nil for none, and the tag's, nil when it has none or was left behind by a rollback.
func last(ctx context.Context, m *snapshot.Manager, job string) (newest, tagged *snapshot.Snapshot, err error) {
	latest, err := m.LatestID(ctx)
	if err != nil || latest == 0 {
		return nil, nil, err
	}
	tagged, err = m.Tag(ctx, tag(job))
	switch {
	case errors.Is(err, fileio.ErrNotExist):
		tagged = nil
	case err != nil:
		return nil, nil, err
	case tagged.ID > latest || tagged.Properties[jobProperty] != job:
		tagged = nil
	}
	var after snapshot.ID
	if tagged != nil {
		after = tagged.ID
	}
	list, _, err := m.Between(ctx, after, latest)
	if err != nil {
		return nil, nil, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Properties[jobProperty] == job {
			return list[i], tagged, nil
		}
	}
	return tagged, tagged, nil
}

// Keep moves the tag to the job's newest snapshot. A call that had stalled moves it back no further than until it looks
// again.
func Keep(ctx context.Context, m *snapshot.Manager, job string) error {
	const looks = 10
	for range looks {
		newest, tagged, err := last(ctx, m, job)
		if err != nil || newest == nil || tagged != nil && tagged.ID == newest.ID {
			return err
		}
		err = m.SetTag(ctx, tag(job), newest.ID)
		if err != nil && !errors.Is(err, fileio.ErrNotExist) { // else it has expired meanwhile, so a newer one is tagged
			return err
		}
	}
	return fmt.Errorf("tag %s: the job's snapshots change faster than it can follow", tag(job))
}

// Add puts what a run of a job ends with into its commit, and what it started from. Nil is a run without a watermark.
func Add(req *commit.Request, job string, w *ledger.Watermark) {
	if w == nil {
		return
	}
	req.Properties[property] = w.To
	req.Continues = &commit.Continues{Chain: jobProperty, Name: job, State: property, Value: w.From}
}
