package filereader

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// inner and shapes are nested columns as another writer may make them: lists of two and of three levels, a repeated field by
// itself, groups in lists.
type inner struct {
	A *int32   `parquet:"a,optional"`
	B []string `parquet:"b,list"`
}

type shapes struct {
	ID     int32            `parquet:"id"`
	Three  []int64          `parquet:"three,list"`
	Bare   []string         `parquet:"bare"`
	Groups []inner          `parquet:"groups,list"`
	Bares  []inner          `parquet:"bares"`
	Item   *inner           `parquet:"item,optional"`
	Attrs  map[string]inner `parquet:"attrs"`
}

func array(element schema.Type) schema.Type {
	return schema.Type{Kind: schema.Array, Element: &element}
}

func fields(fields ...schema.Field) []schema.Field { return fields }

func TestReader_NestedOfOtherWriters(t *testing.T) {
	group := schema.Type{Kind: schema.Row, Fields: fields(
		schema.Field{Name: "a", Type: schema.Of(schema.BigInt)}, // a wider type than the file's
		schema.Field{Name: "absent", Type: schema.Of(schema.Int)},
		schema.Field{Name: "b", Type: array(schema.StringType())})}
	key := schema.StringType().WithNotNull(true)
	asked := fields(
		schema.Field{Name: "id", Type: schema.Of(schema.Int)},
		schema.Field{Name: "three", Type: array(schema.Of(schema.BigInt))},
		schema.Field{Name: "bare", Type: array(schema.StringType())},
		schema.Field{Name: "groups", Type: array(group)},
		schema.Field{Name: "bares", Type: array(group)},
		schema.Field{Name: "item", Type: group},
		schema.Field{Name: "attrs", Type: schema.Type{Kind: schema.Map, Key: &key, Element: &group}},
		schema.Field{Name: "nowhere", Type: array(group)})
	seven := int32(7)
	var rows []shapes
	var want []string
	for i := range 3000 {
		s := shapes{ID: int32(i)}
		line := `"three":[],"bare":[],"groups":[],"bares":[],"item":null,"attrs":{}`
		if i%3 > 0 {
			full := inner{A: &seven, B: []string{"x", strings.Repeat("long ", i%5)}}
			s.Three, s.Bare, s.Groups, s.Bares = []int64{int64(i), -1}, []string{"", "b"}, []inner{{}, full}, []inner{full}
			text := fmt.Sprintf(`{"a":"7","absent":null,"b":["x","%s"]}`, full.B[1])
			item := "null"
			if i%3 == 2 {
				s.Item, item = &full, text
			}
			s.Attrs = map[string]inner{"k": full}
			line = fmt.Sprintf(`"three":["%d","-1"],"bare":["","b"],"groups":[{"a":null,"absent":null,"b":[]},%s],"bares":[%s],"item":%s,"attrs":{"k":%s}`,
				i, text, text, item, text)
		}
		rows = append(rows, s)
		want = append(want, fmt.Sprintf(`{"id":"%d",%s,"nowhere":null}`, i, line))
	}
	for _, encoding := range []parquet.WriterOption{
		parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
		parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.DeltaLengthByteArray),
		parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.DeltaByteArray),
	} {
		for version := 1; version <= 2; version++ {
			var out bytes.Buffer
			w := parquet.NewGenericWriter[shapes](&out, encoding, parquet.DataPageVersion(version), parquet.PageBufferSize(700),
				parquet.MaxRowsPerRowGroup(1000), parquet.Compression(&parquet.Brotli))
			_, err := w.Write(rows)
			require.NoError(t, err)
			require.NoError(t, w.Close())
			at := 0
			require.NoError(t, drain(t, out.Bytes(), asked, Options{BatchRows: 77}, func(b *row.Batch) {
				for k := range b.Rows {
					values := make([]row.Value, len(asked))
					for i := range values {
						values[i] = b.Columns[i].Value(k)
					}
					whole := row.Value{B: row.AppendBinary(nil, row.Types(asked), values)}
					require.Equal(t, want[at], row.Text(schema.Type{Kind: schema.Row, Fields: asked}, whole))
					at++
				}
			}))
			require.Equal(t, len(rows), at)
		}
	}
}

