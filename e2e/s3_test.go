package e2e

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/workflows"
)

// inBucket points a job at a warehouse in a bucket of the shared S3 server, and returns where its objects lie as files.
func inBucket(t *testing.T) (change func(job map[string]any), folder string) {
	t.Helper()
	server := testenv.S3(t)
	bucket := server.Bucket(t)
	t.Setenv("E2E_S3_KEY", testenv.S3User)
	t.Setenv("E2E_S3_SECRET", testenv.S3Password)
	return func(job map[string]any) {
		job["target"] = map[string]any{"warehouse": "s3://" + bucket + "/lake", "s3": map[string]any{
			"endpoint": server.Endpoint, "access_key_id": "${env:E2E_S3_KEY}", "secret_access_key": "${env:E2E_S3_SECRET}",
		}}
	}, filepath.Join(server.Folder(bucket), "lake")
}

// The main job into a warehouse in S3, staging there too: Paimon's library reads exactly MySQL's rows, a second run replaces
// them, and everything that looks at tables or keeps them in order works there.
func TestWarehouseInS3(t *testing.T) {
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	var want []string
	for n := range 3 {
		table := fmt.Sprintf("orders_%d", n)
		makeTable(t, m, database, table, 1, 5_000, uint64(n))
		want = append(want, mysqlRows(t, m, database, table, origin{{"_instance", "a"}, {"_database", database}, {"_table", table}})...)
	}
	change, folder := inBucket(t)
	q := queue(t)
	w := s.startWorker(t, q)
	job := jobFile(t, "", q, []server{{"a", m}}, func(job, table map[string]any) {
		job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
		table["split"] = map[string]any{"rows": 2_000}
		change(job)
	})
	for snapshot := range 2 {
		r := s.run(t, "run", "-f", job, "--wait", "--json")
		require.Zero(t, r.code, r.stderr)
		sum := summaryOf(t, r)
		require.Equal(t, workflows.StatusDone, sum.Status)
		require.Equal(t, int64(15_000), sum.Tables[0].Written)
		require.Equal(t, int64(snapshot+1), sum.Tables[0].Snapshot)
		requireSameRows(t, want, refereeRows(t, folder, "ods.orders"))
	}
	require.NoError(t, testenv.RustReader(t).Check(t, folder, "ods.orders", 0), "statistics agree with the data")
	for _, command := range [][]string{
		{"plan"},
		{"inspect", "table", "--rows", "3"},
		{"inspect", "snapshot"},
		{"inspect", "files"},
		{"table", "compact", "--full"},
		{"table", "tag", "kept", "--snapshot", "3"},
		{"table", "tags"},
		{"table", "expire", "--retain-max", "1", "--retain-min", "1", "--yes"},
		{"table", "orphans", "--yes"},
	} {
		r := s.run(t, append(command, "-f", job, "--json")...)
		require.Zero(t, r.code, "%v: %s", command, r.stderr)
		require.NotContains(t, r.stdout+r.stderr, testenv.S3Password)
	}
	requireSameRows(t, want, refereeRows(t, folder, "ods.orders"))
	w.kill() // and all of its log is there
	require.NotContains(t, w.log.String(), testenv.S3Password)
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		require.False(t, strings.HasSuffix(path, ".tmp"), path)
		return err
	}))
}
