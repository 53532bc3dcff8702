package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/deletes"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// testJob is a job file of the tests.
type testJob struct {
	Job    string      `json:"job"`
	Tables []testTable `json:"tables"`
}

type testTable struct {
	Name string `json:"name"`
	// Target is the table's name in database ods.
	Target         string            `json:"target"`
	Append         bool              `json:"append"`
	ReplaceForeign bool              `json:"replace_foreign"`
	EmptyTarget    bool              `json:"empty_target"`
	Retention      time.Duration     `json:"retention"`
	PackRows       int64             `json:"pack_rows"`
	Partition      []string          `json:"partition"`
	Serializer     int               `json:"serializer"`
	Drift          string            `json:"drift"`
	PrimaryKey     []string          `json:"primary_key"`
	Buckets        string            `json:"buckets"`
	LastWins       bool              `json:"last_wins"`
	MergeBytes     int64             `json:"merge_bytes"`
	SortBytes      int               `json:"sort_bytes"`
	Options        map[string]string `json:"options"`
	Checksums      bool              `json:"checksums"`
	// Watermark is empty or id, which makes the run an incremental one.
	Watermark string `json:"watermark"`
	// SoftDelete is the name that marks a row as deleted.
	SoftDelete  string `json:"soft_delete"`
	CompareKeys bool   `json:"compare_keys"`
}

func (j testJob) json(t testing.TB) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(j)
	require.NoError(t, err)
	return data
}

// orders is a job of one table.
func orders(change ...func(*testTable)) testJob {
	table := testTable{Name: "orders", Target: "orders", Retention: 72 * time.Hour}
	for _, c := range change {
		c(&table)
	}
	return testJob{Job: "shop", Tables: []testTable{table}}
}

func appending(t *testTable) { t.Append = true }

// keyed makes the target a key table of three buckets, whose rows are merged in as many parts as can be.
func keyed(key ...string) func(*testTable) {
	return func(t *testTable) { t.PrimaryKey, t.Buckets, t.MergeBytes = key, "3", 1 }
}

// process is a worker's process: everything that activities hold in memory. A test makes a new one as often as it likes.
type process struct {
	staging, warehouse fileio.Store
	sources            map[string]*memorySource
}

const (
	stagingURI   = "memory://staging"
	warehouseURI = "memory://warehouse"
)

func (p *process) Job(_ context.Context, data json.RawMessage) (*activities.Job, error) {
	var j testJob
	if err := json.Unmarshal(data, &j); err != nil || j.Job == "" {
		return nil, fmt.Errorf("%w: no job in %s", activities.ErrConfig, data)
	}
	out := &activities.Job{Name: j.Job, Staging: stagingURI, Settings: activities.Settings{Parallelism: 2}}
	for _, t := range j.Tables {
		options := map[string]string{}
		maps.Copy(options, t.Options)
		if t.Buckets != "" {
			options["bucket"] = t.Buckets
		}
		out.Tables = append(out.Tables, activities.TableSpec{
			PrimaryKey: t.PrimaryKey, Options: options, LastWins: t.LastWins, MergeBytes: t.MergeBytes, SortBytes: t.SortBytes, Parallelism: 2,
			Watermark: t.Watermark, Job: j.Job, Name: t.Name, Warehouse: warehouseURI, Target: target(t.Target), PartitionKeys: t.Partition,
			Overwrite: !t.Append && !t.CompareKeys, Deletes: softDelete(t), ReplaceForeign: t.ReplaceForeign, EmptyTarget: t.EmptyTarget,
			Retention: t.Retention, PackRows: t.PackRows, RowGroupBytes: 1 << 20, Memory: 256 << 20, SerializerVersion: t.Serializer,
			Drift: source.DriftPolicy(t.Drift), Checksums: t.Checksums,
		})
	}
	return out, nil
}

func softDelete(t testTable) deletes.Spec {
	s := deletes.Spec{Compare: t.CompareKeys, Refresh: !t.Append}
	if t.SoftDelete != "" {
		s.Column, s.Value = "name", t.SoftDelete
	}
	return s
}

func target(name string) catalog.Identifier { return catalog.Identifier{Database: "ods", Table: name} }

func (p *process) Staging(context.Context, string, string) (fileio.Store, error) {
	return p.staging, nil
}