// encoded are columns in the encodings that Paimon's writer uses only when told to, and those it never uses.
type encoded struct {
	Int    int32   `parquet:"int,delta"`
	Long   int64   `parquet:"long,delta"`
	Price  int64   `parquet:"price,delta,decimal(2:18)"`
	Text   string  `parquet:"text,delta"`
	Length []byte  `parquet:"length"`
	Ratio  float32 `parquet:"ratio,split"`
	Exact  float64 `parquet:"exact,split"`
	Flag   bool    `parquet:"flag"`
	Maybe  int64   `parquet:"maybe,optional,delta"` // 0 is null
}

func TestReader_Encodings(t *testing.T) {
	asked := fields(
		schema.Field{Name: "int", Type: schema.Of(schema.Int)}, schema.Field{Name: "long", Type: schema.Of(schema.BigInt)},
		schema.Field{Name: "price", Type: schema.DecimalType(18, 2)}, schema.Field{Name: "text", Type: schema.StringType()},
		schema.Field{Name: "length", Type: schema.StringType()}, schema.Field{Name: "ratio", Type: schema.Of(schema.Float)},
		schema.Field{Name: "exact", Type: schema.Of(schema.Double)}, schema.Field{Name: "flag", Type: schema.Of(schema.Boolean)},
		schema.Field{Name: "maybe", Type: schema.Of(schema.BigInt)})
	var rows []encoded
	mixed := uint64(1)
	for i := range 5000 {
		mixed = mixed*6364136223846793005 + 1442695040888963407
		e := encoded{
			Int: int32(mixed >> 32), Long: int64(mixed), Price: int64(i*i) - 5000, Text: fmt.Sprintf("key %06d", i/3),
			Length: []byte(strings.Repeat("z", i%40)), Ratio: float32(i) / 3, Exact: float64(i) / 7, Flag: i%5 == 0,
		}
		if i%4 > 0 {
			e.Maybe = e.Long
		}
		rows = append(rows, e)
	}
	for version := 1; version <= 2; version++ {
		var out bytes.Buffer
		w := parquet.NewGenericWriter[encoded](&out, parquet.DataPageVersion(version), parquet.PageBufferSize(3000),
			parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.DeltaLengthByteArray), parquet.DefaultEncodingFor(parquet.Boolean, &parquet.RLE))
		_, err := w.Write(rows)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		requireEncodings(t, out.Bytes(), format.DeltaBinaryPacked, format.DeltaByteArray, format.DeltaLengthByteArray,
			format.ByteStreamSplit, format.RLE)
		at := 0
		require.NoError(t, drain(t, out.Bytes(), asked, Options{}, func(b *row.Batch) {
			for k := range b.Rows {
				want, c := rows[at], b.Columns
				require.Equal(t, want.Int, c[0].I32[k])
				require.Equal(t, want.Long, c[1].I64[k])
				require.Equal(t, want.Price, c[2].I64[k])
				require.Equal(t, want.Text, string(c[3].Bytes(k)))
				require.Equal(t, string(want.Length), string(c[4].Bytes(k)))
				require.Equal(t, want.Ratio, c[5].F32[k])
				require.Equal(t, want.Exact, c[6].F64[k])
				require.Equal(t, want.Flag, c[7].I32[k] == 1)
				require.Equal(t, want.Maybe == 0, c[8].IsNull(k))
				require.Equal(t, want.Maybe, c[8].I64[k])
				at++
			}
		}))
		require.Equal(t, len(rows), at)
	}
}

// requireEncodings makes sure that data pages of a file have them.
func requireEncodings(t *testing.T, data []byte, encodings ...format.Encoding) {
	t.Helper()
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var found []format.Encoding
	for _, c := range file.Metadata().RowGroups[0].Columns {
		for _, s := range c.MetaData.EncodingStats {
			found = append(found, s.Encoding)
		}
	}
	require.Subset(t, found, encodings)
}

