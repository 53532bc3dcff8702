package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/config/document"
)

// notYetCases are, for each key of notYetRules, an edit of base that asks for what is not available, and the problem.
func notYetCases() map[string]fault {
	all := notYetTableCases()
	maps.Copy(all, notYetOtherCases())
	return all
}

func notYetTableCases() map[string]fault {
	tableCase := func(text, want string) fault {
		return fault{from: "    match:", to: "    " + text + "\n    match:", want: []string{want}}
	}
	return map[string]fault{
		"tables[].mode": tableCase("mode: cdc",
			"job.yaml:10:11: tables[0].mode: cdc is not available yet; available: full-refresh, append, incremental"),
		"tables[].consistency": tableCase("consistency: exact",
			"job.yaml:10:18: tables[0].consistency: exact is not available yet; available: run, split, shard, instance"),
		"tables[].overwrite": tableCase(`overwrite: [{dt: "1"}]`,
			`job.yaml:10:16: tables[0].overwrite: [{"dt":"1"}] is not available yet; available: table`),
		"tables[].cdc.interval": tableCase("cdc: {interval: 1s}",
			"job.yaml:10:21: tables[0].cdc.interval: 1s is not available yet; available: 10s"),
		"tables[].cdc.rows": tableCase("cdc: {rows: 1}",
			"job.yaml:10:17: tables[0].cdc.rows: 1 is not available yet; available: 0"),
		"tables[].cdc.bytes": tableCase("cdc: {bytes: 1KiB}",
			"job.yaml:10:18: tables[0].cdc.bytes: 1KiB is not available yet; available: 0"),
		"tables[].cdc.schema_change": tableCase("cdc: {schema_change: stop}",
			"job.yaml:10:26: tables[0].cdc.schema_change: stop is not available yet; available: evolve"),
		"tables[].cdc.consistent_cut": tableCase("cdc: {consistent_cut: true}",
			"job.yaml:10:27: tables[0].cdc.consistent_cut: true is not available yet; available: false"),
	}
}

func notYetOtherCases() map[string]fault {
	top := func(text, want string) fault {
		return fault{from: "job: orders", to: "job: orders\n" + text, want: []string{want}}
	}
	target := func(text, want string) fault {
		return fault{from: "  warehouse:", to: "  " + text + "\n  warehouse:", want: []string{want}}
	}
	return map[string]fault{
		"tables[].target.bucket": {from: "{database: ods}", to: "{database: ods, bucket: -2}", want: []string{
			"job.yaml:11:37: tables[0].target.bucket: -2 is not available yet; available: -1 without primary_key; 1 and more with it, or with bucket-key among the options",
		}},
		"target.type": {from: "  warehouse: file:///lake", to: "  type: starrocks", want: []string{
			"job.yaml:13:9: target.type: starrocks is not available yet; available: paimon",
		}},
		"target.catalog.type": target("catalog: {type: hive, uri: thrift://h:9083}",
			"job.yaml:13:19: target.catalog.type: hive is not available yet; available: filesystem"),
		"target.other_writers": target("other_writers: true",
			"job.yaml:13:18: target.other_writers: true is not available yet; available: false"),
		"run.consistency": top("run: {consistency: exact}",
			"job.yaml:2:20: run.consistency: exact is not available yet; available: split, shard, instance"),
	}
}

func TestParseJob_NotYet(t *testing.T) {
	cases := notYetCases()
	for key := range notYetRules() {
		t.Run(key, func(t *testing.T) {
			c, ok := cases[key]
			require.True(t, ok, "a key that is not available yet needs a case")
			job, err := ParseJob("job.yaml", []byte(edited(t, c.from, c.to)))
			require.Nil(t, job)
			var problems Problems
			require.True(t, errors.As(err, &problems))
			require.True(t, problems.OnlyNotYet(), err)
			require.Len(t, problems, len(c.want))
			for i := range c.want {
				require.Equal(t, c.want[i], problems[i].String())
			}
		})
	}
	require.Len(t, cases, len(notYetRules()), "a case whose key is available now goes")
}

