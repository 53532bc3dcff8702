package starrocks_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	srtest "github.com/tributary-lake/tributary/internal/testenv/starrocks"
	"github.com/tributary-lake/tributary/sink"
	"github.com/tributary-lake/tributary/sink/starrocks"
	"github.com/tributary-lake/tributary/sink/starrocks/encode"
)

func TestRowsAreSeenOnceCommitted(t *testing.T) {
	for name, f := range map[string]encode.Format{"csv": csv(t), "json": jsonFormat(t)} {
		for _, z := range []encode.Compression{encode.NoCompression, encode.Gzip, encode.LZ4, encode.Zstd} {
			t.Run(name+string(z), func(t *testing.T) {
				s := cluster(t, srtest.Options{FrontEnds: 2})
				c := client(t, s)
				u, err := c.NewUnit(starrocks.UnitOptions{Table: orders, Label: "L", Format: f, Rows: 10, Compression: z})
				require.NoError(t, err)
				require.NoError(t, u.Write(t.Context(), rows(0, 7)))
				require.NoError(t, u.Write(t.Context(), rows(7, 25)))
				part, ok, err := u.Prepare(t.Context())
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, int64(25), part.Rows)
				require.Positive(t, part.Transaction)
				require.Empty(t, s.Rows("shop", "orders"), "nobody sees what is only prepared")
				require.NoError(t, c.Commit(t.Context(), part))
				require.NoError(t, c.Commit(t.Context(), part), "as often as one likes")
				require.Equal(t, want(0, 25), s.Rows("shop", "orders"))
				state, err := c.RollBack(t.Context(), orders, "L")
				require.NoError(t, err)
				require.Equal(t, sink.Committed, state)
			})
		}
	}
}

// A transaction without data fails at prepare, so none is begun.
func TestAnEmptyUnitAsksNobody(t *testing.T) {
	s := cluster(t, srtest.Options{})
	u := unit(t, client(t, s), "L", csv(t))
	require.NoError(t, u.Write(t.Context(), rows(0, 0)))
	_, ok, err := u.Prepare(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
	require.Zero(t, s.Requests())
	require.Error(t, u.Write(t.Context(), rows(0, 1)))
}

func TestAbandonedUnitsLeaveNothing(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s)
	open, prepared, never := unit(t, c, "open", csv(t)), unit(t, c, "prepared", csv(t)), unit(t, c, "never", csv(t))
	require.NoError(t, open.Write(t.Context(), rows(0, 25)))
	require.NoError(t, prepared.Write(t.Context(), rows(0, 25)))
	_, _, err := prepared.Prepare(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"open", "prepared"}, s.Open("shop"))
	for _, u := range []*starrocks.Unit{open, prepared, never} {
		require.NoError(t, u.Abandon(t.Context()))
	}
	require.Empty(t, s.Open("shop"))
	require.Empty(t, s.Rows("shop", "orders"))
}

// What a literal \N would become in CSV, JSON carries.
func TestJSONCarriesWhatCSVCannot(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s)
	b := rows(1, 2)
	b.Columns[1].Reset()
	b.Columns[1].AppendBytes([]byte(`\N`))
	u := unit(t, c, "csv", csv(t))
	var uncarried *encode.UncarriedError
	require.ErrorAs(t, u.Write(t.Context(), b), &uncarried)
	u = unit(t, c, "json", jsonFormat(t))
	require.NoError(t, u.Write(t.Context(), b))
	part, _, err := u.Prepare(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Commit(t.Context(), part))
	require.Equal(t, [][]srtest.Value{{{Text: "1"}, {Text: `\N`}, {Text: "\x00\xff\x01"}}}, s.Rows("shop", "orders"))
}

// A value that is too long is a row that StarRocks filters, which fails the unit: nothing is cut. Its row is only shown to
// who wants to see rows.
func TestRowsThatDoNotFitFailTheUnit(t *testing.T) {
	for _, show := range []bool{false, true} {
		s := cluster(t, srtest.Options{})
		c := client(t, s, func(c *starrocks.Config) { c.ShowRows = show })
		b := rows(1, 2)
		b.Columns[1].Reset()
		b.Columns[1].AppendBytes([]byte("private and longer than forty bytes, which is what fits"))
		u := unit(t, c, "L", csv(t))
		require.NoError(t, u.Write(t.Context(), b))
		_, _, err := u.Prepare(t.Context())
		require.ErrorIs(t, err, sink.ErrRefused)
		require.ErrorContains(t, err, "too many filtered rows")
		if show {
			require.ErrorContains(t, err, "private and longer")
			require.ErrorContains(t, err, "name = note")
		} else {
			require.NotContains(t, err.Error(), "private")
			require.ErrorContains(t, err, "/api/_load_error_log?file=")
		}
		require.NotContains(t, err.Error(), password)
		require.Empty(t, s.Rows("shop", "orders"))
		require.Empty(t, s.Open("shop"))
	}
}

