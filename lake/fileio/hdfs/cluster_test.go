package hdfs_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/hdfs"
)

// library is the library's own client, as the word of somebody else.
func library(t *testing.T, cluster *testenv.HDFSCluster, user string) *colinmarc.Client {
	t.Helper()
	c, err := colinmarc.NewClient(colinmarc.ClientOptions{Addresses: []string{cluster.NameNode()}, User: user})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// inCluster is the path of a file of a store in the cluster.
func inCluster(s *hdfs.Store, p string) string {
	return strings.TrimPrefix(s.URI(p), "hdfs://"+testenv.HDFSService)
}

func list(t *testing.T, s fileio.Store, folder string) []string {
	t.Helper()
	var paths []string
	require.NoError(t, s.List(t.Context(), folder, func(i fileio.Info) error {
		paths = append(paths, i.Path)
		return nil
	}))
	return paths
}

// The data node that a file is being written to ends. The writer says so and nothing stays; another attempt writes the file
// whole, though the cluster has a node less.
func TestDataNodeEndsDuringAWrite(t *testing.T) {
	cluster := testenv.HDFS(t)
	s := newStore(t, newClient(t, cluster), cluster.Folder())
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<17)
	w, err := s.Create(t.Context(), "f")
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	left := list(t, s, "")
	require.Len(t, left, 1)
	require.True(t, fileio.IsTemporary(left[0]))

	cluster.StopDataNode(t, inCluster(s, left[0]))
	defer cluster.StartDataNode(t)
	for err == nil {
		_, err = w.Write(data) // until the connection's buffers are full
	}
	require.ErrorContains(t, err, "write "+s.URI("f"))
	require.NoError(t, w.Abort())
	require.Empty(t, list(t, s, ""))

	require.Eventually(t, func() bool {
		return fileio.WriteFile(t.Context(), s, "f", data) == nil
	}, time.Minute, 50*time.Millisecond, "the name node learns that a node is gone")
	require.Equal(t, []string{"f"}, list(t, s, ""))
	back, err := fileio.ReadFile(t.Context(), s, "f", 1<<30)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, back))
}

// Another name node takes over between and during operations; every one of them completes.
func TestNameNodesTakeTurns(t *testing.T) {
	cluster := testenv.HDFS(t)
	s := newStore(t, newClient(t, cluster), cluster.Folder())
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<15)
	w, err := s.Create(t.Context(), "open")
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	for range 2 {
		cluster.Failover(t)
		require.NoError(t, s.CreateExclusive(t.Context(), "snapshot-1", []byte("mine")))
		require.ErrorIs(t, s.CreateExclusive(t.Context(), "snapshot-1", []byte("theirs")), fileio.ErrExist)
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	back, err := fileio.ReadFile(t.Context(), s, "open", 1<<30)
	require.NoError(t, err)
	require.Len(t, back, 3*len(data))
	require.ElementsMatch(t, []string{"open", "snapshot-1"}, list(t, s, ""))
}

// What others see under a final name is nothing, or the whole file; also while it is written, and after a writer died.
func TestNoPartIsSeenUnderTheName(t *testing.T) {
	cluster := testenv.HDFS(t)
	s := newStore(t, newClient(t, cluster), cluster.Folder())
	other := library(t, cluster, user)
	w, err := s.Create(t.Context(), "d/f")
	require.NoError(t, err)
	_, err = w.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	_, err = other.Stat(inCluster(s, "d/f"))
	require.ErrorIs(t, err, fs.ErrNotExist)

	// Nobody ends this writer. What it left is a temporary file, in nobody's way, which cleaning removes though it is open.
	require.NoError(t, fileio.WriteFile(t.Context(), s, "d/f", []byte("whole")))
	left := list(t, s, "d")
	require.Len(t, left, 2)
	for _, p := range left {
		if fileio.IsTemporary(p) {
			require.NoError(t, s.Delete(t.Context(), p))
		}
	}
	require.Error(t, w.Close(), "a file that was cleaned away is not published")
	back, err := other.ReadFile(inCluster(s, "d/f"))
	require.NoError(t, err)
	require.Equal(t, "whole", string(back))
}

