package config

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/config/document"
)

// fault is an edit of base that makes it wrong, and the problems that must be reported, all of them.
type fault struct {
	name, from, to string
	want           []string
	// structural faults can be seen in one value, so the published schema must refuse them too.
	structural bool
}

func faults() []fault {
	return slices.Concat(keyFaults(), valueFaults(), addressFaults(), relationFaults())
}

func keyFaults() []fault {
	return []fault{
		{"unknown key", "job: orders", "job: orders\ntemporall: {}", []string{
			`job.yaml:2:1: temporall: unknown key; did you mean "temporal"?`,
		}, true},
		{"unknown key, nothing near", "job: orders", "job: orders\nzzzzzzzzz: 1", []string{
			`job.yaml:2:1: zzzzzzzzz: unknown key; known: job, temporal, source, tables, target, run`,
		}, true},
		{"unknown nested key with a dash", "    match:", "    empty-source: fail\n    match:", []string{
			`job.yaml:10:5: tables[0].empty-source: unknown key; did you mean "empty_source"?`,
		}, true},
		{"keys keep their case", "job: orders", "Job: orders", []string{
			`job.yaml:1:1: Job: unknown key; did you mean "job"?`,
			`job.yaml:1:1: job: is missing; The job's name. It names runs, folders and the Paimon commit user.`,
		}, true},
		{"duplicate key", "      host: db", "      host: db\n      host: other", []string{
			`job.yaml:6:7: source.instances[0].host: the key is already in line 5`,
		}, false},
		{"missing key", "      host: db\n", "", []string{
			`job.yaml:4:7: source.instances[0].host: is missing; Host name or address.`,
		}, true},
		{"missing section", "target:\n  warehouse: file:///lake\n", "", []string{
			`job.yaml:1:1: target: is missing; Where rows go.`,
		}, true},
		{"missing warehouse", "  warehouse: file:///lake", "  catalog: {}", []string{
			`job.yaml:13:3: target.warehouse: is missing; a Paimon target needs a warehouse, such as file:///var/lib/tributary/lake`,
		}, false},
		{"number for text", "job: orders", "job: 12", []string{
			`job.yaml:1:6: job: must be text, not a whole number; write it in quotes: "12"`,
		}, true},
		{"text for number", "      host: db", "      host: db\n      port: \"x\"", []string{
			`job.yaml:6:13: source.instances[0].port: must be a whole number, not text`,
		}, true},
		{"number out of range", "      host: db", "      host: db\n      port: 70000", []string{
			`job.yaml:6:13: source.instances[0].port: 70000 is not between 1 and 65535`,
		}, true},
		{"number too large to hold", "  warehouse:", "  serializer_version: 9223372036854775808\n  warehouse:", []string{
			`job.yaml:13:23: target.serializer_version: "9223372036854775808" is not a whole number in range`,
		}, true},
		{"text for bool", "  warehouse:", "  other_writers: yes\n  warehouse:", []string{
			`job.yaml:13:18: target.other_writers: must be true or false, not text`,
		}, true},
		{"text for list", "    match:", "    primary_key: id\n    match:", []string{
			`job.yaml:10:18: tables[0].primary_key: must be a list, not text; write ["id"]`,
		}, true},
		{"list for mapping", "job: orders", "job: orders\nrun: [1]", []string{
			`job.yaml:2:6: run: must be a mapping of keys, not a list`,
		}, true},
		{"key without value", "    match:", "    where:\n    match:", []string{
			`job.yaml:10:5: tables[0].where: has no value; give text or remove the key`,
		}, true},
		{"empty list", `    match: "orders_*"`, "    match: []", []string{
			`job.yaml:10:12: tables[0].match: the list is empty; give at least one pattern; "*" is all`,
		}, true},
		{"empty tables", "tables:\n  - name: orders\n    match: \"orders_*\"\n    target: {database: ods}\n", "tables: []\n", []string{
			`job.yaml:8:9: tables: the list is empty; give at least one`,
		}, true},
	}
}

