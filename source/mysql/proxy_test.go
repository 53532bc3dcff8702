package mysql_test

import (
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// proxy stands between the source and a server, and can cut what flows.
type proxy struct {
	listener net.Listener
	// limit is how many bytes of the server's pass on a connection before it is cut; 0 for no limit.
	limit atomic.Int64
	// cuts counts connections that were cut.
	cuts atomic.Int64
}

func newProxy(t *testing.T, server *testenv.MySQL) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{listener: l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c, server.Addr())
		}
	}()
	return p
}

func (p *proxy) port(t *testing.T) int {
	t.Helper()
	_, port, err := net.SplitHostPort(p.listener.Addr().String())
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return n
}

func (p *proxy) serve(client net.Conn, address string) {
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
	buf := make([]byte, 16<<10)
	passed := int64(0)
	for {
		n, err := server.Read(buf)
		if limit := p.limit.Load(); limit > 0 && passed+int64(n) > limit {
			_, _ = client.Write(buf[:max(0, limit-passed)])
			p.cuts.Add(1)
			return
		}
		passed += int64(n)
		if _, werr := client.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}