func TestReader_RefusesOtherShapes(t *testing.T) {
	var out bytes.Buffer
	w := parquet.NewGenericWriter[shapes](&out)
	_, err := w.Write(make([]shapes, 3))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	number := schema.Of(schema.Int)
	for name, typ := range map[string]schema.Type{
		"id":     array(number),
		"three":  number,
		"bare":   number,
		"attrs":  array(number),
		"item":   {Kind: schema.Map, Key: &number, Element: &number},
		"bares":  {Kind: schema.Row, Fields: fields(schema.Field{Name: "a", Type: number})},
		"groups": array(schema.Type{Kind: schema.Row, Fields: fields(schema.Field{Name: "none of these", Type: number})}),
	} {
		err := drain(t, out.Bytes(), fields(schema.Field{Name: name, Type: typ}), Options{}, nil)
		require.ErrorIs(t, err, ErrUnsupported, name)
		require.ErrorContains(t, err, name)
	}
	err = drain(t, out.Bytes(), fields(schema.Field{Name: "three", Type: array(schema.StringType())}), Options{}, nil)
	require.ErrorIs(t, err, ErrUnsupported)
}

// nestedGolden is a file of Paimon with nested columns and the fields in it.
func nestedGolden(t testing.TB, name string) ([]byte, []schema.Field) {
	t.Helper()
	data, err := os.ReadFile("../testdata/append_nested_deep/" + name)
	require.NoError(t, err)
	text, err := os.ReadFile("../testdata/append_nested_deep/schema-0")
	require.NoError(t, err)
	s, err := schema.Parse(text)
	require.NoError(t, err)
	return data, s.Fields
}

func TestReader_DamagedNestedFiles(t *testing.T) {
	for _, name := range []string{"none.parquet", "v2_delta.parquet"} {
		data, asked := nestedGolden(t, name)
		detected, tried := 0, 0
		for i := 0; i < len(data); i += 37 {
			tried++
			spoilt := bytes.Clone(data)
			spoilt[i] ^= 1 << (i % 8)
			if drain(t, spoilt, asked, Options{MaxPageBytes: 1 << 20}, nil) != nil {
				detected++
			}
		}
		require.Greater(t, detected, tried/4)
	}
}

func FuzzNested(f *testing.F) {
	var asked []schema.Field
	for _, name := range []string{"none.parquet", "lz4.parquet", "v2.parquet", "v2_delta.parquet"} {
		var data []byte
		data, asked = nestedGolden(f, name)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = drainSome(t, data, asked, Options{MaxPageBytes: 1 << 20}, 20, func(b *row.Batch) {
			for i := range b.Columns {
				require.Equal(t, b.Rows, b.Columns[i].Len())
			}
		})
	})
}

// FuzzAssemble gives a map of arrays any levels, as only a damaged or hostile file has them.
func FuzzAssemble(f *testing.F) {
	f.Add([]byte{0, 1, 2, 0x12}, []byte{0, 1, 2, 3, 4, 5, 0x15, 0x25, 0x13})
	number := schema.Of(schema.Int)
	list := array(number)
	key := number.WithNotNull(true)
	asked := fields(schema.Field{Name: "c", Type: schema.Type{Kind: schema.Map, Key: &key, Element: &list}})
	data := written(f, asked, [][]row.Value{{row.NullValue()}}, datafile.Options{})
	f.Fuzz(func(t *testing.T, keys, values []byte) {
		r, err := newReader(memory{bytes.NewReader(data)}, int64(len(data)), asked, Options{MaxPageBytes: 1 << 20})
		require.NoError(t, err)
		a := r.columns[0].nested
		for i, entries := range [][]byte{keys, values} {
			l := a.root.leaves[i]
			l.open(r.file, &format.ColumnMetaData{}, 0, 0)
			l.count = len(entries)
			for _, e := range entries {
				def := int(e&0xF) % (l.column.maxDef + 1)
				l.levels, l.reps = append(l.levels, uint32(def)), append(l.reps, uint32(int(e>>4)%(l.column.maxRep+1)))
				if def == l.column.maxDef {
					l.values.Append(row.Value{I64: int64(e)})
				}
			}
		}
		v := row.NewVector(asked[0].Type)
		if a.read(&v, 3) != nil {
			return
		}
		require.Equal(t, 3, v.Len())
		for i := range v.Len() {
			require.Contains(t, "n{", row.Text(asked[0].Type, v.Value(i))[:1], "null or a map")
		}
	})
}
