package e2e

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// Twenty runs follow a writer that inserts and updates, with transactions that stay open over the ends of windows, and with the worker
// killed at random. An append table has each insert once; a key table becomes what MySQL has, as soon as the writer rests.
func TestTwentyIncrementalRuns(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	for shard := range 2 {
		m.Exec(t, fmt.Sprintf("CREATE TABLE %s.orders_%d (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, gone INT NOT NULL, w TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), KEY (w))", database, shard),
			fmt.Sprintf("CREATE TABLE %s.events_%d (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL)", database, shard))
	}
	warehouse, q := t.TempDir(), queue(t)
	job := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
		job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
		job["run"] = map[string]any{"parallelism": 2, "consistency": "instance"}
		job["tables"] = []any{
			map[string]any{
				"name": "orders", "match": "orders_*", "mode": "incremental", "watermark": map[string]any{"column": "w"}, "primary_key": []string{"_table", "id"},
				"provenance": map[string]any{"table": "_table"}, "target": map[string]any{"database": "ods", "bucket": 2},
			},
			map[string]any{
				"name": "events", "match": "events_*", "mode": "incremental", "watermark": map[string]any{"column": "id"},
				"provenance": map[string]any{"table": "_table"}, "target": map[string]any{"database": "ods"},
			},
		}
	})
	stop := writeOn(t, m, database)
	w := s.startWorker(t, q)
	for i := range 19 {
		killed := make(chan struct{})
		if i%4 == 1 {
			go func() {
				defer close(killed)
				<-time.After(time.Duration(rand.IntN(1500)) * time.Millisecond)
				w.kill()
			}()
		} else {
			close(killed)
		}
		done := make(chan result, 1)
		go func() { done <- s.run(t, "run", "-f", job, "--wait", "--json") }()
		<-killed
		if i%4 == 1 {
			w = s.startWorker(t, q)
		}
		r := <-done
		require.Zero(t, r.code, r.stdout+r.stderr)
	}
	stop()
	from := m.QueryValue(t, "SELECT UTC_TIMESTAMP()")
	eventually(t, 10*time.Second, "the second after the last row", func() bool { return m.QueryValue(t, "SELECT UTC_TIMESTAMP() > '"+from+"' + INTERVAL 1 SECOND") == "1" })
	r := s.run(t, "run", "-f", job, "--wait", "--json")
	require.Zero(t, r.code, r.stdout+r.stderr)
	zone := "REPLACE(CAST(CONVERT_TZ(w, @@session.time_zone, '+00:00') AS CHAR), ' ', 'T')"
	var orders, events []string
	for shard := range 2 {
		orders = append(orders, textRows(t, m, fmt.Sprintf("SELECT CAST(id AS CHAR) id, CAST(v AS CHAR) v, CAST(gone AS CHAR) gone, CONCAT(%s, 'Z') w, 'orders_%d' _table FROM %s.orders_%[2]d", zone, shard, database))...)
		events = append(events, textRows(t, m, fmt.Sprintf("SELECT CAST(id AS CHAR) id, CAST(v AS CHAR) v, 'events_%d' _table FROM %s.events_%[1]d", shard, database))...)
	}
	require.Greater(t, len(orders), 100)
	requireSameRows(t, orders, refereeRows(t, warehouse, "ods.orders"))
	requireSameRows(t, events, refereeRows(t, warehouse, "ods.events"))
	r = s.run(t, "run", "-f", job, "--wait", "--json")
	require.Zero(t, r.code, r.stdout+r.stderr)
	for _, table := range summaryOf(t, r).Tables {
		require.Equal(t, "unchanged", table.Status)
	}
}

// writeOn has three writers at work, whose transactions stay open for up to two seconds. stop waits for the last of them.
func writeOn(t *testing.T, m *testenv.MySQL, database string) (stop func()) {
	t.Helper()
	db := m.Open(t, "tributary", "")
	end := make(chan struct{})
	var wait sync.WaitGroup
	for n := range 3 {
		wait.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				tx, err := db.Begin()
				if err != nil {
					continue
				}
				for i := range 5 {
					shard := rand.IntN(2)
					for _, q := range []string{
						fmt.Sprintf("INSERT INTO %s.orders_%d (v, gone) VALUES (%d, 0)", database, shard, i),
						fmt.Sprintf("INSERT INTO %s.events_%d (v) VALUES (%d)", database, shard, i),
						fmt.Sprintf("UPDATE %s.orders_%d SET v = v + 1, gone = %d WHERE id = %d", database, shard, i%2, 1+rand.IntN(200)),
						fmt.Sprintf("DO SLEEP(%f)", rand.Float64()*float64(n)*0.2),
					} {
						if err == nil {
							_, err = tx.Exec(q)
						}
					}
				}
				if err != nil || rand.IntN(10) == 0 {
					_ = tx.Rollback() // a deadlock, or a change of mind
					continue
				}
				_ = tx.Commit()
			}
		})
	}
	var once sync.Once
	stop = func() { once.Do(func() { close(end); wait.Wait() }) }
	t.Cleanup(stop)
	return stop
}
