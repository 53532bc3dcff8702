package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/source/mysql"
)

// TestConfigOf passes everything on that a job says of an instance and its limits.
func TestConfigOf(t *testing.T) {
	limits := config.Limits{Connections: 2, RowsPerSecond: 3, BytesPerSecond: 4, MaxReplicaLag: 5 * time.Second, MaxThreadsRunning: 6}
	in := config.Instance{
		Name: "a", Host: "db", Port: 1, User: "u",
		TLS:     config.TLS{Mode: config.TLSVerifyCA, CA: "ca", Cert: "cert", Key: "key"},
		Replica: config.Replica{Host: "copy", Port: 7},
	}
	want := mysql.Config{
		Name: "a", Host: "db", Port: 1, User: "u", Password: "p",
		TLS:         mysql.TLS{Mode: mysql.TLSVerifyCA, CA: "ca", Cert: "cert", Key: "key"},
		Connections: 2, RowsPerSecond: 3, BytesPerSecond: 4, MaxReplicaLag: 5 * time.Second, MaxThreadsRunning: 6,
		Replica: mysql.Address{Host: "copy", Port: 7},
	}
	require.Equal(t, want, configOf(&in, limits, "p"))
	in.Replica.Read = true
	want.Host, want.Port = "copy", 7
	require.Equal(t, want, configOf(&in, limits, "p"))
}