// A node that restarts takes with it what is not prepared, and nothing that is (StarRocks #9041 was a fault in this).
func TestANodeRestarts(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s)
	before, after := unit(t, c, "before", csv(t)), unit(t, c, "after", csv(t))
	require.NoError(t, before.Write(t.Context(), rows(0, 10)))
	require.NoError(t, after.Write(t.Context(), rows(10, 20)))
	part, _, err := after.Prepare(t.Context())
	require.NoError(t, err)
	s.RestartBackEnd(0)
	s.RestartBackEnd(1)
	s.RestartFrontEnds()
	_, _, err = before.Prepare(t.Context())
	require.ErrorIs(t, err, sink.ErrLost)
	require.NoError(t, c.Commit(t.Context(), part))
	require.Equal(t, want(10, 20), s.Rows("shop", "orders"))
}

func TestALoadIsSentAgainOnlyWhileAnotherIsAtWork(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s)
	s.Script(once("be", "load", 2, srtest.Fault{Kind: srtest.Answer, Body: `{"Status":"TXN_IN_PROCESSING","Message":"","Label":"L"}`}))
	u := unit(t, c, "L", csv(t))
	require.NoError(t, u.Write(t.Context(), rows(0, 10)))
	part, _, err := u.Prepare(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Commit(t.Context(), part))
	require.Equal(t, want(0, 10), s.Rows("shop", "orders"))

	s.Script(once("be", "load", 1, srtest.Fault{Kind: srtest.LostReply}))
	u = unit(t, c, "M", csv(t))
	require.ErrorIs(t, u.Write(t.Context(), rows(10, 20)), sink.ErrLost)
	require.Equal(t, "ABORTED", s.State("shop", "M"))
}

// A proxy that sends a load twice is found out by the count at prepare.
func TestRowsThatAreThereTwiceAreNotPrepared(t *testing.T) {
	s := cluster(t, srtest.Options{})
	s.Script(once("be", "load", 1, srtest.Fault{Kind: srtest.Twice}))
	u := unit(t, client(t, s), "L", csv(t))
	require.NoError(t, u.Write(t.Context(), rows(0, 10)))
	_, _, err := u.Prepare(t.Context())
	require.ErrorIs(t, err, sink.ErrLost)
	require.ErrorContains(t, err, "10 rows were sent and the server counted 20")
	require.Empty(t, s.Open("shop"))
}

// StarRocks rolls a transaction back whose load has failed, so there is nothing to wait for in place; and a label that can be
// used again must not pile up versions.
func TestTooManyVersions(t *testing.T) {
	s := cluster(t, srtest.Options{})
	s.Script(once("be", "load", 1, srtest.Fault{Kind: srtest.Answer, Body: `{"Status":"INTERNAL_ERROR","Message":"Too many versions. tablet_id: 10123, version_count: 1001, limit: 1000"}`}))
	u := unit(t, client(t, s), "L", csv(t))
	require.ErrorIs(t, u.Write(t.Context(), rows(0, 10)), sink.ErrBusy)
	require.Empty(t, s.Open("shop"))
}

// There are as many open transactions as may be: begin waits until one has ended.
func TestBeginWaitsForATransactionToEnd(t *testing.T) {
	s := cluster(t, srtest.Options{MaxRunning: 1})
	c := client(t, s)
	first, second := unit(t, c, "first", csv(t)), unit(t, c, "second", csv(t))
	require.NoError(t, first.Write(t.Context(), rows(0, 10)))
	done := make(chan error, 1)
	go func() { done <- second.Write(t.Context(), rows(10, 20)) }()
	require.Eventually(t, func() bool { return s.Requests() > 12 }, 10*time.Second, time.Millisecond)
	select {
	case err := <-done:
		t.Fatalf("the second transaction did not wait: %v", err)
	default:
	}
	require.NoError(t, first.Abandon(t.Context()))
	require.NoError(t, <-done)
}

