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

	"github.com/google/uuid"
)

// S3User and S3Password are the keys of the S3 servers.
const (
	S3User     = "tributary"
	S3Password = "tributary-secret"
)

// Names of the S3 servers for [Install].
const (
	s3Name    = "s3"
	minioName = "minio"
)

// minioModule is built as a program of its own and never linked: its licence is the AGPL.
const minioModule = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"

// S3Server is a running server that speaks the protocol of Amazon S3.
type S3Server struct {
	// Endpoint is its address, such as http://127.0.0.1:9000.
	Endpoint string
	data     string
	sweep    func() // keeps the folder for as long as the server is reachable from somewhere
}

// sharedS3 holds the servers of [S3] and [MinIO] for the life of the test binary. The kernel ends them with the process.
var sharedS3 = &registry[string, *S3Server]{}

// S3 is versitygw over a folder, shared by all tests of the binary, each in a bucket of its own.
func S3(tb testing.TB) *S3Server {
	tb.Helper()
	return sharedServer(tb, s3Name)
}

// MinIO is a MinIO server, shared in the same way.
func MinIO(tb testing.TB) *S3Server {
	tb.Helper()
	return sharedServer(tb, minioName)
}

func sharedServer(tb testing.TB, name string) *S3Server {
	tb.Helper()
	s, err := sharedS3.get(name, func() (*S3Server, error) { return startS3(context.WithoutCancel(tb.Context()), name) })
	if err != nil {
		tb.Fatalf("testenv: %s: %v", name, err)
	}
	return s
}

// Bucket makes an empty bucket and returns its name.
func (s *S3Server) Bucket(tb testing.TB) string {
	tb.Helper()
	name := "b-" + uuid.NewString()
	if err := os.Mkdir(s.Folder(name), 0o755); err != nil {
		tb.Fatalf("testenv: make a bucket: %v", err)
	}
	return name
}

// Folder is where [S3] keeps a bucket's objects as plain files, for whoever cannot read from S3.
func (s *S3Server) Folder(bucket string) string { return filepath.Join(s.data, bucket) }

// startS3 starts a server in a folder that goes with this process, and waits until it answers.
func startS3(ctx context.Context, name string) (*S3Server, error) {
	binary, err := installS3(ctx, name)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "trb-s3-")
	if err != nil {
		return nil, err
	}
	sweep, err := startBroom(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command(binary, dir, address, S3User, S3Password)
	if name == minioName {
		cmd = exec.Command(binary, "server", "--quiet", "--address", address, filepath.Join(dir, "data"))
		cmd.Env = append(os.Environ(), "MINIO_ROOT_USER="+S3User, "MINIO_ROOT_PASSWORD="+S3Password, "MINIO_UPDATE=off",
			"MINIO_BROWSER=off", "MINIO_CALLHOME_ENABLE=off", "HOME="+dir)
	}
	if err := launchS3(ctx, cmd, dir, address); err != nil {
		return nil, err
	}
	return &S3Server{Endpoint: "http://" + address, data: filepath.Join(dir, "data"), sweep: sweep}, nil
}

// launchS3 starts the process and waits for its port.
func launchS3(ctx context.Context, cmd *exec.Cmd, dir, address string) error {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server writes to its own copy
	cmd.Stdout, cmd.Stderr = log, log
	proc, err := startProcess(cmd, true)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	err = poll(ctx, 20*time.Millisecond, func() (bool, error) {
		if proc.ended() {
			return false, errors.New("the server ended before it was ready")
		}
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, c.Close()
	})
	if err != nil {
		proc.kill()
		said, _ := os.ReadFile(log.Name()) // the log is an extra to an error that stands by itself
		return fmt.Errorf("%w; its log ends:\n%s", err, lastLines(string(said), 25))
	}
	return nil
}

// installS3 builds a server from the Go modules that it consists of, and returns the program.
func installS3(ctx context.Context, name string) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	if err := need("go", "see https://go.dev/doc/install"); err != nil {
		return "", err
	}
	if name == minioName {
		dir := filepath.Join(cache, "minio-"+digest([]byte(minioModule)))
		binary := filepath.Join(dir, "minio")
		return binary, installOnce(ctx, minioName, "MinIO (Go modules; some minutes)", binary, func() error {
			return buildGo(ctx, "", "GOBIN="+dir, "install", "-ldflags", "-s -w", minioModule)
		})
	}
	source, err := s3Source(ctx)
	if err != nil {
		return "", err
	}
	key, err := digestFS(os.DirFS(source))
	if err != nil {
		return "", err
	}
	binary := filepath.Join(cache, "s3server-"+key)
	return binary, installOnce(ctx, s3Name, "versitygw (Go modules; a minute)", binary, func() error {
		return buildGo(ctx, source, "", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	})
}

// s3Source is the folder of s3server, a module of its own beside this file.
func s3Source(ctx context.Context) (string, error) {
	root, err := moduleRoot(ctx)
	return filepath.Join(root, "internal", "testenv", "s3server"), err
}

// moduleRoot is the folder of this module's sources.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tributary-lake/tributary").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w%s", err, stderrOf(err))
	}
	return strings.TrimSpace(string(out)), nil
}

func buildGo(ctx context.Context, dir, env string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0", env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w\n%s", args, err, lastLines(string(out), 25))
	}
	return nil
}