func valueFaults() []fault {
	return []fault{
		{"derived column of another type", "    match:", "    provenance: {columns: [{name: r, from: schema, pattern: '(.)', type: DATE}]}\n    match:", []string{
			`job.yaml:10:44: tables[0].provenance.columns[0].from: "schema" is not one of table, database, instance`,
			`job.yaml:10:74: tables[0].provenance.columns[0].type: "DATE" is not one of STRING, TINYINT, SMALLINT, INT, BIGINT`,
		}, true},
		{"zero date of a column", "    match:", "    types: {zero_date_columns: {a: zero}}\n    match:", []string{
			`job.yaml:10:36: tables[0].types.zero_date_columns.a: "zero" is not one of fail, null, epoch`,
		}, true},
		{"zero dates are a mapping", "    match:", "    types: {zero_date_columns: epoch}\n    match:", []string{
			`job.yaml:10:32: tables[0].types.zero_date_columns: must be a mapping of columns to fail, null or epoch, not text`,
		}, true},
		{"zero date of a column twice", "    match:", "    types: {zero_date_columns: {a: null, A: epoch}}\n    match:", []string{
			`job.yaml:10:45: tables[0].types.zero_date_columns.A: the column "a" is there already; MySQL's names have no case`,
		}, false},
		{"bad enum with a near one", "    match:", "    mode: full_refresh\n    match:", []string{
			`job.yaml:10:11: tables[0].mode: "full_refresh" is not one of full-refresh, append, incremental, cdc; did you mean "full-refresh"?`,
		}, true},
		{"bad enum number", "  warehouse:", "  serializer_version: 8\n  warehouse:", []string{
			`job.yaml:13:23: target.serializer_version: 8 is not one of 6, 7, 10, 11, 12`,
		}, true},
		{"bad glob", `    match: "orders_*"`, `    match: ["a", "orders_[0-"]`, []string{
			`job.yaml:10:18: tables[0].match[1]: "orders_[0-" is not a glob: a set [ is not closed by ]`,
		}, false},
		{"bad range in a glob", `    match: "orders_*"`, `    match: "x[z-a]"`, []string{
			"job.yaml:10:12: tables[0].match: \"x[z-a]\" is not a glob: invalid character class range: `z-a`",
		}, false},
		{"bad regex", `"shop_*"`, `"/shop_(/"`, []string{
			"job.yaml:7:18: source.instances[0].databases: \"/shop_(/\" is not a regular expression: missing closing ): `shop_(`",
		}, false},
		{"open regex", `"shop_*"`, `"/shop"`, []string{
			`job.yaml:7:18: source.instances[0].databases: "/shop" is not a /regular expression/: it begins with / and does not end with one`,
		}, false},
		{"name that climbs", "job: orders", "job: a/../b", []string{
			`job.yaml:1:6: job: "a/../b" cannot be a job's name; use ASCII letters, digits, _ - and ., a letter or digit first (it begins the ids of runs)`,
		}, true},
		{"name with dots", "  - name: orders", "  - name: a..b", []string{
			`job.yaml:9:11: tables[0].name: "a..b" holds ..; names become folders`,
		}, false},
		{"name that hides", "    - name: a", "    - name: .a", []string{
			`job.yaml:4:13: source.instances[0].name: ".a" cannot be a name; use letters, digits, _ - and . (names become folders)`,
		}, true},
		{"name with NUL", "job: orders", `job: "a\0"`, []string{
			`job.yaml:1:6: job: "a\x00" cannot be a job's name; use ASCII letters, digits, _ - and ., a letter or digit first (it begins the ids of runs)`,
		}, true},
		{"long name", "job: orders", "job: " + strings.Repeat("x", 101), []string{
			`job.yaml:1:6: job: has more than 100 characters`,
		}, true},
		{"empty name", "job: orders", `job: ""`, []string{
			`job.yaml:1:6: job: is empty; use ASCII letters, digits, _ - and ., a letter or digit first (it begins the ids of runs)`,
		}, true},
		{"bad database", "{database: ods}", "{database: o/ds}", []string{
			`job.yaml:11:24: tables[0].target.database: "o/ds" cannot be a name; use letters, digits, _ - and . (names become folders)`,
		}, true},
		{"bad column", "    match:", "    columns: [id, \" x\"]\n    match:", []string{
			`job.yaml:10:19: tables[0].columns[1]: " x" cannot be a column's name; a name has no control characters and no blank at its ends`,
		}, true},
	}
}

