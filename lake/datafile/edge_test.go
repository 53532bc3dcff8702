package datafile

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// writeColumn writes one column and returns the file, checked with parquet-go, and its footer.
func writeColumn(t *testing.T, typ schema.Type, values []row.Value, opts Options) (format.ColumnMetaData, []byte) {
	t.Helper()
	fields := fieldsOf(typ.NotNull, typ)
	data, _ := write(t, fields, [][]row.Value{values}, opts, 3000)
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var got []row.Value
	for _, g := range file.RowGroups() {
		got = append(got, libraryValues(t, g.ColumnChunks()[0], typ)...)
	}
	requireValues(t, typ, values, got)
	requireReader(t, data, fields, [][]row.Value{values})
	return file.Metadata().RowGroups[0].Columns[0].MetaData, data
}

func pagesOf(meta format.ColumnMetaData, p format.PageType, e format.Encoding) int {
	for _, s := range meta.EncodingStats {
		if s.PageType == p && s.Encoding == e {
			return int(s.Count)
		}
	}
	return 0
}

func ints(n int, f func(int) int64) []row.Value {
	vs := make([]row.Value, n)
	for i := range vs {
		vs[i] = row.Value{I64: f(i)}
	}
	return vs
}

func TestWriter_DictionaryOnlyWhereItPays(t *testing.T) {
	opts := Options{PageRows: 2000}
	mix := func(i int) int64 { return int64(uint64(i) * 0x9E3779B97F4A7C15 >> 1) }
	few := func(i int) int64 { return mix(i % 100) }
	for _, typ := range []schema.Type{schema.Of(schema.BigInt), schema.DecimalType(30, 0), schema.StringType(), schema.Of(schema.Double)} {
		value := func(x int64) row.Value {
			return row.Value{I64: x, F64: float64(x), B: fmt.Appendf(nil, "%013d", x)[:13]}
		}
		all := func(n int, f func(int) int64) (vs []row.Value) {
			for i := range n {
				vs = append(vs, value(f(i)))
			}
			return vs
		}
		if typ.Kind == schema.Decimal {
			value = func(x int64) row.Value { return decimalOf(30, x) }
		}
		// Few values, all values different, and few at first and then too many.
		meta, _ := writeColumn(t, typ, all(10_000, few), opts)
		require.Equal(t, 1, pagesOf(meta, format.DictionaryPage, plainDictionary))
		require.Equal(t, 5, pagesOf(meta, format.DataPage, plainDictionary))
		require.Zero(t, pagesOf(meta, format.DataPage, format.Plain))
		require.Positive(t, meta.DictionaryPageOffset)

		meta, _ = writeColumn(t, typ, all(10_000, mix), opts)
		require.Zero(t, pagesOf(meta, format.DictionaryPage, plainDictionary))
		require.Equal(t, 5, pagesOf(meta, format.DataPage, format.Plain))
		require.Zero(t, meta.DictionaryPageOffset)

		meta, _ = writeColumn(t, typ, append(all(10_000, few), all(40_000, mix)...), opts)
		require.Positive(t, pagesOf(meta, format.DataPage, plainDictionary))
		require.Positive(t, pagesOf(meta, format.DataPage, format.Plain))
	}
}

func TestWriter_DictionaryAfterPagesOfNulls(t *testing.T) {
	nulls := make([]row.Value, 3000)
	for i := range nulls {
		nulls[i] = row.NullValue()
	}
	few := ints(3000, func(i int) int64 { return int64(i % 7) })
	values := append(append(append([]row.Value{}, nulls...), few...), nulls...)
	meta, _ := writeColumn(t, schema.Of(schema.Int), values, Options{PageRows: 1000})
	require.Equal(t, 3, pagesOf(meta, format.DataPage, plainDictionary))
	require.EqualValues(t, 6000, meta.Statistics.NullCount)

	meta, _ = writeColumn(t, schema.Of(schema.Int), nulls, Options{PageRows: 1000})
	require.EqualValues(t, 3000, meta.Statistics.NullCount)
	require.Nil(t, meta.Statistics.MinValue)
}

func TestWriter_LongValues(t *testing.T) {
	long := func(n int, c byte) row.Value { return row.Value{B: bytes.Repeat([]byte{c}, n)} }
	values := []row.Value{long(10, 'a'), long(3<<20, 'b'), long(0, 0), long(2<<20, 'c'), long(1<<20, 'b'), row.NullValue(), long(1, 'x')}
	for _, typ := range []schema.Type{schema.StringType(), schema.BytesType()} {
		_, data := writeColumn(t, typ, values, Options{PageBytes: 1 << 20})
		// No bound of a megabyte in the footer.
		require.Less(t, len(data), 10_000)
	}
	w, err := NewWriter(io.Discard, fieldsOf(false, schema.StringType()), Options{RowGroupBytes: 1 << 20})
	require.NoError(t, err)
	b := row.NewBatch([]schema.Type{schema.StringType()})
	fill(b, [][]row.Value{{long(64<<20, 'z')}}, 0, 1)
	require.NoError(t, w.Write(b))
	require.Less(t, w.Buffered(), 8<<20, "the room that one value made is given back")
}

func TestWriter_ZerosBelowAndAbove(t *testing.T) {
	zeros := []row.Value{{F64: 0}, {F64: math.Copysign(0, -1)}, {F64: 0}}
	for _, order := range [][]row.Value{zeros, zeros[:1], zeros[1:2], zeros[1:]} {
		meta, _ := writeColumn(t, schema.Of(schema.Double), order, Options{})
		require.Equal(t, math.Float64bits(math.Copysign(0, -1)), parquet.Double.Value(meta.Statistics.MinValue).Uint64())
		require.Zero(t, parquet.Double.Value(meta.Statistics.MaxValue).Uint64())
	}
}

