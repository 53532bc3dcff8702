package lake

import (
	"context"
	"path"
	"strings"

	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Table is a table's folder and the schema that it is written or read with. It holds no state and no open file.
type Table struct {
	store  fileio.Store
	path   string
	schema *schema.Table
}

// NewTable names a table by its folder below the store's root. Nothing is read.
func NewTable(store fileio.Store, path string, s *schema.Table) *Table {
	return &Table{store: store, path: path, schema: s}
}

// Schema is the one that the table was named with.
func (t *Table) Schema() *schema.Table { return t.schema }

// Committer commits to the table.
func (t *Table) Committer() *commit.Committer { return commit.New(t.store, t.path) }

// DataFiles returns the paths of files in the table's bucket folders whose bare name is wanted, whether a snapshot names
// them or not. Files still being written, which have a dot in front and a suffix, are offered by their final name.
func (t *Table) DataFiles(ctx context.Context, wanted func(name string) bool) ([]string, error) {
	var paths []string
	err := t.store.List(ctx, t.path, func(i fileio.Info) error {
		if !strings.HasPrefix(path.Base(path.Dir(i.Path)), "bucket-") {
			return nil
		}
		if wanted(strings.TrimPrefix(path.Base(i.Path), ".")) {
			paths = append(paths, i.Path)
		}
		return nil
	})
	return paths, err
}
