package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// base is a valid job; its line numbers are used below.
const base = `job: orders
source:
  instances:
    - name: a
      host: db
      user: sync
      databases: "shop_*"
tables:
  - name: orders
    match: "orders_*"
    target: {database: ods}
target:
  warehouse: file:///lake
`

// edited is base with a text replaced, which must be there.
func edited(t *testing.T, from, to string) string {
	t.Helper()
	require.Contains(t, base, from)
	return strings.Replace(base, from, to, 1)
}

func TestParseJob_Defaults(t *testing.T) {
	job, err := ParseJob("job.yaml", []byte(base))
	require.NoError(t, err)
	require.Equal(t, Temporal{Address: "127.0.0.1:7233", Namespace: "default", TaskQueue: "tributary"}, job.Temporal)
	require.Equal(t, MySQL, job.Source.Type)
	require.Equal(t, Limits{Connections: 8, MaxReplicaLag: 30 * time.Second}, job.Source.Limits)
	instance := job.Source.Instances[0]
	require.Equal(t, 3306, instance.Port)
	require.Equal(t, TLS{Mode: TLSPreferred}, instance.TLS)
	require.Equal(t, Replica{}, instance.Replica)
	require.True(t, instance.Password.IsZero())
	require.True(t, instance.Databases.Match("shop_1"))
	table := job.Tables[0]
	require.Equal(t, FullRefresh, table.Mode)
	require.Equal(t, []string{"_instance", "_database", "_table"}, table.Provenance.Names())
	require.Equal(t, Split{Column: AutoSplit, Rows: 250_000}, table.Split)
	require.Equal(t, Types{TinyInt1Tinyint, TimeAsString, ZeroDateFail, nil, DecimalFail}, table.Types)
	require.Equal(t, Widen, table.Drift)
	require.Equal(t, FailOnConflict, table.OnConflict)
	require.Equal(t, FailOnEmpty, table.EmptySource)
	require.Equal(t, FailOnCollision, table.OnKeyCollision)
	require.Equal(t, NoDeletes, table.DetectDeletes)
	require.Equal(t, CDC{Interval: 10 * time.Second, SchemaChange: Evolve}, table.CDC)
	require.Equal(t, TableTarget{Database: "ods", Table: "orders", Bucket: -1}, table.Target)
	require.Empty(t, table.Overwrite.Partitions)
	require.True(t, table.Exclude.IsZero())
	require.Equal(t, Paimon, job.Target.Type)
	require.Equal(t, "file:///lake/_tributary", job.Target.StagingRoot())
	require.Equal(t, FilesystemCatalog, job.Target.Catalog.Type)
	require.Equal(t, SerializerVersion(11), job.Target.SerializerVersion)
	require.Equal(t, Run{Parallelism: 4, Memory: 1 << 30, Consistency: SplitConsistency, Verify: VerifyCounts, Moment: AutoMoment, Retention: 72 * time.Hour}, job.Run)
}

// testdata/contract.yaml is the job file as it was first published, with a watermark taken out, which mode
// full-refresh does not use.
func TestParseJob_PublishedExample(t *testing.T) {
	data, err := os.ReadFile("testdata/contract.yaml")
	require.NoError(t, err)
	job, err := ParseJob("job.yaml", data)
	require.NoError(t, err)
	require.Equal(t, 33062, job.Source.Instances[1].Port)
	require.Equal(t, TLS{Mode: TLSVerifyCA, CA: "ca.pem"}, job.Source.Instances[1].TLS)
	require.Equal(t, "${file:/run/secrets/mysql}", job.Source.Instances[1].Password.String())
	require.True(t, job.Source.Instances[1].Databases.Match("mall_7"))

	// Every other value that the example shows is the default.
	short := `
job: orders
source:
  instances:
    - {name: a, host: 127.0.0.1, port: 33061, user: sync, password: "${env:MYSQL_PASSWORD}", databases: "shop_*"}
    - {name: b, host: 127.0.0.1, port: 33062, user: sync, password: "${file:/run/secrets/mysql}", databases: ["shop_*", "/^mall_[0-9]+$/"], tls: {mode: verify-ca, ca: ca.pem}}
tables:
  - {name: orders, match: "orders_*", target: {database: ods}}
target: {warehouse: "file:///var/lib/tributary/lake"}
`
	same, err := ParseJob("short.yaml", []byte(short))
	require.NoError(t, err)
	require.Equal(t, job, same)
}

