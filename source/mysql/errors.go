package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/tributary-lake/tributary/source"
)

// ConnectError tells why an instance cannot be used, and what to do. It is a [source.ErrDenied] or a
// [source.ErrUnavailable]. It never holds the password.
type ConnectError struct {
	Instance string
	// Address is host:port.
	Address string
	// Problem and Remedy are clauses for people.
	Problem, Remedy string
	// Class is source.ErrDenied or source.ErrUnavailable.
	Class error
	// Err is the cause.
	Err error
}

// Error is one sentence with instance, address, problem and remedy.
func (e *ConnectError) Error() string {
	return fmt.Sprintf("instance %q at %s: %s: %s (%v)", e.Instance, e.Address, e.Problem, e.Remedy, e.Err)
}

// Unwrap gives the cause and the class.
func (e *ConnectError) Unwrap() []error { return []error{e.Err, e.Class} }

// The server's error codes that are told apart.
const (
	codeTooManyConnections = 1040
	codeDatabaseDenied     = 1044
	codeAccessDenied       = 1045
	codeUnknownDatabase    = 1049
	codeUnknownColumn      = 1054
	codeShutdown           = 1053
	codeHostBlocked        = 1129
	codeHostNotAllowed     = 1130
	codeTableDenied        = 1142
	codeColumnDenied       = 1143
	codeNoSuchTable        = 1146
	codeTooManyUser        = 1203
	codeLockWait           = 1205
	codeDeadlock           = 1213
	codeResourceLimit      = 1226
	codeSpecificDenied     = 1227
	codeQueryInterrupted   = 1317
	codeSyntax             = 1064
	codeNoFunction         = 1305
	codeDefinitionChanged  = 1412
	codeAccessDeniedNoPass = 1698
	codeMariaTimeout       = 1969
	codeMySQLTimeout       = 3024
	codeStatementGone      = 1243
	codeReprepare          = 1615
	codeConnectionKilled   = 1927
)

// explain makes a sentence of an error in opening a connection.
func (c Config) explain(err error) error {
	var done *ConnectError
	if err == nil || errors.As(err, &done) {
		return err
	}
	e := &ConnectError{Instance: c.Name, Address: c.address(), Err: err, Class: source.ErrUnavailable}
	var server *driversql.MySQLError
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var cert *tls.CertificateVerificationError
	var dial *net.OpError
	switch {
	case errors.Is(err, source.ErrDenied):
		e.Class, e.Problem, e.Remedy = source.ErrDenied, "the session cannot be set up", "the account or the server must allow it"
	case errors.As(err, &server):
		c.explainCode(e, server.Number)
	case errors.As(err, &dns):
		e.Problem, e.Remedy = "the host name cannot be resolved", "check host for a typing error, and this machine's name servers"
		if dns.IsNotFound {
			e.Class = source.ErrDenied
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Problem, e.Remedy = "nothing listens on that port", "check host and port, and that the server runs"
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &cert):
		e.Class, e.Problem, e.Remedy = source.ErrDenied, "the server's certificate is not trusted", "set tls.ca to the authority that signed it, and tls.mode to what it proves"
	case errors.Is(err, driversql.ErrNoTLS):
		e.Class, e.Problem, e.Remedy = source.ErrDenied, "the server offers no TLS", "enable it there or set tls.mode to disabled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &dial) && dial.Timeout():
		e.Problem, e.Remedy = fmt.Sprintf("no answer within %s", c.timeout()), "check host, port and firewalls between this machine and the server"
	case errors.Is(err, context.Canceled):
		return err
	default:
		e.Problem, e.Remedy = "the connection failed", "check that a MySQL or MariaDB server answers there"
	}
	return e
}

func (c Config) explainCode(e *ConnectError, code uint16) {
	switch code {
	case codeAccessDenied, codeAccessDeniedNoPass, codeDatabaseDenied:
		e.Class = source.ErrDenied
		e.Problem = fmt.Sprintf("access denied for user %q", c.User)
		e.Remedy = "check user and password, and that the account may log in from this host"
	case codeHostNotAllowed, codeHostBlocked:
		e.Class = source.ErrDenied
		e.Problem, e.Remedy = "the server does not let this host in", "create the account for this host, or FLUSH HOSTS if it is blocked"
	case codeTooManyConnections, codeTooManyUser, codeResourceLimit:
		e.Problem, e.Remedy = "the server has no free connection", "lower limits.connections or raise max_connections there"
	default:
		e.Problem, e.Remedy = "the server refused the connection", "see its message"
	}
}

// classify wraps an error of a statement with the class that tells what the caller may do.
func classify(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var server *driversql.MySQLError
	if errors.As(err, &server) {
		switch server.Number {
		case codeTableDenied, codeColumnDenied, codeDatabaseDenied, codeAccessDenied:
			return fmt.Errorf("%w: grant the account SELECT: %w", source.ErrDenied, err)
		case codeQueryInterrupted, codeMariaTimeout, codeMySQLTimeout, codeShutdown, codeLockWait, codeDeadlock,
			codeConnectionKilled, codeStatementGone, codeReprepare:
			return fmt.Errorf("%w: %w", source.ErrUnavailable, err)
		case codeSyntax, codeUnknownColumn, codeNoFunction:
			return fmt.Errorf("%w: check the condition of where: %w", source.ErrDenied, err)
		case codeDefinitionChanged:
			return fmt.Errorf("%w: %w", source.ErrSchemaChanged, err)
		}
		return err
	}
	var network net.Error
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, driver.ErrBadConn), errors.Is(err, net.ErrClosed), errors.Is(err, driversql.ErrInvalidConn), errors.As(err, &network):
		return fmt.Errorf("%w: the connection was lost; if this comes back after the same time, raise net_write_timeout on the server or proxy: %w",
			source.ErrUnavailable, err)
	}
	return err
}

// missing tells whether a server's error means that a shard's table or database is gone.
func missing(err error) bool {
	var server *driversql.MySQLError
	return errors.As(err, &server) && (server.Number == codeNoSuchTable || server.Number == codeUnknownDatabase)
}

// unknownColumn finds the output that the server says does not exist. A column that only the user's condition names
// is none.
func unknownColumn(err error, outputs []source.Output) (source.Column, bool) {
	var server *driversql.MySQLError
	if !errors.As(err, &server) || server.Number != codeUnknownColumn {
		return source.Column{}, false
	}
	for _, o := range outputs {
		if o.Column.Name != "" && strings.Contains(server.Message, "'"+o.Column.Name+"'") {
			return o.Column, true
		}
	}
	return source.Column{}, false
}
