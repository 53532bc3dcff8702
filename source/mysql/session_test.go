package mysql

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"net"
	"strings"
	"testing"
	"time"

	driversql "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
)

// TestSession checks the session rules on servers whose own settings are hostile.
func TestSession(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			server := testenv.Start(t, f,
				testenv.TimeZone("-11:00"), testenv.Setting("sql_mode", "PAD_CHAR_TO_FULL_LENGTH,ANSI_QUOTES,NO_BACKSLASH_ESCAPES"),
				testenv.Setting("max_allowed_packet", "262144"), testenv.Setting("net_write_timeout", "5"), testenv.Setting("net_read_timeout", "5"), testenv.Setting("wait_timeout", "5"),
				testenv.Setting("transaction_isolation", "READ-UNCOMMITTED"),
				testenv.Setting("character_set_server", "latin1"), testenv.Setting("collation_server", "latin1_german1_ci"))
			server.Exec(t, "SET GLOBAL sql_select_limit = 3")
			src, err := Open(t.Context(), []Config{{Name: "a", Host: server.Host(), Port: server.Port(), User: "reader", Password: "reader"}}, Options{})
			require.NoError(t, err)
			defer src.Close()
			isolation := "tx_isolation"
			if f == testenv.FlavorMySQL80 {
				isolation = "transaction_isolation"
			}
			for name, want := range map[string]string{
				"time_zone": "+00:00", "sql_mode": "", "character_set_results": "utf8mb4", "character_set_client": "utf8mb4",
				"net_write_timeout": sessionWait, "net_read_timeout": sessionWait, "wait_timeout": sessionWait, isolation: "REPEATABLE-READ",
			} {
				var got string
				require.NoError(t, src.instances[0].db.QueryRowContext(t.Context(), "SELECT @@session."+name).Scan(&got))
				require.Equal(t, want, got, name)
			}
			c, err := src.instances[0].conn(t.Context())
			require.NoError(t, err)
			require.NoError(t, c.Raw(func(dc any) error { return dc.(*conn).widen(t.Context()) }))
			require.NoError(t, c.PingContext(t.Context()), "a statement longer than the server takes would end the connection")
			require.NoError(t, c.Close())
			rows, err := src.instances[0].db.QueryContext(t.Context(), "SELECT table_name FROM information_schema.tables LIMIT 20")
			require.NoError(t, err)
			defer rows.Close()
			n := 0
			for rows.Next() {
				n++
			}
			require.NoError(t, rows.Err())
			require.Equal(t, 20, n, "a limit of the server's must not cut results")
		})
	}
}

// TestWiden asks MariaDB, which counts a session's memory, whether its buffer has grown.
func TestWiden(t *testing.T) {
	server := testenv.Shared(t, testenv.FlavorMariaDB)
	src, err := Open(t.Context(), []Config{{Name: "a", Host: server.Host(), Port: server.Port(), User: "reader", Password: "reader"}}, Options{})
	require.NoError(t, err)
	defer src.Close()
	c, err := src.instances[0].conn(t.Context())
	require.NoError(t, err)
	defer c.Close()
	used := func() (n int64) {
		var name string
		require.NoError(t, c.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Memory_used'").Scan(&name, &n))
		return n
	}
	before := used()
	require.NoError(t, c.Raw(func(dc any) error { return dc.(*conn).widen(t.Context()) }))
	require.GreaterOrEqual(t, used(), before+sendBuffer-(16<<10))
}

// The shapes that a later driver might have.
type (
	noField   struct{ driverConn }
	otherType struct {
		driverConn
		netConn net.Conn
	}
	notInterface struct {
		driverConn
		netConn *tap
	}
)

// TestDriverStream pins how the driver's stream is found, and that a driver of another shape is refused at once.
func TestDriverStream(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	own := &tap{Conn: near, noted: true}
	other := &tap{Conn: far, noted: true}
	found, err := attach(&otherType{netConn: own}, own)
	require.NoError(t, err)
	require.Same(t, own, found.wire)
	secure := tls.Client(own, &tls.Config{InsecureSkipVerify: true})
	found, err = attach(&otherType{netConn: secure}, own)
	require.NoError(t, err)
	require.Same(t, secure, found.wire)
	var none *tls.Conn
	for _, dc := range []driver.Conn{
		&noField{}, &notInterface{netConn: own}, &otherType{}, &otherType{netConn: near}, &otherType{netConn: none}, &otherType{netConn: other},
		noField{},
		&otherType{netConn: tls.Client(other, &tls.Config{InsecureSkipVerify: true})},
	} {
		_, err := attach(dc, own)
		require.ErrorContains(t, err, "the MySQL driver has changed")
	}
	_, err = attach(&otherType{netConn: own}, nil)
	require.ErrorContains(t, err, "the MySQL driver has changed")
	_, err = attach(&otherType{netConn: own}, &tap{})
	require.ErrorContains(t, err, "the MySQL driver has changed")
}

// swallower is a connection whose proxy accepts SET and does nothing.
type swallower struct{ driverConn }

func (swallower) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, nil
}

