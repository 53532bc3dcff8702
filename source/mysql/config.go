package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/tributary-lake/tributary/source"
)

// DefaultConnections is how many connections an instance gets when its Config does not say.
const DefaultConnections = 8

// mostConnections bounds the statement that looks for a free slot.
const mostConnections = 1000

// DefaultConnectTimeout bounds dialling, TLS, login and session settings together.
const DefaultConnectTimeout = 10 * time.Second

// Config describes one instance.
type Config struct {
	// Name is how plans, errors and provenance columns call it.
	Name string
	Host string
	// Port is 3306 when 0.
	Port     int
	User     string
	Password string
	TLS      TLS
	// Connections is how many connections read from or plan on the instance at a time, over all processes that read
	// it; 0 means [DefaultConnections]. The instance holds these slots as user locks. Beside them each process has one
	// connection more while it waits for a slot, up to two more while it reads with a rate or MaxThreadsRunning, and one
	// for a moment when it opens and when it cancels a statement.
	Connections int
	// RowsPerSecond and BytesPerSecond are the most that all processes together read; 0 is no limit. Bytes are those of
	// the rows as the server sends them.
	RowsPerSecond, BytesPerSecond int64
	// MaxThreadsRunning pauses reading while the server runs more statements than this for other accounts; 0 is no limit.
	MaxThreadsRunning int
	// Replica is a server whose lag is watched, by the same account and with the same encryption: reading pauses while it
	// lags more than MaxReplicaLag, or does not replicate. It may be the server that is read. Without it none is watched.
	Replica Address
	// MaxReplicaLag in whole seconds, as servers tell it.
	MaxReplicaLag time.Duration
	// ConnectTimeout is [DefaultConnectTimeout] when 0.
	ConnectTimeout time.Duration
}

// Address is where a server listens.
type Address struct {
	Host string
	// Port is 3306 when 0.
	Port int
}

// String is host:port.
func (a Address) String() string {
	port := a.Port
	if port == 0 {
		port = 3306
	}
	return net.JoinHostPort(a.Host, strconv.Itoa(port))
}

// TLSMode tells how much of a server's identity is checked.
type TLSMode string

// The modes, as the mysql client names them.
const (
	TLSDisabled TLSMode = "disabled"
	// TLSPreferred encrypts if the server offers it, and believes any certificate.
	TLSPreferred TLSMode = "preferred"
	// TLSRequired encrypts, but believes any certificate.
	TLSRequired TLSMode = "required"
	// TLSVerifyCA also wants a certificate that a known authority signed, for any host.
	TLSVerifyCA TLSMode = "verify-ca"
	// TLSVerifyIdentity also wants it to be for this host.
	TLSVerifyIdentity TLSMode = "verify-identity"
)

// TLS is how connections to an instance are encrypted. The zero value is no encryption.
type TLS struct {
	// Mode is TLSDisabled when empty.
	Mode TLSMode
	// CA is a file of trusted authorities in PEM; empty means the system's.
	CA string
	// Cert and Key are files of a client certificate in PEM, both or none.
	Cert, Key string
	// ServerName is the name that the certificate must be for, when it is not Host.
	ServerName string
}

// address is host:port.
func (c Config) address() string { return Address{c.Host, c.Port}.String() }

// replica is how the watched replica is connected to.
func (c Config) replica() Config {
	c.Host, c.Port = c.Replica.Host, c.Replica.Port
	return c
}

func (c Config) timeout() time.Duration {
	if c.ConnectTimeout > 0 {
		return c.ConnectTimeout
	}
	return DefaultConnectTimeout
}

func (c Config) validate() error {
	switch {
	case c.Name == "":
		return fmt.Errorf("%w: an instance has no name", source.ErrDenied)
	case c.Host == "":
		return fmt.Errorf("%w: instance %q has no host", source.ErrDenied, c.Name)
	case c.Port < 0 || c.Port > 65535:
		return fmt.Errorf("%w: instance %q: port %d is not between 1 and 65535", source.ErrDenied, c.Name, c.Port)
	case c.User == "":
		return fmt.Errorf("%w: instance %q has no user", source.ErrDenied, c.Name)
	case c.Replica.Port < 0 || c.Replica.Port > 65535:
		return fmt.Errorf("%w: instance %q: port %d of its replica is not between 1 and 65535", source.ErrDenied, c.Name, c.Replica.Port)
	case c.Connections > mostConnections:
		return fmt.Errorf("%w: instance %q: %d connections are more than %d", source.ErrDenied, c.Name, c.Connections, mostConnections)
	}
	return nil
}

// client is the TLS configuration for the driver, nil for none.
func (t TLS) client(host string) (*tls.Config, error) {
	if t.Mode == "" || t.Mode == TLSDisabled {
		return nil, nil
	}
	c := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12, CipherSuites: cipherSuites()}
	if c.ServerName == "" {
		c.ServerName = host
	}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("read the authorities' file of tls.ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca: %s holds no certificate in PEM", t.CA)
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate of tls.cert and tls.key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	switch t.Mode {
	case TLSPreferred, TLSRequired:
		c.InsecureSkipVerify = true
	case TLSVerifyCA:
		c.InsecureSkipVerify = true // the chain is checked below, the host name is not
		c.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(c.RootCAs, s.PeerCertificates) }
	case TLSVerifyIdentity:
	default:
		return nil, fmt.Errorf("tls.mode %q is not known: use %s, %s, %s, %s or %s", t.Mode, TLSDisabled, TLSPreferred, TLSRequired, TLSVerifyCA, TLSVerifyIdentity)
	}
	return c, nil
}

// cipherSuites are Go's own and, last in preference, those with RSA key exchange: MySQL servers built with OpenSSL 1.0,
// such as 8.0.15, have no elliptic curves, and would be left without encryption.
func cipherSuites() []uint16 {
	var ids []uint16
	for _, s := range tls.CipherSuites() {
		ids = append(ids, s.ID)
	}
	return append(ids, tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA)
}

// verifyChain checks that a known authority signed the first certificate, for whatever host.
func verifyChain(roots *x509.CertPool, chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return errors.New("the server sent no certificate")
	}
	o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(o)
	return err
}
