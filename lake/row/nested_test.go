package row_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// typeOf reads a type in the JSON form of schema files.
func typeOf(t testing.TB, text string) schema.Type {
	t.Helper()
	var typ schema.Type
	require.NoError(t, json.Unmarshal([]byte(text), &typ), text)
	return typ
}

const (
	tagsType   = `{"type":"ARRAY","element":"STRING"}`
	attrsType  = `{"type":"MAP","key":"STRING NOT NULL","value":"BIGINT"}`
	itemType   = `{"type":"ROW","fields":[{"id":4,"name":"a","type":"INT"},{"id":5,"name":"b","type":"STRING"}]}`
	countsType = `{"type":"MULTISET","element":"STRING"}`
	deepType   = `{"type":"ARRAY","element":{"type":"MAP","key":"INT NOT NULL","value":{"type":"ROW","fields":[{"id":1,"name":"t","type":"TIMESTAMP(6)"},{"id":2,"name":"d","type":"DECIMAL(20, 2)"}]}}}`
)

// The texts of tags, attrs and item are those that Paimon's own library gives for its golden table of nested columns; the
// others follow from the same rules.
func TestNestedText(t *testing.T) {
	for _, c := range []struct{ typ, text string }{
		{tagsType, `["x",null,"longer than seven"]`},
		{tagsType, `[]`},
		{tagsType, `["\"\\\n\u0001<&>","` + "\u2028" + `"]`},
		{attrsType, `{"k":"1","n":null}`},
		{attrsType, `{}`},
		{attrsType, `{"a":"-9223372036854775808","😀":"1","` + "\uFFFD" + `":"2"}`}, // Java's strings order by UTF-16
		{itemType, `{"a":"7","b":"seven"}`},
		{itemType, `{"a":null,"b":null}`},
		{countsType, `{"once":"1","twice":"2"}`},
		{deepType, `[{"-1":{"t":"1969-12-31T23:59:59.999999","d":"-0.01"},"2":null},null,{},{"3":{"t":null,"d":null}}]`},
		{`{"type":"ARRAY","element":"BOOLEAN"}`, `["true",null,"false"]`},
		{`{"type":"ARRAY","element":"SMALLINT"}`, `["-32768",null,"7"]`},
		{`{"type":"ARRAY","element":"FLOAT"}`, `["0.1","NaN","-Inf","-0"]`},
		{`{"type":"ARRAY","element":"BYTES"}`, `["","dead",null,"0102030405060708"]`},
	} {
		typ := typeOf(t, c.typ)
		v, err := row.ParseText(typ, c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.text, row.Text(typ, v))
	}
}

// The bytes follow org.apache.paimon.data.BinaryArray, BinaryMap and BinaryRow as the format's notes lay them out.
func TestNestedBinaryForms(t *testing.T) {
	for _, c := range []struct{ typ, text, want string }{
		{`{"type":"ARRAY","element":"INT"}`, `["1",null,"3"]`, "0300000002000000010000000000000003000000" + "00000000"},
		{`{"type":"ARRAY","element":"TINYINT"}`, `["-1","2"]`, "0200000000000000ff02000000000000"},
		// A null of these takes no place in an array, and does in a row.
		{`{"type":"ARRAY","element":"TIMESTAMP(6)"}`, `[null]`, "01000000010000000000000000000000"},
		{`{"type":"ARRAY","element":"DECIMAL(20, 0)"}`, `[null]`, "01000000010000000000000000000000"},
		{
			`{"type":"ROW","fields":[{"id":1,"name":"t","type":"TIMESTAMP(6)"}]}`, `{"t":null}`,
			"0001000000000000" + "0000000010000000" + "0000000000000000",
		},
		{
			`{"type":"MAP","key":"INT NOT NULL","value":"STRING"}`, `{"5":"x"}`,
			"10000000" + "01000000000000000500000000000000" + "01000000000000007800000000000081",
		},
		{
			countsType, `{"x":"2"}`,
			"10000000" + "01000000000000007800000000000081" + "01000000000000000200000000000000",
		},
	} {
		v, err := row.ParseText(typeOf(t, c.typ), c.text)
		require.NoError(t, err)
		require.Equal(t, c.want, hex.EncodeToString(v.B), c.text)
	}
}

