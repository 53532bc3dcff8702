package lake_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/datafile/filereader"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// bucketed is a table with the columns region and n, with so many buckets by n, and partitions by region if wanted.
func bucketed(t *testing.T, buckets int, partitions ...string) (*lake.Table, fileio.Store) {
	t.Helper()
	s, err := schema.New(schema.Spec{
		Fields:        []schema.Field{{Name: "region", Type: schema.StringType()}, {Name: "n", Type: schema.Of(schema.Int)}},
		PartitionKeys: partitions,
		Options:       map[string]string{"bucket": fmt.Sprint(buckets), "bucket-key": "n"},
	})
	require.NoError(t, err)
	store := fileiotest.NewMemory()
	return lake.NewTable(store, "ods.db/orders", s), store
}

// write writes batches and returns the messages.
func write(t *testing.T, table *lake.Table, o lake.WriterOptions, batches ...*row.Batch) []*message.Commit {
	t.Helper()
	if o.Prefix == "" {
		o.Prefix = "data-x-"
	}
	w, err := table.NewWriter(o)
	require.NoError(t, err)
	for _, b := range batches {
		require.NoError(t, w.Write(t.Context(), b))
	}
	messages, err := w.Close(t.Context())
	require.NoError(t, err)
	return messages
}

// linesByBucket reads the rows of files as they lie in their buckets.
func linesByBucket(t *testing.T, store fileio.Store, fields []schema.Field, files []lake.File) map[int32][]string {
	t.Helper()
	lines := map[int32][]string{}
	for _, f := range files {
		r, err := filereader.Open(t.Context(), store, f.Path, f.DataFile.Size, fields, filereader.Options{})
		require.NoError(t, err)
		b := row.NewBatch(row.Types(fields))
		for r.NextBatch(t.Context(), b) == nil {
			for i := range b.Rows {
				lines[f.Bucket] = append(lines[f.Bucket], line(t, fields, b, i))
			}
		}
		require.NoError(t, r.Close())
	}
	for _, l := range lines {
		slices.Sort(l)
	}
	return lines
}

// Rows go to the buckets where Paimon put them.
func TestWriterDistributesRowsAsPaimon(t *testing.T) {
	golden := openTable(t, "testdata", "append_fixed_bucket", 0)
	root, err := fileio.NewLocal(mustAbs(t, "testdata"))
	require.NoError(t, err)
	theirs, err := golden.Files(t.Context(), 0)
	require.NoError(t, err)

	store := fileiotest.NewMemory()
	table := lake.NewTable(store, "ods.db/orders", golden.Schema())
	w, err := table.NewWriter(lake.WriterOptions{Prefix: "data-x-"})
	require.NoError(t, err)
	require.NoError(t, golden.Scan(t.Context(), lake.ScanOptions{}, func(b *row.Batch) error { return w.Write(t.Context(), b) }))
	messages, err := w.Close(t.Context())
	require.NoError(t, err)
	var ours []lake.File
	for _, m := range messages {
		require.Equal(t, int32(3), *m.TotalBuckets)
		require.Equal(t, make([]byte, 12), m.Partition)
		for _, f := range m.Data.NewFiles {
			ours = append(ours, lake.File{Path: fmt.Sprintf("ods.db/orders/bucket-%d/%s", m.Bucket, f.Name), Bucket: m.Bucket, DataFile: f})
		}
	}
	fields := golden.Schema().Fields
	require.Equal(t, linesByBucket(t, root, fields, theirs), linesByBucket(t, store, fields, ours))
}

// The golden table's bucket sequences, as Paimon's own describe tells them, are what a writer goes on from.
func TestWriterNumbersOn(t *testing.T) {
	table := openTable(t, copyOf(t, "append_fixed_bucket"), "append_fixed_bucket", 0)
	live, err := table.Files(t.Context(), 0)
	require.NoError(t, err)
	next := map[int32]int64{}
	for _, f := range live {
		next[f.Bucket] = max(next[f.Bucket], f.DataFile.MaxSequence+1)
	}
	require.Len(t, next, 3)
	var copies []*row.Batch
	require.NoError(t, table.Scan(t.Context(), lake.ScanOptions{}, func(b *row.Batch) error {
		copies = append(copies, clone(b))
		return nil
	}))
	for _, c := range []struct {
		options lake.WriterOptions
		from    func(bucket int32) int64
	}{
		{lake.WriterOptions{Prefix: "data-a-"}, func(n int32) int64 { return next[n] }},
		{lake.WriterOptions{Prefix: "data-b-", Overwrite: true}, func(int32) int64 { return 0 }},
		{lake.WriterOptions{Prefix: "data-c-", Existing: &lake.Existing{}}, func(int32) int64 { return 0 }},
	} {
		messages := write(t, table, c.options, copies...)
		require.Len(t, messages, 3)
		for _, m := range messages {
			require.Equal(t, c.from(m.Bucket), m.Data.NewFiles[0].MinSequence)
		}
	}
}

// A table whose option says another number of buckets than its partitions have is not written to, unless it is overwritten.
func TestWriterRefusesAnotherNumberOfBuckets(t *testing.T) {
	warehouse := copyOf(t, "append_fixed_bucket")
	golden := openTable(t, warehouse, "append_fixed_bucket", 0)
	var copies []*row.Batch
	require.NoError(t, golden.Scan(t.Context(), lake.ScanOptions{}, func(b *row.Batch) error {
		copies = append(copies, clone(b))
		return nil
	}))
	changed := *golden.Schema()
	changed.Options = map[string]string{"bucket": "4", "bucket-key": changed.Options["bucket-key"]}
	store, err := fileio.NewLocal(warehouse)
	require.NoError(t, err)
	table := lake.NewTable(store, "golden.db/append_fixed_bucket", &changed)
	w, err := table.NewWriter(lake.WriterOptions{Prefix: "data-x-"})
	require.NoError(t, err)
	err = w.Write(t.Context(), copies[0])
	require.ErrorIs(t, err, lake.ErrBucketCount)
	require.ErrorContains(t, err, "write the table with bucket = 4: the partition has another number of buckets, 3")
	require.NoError(t, w.Abort(t.Context()))
	require.NotEmpty(t, write(t, table, lake.WriterOptions{Overwrite: true}, copies...))
}

