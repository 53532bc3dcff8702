package e2e

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// filesBelow lists everything below a folder.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// Each mistake gives one paragraph that says what, where and what to do, the right exit code, and nothing is written.
func TestMistakes(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	m.Exec(t, "CREATE TABLE "+database+".orders_1 (id INT PRIMARY KEY, v VARCHAR(40))", "INSERT INTO "+database+".orders_1 VALUES (1,'a')",
		"CREATE TABLE "+database+".drift_1 (id INT PRIMARY KEY, v VARCHAR(40))", "CREATE TABLE "+database+".drift_2 (id INT PRIMARY KEY, v INT)",
		"CREATE TABLE "+database+".zero_1 (id INT PRIMARY KEY, d DATE)", "SET sql_mode=''", "INSERT INTO "+database+".zero_1 VALUES (1,'0000-00-00')")
	q := queue(t)
	s.startWorker(t, q)
	blocked := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	instance := func(job map[string]any) map[string]any {
		return job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)
	}
	for name, c := range map[string]struct {
		change func(job, table map[string]any)
		code   int
		says   []string
	}{
		"wrong user": {func(job, _ map[string]any) { instance(job)["user"] = "stranger" }, 1, []string{`"a"`, "127.0.0.1", "stranger"}},
		"unset password": {func(job, _ map[string]any) { instance(job)["password"] = "${env:NOT_SET_ANYWHERE}" }, 2, []string{
			"${env:NOT_SET_ANYWHERE}", "not set",
		}},
		"unknown host":     {func(job, _ map[string]any) { instance(job)["host"] = "no-such-host.invalid" }, 1, []string{"no-such-host.invalid", `"a"`}},
		"nobody listens":   {func(job, _ map[string]any) { instance(job)["port"] = 1 }, 1, []string{"127.0.0.1:1", "refused"}},
		"no table":         {func(_, table map[string]any) { table["match"] = "nothing_*" }, 3, []string{"nothing_*", "orders_1", "match"}},
		"no database":      {func(job, _ map[string]any) { instance(job)["databases"] = "nothing_*" }, 3, []string{"databases"}},
		"unknown key":      {func(_, table map[string]any) { table["modus"] = "append" }, 2, []string{"modus", "mode"}},
		"not yet":          {func(_, table map[string]any) { table["mode"] = "cdc" }, 2, []string{"not available yet"}},
		"literal password": {func(job, _ map[string]any) { instance(job)["password"] = "s3cret-literal" }, 2, []string{"${env:"}},
		"drift":            {func(_, table map[string]any) { table["match"] = "drift_*" }, 3, []string{"drift_2", "v", "varchar", "int"}},
		"zero date":        {func(_, table map[string]any) { table["match"] = "zero_*" }, 1, []string{"zero_1", "0000-00-00", "zero_date"}},
		"warehouse is no folder": {func(job, _ map[string]any) {
			job["target"].(map[string]any)["warehouse"] = "file://" + blocked + "/lake"
		}, 3, []string{blocked}},
		"split by nothing": {func(_, table map[string]any) { table["split"] = map[string]any{"column": "nope"} }, 3, []string{"nope"}},
	} {
		t.Run(name, func(t *testing.T) {
			warehouse := t.TempDir()
			job := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
				instance(job)["databases"] = database
				c.change(job, table)
			})
			r := s.run(t, "run", "-f", job, "--wait")
			text := r.stdout + r.stderr
			require.Equal(t, c.code, r.code, text)
			for _, word := range c.says {
				require.Contains(t, strings.ToLower(text), strings.ToLower(word))
			}
			require.NotContains(t, text, "s3cret-literal")
			require.NotContains(t, text, "goroutine")
			for _, f := range filesBelow(t, warehouse) {
				// The table that the rows were meant for may exist, without rows; what a run keeps is settled.
				require.NotContains(t, f, "/bucket-")
				require.NotContains(t, f, "/snapshot/")
			}
			if name != "zero date" { // found while reading, when the run had a plan
				require.Empty(t, filesBelow(t, warehouse), "nothing is written")
			}
		})
	}
}