func (p *process) Open(ctx context.Context, data json.RawMessage, table string) (*activities.Session, error) {
	job, err := p.Job(ctx, data)
	if err != nil {
		return nil, err
	}
	for _, t := range job.Tables {
		if t.Name == table {
			s := &activities.Session{
				Spec: t, Source: p.sources[table], Warehouse: p.warehouse, Catalog: catalog.NewFilesystem(p.warehouse), Close: func() {},
			}
			if t.Watermark != "" {
				s.Windows = p.sources[table]
			}
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: no table %s", activities.ErrConfig, table)
}

// world is a lake, a staging root and a source, looked at from outside.
type world struct {
	*process
	t testing.TB
}

// newWorld has a source of two shards with five rows each, read in splits of two rows.
func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{t: t, process: &process{
		staging: fileiotest.NewMemory(), warehouse: fileiotest.NewMemory(),
		sources: map[string]*memorySource{"orders": newSource(shard("a", 0, 5), shard("b", 100, 5))},
	}}
}

func (w *world) source() *memorySource { return w.sources["orders"] }

// with is another process, whose stores are wrapped.
func (w *world) with(wrap func(fileio.Store) fileio.Store) *process {
	return &process{staging: wrap(w.staging), warehouse: wrap(w.warehouse), sources: w.sources}
}

// part names a table's part of a run of the job shop.
func part(run string) activities.TableRun {
	return activities.TableRun{Key: ledger.Key{Job: "shop", Run: run, Table: "orders"}, Staging: stagingURI}
}

// The activities, as plain calls of a process.

func (p *process) prepare(ctx context.Context, in activities.PrepareInput) (*activities.Prepared, error) {
	return (&activities.Preparer{Env: p}).Prepare(ctx, in)
}

func (p *process) plan(ctx context.Context, in activities.PlanInput) (*activities.Planned, error) {
	return (&activities.Planner{Env: p, Settler: &activities.Settler{Env: p}}).Plan(ctx, in)
}

func (p *process) write(ctx context.Context, in activities.WriteInput) (*activities.Written, error) {
	return (&activities.Writer{Env: p, Producer: "tributary/test", Memory: budget.New(256<<20, nil)}).Write(ctx, in)
}

func (p *process) planMerges(ctx context.Context, in activities.PlanMergesInput) (*activities.PlannedMerges, error) {
	return (&activities.Merger{Env: p, Memory: budget.New(1<<30, nil)}).PlanMerges(ctx, in)
}

func (p *process) merge(ctx context.Context, in activities.MergeInput) (*activities.Written, error) {
	return (&activities.Merger{Env: p, Producer: "tributary/test", Memory: budget.New(256<<20, nil)}).Merge(ctx, in)
}

func (p *process) verify(ctx context.Context, in activities.VerifyInput) (*ledger.Counts, error) {
	return (&activities.Committer{Env: p}).Verify(ctx, in)
}

func (p *process) commit(ctx context.Context, in activities.CommitInput) (*activities.TableResult, error) {
	return (&activities.Committer{Env: p}).Commit(ctx, in)
}

func (p *process) clean(ctx context.Context, in activities.CleanInput) (int, error) {
	return (&activities.Cleaner{Env: p}).Clean(ctx, in)
}

func (p *process) abort(ctx context.Context, in activities.AbortInput) (*activities.Aborted, error) {
	return (&activities.Aborter{Env: p}).Abort(ctx, in)
}

// call runs an activity as a worker does, interceptor included.
func call[In, Out any](ctx context.Context, activity func(context.Context, In) (Out, error), in In) (Out, error) {
	var out Out
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{
		BackgroundActivityContext: ctx,
		Interceptors:              []interceptor.WorkerInterceptor{&activities.Interceptor{Mask: func(s string) string { return s }}},
	})
	env.RegisterActivity(activity)
	value, err := env.ExecuteActivity(activity, in)
	if err == nil && value.HasValue() {
		err = value.Get(&out)
	}
	return out, err
}

// refused asserts the class of an activity's error and that it is not tried again.
func refused(t testing.TB, err error, kind string, texts ...string) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, kind, app.Type(), err)
	require.True(t, app.NonRetryable(), err)
	for _, text := range texts {
		require.ErrorContains(t, err, text)
	}
}

// retried asserts the class of an activity's error and that it is tried again.
func retried(t testing.TB, err error, kind string, texts ...string) {
	t.Helper()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, kind, app.Type(), err)
	require.False(t, app.NonRetryable(), err)
	for _, text := range texts {
		require.ErrorContains(t, err, text)
	}
}

// begin prepares and plans a run.
func (w *world) begin(job testJob, run string) *activities.Planned {
	w.t.Helper()
	_, err := call(w.t.Context(), w.prepare, activities.PrepareInput{Job: job.json(w.t), Run: run})
	require.NoError(w.t, err)
	planned, err := call(w.t.Context(), w.plan, activities.PlanInput{TableRun: part(run)})
	require.NoError(w.t, err)
	return planned
}

// load begins a run and writes all its units.
func (w *world) load(job testJob, run string) {
	w.t.Helper()
	planned := w.begin(job, run)
	for unit := range planned.Units {
		w.writeUnit(run, unit)
	}
	if planned.Keyed {
		w.mergeAll(run)
	}
}

// mergeAll plans and makes the merges of a run, and tells how many there are.
func (w *world) mergeAll(run string) int {
	w.t.Helper()
	merges, err := call(w.t.Context(), w.planMerges, activities.PlanMergesInput{TableRun: part(run)})
	require.NoError(w.t, err)
	for n := range merges.Merges {
		_, err := call(w.t.Context(), w.merge, activities.MergeInput{TableRun: part(run), Merge: n})
		require.NoError(w.t, err)
	}
	return merges.Merges
}

