package datafile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// goldenLines are the rows that Paimon reads, as its referee prints them.
func goldenLines(t *testing.T, table string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", table, "expected.jsonl"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// lines are rows in the form of goldenLines.
func lines(fields []schema.Field, columns [][]row.Value) []string {
	whole := schema.Type{Kind: schema.Row, Fields: fields}
	out := make([]string, len(columns[0]))
	values := make([]row.Value, len(fields))
	for k := range out {
		for i := range columns {
			values[i] = columns[i][k]
		}
		out[k] = row.Text(whole, row.Value{B: row.AppendBinary(nil, row.Types(fields), values)})
	}
	return out
}

// nestedFiles are the golden files with nested columns, by table. The deep ones hold the same rows in every codec that Paimon
// writes, and in data pages of version 2 with delta encodings.
func nestedFiles(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	for _, table := range []string{"append_nested", "append_nested_deep"} {
		names, err := filepath.Glob(filepath.Join("testdata", table, "*.parquet"))
		require.NoError(t, err)
		files[table] = names
	}
	require.Len(t, files["append_nested"], 1)
	require.Len(t, files["append_nested_deep"], 9)
	return files
}

func TestReader_PaimonNestedFiles(t *testing.T) {
	for table, names := range nestedFiles(t) {
		fields := goldenSchema(t, table, "schema-0").Fields
		for _, name := range names {
			stat, err := os.Stat(name)
			require.NoError(t, err)
			for _, batchRows := range []int{0, 1, 7} {
				got := readAll(t, localStore(t, filepath.Dir(name)), filepath.Base(name), stat.Size(), fields, batchRows)
				require.ElementsMatch(t, goldenLines(t, table), lines(fields, got), name)
			}
		}
	}
}

func TestWriter_NestedSchemaIsPaimons(t *testing.T) {
	for table, names := range nestedFiles(t) {
		fields := goldenSchema(t, table, "schema-0").Fields
		// In the order in which Java wrote them.
		java, err := os.ReadFile(names[len(names)-1])
		require.NoError(t, err)
		columns := readAll(t, localStore(t, filepath.Dir(names[0])), filepath.Base(names[len(names)-1]), int64(len(java)), fields, 0)
		ours, res := write(t, fields, columns, Options{}, 7)
		want, got := footerOf(t, java), footerOf(t, ours)
		require.Equal(t, want.Schema, got.Schema)
		require.Equal(t, want.ColumnOrders, got.ColumnOrders)
		for i, w := range want.RowGroups[0].Columns {
			g := got.RowGroups[0].Columns[i].MetaData
			require.Equal(t, w.MetaData.PathInSchema, g.PathInSchema)
			require.Equal(t, w.MetaData.Type, g.Type)
			require.Equal(t, w.MetaData.NumValues, g.NumValues, g.PathInSchema)
			require.Equal(t, w.MetaData.Statistics.NullCount, g.Statistics.NullCount, g.PathInSchema)
		}
		requireReader(t, ours, fields, columns)

		modes, err := StatsModes(fields, nil)
		require.NoError(t, err)
		_, columnNames, err := ManifestStats(res.Columns, modes)
		require.NoError(t, err)
		require.Equal(t, []string{"id", "last"}, columnNames, "nested columns have no statistics in Paimon's manifests")
	}
}

// randomNestedType is any type of up to some depth.
func randomNestedType(r *rand.Rand, depth int, id *int) schema.Type {
	flat := allTypes()
	t := flat[r.IntN(len(flat))].Type
	kind := r.IntN(5)
	if depth == 0 || kind == 4 {
		return t
	}
	inner := randomNestedType(r, depth-1, id)
	outer := schema.Type{NotNull: r.IntN(4) == 0, Element: &inner}
	switch kind {
	case 0:
		outer.Kind = schema.Array
	case 1:
		key := []schema.Type{schema.StringType(), schema.Of(schema.Int), schema.DecimalType(20, 2), {Kind: schema.Timestamp, Precision: 6}}[r.IntN(4)].WithNotNull(true)
		outer.Kind, outer.Key = schema.Map, &key
	case 2:
		inner = schema.StringType()
		outer.Kind = schema.Multiset
	default:
		outer.Kind, outer.Element = schema.Row, nil
		for i := range 1 + r.IntN(3) {
			*id++
			if i > 0 {
				inner = randomNestedType(r, depth-1, id)
			}
			outer.Fields = append(outer.Fields, schema.Field{ID: *id, Name: fmt.Sprintf("f%d", i), Type: inner})
		}
	}
	return outer
}

// randomNestedValue is any value of any type, with nulls wherever they may be.
func randomNestedValue(r *rand.Rand, t schema.Type) row.Value {
	if !t.NotNull && r.IntN(5) == 0 {
		return row.NullValue()
	}
	several := func(t schema.Type, n int) []row.Value {
		vs := make([]row.Value, n)
		for i := range vs {
			vs[i] = randomNestedValue(r, t)
		}
		return vs
	}
	switch t.Kind {
	case schema.Array:
		return row.Value{B: row.AppendArray(nil, *t.Element, several(*t.Element, r.IntN(5)))}
	case schema.Map, schema.Multiset:
		key, value := row.MapTypes(t)
		var keys []row.Value
		seen := map[string]bool{}
		for _, k := range several(key, r.IntN(4)) {
			if text := row.Text(key, k); !seen[text] {
				keys, seen[text] = append(keys, k), true
			}
		}
		return row.Value{B: row.AppendMap(nil, key, value, keys, several(value, len(keys)))}
	case schema.Row:
		values := make([]row.Value, len(t.Fields))
		for i, f := range t.Fields {
			values[i] = randomNestedValue(r, f.Type)
		}
		return row.Value{B: row.AppendBinary(nil, row.Types(t.Fields), values)}
	}
	return randomValue(r, t, r.IntN(2) == 0)
}

// randomTable is a table of nested columns of up to three levels around an id.
func randomTable(r *rand.Rand, width, rows int) ([]schema.Field, [][]row.Value) {
	id := width
	fields := []schema.Field{{ID: 0, Name: "id", Type: schema.Of(schema.Int).WithNotNull(true)}}
	columns := [][]row.Value{make([]row.Value, rows)}
	for k := range rows {
		columns[0][k] = row.Value{I64: int64(k)}
	}
	for i := 1; i < width; i++ {
		f := schema.Field{ID: i, Name: fmt.Sprintf("c%d", i), Type: randomNestedType(r, 3, &id)}
		column := make([]row.Value, rows)
		for k := range column {
			column[k] = randomNestedValue(r, f.Type)
		}
		fields, columns = append(fields, f), append(columns, column)
	}
	return fields, columns
}

func TestWriter_RandomNestedColumnsComeBack(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 11))
		fields, columns := randomTable(r, 2+r.IntN(4), []int{1, 3, 50, 700}[r.IntN(4)])
		opts := Options{PageRows: []int{0, 10, 1}[r.IntN(3)], PageBytes: []int{0, 300}[r.IntN(2)], RowGroupBytes: []int{0, 20_000}[r.IntN(2)]}
		data, _ := write(t, fields, columns, opts, []int{8, 100}[r.IntN(2)])
		requireReader(t, data, fields, columns)
	}
}

