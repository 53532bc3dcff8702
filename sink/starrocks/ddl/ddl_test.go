package ddl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/sink"
	"github.com/tributary-lake/tributary/sink/starrocks/ddl"
)

// TestMap has MySQL's types, the lake's that they became, and StarRocks'. Lengths are those of the MySQL manual's "Data Type
// Storage Requirements", limits those of StarRocks' "System limits".
func TestMap(t *testing.T) {
	const limit = 1 << 20
	for _, c := range []struct {
		definition, lake, want string
		limit                  int
	}{
		{"tinyint(1)", "TINYINT", "TINYINT", 0},
		{"bit(1)", "BOOLEAN", "BOOLEAN", 0},
		{"smallint(5) unsigned", "INT", "INT", 0},
		{"int(10) unsigned", "BIGINT", "BIGINT", 0},
		{"bigint(20)", "BIGINT", "BIGINT", 0},
		{"bigint(20) unsigned", "DECIMAL(20, 0)", "LARGEINT", 0},
		{"bigint unsigned not null", "DECIMAL(20, 0) NOT NULL", "LARGEINT", 0},
		{"decimal(20,0)", "DECIMAL(20, 0)", "DECIMAL(20,0)", 0},
		{"decimal(38,10)", "DECIMAL(38, 10)", "DECIMAL(38,10)", 0},
		{"decimal(65,30)", "STRING", "VARCHAR(68)", 0},
		{"float", "FLOAT", "FLOAT", 0},
		{"double", "DOUBLE", "DOUBLE", 0},
		{"varchar(20) character set utf8mb4", "STRING", "VARCHAR(80)", 0},
		{"varchar(0)", "STRING", "VARCHAR(1)", 0},
		{"char", "STRING", "VARCHAR(4)", 0},
		{"varchar(20)", "VARCHAR(30)", "VARCHAR(120)", 0},
		{"text", "STRING", "VARCHAR(262140)", 0},
		{"mediumtext", "STRING", "VARCHAR(1048576)", limit},
		{"json", "STRING", "VARCHAR(1048576)", limit},
		{"enum('a','b')", "STRING", "VARCHAR(1020)", 0},
		{"time(6)", "STRING", "VARCHAR(17)", 0},
		{"time(3)", "TIME(3)", "VARCHAR(17)", 0},
		{"year(4)", "INT", "INT", 0},
		{"varbinary(16)", "BYTES", "VARBINARY(16)", 0},
		{"blob", "BYTES", "VARBINARY(65535)", 0},
		{"longblob", "BYTES", "VARBINARY(1048576)", limit},
		{"bit(9)", "BYTES", "VARBINARY(8)", 0},
		{"date", "DATE", "DATE", 0},
		{"datetime(6)", "TIMESTAMP(6)", "DATETIME", 0},
		{"timestamp", "TIMESTAMP(0) WITH LOCAL TIME ZONE", "DATETIME", 0},
	} {
		typ, err := schema.ParseType(c.lake)
		require.NoError(t, err)
		m, err := ddl.Map(ddl.Column{Name: "c", Type: typ, Definitions: []string{c.definition}})
		require.NoError(t, err)
		require.Equal(t, c.want, m.Type, c.definition)
		require.Equal(t, c.limit, m.Limit, c.definition)
	}
}

// Shards may differ: the type holds the values of all of them, and of those that nothing is known of.
func TestMapTakesTheLongestOfShards(t *testing.T) {
	of := func(definitions ...string) string {
		m, err := ddl.Map(ddl.Column{Name: "c", Type: schema.StringType(), Definitions: definitions})
		require.NoError(t, err)
		return m.Type
	}
	require.Equal(t, "VARCHAR(120)", of("varchar(20)", "varchar(30)"))
	require.Equal(t, "VARCHAR(1048576)", of("varchar(20)", "longtext"))
	require.Equal(t, "VARCHAR(1048576)", of())
	require.Equal(t, "VARCHAR(1048576)", of("point"))
	m, err := ddl.Map(ddl.Column{Type: schema.DecimalType(20, 0), Definitions: []string{"bigint unsigned", "decimal(20,0)"}})
	require.NoError(t, err)
	require.Equal(t, "DECIMAL(20,0)", m.Type)
}

