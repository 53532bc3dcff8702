package row_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// javaRow is a row that Paimon 1.4.2 made: values in canonical text.
type javaRow struct {
	Types     []string  `json:"types"`
	Values    []*string `json:"values"`
	BinaryRow string    `json:"binaryRow"`
}

func javaRows(t testing.TB) []javaRow {
	data, err := os.ReadFile("testdata/bucket_hash.json")
	require.NoError(t, err)
	var rows []javaRow
	require.NoError(t, json.Unmarshal(data, &rows))
	require.Len(t, rows, 143)
	return rows
}

func parseTypes(t testing.TB, texts ...string) []schema.Type {
	types := make([]schema.Type, len(texts))
	for i, text := range texts {
		var err error
		types[i], err = schema.ParseType(text)
		require.NoError(t, err)
	}
	return types
}

func parseValues(t testing.TB, types []schema.Type, texts []*string) []row.Value {
	values := make([]row.Value, len(types))
	for i, text := range texts {
		if text == nil {
			values[i] = row.NullValue()
			continue
		}
		var err error
		values[i], err = row.ParseText(types[i], *text)
		require.NoError(t, err)
	}
	return values
}

func TestBinaryRowsAreJavas(t *testing.T) {
	for _, r := range javaRows(t) {
		types := parseTypes(t, r.Types...)
		values := parseValues(t, types, r.Values)
		require.Equal(t, r.BinaryRow, hex.EncodeToString(row.AppendBinary(nil, types, values)), "%v", r.Types)

		data, err := hex.DecodeString(r.BinaryRow)
		require.NoError(t, err)
		back, err := row.ReadBinary(types, data)
		require.NoError(t, err)
		for i := range types {
			if r.Values[i] == nil {
				require.True(t, back[i].Null)
				continue
			}
			require.Equal(t, *r.Values[i], row.Text(types[i], back[i]), "%v", r.Types)
		}
	}
}

// Vectors published by running Paimon's own classes, beside those of the file.
func TestBinaryRowVectors(t *testing.T) {
	for _, c := range []struct{ types, values, want string }{
		{"", "", "0000000000000000"},
		{"INT", "null", "00010000000000000000000000000000"},
		{"TINYINT|SMALLINT|BOOLEAN", "-2|-3|true", "0000000000000000fe00000000000000fdff0000000000000100000000000000"},
		{"STRING|INT", "2024-01-01|42", "00000000000000000a000000180000002a00000000000000323032342d30312d3031000000000000"},
		{"DECIMAL(20,2)", "-1.00", "000000000000000001000000100000009c000000000000000000000000000000"},
		{"DECIMAL(20,2)", "null", "0001000000000000000000001000000000000000000000000000000000000000"},
		{"TIMESTAMP(6)", "2023-11-14T22:13:20.123456", "000000000000000040f50600100000007b68e5cf8b010000"},
		{"TIMESTAMP(6)", "null", "000100000000000000000000100000000000000000000000"},
		{"DOUBLE|FLOAT", "1.5|1.5", "0000000000000000000000000000f83f0000c03f00000000"},
	} {
		var types []schema.Type
		var values []row.Value
		if c.types != "" {
			types = parseTypes(t, strings.Split(c.types, "|")...)
			for i, text := range strings.Split(c.values, "|") {
				if text == "null" {
					values = append(values, row.NullValue())
					continue
				}
				values = append(values, parseValues(t, types[i:i+1], []*string{&text})...)
			}
		}
		require.Equal(t, c.want, hex.EncodeToString(row.AppendBinary(nil, types, values)))
	}
	// 57 fields, of which only the last is null: its bit is in the second word.
	types := make([]schema.Type, 57)
	values := make([]row.Value, 57)
	for i := range types {
		types[i] = schema.Of(schema.Int)
	}
	values[56] = row.NullValue()
	require.Equal(t, "00000000000000000100000000000000", hex.EncodeToString(row.AppendBinary(nil, types, values)[:16]))
}

