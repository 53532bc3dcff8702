package shuffle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/shuffle"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// shuffled is a key table, sorted files, and what shufflers left there.
type shuffled struct {
	table *lake.Table
	store fileio.Store
	left  [][]byte
}

func newTable(tb testing.TB, spec schema.Spec) *shuffled {
	tb.Helper()
	s, err := schema.New(spec)
	require.NoError(tb, err)
	store := fileiotest.NewMemory()
	require.NoError(tb, snapshot.Schemas{Store: store, Table: "ods.db/orders"}.Create(tb.Context(), s))
	return &shuffled{table: lake.NewTable(store, "ods.db/orders", s), store: store}
}

// shuffler starts a shuffler whose numbers begin with first.
func (s *shuffled) shuffler(tb testing.TB, memory int, first int64) *lake.Shuffler {
	tb.Helper()
	unit := len(s.left)
	w, err := s.table.NewShuffler(lake.ShufflerOptions{
		Store: s.store, Folder: "runs", Name: func(n int) string { return fmt.Sprintf("%d-%d", unit, n) }, Memory: memory,
	})
	require.NoError(tb, err)
	w.NumberFrom(first)
	return w
}

func (s *shuffled) close(tb testing.TB, w *lake.Shuffler) {
	tb.Helper()
	where, err := w.Close(tb.Context())
	require.NoError(tb, err)
	data, err := json.Marshal(where)
	require.NoError(tb, err)
	s.left = append(s.left, data)
}

func (s *shuffled) each(_ context.Context, do func(*lake.Shuffled) error) error {
	for _, i := range rand.Perm(len(s.left)) {
		var where lake.Shuffled
		if err := json.Unmarshal(s.left[i], &where); err != nil {
			return err
		}
		if err := do(&where); err != nil {
			return err
		}
	}
	return nil
}

// merge divides and merges all that shufflers left.
func (s *shuffled) merge(tb testing.TB, l shuffle.Limits, memory int) (messages []*message.Commit, merges int, met *shuffle.Collisions) {
	tb.Helper()
	d, err := shuffle.Divide(tb.Context(), s.each, l)
	require.NoError(tb, err)
	met = shuffle.NewCollisions(s.table.Schema(), 0)
	in, out := int64(0), int64(0)
	require.NoError(tb, d.Contents(tb.Context(), s.each, func(ctx context.Context, n int, c shuffle.Content) error {
		data, err := json.Marshal(c)
		require.NoError(tb, err)
		var content shuffle.Content
		require.NoError(tb, json.Unmarshal(data, &content))
		m, err := s.table.NewBucketMerger(lake.BucketMergerOptions{
			Files:     lake.WriterOptions{Prefix: fmt.Sprintf("data-%d-", n), Memory: memory, Spill: s.store, SpillFolder: "runs"},
			SpillName: func(k int) string { return fmt.Sprintf("pass-%d-%d", n, k) }, Sorted: s.store, OnDuplicate: met.Met,
		})
		require.NoError(tb, err)
		for _, b := range content.Buckets {
			merged, err := m.Merge(ctx, b)
			if err != nil {
				return err
			}
			in, out = in+merged.In, out+merged.Out
			if merged.Message != nil {
				messages = append(messages, merged.Message)
			}
		}
		return nil
	}))
	require.Equal(tb, d.Rows, in)
	require.Equal(tb, in, out+met.Count)
	return messages, d.Merges(), met
}

// Whatever the rows, the memory and the limits, the table has the last row of each key.
func TestShuffledRowsAreTheTable(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 11))
		spec := schema.Spec{
			Fields: []schema.Field{
				{Name: "region", Type: schema.StringType().WithNotNull(true)},
				{Name: "n", Type: schema.Of(schema.BigInt).WithNotNull(true)},
				{Name: "v", Type: schema.Of(schema.BigInt)},
			},
			PrimaryKeys: []string{"region", "n"}, Options: map[string]string{"bucket": fmt.Sprint(1 + r.IntN(5))},
		}
		if r.IntN(2) == 0 {
			spec.PartitionKeys = []string{"region"}
		}
		s := newTable(t, spec)
		last, rows := map[string]int64{}, 0
		for unit := range 1 + r.IntN(12) {
			w := s.shuffler(t, 1<<(10+r.IntN(8)), int64(unit)<<40)
			for range r.IntN(6) {
				b := row.NewBatch(row.Types(s.table.Schema().Fields))
				for range r.IntN(300) {
					region, n := fmt.Sprint("r", r.IntN(3)), r.Int64N(700)
					b.Columns[0].AppendBytes([]byte(region))
					b.Columns[1].I64 = append(b.Columns[1].I64, n)
					b.Columns[2].I64 = append(b.Columns[2].I64, int64(rows))
					last[fmt.Sprint(region, " ", n)] = int64(rows)
					b.Rows++
					rows++
				}
				require.NoError(t, w.Write(t.Context(), b))
			}
			s.close(t, w)
		}
		limits := shuffle.Limits{Most: 1 << r.IntN(18), AtOnce: 1 + r.IntN(4)}
		messages, _, met := s.merge(t, limits, 1<<(12+r.IntN(8)))
		require.EqualValues(t, rows-len(last), met.Count)
		_, err := s.table.Committer().Publish(t.Context(), commit.Request{
			User: "job", Identifier: 1, Kind: snapshot.Overwrite, Messages: messages, Planned: s.table.Schema(),
		})
		require.NoError(t, err)
		got := map[string]int64{}
		require.NoError(t, s.table.Scan(t.Context(), lake.ScanOptions{}, func(b *row.Batch) error {
			for i := range b.Rows {
				key := fmt.Sprint(string(b.Columns[0].Bytes(i)), " ", b.Columns[1].I64[i])
				require.NotContains(t, got, key)
				got[key] = b.Columns[2].I64[i]
			}
			return nil
		}))
		require.Equal(t, last, got, "seed %d", seed)
	}
}

