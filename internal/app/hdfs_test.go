package app

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/fileio"
)

// hdfsJob is a job for the shards d_* of a database into a warehouse in the cluster.
func hdfsJob(m *testenv.MySQL, cluster *testenv.HDFSCluster, database, warehouse, staging string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"job": "drift",
		"source": {"instances": [{"name": "a", "host": %q, "port": %d, "user": "reader", "password": "${env:READER_PASSWORD}", "databases": %q}]},
		"tables": [{"name": "d", "match": "d_*", "provenance": {"table": "_table"}, "split": {"rows": 40}, "target": {"database": "ods"}}],
		"target": {"warehouse": %q, "staging": %q, "hdfs": {"conf_dir": %q, "user": "tributary"}}}`,
		m.Host(), m.Port(), database, warehouse, staging, cluster.ConfDir))
}

// A warehouse in HDFS, with staging there and elsewhere: Paimon's library reads MySQL's rows from HDFS itself, and a second run
// replaces them after another name node has taken over.
func TestRunIntoHDFS(t *testing.T) {
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	cluster := testenv.HDFS(t)
	t.Setenv("READER_PASSWORD", "reader")
	database, rows := shards(t, m)
	for name, staging := range map[string]string{"staging in HDFS": "", "staging on local disks": filepath.Join(t.TempDir(), "staging")} {
		t.Run(name, func(t *testing.T) {
			warehouse := cluster.Folder() + "//lake/"
			job := hdfsJob(m, cluster, database, warehouse, staging)
			for run := range 2 {
				result, err := runJob(t, job, fmt.Sprint("r", run))
				require.NoError(t, err)
				require.EqualValues(t, 300, result.Written)
				require.EqualValues(t, run+1, result.Snapshot)
				require.ElementsMatch(t, rows, testenv.Referee(t).Read(t, cluster.Direct(root(warehouse)), "ods.d", 0))
				cluster.Failover(t)
			}
			cluster.Failover(t)
			store, err := newStores(nil).open(t.Context(), root(warehouse), storeSettings(t, job))
			require.NoError(t, err)
			require.NoError(t, store.List(t.Context(), "", func(i fileio.Info) error {
				require.False(t, fileio.IsTemporary(i.Path), i.Path)
				return nil
			}))
		})
	}
}
