package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Filesystem is the catalog that consists of a warehouse's folders.
type Filesystem struct {
	store fileio.Store
}

// NewFilesystem returns the catalog of a warehouse, the root of the store.
func NewFilesystem(warehouse fileio.Store) *Filesystem {
	return &Filesystem{store: warehouse}
}

// Path implements Catalog.
func (c *Filesystem) Path(id Identifier) string {
	return folder(id.Database) + "/" + id.Table
}

func folder(database string) string { return database + ".db" }

func (c *Filesystem) schemas(id Identifier) snapshot.Schemas {
	return snapshot.Schemas{Store: c.store, Table: c.Path(id)}
}

// LoadTable implements Catalog.
func (c *Filesystem) LoadTable(ctx context.Context, id Identifier) (*schema.Table, error) {
	if err := id.Validate(); err != nil {
		return nil, err
	}
	t, err := c.schemas(id).Latest(ctx)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil, fmt.Errorf("%s at %s: %w", id, c.store.URI(c.Path(id)), ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("load table %s: %w", id, err)
	}
	return t, nil
}

// CreateTable implements Catalog.
func (c *Filesystem) CreateTable(ctx context.Context, id Identifier, t *schema.Table) (*schema.Table, error) {
	if err := id.Validate(); err != nil {
		return nil, err
	}
	if t.ID != 0 {
		return nil, fmt.Errorf("create table %s: the first schema has id %d, want 0", id, t.ID)
	}
	versions, err := c.schemas(id).List(ctx)
	if err != nil {
		return nil, fmt.Errorf("create table %s: %w", id, err)
	}
	// schema-0 may have been removed from a table that went on.
	if len(versions) > 0 && versions[0] != 0 {
		return nil, fmt.Errorf("%s at %s: %w", id, c.store.URI(c.Path(id)), ErrExist)
	}
	err = c.schemas(id).Create(ctx, t)
	if errors.Is(err, fileio.ErrExist) {
		return nil, fmt.Errorf("%s at %s: %w", id, c.store.URI(c.Path(id)), ErrExist)
	}
	if err != nil {
		return nil, fmt.Errorf("create table %s: %w", id, err)
	}
	return c.LoadTable(ctx, id)
}

// AlterTable implements Catalog.
func (c *Filesystem) AlterTable(ctx context.Context, id Identifier, changes ...schema.Change) (*schema.Table, error) {
	if err := id.Validate(); err != nil {
		return nil, err
	}
	t, err := c.schemas(id).Alter(ctx, changes...)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil, fmt.Errorf("%s at %s: %w", id, c.store.URI(c.Path(id)), ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("alter table %s: %w", id, err)
	}
	return t, nil
}

// ListTables implements Catalog.
func (c *Filesystem) ListTables(ctx context.Context, database string) ([]string, error) {
	if err := validName("database", database, "."); err != nil {
		return nil, err
	}
	names, err := fileio.Folders(ctx, c.store, folder(database))
	if err != nil {
		return nil, fmt.Errorf("list tables of %s: %w", database, err)
	}
	tables := []string{}
	for _, name := range names {
		versions, err := c.schemas(Identifier{database, name}).List(ctx)
		if err != nil {
			return nil, fmt.Errorf("list tables of %s: %w", database, err)
		}
		if len(versions) > 0 {
			tables = append(tables, name)
		}
	}
	slices.Sort(tables)
	return tables, nil
}