// TestSwallowedSettings checks that a proxy which drops session settings is noticed.
func TestSwallowedSettings(t *testing.T) {
	server := testenv.Shared(t, testenv.FlavorMariaDB)
	src, err := Open(t.Context(), []Config{{Name: "a", Host: server.Host(), Port: server.Port(), User: "reader", Password: "reader"}}, Options{})
	require.NoError(t, err)
	defer src.Close()
	c, err := src.instances[0].conn(t.Context())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.ExecContext(t.Context(), "SET time_zone = '+03:00'")
	require.NoError(t, err)
	require.NoError(t, c.Raw(func(dc any) error {
		require.ErrorContains(t, setSession(t.Context(), swallower{dc.(*conn)}), "+03:00")
		return nil
	}))
}

// refuser is a connection to a server that does not know the variables whose statements hold a word.
type refuser struct {
	driverConn
	word string
}

func (r refuser) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if strings.Contains(query, r.word) {
		return nil, &driversql.MySQLError{Number: 1193, Message: "Unknown system variable"}
	}
	return r.driverConn.ExecContext(ctx, query, args)
}

// TestRefusedSettings checks which settings a server may refuse: those that cannot change values.
func TestRefusedSettings(t *testing.T) {
	server := testenv.Shared(t, testenv.FlavorMySQL57)
	src, err := Open(t.Context(), []Config{{Name: "a", Host: server.Host(), Port: server.Port(), User: "reader", Password: "reader"}}, Options{})
	require.NoError(t, err)
	defer src.Close()
	c, err := src.instances[0].conn(t.Context())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Raw(func(dc any) error {
		for _, word := range []string{"net_write_timeout", "wait_timeout", "ISOLATION", "sql_select_limit", "SESSION"} {
			require.NoError(t, setSession(t.Context(), refuser{dc.(*conn), word}), word)
		}
		for _, word := range []string{"time_zone", "NAMES", "sql_mode"} {
			require.ErrorIs(t, setSession(t.Context(), refuser{dc.(*conn), word}), source.ErrDenied, word)
		}
		return nil
	}))
}

// TestNetWriteTimeout reads slowly in a session that lacks its own net_write_timeout, as a proxy may bring it about: the
// server cuts it, and the error names the setting.
func TestNetWriteTimeout(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			server := testenv.Start(t, f)
			database := server.NewDatabase(t)
			server.Exec(t, "USE "+database, "CREATE TABLE n (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, pad LONGTEXT NOT NULL)",
				"INSERT INTO n (pad) VALUES (REPEAT('p', 1000000))")
			for range 6 { // 64 MB, more than what lies in buffers between the two
				server.Exec(t, "USE "+database, "INSERT INTO n (pad) SELECT pad FROM n")
			}
			src, err := Open(t.Context(), []Config{{Name: "a", Host: server.Host(), Port: server.Port(), User: "reader", Password: "reader", Connections: 1}}, Options{})
			require.NoError(t, err)
			defer src.Close()
			d, err := src.Discover(t.Context(), Selection{Databases: func(_, name string) bool { return name == database }})
			require.NoError(t, err)
			m, err := source.Merge(d.Tables, source.MergeOptions{})
			require.NoError(t, err)
			c, err := src.instances[0].conn(t.Context()) // the only one
			require.NoError(t, err)
			_, err = c.ExecContext(t.Context(), "SET SESSION net_write_timeout = 1")
			require.NoError(t, err)
			require.NoError(t, c.Close())
			waited := false
			_, err = src.Read(t.Context(), source.Read{Shard: d.Tables[0].Shard, Outputs: m.Outputs(d.Tables[0])}, func(b *row.Batch) (*row.Batch, error) {
				if !waited {
					waited = true
					<-time.After(4 * time.Second) // the server's clock is what is waited for
				}
				return b, nil
			})
			require.ErrorIs(t, err, source.ErrUnavailable)
			require.ErrorContains(t, err, "net_write_timeout")
		})
	}
}
