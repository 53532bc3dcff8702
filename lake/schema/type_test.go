package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
)

// The written forms and aliases are those of Paimon's DataTypeJsonParser.
func TestParseTypeTakesPaimonsForms(t *testing.T) {
	for text, want := range map[string]string{
		"BOOLEAN":                           "BOOLEAN",
		"tinyint":                           "TINYINT",
		"SMALLINT NULL":                     "SMALLINT",
		"INT":                               "INT",
		"INTEGER NOT NULL":                  "INT NOT NULL",
		"  bigint   not\tnull ":             "BIGINT NOT NULL",
		"FLOAT":                             "FLOAT",
		"DOUBLE":                            "DOUBLE",
		"DOUBLE PRECISION":                  "DOUBLE",
		"DATE":                              "DATE",
		"STRING":                            "STRING",
		"VARCHAR":                           "VARCHAR(1)",
		"VARCHAR(20)":                       "VARCHAR(20)",
		"VARCHAR(2147483647)":               "STRING",
		"CHAR":                              "CHAR(1)",
		"CHAR ( 10 )":                       "CHAR(10)",
		"BINARY":                            "BINARY(1)",
		"BINARY(4)":                         "BINARY(4)",
		"VARBINARY":                         "VARBINARY(1)",
		"VARBINARY(2147483647)":             "BYTES",
		"BYTES NOT NULL":                    "BYTES NOT NULL",
		"DECIMAL":                           "DECIMAL(10, 0)",
		"DEC(5)":                            "DECIMAL(5, 0)",
		"NUMERIC(38,38)":                    "DECIMAL(38, 38)",
		"DECIMAL(10, 2) NOT NULL":           "DECIMAL(10, 2) NOT NULL",
		"TIME":                              "TIME(0)",
		"TIME(3) WITHOUT TIME ZONE":         "TIME(3)",
		"TIMESTAMP":                         "TIMESTAMP(6)",
		"TIMESTAMP(9) WITHOUT TIME ZONE":    "TIMESTAMP(9)",
		"TIMESTAMP(3) WITH LOCAL TIME ZONE": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
		"TIMESTAMP_LTZ":                     "TIMESTAMP(6) WITH LOCAL TIME ZONE",
		"TIMESTAMP_LTZ(0) NOT NULL":         "TIMESTAMP(0) WITH LOCAL TIME ZONE NOT NULL",
		"INT NOT NULL ARRAY NOT NULL":       "ARRAY<INT NOT NULL> NOT NULL",
		"STRING MULTISET":                   "MULTISET<STRING>",
	} {
		got, err := schema.ParseType(text)
		require.NoError(t, err)
		require.Equal(t, want, got.String())
	}
}

func TestParseTypeRefusesTheRest(t *testing.T) {
	for _, text := range []string{
		"", "NULL", "NOT NULL", "INT NOT", "INT(3)", "CHAR(0)", "CHAR(", "CHAR()", "CHAR(1", "CHAR(-1)", "VARCHAR(2147483648)",
		"DECIMAL(0)", "DECIMAL(39)", "DECIMAL(5,6)", "DECIMAL(5,", "DECIMAL(5 2)", "TIME(10)", "TIMESTAMP(99999999999999999999)",
		"TIMESTAMP WITH TIME ZONE", "TIMESTAMP_LTZ WITHOUT TIME ZONE", "ARRAY<INT>", "INT ARRAY ARRAY", "ROW", "VARIANT", "`a`", "日",
	} {
		_, err := schema.ParseType(text)
		require.Error(t, err, text)
	}
}

func TestEqual(t *testing.T) {
	row := func(id int, name string, k schema.Kind) schema.Type {
		return schema.Type{Kind: schema.Row, Fields: []schema.Field{{ID: id, Name: name, Type: schema.Of(k)}}}
	}
	array := func(e schema.Type) schema.Type { return schema.Type{Kind: schema.Array, Element: &e} }
	different := []schema.Type{
		schema.Of(schema.Int), schema.Of(schema.Int).WithNotNull(true), schema.Of(schema.BigInt), schema.StringType(),
		{Kind: schema.VarChar, Length: 5},
		schema.BytesType(), schema.DecimalType(10, 2), schema.DecimalType(10, 3),
		{Kind: schema.Timestamp, Precision: 3},
		{Kind: schema.Timestamp, Precision: 6},
		{Kind: schema.TimestampLTZ, Precision: 6},
		row(1, "a", schema.Int), row(2, "a", schema.Int), row(1, "b", schema.Int), row(1, "a", schema.BigInt),
		array(schema.Of(schema.Int)), array(row(1, "a", schema.Int)),
		{Kind: schema.Array},
		{Kind: schema.Map, Key: ptr(schema.Of(schema.Int)), Element: ptr(schema.Of(schema.Int))},
		{Kind: schema.Map, Key: ptr(schema.StringType()), Element: ptr(schema.Of(schema.Int))},
	}
	for i, a := range different {
		for j, b := range different {
			require.Equal(t, i == j, schema.Equal(a, b), "%s and %s", a, b)
		}
	}
}

func FuzzDecodeType(f *testing.F) {
	f.Add("DECIMAL(10, 2) NOT NULL")
	f.Add("TIMESTAMP(3) WITH LOCAL TIME ZONE")
	f.Add("INT NOT NULL ARRAY")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := schema.ParseType(text)
		if err != nil || got.Nested() {
			return
		}
		back, err := schema.ParseType(got.String())
		require.NoError(t, err)
		require.Equal(t, got, back)
	})
}
