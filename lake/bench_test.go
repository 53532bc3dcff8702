package lake_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// BenchmarkWrite writes rows of two columns, so that what it costs to find a row's partition and bucket shows.
func BenchmarkWrite(b *testing.B) {
	for name, spec := range map[string]schema.Spec{
		"plain":       {},
		"partitioned": {PartitionKeys: []string{"region"}},
		"keyed":       {PrimaryKeys: []string{"n"}, Options: map[string]string{"bucket": "16"}},
		"bucketed":    {Options: map[string]string{"bucket": "16", "bucket-key": "n"}},
	} {
		b.Run(name, func(b *testing.B) {
			const rows = 8192
			spec.Fields = []schema.Field{{Name: "region", Type: schema.StringType()}, {Name: "n", Type: schema.Of(schema.Int)}}
			s, err := schema.New(spec)
			require.NoError(b, err)
			table := lake.NewTable(fileiotest.NewMemory(), "ods.db/orders", s)
			batch := row.NewBatch(row.Types(s.Fields))
			for n := range rows {
				batch.Columns[0].AppendBytes(fmt.Appendf(nil, "region %d", n%16))
				batch.Columns[1].I32 = append(batch.Columns[1].I32, int32(n))
			}
			batch.Rows = rows
			w, err := table.NewWriter(lake.WriterOptions{Prefix: "data-x-"})
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, w.Write(b.Context(), batch))
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			require.NoError(b, w.Abort(b.Context()))
		})
	}
}

// BenchmarkScan reads rows of four files of a bucket, whose keys take turns or do not overlap.
func BenchmarkScan(b *testing.B) {
	for name, stride := range map[string][2]int{"merged": {4, 1}, "raw": {1, 100_000}} {
		b.Run(name, func(b *testing.B) {
			const rows = 100_000
			s, err := schema.New(schema.Spec{
				Fields:      []schema.Field{{Name: "region", Type: schema.StringType()}, {Name: "n", Type: schema.Of(schema.Int)}},
				PrimaryKeys: []string{"n"}, Options: map[string]string{"bucket": "1"},
			})
			require.NoError(b, err)
			store := fileiotest.NewMemory()
			require.NoError(b, snapshot.Schemas{Store: store, Table: "ods.db/orders"}.Create(b.Context(), s))
			table := lake.NewTable(store, "ods.db/orders", s)
			for file := range 4 {
				batch := row.NewBatch(row.Types(s.Fields))
				for n := range rows {
					batch.Columns[0].AppendBytes(fmt.Appendf(nil, "region %d", n%16))
					batch.Columns[1].I32 = append(batch.Columns[1].I32, int32(n*stride[0]+file*stride[1]))
				}
				batch.Rows = rows
				w, err := table.NewWriter(lake.WriterOptions{Prefix: fmt.Sprintf("data-%d-", file)})
				require.NoError(b, err)
				require.NoError(b, w.Write(b.Context(), batch))
				messages, err := w.Close(b.Context())
				require.NoError(b, err)
				_, err = table.Committer().Publish(b.Context(), commit.Request{
					User: "job", Identifier: int64(file), Kind: snapshot.Append, Messages: messages, Planned: s,
				})
				require.NoError(b, err)
			}
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				require.NoError(b, table.Scan(b.Context(), lake.ScanOptions{}, func(b *row.Batch) error {
					n += b.Rows
					return nil
				}))
				require.Equal(b, 4*rows, n)
			}
			b.ReportMetric(float64(4*rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
