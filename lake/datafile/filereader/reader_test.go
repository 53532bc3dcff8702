package filereader

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// memory is a file in memory.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// drain reads a file to its end and returns its rows.
func drain(t testing.TB, data []byte, fields []schema.Field, opts Options, each func(*row.Batch)) error {
	return drainSome(t, data, fields, opts, math.MaxInt, each)
}

// drainSome reads up to a number of batches.
func drainSome(t testing.TB, data []byte, fields []schema.Field, opts Options, batches int, each func(*row.Batch)) error {
	r, err := newReader(memory{bytes.NewReader(data)}, int64(len(data)), fields, opts)
	if err != nil {
		return err
	}
	b := row.NewBatch(row.Types(fields))
	for rows := int64(0); ; batches-- {
		if batches == 0 {
			return r.Close()
		}
		err := r.NextBatch(t.Context(), b)
		if errors.Is(err, io.EOF) {
			if rows != r.Rows() {
				return errors.New("rows are missing")
			}
			return r.Close()
		}
		if err != nil {
			return err
		}
		rows += int64(b.Rows)
		if each != nil {
			each(b)
		}
	}
}

// written makes a file of columns.
func written(t testing.TB, fields []schema.Field, columns [][]row.Value, opts datafile.Options) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := datafile.NewWriter(&out, fields, opts)
	require.NoError(t, err)
	b := row.NewBatch(row.Types(fields))
	for i := range columns {
		for _, v := range columns[i] {
			b.Columns[i].Append(v)
		}
	}
	b.Rows = len(columns[0])
	require.NoError(t, w.Write(b))
	_, err = w.Close()
	require.NoError(t, err)
	return out.Bytes()
}

// asked makes fields c0, c1 and so on.
func asked(notNull bool, types ...schema.Type) []schema.Field {
	fields := make([]schema.Field, len(types))
	for i, t := range types {
		fields[i] = schema.Field{ID: i, Name: "c" + strconv.Itoa(i), Type: t.WithNotNull(notNull)}
	}
	return fields
}

func bigDecimal(precision int, x int64) row.Value {
	out := make([]byte, row.FixedWidth(precision))
	for i := range out {
		out[len(out)-1-i] = byte(x >> min(63, 8*i))
	}
	return row.Value{B: out}
}

func folder(t testing.TB, dir string) fileio.Store {
	t.Helper()
	s, err := fileio.NewLocal(dir)
	require.NoError(t, err)
	return s
}

// foreign is a file as another writer may make it: decimals in bytes, other units, unsigned numbers.
type foreign struct {
	Flag    bool      `parquet:"flag"`
	Small   [4]byte   `parquet:"small,decimal(2:9)"`
	Middle  [8]byte   `parquet:"middle,decimal(4:18)"`
	Large   [9]byte   `parquet:"large,decimal(0:20)"`
	Narrow  int32     `parquet:"narrow,decimal(2:9)"`
	Name    *string   `parquet:"name,optional"`
	Kind    string    `parquet:"kind,dict"`
	Count   uint32    `parquet:"count"`
	Millis  time.Time `parquet:"millis,timestamp(millisecond)"`
	Nanos   time.Time `parquet:"nanos,timestamp(nanosecond)"`
	Wide    int32     `parquet:"wide"`
	Ratio   float32   `parquet:"ratio"`
	Day     int32     `parquet:"day,date"`
	Skipped []string  `parquet:"skipped,list"`
	Last    *int64    `parquet:"last,optional"`
}

