package app

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/dryrun"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/testenv"
)

func explainJob(t *testing.T, job json.RawMessage, in dryrun.Input) *activities.Explanation {
	t.Helper()
	x, err := (&activities.Explainer{Env: NewEnv(&config.Masker{})}).Explain(t.Context(), activities.ExplainInput{Job: job, Table: "d", Sample: in})
	require.NoError(t, err)
	return x
}

// binlog is where a server writes next: it moves with everything that is changed.
func binlog(t *testing.T, m *testenv.MySQL) []string {
	t.Helper()
	return m.Query(t, "SHOW MASTER STATUS")[0][:2]
}

// findingsOf are what a dry run found, as column, what becomes of the value, count, shards, key and value.
func findingsOf(x *activities.Explanation, database string) []string {
	var out []string
	for _, f := range x.Sample.Findings {
		what := f.Policy
		if f.Refused {
			what = "refused"
		}
		out = append(out, fmt.Sprintf("%s | %s | %d in %d | %s: %s | %s", f.Column, what, f.Count, f.Shards, strings.TrimPrefix(f.Example, "a/"+database+"/"), f.Key, f.Value))
	}
	slices.Sort(out)
	return out
}

// A dry run finds the values that policies change or refuse, on every server, and names one by its key. It writes nothing:
// neither to the warehouse nor to the staging root nor to the server.
func TestDryRunFindsValues(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			m := testenv.Start(t, f)
			database, warehouse := m.NewDatabase(t), t.TempDir()
			columns := `(k VARCHAR(9), n INT, born DATE, paid DATETIME(3) NOT NULL, at TIME(3), price DECIMAL(20,4), small INT UNSIGNED, yes TINYINT(1),
				kind ENUM('a','b'), other ENUM('','b'), place POINT, wide DECIMAL(38,2), secret VARCHAR(20), PRIMARY KEY (k, n))`
			point := "ST_GeomFromText('POINT(1 2)', %d)"
			m.Exec(t, "USE "+database, "SET sql_mode='ALLOW_INVALID_DATES'", "CREATE TABLE d_0 "+columns, "CREATE TABLE d_1 "+columns, "CREATE TABLE d_2 "+columns,
				"INSERT INTO d_0 VALUES ('good', 1, '2024-02-29', '2024-02-29 01:02:03.004', '23:59:59.999', 1.5, 7, 1, 'a', '', "+fmt.Sprintf(point, 0)+", -1.25, 'hidden')",
				"INSERT INTO d_1 VALUES ('bad', 1, '0000-00-00', '2023-02-31 00:00:01', '-838:59:59', 1.2345, 40000, 2, 'zzz', 'zzz', "+fmt.Sprintf(point, 4326)+", 12345678901234567890123456789012345.67, 'hidden')",
				"INSERT INTO d_1 VALUES ('bad', 2, '2024-00-10', '0000-00-00', '24:00:00', 12345678.5, 32768, -1, 0, 'b', NULL, 1, 'hidden')",
				"INSERT INTO d_2 VALUES ('worse', 9, '0000-00-00', '0000-00-00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'hidden')")
			job := func(types string) json.RawMessage {
				return driftJob(m, database, warehouse, types)
			}
			const asked = `"columns": ["born", "paid", "at", {"name": "price", "type": "DECIMAL(10,2)"}, {"name": "small", "type": "SMALLINT"}, "yes", "kind", "other", "place", {"name": "wide", "type": "DECIMAL(20,2)"}, "secret"]`
			before := binlog(t, m)
			x := explainJob(t, job(asked+`, "types": {"time": "time", "tinyint1": "boolean", "zero_date": "fail", "zero_date_columns": {"paid": "epoch"}}`), dryrun.Input{Rows: 100})
			require.Equal(t, []string{
				"at | refused | 2 in 1 | d_1: k = bad, n = 1 | -838:59:59.000000",
				"born | refused | 3 in 2 | d_1: k = bad, n = 1 | 0000-00-00",
				"kind | the error value of an ENUM, which is empty | 2 in 1 | d_1: k = bad, n = 1 | \"\"",
				"paid | zero_date: epoch | 3 in 2 | d_1: k = bad, n = 1 | 2023-02-31 00:00:01.000000",
				"place | geometry: wkb | 1 in 1 | d_1: k = bad, n = 1 | SRID 4326",
				"price | refused | 1 in 1 | d_1: k = bad, n = 1 | 1.2345",
				"small | refused | 2 in 1 | d_1: k = bad, n = 1 | 40000",
				"wide | refused | 1 in 1 | d_1: k = bad, n = 1 | 12345678901234567890123456789012345.67",
				"yes | refused | 2 in 1 | d_1: k = bad, n = 1 | 2",
			}, findingsOf(x, database))
			require.EqualValues(t, 4, x.Sample.Rows)
			require.Equal(t, 3, x.Sample.Shards)
			require.Len(t, x.Refused, 6)
			all, err := json.Marshal(x)
			require.NoError(t, err)
			require.NotContains(t, string(all), "hidden", "no value of other columns")
			require.Contains(t, strings.Join(x.Refused, "\n"), "types.zero_date")
			require.Contains(t, strings.Join(x.Refused, "\n"), "set types.time to string")

			x = explainJob(t, job(`"columns": ["born", "paid", "at", "secret"], "types": {"zero_date": null}`), dryrun.Input{Rows: 100})
			require.Empty(t, x.Refused)
			require.Len(t, x.Sample.Findings, 2)
			x = explainJob(t, job(`"columns": ["secret"]`), dryrun.Input{})
			require.Nil(t, x.Sample, "no row is read")
			require.Nil(t, x.Estimate)
			x = explainJob(t, job(`"columns": ["secret"], "split": {"rows": 1}`), dryrun.Input{Rows: 1, Shards: 2})
			require.Equal(t, 2, x.Sample.Shards)
			x = explainJob(t, job(`"columns": ["secret"], "where": "SLEEP(5) = 0 -- slowly"`), dryrun.Input{Rows: 1, Within: time.Second})
			require.True(t, x.Sample.Cut)

			require.Equal(t, before, binlog(t, m), "the server is as it was")
			left, err := os.ReadDir(warehouse)
			require.NoError(t, err)
			require.Empty(t, left, "and so are warehouse and staging root")
		})
	}
}

