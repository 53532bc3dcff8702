package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/go-sql-driver/mysql"

	"github.com/tributary-lake/tributary/internal/testenv"
)

const (
	// lineitemRows is how many rows TPC-H's lineitem has at scale factor 1.
	lineitemRows = 6_001_215
	// tpchgen makes TPC-H's tables; PyPI has it.
	tpchgen = "tpchgen-cli==4.0.0"
)

// loadLineitem has the generator write a part of the table, and the server load it.
func loadLineitem(ctx context.Context, conn *sql.Conn, shard int, s shape) error {
	installed, err := testenv.PyPI(ctx, tpchgen)
	if err != nil {
		return err
	}
	generator := filepath.Join(installed, "bin", "tpchgen-cli")
	dir, err := os.MkdirTemp("", "lineitem")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	part := fmt.Sprint(shard + 1)
	cmd := exec.Command(generator, "tbl", "-s", "1", "--tables", "lineitem", "--parts", fmt.Sprint(s.Shards()), "--part", part, "--output-dir", dir)
	if _, err := complete(ctx, cmd); err != nil {
		return err
	}
	file := filepath.Join(dir, "lineitem", "lineitem."+part+".tbl")
	mysql.RegisterLocalFile(file)
	defer mysql.DeregisterLocalFile(file)
	_, err = conn.ExecContext(ctx, "LOAD DATA LOCAL INFILE '"+file+"' INTO TABLE "+s.Table()+" FIELDS TERMINATED BY '|'")
	return err
}