func TestReader_OtherWriters(t *testing.T) {
	at := time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	name, last := "naïve", int64(math.MinInt64)
	var rows []foreign
	for i := range 5000 {
		f := foreign{
			Flag: i%3 == 0, Small: [4]byte{0xFF, 0xFF, 0xD9, 0x3B}, Middle: [8]byte{7: 5},
			Large: [9]byte{0: 1}, Narrow: -9925, Kind: []string{"a", "", "ccc"}[i%3], Count: math.MaxUint32,
			Millis: at, Nanos: at, Wide: -7, Ratio: 0.1, Day: -1, Skipped: make([]string, i%3),
		}
		if i%4 != 0 {
			f.Name, f.Last = &name, &last
		}
		rows = append(rows, f)
	}
	timestamp := func(p int) schema.Type { return schema.Type{Kind: schema.Timestamp, Precision: p} }
	fields := asked(false, schema.Of(schema.Boolean), schema.DecimalType(9, 2), schema.DecimalType(18, 4), schema.DecimalType(20, 0),
		schema.DecimalType(20, 3), schema.StringType(), schema.StringType(), schema.Of(schema.BigInt), timestamp(3), timestamp(6),
		timestamp(6), timestamp(9), timestamp(3), schema.Of(schema.BigInt), schema.DecimalType(12, 1), schema.Of(schema.Double),
		schema.Of(schema.Date), schema.Of(schema.BigInt), schema.Of(schema.Int))
	for i, column := range []string{
		"flag", "small", "middle", "large", "narrow", "name", "kind", "count", "millis", "millis",
		"nanos", "nanos", "nanos", "wide", "wide", "ratio", "day", "last", "absent",
	} {
		fields[i].Name = column
	}
	want := []string{
		"", "-99.25", "0.0005", "18446744073709551616", "-99.250", "naïve", "", "4294967295",
		"1969-12-31T23:59:59.999", "1969-12-31T23:59:59.999000", "1969-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999999",
		"1969-12-31T23:59:59.999", "-7", "-7.0", "0.10000000149011612", "1969-12-31", "-9223372036854775808", "null",
	}
	for _, codec := range []parquet.WriterOption{
		parquet.Compression(&parquet.Uncompressed), parquet.Compression(&parquet.Snappy),
		parquet.Compression(&parquet.Gzip), parquet.Compression(&parquet.Zstd),
	} {
		for version := 1; version <= 2; version++ {
			var out bytes.Buffer
			w := parquet.NewGenericWriter[foreign](&out, codec, parquet.DataPageVersion(version), parquet.PageBufferSize(1000),
				parquet.MaxRowsPerRowGroup(3000), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain))
			_, err := w.Write(rows)
			require.NoError(t, err)
			require.NoError(t, w.Close())
			at := 0
			require.NoError(t, drain(t, out.Bytes(), fields, Options{}, func(b *row.Batch) {
				for k := range b.Rows {
					for i, f := range fields {
						text := row.Text(f.Type, b.Columns[i].Value(k))
						switch expected := want[i]; {
						case (f.Name == "name" || f.Name == "last") && at%4 == 0:
							require.Equal(t, "null", text)
						case f.Name == "kind":
							require.Equal(t, rows[at].Kind, text)
						case f.Name == "flag":
							require.Equal(t, rows[at].Flag, text == "true")
						default:
							require.Equal(t, expected, text, f.Name)
						}
					}
					at++
				}
			}))
			require.Equal(t, len(rows), at)
		}
	}
}

func TestReader_RefusesWhatIsLost(t *testing.T) {
	one := func(typ schema.Type, v row.Value) []byte {
		return written(t, asked(false, typ), [][]row.Value{{v}}, datafile.Options{})
	}
	for _, c := range []struct {
		from, to schema.Type
		value    row.Value
		err      error
	}{
		{schema.Of(schema.Int), schema.Of(schema.SmallInt), row.Value{I64: 40000}, ErrRange},
		{schema.Of(schema.Int), schema.Of(schema.SmallInt), row.Value{I64: 30000}, nil},
		{schema.DecimalType(20, 2), schema.DecimalType(18, 1), bigDecimal(20, 105), ErrRange},
		{schema.DecimalType(20, 2), schema.DecimalType(18, 1), bigDecimal(20, -110), nil},
		{schema.DecimalType(20, 2), schema.DecimalType(3, 2), bigDecimal(20, 1000), ErrRange},
		{schema.Type{Kind: schema.Timestamp, Precision: 3}, schema.Type{Kind: schema.Timestamp, Precision: 6}, row.Value{I64: math.MaxInt64}, ErrRange},
		{schema.StringType(), schema.Of(schema.Int), row.Value{B: []byte("1")}, ErrUnsupported},
		{schema.Of(schema.Double), schema.Of(schema.Float), row.Value{F64: 1}, ErrUnsupported},
		{schema.Of(schema.Int), schema.Of(schema.Boolean), row.Value{I64: 1}, ErrUnsupported},
		{schema.Of(schema.BigInt), schema.DecimalType(19, 1), row.Value{I64: -5}, nil},
	} {
		err := drain(t, one(c.from, c.value), asked(false, c.to), Options{}, func(b *row.Batch) { require.Equal(t, 1, b.Rows) })
		if c.err == nil {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, c.err)
		require.ErrorContains(t, err, `"c0"`)
	}
}

func TestOpen_Refuses(t *testing.T) {
	dir := t.TempDir()
	store := folder(t, dir)
	fields := asked(false, schema.Of(schema.Int))
	_, err := Open(t.Context(), store, "none", 100, fields, Options{})
	require.ErrorIs(t, err, fileio.ErrNotExist)
	data := written(t, fields, [][]row.Value{make([]row.Value, 10)}, datafile.Options{})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), data, 0o600))
	_, err = Open(t.Context(), store, "f", int64(len(data))-1, fields, Options{})
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "f: ")
	r, err := Open(t.Context(), store, "f", int64(len(data)), fields, Options{})
	require.NoError(t, err)
	require.ErrorContains(t, r.NextBatch(t.Context(), row.NewBatch(nil)), "columns")
	require.NoError(t, r.Close())
}

// A column whose name in the schema is not the one in Paimon's file, which has its id, is no column that the file lacks.
func TestOpen_RefusesAnotherName(t *testing.T) {
	data, fields := goldenBytes(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), data, 0o600))
	for i, f := range fields {
		f.Name += "x"
		_, err := Open(t.Context(), folder(t, dir), "f", int64(len(data)), []schema.Field{f}, Options{})
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, fields[i].Name+`"`)
		f.ID = 1000
		r, err := Open(t.Context(), folder(t, dir), "f", int64(len(data)), []schema.Field{f}, Options{})
		require.NoError(t, err, "a column that was added later is null")
		require.NoError(t, r.Close())
	}
}

