package hive

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	metastore "github.com/beltran/gohive/hive_metastore"

	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/schema"
)

var (
	// ErrForeign is returned for a name that the metastore has for something else than a table of Paimon.
	ErrForeign = errors.New("it is no table of Paimon")
	// ErrLocation is returned for a table that does not lie where the warehouse has it.
	ErrLocation = errors.New("it lies elsewhere than in the warehouse")
	// ErrColumns is returned when the metastore refuses to show the columns that a table has by now. The table has them
	// all the same.
	ErrColumns = errors.New("the metastore refuses the table's columns")
)

// Config says how a metastore is reached.
type Config struct {
	// URIs are addresses such as thrift://host:9083 of metastores over the same database, at least one.
	URIs []string
	// Timeout bounds one call; 0 is a minute.
	Timeout time.Duration
	// Lock bounds and paces locks; zero values are Paimon's.
	Lock LockConfig
}

// Catalog is the catalog of a metastore. It implements catalog.Catalog.
type Catalog struct {
	store  fileio.Store
	files  *catalog.Filesystem
	client *client
	lock   LockConfig
}

// New returns the catalog of a warehouse, the root of the store. Nothing is connected to before it is used.
func New(warehouse fileio.Store, c Config) (*Catalog, error) {
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	return &Catalog{store: warehouse, files: catalog.NewFilesystem(warehouse), client: client, lock: c.Lock.filled()}, nil
}

// Close closes the connections that no call uses.
func (c *Catalog) Close() { c.client.close() }

// Path implements catalog.Catalog.
func (c *Catalog) Path(id catalog.Identifier) string { return c.files.Path(id) }

// name is what the metastore takes for a database, table or column as Paimon writes it there.
var name = regexp.MustCompile(`^[a-z0-9_]+$`)

func validName(what, text string) error {
	if name.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%s %.60q: %w: a Hive metastore takes small letters, digits and underscores", what, text, catalog.ErrName)
}

func validate(id catalog.Identifier) error {
	if err := id.Validate(); err != nil {
		return err
	}
	return errors.Join(validName("database", id.Database), validName("table", id.Table))
}

// checkColumns refuses columns that the metastore would write in another way.
func checkColumns(t *schema.Table) error {
	for _, f := range t.Fields {
		if f.Name != strings.ToLower(f.Name) {
			return fmt.Errorf("column %.60q: %w: a Hive metastore knows no upper-case letters", f.Name, catalog.ErrName)
		}
	}
	return nil
}

// LoadTable implements catalog.Catalog.
func (c *Catalog) LoadTable(ctx context.Context, id catalog.Identifier) (*schema.Table, error) {
	if err := validate(id); err != nil {
		return nil, err
	}
	if _, err := c.get(ctx, id); err != nil {
		return nil, fmt.Errorf("load table %s: %w", id, err)
	}
	return c.files.LoadTable(ctx, id)
}

// get returns the metastore's table. One that is not there gives catalog.ErrNotExist.
func (c *Catalog) get(ctx context.Context, id catalog.Identifier) (*metastore.Table, error) {
	request := metastore.NewGetTableRequest()
	request.DbName, request.TblName = id.Database, id.Table
	var t *metastore.Table
	err := c.client.call(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error {
		got, err := api.GetTableReq(ctx, request)
		if err == nil {
			t = got.Table
		}
		return err
	})
	switch {
	case isA[*metastore.NoSuchObjectException](err):
		return nil, fmt.Errorf("the metastore has no %s: %w", id, catalog.ErrNotExist)
	case err != nil:
		return nil, err
	case !ours(t):
		return nil, fmt.Errorf("%s in the metastore, of type %s: %w", id, t.TableType, ErrForeign)
	}
	if want := c.store.URI(c.Path(id)); location(t.Sd.Location) != location(want) {
		return nil, fmt.Errorf("%s is at %s and the warehouse has it at %s: %w", id, t.Sd.Location, want, ErrLocation)
	}
	return t, nil
}

// location writes an address in one way: the metastore's file:/path is file:///path, and all names of S3 are one.
func location(uri string) string {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok {
		scheme, rest = "file", uri
	}
	switch scheme {
	case "file":
		return "file://" + path.Clean("/"+rest)
	case "s3a", "s3n":
		scheme = "s3"
	}
	return scheme + ":" + strings.TrimRight(rest, "/")
}

// CreateTable implements catalog.Catalog. A folder that is a table already is shown in the metastore, and gives
// catalog.ErrExist if it is another.
func (c *Catalog) CreateTable(ctx context.Context, id catalog.Identifier, t *schema.Table) (*schema.Table, error) {
	if err := errors.Join(validate(id), checkColumns(t)); err != nil {
		return nil, err
	}
	if _, err := c.get(ctx, id); err != nil && !errors.Is(err, catalog.ErrNotExist) {
		return nil, fmt.Errorf("create table %s: %w", id, err)
	}
	created, err := c.files.CreateTable(ctx, id, t)
	if err != nil && !errors.Is(err, catalog.ErrExist) {
		return nil, err
	}
	if err := c.mirror(ctx, id, true); err != nil {
		return nil, fmt.Errorf("create table %s: its folder is made: %w", id, err)
	}
	return created, err
}