func TestTemporalIsDown(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	job := jobFile(t, t.TempDir(), "q", []server{{"a", m}}, nil)
	for _, args := range [][]string{{"run", "-f", job}, {"plan", "-f", job}, {"status"}, {"schedule", "list"}} {
		r := s.run(t, append(args, "--temporal-address", "127.0.0.1:1")...)
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, "127.0.0.1:1")
		require.Contains(t, r.stderr, "make dev")
	}
}

// A target with another schema is left alone where the job is strict, in the plan too, and is widened otherwise: by a run,
// never by a plan.
func TestTargetWithAnotherSchema(t *testing.T) {
	t.Parallel()
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	m.Exec(t, "CREATE TABLE "+database+".orders_1 (id INT PRIMARY KEY, v VARCHAR(40))", "INSERT INTO "+database+".orders_1 VALUES (1,'a')",
		"CREATE TABLE "+database+".other_1 (id BIGINT PRIMARY KEY, w VARCHAR(40))", "INSERT INTO "+database+".other_1 VALUES (5000000000,'b')")
	warehouse, q := t.TempDir(), queue(t)
	s.startWorker(t, q)
	job := func(pattern, drift string) string {
		return jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
			job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
			table["match"], table["drift"], table["provenance"] = pattern, drift, false
		})
	}
	schemas := func() int { return len(testenv.Referee(t).Describe(t, warehouse, "ods.orders", 0).Schemas) }
	require.Zero(t, s.run(t, "run", "-f", job("orders_*", "widen"), "--wait").code)
	before := testenv.Referee(t).Read(t, warehouse, "ods.orders", 0)
	for _, command := range [][]string{{"plan"}, {"run", "--wait"}} {
		r := s.run(t, append(command, "-f", job("other_*", "strict"))...)
		require.Equal(t, 3, r.code, r.stdout+r.stderr)
		for _, word := range []string{"column v", "column w", "id", "another schema"} {
			require.Contains(t, r.stdout+r.stderr, word)
		}
	}
	r := s.run(t, "plan", "-f", job("other_*", "widen"))
	require.Zero(t, r.code, r.stdout+r.stderr)
	require.Equal(t, before, testenv.Referee(t).Read(t, warehouse, "ods.orders", 0))
	require.Equal(t, 1, schemas(), "a plan alters nothing")

	r = s.run(t, "run", "-f", job("other_*", "widen"), "--wait")
	require.Zero(t, r.code, r.stdout+r.stderr)
	requireSameRows(t, []string{`{"id":"5000000000","v":null,"w":"b"}`}, refereeRows(t, warehouse, "ods.orders"))
	require.Equal(t, 2, schemas())
	require.Equal(t, before, testenv.Referee(t).Read(t, warehouse, "ods.orders", 1), "the older snapshot as it was")
}

// A plan shows what a run would do and writes nothing.
func TestPlanWritesNothing(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	m.Exec(t, "CREATE TABLE "+database+".orders_1 (id INT PRIMARY KEY, v VARCHAR(40))", "INSERT INTO "+database+".orders_1 VALUES (1,'a')")
	warehouse, q := t.TempDir(), queue(t)
	s.startWorker(t, q)
	job := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, _ map[string]any) {
		job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
	})
	r := s.run(t, "plan", "-f", job)
	require.Zero(t, r.code, r.stderr)
	for _, word := range []string{"will be created", "a/" + database + "/orders_1", "varchar(40)", "STRING", "_instance"} {
		require.Contains(t, r.stdout, word)
	}
	r = s.run(t, "plan", "-f", job, "--json")
	var plans []map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &plans))
	require.Equal(t, true, plans[0]["create"])
	require.Empty(t, filesBelow(t, warehouse))
}

// Two runs on one table cannot overlap, whoever starts them.
func TestTwoRunsOnOneTable(t *testing.T) {
	t.Parallel() // most of its time is waiting
	f := newManySplits(t)
	f.stack.startWorker(t, f.queue)
	run := f.start(t)
	eventually(t, patience, "the first run writes", func() bool { return len(f.ledgerFiles(run, "splits")) > 0 })
	r := f.stack.run(t, "run", "-f", f.job, "--wait")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stdout, "another run is syncing")
	require.Equal(t, int64(f.rows), f.finish(t, run).Tables[0].Written)
	f.exact(t)
}