// goldenBytes is a file of Paimon and the fields in it.
func goldenBytes(t testing.TB) ([]byte, []schema.Field) {
	t.Helper()
	names, err := filepath.Glob("../testdata/append_all_types/*.parquet")
	require.NoError(t, err)
	require.Len(t, names, 1)
	data, err := os.ReadFile(names[0])
	require.NoError(t, err)
	text, err := os.ReadFile("../testdata/append_all_types/schema-0")
	require.NoError(t, err)
	s, err := schema.Parse(text)
	require.NoError(t, err)
	return data, s.Fields
}

func TestReader_DamagedFiles(t *testing.T) {
	data, fields := goldenBytes(t)
	opts := Options{MaxPageBytes: 1 << 20}
	for n := 0; n < len(data); n += 5 {
		require.Error(t, drain(t, data[:n], fields, opts, nil), "cut at %d", n)
	}
	// Where pages lie the checksum finds every fault; elsewhere it must at least not harm.
	detected, tried := 0, 0
	for i := 0; i < len(data); i += 3 {
		tried++
		spoilt := bytes.Clone(data)
		spoilt[i] ^= 1 << (i % 8)
		if drain(t, spoilt, fields, opts, nil) != nil {
			detected++
		}
	}
	require.Greater(t, detected, tried/3)
}

func FuzzReader(f *testing.F) {
	data, fields := goldenBytes(f)
	f.Add(data)
	few := []schema.Field{
		{ID: 0, Name: "f_int", Type: schema.Of(schema.Int)},
		{ID: 1, Name: "f_string", Type: schema.StringType()},
		{ID: 2, Name: "n_dec", Type: schema.DecimalType(38, 10)},
		{ID: 3, Name: "f_bool", Type: schema.Of(schema.Boolean)},
	}
	columns := make([][]row.Value, len(few))
	for i := range 40 {
		columns[0] = append(columns[0], row.Value{I64: int64(i % 3)})
		columns[1] = append(columns[1], row.Value{B: []byte{byte(i)}})
		columns[2] = append(columns[2], bigDecimal(38, int64(-i)))
		columns[3] = append(columns[3], row.NullValue())
	}
	for _, name := range []string{"none", "zstd", "snappy"} {
		codec, err := datafile.NewCodec(name, 1)
		require.NoError(f, err)
		f.Add(written(f, few, columns, datafile.Options{Codec: codec, PageRows: 15}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// An error is as good as rows. What must not happen is a panic, or all memory gone. A few bytes may honestly hold
		// millions of nulls.
		_ = drainSome(t, data, fields, Options{MaxPageBytes: 1 << 20}, 20, func(b *row.Batch) {
			for i := range b.Columns {
				require.Equal(t, b.Rows, b.Columns[i].Len())
			}
		})
	})
}

// FuzzPage reads what a checksum would keep out: any bytes as a page of any type.
func FuzzPage(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 6, 1, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, uint8(1), uint8(0), 3)
	f.Add([]byte{2, 0, 0, 0, 6, 1, 1, 3, 1, 1}, uint8(1), uint8(2), 3)
	f.Add([]byte{3, 0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0}, uint8(6), uint8(0), 2)
	f.Add([]byte{0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0}, uint8(7), uint8(0), 1)
	f.Fuzz(func(t *testing.T, data []byte, physical, encoding uint8, rows int) {
		for _, typ := range []schema.Type{schema.BytesType(), schema.DecimalType(9, 2), schema.DecimalType(38, 0), {}} {
			c := fileColumn{physical: format.Type(physical % 8), length: 11, maxDef: len(data) % 4, maxRep: len(data) % 3, typ: typ}
			bytesLike := c.physical == format.ByteArray || c.physical == format.FixedLenByteArray
			if typ.Kind == 0 == bytesLike {
				continue
			}
			if !bytesLike {
				c.typ = c.plainType(&format.SchemaElement{})
			}
			r := newChunkReader(c, 1<<20, nil)
			r.rows = maxPageValues
			h := format.PageHeader{
				UncompressedPageSize: int32(len(data)),
				DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 2, Encoding: format.Plain}),
				DataPageHeader: thrift.New(format.DataPageHeader{
					NumValues: int32(rows % 100_000), Encoding: format.Encoding(encoding % 10), DefinitionLevelEncoding: format.RLE,
					RepetitionLevelEncoding: format.RLE,
				}),
				DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
					NumValues: int32(rows % 100_000), Encoding: format.Encoding(encoding % 10), DefinitionLevelsByteLength: int32(len(data) / 3),
				}),
			}
			r.raw = data
			_ = r.dictionary(&h)
			if r.dataV1(&h) == nil && len(r.levels) == 0 {
				require.Equal(t, r.count, r.values.Len())
			}
			if r.dataV2(&h) == nil && len(r.levels) == 0 {
				require.Equal(t, r.count, r.values.Len())
			}
		}
	})
}
