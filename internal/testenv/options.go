package testenv

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Option changes how a server is started.
type Option func(*options)

type options struct {
	settings []setting
	dir      string
	port     int
	detached bool
}

// Setting sets a server variable as a line of my.cnf would: Setting("sql_mode", "").
func Setting(name, value string) Option {
	return func(o *options) { o.settings = append(o.settings, setting{name, value}) }
}

// TimeZone sets the server's zone as an offset such as "+05:30"; the servers have no table of named zones.
func TimeZone(offset string) Option { return Setting("default-time-zone", offset) }

// MaxConnections sets how many clients may be connected at once.
func MaxConnections(n int) Option { return Setting("max_connections", fmt.Sprint(n)) }

// BufferPool sets the size of InnoDB's page cache, such as "1G". The default is 64M.
func BufferPool(size string) Option { return Setting("innodb_buffer_pool_size", size) }

// InDir keeps the server's files in dir, which stays afterwards; a server started there again finds its data.
// The default is a temporary directory that goes with the server.
func InDir(dir string) Option { return func(o *options) { o.dir = dir } }

// OnPort makes the server listen on that port of 127.0.0.1. The default is a free one.
func OnPort(port int) Option { return func(o *options) { o.port = port } }

// Detached lets the server outlive the process that starts it; [StopDetached] ends it. It needs [InDir].
func Detached() Option { return func(o *options) { o.detached = true } }

// freePort finds a port that nobody listens on, below the range from which systems take the ports of outgoing
// connections, so that it most likely stays free until the server has it, and after a restart.
func freePort() (int, error) {
	const from, to = 20000, 32000
	var last error
	for range 100 {
		port := from + rand.IntN(to-from)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			last = err
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("no free port between %d and %d: %w", from, to, last)
}