func TestParseTextRefusesNested(t *testing.T) {
	for typ, texts := range map[string][]string{
		tagsType: {"", "x", "null", "{}", "[", "[]]", `["a"`, `[["a"]]`, `[{}]`, "[] []"},
		`{"type":"ARRAY","element":"INT NOT NULL"}`: {`[null]`, `["x"]`},
		attrsType: {"[]", `{"k"}`, `{"k":"x"}`, `{"k":"1","k":"2"}`, `{"k":["1"]}`},
		itemType:  {`{"c":"1"}`, `{"a":{}}`, `[]`, `{"a":"1"`},
		`{"type":"ROW","fields":[{"id":1,"name":"a","type":"INT NOT NULL"}]}`: {`{}`, `{"a":null}`},
	} {
		for _, text := range texts {
			_, err := row.ParseText(typeOf(t, typ), text)
			require.Error(t, err, "%s %s", typ, text)
		}
	}
	for _, kind := range []schema.Kind{schema.Array, schema.Map, schema.Multiset} {
		_, err := row.ParseText(schema.Of(kind), "[]")
		require.ErrorContains(t, err, "lacks the type", kind)
	}
	deep := schema.Of(schema.Int)
	for range 200 {
		element := deep
		deep = schema.Type{Kind: schema.Array, Element: &element}
	}
	_, err := row.ParseText(deep, strings.Repeat("[", 200)+strings.Repeat("]", 200))
	require.ErrorContains(t, err, "deep")
}

func TestTextOfDamagedNestedValues(t *testing.T) {
	for _, typ := range []string{tagsType, attrsType, itemType, countsType} {
		require.Equal(t, "0102", row.Text(typeOf(t, typ), row.Value{B: []byte{1, 2}}))
	}
}

func TestReadMapRefuses(t *testing.T) {
	key, value := schema.Of(schema.Int), schema.Of(schema.Int)
	for data, want := range map[string]string{
		"0000":                               "too short",
		"09000000" + "0000000000000000":      "cannot hold 9 bytes of keys",
		"02000000" + "0000" + "000000000000": "keys",
		"08000000" + "0000000000000000":      "values",
		"08000000" + "0000000000000000" + "01000000000000000500000000000000": "0 keys and 1 values",
	} {
		b, err := hex.DecodeString(data)
		require.NoError(t, err)
		_, _, err = row.ReadMap(b, key, value)
		require.ErrorContains(t, err, want, data)
	}
}

// randomNested wraps a type in others.
func randomNested(r *rand.Rand, all []schema.Type, depth int) schema.Type {
	if depth == 0 {
		return all[r.IntN(len(all))]
	}
	inner := randomNested(r, all, depth-1)
	switch r.IntN(3) {
	case 0:
		return schema.Type{Kind: schema.Array, Element: &inner}
	case 1:
		key := schema.StringType().WithNotNull(true)
		return schema.Type{Kind: schema.Map, Key: &key, Element: &inner}
	}
	return schema.Type{Kind: schema.Row, Fields: []schema.Field{{ID: 1, Name: "a", Type: inner}, {ID: 2, Name: "b", Type: all[r.IntN(len(all))]}}}
}

func randomNestedValue(r *rand.Rand, t schema.Type) row.Value {
	if !t.Nested() {
		return randomValue(r, t)
	}
	if r.IntN(4) == 0 {
		return row.NullValue()
	}
	switch t.Kind {
	case schema.Row:
		values := make([]row.Value, len(t.Fields))
		for i, f := range t.Fields {
			values[i] = randomNestedValue(r, f.Type)
		}
		return row.Value{B: row.AppendBinary(nil, row.Types(t.Fields), values)}
	case schema.Array:
		values := make([]row.Value, r.IntN(4))
		for i := range values {
			values[i] = randomNestedValue(r, *t.Element)
		}
		return row.Value{B: row.AppendArray(nil, *t.Element, values)}
	}
	key, value := row.MapTypes(t)
	var keys, values []row.Value
	for i := range r.IntN(4) {
		keys, values = append(keys, row.Value{B: fmt.Append(nil, "key ", i)}), append(values, randomNestedValue(r, value))
	}
	return row.Value{B: row.AppendMap(nil, key, value, keys, values)}
}

func TestNestedTextComesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var all []schema.Type
	for _, typ := range randomTypes(t) {
		// Of these a fraction beyond the type's digits is printed, and refused when read.
		if typ.Kind != schema.Time && typ.Kind != schema.Timestamp && typ.Kind != schema.TimestampLTZ || typ.Precision == 9 {
			all = append(all, typ)
		}
	}
	for range 500 {
		typ := randomNested(r, all, 1+r.IntN(3))
		v := randomNestedValue(r, typ)
		if v.Null {
			continue
		}
		back, err := row.ParseText(typ, row.Text(typ, v))
		require.NoError(t, err)
		require.Equal(t, v.B, back.B, "%s", typ)
		require.True(t, json.Valid([]byte(row.Text(typ, v))))
	}
}
