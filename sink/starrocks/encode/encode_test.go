package encode_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/sink/starrocks/encode"
)

// batch is rows of texts as row.ParseText has them, nil for NULL.
func batch(t testing.TB, types []string, rows ...[]any) ([]encode.Column, *row.Batch) {
	t.Helper()
	var columns []encode.Column
	var kinds []schema.Type
	for i, text := range types {
		typ, err := schema.ParseType(text)
		require.NoError(t, err)
		columns = append(columns, encode.Column{Name: string(rune('a' + i)), Type: typ})
		kinds = append(kinds, typ)
	}
	b := row.NewBatch(kinds)
	for _, r := range rows {
		for i, v := range r {
			if v == nil {
				b.Columns[i].AppendNull()
				continue
			}
			x, err := row.ParseText(kinds[i], v.(string))
			require.NoError(t, err)
			b.Columns[i].Append(x)
		}
		b.Rows++
	}
	return columns, b
}

func body(t testing.TB, f encode.Format, b *row.Batch) string {
	t.Helper()
	data := f.Begin(nil)
	start := len(data)
	for i := range b.Rows {
		var err error
		data, err = f.Row(data, start, b, i)
		require.NoError(t, err)
	}
	return string(f.End(data))
}

// values of each type, their text, and what StarRocks' manual says that a load takes for it.
var values = []struct{ typ, text, want string }{
	{"BOOLEAN", "true", "true"},
	{"TINYINT", "-128", "-128"},
	{"SMALLINT", "32767", "32767"},
	{"INT", "-2147483648", "-2147483648"},
	{"BIGINT", "-9223372036854775808", "-9223372036854775808"},
	{"DECIMAL(20, 0)", "18446744073709551615", "18446744073709551615"},
	{"DECIMAL(20, 0)", "0", "0"},
	{"DECIMAL(5, 2)", "-0.05", "-0.05"},
	{"DECIMAL(5, 2)", "123.40", "123.40"},
	{"DECIMAL(5, 5)", "0.00001", "0.00001"},
	{"DECIMAL(18, 0)", "-999999999999999999", "-999999999999999999"},
	{"DECIMAL(38, 10)", "-1234567890123456789012345678.0123456789", "-1234567890123456789012345678.0123456789"},
	{"DECIMAL(38, 10)", "-0.0000000001", "-0.0000000001"},
	{"DECIMAL(38, 30)", "0.000000000000000000000000000001", "0.000000000000000000000000000001"},
	{"FLOAT", "0.1", "0.1"},
	{"FLOAT", "16777216", "1.6777216e+07"},
	{"DOUBLE", "0.30000000000000004", "0.30000000000000004"},
	{"DATE", "0000-01-01", "0000-01-01"},
	{"DATE", "9999-12-31", "9999-12-31"},
	{"DATE", "1969-12-31", "1969-12-31"},
	{"TIMESTAMP(0)", "1969-12-31T23:59:59", "1969-12-31 23:59:59"},
	{"TIMESTAMP(3)", "2024-02-29T12:34:56.789", "2024-02-29 12:34:56.789"},
	{"TIMESTAMP(6)", "9999-12-31T23:59:59.999999", "9999-12-31 23:59:59.999999"},
	{"TIMESTAMP_LTZ(6)", "2024-02-29T12:34:56.000001Z", "2024-02-29 12:34:56.000001"},
	{"TIME(3)", "12:34:56.789", "12:34:56.789"},
	{"STRING", "tab\tnew\nline \\ \"quoted\", ünï 🐙 \\Nope", "tab\tnew\nline \\ \"quoted\", ünï 🐙 \\Nope"},
	{"STRING", "", ""},
	{"BYTES", "00ff80", base64.StdEncoding.EncodeToString([]byte{0, 255, 128})},
	{"BYTES", "", ""},
}

func TestCSV(t *testing.T) {
	for _, v := range values {
		columns, b := batch(t, []string{v.typ, "INT"}, []any{v.text, "7"}, []any{nil, nil})
		f, err := encode.NewCSV(columns)
		require.NoError(t, err)
		require.Equal(t, v.want+"\x1f\x1c7\x1e\x1d\\N\x1f\x1c\\N\x1e\x1d", body(t, f, b), "%s %s", v.typ, v.text)
	}
}

func TestJSON(t *testing.T) {
	for _, v := range values {
		columns, b := batch(t, []string{v.typ, "INT"}, []any{v.text, "7"}, []any{nil, nil})
		f, err := encode.NewJSON(columns)
		require.NoError(t, err)
		var rows []map[string]any
		d := json.NewDecoder(strings.NewReader(body(t, f, b)))
		d.UseNumber()
		require.NoError(t, d.Decode(&rows), v.typ)
		want := any(v.want)
		switch v.typ {
		case "BOOLEAN":
			want = true
		case "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE":
			want = json.Number(v.want)
		}
		require.Equal(t, []map[string]any{{"c0": want, "c1": json.Number("7")}, {"c0": nil, "c1": nil}}, rows)
	}
}

