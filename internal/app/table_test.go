package app

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Two spellings of one folder are one warehouse: one workflow id, one set of marks.
func TestSpellingsOfAWarehouse(t *testing.T) {
	for _, uri := range []string{"/lake/w", "/lake/w/", "/lake//w", "/lake/./w", "file:///lake/w", "file:///lake/w//", "file:/lake/w"} {
		require.Equal(t, "file:///lake/w", root(uri), uri)
	}
	require.Equal(t, "s3://bucket/w", root("s3://bucket/w"))

	env := NewEnv(&config.Masker{})
	job := func(warehouse string) *activities.Job {
		j, err := env.Job(t.Context(), json.RawMessage(`{"job": "orders",
			"source": {"instances": [{"name": "a", "host": "h", "user": "u", "databases": "*"}]},
			"tables": [{"name": "orders", "match": "*", "target": {"database": "ods"}}],
			"target": {"warehouse": "`+warehouse+`"}}`))
		require.NoError(t, err)
		return j
	}
	a, b := job("/lake/w"), job("file:///lake/./w/")
	require.Equal(t, a.Staging, b.Staging)
	require.Equal(t, "file:///lake/w/_tributary", a.Staging)
	require.Equal(t, activities.WorkflowID(a.Tables[0].Warehouse, a.Tables[0].Target), activities.WorkflowID(b.Tables[0].Warehouse, b.Tables[0].Target))
}

func TestSerializerVersionReachesTheWriters(t *testing.T) {
	for text, want := range map[string]int{"": 11, `, "serializer_version": 7`: 7, `, "serializer_version": 12`: 12} {
		j, err := NewEnv(&config.Masker{}).Job(t.Context(), json.RawMessage(`{"job": "orders",
			"source": {"instances": [{"name": "a", "host": "h", "user": "u", "databases": "*"}]},
			"tables": [{"name": "orders", "match": "*", "target": {"database": "ods"}}],
			"target": {"warehouse": "/lake/w"`+text+`}}`))
		require.NoError(t, err)
		require.Equal(t, want, j.Tables[0].SerializerVersion)
	}
}

func TestColumnTypes(t *testing.T) {
	got, err := columnTypes(&config.Table{Columns: []config.Column{
		{Name: "Id", Type: "bigint"}, {Name: "plain"}, {Name: "amount", Type: "DECIMAL(38, 18) NOT NULL"}, {Name: "id", As: "again", Type: "bigint"},
	}})
	require.NoError(t, err)
	require.Equal(t, map[string]schema.Type{"id": schema.Of(schema.BigInt), "amount": schema.DecimalType(38, 18).WithNotNull(true)}, got)
	for text, columns := range map[string][]config.Column{
		"type of column a":                  {{Name: "a", Type: "NUMBER(5)"}},
		"INT ARRAY is no type":              {{Name: "a", Type: "INT ARRAY"}},
		"type of column b":                  {{Name: "b", Type: "DECIMAL(39, 2)"}},
		`selected twice, with the types ""`: {{Name: "a"}, {Name: "A", As: "b", Type: "INT"}},
	} {
		_, err := columnTypes(&config.Table{Name: "orders", Columns: columns})
		require.ErrorIs(t, err, activities.ErrConfig)
		require.ErrorContains(t, err, text)
		require.ErrorContains(t, err, "table orders")
	}
}

func TestJobProblemsAreConfigErrors(t *testing.T) {
	env := NewEnv(&config.Masker{})
	_, err := env.Job(t.Context(), json.RawMessage(`{"job": "orders", "modus": 1}`))
	require.ErrorIs(t, err, activities.ErrConfig)
	require.ErrorContains(t, err, "modus")
	_, err = env.Open(t.Context(), json.RawMessage(`{`), "orders")
	require.ErrorIs(t, err, activities.ErrConfig)
}
