package row_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// The texts are those that Paimon's values give under the stated rules.
func TestTextIsCanonical(t *testing.T) {
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC).Unix() / 86400
	at := time.Date(2024, 2, 29, 12, 34, 56, 789_012_345, time.UTC)
	for _, c := range []struct {
		typ  string
		v    row.Value
		want string
	}{
		{"INT", row.NullValue(), "null"},
		{"BOOLEAN", row.Value{I64: 1}, "true"},
		{"TINYINT", row.Value{I64: -42}, "-42"},
		{"DECIMAL(10,2)", row.Value{I64: 150}, "1.50"},
		{"DECIMAL(10,2)", row.Value{I64: -5}, "-0.05"},
		{"DECIMAL(10,0)", row.Value{I64: 0}, "0"},
		{"DECIMAL(18,18)", row.Value{I64: math.MinInt64}, "-9.223372036854775808"},
		{"DECIMAL(19,4)", row.Value{B: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, "-0.0001"},
		{"FLOAT", row.Value{F64: float64(float32(0.1))}, "0.1"},
		{"DOUBLE", row.Value{F64: 1e10}, "1e+10"},
		{"DOUBLE", row.Value{F64: math.Copysign(0, -1)}, "-0"},
		{"DOUBLE", row.Value{F64: math.Inf(1)}, "+Inf"},
		{"DOUBLE", row.Value{F64: math.NaN()}, "NaN"},
		{"STRING", row.Value{B: []byte("é\n")}, "é\n"},
		{"BYTES", row.Value{B: []byte{0xde, 0xad}}, "dead"},
		{"DATE", row.Value{I64: day}, "2024-02-29"},
		{"DATE", row.Value{I64: -719162}, "0001-01-01"},
		{"DATE", row.Value{I64: 2932896}, "9999-12-31"},
		{"DATE", row.Value{I64: 2932897}, "+10000-01-01"},
		{"DATE", row.Value{I64: -719529}, "-0001-12-31"},
		{"TIME(0)", row.Value{I64: 3_600_000}, "01:00:00"},
		{"TIME(0)", row.Value{I64: 3_600_004}, "01:00:00.004"},
		{"TIME(3)", row.Value{I64: 3_600_000}, "01:00:00.000"},
		{"TIME(9)", row.Value{I64: 3_600_000}, "01:00:00.000000000"},
		{"TIMESTAMP(0)", row.Value{I64: at.UnixMilli()}, "2024-02-29T12:34:56.789"},
		{"TIMESTAMP(6)", row.Value{I64: at.UnixMicro()}, "2024-02-29T12:34:56.789012"},
		{"TIMESTAMP(6)", row.Value{I64: -1}, "1969-12-31T23:59:59.999999"},
		{"TIMESTAMP(9)", row.Value{I64: at.UnixMilli(), Nanos: 12_345}, "2024-02-29T12:34:56.789012345"},
		{"TIMESTAMP_LTZ(3)", row.Value{I64: at.UnixMilli()}, "2024-02-29T12:34:56.789Z"},
	} {
		require.Equal(t, c.want, row.Text(parseTypes(t, c.typ)[0], c.v), c.typ)
	}
}

func TestTextComesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, typ := range randomTypes(t) {
		for range 300 {
			v := randomValue(r, typ)
			text := row.Text(typ, v)
			// A fraction beyond the type's digits is printed, and refused when read.
			short := typ.Kind == schema.Time && typ.Precision < 3 || typ.Kind == schema.Timestamp && (typ.Precision == 0 || typ.Precision == 4)
			if v.Null || short {
				continue
			}
			back, err := row.ParseText(typ, text)
			require.NoError(t, err)
			require.Zero(t, row.Compare(typ, v, back), "%s %s", typ, text)
		}
	}
}