func TestMapRefusesWhatHasNoCounterpart(t *testing.T) {
	element := schema.Of(schema.Int)
	for _, typ := range []schema.Type{{Kind: schema.Array, Element: &element}, {Kind: schema.Timestamp, Precision: 9}, {Kind: schema.Multiset, Element: &element}} {
		_, err := ddl.Map(ddl.Column{Name: "c", Type: typ})
		require.ErrorContains(t, err, `"c"`)
	}
}

func column(name, typ string, definitions ...string) ddl.Column {
	t, err := schema.ParseType(typ)
	if err != nil {
		panic(err)
	}
	return ddl.Column{Name: name, Type: t, Definitions: definitions}
}

// StarRocks wants the key's columns first, and those of a primary key NOT NULL.
func TestCreate(t *testing.T) {
	table := ddl.Table{
		Table:   sink.Table{Database: "shop", Name: "or`ders"},
		Columns: []ddl.Column{column("note", "STRING", "varchar(10)"), column("id", "BIGINT NOT NULL"), column("shard", "STRING NOT NULL", "varchar(8)")},
		Model:   ddl.Primary, Keys: []string{"ID", "shard"}, Distribution: []string{"id"}, Buckets: 4,
		Properties: map[string]string{"replication_num": "1", "a": `x"y`}, Comment: `say "hi"`, Partition: "date_trunc('day', dt)",
	}
	table.Columns[0].Comment = "a\nb"
	got, err := table.Create()
	require.NoError(t, err)
	require.Equal(t, "CREATE TABLE IF NOT EXISTS `shop`.`or``ders` (\n"+
		"  `id` BIGINT NOT NULL,\n"+
		"  `shard` VARCHAR(32) NOT NULL,\n"+
		"  `note` VARCHAR(40) NULL COMMENT \"a\\nb\"\n"+
		") ENGINE=OLAP\n"+
		"PRIMARY KEY (`ID`, `shard`)\n"+
		"COMMENT \"say \\\"hi\\\"\"\n"+
		"PARTITION BY date_trunc('day', dt)\n"+
		"DISTRIBUTED BY HASH (`id`) BUCKETS 4\n"+
		`PROPERTIES ("a" = "x\"y", "replication_num" = "1")`, got)
}

func TestCreateChoosesAKeyForADuplicateTable(t *testing.T) {
	got, err := ddl.Table{
		Table: sink.Table{Database: "d", Name: "t"}, Model: ddl.Duplicate,
		Columns: []ddl.Column{column("f", "FLOAT"), column("b", "BYTES"), column("n", "INT")},
	}.Create()
	require.NoError(t, err)
	require.Contains(t, got, "(\n  `n` INT NULL,\n  `f` FLOAT NULL,\n  `b` VARBINARY(1048576) NULL\n)")
	require.Contains(t, got, "DUPLICATE KEY (`n`)\nDISTRIBUTED BY HASH (`n`)")
}

// The pages "Primary Key table", "System limits" and "BINARY/VARBINARY" have what no key may be.
func TestCreateRefusesKeysThatStarRocksWould(t *testing.T) {
	for _, c := range []struct {
		model ddl.Model
		key   string
		want  string
	}{
		{ddl.Primary, "d", "no primary key"},
		{ddl.Primary, "nullable", "may be NULL"},
		{ddl.Primary, "f", "no key"},
		{ddl.Duplicate, "b", "no key"},
		{ddl.Unique, "f", "no key"},
		{ddl.Primary, "gone", "no column"},
		{ddl.Unique, "", "needs columns"},
	} {
		table := ddl.Table{
			Table: sink.Table{Database: "d", Name: "t"}, Model: c.model,
			Columns: []ddl.Column{column("d", "DECIMAL(10, 2) NOT NULL"), column("nullable", "INT"), column("f", "DOUBLE NOT NULL"), column("b", "BYTES NOT NULL")},
		}
		if c.key != "" {
			table.Keys = []string{c.key}
		}
		_, err := table.Create()
		require.ErrorContains(t, err, c.want, "%s %s", c.model, c.key)
	}
	_, err := ddl.Table{Model: ddl.Duplicate, Columns: []ddl.Column{column("f", "FLOAT")}}.Create()
	require.ErrorContains(t, err, "no column can be its key")
	_, err = ddl.Table{Model: ddl.Primary, Keys: []string{"i"}, Distribution: []string{"j"}, Columns: []ddl.Column{column("i", "INT NOT NULL"), column("j", "INT NOT NULL")}}.Create()
	require.ErrorContains(t, err, "not in the PRIMARY KEY")
}