func TestParseJob_TablesLongForms(t *testing.T) {
	job, err := ParseJob("job.yaml", []byte(edited(t, "    target: {database: ods}", `    exclude: ["*_old", "/_[0-9]{8}$/"]
    columns: [id, {name: ref, as: referrer}]
    where: "id > 10 AND note <> '<&>'"
    mode: append
    provenance: {database: db, table: tbl}
    types: {tinyint1: boolean, zero_date: null, decimal_overflow: string}
    drift: strict
    on_conflict: replace
    empty_source: empty
    split: {column: id, rows: 10, count: 3}
    target:
      database: ods
      table: o.v1
      partition: [db]
      options: {file.format: parquet, Write.Buffer: 256, x: 1.50, y: true}`)))
	require.NoError(t, err)
	table := job.Tables[0]
	require.True(t, table.Exclude.Match("orders_20260101"))
	require.False(t, table.Exclude.Match("orders_1"))
	require.Equal(t, []Column{{Name: "id"}, {Name: "ref", As: "referrer"}}, table.Columns)
	require.Equal(t, "referrer", table.Columns[1].Target())
	require.Equal(t, "id > 10 AND note <> '<&>'", table.Where)
	require.Equal(t, Append, table.Mode)
	require.Equal(t, Provenance{Database: "db", Table: "tbl"}, table.Provenance)
	require.Equal(t, Types{TinyInt1Boolean, TimeAsString, ZeroDateNull, nil, DecimalString}, table.Types)
	require.Equal(t, Split{"id", 10, 3}, table.Split)
	require.Equal(t, "o.v1", table.Target.Table)
	require.Equal(t, map[string]string{"file.format": "parquet", "Write.Buffer": "256", "x": "1.50", "y": "true"}, table.Target.Options)
}

// Columns out of names, and zero dates by column, in the forms that people write.
func TestParseJob_DerivedColumnsAndZeroDates(t *testing.T) {
	job, err := ParseJob("job.yaml", []byte(edited(t, "    target: {database: ods}", `    types: {zero_date: epoch, zero_date_columns: {Paid: null, born: fail, "on": "null"}}
    provenance:
      database: shard
      columns:
        - {name: region, from: database, pattern: "shop_(?P<region>[a-z]+)_([0-9]+)"}
        - {name: number, pattern: "orders_([0-9]+)", type: INT}
    target: {database: ods, partition: [region]}`)))
	require.NoError(t, err)
	table := job.Tables[0]
	require.Equal(t, ZeroDates{"Paid": ZeroDateNull, "born": ZeroDateFail, "on": ZeroDateNull}, table.Types.ZeroDateColumns)
	require.Equal(t, Provenance{Database: "shard", Columns: []DerivedColumn{
		{Name: "region", From: "database", Pattern: "shop_(?P<region>[a-z]+)_([0-9]+)", Type: "STRING"},
		{Name: "number", From: "table", Pattern: "orders_([0-9]+)", Type: "INT"},
	}}, table.Provenance)
	require.Equal(t, []string{"shard", "region", "number"}, table.Provenance.Names())
	canonical, err := job.JSON()
	require.NoError(t, err)
	again, err := ParseJob("", canonical)
	require.NoError(t, err)
	require.Equal(t, job, again)
}

func TestParseJob_AnchorsAndMergeKeys(t *testing.T) {
	job, err := ParseJob("job.yaml", []byte(edited(t, "    - name: a\n      host: db\n      user: sync\n", `    - &first
      name: a
      host: db
      user: sync
      limits-are: elsewhere
`)))
	require.Nil(t, job)
	require.EqualError(t, err, `job.yaml:8:7: source.instances[0].limits-are: unknown key; known: name, host, port, user, password, databases, tls, replica`)

	job, err = ParseJob("job.yaml", []byte(edited(t, `    - name: a
      host: db
      user: sync
      databases: "shop_*"
`, `    - &first
      name: a
      host: db
      user: sync
      databases: &all [shop_1, shop_2]
    - {<<: *first, name: b, host: other}
    - {name: c, host: third, user: x, databases: *all}
`)))
	require.NoError(t, err)
	require.Len(t, job.Source.Instances, 3)
	require.Equal(t, "b", job.Source.Instances[1].Name)
	require.Equal(t, "other", job.Source.Instances[1].Host)
	require.Equal(t, "sync", job.Source.Instances[1].User)
	require.Equal(t, []string{"shop_1", "shop_2"}, job.Source.Instances[2].Databases.Texts())
}

