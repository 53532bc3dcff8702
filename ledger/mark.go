package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// marks is the folder of the staging root through which the ledgers of a target are found, whatever job made them:
// _open/<target>/<job>/<run>/<table>.
const marks = "_open"

// Marking is a ledger that a mark names: of a run that has yet to plan, is under way, or ended and is kept for its retention.
type Marking struct {
	Key
	// Since is when it was marked, by the store's clock.
	Since time.Time `json:"-"`
}

// Mark makes a ledger known to later runs of its target. It is written before anything else of the table's part of a run.
func Mark(ctx context.Context, store fileio.Store, target string, key Key) error {
	data, err := json.Marshal(key)
	if err != nil {
		return err
	}
	if err := store.CreateExclusive(ctx, markPath(target, key), data); err != nil {
		return fmt.Errorf("mark the run's ledger as open: %w", err)
	}
	return nil
}

// Unmark removes the mark of a ledger of which nothing is left.
func Unmark(ctx context.Context, store fileio.Store, target string, key Key) error {
	if err := store.Delete(ctx, markPath(target, key)); err != nil {
		return fmt.Errorf("remove the mark of the run's ledger: %w", err)
	}
	return nil
}

// IsMarked tells whether a ledger has its mark.
func IsMarked(ctx context.Context, store fileio.Store, target string, key Key) (bool, error) {
	_, err := store.Stat(ctx, markPath(target, key))
	if errors.Is(err, fileio.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the mark of the run's ledger: %w", err)
	}
	return true, nil
}

// Marked returns the ledgers of a target that are open.
func Marked(ctx context.Context, store fileio.Store, target string) ([]Marking, error) {
	return marked(ctx, store, path.Join(marks, target), func(string) bool { return true })
}

// MarkedOfRun returns the open ledgers of a run, whatever their targets.
func MarkedOfRun(ctx context.Context, store fileio.Store, job, run string) ([]Marking, error) {
	return marked(ctx, store, marks, func(p string) bool {
		return strings.HasSuffix(path.Dir(p), "/"+job+"/"+run)
	})
}

func marked(ctx context.Context, store fileio.Store, folder string, wanted func(path string) bool) ([]Marking, error) {
	var open []Marking
	err := store.List(ctx, folder, func(i fileio.Info) error {
		if fileio.IsTemporary(i.Path) || !wanted(i.Path) {
			return nil
		}
		data, err := readAll(ctx, store, i.Path)
		if errors.Is(err, fileio.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		o := Marking{Since: i.Modified}
		if err := json.Unmarshal(data, &o.Key); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrCorrupt, store.URI(i.Path), err)
		}
		open = append(open, o)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list open ledgers: %w", err)
	}
	return open, nil
}

func markPath(target string, key Key) string {
	return path.Join(marks, target, key.Job, key.Run, key.Table)
}
