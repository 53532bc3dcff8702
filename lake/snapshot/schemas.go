package snapshot

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/schema"
)

const schemaPrefix = "schema-"

// Schemas reads and writes the versions of a table's schema.
type Schemas struct {
	Store fileio.Store
	// Table is the path of the table's folder in the store.
	Table string
}

func (m Schemas) path(id schema.ID) string {
	return path.Join(m.Table, "schema", schemaPrefix+strconv.FormatInt(int64(id), 10))
}

// List returns the ids of all versions, ascending. A folder without any is no table.
func (m Schemas) List(ctx context.Context) ([]schema.ID, error) {
	numbers, err := numbered(ctx, m.Store, path.Join(m.Table, "schema"), schemaPrefix)
	if err != nil {
		return nil, err
	}
	ids := make([]schema.ID, len(numbers))
	for i, n := range numbers {
		ids[i] = schema.ID(n)
	}
	return ids, nil
}

// Latest returns the newest version. A folder without any gives fileio.ErrNotExist.
func (m Schemas) Latest(ctx context.Context) (*schema.Table, error) {
	ids, err := m.List(ctx)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("latest schema of %s: %w", m.Store.URI(m.Table), fileio.ErrNotExist)
	}
	return m.Get(ctx, ids[len(ids)-1])
}

// Get reads a version. A missing one gives fileio.ErrNotExist.
func (m Schemas) Get(ctx context.Context, id schema.ID) (*schema.Table, error) {
	p := m.path(id)
	data, err := fileio.ReadFile(ctx, m.Store, p, maxFileSize)
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", id, err)
	}
	t, err := schema.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("schema %d: read %s: %w", id, m.Store.URI(p), err)
	}
	if t.ID != id {
		return nil, fmt.Errorf("schema %d: %s: %w: it says that it is schema %d", id, m.Store.URI(p), ErrCorrupt, t.ID)
	}
	return t, nil
}

// Create writes a version that is not there yet: an existing one that differs gives fileio.ErrExist.
func (m Schemas) Create(ctx context.Context, t *schema.Table) error {
	data, err := schema.Marshal(t)
	if err != nil {
		return fmt.Errorf("schema %d: %w", t.ID, err)
	}
	if err := m.Store.CreateExclusive(ctx, m.path(t.ID), data); err != nil {
		return fmt.Errorf("schema %d: %w", t.ID, err)
	}
	return nil
}

// Alter makes changes to the latest version, creates the next one if nobody else has, and returns it. Where somebody has,
// the changes are made anew to what is then the latest. Refused changes give schema.ErrChange, a folder without versions
// fileio.ErrNotExist. After any other error it is unknown whether the version is there: read Latest.
//
// A table without snapshots may change more: see schema.Table.AlterEmpty. A first commit that comes between is not seen, as
// with Paimon; committers of this library refuse files that the latest schema does not fit.
func (m Schemas) Alter(ctx context.Context, changes ...schema.Change) (*schema.Table, error) {
	was := schema.ID(-1)
	for {
		latest, err := m.Latest(ctx)
		if err != nil {
			return nil, err
		}
		if latest.ID <= was {
			return nil, fmt.Errorf("schema %d exists at %s and is not listed: %w", was+1, m.Store.URI(m.path(was+1)), ErrCorrupt)
		}
		was = latest.ID
		next, err := m.next(ctx, latest, changes)
		if err != nil {
			return nil, err
		}
		err = m.Create(ctx, next)
		if err == nil {
			return next, nil
		}
		if !errors.Is(err, fileio.ErrExist) {
			return nil, err
		}
	}
}

func (m Schemas) next(ctx context.Context, latest *schema.Table, changes []schema.Change) (*schema.Table, error) {
	alter := latest.Alter
	id, err := NewManager(m.Store, m.Table).LatestID(ctx)
	if err != nil {
		return nil, err
	}
	if id == 0 {
		alter = latest.AlterEmpty
	}
	next, err := alter(changes...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Store.URI(m.Table), err)
	}
	next.TimeMillis = time.Now().UnixMilli()
	return next, nil
}
