package hdfs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/fileio/hdfs"
)

// user writes as somebody who is not the cluster's superuser, for whom permissions hold.
const user = "tributary"

func newClient(t testing.TB, cluster *testenv.HDFSCluster) *hdfs.Client {
	t.Helper()
	c, err := hdfs.NewClient(hdfs.Config{ConfDir: cluster.ConfDir, User: user})
	require.NoError(t, err)
	return c
}

func newStore(t testing.TB, c *hdfs.Client, uri string) *hdfs.Store {
	t.Helper()
	s, err := c.Store(uri)
	require.NoError(t, err)
	return s
}

func TestStore(t *testing.T) {
	cluster := testenv.HDFS(t)
	client := newClient(t, cluster)
	fileiotest.Run(t, fileiotest.Config{Rounds: 20, New: func(t *testing.T) fileio.Store {
		return newStore(t, client, cluster.Folder()+"/lake/w h")
	}})
}