// What a plan estimates is near to what a run then writes.
func TestEstimateIsNearTheRun(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database, warehouse := m.NewDatabase(t), t.TempDir()
	m.Exec(t, "USE "+database, "CREATE TABLE n (n INT)", "INSERT INTO n VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
	for i, rows := range []int{100_000, 2_000} {
		m.Exec(t, "USE "+database, fmt.Sprintf("CREATE TABLE d_%d (id INT PRIMARY KEY, a VARCHAR(40) NOT NULL, b DOUBLE)", i),
			fmt.Sprintf("INSERT INTO d_%d SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS id, SHA1(a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + %d), RAND() FROM n a, n b, n c, n d, n e HAVING id < %d", i, i, rows),
			fmt.Sprintf("ANALYZE TABLE d_%d", i))
	}
	job := driftJob(m, database, warehouse, `"split": {"rows": 20000}`)
	x := explainJob(t, job, dryrun.Input{Rows: 1000})
	require.EqualValues(t, 21_000, x.Sample.Rows, "and twenty times as many of the largest shard")
	result, err := runJob(t, job, "r1")
	require.NoError(t, err)
	require.InEpsilon(t, result.Bytes, x.Estimate.LakeBytes, 0.3)
	require.InEpsilon(t, 102_000, x.Rows, 0.3)
	require.Positive(t, x.Estimate.Seconds)
	require.Contains(t, x.Estimate.How, "times 4 at once")
	require.Equal(t, "none (append table)", x.Buckets)
	require.EqualValues(t, 1<<30, x.Memory.Has)
	require.Less(t, x.Memory.Need, x.Memory.Has)
	require.LessOrEqual(t, x.SplitRows.Max, 4*x.SplitRows.Median)
	require.Positive(t, x.SplitRows.Min)

	slow := strings.Replace(string(job), `"source": {`, `"source": {"limits": {"rows_per_second": 50000}, `, 1)
	x = explainJob(t, json.RawMessage(slow), dryrun.Input{Rows: 2000})
	require.Contains(t, x.Estimate.How, "limits.rows_per_second allows 50000")
	require.InEpsilon(t, float64(x.Rows)/50_000, x.Estimate.Seconds, 0.01)
}
