package lake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// partitioned is a table with the columns region and n, partitioned by region.
func partitioned(t *testing.T) (*lake.Table, fileio.Store) {
	t.Helper()
	s, err := schema.New(schema.Spec{
		Fields:        []schema.Field{{Name: "region", Type: schema.StringType()}, {Name: "n", Type: schema.Of(schema.Int)}},
		PartitionKeys: []string{"region"},
	})
	require.NoError(t, err)
	store := fileiotest.NewMemory()
	return lake.NewTable(store, "ods.db/orders", s), store
}

func files(t *testing.T, store fileio.Store) []string {
	t.Helper()
	var paths []string
	require.NoError(t, store.List(context.Background(), "", func(i fileio.Info) error {
		paths = append(paths, i.Path)
		return nil
	}))
	return paths
}

func batch(table *lake.Table, regions ...string) *row.Batch {
	b := row.NewBatch(row.Types(table.Schema().Fields))
	for i, r := range regions {
		b.Columns[0].AppendBytes([]byte(r))
		b.Columns[1].I32 = append(b.Columns[1].I32, int32(i))
		b.Rows++
	}
	return b
}

// Rows go to their partition's folder, however many partitions take turns; sequence numbers of a partition go on from file
// to file.
func TestWriterRoutesRows(t *testing.T) {
	table, store := partitioned(t)
	w, err := table.NewWriter(lake.WriterOptions{Prefix: "data-x-"})
	require.NoError(t, err)
	const partitions, rounds = 100, 3 // more than are open at once, so that each is closed and opened again
	for range rounds {
		var regions []string
		for p := range partitions {
			regions = append(regions, fmt.Sprint("r", p), fmt.Sprint("r", p))
		}
		require.NoError(t, w.Write(t.Context(), batch(table, regions...)))
	}
	messages, err := w.Close(t.Context())
	require.NoError(t, err)
	require.Len(t, messages, partitions)
	named := map[string]bool{}
	for i, m := range messages {
		require.Equal(t, row.Serialize([]schema.Type{schema.StringType()}, []row.Value{{B: fmt.Appendf(nil, "r%d", i)}}), m.Partition)
		next, rows := int64(0), int64(0)
		for _, f := range m.Data.NewFiles {
			require.Equal(t, next, f.MinSequence)
			next, rows = f.MaxSequence+1, rows+f.Rows
			named[fmt.Sprintf("ods.db/orders/region=r%d/bucket-0/%s", i, f.Name)] = true
		}
		require.Equal(t, int64(2*rounds), rows)
	}
	require.Len(t, files(t, store), len(named))
	for _, path := range files(t, store) {
		require.True(t, named[path], path)
		require.Contains(t, path, "/data-x-")
	}
	require.NoError(t, w.Abort(t.Context()))
	require.Empty(t, files(t, store))
}

func TestWriterRefusesLongPartitionNames(t *testing.T) {
	table, store := partitioned(t)
	w, err := table.NewWriter(lake.WriterOptions{Prefix: "data-x-"})
	require.NoError(t, err)
	require.NoError(t, w.Write(t.Context(), batch(table, "eu", strings.Repeat("x", 248)))) // region= and 248 are 255
	err = w.Write(t.Context(), batch(table, strings.Repeat("ü", 124)))
	require.NoError(t, err)
	err = w.Write(t.Context(), batch(table, "eu", strings.Repeat("ü", 124)+"x"))
	require.ErrorIs(t, err, lake.ErrFolderName)
	require.Less(t, len(err.Error()), 300)
	require.NoError(t, w.Abort(t.Context()))
	require.Empty(t, files(t, store))
}

func TestWriterAsksItsGuard(t *testing.T) {
	table, store := partitioned(t)
	stop := errors.New("not wanted any more")
	asked := 0
	w, err := table.NewWriter(lake.WriterOptions{Prefix: "data-x-", Guard: func(context.Context) error {
		if asked++; asked > 2 {
			return stop
		}
		return nil
	}})
	require.NoError(t, err)
	require.NoError(t, w.Write(t.Context(), batch(table, "a", "b")))
	require.ErrorIs(t, w.Write(t.Context(), batch(table, "c")), stop)
	require.NoError(t, w.Abort(t.Context()))
	require.Empty(t, files(t, store))
}

func TestWriterWithoutRowsMakesNothing(t *testing.T) {
	table, store := partitioned(t)
	w, err := table.NewWriter(lake.WriterOptions{Prefix: "data-x-"})
	require.NoError(t, err)
	messages, err := w.Close(t.Context())
	require.NoError(t, err)
	require.Empty(t, messages)
	require.Empty(t, files(t, store))
}
