package hdfs

import (
	"context"
	"net"
	"time"
)

const (
	dialTime = 20 * time.Second
	// stall is how long a connection may go without a byte while one is waited for.
	stall = time.Minute
)

// dial connects to a node.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// conn is a connection that ends when nothing moves on it, and at its first error: what comes after would be taken for the
// answer to another request.
type conn struct{ net.Conn }

func (c *conn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(stall)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if err != nil {
		_ = c.Conn.Close() // the error tells more
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(stall)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err != nil {
		_ = c.Conn.Close() // the error tells more
	}
	return n, err
}

// SetDeadline implements net.Conn. The library sets none of its own; its zero would lift those of this connection.
func (c *conn) SetDeadline(time.Time) error { return nil }
