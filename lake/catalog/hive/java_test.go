package hive_test

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	metastore "github.com/beltran/gohive/hive_metastore"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/catalog/hive"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// java starts Paimon's own HiveCatalog: see testdata/java.
func java(t *testing.T, m *testenv.HiveMetastore, warehouse, command string, id catalog.Identifier) (io.WriteCloser, *bufio.Scanner, *exec.Cmd) {
	t.Helper()
	classes := testenv.JavaProgram(t, "hive-catalog", "testdata/java")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classes, "tributary.hive.JavaCatalog",
		m.URI(), "file://"+warehouse, command, id.Database, id.Table)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return in, bufio.NewScanner(out), cmd
}

// said returns the next answer, or what was said when there is none.
func said(lines *bufio.Scanner) string {
	var all []string
	for lines.Scan() {
		if answer, ok := strings.CutPrefix(lines.Text(), "="); ok {
			return answer
		}
		all = append(all, lines.Text())
	}
	return strings.Join(all, "\n")
}

// load commits rows with these ids, all of one partition, and shows them in the metastore.
func load(t *testing.T, c *hive.Catalog, store fileio.Store, id catalog.Identifier, ids ...int64) {
	t.Helper()
	s, err := c.LoadTable(t.Context(), id)
	require.NoError(t, err)
	table := lake.NewTable(store, c.Path(id), s)
	rows := row.NewBatch(row.Types(s.Fields))
	for _, n := range ids {
		for i, f := range s.Fields {
			switch f.Name {
			case "id":
				rows.Columns[i].Append(row.Value{I64: n})
			case "day":
				rows.Columns[i].Append(row.Value{I64: 19782})
			case "region":
				rows.Columns[i].AppendBytes([]byte("a/b"))
			default:
				rows.Columns[i].Append(row.Value{Null: true})
			}
		}
		rows.Rows++
	}
	w, err := table.NewWriter(lake.WriterOptions{Prefix: "data-test-"})
	require.NoError(t, err)
	require.NoError(t, w.Write(t.Context(), rows))
	messages, err := w.Close(t.Context())
	require.NoError(t, err)
	_, err = table.Committer().Publish(t.Context(), commit.Request{User: "test", Identifier: 1, Kind: snapshot.Append, Messages: messages, Planned: s})
	require.NoError(t, err)
	var partitions [][]byte
	for _, m := range messages {
		partitions = append(partitions, m.Partition)
	}
	for range 2 {
		require.NoError(t, c.Refresh(t.Context(), id, partitions))
	}
}

func TestATableIsInTheMetastoreAsJavaMakesIt(t *testing.T) {
	each(t, func(t *testing.T, m *testenv.HiveMetastore) {
		empty(t, m)
		warehouse := t.TempDir() // neither of the metastore's own: 4.0 has another one for what it does not manage
		theirs := catalog.Identifier{Database: "javas", Table: "orders"}
		_, out, _ := java(t, m, warehouse, "create", theirs)
		require.Equal(t, "created", said(out))
		c, store := open(t, warehouse, hive.Config{URIs: []string{m.URI()}})
		_, err := c.CreateTable(t.Context(), orders(), table(t, "orders of all shards"))
		require.NoError(t, err)
		java1, go1 := get(t, m, theirs), get(t, m, orders())
		for _, p := range []map[string]string{java1.Parameters, go1.Parameters} {
			delete(p, "transient_lastDdlTime")
		}
		require.Equal(t, java1.Parameters, go1.Parameters)
		require.Equal(t, java1.TableType, go1.TableType)
		require.Equal(t, java1.Sd.Cols, go1.Sd.Cols)
		require.Equal(t, java1.PartitionKeys, go1.PartitionKeys)
		require.Equal(t, java1.Sd.SerdeInfo, go1.Sd.SerdeInfo)
		require.Equal(t, java1.Sd.InputFormat, go1.Sd.InputFormat)
		require.Equal(t, java1.Sd.OutputFormat, go1.Sd.OutputFormat)
		require.Equal(t, strings.Replace(java1.Sd.Location, "javas", "ods", 1), go1.Sd.Location)

		for _, id := range []catalog.Identifier{theirs, orders()} {
			_, err := c.AlterTable(t.Context(), id, schema.AddColumn(schema.Field{Name: "added", Type: schema.Of(schema.Int)}, schema.Position{}))
			require.NoError(t, err)
			load(t, c, store, id, 7, 8)
			names, err := raw(t, m).GetPartitionNames(t.Context(), id.Database, id.Table, -1)
			require.NoError(t, err)
			require.Equal(t, []string{"day=19782/region=a%2Fb"}, names)
			_, out, _ := java(t, m, warehouse, "show", id)
			require.Equal(t, "tables [orders]", said(out))
			require.Contains(t, said(out), "region, added]")
			require.Equal(t, "rows [7, 8]", said(out))
		}
	})
}

