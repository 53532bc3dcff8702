package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hmsName begins the names of the Hive metastores for [Install].
const hmsName = "hms-"

// MetastoreVersions are the versions of the Hive metastore that [Metastore] runs.
func MetastoreVersions() []string { return []string{"3.1.3", "4.0.1"} }

// HiveMetastore is a running Hive metastore over a database of its own.
type HiveMetastore struct {
	// Address is its host and port; clients want thrift:// before it.
	Address string
	// Warehouse is its folder of managed tables.
	Warehouse string
	proc      *process
	sweep     func() // keeps the folder for as long as the server is reachable from somewhere
}

// URI is its address as clients want it.
func (m *HiveMetastore) URI() string { return "thrift://" + m.Address }

// sharedMetastores holds the servers of [Metastore] for the life of the test binary. The kernel ends them with the process.
var sharedMetastores = &registry[string, *HiveMetastore]{}

// Metastore is the Hive metastore of a version, with these settings, shared by all tests of the binary that ask for the same.
func Metastore(tb testing.TB, version string, settings ...string) *HiveMetastore {
	tb.Helper()
	m, err := sharedMetastores.get(version+" "+strings.Join(settings, " "), func() (*HiveMetastore, error) {
		return startMetastore(context.WithoutCancel(tb.Context()), version, settings)
	})
	if err != nil {
		tb.Fatalf("testenv: Hive metastore %s: %v", version, err)
	}
	return m
}

// installMetastore fetches a metastore's release, compiles the program that starts it and makes an empty database. It returns
// the folder of that and the class path.
func installMetastore(ctx context.Context, version string) (dir, classPath string, err error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", "", err
	}
	sources := filepath.Join(root, "internal", "testenv", "hms")
	jars, err := ProgramJars(ctx, hmsName+version, os.DirFS(filepath.Join(sources, version)))
	if err != nil {
		return "", "", err
	}
	needs := func(dir string) string {
		return filepath.Join(dir, "dist", "lib", "*") + ":" + filepath.Join(jars, "*")
	}
	dir, err = installSources(ctx, hmsName+version, "Hive metastore "+version, os.DirFS(filepath.Join(sources, "server")), func(tmp string) error {
		release, err := filepath.Glob(filepath.Join(jars, "*.tar.gz"))
		if err != nil || len(release) != 1 {
			return errors.Join(fmt.Errorf("%s has %d releases, want one", jars, len(release)), err)
		}
		dist := filepath.Join(tmp, "dist")
		if err := os.Mkdir(dist, 0o755); err != nil {
			return err
		}
		if err := run(ctx, tmp, "tar", "-xzf", release[0], "--strip-components=1", "--no-same-owner", "-C", dist); err != nil {
			return err
		}
		if err := compile(ctx, tmp, needs(tmp)); err != nil {
			return err
		}
		schema := filepath.Join(dist, "scripts", "metastore", "upgrade", "derby", "hive-schema-"+version[:strings.LastIndex(version, ".")]+".0.derby.sql")
		return run(ctx, tmp, "java", "-cp", filepath.Join(tmp, "classes")+":"+needs(tmp), "HmsServer", "init", filepath.Join(tmp, "template"), schema)
	})
	return dir, filepath.Join(dir, "classes") + ":" + needs(dir), err
}

func startMetastore(ctx context.Context, version string, settings []string) (*HiveMetastore, error) {
	installed, classPath, err := installMetastore(ctx, version)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "trb-hms-")
	if err != nil {
		return nil, err
	}
	sweep, err := startBroom(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := os.CopyFS(filepath.Join(dir, "db"), os.DirFS(filepath.Join(installed, "template"))); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	m := &HiveMetastore{Address: fmt.Sprintf("127.0.0.1:%d", port), Warehouse: filepath.Join(dir, "warehouse"), sweep: sweep}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the server writes to its own copy
	var args []string
	for _, p := range []string{"java.lang", "java.net", "java.util", "java.util.concurrent", "java.nio"} {
		args = append(args, "--add-opens", "java.base/"+p+"=ALL-UNNAMED")
	}
	// A small compiler and collector, because it lives briefly.
	args = append(args, "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true",
		"-cp", classPath, "HmsServer", "serve", filepath.Join(dir, "db"), m.Warehouse, fmt.Sprint(port))
	cmd := exec.Command("java", append(args, settings...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(os.Environ(), "METASTORE_HOME="+filepath.Join(installed, "dist"))
	if m.proc, err = startProcess(cmd, true); err != nil {
		return nil, err
	}
	return m, m.await(ctx, log.Name())
}

// await waits for the port, which opens last.
func (m *HiveMetastore) await(ctx context.Context, log string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	err := poll(ctx, 50*time.Millisecond, func() (bool, error) {
		if m.proc.ended() {
			return false, errors.New("the metastore ended before it was ready")
		}
		c, err := net.DialTimeout("tcp", m.Address, time.Second)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, c.Close()
	})
	if err != nil {
		m.proc.kill()
		said, _ := os.ReadFile(log) // an extra to an error that stands by itself
		return fmt.Errorf("%w; its log ends:\n%s", err, lastLines(string(said), 25))
	}
	return nil
}
