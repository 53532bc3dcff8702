package dryrun

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// shop is a source of shards whose ids begin at 0, and whose every thousandth value is refused.
type shop struct {
	mu    sync.Mutex
	reads []source.Read
	// fail ends each read, unless nil.
	fail func(ctx context.Context) error
}

func (s *shop) read(ctx context.Context, r source.Read, emit func(*row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	s.mu.Lock()
	s.reads = append(s.reads, r)
	s.mu.Unlock()
	if s.fail != nil {
		return source.ReadStats{}, s.fail(ctx)
	}
	types := make([]schema.Type, len(r.Outputs))
	for i, o := range r.Outputs {
		types[i] = o.Type
	}
	var stats source.ReadStats
	b := row.NewBatch(types)
	for id := range int64(r.Sample.Rows) {
		if id%1000 == 999 {
			r.Sample.Found(source.Finding{Output: 1, Column: "v", Row: b.Rows, Value: fmt.Sprint(-id), Refused: true, Problem: "is odd"})
		}
		if id == 5 {
			r.Sample.Found(source.Finding{Output: 2, Column: "id", Row: b.Rows, Refused: true, Problem: "the key once more"})
		}
		b.Columns[0].I64 = append(b.Columns[0].I64, id)
		b.Columns[1].I64 = append(b.Columns[1].I64, id)
		if len(r.Outputs) > 2 { // the key beside the target's columns
			b.Columns[2].I64 = append(b.Columns[2].I64, 100+id)
		}
		b.Rows++
		stats.Rows++
		stats.Bytes += 20
		if b.Rows == 300 {
			var err error
			if b, err = emit(b); err != nil {
				return stats, err
			}
			b.Reset()
		}
	}
	r.Sample.Largest = 20
	if b.Rows > 0 {
		if _, err := emit(b); err != nil {
			return stats, err
		}
	}
	return stats, nil
}

// plain copies batches one after the other.
func plain(ctx context.Context, out *lake.Writer, read Read, r source.Read) (source.ReadStats, error) {
	return read(ctx, r, func(b *row.Batch) (*row.Batch, error) {
		if len(b.Columns) != 2 {
			return nil, fmt.Errorf("%d columns", len(b.Columns))
		}
		err := out.Write(ctx, b)
		b.Reset()
		return b, err
	})
}

func planOf(t *testing.T, shards int) Plan {
	t.Helper()
	big := schema.Of(schema.BigInt)
	fields := []schema.Field{{ID: 0, Name: "id", Type: big}, {ID: 1, Name: "v", Type: big}}
	s, err := schema.New(schema.Spec{Fields: fields, PartitionKeys: []string{"v"}, Options: map[string]string{"bucket": "4", "bucket-key": "id"}})
	require.NoError(t, err)
	p := Plan{Schema: s, Path: "ods.db/t", RowGroupBytes: 1 << 20}
	columns := []source.Column{{Name: "id", Type: big}, {Name: "v", Type: big}}
	for i := range shards {
		p.Shards = append(p.Shards, Shard{
			Table: source.Table{
				Shard: source.Shard{Instance: fmt.Sprint(i % 2), Database: "d", Table: fmt.Sprint(i)}, Columns: columns, PrimaryKey: []string{"ID"}, Bytes: int64(i % 7),
			},
			Splits:  []source.Split{{Rows: 600}, {Rows: 400}},
			Outputs: []source.Output{{Column: columns[0], Type: big}, {Column: columns[1], Type: big}},
		})
	}
	return p
}

// The largest shard gives the rate, the others are spread, and rows stay within what was asked for.
func TestRunReadsWhatWasAskedFor(t *testing.T) {
	s := &shop{}
	r, err := Run(t.Context(), Input{Rows: 100, Shards: 10}, planOf(t, 50), s.read, plain)
	require.NoError(t, err)
	require.Equal(t, 10, r.Shards)
	require.EqualValues(t, 100*20+9*100, r.Rows)
	require.EqualValues(t, 2000, r.RateRows)
	require.Positive(t, r.RowsPerSecond)
	require.EqualValues(t, 20, r.LargestRow)
	require.Equal(t, 1, s.reads[0].Sample.Rows, "a row to log in")
	require.Equal(t, "6", s.reads[1].Shard.Table, "the first of the largest")
	require.Equal(t, 2000, s.reads[1].Sample.Rows)
	shards := map[string]int{}
	for _, read := range s.reads[2:] {
		shards[read.Shard.Table] += read.Sample.Rows
	}
	require.Equal(t, map[string]int{"0": 100, "5": 100, "10": 100, "15": 100, "20": 100, "25": 100, "30": 100, "35": 100, "40": 100}, shards)

	require.Len(t, r.Findings, 1, "what is wrong with a column of the key beside is told once, by itself")
	f := r.Findings[0]
	require.EqualValues(t, 2, f.Count)
	require.Equal(t, Finding{
		Column: "v", Refused: true, Problem: "is odd", Count: 2, Shards: 1, Example: "0/d/6", Key: "id = 1099", Value: "-999", place: 6,
	}, f)
	require.Equal(t, "column v: is odd: 2 of the sampled values in 1 shards, such as -999 of 0/d/6, id = 1099", f.String())

	e := r.Estimate(Limits{Ways: 4})
	require.InEpsilon(t, 50*1000*float64(r.encoded)/float64(r.Rows), e.LakeBytes, 0.001)
	require.InEpsilon(t, 50_000/(4*r.RowsPerSecond), e.Seconds, 0.001)
	e = r.Estimate(Limits{Ways: 4, RowsPerSecond: 10})
	require.InEpsilon(t, 50_000/20, e.Seconds, 0.001, "ten a second of each of two instances")
	e = r.Estimate(Limits{Ways: 4, RowsPerSecond: 10, BytesPerSecond: 20})
	require.InEpsilon(t, 50_000/2, e.Seconds, 0.001, "a row of twenty bytes a second of each")
}

// What is not to be read is not, and time that is over is told, while errors and a caller who gives up end it.
func TestRunIsBounded(t *testing.T) {
	s := &shop{}
	for _, in := range []Input{{}, {Shards: 5}} {
		r, err := Run(t.Context(), in, planOf(t, 2), s.read, plain)
		require.NoError(t, err)
		require.Nil(t, r)
		require.Nil(t, r.Estimate(Limits{Ways: 1}))
	}
	r, err := Run(t.Context(), Input{Rows: 5}, Plan{}, s.read, plain)
	require.NoError(t, err)
	require.Nil(t, r)
	require.Empty(t, s.reads)

	s.fail = func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	r, err = Run(t.Context(), Input{Rows: 5, Within: time.Millisecond}, planOf(t, 2), s.read, plain)
	require.NoError(t, err)
	require.True(t, r.Cut)
	require.Nil(t, r.Estimate(Limits{Ways: 1}), "no row, no estimate")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Run(ctx, Input{Rows: 5}, planOf(t, 2), s.read, plain)
	require.ErrorIs(t, err, context.Canceled)
	broken := errors.New("broken")
	s.fail = func(context.Context) error { return broken }
	_, err = Run(t.Context(), Input{Rows: 5}, planOf(t, 2), s.read, plain)
	require.ErrorIs(t, err, broken)
}

func TestSpreadAndMemory(t *testing.T) {
	require.Equal(t, SplitRows{}, Spread(nil))
	require.Equal(t, SplitRows{Min: 1, Median: 5, Max: 9}, Spread([]source.Split{{Rows: 9}, {Rows: 1}, {Rows: 5}}))
	m := MemoryOf(4, 16<<20, 3, 1<<30, nil)
	require.EqualValues(t, 4*(16+3)<<20, m.Need)
	require.EqualValues(t, 1<<30, m.Has)
	m = MemoryOf(2, 16<<20, 3, 1<<30, &Result{LargestRow: 64 << 20})
	require.EqualValues(t, 2*(16+3*64)<<20, m.Need)
	require.Contains(t, m.How, "3 batches of 64.0 MiB, as the largest row of the sample is")
}
