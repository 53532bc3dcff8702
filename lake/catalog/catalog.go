package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tributary-lake/tributary/lake/schema"
)

var (
	// ErrNotExist is returned for a table that the catalog does not have.
	ErrNotExist = errors.New("table does not exist")
	// ErrExist is returned by CreateTable when a table of that name is there already: load it.
	ErrExist = errors.New("table exists")
	// ErrName is returned for a name that no database or table can have. Nothing but another name helps.
	ErrName = errors.New("name is not allowed")
)

// Identifier names a table.
type Identifier struct {
	Database, Table string
}

// String is the name as people write it: database.table.
func (id Identifier) String() string { return id.Database + "." + id.Table }

// Validate refuses names that would leave the database's folder or that Paimon reads in another way: a dot ends a
// database's name, a dollar begins the name of a system table or branch. Errors wrap ErrName.
func (id Identifier) Validate() error {
	if err := validName("database", id.Database, "."); err != nil {
		return err
	}
	return validName("table", id.Table, "$")
}

// maxName keeps a folder's name within what file systems take, with `.db` behind it.
const maxName = 250

func validName(what, name, forbidden string) error {
	reason := ""
	switch {
	case strings.TrimSpace(name) == "":
		reason = "it is blank"
	case name == "." || name == "..":
		reason = "it leads out of its folder"
	case strings.ContainsAny(name, `/\`):
		reason = "it holds a slash or backslash"
	case strings.ContainsAny(name, forbidden):
		reason = fmt.Sprintf("it holds %q", forbidden)
	case strings.ContainsFunc(name, unicode.IsControl):
		reason = "it holds a control character"
	case !utf8.ValidString(name):
		reason = "it is not UTF-8"
	case len(name) > maxName:
		reason = fmt.Sprintf("it is longer than %d bytes", maxName)
	default:
		return nil
	}
	return fmt.Errorf("%s %.60q: %w: %s", what, name, ErrName, reason)
}

// Catalog finds tables. Its methods may be called at the same time. Names that Identifier.Validate refuses give ErrName.
type Catalog interface {
	// Path is the path of a table's folder in the warehouse's store, whether the table is there or not.
	Path(id Identifier) string
	// LoadTable returns a table's latest schema, or ErrNotExist.
	LoadTable(ctx context.Context, id Identifier) (*schema.Table, error)
	// CreateTable creates a table with its first schema, whose id must be 0, and returns the schema as it now stands. A
	// table that is there gives ErrExist, unless it is this very one: then an earlier try had succeeded.
	CreateTable(ctx context.Context, id Identifier, t *schema.Table) (*schema.Table, error)
	// AlterTable makes changes to a table's latest schema, all or none, and returns the schema that they made. Somebody
	// else's change at the same time is kept: both are then in the table. What a schema does not take gives
	// schema.ErrChange, an unknown table ErrNotExist; after any other error, load the table to see.
	AlterTable(ctx context.Context, id Identifier, changes ...schema.Change) (*schema.Table, error)
	// ListTables returns the names of a database's tables, sorted. An unknown database has none.
	ListTables(ctx context.Context, database string) ([]string, error)
}
