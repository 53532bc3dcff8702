package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/testenv"
)

// driftJob is a job for the shards d_* of a database; table are more keys of the logical table.
func driftJob(m *testenv.MySQL, database, warehouse, table string) json.RawMessage {
	fallback := ""
	if !strings.Contains(table, `"target"`) {
		fallback = `"target": {"database": "ods"}, `
	}
	if !strings.Contains(table, `"provenance"`) {
		fallback += `"provenance": {"table": "_table"}, `
	}
	return json.RawMessage(fmt.Sprintf(`{"job": "drift",
		"source": {"instances": [{"name": "a", "host": %q, "port": %d, "user": "reader", "password": "${env:READER_PASSWORD}", "databases": %q}]},
		"tables": [{"name": "d", "match": "d_*", %s%s}],
		"target": {"warehouse": %q}}`, m.Host(), m.Port(), database, fallback, table, warehouse))
}

// runJob makes a whole run by plain calls of the activities.
func runJob(t *testing.T, job json.RawMessage, run string) (*activities.TableResult, error) {
	t.Helper()
	return runJobIn(t, NewEnv(&config.Masker{}), job, run)
}

// runJobIn is runJob in an environment that may do what it likes to rows.
func runJobIn(t *testing.T, env activities.Env, job json.RawMessage, run string) (*activities.TableResult, error) {
	t.Helper()
	prepared, err := (&activities.Preparer{Env: env}).Prepare(t.Context(), activities.PrepareInput{Job: job, Run: run})
	require.NoError(t, err)
	part := prepared.Tables[0].TableRun
	planned, err := (&activities.Planner{Env: env, Settler: &activities.Settler{Env: env}}).Plan(t.Context(), activities.PlanInput{TableRun: part})
	if err != nil {
		return nil, err
	}
	writer := &activities.Writer{Env: env, Producer: "tributary/test", Memory: budget.New(1<<30, nil)}
	for unit := range planned.Units {
		_, err := writer.Write(t.Context(), activities.WriteInput{TableRun: part, Unit: unit})
		require.NoError(t, err)
	}
	if planned.Keyed {
		merger := &activities.Merger{Env: env, Producer: "tributary/test", Memory: budget.New(1<<30, nil)}
		merges, err := merger.PlanMerges(t.Context(), activities.PlanMergesInput{TableRun: part})
		require.NoError(t, err)
		for n := range merges.Merges {
			_, err := merger.Merge(t.Context(), activities.MergeInput{TableRun: part, Merge: n})
			require.NoError(t, err)
		}
	}
	return (&activities.Committer{Env: env}).Commit(t.Context(), activities.CommitInput{TableRun: part})
}

// Drifted shards of a server become one table that Paimon's own library reads; the job's policies and types hold, and the
// target follows when the shards drift further.
func TestDriftedShardsBecomeOneTable(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database, warehouse := m.NewDatabase(t), t.TempDir()
	m.Exec(t, "USE "+database,
		"CREATE TABLE d_0 (id INT PRIMARY KEY, v DECIMAL(10,2), at TIME(3))", "INSERT INTO d_0 VALUES (1, -99999999.99, '23:59:59.999')",
		"CREATE TABLE d_1 (at TIME, v DECIMAL(12,4), id INT PRIMARY KEY)", "INSERT INTO d_1 VALUES ('00:00:01', 99999999.9999, 2)",
		"CREATE TABLE d_2 (id BIGINT UNSIGNED PRIMARY KEY, v INT)", "INSERT INTO d_2 VALUES (3, 7)")
	const asked = `"columns": [{"name": "id", "type": "BIGINT"}, "v", "at"], "types": {"time": "time"}`
	result, err := runJob(t, driftJob(m, database, warehouse, asked), "r1")
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(result.Notes), `lacks column "at", which is time(3)`)
	referee := testenv.Referee(t)
	rows := []string{
		`{"id":"1","v":"-99999999.9900","at":"23:59:59.999","_table":"d_0"}`,
		`{"id":"2","v":"99999999.9999","at":"00:00:01.000","_table":"d_1"}`,
		`{"id":"3","v":"7.0000","at":null,"_table":"d_2"}`,
	}
	require.ElementsMatch(t, rows, referee.Read(t, warehouse, "ods.d", 0))

	m.Exec(t, "USE "+database, "ALTER TABLE d_2 ADD COLUMN late BIGINT UNSIGNED NOT NULL DEFAULT 18446744073709551615")
	const all = `"columns": [{"name": "id", "type": "BIGINT"}, "v", "at", "late"], "types": {"time": "time"}`
	result, err = runJob(t, driftJob(m, database, warehouse, all), "r2")
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(result.Notes), "schema is altered")
	rows = []string{
		`{"id":"1","v":"-99999999.9900","at":"23:59:59.999","_table":"d_0","late":null}`,
		`{"id":"2","v":"99999999.9999","at":"00:00:01.000","_table":"d_1","late":null}`,
		`{"id":"3","v":"7.0000","at":null,"_table":"d_2","late":"18446744073709551615"}`,
	}
	require.ElementsMatch(t, rows, referee.Read(t, warehouse, "ods.d", 0))

	m.Exec(t, "USE "+database, "UPDATE d_2 SET v = NULL", "ALTER TABLE d_2 MODIFY v DATETIME")
	for policy, says := range map[string]string{"widen": "differ in one place", "strict": "differ in", "quarantine": "1 of 3 shards cannot be merged"} {
		_, err = runJob(t, driftJob(m, database, warehouse, asked+`, "drift": "`+policy+`"`), "r-"+policy)
		require.ErrorIs(t, err, activities.ErrPlanRefused)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "a/"+database+"/d_2")
	}
	result, err = runJob(t, driftJob(m, database, warehouse, asked+`, "drift": "quarantine", "mode": "append"`), "r4")
	require.NoError(t, err)
	require.Contains(t, result.Notes[0], "1 of 3 shards are LEFT OUT")
	require.EqualValues(t, 2, result.Written)
	require.ElementsMatch(t, append(rows[:2:2], rows...), referee.Read(t, warehouse, "ods.d", 0))
}
