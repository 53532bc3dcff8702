package datafile

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// libraryValues reads a column of a row group with parquet-go and no code of this package.
func libraryValues(t *testing.T, chunk parquet.ColumnChunk, typ schema.Type) []row.Value {
	t.Helper()
	var out []row.Value
	pages := chunk.Pages()
	defer func() { require.NoError(t, pages.Close()) }()
	buf := make([]parquet.Value, 100)
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		values := page.Values()
		for {
			n, err := values.ReadValues(buf)
			for _, v := range buf[:n] {
				out = append(out, libraryValue(t, v, typ))
			}
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
		parquet.Release(page)
	}
}

func libraryValue(t *testing.T, v parquet.Value, typ schema.Type) row.Value {
	t.Helper()
	switch {
	case v.IsNull():
		return row.NullValue()
	case v.Kind() == parquet.Boolean:
		if v.Boolean() {
			return row.Value{I64: 1}
		}
		return row.Value{}
	case v.Kind() == parquet.Int32:
		return row.Value{I64: int64(v.Int32())}
	case v.Kind() == parquet.Int64:
		return row.Value{I64: v.Int64()}
	case v.Kind() == parquet.Float:
		return row.Value{F64: float64(v.Float())}
	case v.Kind() == parquet.Double:
		return row.Value{F64: v.Double()}
	case v.Kind() == parquet.Int96:
		x := v.Int96()
		nanos := int64(x[0]) | int64(x[1])<<32
		require.Less(t, nanos, int64(86400e9))
		require.GreaterOrEqual(t, nanos, int64(0))
		return row.Value{I64: (int64(x[2])-2440588)*86400000 + nanos/1e6, Nanos: int32(nanos % 1e6)}
	}
	return row.Value{B: append([]byte{}, v.ByteArray()...)}
}

// write makes a file of columns, in batches of up to n rows, half of them by row numbers.
func write(t testing.TB, fields []schema.Field, columns [][]row.Value, opts Options, n int) ([]byte, Result) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, fields, opts)
	require.NoError(t, err)
	b := row.NewBatch(row.Types(fields))
	rows := len(columns[0])
	for from := 0; from < rows; from += n {
		to := min(rows, from+n)
		if from/n%2 == 0 {
			fill(b, columns, from, to)
			require.NoError(t, w.Write(b))
			continue
		}
		// The same rows, picked out of a batch that has others around them.
		before := min(from, 3)
		fill(b, columns, from-before, to)
		var picked []int32
		for i := before; i < b.Rows; i++ {
			picked = append(picked, int32(i))
		}
		require.NoError(t, w.WriteRows(b, picked))
	}
	require.EqualValues(t, rows, w.Rows())
	res, err := w.Close()
	require.NoError(t, err)
	require.EqualValues(t, out.Len(), res.Size)
	require.EqualValues(t, rows, res.Rows)
	return out.Bytes(), res
}

func requireValues(t *testing.T, typ schema.Type, want, got []row.Value) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if want[i].Null || got[i].Null {
			require.Equal(t, want[i].Null, got[i].Null, "row %d", i)
			continue
		}
		same := row.Compare(typ, want[i], got[i]) == 0
		require.True(t, same, "row %d: want %s, got %s", i, row.Text(typ, want[i]), row.Text(typ, got[i]))
	}
}

func TestWriter_EveryTypeReadByLibrary(t *testing.T) {
	fields := allTypes()
	for seed := range uint64(9) {
		r := rand.New(rand.NewPCG(seed, 1))
		rows := []int{1, 7, 100, 2000, 4000}[r.IntN(5)]
		columns := make([][]row.Value, len(fields))
		for i, f := range fields {
			columns[i] = randomColumn(r, f.Type, rows)
		}
		codec, err := NewCodec([]string{"zstd", "snappy", "none", "gzip"}[seed%4], 1)
		require.NoError(t, err)
		opts := Options{Codec: codec, PageRows: []int{0, 1000, 77}[r.IntN(3)], PageBytes: []int{0, 4000}[r.IntN(2)], RowGroupBytes: []int{0, 300_000}[r.IntN(2)]}
		data, res := write(t, fields, columns, opts, []int{8, 500, 4096}[r.IntN(3)])

		file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		got := make([][]row.Value, len(fields))
		for _, group := range file.RowGroups() {
			for i, chunk := range group.ColumnChunks() {
				values := libraryValues(t, chunk, fields[i].Type)
				require.Len(t, values, int(group.NumRows()))
				got[i] = append(got[i], values...)
			}
		}
		for i, f := range fields {
			requireValues(t, f.Type, columns[i], got[i])
			requireStats(t, f, columns[i], res.Columns[i])
		}
		requireReader(t, data, fields, columns)
		requireFooterStats(t, file.Metadata(), fields, columns)
	}
}

