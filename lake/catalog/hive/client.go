package hive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	metastore "github.com/beltran/gohive/hive_metastore"
)

// ErrUnavailable is returned when no metastore answers. What was asked for may have been done: ask again.
var ErrUnavailable = errors.New("no Hive metastore answers")

const (
	defaultTimeout = time.Minute
	dialTimeout    = 10 * time.Second
	defaultPort    = "9083"
	// maxIdle is how many connections are kept.
	maxIdle = 4
)

// client calls one of several metastores over the same database: the one that answered last, else the next.
type client struct {
	addresses []string
	timeout   time.Duration

	mu    sync.Mutex
	first int // of addresses, the one that answered last
	idle  []*connection
}

// connection serves one call at a time.
type connection struct {
	net.Conn
	api     *metastore.ThriftHiveMetastoreClient
	address int
}

func newClient(c Config) (*client, error) {
	if len(c.URIs) == 0 {
		return nil, errors.New("a Hive metastore needs an address, such as thrift://host:9083")
	}
	out := &client{timeout: c.Timeout}
	if out.timeout <= 0 {
		out.timeout = defaultTimeout
	}
	for _, uri := range c.URIs {
		u, err := url.Parse(uri)
		if err != nil || u.Scheme != "thrift" || u.Hostname() == "" {
			return nil, fmt.Errorf("%q is no address of a Hive metastore: want thrift://host:9083", uri)
		}
		port := u.Port()
		if port == "" {
			port = defaultPort
		}
		out.addresses = append(out.addresses, net.JoinHostPort(u.Hostname(), port))
	}
	return out, nil
}

// call makes a call that may be made twice. After an error of a connection it goes on to the next metastore, and from a
// connection that was kept to a new one.
func (c *client) call(ctx context.Context, do func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error) error {
	for {
		kept := c.takeIdle()
		if kept == nil {
			return c.callNew(ctx, true, do)
		}
		err := c.use(ctx, kept, do)
		if !broken(err) || ctx.Err() != nil {
			return err
		}
	}
}

// callOnce makes a call that must not be made twice: it goes on only to what has not been asked.
func (c *client) callOnce(ctx context.Context, do func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error) error {
	return c.callNew(ctx, false, do)
}

func (c *client) callNew(ctx context.Context, again bool, do func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error) error {
	var errs []error
	c.mu.Lock()
	first := c.first
	c.mu.Unlock()
	for i := range c.addresses {
		address := (first + i) % len(c.addresses)
		conn, err := c.dial(ctx, address)
		if err == nil {
			if err = c.use(ctx, conn, do); !broken(err) {
				return err
			}
			err = fmt.Errorf("%s: %w", c.addresses[address], err)
			if !again {
				return errors.Join(ErrUnavailable, err)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(errs...))
}

func (c *client) dial(ctx context.Context, address int) (*connection, error) {
	d := net.Dialer{Timeout: min(dialTimeout, c.timeout)}
	conn, err := d.DialContext(ctx, "tcp", c.addresses[address])
	if err != nil {
		return nil, err
	}
	socket := thrift.NewTSocketFromConnConf(conn, &thrift.TConfiguration{SocketTimeout: c.timeout})
	transport := thrift.NewTBufferedTransport(socket, 64<<10)
	protocol := thrift.NewTBinaryProtocolConf(transport, nil)
	api := metastore.NewThriftHiveMetastoreClient(thrift.NewTStandardClient(protocol, protocol))
	return &connection{Conn: conn, api: api, address: address}, nil
}

// use makes one call, within the timeout, and keeps the connection if it is whole.
func (c *client) use(ctx context.Context, conn *connection, do func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends what waits for an answer
	err := do(ctx, conn.api)
	if !stop() || broken(err) {
		_ = conn.Close() // nothing is to be learned from it
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first = conn.address
	if len(c.idle) == maxIdle {
		_ = conn.Close() // whole, and one too many
		return err
	}
	c.idle = append(c.idle, conn)
	return err
}

func (c *client) takeIdle() *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.idle)
	if n == 0 {
		return nil
	}
	conn := c.idle[n-1]
	c.idle = c.idle[:n-1]
	return conn
}

func (c *client) close() {
	for conn := c.takeIdle(); conn != nil; conn = c.takeIdle() {
		_ = conn.Close() // nothing is under way in it
	}
}

// broken tells errors after which a connection is of no more use. The metastore's own errors are none of them.
func broken(err error) bool {
	var transport thrift.TTransportException
	var protocol thrift.TProtocolException
	var network net.Error
	return errors.As(err, &transport) || errors.As(err, &protocol) || errors.As(err, &network) || errors.Is(err, net.ErrClosed)
}

// isA tells whether an error is one that the metastore declares.
func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}
