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
	generator, err := installGenerator(ctx)
	if err != nil {
		return err
	}
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

// installGenerator makes a Python environment with the generator in the cache, once.
func installGenerator(ctx context.Context) (string, error) {
	cache, err := testenv.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bench", tpchgen)
	generator := filepath.Join(dir, "bin", "tpchgen-cli")
	if _, err := os.Stat(generator); err == nil {
		return generator, nil
	}
	python, err := need("python3", "apt-get install python3 python3-venv")
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{python, "-m", "venv", dir},
		{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", tpchgen},
	} {
		if _, err := complete(ctx, exec.Command(args[0], args[1:]...)); err != nil {
			return "", fmt.Errorf("install %s: %w", tpchgen, err)
		}
	}
	return generator, nil
}