// A schedule starts run after run, and skips one that is due while the one before goes on.
func TestSchedule(t *testing.T) {
	t.Parallel() // most of its time is waiting
	f := newManySplits(t)
	data, err := os.ReadFile(f.job)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.job, bytes.Replace(data, []byte(`"job": "orders"`), []byte(`"job": "nightly"`), 1), 0o600))
	r := f.stack.run(t, "schedule", "create", "-f", f.job, "--every", "10s")
	require.Zero(t, r.code, r.stderr)
	t.Cleanup(func() { require.Zero(t, f.stack.run(t, "schedule", "delete", "nightly").code) })
	handle := f.stack.client.ScheduleClient().GetHandle(t.Context(), "tributary-nightly")
	// Without a worker the first run goes on and on, so what is due meanwhile is skipped.
	require.Eventually(t, func() bool {
		d, err := handle.Describe(t.Context())
		return err == nil && d.Info.NumActionsSkippedOverlap >= 1
	}, patience, 100*time.Millisecond, "a start is skipped")
	d, err := handle.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, d.Info.NumActions)
	f.stack.startWorker(t, f.queue)
	require.Eventually(t, func() bool {
		r := f.stack.run(t, "status", "nightly", "--json")
		done := 0
		var runs []map[string]any
		if json.Unmarshal([]byte(r.stdout), &runs) == nil {
			for _, run := range runs {
				if run["status"] == strings.ToLower(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED.String()) {
					done++
				}
			}
		}
		return done >= 3
	}, patience, time.Second, "three runs are done")
	r = f.stack.run(t, "schedule", "list")
	require.Contains(t, r.stdout, "nightly")
	snapshots := testenv.Referee(t).Describe(t, f.warehouse, "ods.orders", 0).Snapshots
	require.GreaterOrEqual(t, len(snapshots), 3)
	for i, s := range snapshots {
		require.Equal(t, int64(i+1), s.ID)
		require.Equal(t, int64(f.rows), s.TotalRecordCount)
	}
}

// A plan whose dry run meets a value that would end the run, and one that is refused, exit with 3 and show the other tables.
func TestPlanOfARunThatWouldFail(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	m.Exec(t, "CREATE TABLE "+database+".orders_1 (id INT PRIMARY KEY, v VARCHAR(40))", "INSERT INTO "+database+".orders_1 VALUES (1,'a')",
		"CREATE TABLE "+database+".zero_1 (id INT PRIMARY KEY, d DATE)", "SET sql_mode=''", "INSERT INTO "+database+".zero_1 VALUES (7,'0000-00-00')")
	warehouse, q := t.TempDir(), queue(t)
	s.startWorker(t, q)
	job := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
		job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
		for name, match := range map[string]string{"zero": "zero_*", "nothing": "nothing_*"} {
			job["tables"] = append(job["tables"].([]any), map[string]any{"name": name, "match": match, "target": map[string]any{"database": "ods"}})
		}
	})
	r := s.run(t, "plan", "-f", job)
	require.Equal(t, 3, r.code, r.stdout+r.stderr)
	for _, word := range []string{"table orders →", "table nothing: the plan is refused", "A RUN WOULD BE REFUSED, OR FAIL", "a/" + database + "/zero_1", "id = 7", "0000-00-00", "types.zero_date", "nothing_*"} {
		require.Contains(t, r.stdout, word)
	}
	require.Contains(t, r.stderr, "see the plan of zero, nothing")
	r = s.run(t, "plan", "-f", job, "--json")
	require.Equal(t, 3, r.code)
	var plans []map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &plans))
	require.Len(t, plans, 3)
	r = s.run(t, "plan", "-f", job, "--sample-rows", "0", "--markdown")
	require.Equal(t, 3, r.code, "the refused table")
	require.Contains(t, r.stdout, "| column | type | from |")
	require.NotContains(t, r.stderr, "zero", "no row is read")
	require.Equal(t, 2, s.run(t, "plan", "-f", job, "--json", "--markdown").code)
	require.Empty(t, filesBelow(t, warehouse))
}
