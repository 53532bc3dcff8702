package hive_test

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/catalog/hive"
	"github.com/tributary-lake/tributary/lake/schema"
)

// proxy forwards connections to a metastore. While it swallows, answers do not come back: it closes the connection at the
// first one (mute false) or says nothing more (mute true).
type proxy struct {
	address string
	swallow atomic.Bool
	mute    bool
	eaten   atomic.Int32
}

func newProxy(t *testing.T, m *testenv.HiveMetastore, mute bool) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{address: "thrift://" + l.Addr().String(), mute: mute}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client, m.Address)
		}
	}()
	return p
}

func (p *proxy) serve(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if p.swallow.Load() {
			p.eaten.Add(1)
			if !p.mute {
				return
			}
			continue
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// nobody is an address where nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return "thrift://" + l.Addr().String()
}

// What is in the table's folder stays whatever the metastore does, and a later refresh shows it.
func TestAMetastoreThatFailsIsRefreshedLater(t *testing.T) {
	each(t, func(t *testing.T, m *testenv.HiveMetastore) {
		empty(t, m)
		for name, mute := range map[string]bool{"lost": false, "slow": true} {
			id := catalog.Identifier{Database: "ods", Table: name}
			p := newProxy(t, m, mute)
			warehouse := t.TempDir()
			c, _ := open(t, warehouse, hive.Config{URIs: []string{p.address}, Timeout: 2 * time.Second})
			_, err := c.CreateTable(t.Context(), id, table(t, ""))
			require.NoError(t, err)
			good, store := open(t, warehouse, hive.Config{URIs: []string{nobody(t), m.URI()}})
			added := schema.AddColumn(schema.Field{Name: "added", Type: schema.Of(schema.Int)}, schema.Position{})
			_, err = catalog.NewFilesystem(store).AlterTable(t.Context(), id, added)
			require.NoError(t, err)
			p.swallow.Store(true)
			require.ErrorIs(t, c.Refresh(t.Context(), id, nil), hive.ErrUnavailable, name)
			require.Positive(t, p.eaten.Load())
			s, err := good.LoadTable(t.Context(), id)
			require.NoError(t, err)
			require.Len(t, s.Fields, 16, "the table has it, whatever the metastore does")
			require.NoError(t, good.Refresh(t.Context(), id, nil), "the first address answers nothing, the second does")
			cols := get(t, m, id).Sd.Cols
			require.Equal(t, "added", cols[len(cols)-1].Name)
		}
	})
}

// A server that made the table and whose answer was lost is asked again, at another address.
func TestACallWhoseAnswerIsLostIsMadeAgainElsewhere(t *testing.T) {
	each(t, func(t *testing.T, m *testenv.HiveMetastore) {
		empty(t, m)
		p := newProxy(t, m, false)
		p.swallow.Store(true)
		c, _ := open(t, t.TempDir(), hive.Config{URIs: []string{p.address, m.URI()}})
		_, err := c.CreateTable(t.Context(), orders(), table(t, ""))
		require.NoError(t, err)
		require.Positive(t, p.eaten.Load())
		get(t, m, orders())
	})
}

// A default metastore refuses types that change place. The table has them all the same.
func TestColumnsThatTheMetastoreRefusesAreTheTablesAllTheSame(t *testing.T) {
	each(t, func(t *testing.T, m *testenv.HiveMetastore) {
		c, _ := empty(t, m)
		_, err := c.CreateTable(t.Context(), orders(), table(t, ""))
		require.NoError(t, err)
		_, err = c.AlterTable(t.Context(), orders(), schema.DropColumn("price"))
		require.ErrorIs(t, err, hive.ErrColumns)
		s, err := c.LoadTable(t.Context(), orders())
		require.NoError(t, err)
		require.Len(t, s.Fields, 14)
		require.Len(t, get(t, m, orders()).Sd.Cols, 13, "as it was")
	})
}

func TestNamesThatTheMetastoreWouldChangeAreRefused(t *testing.T) {
	c, _ := open(t, t.TempDir(), hive.Config{URIs: []string{nobody(t)}})
	for _, id := range []catalog.Identifier{{Database: "Ods", Table: "t"}, {Database: "ods", Table: "a.b"}, {Database: "ods", Table: "名"}} {
		_, err := c.CreateTable(t.Context(), id, table(t, ""))
		require.ErrorIs(t, err, catalog.ErrName, "%v", id)
	}
	s := table(t, "")
	s.Fields[1].Name = "Price"
	_, err := c.CreateTable(t.Context(), orders(), s)
	require.ErrorIs(t, err, catalog.ErrName)
	for _, uri := range []string{"", "http://host:9083", "host:9083"} {
		_, err := hive.New(nil, hive.Config{URIs: []string{uri}})
		require.ErrorContains(t, err, "thrift://")
	}
}
