package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/comparing"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/testenv"
)

// compareJob compares the job's only table.
func compareJob(t *testing.T, job json.RawMessage) (*comparing.Result, error) {
	t.Helper()
	return (&comparing.Comparer{Env: NewEnv(&config.Masker{}), Memory: budget.New(1<<30, nil)}).Compare(t.Context(), comparing.Input{Job: job, Table: "v"})
}

// statesOf are the states of shards by their tables' names; rows of no shard have none.
func statesOf(r *comparing.Result) map[string]comparing.State {
	states := map[string]comparing.State{}
	for _, g := range r.Groups {
		var names []string
		for _, s := range g.Shards {
			names = append(names, s[strings.LastIndexByte(s, '/')+1:])
		}
		states[strings.Join(names, " ")] = g.State
	}
	return states
}

// comparable is a server with three shards, and a job that reads them.
type comparable struct {
	m                   *testenv.MySQL
	database, warehouse string
}

func newComparable(t *testing.T, f testenv.Flavor) *comparable {
	t.Helper()
	t.Setenv("ADMIN_PASSWORD", "tributary")
	c := &comparable{testenv.Shared(t, f), "", t.TempDir()}
	c.database = c.m.NewDatabase(t)
	for _, shard := range []string{"v_1", "v_2", "v_3"} {
		c.m.Exec(t, "USE "+c.database, "CREATE TABLE "+shard+" (id INT PRIMARY KEY, name VARCHAR(20), f FLOAT, day DATE)")
		for i := range 9 {
			c.m.Exec(t, "USE "+c.database, fmt.Sprintf("INSERT INTO %s VALUES (%d, 'name %d', %d / 7, '2024-02-2%d')", shard, i, i, i, i%2))
		}
	}
	return c
}

func (c *comparable) exec(t *testing.T, texts ...string) {
	t.Helper()
	c.m.Exec(t, append([]string{"USE " + c.database}, texts...)...)
}

