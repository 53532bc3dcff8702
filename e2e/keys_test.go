package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
)

// textRows are the rows of a query as lines of JSON: text, with NULL as null.
func textRows(t *testing.T, m *testenv.MySQL, query string) []string {
	t.Helper()
	rows, err := m.Open(t, "tributary", "").Query(query)
	require.NoError(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	require.NoError(t, err)
	values := make([]*string, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	var lines []string
	for rows.Next() {
		require.NoError(t, rows.Scan(into...))
		line := []byte{'{'}
		for i, name := range names {
			text := ""
			if values[i] != nil {
				text = *values[i]
			}
			line = appendMember(line, name, text, values[i] == nil)
		}
		line[len(line)-1] = '}'
		lines = append(lines, string(line))
	}
	require.NoError(t, rows.Err())
	return lines
}

// keyJob is a job over the databases of one server into a key table.
func keyJob(t *testing.T, warehouse, q, databases string, m *testenv.MySQL, change func(table map[string]any)) string {
	t.Helper()
	return jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
		job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = databases
		job["run"] = map[string]any{"parallelism": 2}
		table["target"].(map[string]any)["bucket"] = 4
		change(table)
	})
}

// The ids of sixteen shards collide. With the shards' names in the key all rows are there; without, the run fails, names the
// shards and commits nothing, or the shard last in the plan wins, in 64 buckets of 20 partitions.
func TestSixteenShardsIntoAKeyTable(t *testing.T) {
	t.Parallel()
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	base := m.NewDatabase(t)
	const shards = 16
	var all, numbered []string
	for n := range shards {
		// Shard n has the ids from 40n on, so that most ids are in several shards.
		table := fmt.Sprintf("%s.orders_%02d", base, n)
		m.Exec(t, "USE "+base, fmt.Sprintf("CREATE TABLE %s (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, day DATE NOT NULL, v VARCHAR(40))", table),
			fmt.Sprintf("INSERT INTO %s SELECT seq, '2024-01-01' + INTERVAL seq %% 20 DAY, IF(seq %% 7 = 0, NULL, MD5(seq + %d)) FROM seq_%d_to_%d", table, n, 40*n, 40*n+399))
		columns := fmt.Sprintf("CAST(id AS CHAR) id, CAST(day AS CHAR) day, v, '%s' _database, 'orders_%02d' _table, %d n", base, n, n)
		numbered = append(numbered, "SELECT "+columns+" FROM "+table)
	}
	union := strings.Join(numbered, " UNION ALL ")
	all = textRows(t, m, "SELECT id, day, v, _database, _table FROM ("+union+") u")
	require.Len(t, all, shards*400)
	q := queue(t)
	s.startWorker(t, q)
	job := func(warehouse string, change func(table map[string]any)) string {
		return keyJob(t, warehouse, q, base, m, func(table map[string]any) {
			table["provenance"] = map[string]any{"database": "_database", "table": "_table"}
			table["split"] = map[string]any{"rows": 150}
			change(table)
		})
	}

	warehouse := t.TempDir()
	r := s.run(t, "run", "-f", job(warehouse, func(table map[string]any) { table["primary_key"] = []string{"_database", "_table", "id"} }), "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	require.EqualValues(t, shards*400, summaryOf(t, r).Tables[0].Written)
	requireSameRows(t, all, refereeRows(t, warehouse, "ods.orders"))
	requireSameRows(t, all, testenv.RustReader(t).Read(t, warehouse, "ods.orders", 0))
	require.NoError(t, testenv.RustReader(t).Check(t, warehouse, "ods.orders", 0), "statistics agree with the data")

	warehouse = t.TempDir()
	fail := job(warehouse, func(table map[string]any) { table["primary_key"] = []string{"id"} })
	r = s.run(t, "plan", "-f", fail)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "nothing in the primary key tells the 16 shards apart")
	r = s.run(t, "run", "-f", fail, "--wait", "--json")
	require.Equal(t, 1, r.code, r.stdout+r.stderr)
	require.Equal(t, activities.TypeKeyCollision, summaryOf(t, r).Tables[0].ErrorType)
	require.Regexp(t, `id = \d+: in a/`+base+`/orders_\d\d and in a/`+base+`/orders_\d\d`, summaryOf(t, r).Tables[0].Error)
	require.NoDirExists(t, filepath.Join(warehouse, "ods.db", "orders", "snapshot"))
	require.Empty(t, dataFiles(t, warehouse))

	last := job(warehouse, func(table map[string]any) {
		table["primary_key"], table["on_key_collision"] = []string{"id", "day"}, "last_wins"
		table["target"] = map[string]any{"database": "ods", "table": "last", "bucket": 64, "partition": []string{"day"}}
	})
	r = s.run(t, "run", "-f", last, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	want := textRows(t, m, "SELECT id, day, v, _database, _table FROM (SELECT u.*, ROW_NUMBER() OVER (PARTITION BY id ORDER BY n DESC) k FROM ("+union+") u) w WHERE k = 1")
	require.Len(t, want, 1000)
	sum := summaryOf(t, r).Tables[0]
	require.EqualValues(t, []int64{shards * 400, 1000, shards*400 - 1000}, []int64{sum.Read, sum.Written, sum.Collapsed})
	requireSameRows(t, want, refereeRows(t, warehouse, "ods.last"))
	requireSameRows(t, want, testenv.RustReader(t).Read(t, warehouse, "ods.last", 0))
	d := testenv.Referee(t).Describe(t, warehouse, "ods.last", 0)
	for _, f := range d.Files {
		require.Equal(t, 64, f.TotalBuckets)
		require.Equal(t, 5, f.Level)
	}
	require.Greater(t, len(d.Files), 500, "of 20 × 64 buckets for 1000 keys")
}

// Keys of every type, of several columns, and with rows that two shards have: each target is MySQL's merged rows.
func TestKeysOfEveryType(t *testing.T) {
	t.Parallel()
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	base := m.NewDatabase(t)
	// Every column has another value in each row.
	columns := []struct{ name, definition, value string }{
		{"k_int", "INT NOT NULL", "seq - 250"},
		{"k_unsigned", "INT UNSIGNED NOT NULL", "4294967295 - seq"},
		{"k_big", "BIGINT NOT NULL", "CAST(seq AS SIGNED) * 36893488147 - 4611686018427387904"},
		{"k_ubig", "BIGINT UNSIGNED NOT NULL", "18446744073709551115 + seq"},
		{"k_small", "SMALLINT NOT NULL", "seq - 300"},
		{"k_dec", "DECIMAL(12,3) NOT NULL", "(250 - seq) * 1.125"},
		{"k_widedec", "DECIMAL(30,5) NOT NULL", "(seq - 250) * 123456789012345678.12345"},
		{"k_date", "DATE NOT NULL", "'1969-06-01' + INTERVAL seq DAY"},
		{"k_datetime", "DATETIME(6) NOT NULL", "'1969-12-31 23:59:59.5' + INTERVAL seq * 1234567 MICROSECOND"},
		{"k_ts", "TIMESTAMP(3) NOT NULL DEFAULT '2000-01-01'", "'2001-01-01 00:00:00.001' + INTERVAL seq * 997 SECOND"},
		{"k_text", "VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL", "CONCAT(REPEAT('é', seq % 5), REPEAT('日', seq % 3), seq, IF(seq % 2, '𐍈', ''))"},
		{"k_latin", "CHAR(20) CHARACTER SET latin1 NOT NULL", "CONCAT('ÿ', seq)"},
		{"k_bytes", "VARBINARY(20) NOT NULL", "UNHEX(MD5(seq))"},
		{"k_double", "DOUBLE NOT NULL", "(seq - 250) / 8"},
		{"k_time", "TIME NOT NULL", "SEC_TO_TIME(seq * 100 - 20000)"},
	}
	var definitions, values, texts, names []string
	for _, c := range columns {
		definitions, values, names = append(definitions, c.name+" "+c.definition), append(values, c.value), append(names, c.name)
		text := "CAST(" + c.name + " AS CHAR CHARACTER SET utf8mb4)"
		switch c.name {
		case "k_bytes":
			text = "LOWER(HEX(" + c.name + "))"
		case "k_datetime":
			text = "REPLACE(" + text + ", ' ', 'T')"
		case "k_ts":
			text = "CONCAT(REPLACE(" + text + ", ' ', 'T'), 'Z')"
		}
		texts = append(texts, text+" "+c.name)
	}
	// Shard 1 has the rows 1 to 400, shard 2 those from 300 to 500 with other values of v.
	for n, to := range []string{"seq_1_to_400", "seq_300_to_500"} {
		m.Exec(t, "USE "+base, "SET time_zone = '+00:00'", "SET sql_mode = 'NO_UNSIGNED_SUBTRACTION'",
			fmt.Sprintf("CREATE TABLE %s.orders_%d (%s, v INT)", base, n, strings.Join(definitions, ", ")),
			fmt.Sprintf("INSERT INTO %s.orders_%d SELECT %s, seq + %d FROM %s ORDER BY MD5(seq)", base, n, strings.Join(values, ", "), n*1000, to))
	}
	query := func(table string) string {
		return fmt.Sprintf("SELECT %s, CAST(v AS CHAR) v FROM %s.%s", strings.Join(texts, ", "), base, table)
	}
	want := textRows(t, m, query("orders_1")+" UNION ALL "+query("orders_0")+" WHERE k_int NOT IN (SELECT k_int FROM "+base+".orders_1)")
	require.Len(t, want, 500)

	keys := [][]string{{"k_text", "k_dec", "k_date"}, {"k_ubig", "k_bytes"}, {"k_widedec", "k_datetime", "k_int", "k_latin"}}
	for _, name := range names {
		keys = append(keys, []string{name})
	}
	warehouse, q := t.TempDir(), queue(t)
	s.startWorker(t, q)
	job := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
		job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = base
		job["run"] = map[string]any{"parallelism": 4}
		var tables []any
		for _, key := range keys {
			tables = append(tables, map[string]any{
				"name": strings.Join(key, "-"), "match": "orders_*", "provenance": false, "primary_key": key, "on_key_collision": "last_wins",
				"split": map[string]any{"rows": 90}, "target": map[string]any{"database": "ods", "bucket": 3},
			})
		}
		job["tables"] = tables
	})
	r := s.run(t, "run", "-f", job, "--wait", "--json")
	require.Zero(t, r.code, r.stdout+r.stderr)
	for i, key := range keys {
		require.EqualValues(t, 101, summaryOf(t, r).Tables[i].Collapsed, "%v", key)
		got := refereeRows(t, warehouse, "ods."+strings.Join(key, "-"))
		requireSameRows(t, want, got)
	}
}

