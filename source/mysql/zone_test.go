package mysql_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // New York's rules, whatever the machine has

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// teachZone gives a server the rules of a named zone, as mysql_tzinfo_to_sql would.
func teachZone(t *testing.T, server *testenv.MySQL, name string) {
	t.Helper()
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	var transitions, kinds []string
	seen := map[string]int{}
	for at := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).In(zone); at.Year() < 2038; {
		short, offset := at.Zone()
		key := fmt.Sprint(short, offset, at.IsDST())
		if _, ok := seen[key]; !ok {
			seen[key] = len(seen)
			dst := 0
			if at.IsDST() {
				dst = 1
			}
			kinds = append(kinds, fmt.Sprintf("(1, %d, %d, %d, '%s')", seen[key], offset, dst, short))
		}
		transitions = append(transitions, fmt.Sprintf("(1, %d, %d)", at.Unix(), seen[key]))
		_, next := at.ZoneBounds()
		if next.IsZero() {
			break
		}
		at = next
	}
	server.Exec(t, "USE mysql", "INSERT INTO time_zone VALUES (1, 'N')", "INSERT INTO time_zone_name VALUES ('"+name+"', 1)",
		"INSERT INTO time_zone_transition_type VALUES "+strings.Join(kinds, ", "),
		"INSERT INTO time_zone_transition VALUES "+strings.Join(transitions, ", "))
}

// TestTimeZones has two instances in different zones: equal instants arrive equal, and wall clocks as they are.
func TestTimeZones(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			east := testenv.Start(t, f, testenv.TimeZone("+08:00"))
			west := testenv.Start(t, f)
			teachZone(t, west, "America/New_York")
			west.Exec(t, "SET GLOBAL time_zone = 'America/New_York'")
			const create = "CREATE TABLE z.t (id INT PRIMARY KEY, ts TIMESTAMP(6) NULL, dt DATETIME(6))"
			clocks := []string{ // wall clocks, which are what they are in every zone
				"2024-03-10 02:30:00.000000", "1970-01-01 00:00:01.000000", "2038-01-19 03:14:07.000000", "1000-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999",
			}
			walls := [][3]string{ // the same instant on both walls, and in UTC
				{"1970-01-01 08:00:01", "1969-12-31 19:00:01", "1970-01-01 00:00:01.000000"},
				{"2024-03-10 14:59:59.5", "2024-03-10 01:59:59.5", "2024-03-10 06:59:59.500000"},
				{"2024-03-10 15:00:00", "2024-03-10 03:00:00", "2024-03-10 07:00:00.000000"}, // 02:30 does not exist in New York
				{"2038-01-19 11:14:07", "2038-01-18 22:14:07", "2038-01-19 03:14:07.000000"},
				{"2024-07-01 00:00:00.123456", "2024-06-30 12:00:00.123456", "2024-06-30 16:00:00.123456"},
			}
			for side, server := range []*testenv.MySQL{east, west} {
				server.Exec(t, "CREATE DATABASE z", create)
				for i, w := range walls {
					// Pool connections made before SET GLOBAL keep their zone: say it.
					zone := []string{"'+08:00'", "'America/New_York'"}[side]
					server.Exec(t, "SET time_zone = "+zone, fmt.Sprintf("INSERT INTO z.t VALUES (%d, '%s', '%s')", i, w[side], clocks[i]))
				}
			}
			src := open(t, mysql.Options{}, configOf(east, "east"), configOf(west, "west"))
			d, err := src.Discover(t.Context(), mysql.Selection{})
			require.NoError(t, err)
			require.Len(t, d.Tables, 2)
			for _, table := range d.Tables {
				rows, _, err := collect(t.Context(), src, readOf(t, table))
				require.NoError(t, err)
				for i, w := range walls {
					require.Equal(t, []string{fmt.Sprint(i), w[2], clocks[i]}, rows[i], table.Shard.String())
				}
			}
		})
	}
}

