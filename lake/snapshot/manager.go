package snapshot

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/lake/fileio"
)

const (
	prefix     = "snapshot-"
	latestHint = "LATEST"
)

// Manager reads and writes a table's snapshots, tags and consumers.
type Manager struct {
	Store fileio.Store
	// Table is the path of the table's folder in the store, such as ods.db/orders.
	Table string
}

// NewManager returns the manager of the table in a folder of the store.
func NewManager(store fileio.Store, table string) *Manager {
	return &Manager{Store: store, Table: table}
}

// Path is where a snapshot lies in the store.
func (m Manager) Path(id ID) string {
	return path.Join(m.Table, "snapshot", prefix+strconv.FormatInt(int64(id), 10))
}

// List returns the ids of all snapshots, ascending.
func (m Manager) List(ctx context.Context) ([]ID, error) {
	numbers, err := numbered(ctx, m.Store, path.Join(m.Table, "snapshot"), prefix)
	if err != nil {
		return nil, err
	}
	var ids []ID
	for _, n := range numbers {
		if n > 0 {
			ids = append(ids, ID(n))
		}
	}
	return ids, nil
}

// LatestID returns the id of the newest snapshot, 0 when there is none. It goes by the listing, never by the hint alone:
// a hint that is behind a hole, or that outlived its snapshot, would let a commit take a number that is too low.
func (m Manager) LatestID(ctx context.Context) (ID, error) {
	ids, err := m.List(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[len(ids)-1], nil
}

// Latest returns the newest snapshot, nil when there is none.
func (m Manager) Latest(ctx context.Context) (*Snapshot, error) {
	id, err := m.LatestID(ctx)
	if err != nil || id == 0 {
		return nil, err
	}
	return m.Get(ctx, id)
}

// EarliestID returns the id of the oldest snapshot that has not expired, 0 when there is none.
func (m Manager) EarliestID(ctx context.Context) (ID, error) {
	ids, err := m.List(ctx)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

// Get reads a snapshot. One that never was or has expired gives fileio.ErrNotExist.
func (m Manager) Get(ctx context.Context, id ID) (*Snapshot, error) {
	s, _, err := m.read(ctx, m.Path(id))
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", id, err)
	}
	if s.ID != id {
		return nil, fmt.Errorf("snapshot %d: %s: %w: it says that it is snapshot %d", id, m.Store.URI(m.Path(id)), ErrCorrupt, s.ID)
	}
	return s, nil
}

func (m Manager) read(ctx context.Context, p string) (*Snapshot, []byte, error) {
	data, err := fileio.ReadFile(ctx, m.Store, p, maxFileSize)
	if err != nil {
		return nil, nil, err
	}
	s, err := Parse(data)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", m.Store.URI(p), err)
	}
	return s, data, nil
}

// Exists tells whether there is a snapshot of that id.
func (m Manager) Exists(ctx context.Context, id ID) (bool, error) {
	_, err := m.Store.Stat(ctx, m.Path(id))
	if errors.Is(err, fileio.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("snapshot %d: %w", id, err)
	}
	return true, nil
}

// Publish makes a snapshot visible under its id, unless another has it: then it gives fileio.ErrExist. Any other error
// leaves open whether it is visible. The hint is not touched.
func (m Manager) Publish(ctx context.Context, s *Snapshot) error {
	data, err := s.Marshal()
	if err != nil {
		return err
	}
	if err := m.Store.CreateExclusive(ctx, m.Path(s.ID), data); err != nil {
		return fmt.Errorf("publish snapshot %d: %w", s.ID, err)
	}
	return nil
}

// WriteHint lets LATEST name a snapshot that is there. It never lowers a hint that is right: several committers may
// write it at the same time, and the last look decides.
func (m Manager) WriteHint(ctx context.Context, id ID) error {
	p := path.Join(m.Table, "snapshot", latestHint)
	for {
		hint, err := m.hint(ctx, latestHint)
		if err != nil {
			return err
		}
		if hint >= id {
			there, err := m.Exists(ctx, hint)
			if there || err != nil {
				return err
			}
		}
		if err := fileio.WriteFile(ctx, m.Store, p, []byte(strconv.FormatInt(int64(id), 10))); err != nil {
			return fmt.Errorf("write hint: %w", err)
		}
		// Whoever committed the next one may have written its hint before ours.
		newer, err := m.Exists(ctx, id+1)
		if err != nil || !newer {
			return err
		}
		if id, err = m.LatestID(ctx); err != nil {
			return err
		}
	}
}

// hint returns what a hint file says, 0 when it is missing or no number.
func (m Manager) hint(ctx context.Context, name string) (ID, error) {
	data, err := fileio.ReadFile(ctx, m.Store, path.Join(m.Table, "snapshot", name), maxFileSize)
	if errors.Is(err, fileio.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read hint: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || n < 0 {
		return 0, nil //nolint:nilerr // a broken hint is as good as none
	}
	return ID(n), nil
}

// Between returns the snapshots with after < id <= until in ascending order, and whether all of them are there.
func (m Manager) Between(ctx context.Context, after, until ID) (list []*Snapshot, complete bool, err error) {
	ids, err := m.List(ctx)
	if err != nil {
		return nil, false, err
	}
	from, _ := slices.BinarySearch(ids, after+1)
	for _, id := range ids[from:] {
		if id > until {
			break
		}
		s, err := m.Get(ctx, id)
		if errors.Is(err, fileio.ErrNotExist) {
			continue // expired since it was listed
		}
		if err != nil {
			return nil, false, err
		}
		list = append(list, s)
	}
	return list, ID(len(list)) == max(until-after, 0), nil
}
