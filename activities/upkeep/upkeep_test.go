package upkeep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/upkeep"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
)

// env is a job of one table in a warehouse on disk.
type env struct {
	store   fileio.Store
	staging fileio.Store
}

var target = catalog.Identifier{Database: "ods", Table: "orders"}

func (e *env) Job(context.Context, json.RawMessage) (*activities.Job, error) {
	return &activities.Job{Name: "shop", Tables: []activities.TableSpec{{Name: "orders", Target: target, Warehouse: "file:///w"}}}, nil
}

func (e *env) Staging(context.Context, string, string) (fileio.Store, error) { return e.staging, nil }

func (e *env) Open(context.Context, json.RawMessage, string) (*activities.Session, error) {
	return &activities.Session{
		Spec: activities.TableSpec{Job: "shop", Target: target, Memory: 64 << 20}, Warehouse: e.store, Catalog: catalog.NewFilesystem(e.store), Close: func() {},
	}, nil
}

type world struct {
	*upkeep.Keeper
	env       *env
	java      *testenv.JavaReferee
	warehouse string
	writes    int
}

func newWorld(t *testing.T, options map[string]string) *world {
	t.Helper()
	w := &world{java: testenv.Referee(t), warehouse: t.TempDir(), env: &env{}}
	var err error
	w.env.store, err = fileio.NewLocal(w.warehouse)
	require.NoError(t, err)
	w.env.staging, err = fileio.NewLocal(t.TempDir())
	require.NoError(t, err)
	w.Keeper = &upkeep.Keeper{Env: w.env, Memory: budget.New(256<<20, nil)}
	all := map[string]string{"bucket": "2", "write-only": "true"}
	for k, v := range options {
		all[k] = v
	}
	w.java.Create(t, w.warehouse, "ods.orders", testenv.TableSpec{
		Fields: []testenv.FieldSpec{{Name: "id", Type: "INT NOT NULL"}, {Name: "v", Type: "STRING"}}, PrimaryKeys: []string{"id"}, Options: all,
	})
	return w
}

// write has Paimon add rows of ids to the table.
func (w *world) write(t *testing.T, ids ...int) {
	t.Helper()
	w.writes++
	var rows []testenv.Row
	for _, id := range ids {
		rows = append(rows, testenv.Row{"id": fmt.Sprint(id), "v": fmt.Sprint("write ", w.writes)})
	}
	w.java.Write(t, w.warehouse, "ods.orders", "java", int64(w.writes), rows...)
}

func table() upkeep.Table { return upkeep.Table{Job: json.RawMessage(`{}`), Name: "orders"} }

// Only buckets that have come to the trigger are compacted when it is due, as Paimon counts sorted runs; the rows stay, also for
// Paimon, and a table that is write-only is left to whoever compacts it.
func TestCompactionWhenDue(t *testing.T) {
	w := newWorld(t, map[string]string{"num-sorted-run.compaction-trigger": "3"})
	compact := func(due bool) *upkeep.Compacted {
		t.Helper()
		before := w.java.Read(t, w.warehouse, "ods.orders", 0)
		r, err := w.Compact(t.Context(), upkeep.CompactInput{Table: table(), Due: due})
		require.NoError(t, err)
		require.Equal(t, before, w.java.Read(t, w.warehouse, "ods.orders", 0))
		return r
	}
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	w.write(t, all...)
	require.Equal(t, &upkeep.Compacted{Left: "the table is write-only"}, compact(true))
	w.java.Alter(t, w.warehouse, "ods.orders", testenv.SchemaChange{Set: "write-only", To: "false"})
	require.Equal(t, &upkeep.Compacted{}, compact(true))
	// Beside the writer, Paimon must not compact by itself.
	w.java.Alter(t, w.warehouse, "ods.orders", testenv.SchemaChange{Set: "write-only", To: "true"})
	w.write(t, all...)
	one := w.bucketOf(t, 1)
	w.write(t, 1)
	w.java.Alter(t, w.warehouse, "ods.orders", testenv.SchemaChange{Set: "write-only", To: "false"})
	r := compact(true)
	require.NotZero(t, r.Snapshot)
	require.Equal(t, 3, r.FilesBefore)
	files := w.java.Describe(t, w.warehouse, "ods.orders", 0).Files
	for _, f := range files {
		want := 0
		if f.Bucket == one {
			want = 3 // the top: there are as many levels as the trigger and one
		}
		require.Equal(t, want, f.Level)
	}
	require.Len(t, files, 3)
	require.Equal(t, &upkeep.Compacted{}, compact(true))
	require.Equal(t, 2, compact(false).FilesBefore)
	require.Equal(t, &upkeep.Compacted{}, compact(false))
}

