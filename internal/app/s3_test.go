package app

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/internal/testenv/s3proxy"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/ledger"
)

// bucket is a warehouse in a bucket of the shared server, behind a proxy.
type bucket struct {
	*s3proxy.Proxy
	name   string
	folder string // where the warehouse lies as files
}

func newBucket(t *testing.T) *bucket {
	t.Helper()
	t.Setenv("READER_PASSWORD", "reader")
	t.Setenv("S3_KEY", testenv.S3User)
	t.Setenv("S3_SECRET", testenv.S3Password)
	server := testenv.S3(t)
	b := &bucket{Proxy: s3proxy.NewProxy(t, server.Endpoint), name: server.Bucket(t)}
	b.folder = filepath.Join(server.Folder(b.name), "lake")
	return b
}

// job is a job for the shards d_* of a database into the bucket.
func (b *bucket) job(m *testenv.MySQL, database string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"job": "drift",
		"source": {"instances": [{"name": "a", "host": %q, "port": %d, "user": "reader", "password": "${env:READER_PASSWORD}", "databases": %q}]},
		"tables": [{"name": "d", "match": "d_*", "provenance": {"table": "_table"}, "split": {"rows": 40}, "target": {"database": "ods"}}],
		"target": {"warehouse": "s3://%s//lake/", "s3": {"endpoint": %q, "access_key_id": "${env:S3_KEY}", "secret_access_key": "${env:S3_SECRET}"}}}`,
		m.Host(), m.Port(), database, b.name, b.Endpoint))
}

// shards makes three tables of a hundred rows each, and returns their rows as the referee writes them.
func shards(t *testing.T, m *testenv.MySQL) (database string, rows []string) {
	t.Helper()
	database = m.NewDatabase(t)
	for table := range 3 {
		var values []string
		for id := range 100 {
			values = append(values, fmt.Sprintf("(%d, 'row %d of %d')", id, id, table))
			rows = append(rows, fmt.Sprintf(`{"id":"%d","v":"row %d of %d","_table":"d_%d"}`, id, id, table, table))
		}
		m.Exec(t, "USE "+database, fmt.Sprintf("CREATE TABLE d_%d (id INT PRIMARY KEY, v VARCHAR(50))", table),
			fmt.Sprintf("INSERT INTO d_%d VALUES %s", table, strings.Join(values, ",")))
	}
	return database, rows
}

// A request of twenty fails in one way or another; the run ends as if none did.
func TestRunIntoS3UnderFaults(t *testing.T) {
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	b := newBucket(t)
	database, rows := shards(t, m)
	b.Choose(s3proxy.Random(11, 0.05))
	for run := range 2 {
		result, err := runJob(t, b.job(m, database), fmt.Sprint("r", run))
		require.NoError(t, err)
		require.EqualValues(t, 300, result.Written)
		require.EqualValues(t, run+1, result.Snapshot)
		require.ElementsMatch(t, rows, testenv.Referee(t).Read(t, b.folder, "ods.d", 0))
	}
	require.NoError(t, testenv.RustReader(t).Check(t, b.folder, "ods.d", 0))
	b.Choose(nil)
	require.ElementsMatch(t, rows, testenv.RustReader(t).ReadThrough(t, map[string]string{
		"warehouse": "s3://" + b.name + "/lake", "s3.endpoint": b.Endpoint, "s3.region": "us-east-1", "s3.path-style-access": "true",
		"s3.access-key": testenv.S3User, "s3.secret-key": testenv.S3Password,
	}, b.folder, "ods.d"), "paimon-rust reads it from S3 itself")
}

// A store on which two can win is refused before anything is written, by the plan and by the run.
func TestStoreWithoutConditionsIsRefused(t *testing.T) {
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	b := newBucket(t)
	database, _ := shards(t, m)
	b.Unconditional(testenv.S3User, testenv.S3Password)
	env := NewEnv(&config.Masker{})
	_, err := (&activities.Explainer{Env: env}).Explain(t.Context(), activities.ExplainInput{Job: b.job(m, database), Table: "d"})
	require.ErrorIs(t, err, activities.ErrPlanRefused)
	_, err = (&activities.Preparer{Env: env}).Prepare(t.Context(), activities.PrepareInput{Job: b.job(m, database), Run: "r"})
	require.ErrorIs(t, err, activities.ErrPlanRefused)
	require.ErrorContains(t, err, "the store does not keep several writers from creating one file")
	require.ErrorContains(t, err, "would need a catalog lock, which is not available yet")
	store, err := env.stores.open(t.Context(), "s3://"+b.name, storeSettings(t, b.job(m, database)))
	require.NoError(t, err)
	require.NoError(t, store.List(t.Context(), "", func(i fileio.Info) error { return fmt.Errorf("%s is there", i.Path) }))
}

func storeSettings(t *testing.T, job json.RawMessage) StoreSettings {
	t.Helper()
	parsed, err := config.ParseJob("", job)
	require.NoError(t, err)
	return SettingsOf(parsed.Target)
}

// An attempt dies while it uploads. Giving the run up removes what it had sent, though no file of it ever appeared.
func TestAbortRemovesUploads(t *testing.T) {
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	b := newBucket(t)
	database, _ := shards(t, m)
	job := b.job(m, database)
	env := NewEnv(&config.Masker{})
	prepared, err := (&activities.Preparer{Env: env}).Prepare(t.Context(), activities.PrepareInput{Job: job, Run: "r"})
	require.NoError(t, err)
	part := prepared.Tables[0].TableRun
	_, err = (&activities.Planner{Env: env, Settler: &activities.Settler{Env: env}}).Plan(t.Context(), activities.PlanInput{TableRun: part})
	require.NoError(t, err)
	staging, err := env.Staging(t.Context(), part.Staging, part.Store)
	require.NoError(t, err)
	a, err := ledger.Open(staging, part.Key).Register(t.Context(), 0)
	require.NoError(t, err)
	session, err := env.Open(t.Context(), job, "d")
	require.NoError(t, err)
	defer session.Close()
	w, err := session.Warehouse.Create(t.Context(), session.Catalog.Path(session.Spec.Target)+"/bucket-0/"+a.Prefix+"0.parquet")
	require.NoError(t, err)
	_, err = w.Write(make([]byte, 9<<20)) // a part and a bit, and nobody to end it
	require.NoError(t, err)
	table := lake.NewTable(session.Warehouse, session.Catalog.Path(session.Spec.Target), nil)
	left := func() []string {
		paths, err := table.DataFiles(t.Context(), func(string) bool { return true })
		require.NoError(t, err)
		return paths
	}
	require.Len(t, left(), 1)
	aborted, err := (&activities.Aborter{Env: NewEnv(&config.Masker{})}).Abort(t.Context(), activities.AbortInput{TableRun: part})
	require.NoError(t, err)
	require.Equal(t, activities.StateAborted, aborted.State)
	require.Equal(t, 1, aborted.Deleted)
	require.Empty(t, left())
	require.Error(t, w.Close(), "a stalled writer cannot finish it")
}

// Keys expire in the middle of a run: what was being done says so and can be tried again, nothing is lost, and the run goes on
// once they are renewed.
func TestKeysThatExpireInARun(t *testing.T) {
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	b := newBucket(t)
	database, rows := shards(t, m)
	env := NewEnv(&config.Masker{})
	prepared, err := (&activities.Preparer{Env: env}).Prepare(t.Context(), activities.PrepareInput{Job: b.job(m, database), Run: "r"})
	require.NoError(t, err)
	part := prepared.Tables[0].TableRun
	planner := &activities.Planner{Env: env, Settler: &activities.Settler{Env: env}}
	planned, err := planner.Plan(t.Context(), activities.PlanInput{TableRun: part})
	require.NoError(t, err)
	writer, committer := &activities.Writer{Env: env, Producer: "tributary/test", Memory: budget.New(1<<30, nil)}, &activities.Committer{Env: env}
	expired := func(do func() error) {
		b.Choose(func(*http.Request) s3proxy.Fault { return s3proxy.Expired })
		err := do()
		require.ErrorIs(t, err, fs.ErrPermission)
		require.ErrorContains(t, err, "the credentials have expired: renew them where the worker gets them from, then let the run go on")
		b.Choose(nil)
	}
	for unit := range planned.Units {
		write := func() error {
			_, err := writer.Write(t.Context(), activities.WriteInput{TableRun: part, Unit: unit})
			return err
		}
		expired(write)
		require.NoError(t, write())
	}
	commit := func() error {
		_, err := committer.Commit(t.Context(), activities.CommitInput{TableRun: part})
		return err
	}
	expired(commit)
	require.NoError(t, commit())
	require.ElementsMatch(t, rows, testenv.Referee(t).Read(t, b.folder, "ods.d", 0))
}