func TestParseTextRefuses(t *testing.T) {
	for typ, texts := range map[string][]string{
		"BOOLEAN":       {"", "1", "TRUE"},
		"TINYINT":       {"128", "x", ""},
		"FLOAT":         {"1e39", "one"},
		"DECIMAL(5,2)":  {"", ".", "1e3", "1.234", "1000", "+1", "--1", "1.2.3", "-"},
		"DECIMAL(20,0)": {"100000000000000000000", "1.5"},
		"BYTES":         {"0", "zz"},
		"DATE":          {"", "2024-2-29", "2023-02-29", "24-01-01", "2024-13-01", "9999999-01-01", "2024-01-01T"},
		"TIME(3)":       {"", "1:00:00", "24:00:00", "01:00", "01:00:00.0001", "01:00:00.x"},
		"TIMESTAMP(3)":  {"2024-01-01", "2024-01-01 00:00:00", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.0001"},
		"TIMESTAMP(6)":  {"+300000-01-01T00:00:00"},
		"TIMESTAMP_LTZ": {"2024-01-01T00:00:00"},
	} {
		for _, text := range texts {
			_, err := row.ParseText(parseTypes(t, typ)[0], text)
			require.Error(t, err, "%s %q", typ, text)
		}
	}
	_, err := row.ParseText(schema.Of(schema.Array), "[]")
	require.Error(t, err)
}

// The lists are in the order of Java's comparisons.
func TestCompare(t *testing.T) {
	float := func(f float64) row.Value { return row.Value{F64: f} }
	bytesOf := func(b ...byte) row.Value { return row.Value{B: b} }
	floats := []row.Value{
		row.NullValue(), float(math.Inf(-1)), float(-1), float(math.Copysign(0, -1)), float(0), float(1), float(math.Inf(1)), float(math.NaN()),
	}
	for typ, sorted := range map[string][]row.Value{
		"INT":           {row.NullValue(), {I64: -5}, {I64: 0}, {I64: 7}},
		"DECIMAL(5,2)":  {{I64: -5}, {I64: 0}, {I64: 7}},
		"FLOAT":         floats,
		"DOUBLE":        floats,
		"STRING":        {row.NullValue(), {B: nil}, bytesOf('a'), bytesOf('a', 0), bytesOf('b'), bytesOf(0xc3, 0xa9), bytesOf(0xff)},
		"DECIMAL(19,0)": {row.NullValue(), bytesOf(0x80, 0, 0, 0, 0, 0, 0, 0, 0), bytesOf(255, 255, 255, 255, 255, 255, 255, 255, 255), bytesOf(0, 0, 0, 0, 0, 0, 0, 0, 0), bytesOf(0, 0, 0, 0, 0, 0, 0, 0, 1)},
		"TIMESTAMP(9)":  {row.NullValue(), {I64: -1, Nanos: 999_999}, {I64: 0}, {I64: 0, Nanos: 1}, {I64: 1}},
	} {
		t.Run(typ, func(t *testing.T) {
			parsed := parseTypes(t, typ)[0]
			for i, a := range sorted {
				for j, b := range sorted {
					require.Equal(t, sign(i-j), sign(row.Compare(parsed, a, b)), "%v and %v", a, b)
				}
			}
			require.True(t, slices.IsSortedFunc(sorted, func(a, b row.Value) int { return row.Compare(parsed, a, b) }))
		})
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func TestVectorsHoldWhatTheyAreGiven(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	types := randomTypes(t)
	batch := row.NewBatch(types)
	for range 2 {
		var rows [][]row.Value
		for range 200 {
			values := make([]row.Value, len(types))
			for i, typ := range types {
				values[i] = randomValue(r, typ)
				batch.Columns[i].Append(values[i])
			}
			batch.Rows++
			rows = append(rows, values)
		}
		require.Positive(t, batch.Size())
		for i, typ := range types {
			require.Equal(t, batch.Rows, batch.Columns[i].Len())
			nulls := 0
			for j, values := range rows {
				require.Zero(t, row.Compare(typ, values[i], batch.Columns[i].Value(j)))
				if values[i].Null {
					nulls++
				}
			}
			require.Equal(t, nulls, batch.Columns[i].NullCount)
		}
		batch.Reset()
		require.Zero(t, batch.Rows+batch.Columns[0].Len()+batch.Columns[0].NullCount)
	}
}
