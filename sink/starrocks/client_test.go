package starrocks_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	srtest "github.com/tributary-lake/tributary/internal/testenv/starrocks"
	"github.com/tributary-lake/tributary/sink"
	"github.com/tributary-lake/tributary/sink/starrocks"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for _, c := range []starrocks.Config{
		{},
		{Nodes: []string{"http://user@fe:8030"}},
		{Nodes: []string{"ftp://fe:8030"}},
		{Nodes: []string{"fe:8030/api"}},
		{Nodes: []string{"fe:8030"}, Headers: map[string]string{"Max_Filter_Ratio": "0.5"}},
		{Nodes: []string{"fe:8030"}, Headers: map[string]string{"strict_mode": "false"}},
	} {
		_, err := starrocks.New(c)
		require.ErrorIs(t, err, sink.ErrDenied, "%+v", c)
	}
	_, err := starrocks.New(starrocks.Config{Nodes: []string{"fe:8030", "https://fe2:8030/"}, Headers: map[string]string{"partial_update": "true"}})
	require.NoError(t, err)
}

// A front end that is gone is passed over, and one that is not the leader points to it.
func TestFrontEndsAreAskedInTurn(t *testing.T) {
	s := cluster(t, srtest.Options{FrontEnds: 3})
	s.StopFrontEnd(2)
	nodes := s.Nodes()
	c := client(t, s, func(c *starrocks.Config) { c.Nodes = []string{nodes[2], nodes[1]} })
	u := unit(t, c, "L", csv(t))
	require.NoError(t, u.Write(t.Context(), rows(0, 10)))
	part, _, err := u.Prepare(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Commit(t.Context(), part))
	require.Equal(t, want(0, 10), s.Rows("shop", "orders"))
}

func TestNoFrontEndIsReached(t *testing.T) {
	s := cluster(t, srtest.Options{FrontEnds: 2})
	c := client(t, s, func(c *starrocks.Config) { c.Patience = 1 })
	s.StopFrontEnd(0)
	s.StopFrontEnd(1)
	err := unit(t, c, "L", csv(t)).Write(t.Context(), rows(0, 10))
	require.ErrorIs(t, err, sink.ErrUnavailable)
	_, _, err = c.State(t.Context(), "shop", "L")
	require.ErrorIs(t, err, sink.ErrUnavailable)
}

// The account is refused by name, and the password is in no error.
func TestDenied(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s, func(c *starrocks.Config) { c.Password = "wr0ng-word" })
	err := unit(t, c, "L", csv(t)).Write(t.Context(), rows(0, 10))
	require.ErrorIs(t, err, sink.ErrDenied)
	require.ErrorContains(t, err, `"loader"`)
	require.NotContains(t, err.Error(), "wr0ng-word")
	_, err = c.Put(t.Context(), orders, "M", starrocks.Body{Data: []byte("x")})
	require.ErrorIs(t, err, sink.ErrDenied)

	c = client(t, s)
	other := sink.Table{Database: "shop", Name: "nothing"}
	u, err := c.NewUnit(starrocks.UnitOptions{Table: other, Label: "N", Format: csv(t), Rows: 10})
	require.NoError(t, err)
	err = u.Write(t.Context(), rows(0, 10))
	require.ErrorIs(t, err, sink.ErrRefused)
	require.ErrorContains(t, err, "unknown table")
}

func TestRedirectsInACircle(t *testing.T) {
	s := cluster(t, srtest.Options{})
	c := client(t, s, func(c *starrocks.Config) { c.Patience = 1 })
	s.Script(func(p srtest.Point) srtest.Fault { return srtest.Fault{Kind: srtest.Loop} })
	err := unit(t, c, "L", csv(t)).Write(t.Context(), rows(0, 10))
	require.ErrorContains(t, err, "circle")
	require.ErrorIs(t, err, sink.ErrUnavailable)
}

// The account goes along to the node that a front end names, and the body to nobody who has not asked for it.
func TestBothHopsHaveTheAccountAndOnlyTheLastTheBody(t *testing.T) {
	var bodies []string
	be := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, word, _ := r.BasicAuth()
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, user+" "+word+" "+r.Header.Get("Expect")+" "+r.URL.RawQuery+" "+string(body))
		_, _ = w.Write([]byte(`{"Status":"Success","NumberTotalRows":1,"NumberLoadedRows":1}`))
	}))
	defer be.Close()
	fe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, word, ok := r.BasicAuth(); !ok || user != "loader" || word != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		// StarRocks may put an account into the address; it is not for us to use.
		w.Header().Set("Location", strings.Replace(be.URL, "http://", "http://other:word@", 1)+r.URL.Path+"?a=b")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer fe.Close()
	c, err := starrocks.New(starrocks.Config{Nodes: []string{fe.URL}, User: "loader", Password: password})
	require.NoError(t, err)
	_, err = c.Put(t.Context(), orders, "L", starrocks.Body{Data: []byte("row"), Rows: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"loader " + password + " 100-continue a=b row"}, bodies)
}

func TestLabels(t *testing.T) {
	a, b := starrocks.Label("job", "run-1", "t"), starrocks.Label("job", "run_1", "t")
	require.NotEqual(t, a, b)
	require.Equal(t, a, starrocks.Label("job", "run-1", "t"))
	require.NotEqual(t, starrocks.Label("ab", "c"), starrocks.Label("a", "bc"))
	require.Regexp(t, `^job_run_1_t_[0-9a-f]{20}$`, a)
	require.Regexp(t, `^[A-Za-z0-9_]{1,128}$`, starrocks.Label(strings.Repeat("数据 ", 100), "x"))
}
