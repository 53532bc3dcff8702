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
	"github.com/tributary-lake/tributary/source"
)

// A shard that is altered or dropped between the plan and the read of it, be it by a column more, ends the run as a changed schema,
// read by splits or at one moment, and nothing is committed. Where columns are selected, others do not count.
func TestShardsThatChangeAfterThePlan(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			m := testenv.Shared(t, f)
			for _, c := range []struct{ table, change, says string }{
				{"", "ALTER TABLE d_0 ADD COLUMN late INT", `column "late" (int`},
				{`"consistency": "shard"`, "ALTER TABLE d_0 ADD COLUMN late INT FIRST", `column "late" (int`},
				{"", "ALTER TABLE d_0 CHANGE v w INT", `column "v" (int`},
				{`"consistency": "instance"`, "DROP TABLE d_0", "the table was dropped or renamed"},
				{`"columns": ["id", "v"]`, "ALTER TABLE d_0 MODIFY v BIGINT", "and is bigint"},
				{`"columns": ["id", "v"]`, "ALTER TABLE d_0 ADD COLUMN late INT", ""},
			} {
				database, warehouse := m.NewDatabase(t), t.TempDir()
				m.Exec(t, "USE "+database, "CREATE TABLE d_0 (id INT PRIMARY KEY, v INT)", "INSERT INTO d_0 VALUES (1, 1)")
				job := driftJob(m, database, warehouse, c.table)
				if c.table == "" {
					job = json.RawMessage(strings.Replace(string(job), `"table": "_table"}, }`, `"table": "_table"}}`, 1))
				}
				env := NewEnv(&config.Masker{})
				prepared, err := (&activities.Preparer{Env: env}).Prepare(t.Context(), activities.PrepareInput{Job: job, Run: "r1"})
				require.NoError(t, err)
				part := prepared.Tables[0].TableRun
				_, err = (&activities.Planner{Env: env, Settler: &activities.Settler{Env: env}}).Plan(t.Context(), activities.PlanInput{TableRun: part})
				require.NoError(t, err)
				m.Exec(t, "USE "+database, c.change)
				_, err = (&activities.Writer{Env: env, Producer: "tributary/test", Memory: budget.New(1<<30, nil)}).Write(t.Context(), activities.WriteInput{TableRun: part, Unit: 0})
				result, commit := (&activities.Committer{Env: env}).Commit(t.Context(), activities.CommitInput{TableRun: part})
				if c.says == "" {
					require.NoError(t, err)
					require.NoError(t, commit)
					require.EqualValues(t, 1, result.Written)
					continue
				}
				require.ErrorIs(t, err, source.ErrSchemaChanged, c.change)
				require.ErrorContains(t, err, c.says)
				require.ErrorIs(t, commit, activities.ErrMismatch, "a unit that is missing")
			}
		})
	}
}

// What a table says of consistency goes before what the run says, and patterns that take nothing out are noted.
func TestTablesOwnConsistencyAndIdleExcludes(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database, warehouse := m.NewDatabase(t), t.TempDir()
	m.Exec(t, "USE "+database, "CREATE TABLE d_0 (id INT PRIMARY KEY)", "INSERT INTO d_0 VALUES (1)", "CREATE TABLE d_0_old (id INT PRIMARY KEY)", "CREATE TABLE other (id INT)")
	job := driftJob(m, database, warehouse, fmt.Sprintf(`"consistency": "shard", "exclude": ["*_old", "/^d_9/", "%s.d_0", "other"]`, database))
	result, err := runJob(t, job, "r1")
	require.NoError(t, err)
	require.Equal(t, "shard", result.Consistency)
	require.Len(t, result.Cut, 1)
	require.Contains(t, result.Cut[0].String(), "instance a as of GTID ")
	require.EqualValues(t, 1, result.Written)
	all := strings.Join(result.Notes, "\n")
	require.Contains(t, all, fmt.Sprintf(`exclude: "/^d_9/", "%s.d_0", "other" takes out none of the matching tables`, database))
	require.Contains(t, all, "consistency shard on instance a by position")
	result, err = runJob(t, driftJob(m, database, warehouse, `"exclude": "*_old"`), "r2")
	require.NoError(t, err)
	require.Equal(t, "split", result.Consistency)
	require.NotContains(t, fmt.Sprint(result.Notes), "exclude")
}
