package mergetree_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// narrow is the table of the benchmarks: five columns, some 50 bytes a row.
func narrow(key ...string) *schema.Table {
	fields := []schema.Field{
		{ID: 0, Name: "id", Type: schema.Of(schema.BigInt).WithNotNull(true)},
		{ID: 1, Name: "code", Type: schema.StringType().WithNotNull(true)},
		{ID: 2, Name: "amount", Type: schema.DecimalType(12, 2)},
		{ID: 3, Name: "note", Type: schema.StringType()},
		{ID: 4, Name: "at", Type: schema.Type{Kind: schema.Timestamp, Precision: 6}},
	}
	return &schema.Table{Fields: fields, PrimaryKeys: key, Options: map[string]string{"bucket": "1"}}
}

// narrowBatches are rows in random order of ids.
func narrowBatches(rows int) []*row.Batch {
	r := rand.New(rand.NewPCG(1, 2))
	ids := r.Perm(rows)
	var batches []*row.Batch
	for len(ids) > 0 {
		b := row.NewBatch(row.Types(narrow("id").Fields))
		n := min(4096, len(ids))
		for i, id := range ids[:n] {
			b.Columns[0].I64 = append(b.Columns[0].I64, int64(id))
			b.Columns[1].AppendBytes(fmt.Appendf(nil, "c%08d", id))
			b.Columns[2].I64 = append(b.Columns[2].I64, int64(id%100_000))
			if i%10 == 0 {
				b.Columns[3].AppendNull()
			} else {
				b.Columns[3].AppendBytes([]byte("a note of some length"))
			}
			b.Columns[4].I64 = append(b.Columns[4].I64, 1_700_000_000_000_000+int64(id))
		}
		b.Rows = n
		ids = ids[n:]
		batches = append(batches, b)
	}
	return batches
}

// BenchmarkSort sorts and merges rows: by a number or a string, in memory or with spilled runs.
func BenchmarkSort(b *testing.B) {
	const rows = 2_000_000
	batches := narrowBatches(rows)
	for _, c := range []struct {
		name, key string
		memory    int
	}{
		{"bigint/memory", "id", 1 << 30},
		{"bigint/spill64MiB", "id", 64 << 20},
		{"bigint/spill16MiB", "id", 16 << 20},
		{"string/memory", "code", 1 << 30},
	} {
		b.Run(c.name, func(b *testing.B) {
			spec, err := mergetree.SpecOf(narrow(c.key))
			require.NoError(b, err)
			store, err := fileio.NewLocal(b.TempDir())
			require.NoError(b, err)
			peak := 0
			b.ReportAllocs()
			for b.Loop() {
				s, err := mergetree.NewSorter(spec, mergetree.SortOptions{Memory: c.memory, Store: store, Folder: "runs"})
				require.NoError(b, err)
				for _, batch := range batches {
					require.NoError(b, s.Write(b.Context(), batch, nil))
					peak = max(peak, s.Memory())
				}
				src, err := s.Sorted(b.Context())
				require.NoError(b, err)
				require.Equal(b, rows, drain(b, spec, src))
				require.NoError(b, s.Close(context.Background()))
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(peak)/(1<<20), "MiB-held")
		})
	}
}

// drain reads a source to its end and closes it.
func drain(tb testing.TB, spec *mergetree.Spec, src mergetree.Source) int {
	tb.Helper()
	n, batch := 0, spec.NewBatch()
	for {
		err := src.Next(tb.Context(), batch)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(tb, err)
		n += batch.Rows
	}
	require.NoError(tb, src.Close())
	return n
}
