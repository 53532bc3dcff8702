package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// Merges says into how many merges the sorted rows of a key table are divided. It is written once, when all units are claimed.
// A merge is won and claimed as a unit is, under the id that Unit gives.
type Merges struct {
	Count int `json:"count"`
	// Rows is the number of rows of all units that are to be merged.
	Rows int64 `json:"rows"`
	// Chunks is in the names of the files that say what each merge reads, as Plan.Chunks is for units.
	Chunks string `json:"chunks"`
}

// Unit is the id of the n-th merge of a round in a plan of so many units.
func (m *Merges) Unit(units, round, n int) int { return units + round*m.Count + n }

// OpenRound lets all merges be made again in another round, from 1, in which each is claimed anew. Nothing of an earlier round
// is lost by it. Round 0 needs no opening.
func (l *Ledger) OpenRound(ctx context.Context, round int) error {
	err := l.create(ctx, l.path(roundsFolder, fmt.Sprintf("%06d", round)), struct{}{})
	if err != nil && !errors.Is(err, fileio.ErrExist) {
		return fmt.Errorf("open round %d of the merges: %w", round, err)
	}
	return nil
}

// Round is the latest round of merges that was opened, 0 when none was.
func (l *Ledger) Round(ctx context.Context) (int, error) {
	last := 0
	err := l.store.List(ctx, l.path(roundsFolder), func(i fileio.Info) error {
		name := path.Base(i.Path)
		if strings.HasPrefix(name, ".") {
			return nil
		}
		n, err := strconv.Atoi(name)
		if err != nil {
			return fmt.Errorf("%w: %s is no round", ErrCorrupt, l.store.URI(i.Path))
		}
		last = max(last, n)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("list rounds of merges: %w", err)
	}
	return last, nil
}

// NewMerges names merges that are about to be planned. Nothing refers to their files before KeepMerges.
func NewMerges(count int, rows int64) Merges {
	return Merges{Count: count, Rows: rows, Chunks: uuid.NewString()}
}

// WriteMerge keeps what the n-th merge reads.
func (l *Ledger) WriteMerge(ctx context.Context, m Merges, n int, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := fileio.WriteFile(ctx, l.store, l.mergePath(m, n), data); err != nil {
		return fmt.Errorf("keep merge %d: %w", n, err)
	}
	return nil
}

// KeepMerges makes merges count whose files have been kept, and returns those that stand: another attempt's when it was first.
func (l *Ledger) KeepMerges(ctx context.Context, m Merges) (*Merges, error) {
	err := l.create(ctx, l.path(mergesFile), m)
	switch {
	case err == nil:
		return &m, nil
	case !errors.Is(err, fileio.ErrExist):
		return nil, fmt.Errorf("keep the merges: %w", err)
	}
	stand, err := l.Merges(ctx)
	if err == nil && stand == nil {
		err = fmt.Errorf("%w: %s is there and gone at once", ErrCorrupt, l.store.URI(l.path(mergesFile)))
	}
	return stand, err
}

// Merges returns what KeepMerges kept, or nil when there is nothing yet.
func (l *Ledger) Merges(ctx context.Context) (*Merges, error) {
	var m Merges
	ok, err := l.read(ctx, l.path(mergesFile), &m)
	if err != nil || !ok {
		return nil, err
	}
	return &m, nil
}

// Merge reads into content what the n-th merge reads.
func (l *Ledger) Merge(ctx context.Context, m *Merges, n int, content any) error {
	if n < 0 || n >= m.Count {
		return fmt.Errorf("%w: %s has no merge %d of %d", ErrCorrupt, l.URI(), n, m.Count)
	}
	ok, err := l.read(ctx, l.mergePath(*m, n), content)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s is missing", ErrCorrupt, l.store.URI(l.mergePath(*m, n)))
	}
	return err
}

func (l *Ledger) mergePath(m Merges, n int) string {
	return l.path("merges", fmt.Sprintf("%06d-%s", n, m.Chunks))
}

// RunsFolder is where attempts keep sorted rows.
func (l *Ledger) RunsFolder() string { return l.path(runsFolder) }

// RunName is the bare name of the n-th file of sorted rows of an attempt.
func (a Attempt) RunName(n int) string { return fmt.Sprintf("%06d-%s-%d", a.Unit, a.ID, n) }

// RemoveRuns deletes all sorted rows. The caller has made sure that the run has ended.
func (l *Ledger) RemoveRuns(ctx context.Context) error {
	var paths []string
	err := l.store.List(ctx, l.path(runsFolder), func(i fileio.Info) error {
		paths = append(paths, i.Path)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list sorted rows: %w", err)
	}
	for _, p := range paths {
		if err := l.store.Delete(ctx, p); err != nil {
			return fmt.Errorf("remove sorted rows %s: %w", path.Base(p), err)
		}
	}
	return nil
}

const (
	mergesFile = "merges.json"
	runsFolder = "runs"

	roundsFolder = "rounds"
)
