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

//go:embed spark/pom.xml
var sparkPom embed.FS

// spark is Apache Spark 3.5.8 of PyPI, whose package carries all of it.
type spark struct {
	home string
	jars string // the folder of Paimon and Connector/J
}

func installSpark(ctx context.Context) (Peer, error) {
	pom, err := fs.Sub(sparkPom, "spark")
	if err != nil {
		return nil, err
	}
	jars, err := testenv.ProgramJars(ctx, "bench-spark", pom)
	if err != nil {
		return nil, err
	}
	dir, err := testenv.PyPI(ctx, "pyspark==3.5.8")
	return spark{filepath.Join(dir, "pyspark"), jars}, err
}

func (s spark) Command(j Job) (*exec.Cmd, error) {
	script := filepath.Join(j.Folder, "job.sql")
	if err := os.WriteFile(script, []byte(sparkSQL(j)), 0o600); err != nil {
		return nil, err
	}
	jars, err := filepath.Glob(filepath.Join(s.jars, "*.jar"))
	if err != nil {
		return nil, err
	}
	args := []string{
		"--class", "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver", "--master", "local[2]", "--driver-memory", "2g",
		"--jars", strings.Join(jars, ","), "--driver-class-path", strings.Join(jars, ":"),
	}
	for _, setting := range []string{
		"spark.ui.enabled=false",
		"spark.sql.session.timeZone=UTC",
		"spark.driver.host=127.0.0.1",
		"spark.driver.bindAddress=127.0.0.1",
		"spark.sql.catalogImplementation=in-memory", // no Hive
		"spark.sql.catalog.paimon=org.apache.paimon.spark.SparkCatalog",
		"spark.sql.catalog.paimon.warehouse=" + j.Warehouse(),
		"spark.sql.extensions=org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
	} {
		args = append(args, "--conf", setting)
	}
	cmd := exec.Command(filepath.Join(s.home, "bin", "spark-submit"), append(args, "spark-internal", "-f", script)...)
	cmd.Env = append(os.Environ(), "SPARK_HOME="+s.home, "SPARK_LOCAL_IP=127.0.0.1", "TZ=UTC")
	cmd.Dir = j.Folder
	return cmd, nil
}

func sparkSQL(j Job) string {
	var b strings.Builder
	reads := make([]string, len(j.Shards))
	for i, s := range j.Shards {
		fmt.Fprintf(&b, `CREATE TEMPORARY VIEW source_%d USING jdbc OPTIONS (url '%s', driver 'com.mysql.cj.jdbc.Driver', user '%s', password '%s',
 dbtable '%s', partitionColumn '%s', lowerBound '%d', upperBound '%d', numPartitions '%d', fetchsize '%d');
`, i, s.url(), j.Account, j.Account, ViewName(j.Table), j.Key, s.Low, s.High+1, ranges, fetchSize)
		reads[i] = fmt.Sprintf("SELECT * FROM source_%d", i)
	}
	// A table made by this statement has the columns of its rows.
	fmt.Fprintf(&b, "CREATE DATABASE paimon.lake;\nCREATE TABLE paimon.lake.%s USING paimon TBLPROPERTIES ('file.format' = 'parquet', 'bucket' = '-1') AS %s;\n",
		j.Table, strings.Join(reads, " UNION ALL "))
	return b.String()
}