func addressFaults() []fault {
	return []fault{
		{"bad address", "job: orders", "job: orders\ntemporal: {address: here}", []string{
			`job.yaml:2:21: temporal.address: "here" is not host:port; such as 127.0.0.1:7233`,
		}, true},
		{"port in host", "      host: db", `      host: "db:3306"`, []string{
			`job.yaml:5:13: source.instances[0].host: "db:3306" is not a host name or address; write the host alone; the port has its own key`,
		}, false},
		{"relative warehouse", "file:///lake", "lake", []string{
			`job.yaml:13:14: target.warehouse: "lake" is not a place for a warehouse; write file:///path, s3://bucket/path, hdfs://host/path or an absolute path`,
		}, true},
		{"unknown scheme", "file:///lake", "ftp://x/y", []string{
			`job.yaml:13:14: target.warehouse: "ftp://x/y" is not a place for a warehouse; write file:///path, s3://bucket/path, hdfs://host/path or an absolute path`,
		}, true},
		{"no bucket", "file:///lake", "s3:///x", []string{
			`job.yaml:13:14: target.warehouse: "s3:///x" has no host or bucket`,
		}, false},
		{"no path", "file:///lake", "file://", []string{
			`job.yaml:13:14: target.warehouse: "file://" has no path; such as file:///var/lib/tributary/lake`,
		}, false},
		{"query", "file:///lake", "\"s3://bucket/x?key=1\"", []string{
			`job.yaml:13:14: target.warehouse: the address holds a query or fragment; keys belong into the environment or a profile`,
		}, false},
		{"bad escape", "file:///lake", "file:///%zz", []string{
			`job.yaml:13:14: target.warehouse: is not a URL; write file:///path or an absolute path`,
		}, false},
		{"control characters", "file:///lake", "\"/a\\nb\"", []string{
			`job.yaml:13:14: target.warehouse: holds control characters`,
		}, false},
		{"hive without address", "  warehouse:", "  catalog: {type: hive}\n  warehouse:", []string{
			`job.yaml:13:12: target.catalog.uri: is missing; a hive catalog needs its metastore, thrift://host:9083`,
			`job.yaml:13:19: target.catalog.type: hive is not available yet; available: filesystem`,
		}, false},
		{"port too large", "job: orders", "job: orders\ntemporal: {address: \"h:70000\"}", []string{
			`job.yaml:2:21: temporal.address: "h:70000" has a port above 65535`,
		}, false},
		{"two slashes", "file:///lake", "file://var/lake", []string{
			`job.yaml:13:14: target.warehouse: "file://var/lake" names a host; local paths have three slashes: file:///var/lake`,
		}, false},
		{"warehouse that climbs", "file:///lake", "/lake/../etc", []string{
			`job.yaml:13:14: target.warehouse: "/lake/../etc" holds ..; write the path itself`,
		}, false},
		{"staging without host", "  warehouse:", "  staging: hdfs:///x\n  warehouse:", []string{
			`job.yaml:13:12: target.staging: "hdfs:///x" has no host or bucket`,
		}, false},
		{"principal without keys", "  warehouse:", "  hdfs: {principal: etl@EXAMPLE.COM}\n  warehouse:", []string{
			`job.yaml:13:21: target.hdfs.principal: a principal needs its keys; add keytab, or use a credential cache without principal`,
		}, false},
		{"keys without principal", "  warehouse:", "  hdfs: {keytab: /etc/etl.keytab}\n  warehouse:", []string{
			`job.yaml:13:18: target.hdfs.keytab: keys belong to a principal; add principal`,
		}, false},
		{"keys and cache", "  warehouse:", "  hdfs: {credential_cache: /c, principal: p, keytab: k}\n  warehouse:", []string{
			`job.yaml:13:28: target.hdfs.credential_cache: there is a principal with its keys already; keep the keys or the cache`,
		}, false},
		{"user with Kerberos", "  warehouse:", "  hdfs: {user: etl, credential_cache: /c}\n  warehouse:", []string{
			`job.yaml:13:16: target.hdfs.user: with Kerberos the principal acts; remove user`,
		}, false},
		{"endpoint without scheme", "  warehouse:", "  s3: {endpoint: \"127.0.0.1:9000\"}\n  warehouse:", []string{
			`job.yaml:13:18: target.s3.endpoint: "127.0.0.1:9000" is not an endpoint; such as https://s3.example.com or http://127.0.0.1:9000`,
		}, true},
		{"endpoint with a key", "  warehouse:", "  s3: {endpoint: \"http://id:key@127.0.0.1:9000\"}\n  warehouse:", []string{
			`job.yaml:13:18: target.s3.endpoint: the address holds a user or key; write access_key_id and secret_access_key`,
		}, false},
		{"endpoint with a path", "  warehouse:", "  s3: {endpoint: \"http://127.0.0.1:9000/lake\"}\n  warehouse:", []string{
			`job.yaml:13:18: target.s3.endpoint: an endpoint has no path; such as https://s3.example.com or http://127.0.0.1:9000`,
		}, false},
		{"access key itself", "  warehouse:", "  s3: {access_key_id: AKIAIOSFODNN7EXAMPLE, secret_access_key: \"${env:S}\"}\n  warehouse:", []string{
			`job.yaml:13:23: target.s3.access_key_id: a secret cannot stand here itself; write a reference, ${env:NAME} or ${file:/path}, and put the secret there`,
		}, true},
		{"key without secret", "  warehouse:", "  s3: {access_key_id: \"${env:A}\"}\n  warehouse:", []string{
			`job.yaml:13:23: target.s3.access_key_id: a key needs its secret; add secret_access_key`,
		}, false},
		{"secret without key", "  warehouse:", "  s3: {secret_access_key: \"${env:A}\"}\n  warehouse:", []string{
			`job.yaml:13:27: target.s3.secret_access_key: a secret needs its key's id; add access_key_id`,
		}, false},
		{"token without keys", "  warehouse:", "  s3: {session_token: \"${env:A}\"}\n  warehouse:", []string{
			`job.yaml:13:23: target.s3.session_token: a token belongs to keys; add access_key_id and secret_access_key`,
		}, false},
		{"profile and keys", "  warehouse:", "  s3: {profile: p, access_key_id: \"${env:A}\", secret_access_key: \"${env:B}\"}\n  warehouse:", []string{
			`job.yaml:13:17: target.s3.profile: there are keys already; keep the keys or the profile`,
		}, false},
		{"KMS key without KMS", "  warehouse:", "  s3: {sse: sse-s3, kms_key_id: k}\n  warehouse:", []string{
			`job.yaml:13:33: target.s3.kms_key_id: sse is sse-s3; set sse: sse-kms, or remove the key`,
		}, false},
		{"path style", "  warehouse:", "  s3: {path_style: yes}\n  warehouse:", []string{
			`job.yaml:13:20: target.s3.path_style: "yes" is not one of auto, true, false`,
		}, true},
		{"address of a filesystem catalog", "  warehouse:", "  catalog: {uri: thrift://h:1}\n  warehouse:", []string{
			`job.yaml:13:18: target.catalog.uri: a filesystem catalog has no address; remove uri, or use type hive`,
		}, false},
		{"bad duration", "job: orders", "job: orders\nrun: {retention: 3 days}", []string{
			`job.yaml:2:18: run.retention: "3 days" is not a duration; write a number with its unit: "30s", "5m", "72h"`,
		}, true},
		{"duration without unit", "job: orders", "job: orders\nrun: {retention: 72}", []string{
			`job.yaml:2:18: run.retention: 72 has no unit; write a number with its unit: "30s", "5m", "72h"`,
		}, true},
		{"duration that is a list", "job: orders", "job: orders\nrun: {retention: [1h]}", []string{
			`job.yaml:2:18: run.retention: must be a duration, not a list`,
		}, true},
		{"size that is a mapping", "job: orders", "job: orders\nrun: {memory: {a: 1}}", []string{
			`job.yaml:2:15: run.memory: must be an amount of bytes, not a mapping`,
		}, true},
		{"negative limit", "source:", "source:\n  limits: {rows_per_second: -1}", []string{
			`job.yaml:3:29: source.limits.rows_per_second: -1 is less than 0`,
		}, true},
		{"null for a pattern", `    match: "orders_*"`, "    match: null", []string{
			`job.yaml:10:5: tables[0].match: has no value; give a value or remove the key`,
		}, true},
		{"options that are a list", "{database: ods}", "{database: ods, options: [a]}", []string{
			`job.yaml:11:38: tables[0].target.options: must be a mapping of keys, not a list`,
		}, true},
		{"bad size", "job: orders", "job: orders\nrun: {memory: 1 gig}", []string{
			`job.yaml:2:15: run.memory: "1 gig" is not an amount of bytes; write a number of bytes or one with a unit: "256MiB", "64MB"`,
		}, true},
		{"too little memory", "job: orders", "job: orders\nrun: {memory: 1MiB}", []string{
			`job.yaml:2:15: run.memory: 1MiB is less than 64MiB`,
		}, false},
	}
}

