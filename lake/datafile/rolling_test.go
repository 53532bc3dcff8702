package datafile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

func rollingOptions(store fileio.Store) RollingOptions {
	return RollingOptions{
		Store:      store,
		Folder:     "t/bucket-0",
		Name:       func(n int) string { return fmt.Sprintf("data-x-%d.parquet", n) },
		SchemaID:   3,
		Fields:     fieldsOf(true, schema.Of(schema.BigInt), schema.StringType()),
		TargetSize: 100_000,
	}
}

// numbers appends rows to a batch that compress badly.
func numbers(b *row.Batch, from, to int) *row.Batch {
	b.Reset()
	for i := from; i < to; i++ {
		b.Columns[0].Append(row.Value{I64: int64(i)})
		b.Columns[1].AppendBytes(fmt.Appendf(nil, "%x", uint64(i)*0x9E3779B97F4A7C15))
	}
	b.Rows = to - from
	return b
}

func stored(t *testing.T, store fileio.Store) map[string]int64 {
	t.Helper()
	files := make(map[string]int64)
	require.NoError(t, store.List(t.Context(), "", func(i fileio.Info) error {
		files[i.Path] = i.Size
		return nil
	}))
	return files
}

func TestRollingWriter_DescribesWhatIsStored(t *testing.T) {
	store := localStore(t, t.TempDir())
	opts := rollingOptions(store)
	asked := 0
	opts.BeforeFile = func(context.Context) error { asked++; return nil }
	opts.Sequence = 1000
	// Half past midnight in a place five and a half hours ahead.
	at := time.Date(2024, 2, 29, 0, 30, 0, 0, time.FixedZone("", 5*3600+1800))
	opts.Now = func() time.Time { return at }
	w, err := NewRollingWriter(opts)
	require.NoError(t, err)
	const rows = 60_000
	b := row.NewBatch(row.Types(opts.Fields))
	for i := 0; i < rows; i += 1000 {
		if i%2000 == 0 {
			require.NoError(t, w.Write(t.Context(), numbers(b, i, i+1000)))
			continue
		}
		picked := make([]int32, 1000)
		for k := range picked {
			picked[k] = int32(k + 5)
		}
		require.NoError(t, w.WriteRows(t.Context(), numbers(b, i-5, i+1000), picked))
	}
	require.EqualValues(t, rows, w.Rows())
	require.Positive(t, w.Buffered())
	require.Positive(t, w.Size())
	files, err := w.Close()
	require.NoError(t, err)
	require.Greater(t, len(files), 2)
	require.Len(t, files, asked)
	require.Len(t, stored(t, store), len(files))

	next := int64(0)
	for i, f := range files {
		path := "t/bucket-0/" + f.Name
		require.Equal(t, fmt.Sprintf("data-x-%d.parquet", i), f.Name)
		require.Equal(t, stored(t, store)[path], f.Size)
		require.Equal(t, 1000+next, f.MinSequence)
		require.Equal(t, 1000+next+f.Rows-1, f.MaxSequence)
		require.EqualValues(t, 3, f.SchemaID)
		require.Equal(t, make([]byte, 12), f.MinKey)
		require.Equal(t, make([]byte, 12), f.MaxKey)
		require.Equal(t, manifest.EmptyStats(), f.KeyStats)
		require.Equal(t, manifest.SourceAppend, *f.Source)
		require.Zero(t, *f.DeleteRows)
		require.Equal(t, time.Date(2024, 2, 29, 0, 30, 0, 0, time.UTC).UnixMilli(), *f.CreationMillis)
		require.NotNil(t, f.ExtraFiles)
		require.Nil(t, f.ValueStatsColumns)
		low, err := row.Deserialize(row.Types(opts.Fields), f.ValueStats.Min)
		require.NoError(t, err)
		require.Equal(t, next, low[0].I64)
		values := readAll(t, store, path, f.Size, opts.Fields, 0)
		require.Len(t, values[0], int(f.Rows))
		for k, v := range values[0] {
			require.Equal(t, next+int64(k), v.I64)
		}
		next += f.Rows
		// A file ends at the batch that reaches the target.
		if i < len(files)-1 {
			require.GreaterOrEqual(t, f.Size, opts.TargetSize)
			require.Less(t, f.Size, 2*opts.TargetSize)
		}
	}
	require.EqualValues(t, rows, next)

	require.Error(t, w.Write(t.Context(), numbers(b, 0, 1)), "closed")
	require.NoError(t, w.Abort(t.Context()))
	require.Empty(t, stored(t, store))
}