func TestWriter_RefusesWhatTypesCannotHold(t *testing.T) {
	for _, c := range []struct {
		typ   schema.Type
		value row.Value
	}{
		{schema.DecimalType(3, 1), row.Value{I64: 1000}},
		{schema.DecimalType(9, 0), row.Value{I64: 1 << 32}},
		{schema.DecimalType(18, 0), row.Value{I64: 1e18}},
		{schema.DecimalType(19, 0), decimalOf(19, math.MinInt64)}, // 9.2e18 fits
		{schema.DecimalType(20, 0), row.Value{B: []byte{5, 0x6b, 0xc7, 0x5e, 0x2d, 0x63, 0x10, 0, 0}}},
		{schema.Of(schema.TinyInt), row.Value{I64: 128}},
		{schema.Of(schema.SmallInt), row.Value{I64: -32769}},
		{schema.Of(schema.Time), row.Value{I64: millisOfDay}},
		{schema.Of(schema.Boolean), row.Value{I64: 2}},
	} {
		for _, picked := range []bool{false, true} {
			w, err := NewWriter(io.Discard, fieldsOf(false, c.typ), Options{})
			require.NoError(t, err)
			b := row.NewBatch([]schema.Type{c.typ})
			fill(b, [][]row.Value{{c.value}}, 0, 1)
			if picked {
				err = w.WriteRows(b, []int32{0})
			} else {
				err = w.Write(b)
			}
			if err == nil {
				_, err = w.Close()
			}
			if c.typ.Precision == 19 {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, ErrRange, "%v", c)
			require.ErrorContains(t, err, `"c0"`)
		}
	}
}

func TestWriter_RefusesWrongBatches(t *testing.T) {
	fields := fieldsOf(true, schema.Of(schema.BigInt), schema.DecimalType(20, 0))
	fields[1].Type.NotNull = false
	w, err := NewWriter(io.Discard, fields, Options{})
	require.NoError(t, err)
	right := func() *row.Batch {
		b := row.NewBatch(row.Types(fields))
		fill(b, [][]row.Value{ints(2, func(int) int64 { return 1 }), {decimalOf(20, 1), row.NullValue()}}, 0, 2)
		return b
	}
	for what, spoil := range map[string]func(*row.Batch){
		"columns":  func(b *row.Batch) { b.Columns = b.Columns[:1] },
		"layout":   func(b *row.Batch) { b.Columns[0] = row.NewVector(schema.Of(schema.Int)) },
		"bytes":    func(b *row.Batch) { b.Columns[1] = row.NewVector(schema.DecimalType(38, 0)) },
		"rows":     func(b *row.Batch) { b.Rows = 3 },
		"NOT NULL": func(b *row.Batch) { b.Columns[0].Reset(); b.Columns[0].AppendNull(); b.Columns[0].AppendNull() },
	} {
		b := right()
		spoil(b)
		require.ErrorContains(t, w.Write(b), what)
	}
	require.ErrorContains(t, w.WriteRows(right(), []int32{0, 2}), "row 2")
	require.ErrorContains(t, w.WriteRows(right(), []int32{-1}), "row -1")
	// None of them has broken the writer.
	require.NoError(t, w.WriteRows(right(), []int32{1, 0, 1}))
	res, err := w.Close()
	require.NoError(t, err)
	require.EqualValues(t, 3, res.Rows)
	require.EqualValues(t, 2, res.Columns[1].Nulls)
	require.Error(t, w.Write(right()), "closed")
}

func TestNewWriter_Refuses(t *testing.T) {
	_, err := NewWriter(io.Discard, nil, Options{})
	require.Error(t, err)
	_, err = NewWriter(io.Discard, fieldsOf(false, schema.DecimalType(39, 0)), Options{})
	require.ErrorContains(t, err, "39")
	twice := append(fieldsOf(false, schema.Of(schema.Int)), fieldsOf(false, schema.Of(schema.Int))...)
	_, err = NewWriter(io.Discard, twice, Options{})
	require.ErrorContains(t, err, "twice")
	w, err := NewWriter(io.Discard, fieldsOf(false, schema.Of(schema.Int)), Options{})
	require.NoError(t, err)
	_, err = w.Close()
	require.ErrorContains(t, err, "without rows")
}

func TestNewCodec_Refuses(t *testing.T) {
	for _, name := range []string{"lzo", "brotli", "ZSTD", ""} {
		_, err := NewCodec(name, 1)
		require.ErrorIs(t, err, ErrCompression, name)
	}
	for _, level := range []int{0, 23} {
		_, err := NewCodec("zstd", level)
		require.ErrorContains(t, err, "level")
	}
}

func TestWriter_SteadyStateDoesNotAllocate(t *testing.T) {
	fields := wideFields()
	w, err := NewWriter(io.Discard, fields, Options{PageRows: 5000})
	require.NoError(t, err)
	b := row.NewBatch(row.Types(fields))
	for i := range 1000 {
		appendWide(b, i)
	}
	for range 20 {
		require.NoError(t, w.Write(b))
	}
	_, err = w.Close()
	require.NoError(t, err)
	w.Reset(io.Discard)
	// Page headers and the growing list of blocks allocate a little: nothing that grows with rows.
	perBatch := testing.AllocsPerRun(15, func() { require.NoError(t, w.Write(b)) })
	require.Less(t, perBatch, 1000.0/4)
}
