package tlsproxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// ServerName is the name in the server's certificate, beside 127.0.0.1.
const ServerName = "server.example"

// Proxy listens with TLS.
type Proxy struct {
	// Address is host:port.
	Address string
	// CA is the file of the authority that signed the server's certificate; Cert and Key are files of a client's that it signed.
	CA, Cert, Key string
}

// Start takes TLS connections on, each of which needs a client's certificate if clients is set, and passes them on to a server.
// protocols are those of ALPN, such as h2.
func Start(tb testing.TB, server string, clients bool, protocols ...string) *Proxy {
	tb.Helper()
	a := newAuthority(tb)
	p := &Proxy{CA: a.file}
	p.Cert, p.Key = a.issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	cert, key := a.issue("server", &x509.Certificate{
		DNSNames: []string{ServerName}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	pair, err := tls.LoadX509KeyPair(cert, key)
	a.check(err)
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: protocols}
	if clients {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		c.ClientCAs.AddCert(a.cert)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", c)
	a.check(err)
	tb.Cleanup(func() { _ = l.Close() })
	p.Address = l.Addr().String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go pass(client, server)
		}
	}()
	return p
}

func pass(client net.Conn, address string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

// authority signs certificates.
type authority struct {
	tb   testing.TB
	dir  string
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	a := &authority{tb: tb, dir: tb.TempDir()}
	a.file, _ = a.issue("authority", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) check(err error) {
	a.tb.Helper()
	if err != nil {
		a.tb.Fatal("tlsproxy: ", err)
	}
}

// issue signs a certificate; the first, which is the authority's own, by itself.
func (a *authority) issue(name string, c *x509.Certificate) (certFile, keyFile string) {
	a.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.check(err)
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if a.cert == nil {
		a.cert, a.key = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	a.check(err)
	if a.cert == c {
		a.cert, err = x509.ParseCertificate(der)
		a.check(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	a.check(err)
	certFile, keyFile = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	a.check(os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	a.check(os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return certFile, keyFile
}