func TestCommitSettlesEveryDoubt(t *testing.T) {
	prepared := func(t *testing.T, change ...func(*starrocks.Config)) (*srtest.Server, *starrocks.Client, sink.Part) {
		s := cluster(t, srtest.Options{})
		c := client(t, s, change...)
		u := unit(t, c, "L", csv(t))
		require.NoError(t, u.Write(t.Context(), rows(0, 10)))
		part, _, err := u.Prepare(t.Context())
		require.NoError(t, err)
		return s, c, part
	}
	for _, k := range srtest.Kinds() {
		t.Run(k.String(), func(t *testing.T) {
			s, c, part := prepared(t, hurried(k))
			s.Script(once("fe", "commit", 1, srtest.Fault{Kind: k}))
			require.NoError(t, c.Commit(t.Context(), part))
			s.Flush()
			require.Equal(t, want(0, 10), s.Rows("shop", "orders"))
		})
	}
	t.Run("publish timeout", func(t *testing.T) {
		s, c, part := prepared(t)
		s.Script(once("fe", "commit", 1, srtest.Fault{Kind: srtest.PublishTimeout}))
		require.NoError(t, c.Commit(t.Context(), part))
		require.Equal(t, "COMMITTED", s.State("shop", "L"))
		require.NoError(t, c.Commit(t.Context(), part))
	})
	t.Run("expired", func(t *testing.T) {
		s, c, part := prepared(t)
		s.Expire("shop", "L")
		require.ErrorIs(t, c.Commit(t.Context(), part), sink.ErrLost)
	})
	// A label that is forgotten may be committed: nothing is sent, somebody must look.
	t.Run("forgotten", func(t *testing.T) {
		s, c, part := prepared(t)
		s.Script(func(p srtest.Point) srtest.Fault {
			if p.Op == "commit" {
				s.Forget("shop", "L")
				return srtest.Fault{Kind: srtest.Lost}
			}
			return srtest.Fault{}
		})
		err := c.Commit(t.Context(), part)
		require.ErrorIs(t, err, sink.ErrUnknown)
		require.ErrorContains(t, err, "10 rows are in shop.orders")
	})
	t.Run("never", func(t *testing.T) {
		s, c, part := prepared(t)
		s.Script(func(p srtest.Point) srtest.Fault {
			if p.Op == "commit" {
				return srtest.Fault{Kind: srtest.InternalError}
			}
			return srtest.Fault{}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.Error(t, c.Commit(ctx, part))
		s.Script(nil)
		require.NoError(t, c.Commit(t.Context(), part))
	})
}

// TestEveryFaultAtEveryRequestLoadsEachRowOnce tries a run of three units over and over, and lets every request of it meet every
// fault once. An attempt that fails is made again under a new label; what is prepared is claimed, then all claims are committed,
// and what else was begun is given up.
func TestEveryFaultAtEveryRequestLoadsEachRowOnce(t *testing.T) {
	units := [][2]int{{0, 25}, {25, 25}, {25, 31}}
	for _, kind := range srtest.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			for at, struck := 0, true; struck; at++ {
				var fired atomic.Bool // the server's goroutines set it
				s := cluster(t, srtest.Options{FrontEnds: 2})
				c := client(t, s, hurried(kind))
				s.Script(func(p srtest.Point) srtest.Fault {
					if p.N != at {
						return srtest.Fault{}
					}
					fired.Store(true)
					return srtest.Fault{Kind: kind}
				})
				var claimed []sink.Part
				var lost []string
				for n, span := range units {
					part, ok := attempts(t, c, fmt.Sprintf("%d_%d", at, n), span, &lost)
					if ok {
						claimed = append(claimed, part)
					}
				}
				for _, p := range claimed {
					require.NoError(t, c.Commit(t.Context(), p), "fault at request %d", at)
				}
				s.Flush()
				struck = fired.Load()
				hasty := client(t, s, hurried(kind), func(c *starrocks.Config) { c.Patience = time.Second })
				for _, l := range lost {
					state, err := hasty.RollBack(t.Context(), orders, l)
					require.NotEqual(t, sink.Committed, state)
					if errors.Is(err, sink.ErrDoubt) {
						// Only a node has it that no front end asks: it ends by its time.
						require.Equal(t, sink.Open, state, "fault at request %d", at)
						s.Expire("shop", l)
						continue
					}
					require.NoError(t, err, "fault at request %d", at)
				}
				require.Equal(t, want(0, 31), s.Rows("shop", "orders"), "fault at request %d", at)
				require.Empty(t, s.Open("shop"), "fault at request %d", at)
			}
		})
	}
}

// attempts makes a unit until it is prepared, and notes the labels that came to nothing.
func attempts(t *testing.T, c *starrocks.Client, name string, span [2]int, lost *[]string) (sink.Part, bool) {
	t.Helper()
	for try := range 5 {
		label := starrocks.Label("job", "run", name, fmt.Sprint(try))
		u := unit(t, c, label, csv(t))
		err := u.Write(t.Context(), rows(span[0], span[1]))
		if err == nil {
			part, ok, err := u.Prepare(t.Context())
			if err == nil {
				return part, ok
			}
			require.False(t, errors.Is(err, sink.ErrRefused), "%v", err)
		}
		*lost = append(*lost, label)
	}
	t.Fatalf("unit %s does not come through", name)
	return sink.Part{}, false
}
