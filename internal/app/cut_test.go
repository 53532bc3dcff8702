package app

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// cutter stands between a job and a server, and cuts each connection after so many of the server's bytes; 0 cuts none.
type cutter struct {
	net.Listener
	after atomic.Int64
}

func newCutter(t *testing.T, server *testenv.MySQL) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	c := &cutter{Listener: l}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go c.serve(client, server.Addr())
		}
	}()
	return c
}

func (c *cutter) serve(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	passed := int64(0)
	buf := make([]byte, 8<<10)
	for {
		n, err := server.Read(buf)
		if after := c.after.Load(); after > 0 && passed+int64(n) > after {
			_, _ = client.Write(buf[:max(0, after-passed)])
			return
		}
		passed += int64(n)
		if _, werr := client.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// A source whose connections are cut part of the way, every time, fails the job: nothing of it is committed, however often
// it is tried, and what follows when they are whole again is complete.
func TestConnectionsThatAreCut(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			m := testenv.Shared(t, f)
			database, warehouse := m.NewDatabase(t), t.TempDir()
			m.Exec(t, "USE "+database, "CREATE TABLE n (n INT)", "INSERT INTO n VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
				"CREATE TABLE d_0 (id INT PRIMARY KEY, pad VARCHAR(100) NOT NULL)",
				"INSERT INTO d_0 SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n, REPEAT('p', 100) FROM n a, n b, n c, n d")
			const bytes = 10_000 * 110
			cut := newCutter(t, m)
			_, port, err := net.SplitHostPort(cut.Addr().String())
			require.NoError(t, err)
			job := []byte(strings.Replace(string(driftJob(m, database, warehouse, `"where": "id >= 0"`)), fmt.Sprintf(`"port": %d`, m.Port()), `"port": `+port, 1))
			env := NewEnv(&config.Masker{})
			prepared, err := (&activities.Preparer{Env: env}).Prepare(t.Context(), activities.PrepareInput{Job: job, Run: "r1"})
			require.NoError(t, err)
			part := activities.TableRun{Key: ledger.Key{Job: "drift", Run: "r1", Table: "d"}, Staging: prepared.Tables[0].Staging}
			planned, err := (&activities.Planner{Env: env, Settler: &activities.Settler{Env: env}}).Plan(t.Context(), activities.PlanInput{TableRun: part})
			require.NoError(t, err)
			require.Equal(t, 1, planned.Units)
			store, err := fileio.OpenLocal("file://" + warehouse)
			require.NoError(t, err)
			snapshots := snapshot.NewManager(store, catalog.NewFilesystem(store).Path(catalog.Identifier{Database: "ods", Table: "d"}))
			writer, committer := &activities.Writer{Env: env, Producer: "tributary/test", Memory: budget.New(1<<30, nil)}, &activities.Committer{Env: env}
			for _, percent := range []int64{35, 2, 99} {
				cut.after.Store(bytes * percent / 100)
				_, err = writer.Write(t.Context(), activities.WriteInput{TableRun: part, Unit: 0})
				require.ErrorIs(t, err, source.ErrUnavailable, "after %d %%", percent)
				_, err = committer.Commit(t.Context(), activities.CommitInput{TableRun: part})
				require.ErrorIs(t, err, activities.ErrMismatch, "a unit that is missing")
				latest, err := snapshots.LatestID(t.Context())
				require.NoError(t, err)
				require.Zero(t, latest)
			}
			cut.after.Store(0)
			_, err = writer.Write(t.Context(), activities.WriteInput{TableRun: part, Unit: 0})
			require.NoError(t, err)
			result, err := committer.Commit(t.Context(), activities.CommitInput{TableRun: part})
			require.NoError(t, err)
			require.EqualValues(t, 10_000, result.Written)
			require.EqualValues(t, 10_000, testenv.Referee(t).Count(t, warehouse, "ods.d", 0).Rows)
		})
	}
}