// authority makes a certificate authority and a server certificate for 127.0.0.1, as PEM files in a directory.
func authority(t *testing.T) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o644))
		return path
	}
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	caCert := template(1, "test authority")
	caCert.IsCA, caCert.BasicConstraintsValid, caCert.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, caCert, caCert, &caKey.PublicKey, caKey)
	require.NoError(t, err)
	ca = write("ca.pem", "CERTIFICATE", der)
	serverKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	serverCert := template(2, "test server")
	serverCert.IPAddresses, serverCert.KeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, x509.KeyUsageDigitalSignature|x509.KeyUsageKeyEncipherment
	serverCert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err = x509.CreateCertificate(rand.Reader, serverCert, caCert, &serverKey.PublicKey, caKey)
	require.NoError(t, err)
	cert = write("server.pem", "CERTIFICATE", der)
	key = write("server.key", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(serverKey))
	return ca, cert, key
}

// TestTLS reads through TLS in every mode, from accounts that demand it, and refuses what a mode does not trust.
func TestTLS(t *testing.T) {
	ca, cert, key := authority(t)
	stranger, _, _ := authority(t)
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			s := newShop(t, testenv.Start(t, f, testenv.Setting("ssl_ca", ca), testenv.Setting("ssl_cert", cert), testenv.Setting("ssl_key", key)))
			r := readOf(t, s.numbers(t, "n", 5000))
			s.exec(t, "CREATE USER 'secure'@'%' IDENTIFIED BY 'secure' REQUIRE SSL", "GRANT SELECT ON *.* TO 'secure'@'%'")
			c := configOf(s.server, "a")
			c.User, c.Password = "secure", "secure"
			_, err := mysql.Open(t.Context(), []mysql.Config{c}, mysql.Options{})
			require.ErrorIs(t, err, source.ErrDenied)
			for _, secure := range []mysql.TLS{
				{Mode: mysql.TLSPreferred}, // the account refuses plain connections, so this one is encrypted
				{Mode: mysql.TLSRequired},
				{Mode: mysql.TLSVerifyCA, CA: ca, ServerName: "elsewhere.example"},
				{Mode: mysql.TLSVerifyIdentity, CA: ca},
			} {
				c.TLS = secure
				src := open(t, mysql.Options{}, c)
				for range 2 { // the second read takes the first's connection
					rows, _, err := collect(t.Context(), src, r)
					require.NoError(t, err, secure.Mode)
					require.Len(t, rows, 5000)
				}
			}
			for _, secure := range []mysql.TLS{
				{Mode: mysql.TLSVerifyCA, CA: stranger},
				{Mode: mysql.TLSVerifyIdentity, CA: ca, ServerName: "elsewhere.example"},
				{Mode: mysql.TLSVerifyIdentity},
			} {
				c.TLS = secure
				_, err := mysql.Open(t.Context(), []mysql.Config{c}, mysql.Options{})
				require.ErrorIs(t, err, source.ErrDenied, secure.Mode)
				require.ErrorContains(t, err, "certificate is not trusted")
			}
		})
	}
}

// TestTLSPreferredWithoutTLS reads in the clear from a server that offers no encryption, and only if the mode allows it.
func TestTLSPreferredWithoutTLS(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			s := newShop(t, testenv.Start(t, f, testenv.Setting("skip_ssl", "1")))
			r := readOf(t, s.numbers(t, "n", 100))
			c := configOf(s.server, "a")
			c.TLS = mysql.TLS{Mode: mysql.TLSPreferred}
			rows, _, err := collect(t.Context(), open(t, mysql.Options{}, c), r)
			require.NoError(t, err)
			require.Len(t, rows, 100)
			c.TLS.Mode = mysql.TLSRequired
			_, err = mysql.Open(t.Context(), []mysql.Config{c}, mysql.Options{})
			require.Error(t, err)
		})
	}
}
