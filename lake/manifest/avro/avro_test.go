package avro_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/hamba/avro/v2/ocf"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/manifest/avro"
)

const schema = `{"type":"record","name":"record","namespace":"n","fields":[{"name":"name","type":"string"},` +
	`{"name":"n","type":["null","long"],"default":null},` +
	`{"name":"extra","type":{"type":"map","values":["null","double","boolean"]}},` +
	`{"name":"list","type":{"type":"array","items":["null",{"type":"record","name":"item","fields":[{"name":"b","type":"bytes"}]}]}},` +
	`{"name":"again","type":["null","item"],"default":null}]}`

type item struct {
	B []byte `avro:"b"`
}

// value is a record for the general library, which is the other witness here.
type value struct {
	Name  string         `avro:"name"`
	N     *int64         `avro:"n"`
	Extra map[string]any `avro:"extra"`
	List  []*item        `avro:"list"`
	Again *item          `avro:"again"`
}

func values(n int) []value {
	var list []value
	for i := range n {
		v := value{Name: strings.Repeat("x", i%100), Extra: map[string]any{"a": 1.5, "b": true, "c": nil}, List: []*item{}}
		if i%3 > 0 {
			k := int64(i-5) << (i % 50)
			v.N, v.Again = &k, &item{[]byte{byte(i)}}
		}
		for j := range i % 5 {
			v.List = append(v.List, &item{fmt.Appendf(nil, "%d", j)}, nil)
		}
		list = append(list, v)
	}
	return list
}

// read decodes with our reader, skipping what is of other types.
func read(t *testing.T, data []byte) []value {
	t.Helper()
	f, err := avro.Open(data, nil)
	require.NoError(t, err)
	var list []value
	require.NoError(t, f.Each(func(d *avro.Decoder) error {
		v := value{List: []*item{}}
		d.Record(f.Schema, func(name string, s *avro.Schema) {
			switch name {
			case "name":
				b, _ := d.Bytes(s)
				v.Name = string(b)
			case "n":
				if n, ok := d.Long(s); ok {
					v.N = &n
				}
			case "list":
				d.Array(s, func(s *avro.Schema) { v.List = append(v.List, readItem(d, s)) })
			case "again":
				v.Again = readItem(d, s)
			default:
				d.Skip(s)
			}
		})
		list = append(list, v)
		return d.Err()
	}))
	return list
}

func readItem(d *avro.Decoder, s *avro.Schema) *item {
	var x item
	if !d.Record(s, func(_ string, s *avro.Schema) { x.B, _ = d.Bytes(s) }) {
		return nil
	}
	return &x
}

func TestReadWhatAnotherLibraryWrites(t *testing.T) {
	want := values(2000)
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		t.Run(string(codec), func(t *testing.T) {
			var out bytes.Buffer
			e, err := ocf.NewEncoder(schema, &out, ocf.WithCodec(codec), ocf.WithBlockLength(300))
			require.NoError(t, err)
			for _, v := range want {
				require.NoError(t, e.Encode(v))
			}
			require.NoError(t, e.Close())
			got := read(t, out.Bytes())
			for i := range got {
				got[i].Extra = want[i].Extra
			}
			require.Equal(t, want, got)
		})
	}
}

const flat = `{"type":"record","name":"record","fields":[{"name":"name","type":"string"},{"name":"n","type":["null","long"],"default":null}]}`

func TestAnotherLibraryReadsWhatWeWrite(t *testing.T) {
	type record struct {
		Name string `avro:"name"`
		N    *int64 `avro:"n"`
	}
	w, err := avro.NewWriter(flat)
	require.NoError(t, err)
	const n = 20_000 // several blocks
	for i := range n {
		b := avro.AppendBytes(nil, strings.Repeat("y", i%50))
		if i%2 == 0 {
			b = avro.AppendNull(b)
		} else {
			b = avro.AppendLong(avro.AppendSome(b), int64(-i)<<(i%40))
		}
		w.Append(b)
	}
	dec, err := ocf.NewDecoder(bytes.NewReader(w.Finish()))
	require.NoError(t, err)
	i := 0
	for ; dec.HasNext(); i++ {
		var r record
		require.NoError(t, dec.Decode(&r))
		require.Equal(t, strings.Repeat("y", i%50), r.Name)
		if i%2 == 0 {
			require.Nil(t, r.N)
		} else {
			require.Equal(t, int64(-i)<<(i%40), *r.N)
		}
	}
	require.NoError(t, dec.Error())
	require.Equal(t, n, i)
}

func TestAnEmptyFileHasNoRecords(t *testing.T) {
	w, err := avro.NewWriter(flat)
	require.NoError(t, err)
	require.Empty(t, read(t, w.Finish()))
}

// container builds a file by hand.
func container(schema, codec string, records, size int64, block []byte) []byte {
	b := []byte("Obj\x01")
	b = avro.AppendLong(b, 2)
	b = avro.AppendBytes(avro.AppendBytes(b, "avro.schema"), schema)
	b = avro.AppendBytes(avro.AppendBytes(b, "avro.codec"), codec)
	b = append(avro.AppendLong(b, 0), make([]byte, 16)...)
	b = avro.AppendLong(avro.AppendLong(b, records), size)
	return append(append(b, block...), make([]byte, 16)...)
}