func TestArraysAndNestedRowsAreJavas(t *testing.T) {
	array := row.NewArrayBuilder(nil, 3, 8)
	array.SetInt64(0, 0)
	array.SetNull(1)
	array.SetInt64(2, 5)
	require.Equal(t, "0300000002000000000000000000000000000000000000000500000000000000", hex.EncodeToString(array.Bytes()))
	empty := row.NewArrayBuilder(nil, 0, 8)
	require.Equal(t, "0000000000000000", hex.EncodeToString(empty.Bytes()))

	ints := row.NewArrayBuilder(nil, 3, 4)
	ints.SetInt32(0, 1)
	ints.SetNull(1)
	ints.SetInt32(2, 3)
	element := schema.Of(schema.Int)
	types := []schema.Type{{Kind: schema.Array, Element: &element}}
	data := row.AppendBinary(nil, types, []row.Value{{B: ints.Bytes()}})
	require.Equal(t, "00000000000000001800000010000000030000000200000001000000000000000300000000000000", hex.EncodeToString(data))
	values, err := row.ReadBinary(types, data)
	require.NoError(t, err)
	back, err := row.ReadArray(values[0].B, 4)
	require.NoError(t, err)
	require.Equal(t, 3, back.Len())
	require.Equal(t, int32(1), back.Int32(0))
	require.True(t, back.IsNull(1))
	require.Equal(t, int32(3), back.Int32(2))

	inner := row.AppendBinary(nil, parseTypes(t, "INT", "STRING"), []row.Value{{I64: 7}, {B: []byte("x")}})
	types = []schema.Type{{Kind: schema.Row, Fields: make([]schema.Field, 2)}}
	require.Equal(t, "00000000000000001800000010000000000000000000000007000000000000007800000000000081",
		hex.EncodeToString(row.AppendBinary(nil, types, []row.Value{{B: inner}})))
}

// randomTypes covers every kind and layout.
func randomTypes(t testing.TB) []schema.Type {
	return parseTypes(t, "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(18,0)",
		"DECIMAL(19,4)", "DECIMAL(38,10)", "CHAR(5)", "STRING", "BINARY(3)", "BYTES", "DATE", "TIME(0)", "TIME(3)",
		"TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(4)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)")
}

func randomValue(r *rand.Rand, t schema.Type) row.Value {
	if r.IntN(4) == 0 {
		return row.NullValue()
	}
	bits := func(n int) int64 { return int64(r.Uint64()) >> (64 - n) }
	switch t.Kind {
	case schema.Boolean:
		return row.Value{I64: r.Int64N(2)}
	case schema.TinyInt:
		return row.Value{I64: bits(8)}
	case schema.SmallInt:
		return row.Value{I64: bits(16)}
	case schema.Int, schema.Date:
		return row.Value{I64: bits(32)}
	case schema.Time:
		return row.Value{I64: r.Int64N(86_400_000)}
	case schema.Float:
		return row.Value{F64: float64(float32(r.NormFloat64()))}
	case schema.Double:
		return row.Value{F64: r.NormFloat64() * math.Pow(10, float64(r.IntN(600)-300))}
	case schema.Decimal:
		if t.Precision <= 18 {
			return row.Value{I64: r.Int64N(2_000_000_000) - 1_000_000_000}
		}
		b := make([]byte, row.FixedWidth(t.Precision))
		fill := byte(0)
		if r.IntN(2) == 0 {
			fill = 0xff
		}
		for i := range b {
			b[i] = fill
		}
		for i := len(b) - r.IntN(8); i < len(b); i++ {
			b[i] = byte(r.Uint32())
		}
		return row.Value{B: b}
	case schema.Timestamp, schema.TimestampLTZ:
		if t.Precision > 6 {
			return row.Value{I64: bits(50), Nanos: r.Int32N(1_000_000)}
		}
		return row.Value{I64: bits(55)}
	case schema.BigInt:
		return row.Value{I64: bits(64)}
	default:
		b := make([]byte, r.IntN(20))
		for i := range b {
			b[i] = 'a' + byte(r.IntN(26))
		}
		return row.Value{B: b}
	}
}

func TestRandomRowsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := randomTypes(t)
	for range 2000 {
		types := make([]schema.Type, r.IntN(70))
		values := make([]row.Value, len(types))
		for i := range types {
			types[i] = all[r.IntN(len(all))]
			values[i] = randomValue(r, types[i])
		}
		data := row.Serialize(types, values)
		arity, err := row.Arity(data)
		require.NoError(t, err)
		require.Equal(t, len(types), arity)
		require.Zero(t, (len(data)-4)%8)
		back, err := row.Deserialize(types, data)
		require.NoError(t, err)
		for i := range types {
			require.Zero(t, row.Compare(types[i], values[i], back[i]), "%s: %v %v", types[i], values[i], back[i])
		}
		require.Equal(t, data, row.Serialize(types, back))
		prefix := []byte("before")
		require.Equal(t, append(prefix, data[4:]...), row.AppendBinary(prefix, types, values))
	}
}