func relationFaults() []fault {
	return []fault{
		{"a derived column's name is taken", "    match:", "    provenance: {table: t, columns: [{name: t, pattern: '(.)'}]}\n    match:", []string{
			`job.yaml:10:45: tables[0].provenance.columns[0].name: the column "t" is already at tables[0].provenance.table`,
		}, false},
		{"a derived column without a group", "    match:", "    provenance: {columns: [{name: r, pattern: 'a_.*'}]}\n    match:", []string{
			`job.yaml:10:47: tables[0].provenance.columns[0].pattern: "a_.*" has no group; put what the column holds in brackets, as (?P<r>[a-z]+)`,
		}, false},
		{"a derived column with groups of other names", "    match:", "    provenance: {columns: [{name: r, pattern: '(?P<a>.)(.)'}]}\n    match:", []string{
			`job.yaml:10:47: tables[0].provenance.columns[0].pattern: "(?P<a>.)(.)" has 2 groups, none of which is called r; name one, as (?P<r>[a-z]+)`,
		}, false},
		{"a derived column with a bad pattern", "    match:", "    provenance: {columns: [{name: r, pattern: '('}]}\n    match:", []string{
			"job.yaml:10:47: tables[0].provenance.columns[0].pattern: \"(\" is not a regular expression: missing closing ): `(`",
		}, false},
		{"two instances with one name", "tables:", "    - {name: a, host: db2, user: u, databases: x}\ntables:", []string{
			`job.yaml:8:14: source.instances[1].name: the instance name "a" is already at source.instances[0].name`,
		}, false},
		{"one server twice", "tables:", "    - {name: b, host: DB, user: u, databases: x}\ntables:", []string{
			`job.yaml:8:23: source.instances[1].host: the server db:3306 is already at source.instances[0]; an instance is one server: list all its databases there, else rows could be read twice`,
		}, false},
		{"one replica twice", "tables:", "    - {name: b, host: db2, user: u, databases: x, replica: {host: DB}}\ntables:", []string{
			`job.yaml:8:67: source.instances[1].replica.host: the server db:3306 is already at source.instances[0]; an instance is one server: list all its databases there, else rows could be read twice`,
		}, false},
		{"replica without a host", "      host: db", "      host: db\n      replica: {port: 1}", []string{
			`job.yaml:6:16: source.instances[0].replica.host: is missing; Host name or address.`,
		}, true},
		{"two tables with one name", "target:\n", "  - {name: orders, match: x, target: {database: other}}\ntarget:\n", []string{
			`job.yaml:12:12: tables[1].name: the table name "orders" is already at tables[0].name`,
		}, false},
		{"two tables with one target", "target:\n", "  - {name: second, match: x, target: {database: ods, table: orders}}\ntarget:\n", []string{
			`job.yaml:12:38: tables[1].target: the target "ods.orders" is already at tables[0].target`,
		}, false},
		{"two columns with one name", "    match:", "    columns: [a, {name: b, as: a}]\n    match:", []string{
			`job.yaml:10:18: tables[0].columns[1]: the column "a" is already at tables[0].columns[0]`,
		}, false},
		{"column named as provenance", "    match:", "    columns: [_table]\n    match:", []string{
			`job.yaml:9:5: tables[0].provenance.table: the column "_table" is already at tables[0].columns[0]`,
		}, false},
		{"partition that is not read", "    target: {database: ods}", "    columns: [a]\n    target: {database: ods, partition: [b]}", []string{
			`job.yaml:12:41: tables[0].target.partition[0]: "b" is not among the columns; add it to columns`,
		}, false},
		{"empty provenance", "    match:", "    provenance: {}\n    match:", []string{
			`job.yaml:10:17: tables[0].provenance: names no column; write false for none, true for all three, or name some`,
		}, true},
		{"text for provenance", "    match:", "    provenance: all\n    match:", []string{
			`job.yaml:10:17: tables[0].provenance: must be true, false or a mapping, not text`,
		}, true},
		{"certificate without key", "      host: db", "      host: db\n      tls: {mode: required, cert: c.pem}", []string{
			`job.yaml:6:35: source.instances[0].tls.cert: a client certificate needs its key; add key`,
		}, false},
		{"key without certificate", "      host: db", "      host: db\n      tls: {mode: required, key: k.pem}", []string{
			`job.yaml:6:34: source.instances[0].tls.key: a key needs its client certificate; add cert`,
		}, false},
		{"certificate that is not used", "      host: db", "      host: db\n      tls: {mode: disabled, cert: c, key: k}", []string{
			`job.yaml:6:19: source.instances[0].tls.mode: the connection is not encrypted, but there is a client certificate; choose another mode, or remove cert and key`,
		}, false},
		{"authority that is not used", "      host: db", "      host: db\n      tls: {ca: c.pem}", []string{
			`job.yaml:6:17: source.instances[0].tls.ca: mode preferred does not check the server's certificate; use verify-ca or verify-identity, or remove ca`,
		}, false},
		{"reference where none is followed", "      host: db", `      host: "${env:HOST}"`, []string{
			`job.yaml:5:13: source.instances[0].host: references are followed for secrets only; write the value itself, or override the key by its TRIBUTARY_ variable`,
		}, true},
		{"bad overwrite", "    match:", "    overwrite: all\n    match:", []string{
			`job.yaml:10:16: tables[0].overwrite: must be table or a list of partitions; such as [{dt: "2026-01-01"}]`,
		}, true},
		{"tag", "job: orders", "job: !!str orders", []string{
			`job.yaml:1:6: job: YAML tags are not used here; write the value alone`,
		}, false},
		{"option that is a list", "{database: ods}", "{database: ods, options: {a.b: [1]}}", []string{
			`job.yaml:11:44: tables[0].target.options["a.b"]: must be text, not a list`,
		}, true},
	}
}