// AlterTable implements catalog.Catalog. ErrColumns says that the table was altered and the metastore does not show it.
func (c *Catalog) AlterTable(ctx context.Context, id catalog.Identifier, changes ...schema.Change) (*schema.Table, error) {
	if err := validate(id); err != nil {
		return nil, err
	}
	if _, err := c.get(ctx, id); err != nil {
		return nil, fmt.Errorf("alter table %s: %w", id, err)
	}
	t, err := c.files.AlterTable(ctx, id, changes...)
	if err != nil {
		return nil, err
	}
	if err := c.mirror(ctx, id, false); err != nil {
		return nil, fmt.Errorf("alter table %s: its schema %d is made: %w", id, t.ID, err)
	}
	return t, nil
}

// mirror makes the metastore show a table's latest schema. When it returns nil, it did so after the call began, whatever
// others did at the same time.
func (c *Catalog) mirror(ctx context.Context, id catalog.Identifier, create bool) error {
	for {
		latest, err := c.files.LoadTable(ctx, id)
		if err != nil {
			return err
		}
		shown, err := c.get(ctx, id)
		switch {
		case errors.Is(err, catalog.ErrNotExist) && create:
			err = c.create(ctx, id, latest)
		case err != nil:
			return err
		case shows(shown, latest):
			return nil
		default:
			show(shown, latest)
			err = c.alter(ctx, id, shown)
		}
		if err != nil {
			return err
		}
		// Somebody may have altered it meanwhile, and this call may have shown an older one after a newer: look again.
	}
}

func (c *Catalog) create(ctx context.Context, id catalog.Identifier, t *schema.Table) error {
	if err := c.createDatabase(ctx, id.Database); err != nil {
		return err
	}
	err := c.client.call(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error {
		return api.CreateTable(ctx, newTable(id, t, c.store.URI(c.Path(id))))
	})
	if err == nil {
		return nil
	}
	// It may be there by somebody else, or by a call whose answer was lost. In a race a metastore says so in the words of its
	// database alone: look.
	if _, absent := c.get(ctx, id); absent == nil {
		return nil
	}
	return err
}

func (c *Catalog) createDatabase(ctx context.Context, database string) error {
	err := c.hasDatabase(ctx, database)
	if !isA[*metastore.NoSuchObjectException](err) {
		return err
	}
	err = c.client.call(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error {
		db := metastore.NewDatabase()
		db.Name, db.LocationUri, db.Parameters = database, c.store.URI(path.Dir(c.Path(catalog.Identifier{Database: database, Table: "t"}))), map[string]string{}
		return api.CreateDatabase(ctx, db)
	})
	if err != nil && c.hasDatabase(ctx, database) == nil {
		return nil // as create says
	}
	return err
}

// hasDatabase asks for a database. One that is not there gives the metastore's error.
func (c *Catalog) hasDatabase(ctx context.Context, database string) error {
	return c.client.call(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error {
		_, err := api.GetDatabase(ctx, database)
		return err
	})
}

// alter changes the metastore's table and, as Java does, its partitions with it.
func (c *Catalog) alter(ctx context.Context, id catalog.Identifier, t *metastore.Table) error {
	err := c.client.call(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error {
		return api.AlterTableWithEnvironmentContext(ctx, id.Database, id.Table, t,
			&metastore.EnvironmentContext{Properties: map[string]string{"CASCADE": "true", "DO_NOT_UPDATE_STATS": "true"}})
	})
	if isA[*metastore.InvalidOperationException](err) {
		return fmt.Errorf("%w: %w: set metastore.disallow.incompatible.col.type.changes to false in the metastore, and refresh", ErrColumns, err)
	}
	return err
}

// listed is of how many tables the metastore is asked at once.
const listed = 200

// ListTables implements catalog.Catalog.
func (c *Catalog) ListTables(ctx context.Context, database string) ([]string, error) {
	if err := validate(catalog.Identifier{Database: database, Table: "t"}); err != nil {
		return nil, err
	}
	var names []string
	err := c.client.call(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) (err error) {
		names, err = api.GetAllTables(ctx, database)
		return err
	})
	if err != nil && !isA[*metastore.NoSuchObjectException](err) {
		return nil, fmt.Errorf("list tables of %s: %w", database, err)
	}
	tables := []string{}
	for part := range slices.Chunk(names, listed) {
		request := metastore.NewGetTablesRequest()
		request.DbName, request.TblNames = database, part
		err := c.client.call(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error {
			got, err := api.GetTableObjectsByNameReq(ctx, request)
			if err != nil {
				return err
			}
			for _, t := range got.Tables {
				if ours(t) {
					tables = append(tables, t.TableName)
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list tables of %s: %w", database, err)
		}
	}
	slices.Sort(tables)
	return tables, nil
}
