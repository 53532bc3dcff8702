package catalog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/catalog/catalogtest"
	"github.com/tributary-lake/tributary/lake/fileio"
)

func TestFilesystem(t *testing.T) {
	catalogtest.Run(t, func(t *testing.T) catalog.Catalog {
		store, err := fileio.NewLocal(t.TempDir())
		require.NoError(t, err)
		return catalog.NewFilesystem(store)
	})
}

// The folder of a table that Paimon's Java wrote, with five schema versions.
func TestFilesystemReadsJavasTable(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "golden.db", "evolved"), os.DirFS("testdata/append_schema_evolution")))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "golden.db", "no_table"), 0o755))
	store, err := fileio.NewLocal(root)
	require.NoError(t, err)
	c := catalog.NewFilesystem(store)
	table, err := c.LoadTable(t.Context(), catalog.Identifier{Database: "golden", Table: "evolved"})
	require.NoError(t, err)
	require.EqualValues(t, 4, table.ID)
	tables, err := c.ListTables(t.Context(), "golden")
	require.NoError(t, err)
	require.Equal(t, []string{"evolved"}, tables)
	require.Equal(t, "golden.db/evolved", c.Path(catalog.Identifier{Database: "golden", Table: "evolved"}))
}

// A table goes on without its first schema file: creating it anew must not put one back.
func TestATableWithoutItsFirstSchemaIsStillThere(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "golden.db", "evolved"), os.DirFS("testdata/append_schema_evolution")))
	require.NoError(t, os.Remove(filepath.Join(root, "golden.db", "evolved", "schema", "schema-0")))
	store, err := fileio.NewLocal(root)
	require.NoError(t, err)
	c := catalog.NewFilesystem(store)
	id := catalog.Identifier{Database: "golden", Table: "evolved"}
	table, err := c.LoadTable(t.Context(), id)
	require.NoError(t, err)
	first := *table
	first.ID = 0
	_, err = c.CreateTable(t.Context(), id, &first)
	require.ErrorIs(t, err, catalog.ErrExist)
}

// Other catalogs know no dots.
func TestATablesNameMayHaveADot(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(root, "golden.db", "evolved.v2"), os.DirFS("testdata/append_schema_evolution")))
	store, err := fileio.NewLocal(root)
	require.NoError(t, err)
	table, err := catalog.NewFilesystem(store).LoadTable(t.Context(), catalog.Identifier{Database: "golden", Table: "evolved.v2"})
	require.NoError(t, err)
	require.EqualValues(t, 4, table.ID)
}
