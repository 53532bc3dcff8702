package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/workflows"
)

// server is a MySQL instance of a job.
type server struct {
	name string
	*testenv.MySQL
}

// jobFile writes a job over servers; change may adapt it.
func jobFile(t *testing.T, warehouse, queue string, servers []server, change func(job, table map[string]any)) string {
	t.Helper()
	var instances []any
	for _, s := range servers {
		instances = append(instances, map[string]any{
			"name": s.name, "host": "127.0.0.1", "port": s.Port(), "user": "tributary", "password": "${env:" + passwordVariable + "}",
			"databases": "shop_*", "tls": map[string]any{"mode": "disabled"},
		})
	}
	table := map[string]any{
		"name": "orders", "match": "orders_*", "target": map[string]any{"database": "ods", "table": "orders"},
	}
	job := map[string]any{
		"job":      "orders",
		"temporal": map[string]any{"task_queue": queue},
		"source":   map[string]any{"instances": instances},
		"tables":   []any{table},
		"target":   map[string]any{"warehouse": "file://" + warehouse},
	}
	if change != nil {
		change(job, table)
	}
	data, err := json.MarshalIndent(job, "", " ")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "job.json")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

// Two servers, two databases each, four tables each: sixteen shards with 200,000 rows of every type, in 20 splits at
// parallelism 5. Paimon's own library reads exactly MySQL's rows.
func TestSixteenShards(t *testing.T) {
	t.Parallel()
	s := theStack(t)
	servers := []server{{"a", testenv.MariaDB(t, testenv.BufferPool("256M"))}, {"b", testenv.MariaDB(t, testenv.BufferPool("256M"))}}
	warehouse := t.TempDir()
	q := queue(t)
	var want []string
	shard := 0
	for _, srv := range servers {
		for d := range 2 {
			for n := range 4 {
				rows := 10_000
				if n == 0 {
					rows = 20_000
				}
				// Ids repeat between shards, as auto-increment ids do.
				database, table := fmt.Sprintf("shop_%d", d), fmt.Sprintf("orders_%d", n)
				makeTable(t, srv.MySQL, database, table, 1, rows, uint64(shard))
				want = append(want, mysqlRows(t, srv.MySQL, database, table,
					origin{{"_instance", srv.name}, {"_database", database}, {"_table", table}})...)
				shard++
			}
		}
	}
	require.Len(t, want, 200_000)
	s.startWorker(t, q)
	job := jobFile(t, warehouse, q, servers, func(job, table map[string]any) {
		table["split"] = map[string]any{"rows": 10_500}
		job["run"] = map[string]any{"parallelism": 5}
	})
	r := s.run(t, "run", "-f", job, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	sum := summaryOf(t, r)
	require.Equal(t, workflows.StatusDone, sum.Status)
	require.Len(t, sum.Tables, 1)
	require.Equal(t, int64(200_000), sum.Tables[0].Read)
	require.Equal(t, int64(200_000), sum.Tables[0].Written)
	require.Equal(t, int64(1), sum.Tables[0].Snapshot)
	require.Equal(t, 20, sum.Tables[0].Splits)
	requireSameRows(t, want, refereeRows(t, warehouse, "ods.orders"))
	require.NoError(t, testenv.RustReader(t).Check(t, warehouse, "ods.orders", 0), "statistics agree with the data")

	// A second run replaces the rows in one snapshot.
	r = s.run(t, "run", "-f", job, "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, int64(2), summaryOf(t, r).Tables[0].Snapshot)
	d := testenv.Referee(t).Describe(t, warehouse, "ods.orders", 0)
	require.Equal(t, "OVERWRITE", d.Snapshots[len(d.Snapshots)-1].CommitKind)
	require.Equal(t, testenv.Referee(t).Count(t, warehouse, "ods.orders", 1), testenv.Referee(t).Count(t, warehouse, "ods.orders", 2))
}

// The same types on every server, one table in 20 splits at parallelism 5.
func TestTypesOnEveryServer(t *testing.T) {
	t.Parallel()
	s := theStack(t)
	for _, flavor := range testenv.Flavors() {
		t.Run(string(flavor), func(t *testing.T) {
			m := testenv.Start(t, flavor)
			makeTable(t, m, "shop_0", "orders_0", -1000, 20_000, 7)
			warehouse, q := t.TempDir(), queue(t)
			s.startWorker(t, q)
			job := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
				table["split"] = map[string]any{"column": "id", "count": 20}
				table["provenance"] = false
				job["run"] = map[string]any{"parallelism": 5}
			})
			r := s.run(t, "run", "-f", job, "--wait", "--json")
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, 20, summaryOf(t, r).Tables[0].Splits)
			want := mysqlRows(t, m, "shop_0", "orders_0", nil)
			requireSameRows(t, want, refereeRows(t, warehouse, "ods.orders"))
			requireSameRows(t, want, testenv.RustReader(t).Read(t, warehouse, "ods.orders", 0))
		})
	}
}

// Partitions by several types, and an append on top of a refresh.
func TestPartitionedAppend(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	m.Exec(t, "CREATE TABLE "+database+".orders_1 (id INT PRIMARY KEY, region VARCHAR(20), day DATE, amount DECIMAL(12,2))",
		"INSERT INTO "+database+".orders_1 VALUES (1,'eu','2024-01-01',1.10),(2,'a/b=c',NULL,-2),(3,NULL,'2024-01-02',3),(4,'','1969-12-31',4),(5,'中文 x','2024-01-01',5)")
	warehouse, q := t.TempDir(), queue(t)
	s.startWorker(t, q)
	adapt := func(mode string) func(job, table map[string]any) {
		return func(job, table map[string]any) {
			job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
			table["mode"] = mode
			table["provenance"] = false
			table["target"].(map[string]any)["partition"] = []string{"region", "day"}
		}
	}
	for snapshot, mode := range []string{"full-refresh", "append"} {
		r := s.run(t, "run", "-f", jobFile(t, warehouse, q, []server{{"a", m}}, adapt(mode)), "--wait", "--json")
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, int64(snapshot+1), summaryOf(t, r).Tables[0].Snapshot)
	}
	once := []string{
		`{"amount":"1.10","day":"2024-01-01","id":"1","region":"eu"}`, `{"amount":"-2.00","day":null,"id":"2","region":"a/b=c"}`,
		`{"amount":"3.00","day":"2024-01-02","id":"3","region":null}`, `{"amount":"4.00","day":"1969-12-31","id":"4","region":""}`,
		`{"amount":"5.00","day":"2024-01-01","id":"5","region":"中文 x"}`,
	}
	requireSameRows(t, append(append([]string{}, once...), once...), refereeRows(t, warehouse, "ods.orders"))
	d := testenv.Referee(t).Describe(t, warehouse, "ods.orders", 0)
	require.Equal(t, "APPEND", d.Snapshots[len(d.Snapshots)-1].CommitKind)
	require.Len(t, d.Files, 10)
}
