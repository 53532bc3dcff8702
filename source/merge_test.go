package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
)

var (
	intType = schema.Of(schema.Int)
	bigType = schema.Of(schema.BigInt)
)

// shardOf makes a table of columns such as "id int!", where ! says NOT NULL.
func shardOf(name string, key []string, columns ...string) Table {
	t := Table{Shard: Shard{"a", "shop", name}, PrimaryKey: key}
	for _, c := range columns {
		var column, definition string
		_, _ = fmt.Sscan(c, &column, &definition)
		kinds := map[string]schema.Type{
			"int": intType, "bigint": bigType, "varchar(9)": schema.StringType(), "varchar(20)": schema.StringType(),
			"decimal(10,2)": schema.DecimalType(10, 2), "decimal(12,2)": schema.DecimalType(12, 2), "decimal(12,4)": schema.DecimalType(12, 4),
			"datetime": {Kind: schema.Timestamp}, "datetime(3)": {Kind: schema.Timestamp, Precision: 3},
			"datetime(6)": {Kind: schema.Timestamp, Precision: 6}, "bit(8)": schema.BytesType(), "geometry": schema.BytesType(),
		}
		base := strings.TrimSuffix(definition, "!")
		c := Column{Name: column, Definition: base, Type: kinds[base].WithNotNull(base != definition)}
		if base == "bit(8)" || base == "geometry" {
			c.Form = base
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

func TestMerge(t *testing.T) {
	key := []string{"id"}
	tables := []Table{
		shardOf("t0", key, "id int!", "name varchar(9)!", "n bigint!"),
		shardOf("t1", []string{"ID"}, "N bigint", "id int!", "Name varchar(20)!"), // other order, case, nullability and length
		shardOf("t2", key, "id int!", "name varchar(9)!", "n bigint!"),
	}
	tables[1].Losses = []Loss{{Column: "N", What: "a loss", Policy: "p"}}
	m, err := Merge(tables, MergeOptions{Provenance: Provenance{Instance: "_instance", Table: "_table"}})
	require.NoError(t, err)
	require.Equal(t, []string{"id"}, m.PrimaryKey)
	require.Equal(t, []ShardLoss{{tables[1].Shard, tables[1].Losses[0]}}, m.Losses)
	require.Len(t, m.Drifts, 1, "nullability")
	notNull := schema.StringType().WithNotNull(true)
	require.Equal(t, []schema.Field{
		{ID: 0, Name: "id", Type: intType.WithNotNull(true)},
		{ID: 1, Name: "name", Type: notNull},
		{ID: 2, Name: "n", Type: bigType},
		{ID: 3, Name: "_instance", Type: notNull},
		{ID: 4, Name: "_table", Type: notNull},
	}, m.Fields())
	instance, table := "a", "t1"
	require.Equal(t, []Output{
		{Column: tables[1].Columns[1], Type: intType.WithNotNull(true)},
		{Column: tables[1].Columns[2], Type: notNull},
		{Column: tables[1].Columns[0], Type: bigType},
		{Type: notNull, Provenance: FromInstance, Constant: &instance},
		{Type: notNull, Provenance: FromTable, Constant: &table},
	}, m.Outputs(tables[1]))
	require.Len(t, m.Outputs(tables[0]), len(m.Fields()))
}

func TestMergeSelection(t *testing.T) {
	tables := []Table{
		shardOf("t0", []string{"id"}, "id int!", "a int", "b int"),
		shardOf("t1", []string{"id"}, "b int", "id int!", "extra int"),
	}
	m, err := Merge(tables, MergeOptions{Columns: []Select{{Name: "B", As: "bee"}, {Name: "id"}}})
	require.NoError(t, err, "what is not selected may differ")
	require.Equal(t, "bee", m.Columns[0].Name)
	require.Equal(t, "b", m.Columns[0].Source)
	require.Equal(t, []string{"id"}, m.PrimaryKey)
	require.Equal(t, "b", m.Outputs(tables[1])[0].Column.Name)
	m, err = Merge(tables, MergeOptions{Columns: []Select{{Name: "b"}}})
	require.NoError(t, err)
	require.Empty(t, m.PrimaryKey)
	_, err = Merge(tables, MergeOptions{Columns: []Select{{Name: "b"}, {Name: "zzz"}}})
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "zzz")
	for _, o := range []MergeOptions{
		{Columns: []Select{{Name: "id"}, {Name: "b", As: "ID"}}},
		{Columns: []Select{{Name: "id"}}, Provenance: Provenance{Database: "id"}},
		{Columns: []Select{{Name: "id"}}, Provenance: Provenance{Database: "_d", Table: "_d"}},
	} {
		_, err = Merge(tables, o)
		require.ErrorIs(t, err, ErrRefused)
		require.ErrorContains(t, err, "would appear twice")
	}
	_, err = Merge(nil, MergeOptions{})
	require.Error(t, err)
}

// TestMergeDrift has shards that differ in every way: under strict all differences come at once, with both sides.
func TestMergeDrift(t *testing.T) {
	tables := []Table{
		shardOf("t0", []string{"id"}, "id int!", "amount decimal(10,2)", "at datetime"),
		shardOf("t1", []string{"id"}, "id bigint!", "amount decimal(12,2)", "at datetime(3)"),
		shardOf("t2", []string{"id", "at"}, "id int!", "amount decimal(10,2)", "more int"),
		shardOf("t3", nil, "id int!", "amount decimal(10,2)", "at datetime"),
	}
	_, err := Merge(tables, MergeOptions{Drift: DriftStrict})
	require.ErrorIs(t, err, ErrRefused)
	var drift *DriftError
	require.ErrorAs(t, err, &drift)
	first := tables[0].Shard
	require.Equal(t, []Drift{
		{Kind: DriftType, Shard: tables[1].Shard, Column: "id", Found: "bigint", Reference: first, Expected: "int"},
		{Kind: DriftType, Shard: tables[1].Shard, Column: "amount", Found: "decimal(12,2)", Reference: first, Expected: "decimal(10,2)"},
		{Kind: DriftType, Shard: tables[1].Shard, Column: "at", Found: "datetime(3)", Reference: first, Expected: "datetime"},
		{Kind: DriftMissing, Shard: tables[2].Shard, Column: "at", Reference: first, Expected: "datetime"},
		{Kind: DriftExtra, Shard: tables[2].Shard, Column: "more", Found: "int", Reference: first},
		{Kind: DriftPrimaryKey, Shard: tables[2].Shard, Found: "id, at", Reference: first, Expected: "id"},
		{Kind: DriftPrimaryKey, Shard: tables[3].Shard, Found: "", Reference: first, Expected: "id"},
	}, drift.Drifts)
	for _, part := range []string{
		"differ in 7 places", `column "id" is bigint in a/shop/t1, but int in a/shop/t0`, `a/shop/t2 lacks column "at"`, `a/shop/t2 has column "more" (int)`,
		"a/shop/t2 has primary key (id, at), but a/shop/t0 has primary key (id)", "a/shop/t3 has no primary key",
	} {
		require.ErrorContains(t, err, part)
	}
	many := &DriftError{Drifts: make([]Drift, 250)}
	for i := range many.Drifts {
		many.Drifts[i].Column = fmt.Sprint(i)
	}
	require.Contains(t, many.Error(), "and 150 more")
}

func TestMergeRefused(t *testing.T) {
	a, b := shardOf("t0", nil, "id int", "x int"), shardOf("t1", nil, "id int", "y int")
	a.Losses = []Loss{{Column: "x", What: "cannot be", Policy: "decimal_overflow: fail", Refused: true}}
	_, err := Merge([]Table{a, b}, MergeOptions{Drift: DriftStrict})
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	var drift *DriftError
	require.ErrorAs(t, err, &drift, "both are told at once")
	require.ErrorContains(t, err, `a/shop/t0 column "x": cannot be (decimal_overflow: fail)`)
	_, err = Merge([]Table{a, b}, MergeOptions{Columns: []Select{{Name: "id"}}})
	require.NoError(t, err)
	many := &RefusedError{Losses: make([]ShardLoss, 250)}
	require.Contains(t, many.Error(), "and 150 more")
}

func TestSchemaChangedError(t *testing.T) {
	e := &SchemaChangedError{Shard: Shard{"a", "b", "c"}}
	require.ErrorIs(t, e, ErrSchemaChanged)
	require.False(t, errors.Is(e, ErrRefused))
	require.ErrorContains(t, e, "a/b/c: the table was dropped")
	e.Column, e.Planned = "n", "int"
	require.ErrorContains(t, e, `column "n" (int) was dropped`)
	e.Found = "bigint"
	require.ErrorContains(t, e, `column "n" was int when the plan was made and is bigint now`)
}