// A folder of more files than one answer of the name node has (dfs.ls.limit is 100 here).
func TestLargeFolder(t *testing.T) {
	cluster := testenv.HDFS(t)
	s := newStore(t, newClient(t, cluster), cluster.Folder())
	other := library(t, cluster, user)
	require.NoError(t, other.MkdirAll(inCluster(s, "d"), 0o755))
	const files = 250
	for i := range files {
		require.NoError(t, other.CreateEmptyFile(inCluster(s, "d/"+strings.Repeat("x", i+1))))
	}
	paths := list(t, s, "")
	require.Len(t, paths, files)
	require.NoError(t, fileio.DeleteAll(t.Context(), s, 8, paths))
	require.Empty(t, list(t, s, ""))
}

// New files and folders have the rights that Hadoop's own would: those of the umask, and the owner is the user that was set.
func TestRights(t *testing.T) {
	cluster := testenv.HDFS(t)
	s := newStore(t, newClient(t, cluster), cluster.Folder())
	require.NoError(t, fileio.WriteFile(t.Context(), s, "d/f", []byte("x")))
	other := library(t, cluster, "somebody")
	for p, mode := range map[string]os.FileMode{"d": os.ModeDir | 0o755, "d/f": 0o644} {
		info, err := other.Stat(inCluster(s, p))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode())
		require.Equal(t, user, info.(*colinmarc.FileInfo).Owner())
	}
	stranger, err := hdfs.NewClient(hdfs.Config{ConfDir: cluster.ConfDir, User: "somebody"})
	require.NoError(t, err)
	theirs := newStore(t, stranger, s.URI(""))
	err = fileio.WriteFile(t.Context(), theirs, "d/g", []byte("x"))
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "give user somebody the rights")
	require.ErrorIs(t, theirs.Delete(t.Context(), "d/f"), fs.ErrPermission)
	require.Equal(t, []string{"d/f"}, list(t, theirs, ""))
}

// A name node in safe mode takes no changes: the error says what to do, and nothing is left.
func TestSafeMode(t *testing.T) {
	cluster := testenv.HDFS(t)
	s := newStore(t, newClient(t, cluster), cluster.Folder())
	require.NoError(t, fileio.WriteFile(t.Context(), s, "f", []byte("x")))
	cluster.SafeMode(t, true)
	err := s.CreateExclusive(t.Context(), "g", []byte("y"))
	cluster.SafeMode(t, false)
	require.ErrorContains(t, err, "the name node is in safe mode and takes no changes")
	require.Equal(t, []string{"f"}, list(t, s, ""))
	require.NoError(t, s.CreateExclusive(t.Context(), "g", []byte("y")))
	require.Equal(t, []string{"f", "g"}, list(t, s, ""))
}

// A name node that takes connections and says nothing does not keep a call whose context ends.
func TestSilentNameNode(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	client, err := hdfs.NewClient(hdfs.Config{User: user})
	require.NoError(t, err)
	s := newStore(t, client, "hdfs://"+listener.Addr().String()+"/lake")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = s.Stat(ctx, "f")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// Bytes that come back are of one version of a file, or none come.
func TestReplacedWhileRead(t *testing.T) {
	cluster := testenv.HDFS(t)
	s := newStore(t, newClient(t, cluster), cluster.Folder())
	require.NoError(t, fileio.WriteFile(t.Context(), s, "f", bytes.Repeat([]byte("a"), 2<<20)))
	r, err := s.Open(t.Context(), "f")
	require.NoError(t, err)
	_, err = r.ReadAt(make([]byte, 10), 0)
	require.NoError(t, err)
	require.NoError(t, fileio.WriteFile(t.Context(), s, "f", bytes.Repeat([]byte("b"), 2<<20)))
	piece := make([]byte, 10)
	if _, err = r.ReadAt(piece, 1<<20); err == nil {
		require.Equal(t, "aaaaaaaaaa", string(piece))
	} else {
		require.NotErrorIs(t, err, io.EOF)
		require.ErrorContains(t, err, "another file took its place while it was read")
	}
	require.NoError(t, r.Close())
}