func TestRollingWriter_NoRowsNoFile(t *testing.T) {
	store := localStore(t, t.TempDir())
	w, err := NewRollingWriter(rollingOptions(store))
	require.NoError(t, err)
	b := row.NewBatch(row.Types(rollingOptions(store).Fields))
	require.NoError(t, w.Write(t.Context(), b))
	require.NoError(t, w.WriteRows(t.Context(), numbers(b, 0, 10), nil))
	require.NoError(t, w.WriteRows(t.Context(), b, []int32{}))
	files, err := w.Close()
	require.NoError(t, err)
	require.Empty(t, files)
	require.Empty(t, stored(t, store))
}

func TestRollingWriter_AbortRemovesOpenAndFinishedFiles(t *testing.T) {
	store := localStore(t, t.TempDir())
	w, err := NewRollingWriter(rollingOptions(store))
	require.NoError(t, err)
	b := row.NewBatch(row.Types(rollingOptions(store).Fields))
	for i := range 25 {
		require.NoError(t, w.Write(t.Context(), numbers(b, i*1000, i*1000+1000)))
	}
	require.NotEmpty(t, stored(t, store))
	require.NoError(t, w.Abort(t.Context()))
	require.Empty(t, stored(t, store))
	require.Error(t, w.Write(t.Context(), b))
	_, err = w.Close()
	require.Error(t, err)
}

func TestRollingWriter_AsksBeforeEachFile(t *testing.T) {
	store := localStore(t, t.TempDir())
	opts := rollingOptions(store)
	stop := errors.New("the run was aborted")
	allowed := 1
	opts.BeforeFile = func(context.Context) error {
		if allowed--; allowed < 0 {
			return stop
		}
		return nil
	}
	w, err := NewRollingWriter(opts)
	require.NoError(t, err)
	b := row.NewBatch(row.Types(opts.Fields))
	for i := 0; err == nil; i++ {
		require.Less(t, i, 1000)
		err = w.Write(t.Context(), numbers(b, i*1000, i*1000+1000))
	}
	require.ErrorIs(t, err, stop)
	require.ErrorIs(t, w.Write(t.Context(), b), stop, "the error stays")
	require.Len(t, stored(t, store), 1)
	_, err = w.Close()
	require.ErrorIs(t, err, stop)
	require.NoError(t, w.Abort(t.Context()))
	require.Empty(t, stored(t, store))
}

// failing is a file that takes some bytes and then no more.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriter_ErrorsStay(t *testing.T) {
	fields := fieldsOf(true, schema.Of(schema.BigInt), schema.StringType())
	w, err := NewWriter(&failing{left: 5000}, fields, Options{RowGroupBytes: 1000, PageRows: 50})
	require.NoError(t, err)
	b := row.NewBatch(row.Types(fields))
	for i := 0; err == nil; i++ {
		require.Less(t, i, 1000)
		err = w.Write(numbers(b, i*100, i*100+100))
	}
	require.ErrorContains(t, err, "disk full")
	require.Equal(t, err, w.Write(b))
	_, closed := w.Close()
	require.Equal(t, err, closed)

	// Begun anew it works again.
	var out bytes.Buffer
	w.Reset(&out)
	require.NoError(t, w.Write(numbers(b, 0, 100)))
	res, err := w.Close()
	require.NoError(t, err)
	file, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), res.Size)
	require.NoError(t, err)
	require.EqualValues(t, 100, file.NumRows())
	require.EqualValues(t, 0, res.Columns[0].Min.I64)
	require.EqualValues(t, 99, res.Columns[0].Max.I64)
}