// One bucket has nearly all rows: it is cut into ranges of about the size of the other merges. Small buckets share a merge.
func TestLargeBucketsAreCut(t *testing.T) {
	s := newTable(t, schema.Spec{
		Fields:      []schema.Field{{Name: "tenant", Type: schema.Of(schema.Int).WithNotNull(true)}, {Name: "id", Type: schema.Of(schema.BigInt).WithNotNull(true)}},
		PrimaryKeys: []string{"tenant", "id"}, Options: map[string]string{"bucket": "32", "bucket-key": "tenant"},
	})
	const rows = 400_000
	r := rand.New(rand.NewPCG(1, 2))
	for unit := range 4 {
		w := s.shuffler(t, 0, int64(unit)<<40)
		b := row.NewBatch(row.Types(s.table.Schema().Fields))
		for i := range rows / 4 {
			tenant := int32(7)
			if i%5 == 0 {
				tenant = r.Int32()
			}
			b.Columns[0].I32 = append(b.Columns[0].I32, tenant)
			b.Columns[1].I64 = append(b.Columns[1].I64, r.Int64())
			b.Rows++
		}
		require.NoError(t, w.Write(t.Context(), b))
		s.close(t, w)
	}
	d, err := shuffle.Divide(t.Context(), s.each, shuffle.Limits{Most: 512 << 10})
	require.NoError(t, err)
	ranges, shared := 0, 0
	require.NoError(t, d.Contents(t.Context(), s.each, func(_ context.Context, _ int, c shuffle.Content) error {
		if len(c.Buckets) > 1 {
			shared++
		}
		if k := c.Buckets[0].Keys; k.From != nil || k.To != nil {
			ranges++
			require.Len(t, c.Buckets, 1)
		}
		return nil
	}))
	require.Greater(t, ranges, 2)
	require.Positive(t, shared)
	messages, _, _ := s.merge(t, shuffle.Limits{Most: 512 << 10}, 0)
	_, err = s.table.Committer().Publish(t.Context(), commit.Request{
		User: "job", Identifier: 1, Kind: snapshot.Overwrite, Messages: messages, Planned: s.table.Schema(),
	})
	require.NoError(t, err, "a commit refuses files of one level that overlap")
	files := map[int32]int{}
	for _, m := range messages {
		files[m.Bucket] += len(m.Data.NewFiles)
	}
	most := slices.Max(slices.Collect(func(yield func(int) bool) {
		for _, n := range files {
			if !yield(n) {
				return
			}
		}
	}))
	require.Equal(t, ranges, most)
}

// BenchmarkLoad shuffles and merges narrow rows into 16 buckets, and writes them as an append table does.
func BenchmarkLoad(b *testing.B) {
	fields := []schema.Field{
		{Name: "id", Type: schema.Of(schema.BigInt).WithNotNull(true)},
		{Name: "customer", Type: schema.Of(schema.Int).WithNotNull(true)},
		{Name: "amount", Type: schema.DecimalType(12, 2)},
		{Name: "status", Type: schema.StringType()},
		{Name: "created", Type: schema.Type{Kind: schema.Timestamp, Precision: 0}},
	}
	const batches, units = 60, 4
	types := row.Types(fields)
	made := make([]*row.Batch, batches*units)
	r := rand.New(rand.NewPCG(1, 2))
	id := int64(0)
	for i := range made {
		batch := row.NewBatch(types)
		for range 4096 {
			id++
			batch.Columns[0].I64 = append(batch.Columns[0].I64, id)
			batch.Columns[1].I32 = append(batch.Columns[1].I32, r.Int32N(100_000))
			batch.Columns[2].I64 = append(batch.Columns[2].I64, r.Int64N(1_000_000))
			batch.Columns[3].AppendBytes([]byte([]string{"new", "paid", "shipped"}[r.IntN(3)]))
			batch.Columns[4].I64 = append(batch.Columns[4].I64, 1_700_000_000_000+id*1000)
			batch.Rows++
		}
		made[i] = batch
	}
	rows := float64(len(made) * 4096)
	b.Run("append", func(b *testing.B) {
		s := newTable(b, schema.Spec{Fields: fields})
		for b.Loop() {
			w, err := s.table.NewWriter(lake.WriterOptions{Prefix: "data-x-"})
			require.NoError(b, err)
			for _, batch := range made {
				require.NoError(b, w.Write(b.Context(), batch))
			}
			_, err = w.Close(b.Context())
			require.NoError(b, err)
			require.NoError(b, w.Abort(b.Context()))
		}
		b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	key := schema.Spec{Fields: fields, PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "16"}}
	b.Run("shuffle", func(b *testing.B) {
		for b.Loop() {
			s := newTable(b, key)
			s.fill(b, made, units)
		}
		b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("merge", func(b *testing.B) {
		s := newTable(b, key)
		s.fill(b, made, units)
		for b.Loop() {
			s.merge(b, shuffle.Limits{AtOnce: 4}, 0)
		}
		b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

func (s *shuffled) fill(b *testing.B, made []*row.Batch, units int) {
	b.Helper()
	for u := range units {
		w := s.shuffler(b, 0, int64(u)<<40)
		for _, batch := range made[u*len(made)/units : (u+1)*len(made)/units] {
			require.NoError(b, w.Write(b.Context(), batch))
		}
		s.close(b, w)
	}
}
