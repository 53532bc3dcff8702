package hive_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	metastore "github.com/beltran/gohive/hive_metastore"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/catalog/catalogtest"
	"github.com/tributary-lake/tributary/lake/catalog/hive"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/schema"
)

// each runs a test over every version of the metastore.
func each(t *testing.T, test func(t *testing.T, m *testenv.HiveMetastore)) {
	for _, version := range testenv.MetastoreVersions() {
		t.Run(version, func(t *testing.T) { test(t, testenv.Metastore(t, version)) })
	}
}

func raw(t *testing.T, m *testenv.HiveMetastore) *metastore.ThriftHiveMetastoreClient {
	t.Helper()
	socket := thrift.NewTSocketConf(m.Address, &thrift.TConfiguration{SocketTimeout: time.Minute})
	require.NoError(t, socket.Open())
	t.Cleanup(func() { _ = socket.Close() })
	protocol := thrift.NewTBinaryProtocolConf(thrift.NewTBufferedTransport(socket, 64<<10), nil)
	return metastore.NewThriftHiveMetastoreClient(thrift.NewTStandardClient(protocol, protocol))
}

// empty is the catalog of a new warehouse in a metastore that has nothing but its default database.
func empty(t *testing.T, m *testenv.HiveMetastore) (*hive.Catalog, fileio.Store) {
	t.Helper()
	api := raw(t, m)
	databases, err := api.GetAllDatabases(t.Context())
	require.NoError(t, err)
	for _, d := range databases {
		if d != "default" {
			require.NoError(t, api.DropDatabase(t.Context(), d, false, true))
		}
	}
	return open(t, t.TempDir(), hive.Config{URIs: []string{m.URI()}})
}

func open(t *testing.T, warehouse string, config hive.Config) (*hive.Catalog, fileio.Store) {
	t.Helper()
	store, err := fileio.NewLocal(warehouse)
	require.NoError(t, err)
	c, err := hive.New(store, config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, store
}

func orders() catalog.Identifier { return catalog.Identifier{Database: "ods", Table: "orders"} }

func table(t *testing.T, text string) *schema.Table {
	t.Helper()
	var s schema.Spec
	words, number := schema.StringType(), schema.Of(schema.Int)
	nested := map[string]schema.Type{
		"tags": {Kind: schema.Array, Element: &words}, "counts": {Kind: schema.Map, Key: &words, Element: &number},
	}
	kinds := []struct{ name, kind string }{
		{"id", "BIGINT NOT NULL"},
		{"price", "DECIMAL(10, 2)"},
		{"flag", "BOOLEAN"},
		{"small", "SMALLINT"},
		{"code", "CHAR(3)"},
		{"name", "VARCHAR(100)"},
		{"note", "STRING"},
		{"raw", "BYTES"},
		{"at", "TIMESTAMP(3)"},
		{"seen", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
		{"clock", "TIME(0)"},
		{"tags", ""},
		{"counts", ""},
		{"day", "DATE"},
		{"region", "STRING"},
	}
	for _, k := range kinds {
		kind, ok := nested[k.name]
		if !ok {
			var err error
			kind, err = schema.ParseType(k.kind)
			require.NoError(t, err)
		}
		s.Fields = append(s.Fields, schema.Field{Name: k.name, Type: kind})
	}
	s.Fields[0].Description = "the key"
	s.PartitionKeys, s.Comment, s.TimeMillis = []string{"day", "region"}, text, 1_700_000_000_000
	s.Options = map[string]string{"bucket": "-1", "metastore.partitioned-table": "true"}
	out, err := schema.New(s)
	require.NoError(t, err)
	return out
}

func TestSuite(t *testing.T) {
	each(t, func(t *testing.T, m *testenv.HiveMetastore) {
		catalogtest.Run(t, func(t *testing.T) catalog.Catalog { c, _ := empty(t, m); return c })
	})
}

// get is a table as the metastore has it.
func get(t *testing.T, m *testenv.HiveMetastore, id catalog.Identifier) *metastore.Table {
	t.Helper()
	request := metastore.NewGetTableRequest()
	request.DbName, request.TblName = id.Database, id.Table
	got, err := raw(t, m).GetTableReq(context.WithoutCancel(t.Context()), request)
	require.NoError(t, err)
	return got.Table
}