func TestDeserializeRefusesBrokenRows(t *testing.T) {
	read := func(typ, hexData string) error {
		data, err := hex.DecodeString(hexData)
		require.NoError(t, err)
		_, err = row.Deserialize(parseTypes(t, typ), data)
		return err
	}
	for _, c := range []struct{ typ, data, want string }{
		{"INT", "", "too short for its arity"},
		{"INT", "00000001", "cannot hold its arity 1"},
		{"INT", "ffffffff0000000000000000", "cannot hold its arity -1"},
		{"INT", "7fffffff0000000000000000", "cannot hold its arity 2147483647"},
		{"INT", "000000000000000000000000", "has 0 fields, its type has 1"},
		{"STRING", "000000010000000000000000" + "0800000010000000", "outside of the row's 16"},
		{"STRING", "000000010000000000000000" + "ffffffffffffff7f", "outside"},
		{"STRING", "000000010000000000000000" + "0000000000000088", "inline string of 8 bytes"},
		{"DECIMAL(20,2)", "000000010000000000000000" + "0000000010000000" + "00000000000000000000000000000000", "unscaled decimal of 0 bytes"},
		{"DECIMAL(20,2)", "000000010000000000000000" + "1000000010000000" + "7f000000000000000000000000000000", "unscaled decimal of 16 bytes where 1 to 9"},
		{"TIMESTAMP(6)", "000000010000000000000000" + "40420f0010000000" + "0000000000000000", "1000000 nanoseconds"},
		{"TIMESTAMP(6)", "000000010000000000000000" + "0000000010000000" + "ffffffffffffff7f", "does not fit microseconds"},
	} {
		require.ErrorContains(t, read(c.typ, c.data), c.want)
	}
}

func TestReadArrayRefusesBrokenArrays(t *testing.T) {
	for _, data := range []string{"", "000000", "01000000", "ffffffff00000000", "ffffff7f00000000", "0200000000000000" + "0000000000000000"} {
		b, err := hex.DecodeString(data)
		require.NoError(t, err)
		_, err = row.ReadArray(b, 8)
		require.Error(t, err, data)
	}
}

func FuzzDecodeBinaryRow(f *testing.F) {
	types := append(randomTypes(f), schema.Type{Kind: schema.Array}, schema.Type{Kind: schema.Row})
	for _, r := range javaRows(f) {
		data, err := hex.DecodeString(r.BinaryRow)
		require.NoError(f, err)
		f.Add(uint8(len(r.Types)), uint8(3), data)
	}
	f.Fuzz(func(t *testing.T, arity, first uint8, data []byte) {
		chosen := make([]schema.Type, arity)
		for i := range chosen {
			chosen[i] = types[(int(first)+i)%len(types)]
		}
		values, err := row.ReadBinary(chosen, data)
		if err != nil {
			return
		}
		written := row.AppendBinary(nil, chosen, values)
		back, err := row.ReadBinary(chosen, written)
		require.NoError(t, err)
		for i := range chosen {
			require.Zero(t, row.Compare(chosen[i], values[i], back[i]))
		}
	})
}

func FuzzDecodeArray(f *testing.F) {
	f.Add(uint8(3), []byte{3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, log uint8, data []byte) {
		width := 1 << (log % 4)
		array, err := row.ReadArray(data, width)
		if err != nil {
			return
		}
		for i := range array.Len() {
			_ = array.IsNull(i)
			_ = array.Int8(i)
			if width == 8 {
				p, err := array.Bytes(i)
				require.True(t, err != nil || bytes.Contains(data, p))
			}
		}
	})
}

func BenchmarkAppendBinary(b *testing.B) {
	types := parseTypes(b, "BIGINT", "STRING")
	values := []row.Value{{I64: 42}, {B: []byte("a longer string")}}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = row.AppendBinary(dst[:0], types, values)
	}
}