// What StarRocks would read as something else is refused, and JSON takes it.
func TestCSVRefusesWhatItCannotCarry(t *testing.T) {
	for _, text := range []string{`\N`, "a\x1f\x1cb", "a\x1e\x1d"} {
		columns, b := batch(t, []string{"INT", "STRING"}, []any{"1", text})
		f, err := encode.NewCSV(columns)
		require.NoError(t, err)
		got, err := f.Row([]byte("before"), 0, b, 0)
		var uncarried *encode.UncarriedError
		require.ErrorAs(t, err, &uncarried)
		require.Equal(t, "b", uncarried.Column)
		require.Equal(t, "before", string(got))

		j, err := encode.NewJSON(columns)
		require.NoError(t, err)
		var rows []map[string]any
		require.NoError(t, json.Unmarshal([]byte(body(t, j, b)), &rows))
		require.Equal(t, text, rows[0]["c1"])
	}
	columns, b := batch(t, []string{"STRING"}, []any{""}, []any{nil})
	f, err := encode.NewCSV(columns)
	require.NoError(t, err)
	_, err = f.Row(nil, 0, b, 0)
	require.ErrorContains(t, err, "blank line")
	_, err = f.Row(nil, 0, b, 1)
	require.NoError(t, err)
}

func TestTypesWithoutAForm(t *testing.T) {
	element := schema.Of(schema.Int)
	for _, typ := range []schema.Type{{Kind: schema.Array, Element: &element}, {Kind: schema.Timestamp, Precision: 7}} {
		_, err := encode.NewCSV([]encode.Column{{Name: "x", Type: typ}})
		require.ErrorContains(t, err, `"x"`)
		_, err = encode.NewJSON([]encode.Column{{Name: "x", Type: typ}})
		require.ErrorContains(t, err, `"x"`)
	}
	_, err := encode.NewCSV(nil)
	require.ErrorContains(t, err, "no columns")
}

// StarRocks' names: compressed CSV is a format, compressed JSON has a header.
func TestHeaders(t *testing.T) {
	columns, _ := batch(t, []string{"INT", "BYTES"})
	columns[0].Name = "a`b"
	f, err := encode.NewCSV(columns)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"format": "CSV", "column_separator": `\x1F1C`, "row_delimiter": `\x1E1D`, "columns": "`a``b`,`b`"}, f.Headers(encode.NoCompression))
	require.Equal(t, "lz4", f.Headers(encode.LZ4)["format"])
	j, err := encode.NewJSON(columns)
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"format": "JSON", "strip_outer_array": "true", "jsonpaths": `["$.c0","$.c1"]`, "compression": "LZ4_FRAME",
		"columns": "`a``b`,_base64_1,`b`=to_binary(_base64_1,'encode64')",
	}, j.Headers(encode.LZ4))
	require.Error(t, encode.Compression("snappy").Validate())
}

// FuzzCSV cuts a body as csv_reader.cpp's split_record does: what was put in comes out, or was refused.
func FuzzCSV(f *testing.F) {
	f.Add("a", "b", false)
	f.Add("\x1f", "\x1c\x1e", false)
	f.Add("\\N", "", true)
	f.Add("a\x1f\x1f", "\x1e\x1e\x1d", false)
	f.Fuzz(func(t *testing.T, a, b string, null bool) {
		columns, rows := batch(t, []string{"STRING", "STRING", "STRING"}, nil)
		rows.Reset()
		for range 2 {
			rows.Columns[0].AppendBytes([]byte(a))
			if null {
				rows.Columns[1].AppendNull()
			} else {
				rows.Columns[1].AppendBytes([]byte(b))
			}
			rows.Columns[2].AppendBytes([]byte(a))
			rows.Rows++
		}
		format, err := encode.NewCSV(columns)
		require.NoError(t, err)
		var data []byte
		for i := range 2 {
			var err error
			if data, err = format.Row(data, 0, rows, i); err != nil {
				return
			}
		}
		records := bytes.Split(data, []byte("\x1e\x1d"))
		require.Len(t, records, 3)
		require.Empty(t, records[2])
		want := b
		if null {
			want = `\N`
		} else {
			require.NotEqual(t, `\N`, b)
		}
		for _, r := range records[:2] {
			require.Equal(t, []string{a, want, a}, strings.Split(string(r), "\x1f\x1c"))
		}
	})
}