func plain(schema string, records int64, block []byte) []byte {
	return container(schema, "null", records, int64(len(block)), block)
}

func TestHostileFiles(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	bomb := enc.EncodeAll(make([]byte, 100<<20), nil)
	require.Less(t, len(bomb), 1<<20)
	huge := avro.AppendLong(nil, 1<<60)
	nulls := `{"type":"record","name":"r","fields":[{"name":"list","type":{"type":"array","items":"null"}}]}`
	loop := `{"type":"record","name":"r","fields":[{"name":"r","type":"r"}]}`
	chain := `{"type":"record","name":"r","fields":[{"name":"r","type":["null","r"]}]}`
	doubling := `{"type":"record","name":"r0","fields":[{"name":"n","type":"null"}]}`
	for i := range 25 {
		doubling = fmt.Sprintf(`{"type":"record","name":"r%d","fields":[{"name":"a","type":%s},{"name":"b","type":"r%d"}]}`, i+1, doubling, i)
	}
	for name, data := range map[string][]byte{
		"values without bytes":      plain(doubling, 1, []byte{0}),
		"nothing":                   {},
		"other magic":               []byte("PAR1PAR1"),
		"cut header":                []byte("Obj\x01\x04"),
		"header of endless keys":    append([]byte("Obj\x01"), huge...),
		"no schema":                 append([]byte("Obj\x01\x00"), make([]byte, 16)...),
		"block larger than file":    container(flat, "null", 1, 1<<60, nil),
		"negative block":            container(flat, "null", 1, -5, nil),
		"negative records":          plain(flat, -1, []byte{0, 0}),
		"records without bytes":     plain(`"null"`, 1<<62, nil),
		"more records than bytes":   plain(flat, 5, []byte{0, 0}),
		"bytes after the records":   plain(flat, 1, []byte{0, 0, 7}),
		"string longer than block":  plain(flat, 1, huge),
		"negative string":           plain(flat, 1, avro.AppendLong(nil, -2)),
		"union branch out of range": plain(flat, 1, []byte{0, 6}),
		"endless number":            plain(flat, 1, bytes.Repeat([]byte{0xff}, 20)),
		"endless array of nulls":    plain(nulls, 1, huge),
		"most negative array":       plain(nulls, 1, avro.AppendLong(nil, -1<<63)),
		"schema that holds itself":  plain(loop, 1, []byte{1}),
		"chain without end":         plain(chain, 1, bytes.Repeat([]byte{2}, 10_000)),
		"zstandard bomb":            container(flat, "zstandard", 1, int64(len(bomb)), bomb),
		"snappy bomb":               container(flat, "snappy", 1, 9, append(binary.AppendUvarint(nil, 1<<34), 0, 0, 0, 0)),
		"unknown codec":             container(flat, "xz", 1, 2, []byte{0, 0}),
		"deep schema":               plain(strings.Repeat(`{"type":"array","items":`, 5000)+`"int"`+strings.Repeat("}", 5000), 1, []byte{0}),
		"unknown type":              plain(`{"type":"record","name":"r","fields":[{"name":"x","type":"decimal"}]}`, 1, []byte{0}),
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, skipAll(data), avro.ErrMalformed)
		})
	}
}

// skipAll reads a file's records without knowing its schema.
func skipAll(data []byte) error {
	f, err := avro.Open(data, nil)
	if err != nil {
		return err
	}
	return f.Each(func(d *avro.Decoder) error {
		d.Skip(f.Schema)
		return d.Err()
	})
}

func TestBrokenMark(t *testing.T) {
	data := plain(flat, 1, []byte{0, 0})
	require.NoError(t, skipAll(data))
	data[len(data)-1] = 9
	require.ErrorIs(t, skipAll(data), avro.ErrMalformed)
}

func FuzzRead(f *testing.F) {
	f.Add(plain(flat, 1, []byte{0, 0}))
	f.Add(container(flat, "deflate", 1, 2, []byte{3, 0}))
	var out bytes.Buffer
	e, err := ocf.NewEncoder(schema, &out, ocf.WithCodec(ocf.Snappy))
	require.NoError(f, err)
	for _, v := range values(20) {
		require.NoError(f, e.Encode(v))
	}
	require.NoError(f, e.Close())
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := skipAll(data); err != nil {
			require.ErrorIs(t, err, avro.ErrMalformed)
		}
	})
}

// A small file that unpacks to very many records is refused, so that memory stays in proportion to what is read.
func TestABombIsRefused(t *testing.T) {
	w, err := avro.NewWriter(`{"type":"record","name":"r","fields":[{"name":"a","type":"long"}]}`)
	require.NoError(t, err)
	for range 8 << 20 {
		w.Append([]byte{0})
	}
	data := w.Finish()
	require.Less(t, len(data), 32<<10)
	f, err := avro.Open(data, nil)
	require.NoError(t, err)
	records := 0
	err = f.Each(func(d *avro.Decoder) error {
		records++
		d.Skip(f.Schema)
		return d.Err()
	})
	require.ErrorIs(t, err, avro.ErrMalformed)
	require.LessOrEqual(t, records, max(4<<20, 256*len(data)))
}