func (w *world) writeUnit(run string, unit int) *activities.Written {
	w.t.Helper()
	written, err := call(w.t.Context(), w.write, activities.WriteInput{TableRun: part(run), Unit: unit})
	require.NoError(w.t, err)
	return written
}

func (w *world) commitRun(run string) *activities.TableResult {
	w.t.Helper()
	result, err := call(w.t.Context(), w.commit, activities.CommitInput{TableRun: part(run)})
	require.NoError(w.t, err)
	return result
}

func (w *world) cleanRun(run string) int {
	w.t.Helper()
	n, err := call(w.t.Context(), w.clean, activities.CleanInput{TableRun: part(run)})
	require.NoError(w.t, err)
	return n
}

func (w *world) abortRun(run string, fence bool) *activities.Aborted {
	w.t.Helper()
	a, err := call(w.t.Context(), w.abort, activities.AbortInput{TableRun: part(run), Fence: fence})
	require.NoError(w.t, err)
	return a
}

// run makes a whole run.
func (w *world) run(job testJob, run string) *activities.TableResult {
	w.t.Helper()
	w.load(job, run)
	result := w.commitRun(run)
	w.cleanRun(run)
	return result
}

// table opens the target as a stranger would.
func (w *world) table() *lake.Table {
	w.t.Helper()
	c := catalog.NewFilesystem(w.warehouse)
	s, err := c.LoadTable(w.t.Context(), target("orders"))
	require.NoError(w.t, err)
	return lake.NewTable(w.warehouse, c.Path(target("orders")), s)
}

func (w *world) snapshots() *snapshot.Manager {
	return snapshot.NewManager(w.warehouse, "ods.db/orders")
}

// rows scans the target, or a snapshot of it: sorted lines of shard, id and name.
func (w *world) rows(id ...snapshot.ID) []string {
	w.t.Helper()
	table, o := w.table(), lake.ScanOptions{}
	if len(id) > 0 {
		o.Snapshot = id[0]
	}
	lines := []string{}
	err := table.Scan(w.t.Context(), o, func(b *row.Batch) error {
		for i := range b.Rows {
			texts := map[string]string{}
			for c, f := range table.Schema().Fields {
				texts[f.Name] = "NULL"
				if v := b.Columns[c].Value(i); !v.Null {
					texts[f.Name] = row.Text(f.Type, v)
				}
			}
			lines = append(lines, fmt.Sprintf("%s/%s %s %s", texts["_database"], texts["_table"], texts["id"], texts["name"]))
		}
		return nil
	})
	require.NoError(w.t, err)
	slices.Sort(lines)
	return lines
}

// latest is the number of the newest snapshot.
func (w *world) latest() snapshot.ID {
	w.t.Helper()
	id, err := w.snapshots().LatestID(w.t.Context())
	require.NoError(w.t, err)
	return id
}

// list gives the paths of a store that contain a text, sorted.
func list(t testing.TB, s fileio.Store, containing string) []string {
	t.Helper()
	paths := []string{}
	require.NoError(t, s.List(t.Context(), "", func(i fileio.Info) error {
		if strings.Contains(i.Path, containing) {
			paths = append(paths, i.Path)
		}
		return nil
	}))
	slices.Sort(paths)
	return paths
}

// dataFiles are all files in bucket folders, whoever made them.
func (w *world) dataFiles() []string { return list(w.t, w.warehouse, "/bucket-") }

// named are the data files that any snapshot names.
func (w *world) named() []string {
	w.t.Helper()
	ids, err := w.snapshots().List(w.t.Context())
	require.NoError(w.t, err)
	paths := []string{}
	for _, id := range ids {
		files, err := w.table().Files(w.t.Context(), id)
		require.NoError(w.t, err)
		for _, f := range files {
			if !slices.Contains(paths, f.Path) {
				paths = append(paths, f.Path)
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// tidy asserts that the table's bucket folders hold what its snapshots name, all of it and nothing else, and that no
// snapshot is pinned.
func (w *world) tidy() {
	w.t.Helper()
	require.Equal(w.t, w.named(), w.dataFiles())
	require.Empty(w.t, list(w.t, w.warehouse, "/consumer/"))
}

// pinned is the first snapshot that a run keeps, 0 when it keeps none.
func (w *world) pinned(run string) snapshot.ID {
	w.t.Helper()
	id, err := w.snapshots().Consumer(w.t.Context(), "tributary-"+run)
	require.NoError(w.t, err)
	return id
}

// ledgerFile is the path of a file of a run's ledger in the staging root.
func ledgerFile(run string, elem ...string) string {
	return path.Join(append([]string{"shop", run, "orders"}, elem...)...)
}

func exists(t testing.TB, s fileio.Store, p string) bool {
	t.Helper()
	_, err := s.Stat(t.Context(), p)
	if errors.Is(err, fileio.ErrNotExist) {
		return false
	}
	require.NoError(t, err)
	return true
}