func TestHoldersOfALockExcludeEachOtherAcrossGoAndJava(t *testing.T) {
	each(t, func(t *testing.T, m *testenv.HiveMetastore) {
		c, _ := open(t, t.TempDir(), hive.Config{URIs: []string{m.URI()}, Lock: hive.LockConfig{Wait: time.Millisecond}})
		id := catalog.Identifier{Database: "locks", Table: "t"}
		nothing := func(context.Context) error { return nil }
		in, out, _ := java(t, m, t.TempDir(), "lock", id)
		require.Equal(t, "locked", said(out))
		require.ErrorIs(t, c.WithLock(t.Context(), id, nothing), hive.ErrLocked)
		_, err := io.WriteString(in, "\n")
		require.NoError(t, err)
		require.Equal(t, "unlocking", said(out))
		patient, _ := open(t, t.TempDir(), hive.Config{URIs: []string{m.URI()}})
		released, locked := make(chan struct{}), make(chan string, 1)
		require.NoError(t, patient.WithLock(t.Context(), id, func(ctx context.Context) error {
			_, out, _ := java(t, m, t.TempDir(), "lock", id)
			go func() { locked <- said(out) + after(released) }()
			require.Eventually(t, func() bool { return waiting(t, m, id) == 1 }, time.Minute, 20*time.Millisecond)
			close(released)
			return ctx.Err()
		}))
		require.Equal(t, "locked, released before", <-locked)
	})
}

func after(released chan struct{}) string {
	select {
	case <-released:
		return ", released before"
	default:
		return ", not released"
	}
}

// waiting counts the locks on a table that are not given yet.
func waiting(t *testing.T, m *testenv.HiveMetastore, id catalog.Identifier) int {
	n := 0
	for _, l := range locks(t, m, id) {
		if l.State == metastore.LockState_WAITING {
			n++
		}
	}
	return n
}

func locks(t *testing.T, m *testenv.HiveMetastore, id catalog.Identifier) []*metastore.ShowLocksResponseElement {
	request := metastore.NewShowLocksRequest()
	request.Dbname, request.Tablename = &id.Database, &id.Table
	got, err := raw(t, m).ShowLocks(t.Context(), request)
	require.NoError(t, err)
	return got.Locks
}

// The metastore ends a lock whose holder it takes for dead; so does whoever looks at it here.
func TestALockThatTheMetastoreEndedIsKnownToBeLost(t *testing.T) {
	each(t, func(t *testing.T, m *testenv.HiveMetastore) {
		c, _ := open(t, t.TempDir(), hive.Config{URIs: []string{m.URI()}, Lock: hive.LockConfig{Heartbeat: 50 * time.Millisecond}})
		id := catalog.Identifier{Database: "locks", Table: "lost"}
		err := c.WithLock(t.Context(), id, func(ctx context.Context) error {
			held := locks(t, m, id)
			require.Len(t, held, 1)
			require.NoError(t, raw(t, m).Unlock(t.Context(), &metastore.UnlockRequest{Lockid: held[0].Lockid}))
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, hive.ErrLockLost)
	})
}