func TestParseJob_AliasBomb(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ",") + "]\n"
	}
	_, err := ParseJob("job.yaml", []byte(bomb))
	require.ErrorContains(t, err, "aliases expand to too much")
	_, err = ParseJob("job.yaml", []byte("a: &a [*a]\n"))
	require.ErrorContains(t, err, "job.yaml:1:8: a[0]: no anchor &a stands before this alias")
}

func TestParseJob_YAMLAndJSONAgree(t *testing.T) {
	fromYAML, err := ParseJob("job.yaml", []byte(base))
	require.NoError(t, err)
	written, err := fromYAML.JSON()
	require.NoError(t, err)
	fromJSON, err := ParseJob("", written)
	require.NoError(t, err)
	require.Equal(t, fromYAML, fromJSON)

	var decoded Job
	require.NoError(t, json.Unmarshal(written, &decoded))
	require.Equal(t, *fromYAML, decoded)
	again, err := json.Marshal(&decoded)
	require.NoError(t, err)
	require.JSONEq(t, string(written), string(again))
}

func TestParseJob_JSONProblemsHavePaths(t *testing.T) {
	const input = `{"job":"x","source":{"instances":[{"name":"a","host":"h","user":7,"databases":"*","databases":"*"}]},
 "tables":[{"name":"t","match":"t","mode":"full","target":{"database":"d"}}], "target":{"warehouse":"/l"}}`
	_, err := ParseJob("", []byte(input))
	require.EqualError(t, err, strings.Join([]string{
		`source.instances[0].user: must be text, not a whole number; write it in quotes: "7"`,
		`source.instances[0].databases: the key is there twice`,
		`tables[0].mode: "full" is not one of full-refresh, append, incremental, cdc`,
	}, "\n"))
	_, err = ParseJob("job.json", []byte(input))
	require.ErrorContains(t, err, `job.json:2:43: tables[0].mode: "full" is not`)
	_, err = ParseJob("job.json", []byte("{\n \"job\": }"))
	require.EqualError(t, err, `job.json:2:9: malformed JSON: invalid character '}' looking for beginning of value`)
}

func TestLoadJob_Examples(t *testing.T) {
	files, err := filepath.Glob("../examples/*")
	require.NoError(t, err)
	parsed := 0
	for _, file := range files {
		if filepath.Base(file) == "worker.yaml" || filepath.Ext(file) != ".yaml" && filepath.Ext(file) != ".json" {
			continue
		}
		parsed++
		t.Run(filepath.Base(file), func(t *testing.T) {
			job, err := LoadJob(file)
			require.NoError(t, err)
			require.NotEmpty(t, job.Tables)
		})
	}
	require.GreaterOrEqual(t, parsed, 3)
}

func TestLoadJob_NoFile(t *testing.T) {
	_, err := LoadJob(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "read job file")
}

// The server that is read is the instance's own, or its replica, which is read unless the job says otherwise.
func TestInstance_Server(t *testing.T) {
	for text, want := range map[string]struct {
		replica Replica
		address string
	}{
		"{}":                                {Replica{}, "db:3306"},
		"{host: copy}":                      {Replica{"copy", 3306, true}, "copy:3306"},
		"{host: copy, port: 1, read: true}": {Replica{"copy", 1, true}, "copy:1"},
		"{host: copy, read: false}":         {Replica{"copy", 3306, false}, "db:3306"},
	} {
		job, err := ParseJob("job.yaml", []byte(edited(t, "      host: db", "      host: db\n      replica: "+text)))
		require.NoError(t, err, text)
		instance := &job.Source.Instances[0]
		require.Equal(t, want.replica, instance.Replica, text)
		host, port := instance.Server()
		require.Equal(t, want.address, fmt.Sprintf("%s:%d", host, port), text)
	}
}
