package testenv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// hdfsName is the name of the HDFS cluster for [Install].
const hdfsName = "hdfs"

// HDFSService is the name service of the cluster, which its configuration resolves.
const HDFSService = "lake"

// HDFSCluster is a running cluster: two name nodes, of which one is active, and three data nodes, in one process. Files have two
// replicas. Anybody may write at its top.
type HDFSCluster struct {
	// ConfDir has the cluster's core-site.xml and hdfs-site.xml.
	ConfDir string

	mu    sync.Mutex
	nodes [2]string // the addresses of the name nodes, the active one first
	in    io.WriteCloser
	out   *bufio.Reader
	log   string
	proc  *process
	sweep func() // keeps the folder for as long as the cluster is reachable from somewhere
}

// sharedHDFS holds the cluster of [HDFS] for the life of the test binary. The kernel ends it with the process.
var sharedHDFS = &registry[string, *HDFSCluster]{}

// HDFS is a cluster of Hadoop 3.4.2, shared by all tests of the binary, each in a folder of its own.
func HDFS(tb testing.TB) *HDFSCluster {
	tb.Helper()
	c, err := sharedHDFS.get(hdfsName, func() (*HDFSCluster, error) { return startHDFS(context.WithoutCancel(tb.Context())) })
	if err != nil {
		tb.Fatalf("testenv: hdfs: %v", err)
	}
	return c
}

// Folder is the address of a folder that does not exist yet.
func (c *HDFSCluster) Folder() string { return "hdfs://" + HDFSService + "/" + uuid.NewString() }

// Failover makes the other name node the active one.
func (c *HDFSCluster) Failover(tb testing.TB) {
	tb.Helper()
	c.order(tb, "failover")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[0], c.nodes[1] = c.nodes[1], c.nodes[0]
}

// NameNode is the address of the name node that is active.
func (c *HDFSCluster) NameNode() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[0]
}

// Direct is an address of the name service with the active name node in its place, for who has not read the configuration.
func (c *HDFSCluster) Direct(uri string) string {
	return strings.Replace(uri, "hdfs://"+HDFSService+"/", "hdfs://"+c.NameNode()+"/", 1)
}

// StopDataNode ends a data node that the last block of a file is being written to, and with it all its connections.
func (c *HDFSCluster) StopDataNode(tb testing.TB, file string) {
	tb.Helper()
	c.order(tb, "stop-data-node "+file)
}

// StartDataNode starts the data node that was stopped last.
func (c *HDFSCluster) StartDataNode(tb testing.TB) { tb.Helper(); c.order(tb, "start-data-node") }

// SafeMode makes the name node refuse changes, or take them again.
func (c *HDFSCluster) SafeMode(tb testing.TB, on bool) {
	tb.Helper()
	word := "LEAVE"
	if on {
		word = "ENTER"
	}
	c.order(tb, "safe-mode "+word)
}

func (c *HDFSCluster) order(tb testing.TB, line string) {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		tb.Fatalf("testenv: hdfs: %s: %v", line, err)
	}
	answer, err := c.line()
	if err != nil || answer != "OK" {
		tb.Fatalf("testenv: hdfs: %s: %s %v", line, answer, err)
	}
}

// line reads a line of what the cluster says.
func (c *HDFSCluster) line() (string, error) {
	text, err := c.out.ReadString('\n')
	if err != nil {
		said, _ := os.ReadFile(c.log) // an extra to an error that stands by itself
		return "", fmt.Errorf("the cluster does not answer: %w; its log ends:\n%s", err, lastLines(string(said), 30))
	}
	return strings.TrimSpace(text), nil
}

// installHDFS fetches the jars of Hadoop's mini cluster (92 MB), compiles the program that starts it, and returns the class path.
func installHDFS(ctx context.Context) (string, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	return ProgramClassPath(ctx, hdfsName, os.DirFS(filepath.Join(root, "internal", "testenv", "hdfs")))
}

func startHDFS(ctx context.Context) (*HDFSCluster, error) {
	classPath, err := installHDFS(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "trb-hdfs-")
	if err != nil {
		return nil, err
	}
	sweep, err := startBroom(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c := &HDFSCluster{ConfDir: filepath.Join(dir, "data", "conf"), log: filepath.Join(dir, "log"), sweep: sweep}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the cluster writes to its own copy
	// A small compiler and collector, because it lives briefly.
	cmd := exec.Command("java", "-Xmx640m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true",
		"-cp", classPath, "tributary.hdfs.Cluster", filepath.Join(dir, "data"))
	cmd.Dir, cmd.Stderr = dir, log
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if c.proc, err = startProcess(cmd, true); err != nil {
		return nil, err
	}
	line, err := c.line()
	if err != nil {
		c.proc.kill()
		return nil, err
	}
	var ports [2]int
	if _, err := fmt.Sscanf(line, "READY %d %d", &ports[0], &ports[1]); err != nil {
		c.proc.kill()
		return nil, fmt.Errorf("start: the cluster said %q: %w", line, err)
	}
	for i, port := range ports {
		c.nodes[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	return c, nil
}
