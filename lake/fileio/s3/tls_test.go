package s3_test

import (
	"crypto/x509"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv/tlsproxy"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/s3"
)

// A store behind TLS is used where its authority is the one that was named, and by no other.
func TestOwnAuthority(t *testing.T) {
	server := theServer(t)
	u, err := url.Parse(server.Endpoint)
	require.NoError(t, err)
	proxy, stranger := tlsproxy.Start(t, u.Host, false, "http/1.1"), tlsproxy.Start(t, u.Host, false)
	_, port, err := net.SplitHostPort(proxy.Address)
	require.NoError(t, err)
	endpoint := "https://127.0.0.1:" + port
	uri := "s3://" + server.Bucket(t) + "/lake"
	store := func(ca string) fileio.Store {
		return newStore(t, newClient(t, endpoint, func(c *s3.Config) { c.CA = ca }), uri)
	}
	require.NoError(t, store(proxy.CA).CreateExclusive(t.Context(), "a", []byte("x")))
	data, err := fileio.ReadFile(t.Context(), newStore(t, newClient(t, server.Endpoint), uri), "a", 10)
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	for _, ca := range []string{"", stranger.CA} {
		err := store(ca).CreateExclusive(t.Context(), "b", []byte("x"))
		var unknown x509.UnknownAuthorityError
		require.ErrorAs(t, err, &unknown)
	}
}