// However many buckets take turns, few files are open and few are made, one for each bucket where rows can be spilled. No row
// is lost, and those of a bucket stay in their order.
func TestWriterOfManyBuckets(t *testing.T) {
	for name, c := range map[string]struct {
		spill fileio.Store
		most  int
	}{"spilled": {fileiotest.NewMemory(), 500}, "in more files": {nil, 1000}} {
		t.Run(name, func(t *testing.T) { writeManyBuckets(t, 500, c.spill, c.most) })
	}
}

func writeManyBuckets(t *testing.T, buckets int, spill fileio.Store, most int) {
	t.Helper()
	const rows = 20_000
	table, store := bucketed(t, buckets)
	open := &openFiles{Store: store}
	w, err := lake.NewTable(open, "ods.db/orders", table.Schema()).NewWriter(lake.WriterOptions{
		Prefix: "data-x-", Memory: 200_000, Spill: spill, SpillFolder: "spill",
	})
	require.NoError(t, err)
	fillBuckets(t, table, w, rows)
	if spill != nil {
		require.NotEmpty(t, files(t, spill))
	}
	messages, err := w.Close(t.Context())
	require.NoError(t, err)
	if spill != nil {
		require.Empty(t, files(t, spill))
	}
	require.Len(t, messages, buckets)
	require.LessOrEqual(t, open.most, 32)
	made, seen := 0, map[int32]bool{}
	for _, m := range messages {
		next, last := int64(0), int32(-1)
		for _, f := range m.Data.NewFiles {
			require.Equal(t, next, f.MinSequence)
			next = f.MaxSequence + 1
			made++
			r, err := filereader.Open(t.Context(), store, path.Join("ods.db/orders", fmt.Sprint("bucket-", m.Bucket), f.Name), f.Size,
				table.Schema().Fields, filereader.Options{})
			require.NoError(t, err)
			b := row.NewBatch(row.Types(table.Schema().Fields))
			for r.NextBatch(t.Context(), b) == nil {
				for i, n := range b.Columns[1].I32 {
					require.Equal(t, fmt.Sprint("row ", n), string(b.Columns[0].Bytes(i)))
					require.Greater(t, n, last)
					last, seen[n] = n, true
				}
			}
			require.NoError(t, r.Close())
		}
	}
	require.Len(t, seen, rows)
	require.LessOrEqual(t, made, most)
	require.Len(t, files(t, store), made)
	require.NoError(t, w.Abort(t.Context()))
	require.Empty(t, files(t, store))
}

// numbered are rows of a table with the columns region and n.
func numbered(table *lake.Table, rows int) *row.Batch {
	b := row.NewBatch(row.Types(table.Schema().Fields))
	for n := range rows {
		b.Columns[0].AppendBytes(fmt.Appendf(nil, "row %d", n))
		b.Columns[1].I32 = append(b.Columns[1].I32, int32(n))
		b.Rows++
	}
	return b
}

// fillBuckets writes numbered rows, a few at a time.
func fillBuckets(t *testing.T, table *lake.Table, w *lake.Writer, rows int) {
	t.Helper()
	all := numbered(table, rows)
	some := row.NewBatch(row.Types(table.Schema().Fields))
	for n := range rows {
		for c := range some.Columns {
			some.Columns[c].Append(all.Columns[c].Value(n))
		}
		if some.Rows++; some.Rows == 100 {
			require.NoError(t, w.Write(t.Context(), some))
			some.Reset()
		}
	}
	require.NoError(t, w.Write(t.Context(), some))
}

func TestBucketWriterAborts(t *testing.T) {
	table, store := bucketed(t, 500)
	spill := fileiotest.NewMemory()
	w, err := table.NewWriter(lake.WriterOptions{Prefix: "data-x-", Memory: 200_000, Spill: spill, SpillFolder: "spill"})
	require.NoError(t, err)
	fillBuckets(t, table, w, 20_000)
	require.NotEmpty(t, files(t, spill))
	require.NoError(t, w.Abort(t.Context()))
	require.Empty(t, files(t, spill))
	require.Empty(t, files(t, store))
}

// openFiles counts the files that are being written.
type openFiles struct {
	fileio.Store
	now, most int
}

func (o *openFiles) Create(ctx context.Context, path string) (fileio.Writer, error) {
	o.now++
	o.most = max(o.most, o.now)
	w, err := o.Store.Create(ctx, path)
	return &openFile{w, o}, err
}

type openFile struct {
	fileio.Writer
	of *openFiles
}

func (f *openFile) Close() error {
	f.of.now--
	return f.Writer.Close()
}

// clone copies a batch that its owner uses again.
func clone(b *row.Batch) *row.Batch {
	types := make([]schema.Type, len(b.Columns))
	for i := range b.Columns {
		types[i] = b.Columns[i].Type
	}
	c := row.NewBatch(types)
	for i := range b.Columns {
		for r := range b.Rows {
			c.Columns[i].Append(b.Columns[i].Value(r))
		}
	}
	c.Rows = b.Rows
	return c
}
