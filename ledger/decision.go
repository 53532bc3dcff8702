package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/source"
)

// Verdict is what was decided for a table and identifier. It is written once and never changed.
type Verdict string

const (
	// Commit: the messages will be published, now or by whoever comes next. Nothing may be deleted.
	Commit Verdict = "COMMIT"
	// Abort: nothing will be published. Files may be deleted.
	Abort Verdict = "ABORT"
)

// Decide writes the verdict unless one stands already, and returns the one that stands.
func (l *Ledger) Decide(ctx context.Context, identifier int64, v Verdict) (Verdict, error) {
	err := l.store.CreateExclusive(ctx, l.decisionPath(identifier), []byte(v))
	switch {
	case err == nil:
		return v, nil
	case !errors.Is(err, fileio.ErrExist):
		return "", fmt.Errorf("decide %s: %w", v, err)
	}
	return l.Decision(ctx, identifier)
}

// Decision returns the verdict that stands, or "" when none does.
func (l *Ledger) Decision(ctx context.Context, identifier int64) (Verdict, error) {
	p := l.decisionPath(identifier)
	data, err := readAll(ctx, l.store, p)
	if errors.Is(err, fileio.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the decision: %w", err)
	}
	switch v := Verdict(data); v {
	case Commit, Abort:
		return v, nil
	}
	return "", fmt.Errorf("%w: %s holds neither %s nor %s", ErrCorrupt, l.store.URI(p), Commit, Abort)
}

func (l *Ledger) decisionPath(identifier int64) string {
	return l.path(fmt.Sprintf("%s%d", decisionPrefix, identifier))
}

const decisionPrefix = "decision-"

// Outcome is how a table's run ended.
type Outcome string

const (
	// Committed: the rows are in the table, or there was nothing to commit.
	Committed Outcome = "committed"
	// Aborted: the table is as before and no file of the run is left.
	Aborted Outcome = "aborted"
)

// Result is the record of a table's end.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Snapshot that holds the rows; 0 when nothing was committed.
	Snapshot int64  `json:"snapshot"`
	Kind     string `json:"kind,omitempty"`
	Counts   Counts `json:"counts"`
	// Round is that of the merges whose files the snapshot has, of a key table.
	Round int `json:"round,omitempty"`
	// Cut is what the rows of each instance reflect, where that was a moment.
	Cut []source.Cut `json:"cut,omitempty"`
	At  time.Time    `json:"at"`
}

// Finish records the end and returns the record that stands: a second call with the same outcome keeps the first.
func (l *Ledger) Finish(ctx context.Context, r Result) (*Result, error) {
	r.At = now()
	err := l.create(ctx, l.path("result"), r)
	if err == nil {
		return &r, nil
	}
	if !errors.Is(err, fileio.ErrExist) {
		return nil, fmt.Errorf("record the result: %w", err)
	}
	old, err := l.Result(ctx)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, fmt.Errorf("record the result at %s: there and gone at once, the ledger is being removed", l.URI())
	}
	if old.Outcome != r.Outcome || old.Snapshot != r.Snapshot {
		return nil, fmt.Errorf("%w: %s says %s, snapshot %d, and now it is %s, snapshot %d",
			ErrCorrupt, l.URI(), old.Outcome, old.Snapshot, r.Outcome, r.Snapshot)
	}
	return old, nil
}

// Result returns how the run ended, or nil while it has not.
func (l *Ledger) Result(ctx context.Context) (*Result, error) {
	var r Result
	ok, err := l.read(ctx, l.path("result"), &r)
	if err != nil || !ok {
		return nil, err
	}
	return &r, nil
}
