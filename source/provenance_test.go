package source

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
)

func shopShard(database, table string) Table {
	t := shardOf(table, []string{"id"}, "id int!")
	t.Shard.Database = database
	return t
}

// Parts of names become columns: the group that is called like the column, or the only one.
func TestDerivedColumns(t *testing.T) {
	tables := []Table{shopShard("shop_eu_007", "orders_1"), shopShard("shop_us_12", "orders_2")}
	p := Provenance{Database: "db", Derived: []Derived{
		{Name: "region", From: FromDatabase, Pattern: "shop_(?P<region>[a-z]+)_([0-9]+)"},
		{Name: "number", From: FromDatabase, Pattern: "(?:shop)_.*_([0-9]+)", Type: schema.Of(schema.SmallInt)},
	}}
	m, err := Merge(tables, MergeOptions{Provenance: p})
	require.NoError(t, err)
	fields := m.Fields()
	require.Equal(t, "region", fields[2].Name)
	require.Equal(t, schema.StringType().WithNotNull(true), fields[2].Type)
	require.Equal(t, schema.Of(schema.SmallInt).WithNotNull(true), fields[3].Type)
	for i, want := range [][]string{{"shop_eu_007", "eu", "007"}, {"shop_us_12", "us", "12"}} {
		outputs := m.Outputs(tables[i])
		for j, text := range want {
			require.Equal(t, text, *outputs[1+j].Constant)
			outputs[1+j].Constant = nil // as in a plan
			again, err := outputs[1+j].ConstantOf(tables[i].Shard)
			require.NoError(t, err)
			require.Equal(t, text, *again)
		}
	}
	first, second := m.Outputs(tables[0])[2], m.Outputs(tables[1])[2]
	first.Constant, second.Constant = nil, nil
	require.Equal(t, first, second, "shards alike share their outputs in a plan")
}

// Names that do not match, or are no number of the type, refuse the merge and are named; shards that are left out may be.
func TestDerivedColumnsRefuse(t *testing.T) {
	tables := []Table{shopShard("shop_eu_7", "orders_1"), shopShard("SHOP_eu_7", "orders_1"), shopShard("xshop_eu_7", "orders_1"), shopShard("shop_eu_300", "orders_1")}
	number := Derived{Name: "n", From: FromDatabase, Pattern: "shop_[a-z]+_([0-9]+)", Type: schema.Of(schema.TinyInt)}
	_, err := Merge(tables, MergeOptions{Provenance: Provenance{Derived: []Derived{number}}})
	require.ErrorIs(t, err, ErrRefused)
	for _, part := range []string{
		"3 names of shards", `a/SHOP_eu_7/orders_1: database "SHOP_eu_7" does not match`, `a/xshop_eu_7/orders_1: database "xshop_eu_7" does not match`,
		`a/shop_eu_300/orders_1: database "shop_eu_300" gives "300", which is no TINYINT`,
	} {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "a/shop_eu_7/")
	_, err = Merge(tables[:1], MergeOptions{Provenance: Provenance{Table: "n", Derived: []Derived{number}}})
	require.ErrorContains(t, err, "would appear twice")

	odd := shopShard("odd", "orders_1")
	odd.PrimaryKey = nil
	m, err := Merge([]Table{tables[0], shopShard("shop_us_8", "orders_1"), odd}, MergeOptions{Provenance: Provenance{Derived: []Derived{number}}, Drift: DriftQuarantine})
	require.NoError(t, err, "nothing is read of a shard that is left out")
	require.Len(t, m.LeftOut, 1)

	for pattern, says := range map[string]string{"a.*": "has no group", "(a)(b)": "has 2 groups", "(": "is not a regular expression"} {
		_, err := Merge(tables[:1], MergeOptions{Provenance: Provenance{Derived: []Derived{{Name: "n", From: FromTable, Pattern: pattern}}}})
		require.ErrorIs(t, err, ErrRefused)
		require.ErrorContains(t, err, says)
	}
	_, err = Merge(tables[:1], MergeOptions{Provenance: Provenance{Derived: []Derived{{Name: "n", From: FromTable, Pattern: "(.*)", Type: schema.Of(schema.Date)}}}})
	require.ErrorContains(t, err, "is no type for a part of a name")
}
