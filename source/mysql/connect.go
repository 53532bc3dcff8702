package mysql

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"net"
	"reflect"
	"syscall"
	"time"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/tributary-lake/tributary/source/mysql/userlock"
	"github.com/tributary-lake/tributary/source/mysql/wire"
)

// tap is the network connection below the driver's. It notes what the driver offers in its first packet, which is
// never encrypted, as the driver keeps what it negotiated to itself.
type tap struct {
	net.Conn
	noted bool
	// offered are the capabilities that both sides have; extended are MariaDB's.
	offered, extended uint32
}

// The capabilities that change how a result is sent.
const (
	capMySQL         = 1 << 0  // not set: a MariaDB server, which has extended capabilities
	capDeprecateEOF  = 1 << 24 // no EOF after definitions, OK in place of the last EOF
	capCacheMetadata = 1 << 4  // extended: definitions may be left out of a result
)

// Write notes the capabilities in the first packet: 4 bytes header, 4 capabilities, 24 others, 4 extended capabilities.
func (t *tap) Write(b []byte) (int, error) {
	if !t.noted && len(b) >= 36 {
		t.noted = true
		t.offered = binary.LittleEndian.Uint32(b[4:])
		if t.offered&capMySQL == 0 {
			t.extended = binary.LittleEndian.Uint32(b[32:])
		}
	}
	return t.Conn.Write(b)
}

// features are what the driver and the server agreed on.
func (t *tap) features() wire.Features {
	return wire.Features{DeprecateEOF: t.offered&capDeprecateEOF != 0, CacheMetadata: t.extended&capCacheMetadata != 0}
}

// SyscallConn lets the driver see whether the server has closed a connection that lay idle.
func (t *tap) SyscallConn() (syscall.RawConn, error) {
	c, ok := t.Conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a %T has no descriptor", t.Conn)
	}
	return c.SyscallConn()
}

type tapKey struct{}

func dialTap(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	t := &tap{Conn: c}
	if p, ok := ctx.Value(tapKey{}).(**tap); ok {
		*p = t
	}
	return t, nil
}

// driverConn is what this package, through database/sql, uses of a connection of the driver: statements without
// arguments outside transactions, and the checks by which the pool tells that a connection is still good.
type driverConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// conn is an authenticated connection of the driver, and the stream that it speaks on.
type conn struct {
	driverConn
	tap *tap
	// wire is the tap, or the TLS connection above it.
	wire net.Conn
	// reader is kept from one read to the next for its buffer; it is empty in between.
	reader *wire.Reader
	// connector made it; id is what the server calls it, empty while it logs in.
	connector *connector
	id        string
	// slotted is when it got its slot, zero for a connection without.
	slotted time.Time
	// dead is set when its statement was cancelled.
	dead bool
}

// connector opens connections for database/sql: the driver logs in, then the session rules are set, then a slot is
// waited for.
type connector struct {
	config Config
	driver driver.Connector
	// slots is nil for connections that have none.
	slots *userlock.Slots
}

func newConnector(c Config, s *userlock.Slots) (*connector, error) {
	secure, err := c.TLS.client(c.Host)
	if err != nil {
		return nil, fmt.Errorf("instance %q: %w", c.Name, err)
	}
	d := driversql.NewConfig()
	d.User, d.Passwd = c.User, c.Password
	d.Net, d.Addr = "tcp", c.address()
	d.TLS = secure
	d.AllowFallbackToPlaintext = c.TLS.Mode == TLSPreferred
	d.DialFunc = dialTap
	d.Logger = &driversql.NopLogger{} // what it would log comes back as an error too
	d.ConnectionAttributes = "program_name:tributary"
	inner, err := driversql.NewConnector(d)
	if err != nil {
		return nil, fmt.Errorf("instance %q: %w", c.Name, err)
	}
	return &connector{config: c, driver: inner, slots: s}, nil
}

// Driver is the driver's own.
func (c *connector) Driver() driver.Driver { return c.driver.Driver() }

// Connect opens a connection whose session obeys the rules, and waits for its slot as long as the context lasts.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.slots == nil {
		return c.open(ctx)
	}
	if err := c.slots.Enter(ctx); err != nil {
		return nil, err
	}
	defer c.slots.Leave()
	wired, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.slots.Take(ctx, wired); err != nil {
		_ = wired.Close()
		return nil, c.config.explain(err)
	}
	wired.slotted = time.Now()
	return wired, nil
}

// open opens a connection without a slot.
func (c *connector) open(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.timeout())
	defer cancel()
	var t *tap
	dc, err := c.driver.Connect(context.WithValue(ctx, tapKey{}, &t))
	if err != nil {
		return nil, c.config.explain(err)
	}
	wired, err := attach(dc, t)
	if err != nil {
		_ = dc.Close()
		return nil, fmt.Errorf("instance %q: %w", c.config.Name, err)
	}
	wired.connector = c
	if err := setSession(ctx, wired); err != nil {
		_ = dc.Close()
		return nil, c.config.explain(err)
	}
	if wired.id, err = one(ctx, wired, "SELECT CONNECTION_ID()"); err != nil {
		_ = dc.Close()
		return nil, c.config.explain(err)
	}
	return wired, nil
}

// attach finds the stream below a connection of the driver. Without TLS it is the one that was dialled. The TLS
// connection is made inside the driver, which has no way to hand it out; so its field is looked at, and what is found
// there is believed only if it is a TLS connection on what was dialled.
func attach(dc driver.Conn, t *tap) (*conn, error) {
	inner, ok := dc.(driverConn)
	if !ok || t == nil || !t.noted {
		return nil, fmt.Errorf("the MySQL driver has changed: its %T is not a connection as this program knows it", dc)
	}
	c := &conn{driverConn: inner, tap: t, wire: t}
	field := driverStream(dc)
	if !field.IsValid() {
		return nil, fmt.Errorf("the MySQL driver has changed: its %T has no field netConn that holds the network connection", dc)
	}
	switch field.Type() {
	case reflect.TypeFor[*tap]():
		if (*tap)(field.UnsafePointer()) == t {
			return c, nil
		}
	case reflect.TypeFor[*tls.Conn]():
		secure := (*tls.Conn)(field.UnsafePointer())
		if secure != nil && secure.NetConn() == net.Conn(t) {
			c.wire = secure
			return c, nil
		}
	}
	return nil, fmt.Errorf("the MySQL driver has changed: the netConn of its %T is a %s, which is not the connection that was dialled", dc, field.Type())
}

// driverStream is what the driver's field netConn holds, invalid when there is no such thing.
func driverStream(dc driver.Conn) reflect.Value {
	v := reflect.ValueOf(dc)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}
	field := v.Elem().FieldByName("netConn")
	if !field.IsValid() || field.Kind() != reflect.Interface {
		return reflect.Value{}
	}
	return field.Elem()
}