// job has one table, with settings for it and its run.
func (c *comparable) job(table, run string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"job": "v",
		"source": {"instances": [{"name": "a", "host": %q, "port": %d, "user": "tributary", "password": "${env:ADMIN_PASSWORD}", "databases": %q}]},
		"tables": [{"name": "v", "match": "v_*", "split": {"rows": 5}, %s}], "run": {%s}, "target": {"warehouse": %q}}`,
		c.m.Host(), c.m.Port(), c.database, table, run, c.warehouse))
}

const (
	named = `"provenance": {"database": "_database", "table": "_table"}, `
	cut   = `"consistency": "shard"`
)

// A row that is changed, missing, there twice or in place of another one in the lake is found with its shard, whatever the table's
// kind, and is a fault as long as the shard's binary log has no change since the rows were read, whatever else it has. Then it may be
// one no more.
func TestComparisonFindsTheShardOfAFault(t *testing.T) {
	kinds := map[string]string{
		"append":      named + `"target": {"database": "ods"}`,
		"added":       named + `"mode": "append", "target": {"database": "ods"}`,
		"partitioned": named + `"target": {"database": "ods", "partition": ["day"]}`,
		"key":         named + `"primary_key": ["_database", "_table", "id"], "target": {"database": "ods", "bucket": 2}`,
		"upserted":    named + `"mode": "append", "primary_key": ["_database", "_table", "id"], "target": {"database": "ods", "bucket": 2}`,
	}
	for _, f := range testenv.Flavors() {
		for kind, table := range kinds {
			if f != testenv.FlavorMariaDB && kind != "append" && kind != "key" {
				continue
			}
			t.Run(string(f)+"/"+kind, func(t *testing.T) {
				c := newComparable(t, f)
				c.exec(t, "CREATE TABLE other (id INT)")
				for name, fault := range map[string]*plantedEnv{
					"changed": {fault: func(rows []int) []int { return rows }, flip: true},
					"dropped": {fault: func(rows []int) []int { return rows[1:] }},
					"doubled": {fault: func(rows []int) []int { return append(rows, rows[0]) }},
					"instead": {fault: func(rows []int) []int { return append(rows[1:], rows[1]) }},
				} {
					if strings.Contains(table, "primary_key") && name != "changed" && name != "dropped" {
						continue // two rows of one key fail the run
					}
					c.warehouse = t.TempDir()
					fault.Env = NewEnv(&config.Masker{})
					_, err := runJobIn(t, fault, c.job(table, cut), name)
					require.NoError(t, err)
					c.exec(t, "INSERT INTO other VALUES (1)")
					r, err := compareJob(t, c.job(table, cut))
					require.NoError(t, err)
					require.Equal(t, map[string]comparing.State{"v_1": comparing.Equal, "v_2": comparing.Fault, "v_3": comparing.Equal}, statesOf(r), "%s: %+v", name, r)
					require.Equal(t, comparing.Fault, r.State)
				}
				c.exec(t, "UPDATE v_2 SET name = 'later' WHERE id = 1")
				r, err := compareJob(t, c.job(table, cut))
				require.NoError(t, err)
				require.Equal(t, comparing.Changed, statesOf(r)["v_2"])
				require.Contains(t, r.Groups[0].Why, c.database+"/v_2 was changed after")

				c.warehouse = t.TempDir()
				_, err = runJob(t, c.job(table, cut), "good")
				require.NoError(t, err)
				r, err = compareJob(t, c.job(table, cut))
				require.NoError(t, err)
				require.Equal(t, comparing.Equal, r.State, "%+v", r)
				require.EqualValues(t, 27, r.SourceRows)
				require.EqualValues(t, 27, r.TableRows)
				c.exec(t, "DELETE FROM v_3 WHERE id = 1", "INSERT INTO v_1 VALUES (100, '', NULL, NULL)")
				r, err = compareJob(t, c.job(table, cut))
				require.NoError(t, err)
				require.Equal(t, map[string]comparing.State{"v_1": comparing.Changed, "v_2": comparing.Equal, "v_3": comparing.Changed}, statesOf(r))
				c.exec(t, "FLUSH BINARY LOGS", "CREATE TABLE any_other (id INT)")
				r, err = compareJob(t, c.job(table, cut))
				require.NoError(t, err)
				require.Equal(t, comparing.Equal, statesOf(r)["v_2"])
				require.NotEqual(t, comparing.Fault, r.State)
			})
		}
	}
}

// Policies, conditions, names, soft deletes and columns that a shard lacks decide what is in the lake: both sides go by them.
func TestComparisonGoesByTheJob(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			c := newComparable(t, f)
			c.exec(t, "SET sql_mode = ''",
				"ALTER TABLE v_1 ADD COLUMN gone CHAR(1) CHARACTER SET latin1 COLLATE latin1_swedish_ci, ADD COLUMN at TIME(1), ADD COLUMN d DECIMAL(9,2), ADD COLUMN ok TINYINT(1)",
				"ALTER TABLE v_2 ADD COLUMN d DECIMAL(12,4), ADD COLUMN gone CHAR(1)",
				"UPDATE v_1 SET gone = 'Y', at = '01:02:03.4', d = -1.5, ok = 1 WHERE id < 3", "UPDATE v_1 SET gone = 'y' WHERE id = 4",
				"UPDATE v_1 SET day = '0000-00-00' WHERE id = 5", "UPDATE v_2 SET day = '2023-02-31', d = 7.0001")
			table := named + `"primary_key": ["_database", "_table", "no"], "target": {"database": "ods", "bucket": 2}, "where": "id <> 7 -- never",
				"columns": [{"name": "id", "as": "no", "type": "BIGINT"}, "day", "gone", "at", "d", "ok"], "soft_delete": {"column": "gone", "value": "Y"},
				"types": {"time": "time", "zero_date": "epoch", "tinyint1": "boolean"}`
			_, err := runJob(t, c.job(table, cut), "r1")
			require.NoError(t, err)
			r, err := compareJob(t, c.job(table, cut))
			require.NoError(t, err)
			require.Equal(t, comparing.Equal, r.State, "%+v", r)
			require.EqualValues(t, 3*8-3, r.TableRows, "Y is marked, y is not")
			require.EqualValues(t, testenv.Referee(t).Count(t, c.warehouse, "ods.v", 0).Rows, r.TableRows)
		})
	}
}

// Without provenance all shards are compared as one; without a cut nothing is called a fault; rows of no shard are found; and a table
// whose rows are not those of the source by its mode is not compared at all.
func TestComparisonSaysWhatItCannotTell(t *testing.T) {
	c := newComparable(t, testenv.FlavorMariaDB)
	target := `"target": {"database": "ods"}`
	plain := `"provenance": false, ` + target
	fault := &plantedEnv{Env: NewEnv(&config.Masker{}), fault: func(rows []int) []int { return rows[1:] }}
	_, err := compareJob(t, c.job(plain, cut))
	require.ErrorIs(t, err, activities.ErrPlanRefused)
	require.ErrorContains(t, err, "nothing was committed")
	_, err = runJobIn(t, fault, c.job(plain, cut), "r1")
	require.NoError(t, err)
	r, err := compareJob(t, c.job(plain, cut))
	require.NoError(t, err)
	require.Equal(t, map[string]comparing.State{"v_1 v_2 v_3": comparing.Fault}, statesOf(r))
	require.Contains(t, fmt.Sprint(r.Notes), "no provenance columns")

	_, err = runJobIn(t, fault, c.job(plain, `"consistency": "split"`), "r2")
	require.NoError(t, err)
	r, err = compareJob(t, c.job(plain, cut))
	require.NoError(t, err)
	require.Equal(t, comparing.Unknown, r.State)
	require.Contains(t, r.Groups[0].Why, "says of no position")

	c.warehouse = t.TempDir()
	_, err = runJob(t, c.job(named+target, cut), "r3")
	require.NoError(t, err)
	testenv.Referee(t).Write(t, c.warehouse, "ods.v", "someone", 1, testenv.Row{"id": "1", "_table": "v_9", "_database": "shop"})
	r, err = compareJob(t, c.job(named+target, cut))
	require.NoError(t, err)
	require.Equal(t, map[string]comparing.State{"": comparing.Fault, "v_1": comparing.Equal, "v_2": comparing.Equal, "v_3": comparing.Equal}, statesOf(r))
	require.Contains(t, r.Groups[0].Why, `"shop", "v_9"`)
	require.Contains(t, fmt.Sprint(r.Notes), "of someone")

	_, err = runJob(t, c.job(named+`"mode": "append", `+target, cut), "r4")
	require.NoError(t, err)
	_, err = compareJob(t, c.job(named+`"mode": "append", `+target, cut))
	require.ErrorIs(t, err, activities.ErrPlanRefused)
	require.ErrorContains(t, err, "not of one run")
	c.exec(t, "ALTER TABLE v_1 ADD COLUMN late INT")
	_, err = compareJob(t, c.job(named+target, cut))
	require.ErrorIs(t, err, activities.ErrPlanRefused)
	require.ErrorContains(t, err, "late")
}