func TestParseJob_NotYetDefaultsAreAccepted(t *testing.T) {
	_, err := ParseJob("job.yaml", []byte(edited(t, "    match:", `    watermark: {}
    soft_delete: {}
    primary_key: []
    cdc: {interval: 10000ms, rows: 0, bytes: 0, schema_change: evolve, consistent_cut: false}
    match:`)))
	require.NoError(t, err)
}

// Values that cannot be carried out yet have their place and round trip all the same.
func TestBind_EveryKey(t *testing.T) {
	bind := func(data []byte) *Job {
		r := &report{}
		job := new(Job)
		b := newBinder(r, nil)
		b.bindStruct(reflect.ValueOf(job).Elem(), readNode(r, data), document.Place{})
		require.Empty(t, r.problems)
		return job
	}
	data, err := os.ReadFile("testdata/everything.yaml")
	require.NoError(t, err)
	job := bind(data)
	table := job.Tables[0]
	require.Equal(t, Watermark{Column: "updated_at", Overlap: 5 * time.Minute}, table.Watermark)
	require.Equal(t, SoftDelete{Column: "gone", Value: Scalar{Text: "1"}}, table.SoftDelete)
	require.Equal(t, SoftDelete{Column: "gone", Value: Scalar{Text: "yes", Quoted: true}}, job.Tables[1].SoftDelete)
	require.Equal(t, Scalar{Text: "1.50"}, job.Tables[2].SoftDelete.Value)
	require.Equal(t, Scalar{Text: "true"}, job.Tables[3].SoftDelete.Value)
	require.Equal(t, Overwrite{Partitions: []map[string]string{{"dt": "2026-01-01", "region": "1"}}}, table.Overwrite)
	require.Equal(t, CDC{Interval: time.Second, Rows: 100, Bytes: 1 << 20, SchemaChange: Stop, ConsistentCut: true}, table.CDC)
	require.Equal(t, []Column{{Name: "a", As: "b", Type: "BIGINT"}}, table.Columns)
	require.Equal(t, "s3://lake/staging", job.Target.StagingRoot())
	s3 := job.Target.S3
	require.Equal(t, "${env:AWS_ID} ${file:/run/secrets/aws} ${env:AWS_TOKEN}", fmt.Sprint(s3.AccessKeyID, s3.SecretAccessKey, s3.SessionToken))
	s3.AccessKeyID, s3.SecretAccessKey, s3.SessionToken = Secret{}, Secret{}, Secret{}
	require.Equal(t, S3{
		Endpoint: "https://s3.example.com:9000", Region: "eu-central-1", PathStyle: PathStyleOff, Profile: "lake", SSE: SSEKMS,
		KMSKeyID: "alias/lake", RequesterPays: true, Checksums: ChecksumsRequired, CA: "ca.pem",
	}, s3)
	require.Equal(t, Catalog{Type: HiveCatalog, URI: "thrift://hms:9083"}, job.Target.Catalog)

	written, err := job.JSON()
	require.NoError(t, err)
	require.Equal(t, job, bind(written))
	// Nothing is left at its default, so that a key which is lost on the way is seen.
	fresh := bind([]byte(base))
	for _, pair := range [][2]reflect.Value{
		{reflect.ValueOf(table), reflect.ValueOf(fresh.Tables[0])},
		{reflect.ValueOf(job.Target), reflect.ValueOf(fresh.Target)},
		{reflect.ValueOf(job.Run), reflect.ValueOf(fresh.Run)},
		{reflect.ValueOf(job.Temporal), reflect.ValueOf(fresh.Temporal)},
		{reflect.ValueOf(job.Source.Limits), reflect.ValueOf(fresh.Source.Limits)},
	} {
		for i := range pair[0].NumField() {
			name := pair[0].Type().Field(i).Name
			if name != "Name" && name != "Type" {
				require.NotEqual(t, pair[1].Field(i).Interface(), pair[0].Field(i).Interface(), name)
			}
		}
	}
}