func TestParseJob_Faults(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			job, err := ParseJob("job.yaml", []byte(edited(t, f.from, f.to)))
			require.Nil(t, job)
			require.EqualError(t, err, strings.Join(f.want, "\n"))
		})
	}
}

func TestParseJob_AllAtOnce(t *testing.T) {
	_, err := ParseJob("job.yaml", []byte("job: a b\nsource: {instances: []}\ntables:\n  - {name: x, match: 3, target: {}}\ntarget: 5\nrun: {paralelism: 2}\n"))
	var problems Problems
	require.ErrorAs(t, err, &problems)
	var paths []string
	for _, p := range problems {
		require.Equal(t, "job.yaml", p.File)
		paths = append(paths, p.Path)
	}
	require.Equal(t, []string{"job", "source.instances", "tables[0].match", "tables[0].target.database", "target", "run.paralelism"}, paths)
	require.False(t, problems.OnlyNotYet())
}

func TestParseJob_NotAFile(t *testing.T) {
	for input, want := range map[string]string{
		"":                  "job.yaml:1:1: the file is empty",
		"# only words\n":    "job.yaml:1:1: the file is empty",
		"[]":                "job.yaml:1:1: must be a mapping of keys, not a list",
		"orders":            "job.yaml:1:1: must be a mapping of keys, not text",
		"\xff\xfe":          "job.yaml: the file is not UTF-8",
		base + "---\na: 1":  "job.yaml:14:1: a second YAML document; a file holds one",
		"a: b: c\n":         "job.yaml:1:4: malformed YAML: mapping value is not allowed in this context",
		"job: [a\nb: c\n":   "job.yaml:2:1: malformed YAML: ',' or ']' must be specified",
		"job: \"\\xff\"\n":  "",
		"\ufeff" + base[:0]: "job.yaml:1:1: the file is empty",
	} {
		_, err := ParseJob("job.yaml", []byte(input))
		require.Error(t, err, "%q", input)
		if want != "" {
			require.EqualError(t, err, want, "%q", input)
		}
	}
	for _, deep := range []string{strings.Repeat("[", 1_000_000), "a: " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000), strings.Repeat("[", 9000) + strings.Repeat("]", 9000)} {
		_, err := ParseJob("job.yaml", []byte(deep))
		require.ErrorContains(t, err, "nests too deep")
	}
	_, err := ParseJob("job.json", []byte(strings.Repeat("[", 9000)+strings.Repeat("]", 9000)))
	require.ErrorContains(t, err, "nests too deep")
	_, err = ParseJob("job.yaml", []byte(strings.Repeat("#", document.MaxSize+1)))
	require.EqualError(t, err, "job.yaml: the file has more than 4MiB")
}

func TestNearest(t *testing.T) {
	known := []string{"parallelism", "memory", "mode", "match"}
	require.Equal(t, "parallelism", nearest("paralelism", known))
	require.Equal(t, "memory", nearest("mermory", known))
	require.Equal(t, "mode", nearest("MODE", known))
	require.Empty(t, nearest("xyzzy", known))
	require.Equal(t, 1, distance("ab", "ba"), "an exchange of neighbours is one edit")
	require.Equal(t, 3, distance("kitten", "sitting"))
	require.Equal(t, 4, distance("", "four"))
}

func TestProblems_AsError(t *testing.T) {
	_, err := ParseJob("j", []byte("job: 1"))
	var problems Problems
	require.True(t, errors.As(err, &problems))
	require.Equal(t, "a\\nb", Problem{Message: "a\nb"}.String())
}
