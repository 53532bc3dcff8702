package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// Several units write to the same buckets at the same time, a refresh may have another number of buckets than before, and
// Paimon reads each row once and finds it in its bucket.
func TestBucketedTarget(t *testing.T) {
	t.Parallel()
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	var want []string
	for shard := range 2 {
		var values []string
		for i := range 500 {
			id := shard*500 + i
			values = append(values, fmt.Sprintf("(%d,'n%d')", id, id%7))
			want = append(want, fmt.Sprintf(`{"id":"%d","name":"n%d"}`, id, id%7))
		}
		m.Exec(t, fmt.Sprintf("CREATE TABLE %s.orders_%d (id INT PRIMARY KEY, name VARCHAR(20))", database, shard),
			fmt.Sprintf("INSERT INTO %s.orders_%d VALUES %s", database, shard, strings.Join(values, ",")))
	}
	warehouse, q := t.TempDir(), queue(t)
	s.startWorker(t, q)
	run := func(mode string, bucket int, options map[string]any) result {
		return s.run(t, "run", "-f", jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
			job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
			table["mode"], table["provenance"] = mode, false
			table["split"] = map[string]any{"rows": 100}
			target := table["target"].(map[string]any)
			target["bucket"], target["options"] = bucket, options
		}), "--wait", "--json")
	}
	keyed := map[string]any{"bucket-key": "id"}
	r := run("full-refresh", 3, map[string]any{})
	require.Equal(t, 3, r.code, r.stdout+r.stderr)
	require.Contains(t, r.stdout+r.stderr, "bucket-key")

	for i, mode := range []string{"full-refresh", "append"} {
		r := run(mode, 3, keyed)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, int64(i+1), summaryOf(t, r).Tables[0].Snapshot)
	}
	requireSameRows(t, append(append([]string{}, want...), want...), refereeRows(t, warehouse, "ods.orders"))
	d := testenv.Referee(t).Describe(t, warehouse, "ods.orders", 0)
	require.Equal(t, "HASH_FIXED", d.BucketMode)
	buckets := map[int]bool{}
	for _, f := range d.Files {
		require.Equal(t, 3, f.TotalBuckets)
		buckets[f.Bucket] = true
	}
	require.Len(t, buckets, 3)

	r = run("append", 4, keyed)
	require.Equal(t, 3, r.code, r.stdout+r.stderr)
	require.Contains(t, r.stdout+r.stderr, "the target has bucket = 3, the job says 4")
	require.NotEmpty(t, testenv.RustReader(t).Read(t, warehouse, "ods.orders", 0))
}

// A key table needs a fixed number of buckets: another one is refused in the plan.
func TestKeyTableNeedsBuckets(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	m.Exec(t, "CREATE TABLE "+database+".orders_1 (id INT PRIMARY KEY, name VARCHAR(20))", "INSERT INTO "+database+".orders_1 VALUES (1,'a')")
	warehouse, q := t.TempDir(), queue(t)
	s.startWorker(t, q)
	for _, command := range [][]string{{"plan"}, {"run", "--wait"}} {
		job := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
			job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
			table["target"].(map[string]any)["options"] = map[string]any{"primary-key": "id", "bucket": "-1"}
		})
		r := s.run(t, append(command, "-f", job)...)
		require.Equal(t, 3, r.code, r.stdout+r.stderr)
		require.Contains(t, r.stdout+r.stderr, "primary key")
	}
}