// requireReader reads the file with this package's reader.
func requireReader(t *testing.T, data []byte, fields []schema.Field, columns [][]row.Value) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f.parquet"), data, 0o600))
	got := readAll(t, localStore(t, dir), "f.parquet", int64(len(data)), fields, 700)
	for i, f := range fields {
		requireValues(t, f.Type, columns[i], got[i])
	}
}

// requireStats recomputes a column's statistics value by value.
func requireStats(t *testing.T, f schema.Field, values []row.Value, got ColumnStats) {
	t.Helper()
	low, high, nulls, ok := trueBounds(f.Type, values)
	require.Equal(t, nulls, got.Nulls, f.Name)
	if !ok {
		require.True(t, got.Min.Null && got.Max.Null, f.Name)
		return
	}
	require.False(t, got.Min.Null || got.Max.Null, f.Name)
	require.Zero(t, compareBounds(f.Type, low, got.Min), "%s: min %s, got %s", f.Name, row.Text(f.Type, low), row.Text(f.Type, got.Min))
	require.Zero(t, compareBounds(f.Type, high, got.Max), "%s: max %s, got %s", f.Name, row.Text(f.Type, high), row.Text(f.Type, got.Max))
}

// compareBounds compares with the two zeros being one.
func compareBounds(t schema.Type, a, b row.Value) int {
	if a.F64 == 0 && b.F64 == 0 {
		a.F64, b.F64 = 0, 0
	}
	return row.Compare(t, a, b)
}

func trueBounds(typ schema.Type, values []row.Value) (low, high row.Value, nulls int64, ok bool) {
	low, high = row.NullValue(), row.NullValue()
	nan := false
	for _, v := range values {
		if v.Null {
			nulls++
			continue
		}
		nan = nan || math.IsNaN(v.F64)
		if low.Null || row.Compare(typ, v, low) < 0 {
			low = v
		}
		if high.Null || row.Compare(typ, v, high) > 0 {
			high = v
		}
	}
	bytesKind := typ.Kind == schema.Binary || typ.Kind == schema.VarBinary
	nanos := row.LayoutOf(typ) == row.LayoutNanos
	return low, high, nulls, !low.Null && !bytesKind && !nanos && !nan
}

func requireFooterStats(t *testing.T, meta *format.FileMetaData, fields []schema.Field, columns [][]row.Value) {
	t.Helper()
	from := 0
	for _, group := range meta.RowGroups {
		to := from + int(group.NumRows)
		for i, f := range fields {
			stats := group.Columns[i].MetaData.Statistics
			low, high, nulls, ok := trueBounds(f.Type, columns[i][from:to])
			require.Equal(t, nulls, stats.NullCount)
			if !ok {
				require.Nil(t, stats.MinValue)
				require.Nil(t, stats.MaxValue)
				continue
			}
			p := group.Columns[i].MetaData.Type
			require.Zero(t, compareBounds(f.Type, low, footerValue(t, p, stats.MinValue, f.Type)), f.Name)
			require.Zero(t, compareBounds(f.Type, high, footerValue(t, p, stats.MaxValue, f.Type)), f.Name)
		}
		from = to
	}
}

func footerValue(t *testing.T, p format.Type, b []byte, typ schema.Type) row.Value {
	t.Helper()
	require.NotNil(t, b)
	return libraryValue(t, parquet.Kind(p).Value(b), typ)
}
