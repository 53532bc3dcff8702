package starrocks_test

import (
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	srtest "github.com/tributary-lake/tributary/internal/testenv/starrocks"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/sink"
	"github.com/tributary-lake/tributary/sink/starrocks"
	"github.com/tributary-lake/tributary/sink/starrocks/ddl"
)

var ordersTable = ddl.Table{
	Model: ddl.Duplicate, Keys: []string{"id"}, Comment: `the "orders"`,
	Columns: []ddl.Column{
		{Name: "note", Type: schema.StringType(), Definitions: []string{"varchar(10)"}},
		{Name: "id", Type: schema.Of(schema.BigInt).WithNotNull(true)},
		{Name: "data", Type: schema.BytesType(), Definitions: []string{"varbinary(16)"}},
	},
}

func refresh(t *testing.T, s *srtest.Server, c *starrocks.Client, run string) *starrocks.Refresh {
	t.Helper()
	db, err := sql.Open("mysql", "loader:"+password+"@tcp("+s.QueryPort(t)+")/")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &starrocks.Refresh{DB: db, Target: sink.Table{Database: "shop", Name: "refreshed"}, Run: run, Client: c}
}

// stage loads rows into the stage and commits them there.
func stage(t *testing.T, c *starrocks.Client, r *starrocks.Refresh, label string, from, to int) {
	t.Helper()
	u, err := c.NewUnit(starrocks.UnitOptions{Table: r.Stage(), Label: label, Format: csv(t), Rows: 10})
	require.NoError(t, err)
	require.NoError(t, u.Write(t.Context(), rows(from, to)))
	part, _, err := u.Prepare(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Commit(t.Context(), part))
}

// byKey puts the key first, as the table has it.
func byKey(from, to int) [][]srtest.Value { return want(from, to) }

func TestRefreshReplacesTheTableAtOnce(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s)
	first := refresh(t, s, c, "run-1")
	require.NoError(t, first.Begin(t.Context(), ordersTable))
	stage(t, c, first, "a", 0, 20)
	require.Empty(t, s.Rows("shop", "refreshed"), "no reader sees the stage")
	n, err := first.Rows(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(20), n)
	require.NoError(t, first.Finish(t.Context()))
	require.NoError(t, first.Finish(t.Context()), "as often as one likes")
	require.Equal(t, byKey(0, 20), s.Rows("shop", "refreshed"))

	second := refresh(t, s, c, "run-2")
	require.NoError(t, second.Begin(t.Context(), ordersTable))
	require.NotEqual(t, first.Stage(), second.Stage())
	stage(t, c, second, "b", 50, 60)
	require.NoError(t, second.Finish(t.Context()))
	require.Equal(t, byKey(50, 60), s.Rows("shop", "refreshed"))
	require.ElementsMatch(t, []string{"orders", "refreshed"}, s.Tables("shop"), "nothing is left of the old ones")

	// Somebody who still thinks of the first run finds its rows nowhere, and swaps nothing.
	c = client(t, s, func(c *starrocks.Config) { c.Patience = 1 })
	first.Client = c
	require.ErrorIs(t, first.Finish(t.Context()), sink.ErrUnknown)
	require.Equal(t, byKey(50, 60), s.Rows("shop", "refreshed"))
}

func TestDiscardLeavesTheTargetAlone(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s)
	r := refresh(t, s, c, "run-1")
	require.NoError(t, r.Begin(t.Context(), ordersTable))
	stage(t, c, r, "a", 0, 10)
	require.NoError(t, r.Discard(t.Context()))
	require.NoError(t, r.Discard(t.Context()))
	require.ElementsMatch(t, []string{"orders", "refreshed"}, s.Tables("shop"))
	require.Empty(t, s.Rows("shop", "refreshed"))
}

// Every fault at every statement of the swap: lost, unheard, late so that it undoes what has been done since, and twice.
func TestEveryFaultAtEveryStatementEndsWithTheNewTable(t *testing.T) {
	for _, kind := range []srtest.Kind{srtest.Lost, srtest.LostReply, srtest.Late, srtest.Twice} {
		for at := 0; ; at++ {
			s := cluster(t, srtest.Options{})
			c := client(t, s)
			r := refresh(t, s, c, fmt.Sprint("run-", at))
			require.NoError(t, r.Begin(t.Context(), ordersTable))
			stage(t, c, r, "a", 0, 10)
			var fired atomic.Bool
			s.Script(func(p srtest.Point) srtest.Fault {
				if p.Node != "query" || p.N != at {
					return srtest.Fault{}
				}
				fired.Store(true)
				return srtest.Fault{Kind: kind}
			})
			require.NoError(t, r.Finish(t.Context()), "%s at statement %d", kind, at)
			s.Flush()
			require.Equal(t, byKey(0, 10), s.Rows("shop", "refreshed"), "%s at statement %d", kind, at)
			require.ElementsMatch(t, []string{"orders", "refreshed"}, s.Tables("shop"), "%s at statement %d", kind, at)
			if !fired.Load() {
				break
			}
		}
	}
}