func TestWriter_RefusesDamagedNestedValues(t *testing.T) {
	array := schema.Type{Kind: schema.Array, Element: &schema.Type{Kind: schema.Int, NotNull: true}}
	attrs := schema.Type{Kind: schema.Map, Key: &schema.Type{Kind: schema.Int}, Element: &schema.Type{Kind: schema.Int}}
	item := schema.Type{Kind: schema.Row, Fields: []schema.Field{{ID: 3, Name: "a", Type: schema.DecimalType(3, 0)}}}
	null := []row.Value{row.NullValue()}
	for _, c := range []struct {
		typ   schema.Type
		value []byte
		want  string
	}{
		{array, []byte{1}, "array of 1 bytes"},
		{attrs, []byte{1}, "map of 1 bytes"},
		{item, []byte{1}, "row of 1 fields"},
		{array, row.AppendArray(nil, *array.Element, null), "a null in INT NOT NULL"},
		{attrs, row.AppendMap(nil, *attrs.Key, *attrs.Element, null, null), "a null in INT NOT NULL"},
		{item, row.AppendBinary(nil, row.Types(item.Fields), []row.Value{{I64: 1000}}), ErrRange.Error()},
	} {
		var out bytes.Buffer
		w, err := NewWriter(&out, fieldsOf(false, c.typ), Options{})
		require.NoError(t, err)
		b := row.NewBatch([]schema.Type{c.typ})
		fill(b, [][]row.Value{{{B: c.value}}}, 0, 1)
		if err = w.Write(b); err == nil {
			_, err = w.Close()
		}
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, `"c0`)
	}
	w, err := NewWriter(nil, fieldsOf(true, array), Options{})
	require.NoError(t, err)
	b := row.NewBatch([]schema.Type{array})
	fill(b, [][]row.Value{null}, 0, 1)
	require.ErrorContains(t, w.Write(b), "NOT NULL")
	b.Columns[0] = row.NewVector(schema.Of(schema.Int))
	require.ErrorContains(t, w.Write(b), "layout")
}

func TestNewWriter_RefusesNestedTypes(t *testing.T) {
	deep := schema.Of(schema.Int)
	for range 200 {
		element := deep
		deep = schema.Type{Kind: schema.Array, Element: &element}
	}
	for want, typ := range map[string]schema.Type{
		"deep":           deep,
		"without fields": {Kind: schema.Row},
		"lacks the type": {Kind: schema.Map, Element: &schema.Type{Kind: schema.Int}},
		"twice":          {Kind: schema.Row, Fields: append(fieldsOf(false, schema.Of(schema.Int)), fieldsOf(false, schema.Of(schema.Int))...)},
		"39":             {Kind: schema.Multiset, Element: &schema.Type{Kind: schema.Decimal, Precision: 39}},
	} {
		_, err := NewWriter(nil, fieldsOf(false, typ), Options{})
		require.ErrorContains(t, err, want)
	}
}
