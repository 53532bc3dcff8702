package peers

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tributary-lake/tributary/internal/testenv"
)

//go:embed flink/pom.xml flink/src
var flinkProject embed.FS

type flink struct{ classPath string }

func installFlink(ctx context.Context) (Peer, error) {
	project, err := fs.Sub(flinkProject, "flink")
	if err != nil {
		return nil, err
	}
	classPath, err := testenv.ProgramClassPath(ctx, "bench-flink", project)
	return flink{classPath}, err
}

func (f flink) Command(j Job) (*exec.Cmd, error) {
	text, err := flinkSQL(j)
	if err != nil {
		return nil, err
	}
	script := filepath.Join(j.Folder, "job.sql")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return nil, err
	}
	args := []string{"-Xmx2g", "-XX:MaxDirectMemorySize=1g", "-Duser.timezone=UTC"}
	for _, p := range []string{"lang", "util", "nio", "time", "net"} {
		args = append(args, "--add-opens=java.base/java."+p+"=ALL-UNNAMED")
	}
	args = append(args, "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "-cp", f.classPath, "tributary.peers.RunSql", script)
	cmd := exec.Command("java", args...)
	cmd.Dir = j.Folder
	return cmd, nil
}

// flinkSQL is the job as statements, each ended by a semicolon at the end of a line.
func flinkSQL(j Job) (string, error) {
	items := make([]string, len(j.Columns))
	for i, c := range j.Columns {
		t, err := c.flinkType()
		if err != nil {
			return "", err
		}
		items[i] = fmt.Sprintf("`%s` %s", c.Name, t)
	}
	columns := strings.Join(items, ", ")
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE CATALOG paimon WITH ('type' = 'paimon', 'warehouse' = '%s');\nCREATE DATABASE paimon.lake;\n", j.Warehouse())
	fmt.Fprintf(&b, "CREATE TABLE paimon.lake.%s (%s) WITH ('file.format' = 'parquet', 'bucket' = '-1');\n", j.Table, columns)
	reads := make([]string, len(j.Shards))
	for i, s := range j.Shards {
		fmt.Fprintf(&b, `CREATE TEMPORARY TABLE source_%d (%s) WITH ('connector' = 'jdbc', 'url' = '%s', 'username' = '%s', 'password' = '%s',
 'table-name' = '%s', 'scan.partition.column' = '%s', 'scan.partition.num' = '%d', 'scan.partition.lower-bound' = '%d', 'scan.partition.upper-bound' = '%d', 'scan.fetch-size' = '%d');
`, i, columns, s.url(), j.Account, j.Account, ViewName(j.Table), j.Key, ranges, s.Low, s.High, fetchSize)
		reads[i] = fmt.Sprintf("SELECT * FROM source_%d", i)
	}
	fmt.Fprintf(&b, "INSERT INTO paimon.lake.%s %s;\n", j.Table, strings.Join(reads, " UNION ALL "))
	return b.String(), nil
}
