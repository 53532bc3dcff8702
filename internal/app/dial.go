package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/tributary-lake/tributary/config"
)

// ErrTemporalTLS is in errors of Dial that the settings below temporal.tls are to blame for.
var ErrTemporalTLS = errors.New("temporal.tls")

// Dial connects to Temporal and makes sure that it answers.
func Dial(ctx context.Context, t config.Temporal, log *slog.Logger) (client.Client, error) {
	encryption, err := temporalTLS(t.TLS)
	if err != nil {
		return nil, err
	}
	return client.DialContext(ctx, client.Options{
		HostPort: t.Address, Namespace: t.Namespace, Logger: tlog.NewStructuredLogger(log),
		ConnectionOptions: client.ConnectionOptions{TLS: encryption},
	})
}

// temporalTLS is nil for a connection that is not encrypted.
func temporalTLS(t config.TemporalTLS) (*tls.Config, error) {
	if t == (config.TemporalTLS{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("%w: read the authorities' file ca: %w", ErrTemporalTLS, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: ca: %s holds no certificate in PEM", ErrTemporalTLS, t.CA)
		}
	}
	switch {
	case t.Cert == "" && t.Key == "":
	case t.Cert == "" || t.Key == "":
		return nil, fmt.Errorf("%w: a client certificate and its key go together: set cert and key", ErrTemporalTLS)
	default:
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("%w: read the client's certificate of cert and key: %w", ErrTemporalTLS, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
