package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/app"
	"github.com/tributary-lake/tributary/lake/catalog"
)

func TestParseTable(t *testing.T) {
	database, table, err := app.ParseTable("ods.orders.v2")
	require.NoError(t, err)
	require.Equal(t, []string{"ods", "orders.v2"}, []string{database, table})
	for _, name := range []string{"", "orders", ".orders", "ods.", "ods.../x", "ods.orders$files"} {
		_, _, err := app.ParseTable(name)
		require.Error(t, err, name)
	}
	_, _, err = app.ParseTable("ods.orders$files")
	require.ErrorIs(t, err, catalog.ErrName)
}

// A snapshot asked for is shown with its own schema, files and rows; the totals are Paimon's.
func TestLakeShowsSnapshotsAsTheyWere(t *testing.T) {
	warehouse, err := filepath.Abs("../../lake/testdata")
	require.NoError(t, err)
	l, err := app.OpenLake(t.Context(), warehouse, app.StoreSettings{})
	require.NoError(t, err)
	for _, name := range []string{"append_partitioned", "append_overwrite", "append_schema_evolution", "append_tags"} {
		list, err := l.Snapshots(t.Context(), "golden."+name)
		require.NoError(t, err)
		for _, s := range list.Snapshots {
			info, err := l.Table(t.Context(), "golden."+name, s.ID, 1000)
			require.NoError(t, err)
			require.Equal(t, s, *info.Snapshot)
			require.Equal(t, s.Rows, info.Rows)
			require.Len(t, info.Sample, int(s.Rows))
			require.Equal(t, s.SchemaID, info.SchemaID)
			files, err := l.Files(t.Context(), "golden."+name, s.ID)
			require.NoError(t, err)
			require.Len(t, files.Files, info.Files)
			for _, f := range files.Files {
				stat, err := os.Stat(strings.TrimPrefix(f.Path, "file://"))
				require.NoError(t, err)
				require.Equal(t, stat.Size(), f.Bytes)
			}
		}
	}
}

func TestTableStopsAfterTheRowsAskedFor(t *testing.T) {
	warehouse, err := filepath.Abs("../../lake/testdata")
	require.NoError(t, err)
	l, err := app.OpenLake(t.Context(), warehouse, app.StoreSettings{})
	require.NoError(t, err)
	for n := range 4 {
		info, err := l.Table(t.Context(), "golden.append_all_types", 0, n)
		require.NoError(t, err)
		require.Len(t, info.Sample, n)
	}
}
