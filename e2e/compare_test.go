package e2e

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities/comparing"
	"github.com/tributary-lake/tributary/internal/testenv"
)

// The command compares by a worker: nothing differs after a run, a change of the source is told as one, and a row that another writer took
// from the lake as a fault, with its shard.
func TestVerifyCommand(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	for _, shard := range []string{"orders_1", "orders_2"} {
		m.Exec(t, "USE "+database, "CREATE TABLE "+shard+" (id INT PRIMARY KEY, v INT)", "INSERT INTO "+shard+" VALUES (1, 1), (2, 2)")
	}
	warehouse, q := t.TempDir(), queue(t)
	job := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, _ map[string]any) {
		job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
		job["run"] = map[string]any{"consistency": "instance"}
		job["tables"] = []any{map[string]any{
			"name": "orders", "match": "orders_*", "primary_key": []string{"_table", "id"},
			"provenance": map[string]any{"table": "_table"}, "target": map[string]any{"database": "ods", "bucket": 2},
		}}
	})
	s.startWorker(t, q)
	r := s.run(t, "verify", "-f", job)
	require.Equal(t, 3, r.code, r.stdout+r.stderr)
	require.Contains(t, r.stdout, "table orders cannot be compared: ")
	r = s.run(t, "run", "-f", job, "--wait")
	require.Zero(t, r.code, r.stdout+r.stderr)
	r = s.run(t, "verify", "-f", job, "--table", "orders")
	require.Zero(t, r.code, r.stdout+r.stderr)
	require.Contains(t, r.stdout, "equal: 4 rows in 2 shards, 4 in the table")

	testenv.Referee(t).Write(t, warehouse, "ods.orders", "someone", 1, testenv.Row{"_kind": "-D", "_table": "orders_2", "id": "2", "v": "2"})
	r = s.run(t, "verify", "-f", job, "--json")
	require.Equal(t, 1, r.code, r.stdout+r.stderr)
	var found []comparing.Result
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &found))
	require.Equal(t, comparing.Fault, found[0].State)
	require.Equal(t, []string{"a/" + database + "/orders_2"}, found[0].Groups[0].Shards)
	require.EqualValues(t, 1, found[0].Groups[0].TableRows)

	m.Exec(t, "DELETE FROM "+database+".orders_1")
	r = s.run(t, "verify", "-f", job)
	require.Equal(t, 1, r.code, "the fault is still there")
	m.Exec(t, "DELETE FROM "+database+".orders_2 WHERE id = 1")
	r = s.run(t, "verify", "-f", job)
	require.Equal(t, 4, r.code, r.stdout+r.stderr)
	require.Contains(t, r.stdout, "changed since")
	r = s.run(t, "verify", "-f", job, "--table", "none")
	require.Equal(t, 2, r.code)
}