// bucketOf is the bucket that the last write of one id will go to, found by where its files are.
func (w *world) bucketOf(t *testing.T, id int) int {
	t.Helper()
	for _, f := range w.java.Describe(t, w.warehouse, "ods.orders", 0).Files {
		if lo, hi := *f.MinKey["id"], *f.MaxKey["id"]; lo == fmt.Sprint(id) || hi == fmt.Sprint(id) {
			return f.Bucket
		}
	}
	t.Fatalf("id %d is no bound of a file", id)
	return 0
}

// Another compactor that is faster, here Paimon's, is no failure: the table is as that left it, without a file too many.
func TestCompactionThatAnotherOvertakes(t *testing.T) {
	w := newWorld(t, nil)
	for range 3 {
		w.write(t, 1, 2, 3, 4, 5, 6)
	}
	before := w.java.Read(t, w.warehouse, "ods.orders", 0)
	messages := w.java.CompactionMessages(t, w.warehouse, "ods.orders")
	w.env.store = &meddled{Store: w.env.store, once: func() {
		_, err := w.java.Commit(t, w.warehouse, "ods.orders", "java", 1000, messages)
		require.NoError(t, err)
	}}
	r, err := w.Compact(t.Context(), upkeep.CompactInput{Table: table()})
	require.NoError(t, err)
	require.Zero(t, r.Snapshot)
	require.Contains(t, r.Left, "another compaction or overwrite was faster")
	require.Equal(t, before, w.java.Read(t, w.warehouse, "ods.orders", 0))
	require.Empty(t, w.java.CleanOrphans(t, w.warehouse, "ods.orders", 0))
}

// meddled lets something happen before the first data file of a compaction is begun.
type meddled struct {
	fileio.Store
	once func()
}

func (m *meddled) Create(ctx context.Context, path string) (fileio.Writer, error) {
	if do := m.once; do != nil {
		m.once = nil
		do()
	}
	return m.Store.Create(ctx, path)
}

// Snapshots that an unsettled run must be able to look at outlast an expiry, and so do those of tags and the rows; what nobody needs
// goes, and comes to no end later.
func TestExpiryKeepsWhatRunsNeed(t *testing.T) {
	w := newWorld(t, nil)
	for range 6 {
		w.write(t, 1, 2, 3)
	}
	m := snapshot.NewManager(w.env.store, "ods.db/orders")
	require.NoError(t, m.CreateConsumer(t.Context(), "tributary-run", 4))
	w.java.Tag(t, w.warehouse, "ods.orders", "kept", 2)
	in := upkeep.ExpireInput{Table: table(), RetainMin: 1, OlderThan: time.Nanosecond}
	r, err := w.Expire(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, 3, r.Snapshots)
	ids, err := m.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []snapshot.ID{4, 5, 6}, ids)
	require.NoError(t, m.DeleteConsumer(t.Context(), "tributary-run"))
	r, err = w.Expire(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, 2, r.Snapshots)
	require.Len(t, w.java.Read(t, w.warehouse, "ods.orders", 0), 3)
	r, err = w.Expire(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, &upkeep.Expired{}, r)
}

// Files of a run that may yet be committed are no orphans, whatever their age; others are.
func TestOrphansSpareUnsettledRuns(t *testing.T) {
	w := newWorld(t, nil)
	w.write(t, 1)
	key := ledger.Key{Job: "shop", Run: "r1", Table: "orders"}
	require.NoError(t, ledger.Mark(t.Context(), w.env.staging, "target", key))
	a, err := ledger.Open(w.env.staging, key).Register(t.Context(), 0)
	require.NoError(t, err)
	write := func(name string) {
		require.NoError(t, fileio.WriteFile(t.Context(), w.env.store, "ods.db/orders/bucket-0/"+name, []byte("x")))
	}
	write(a.Prefix + "0.parquet")
	write("data-00000000-0000-0000-0000-00000000dead-0.parquet")
	w.env.store = aged{w.env.store}
	r, err := w.Orphans(t.Context(), upkeep.OrphansInput{Table: table(), OlderThan: 24 * time.Hour})
	require.NoError(t, err)
	require.Equal(t, &upkeep.Removed{Files: 1, Bytes: 1, Kept: 1}, r)
	require.Len(t, w.java.Read(t, w.warehouse, "ods.orders", 0), 1)
}

// aged lets files look two days older than they are.
type aged struct{ fileio.Store }

func (a aged) List(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	return a.Store.List(ctx, folder, func(i fileio.Info) error {
		i.Modified = i.Modified.Add(-48 * time.Hour)
		return fn(i)
	})
}
