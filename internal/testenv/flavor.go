package testenv

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
)

// Flavor names one of the servers that can be started.
type Flavor string

// The servers: Debian's MariaDB 10.11, and Oracle's builds of MySQL 5.7.29 and 8.0.15.
//
// They differ where sources must not trip: only MariaDB keeps JSON as the text that was written; only 5.7 lacks
// binlog_row_metadata; 8.0 logs in with caching_sha2_password; GTIDs of MariaDB look like 0-1-7.
const (
	FlavorMariaDB Flavor = "mariadb"
	FlavorMySQL57 Flavor = "mysql57"
	FlavorMySQL80 Flavor = "mysql80"
)

// Flavors lists every Flavor, for tests that run on all of them.
func Flavors() []Flavor { return []Flavor{FlavorMariaDB, FlavorMySQL57, FlavorMySQL80} }

// ParseFlavor is the Flavor of that name, or an error that lists the names.
func ParseFlavor(name string) (Flavor, error) {
	for _, f := range Flavors() {
		if string(f) == name {
			return f, nil
		}
	}
	return "", fmt.Errorf("unknown server %q: it is one of %v", name, Flavors())
}

// build is an installed server: what to run and how.
type build struct {
	binary   string
	settings []setting
	// initialize is the command that makes an empty data directory; the directory is added to it.
	initialize []string
	dataFlag   string
}

type setting struct{ name, value string }

// installServer puts the server in place unless it already is, and says how to run it.
func installServer(ctx context.Context, f Flavor) (build, error) {
	cache, err := CacheDir()
	if err != nil {
		return build{}, err
	}
	me, err := user.Current()
	if err != nil {
		return build{}, fmt.Errorf("who runs this: %w", err)
	}
	root := filepath.Join(cache, string(f))
	switch f {
	case FlavorMariaDB:
		return installMariaDB(ctx, me.Username)
	case FlavorMySQL57:
		return installMySQL57(ctx, root, me.Username)
	case FlavorMySQL80:
		return installMySQL80(ctx, root, me.Username)
	default:
		_, err := ParseFlavor(string(f))
		return build{}, err
	}
}

// baseSettings are those of every server: row-based binlog with full images, small memory, and speed over durability,
// since a crash of the machine ends the test anyway.
func baseSettings(dir, socket string, port int) ([]setting, error) {
	me, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("who runs this: %w", err)
	}
	return []setting{
		{"user", me.Username}, // a server started as root wants to be told so
		{"datadir", filepath.Join(dir, "data")},
		{"tmpdir", filepath.Join(dir, "tmp")},
		{"socket", socket},
		{"port", fmt.Sprint(port)},
		{"bind-address", "127.0.0.1"},
		{"skip-name-resolve", "ON"},
		{"log-error", filepath.Join(dir, "server.log")},
		{"init-file", filepath.Join(dir, "init.sql")},
		{"server_id", fmt.Sprint(port)},
		{"log_bin", filepath.Join(dir, "data", "binlog")},
		{"binlog_format", "ROW"},
		{"binlog_row_image", "FULL"},
		{"sync_binlog", "0"},
		{"innodb_flush_log_at_trx_commit", "2"},
		{"innodb_buffer_pool_size", "64M"},
		{"innodb_log_buffer_size", "8M"},
		{"key_buffer_size", "1M"},
		{"max_connections", "200"},
		{"table_open_cache", "400"},
		{"max_allowed_packet", "64M"},
		{"performance_schema", "OFF"},
		{"character-set-server", "utf8mb4"},
		{"lower_case_table_names", "0"},
	}, nil
}

// initSQL makes the accounts at every start: tributary may do everything and prepares fixtures, reader has what a
// careful administrator grants to a source account.
const initSQL = `SET sql_log_bin=0;
CREATE USER IF NOT EXISTS 'tributary'@'%' IDENTIFIED BY 'tributary';
GRANT ALL PRIVILEGES ON *.* TO 'tributary'@'%' WITH GRANT OPTION;
CREATE USER IF NOT EXISTS 'reader'@'%' IDENTIFIED BY 'reader';
GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'reader'@'%';
`

// template is a ready data directory of that build; a new server starts from a copy, which takes a fraction of the time.
func template(ctx context.Context, f Flavor, b build) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	stat, err := os.Stat(b.binary)
	if err != nil {
		return "", fmt.Errorf("server %s: %w", f, err)
	}
	// A package upgrade replaces the binary; its data directories are made anew.
	key := digest([]byte(b.binary), []byte(stat.ModTime().String()), fmt.Append(nil, b.initialize))
	dir := filepath.Join(cache, "data", string(f)+"-"+key)
	if exists(dir) {
		return dir, nil
	}
	err = withLock(ctx, string(f)+"-data", func() error {
		if exists(dir) {
			return nil
		}
		return install("an empty data directory of "+string(f), func() error {
			return replaceDir(dir, func(tmp string) error {
				args := append(b.initialize[1:len(b.initialize):len(b.initialize)], b.dataFlag+tmp)
				if err := run(ctx, "", b.initialize[0], args...); err != nil {
					return err
				}
				// auto.cnf holds the server's UUID, of which every server needs its own.
				return os.RemoveAll(filepath.Join(tmp, "auto.cnf"))
			})
		})
	})
	return dir, err
}