// One bucket has four fifths of the rows: it is merged by ranges of its keys, whose files do not overlap, in little memory.
func TestHotBucket(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	base := m.NewDatabase(t)
	const rows = 120_000
	m.Exec(t, "USE "+base, "CREATE TABLE orders_1 (id INT NOT NULL PRIMARY KEY, tenant INT NOT NULL, v VARCHAR(200))",
		fmt.Sprintf("INSERT INTO orders_1 SELECT seq, IF(seq %% 5, 7, seq), CONCAT(SHA2(seq, 512), SHA2(-seq, 256)) FROM seq_1_to_%d", rows))
	warehouse, q := t.TempDir(), queue(t)
	s.startWorker(t, q)
	job := keyJob(t, warehouse, q, base, m, func(table map[string]any) {
		table["provenance"], table["primary_key"] = false, []string{"tenant", "id"}
		table["split"] = map[string]any{"rows": 20_000}
		table["target"].(map[string]any)["bucket"] = 8
		table["target"].(map[string]any)["options"] = map[string]any{"bucket-key": "tenant"}
	})
	r := s.run(t, "run", "-f", job, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	require.EqualValues(t, rows, summaryOf(t, r).Tables[0].Written)
	requireSameRows(t, textRows(t, m, "SELECT CAST(id AS CHAR) id, CAST(tenant AS CHAR) tenant, v FROM "+base+".orders_1"), refereeRows(t, warehouse, "ods.orders"))
	files := map[int]int{}
	for _, f := range testenv.Referee(t).Describe(t, warehouse, "ods.orders", 0).Files {
		files[f.Bucket]++
	}
	counts := []int{}
	for _, n := range files {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	require.Greater(t, counts[len(counts)-1], 1, "the hot bucket is cut: %v", counts)
	require.Equal(t, 1, counts[0], "others are not: %v", counts)
}

// kill -9 of the worker when merges are planned, and between the publication and the return of Commit: the count is exact, and
// nothing is left beside the table.
func TestWorkerKilledInMerge(t *testing.T) {
	t.Parallel() // most of its time is waiting
	for name, moment := range map[string]func(f *manySplits, run string) bool{
		"merges are planned": func(f *manySplits, run string) bool { return contains(f.ledgerFiles(run, ""), "merges.json") },
		"the snapshot is published": func(f *manySplits, _ string) bool {
			_, err := os.Stat(filepath.Join(f.warehouse, "ods.db", "orders", "snapshot", "snapshot-1"))
			return err == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newManySplits(t)
			f.units = 60
			f.edit(t, func(table map[string]any) {
				table["split"], table["primary_key"] = map[string]any{"count": f.units}, []string{"_table", "id"}
				table["target"].(map[string]any)["bucket"] = 16
			})
			w := f.stack.startWorker(t, f.queue)
			run := f.start(t)
			eventually(t, patience, name, func() bool { return moment(f, run) })
			w.kill()
			f.stack.startWorker(t, f.queue)
			sum := f.finish(t, run)
			require.EqualValues(t, f.rows, sum.Tables[0].Written)
			f.exact(t)
			require.Empty(t, f.ledgerFiles(run, "runs"))
		})
	}
}

// edit changes the job's table.
func (f *manySplits) edit(t *testing.T, change func(table map[string]any)) {
	t.Helper()
	data, err := os.ReadFile(f.job)
	require.NoError(t, err)
	var job map[string]any
	require.NoError(t, json.Unmarshal(data, &job))
	change(job["tables"].([]any)[0].(map[string]any))
	data, err = json.Marshal(job)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.job, data, 0o600))
}
