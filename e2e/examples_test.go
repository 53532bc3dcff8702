package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
)

// examples/incremental.yaml, with nothing changed but where its servers and its warehouse are, loads what is new in sixteen shards.
func TestIncrementalExample(t *testing.T) {
	s := theStack(t)
	servers := []server{{"a", testenv.MariaDB(t)}, {"b", testenv.MariaDB(t)}}
	type shard struct {
		server
		database, table string
	}
	var shards []shard
	for i, m := range servers {
		for d := range 2 {
			for n := range 4 {
				database, table := fmt.Sprint("shop_", 2*i+d+1), fmt.Sprint("orders_", n)
				m.Exec(t, "CREATE DATABASE IF NOT EXISTS "+database, "USE "+database,
					"CREATE TABLE "+table+" (id INT AUTO_INCREMENT PRIMARY KEY, updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), KEY (updated_at))",
					"INSERT INTO "+table+" (updated_at) SELECT NOW(6) - INTERVAL 5 + seq MINUTE FROM seq_1_to_9", "INSERT INTO "+table+" VALUES ()")
				shards = append(shards, shard{m, database, table})
			}
		}
	}
	text, err := os.ReadFile("../examples/incremental.yaml")
	require.NoError(t, err)
	warehouse, q := t.TempDir(), queue(t)
	job := filepath.Join(t.TempDir(), "incremental.yaml")
	changed := strings.NewReplacer("33061", fmt.Sprint(servers[0].Port()), "33062", fmt.Sprint(servers[1].Port()), "user: sync", "user: tributary",
		"MYSQL_PASSWORD", passwordVariable, "file:///var/lib/tributary/lake", "file://"+warehouse).Replace(string(text)) + "\ntemporal: {task_queue: " + q + "}\n"
	require.NoError(t, os.WriteFile(job, []byte(changed), 0o600))
	s.startWorker(t, q)
	// All but the row of each shard that is newer than a minute, the overlap.
	requireMySQL := func() {
		t.Helper()
		var want []string
		for _, s := range shards {
			want = append(want, textRows(t, s.MySQL, fmt.Sprintf("SELECT CAST(id AS CHAR) id, CONCAT(REPLACE(CAST(CONVERT_TZ(updated_at, @@session.time_zone, '+00:00') AS CHAR), ' ', 'T'), 'Z') updated_at,"+
				" '%s' _instance, '%s' _database, '%s' _table FROM %[2]s.%[3]s WHERE updated_at < NOW() - INTERVAL 3 MINUTE", s.name, s.database, s.table))...)
		}
		requireSameRows(t, want, refereeRows(t, warehouse, "ods.orders"))
	}
	read := func() activities.TableResult {
		t.Helper()
		r := s.run(t, "run", "-f", job, "--wait", "--json")
		require.Zero(t, r.code, r.stdout+r.stderr)
		return summaryOf(t, r).Tables[0]
	}
	r := s.run(t, "plan", "-f", job)
	require.Zero(t, r.code, r.stderr)
	require.EqualValues(t, 16*9, read().Written)
	requireMySQL()
	servers[1].Exec(t, "INSERT INTO shop_3.orders_2 (updated_at) SELECT NOW(6) - INTERVAL 4 MINUTE FROM shop_3.seq_1_to_7")
	require.EqualValues(t, 7, read().Written)
	requireMySQL()
	require.Equal(t, activities.StateUnchanged, read().Status)
}
