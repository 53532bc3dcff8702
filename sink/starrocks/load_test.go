package starrocks_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	srtest "github.com/tributary-lake/tributary/internal/testenv/starrocks"
	"github.com/tributary-lake/tributary/sink"
	"github.com/tributary-lake/tributary/sink/starrocks"
	"github.com/tributary-lake/tributary/sink/starrocks/encode"
)

// body is rows for one request.
func body(t testing.TB, from, to int) starrocks.Body {
	t.Helper()
	f, b := csv(t), rows(from, to)
	var data []byte
	for i := range b.Rows {
		var err error
		data, err = f.Row(data, 0, b, i)
		require.NoError(t, err)
	}
	return starrocks.Body{Data: data, Rows: int64(b.Rows), Headers: f.Headers(encode.NoCompression)}
}

func TestPut(t *testing.T) {
	s := cluster(t, srtest.Options{NoTransactions: true})
	c := client(t, s)
	for range 2 {
		part, err := c.Put(t.Context(), orders, "L", body(t, 0, 10))
		require.NoError(t, err)
		require.Equal(t, int64(10), part.Rows)
	}
	require.Equal(t, want(0, 10), s.Rows("shop", "orders"), "the label keeps it from being loaded twice")
	err := unit(t, c, "M", csv(t)).Write(t.Context(), rows(0, 10))
	require.ErrorIs(t, err, sink.ErrDenied)
	require.ErrorContains(t, err, "without this interface")
}

// A label that is in use is answered in three ways; in each the label's state says what to do.
func TestPutOfALabelThatIsInUse(t *testing.T) {
	for _, duplicateFails := range []bool{false, true} {
		s := cluster(t, srtest.Options{DuplicateFails: duplicateFails})
		c := client(t, s)

		// Finished: it is there.
		s.Script(once("be", "stream load", 1, srtest.Fault{Kind: srtest.LostReply}))
		_, err := c.Put(t.Context(), orders, "finished", body(t, 0, 10))
		require.NoError(t, err)
		s.Script(nil)
		_, err = c.Put(t.Context(), orders, "finished", body(t, 0, 10))
		require.NoError(t, err)
		require.Equal(t, want(0, 10), s.Rows("shop", "orders"))

		// Running, and then rolled back: it is sent again. The unit is the other one that runs.
		other := unit(t, c, "running", csv(t))
		require.NoError(t, other.Write(t.Context(), rows(100, 110)))
		asked := 0
		s.Script(func(p srtest.Point) srtest.Fault {
			if p.Op == "state" {
				if asked++; asked == 3 {
					s.Expire("shop", "running")
				}
			}
			return srtest.Fault{}
		})
		_, err = c.Put(t.Context(), orders, "running", body(t, 10, 20))
		require.NoError(t, err)
		require.GreaterOrEqual(t, asked, 3)
		require.Equal(t, want(0, 20), s.Rows("shop", "orders"))
	}
}

// The server does not know the label after a reply was lost: it may have been committed and forgotten.
func TestPutOfALabelThatIsForgotten(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s)
	s.Script(func(p srtest.Point) srtest.Fault {
		if p.Op == "state" {
			s.Forget("shop", "L")
		}
		return once("be", "stream load", 1, srtest.Fault{Kind: srtest.LostReply})(p)
	})
	_, err := c.Put(t.Context(), orders, "L", body(t, 0, 10))
	require.ErrorIs(t, err, sink.ErrUnknown)
	require.ErrorContains(t, err, "10 rows are in shop.orders")
	require.Equal(t, want(0, 10), s.Rows("shop", "orders"), "it was committed, and is not sent again")
}

// StarRocks #6158: too many versions for a while. The same label is used for every try, one after another.
func TestPutWaitsForVersionsToBeCompacted(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s)
	tries := 6
	s.Script(once("be", "stream load", tries, srtest.Fault{Kind: srtest.Answer, Body: `{"TxnId":1,"Status":"Fail","Message":"too many tablet versions, limit: 1000"}`}))
	_, err := c.Put(t.Context(), orders, "L", body(t, 0, 10))
	require.NoError(t, err)
	require.Equal(t, want(0, 10), s.Rows("shop", "orders"))
	require.Equal(t, 2*(tries+1), s.Requests())
}

func TestPutTakesAPublishTimeoutForCommitted(t *testing.T) {
	s := cluster(t, srtest.Options{})
	s.Script(once("be", "stream load", 1, srtest.Fault{Kind: srtest.PublishTimeout}))
	_, err := client(t, s).Put(t.Context(), orders, "L", body(t, 0, 10))
	require.NoError(t, err)
	require.Equal(t, "COMMITTED", s.State("shop", "L"))
	require.Equal(t, 2, s.Requests())
}

func TestPutRefusesRowsThatDoNotFit(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s, func(c *starrocks.Config) { c.ShowRows = true })
	b := body(t, 0, 10)
	b.Headers["columns"] = "`note`,`id`,`data`"
	_, err := c.Put(t.Context(), orders, "L", b)
	require.ErrorIs(t, err, sink.ErrRefused)
	require.ErrorContains(t, err, "too many filtered rows")
	var e *starrocks.Error
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Lines, 5)
	require.Empty(t, s.Rows("shop", "orders"))
}

// Every fault at every request: the rows are there once, or nobody can tell and it says so.
func TestPutUnderEveryFault(t *testing.T) {
	for _, kind := range srtest.Kinds() {
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
			_, err := c.Put(t.Context(), orders, "L", body(t, 0, 10))
			s.Flush()
			struck = fired.Load()
			got := s.Rows("shop", "orders")
			if err == nil {
				require.Equal(t, want(0, 10), got, "%s at request %d", kind, at)
				continue
			}
			require.ErrorIs(t, err, sink.ErrUnknown, "%s at request %d", kind, at)
			require.Contains(t, []int{0, 10}, len(got))
		}
	}
}
