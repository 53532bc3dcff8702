package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// The statements that make a table: @T is its name, @N its rows and @ID the key of a row from its number seq.
var (
	//go:embed sql/narrow.sql
	narrowSQL string
	//go:embed sql/wide.sql
	wideSQL string
	//go:embed sql/lineitem.sql
	lineitemSQL string
)

const (
	servers = 2
	// account may only read, as a source's account should; its password is its name.
	account = "reader"
)

// database is the name of a shard's database.
func database(shard int) string { return fmt.Sprintf("shop_%02d", shard) }

// serverOf is the server of a shard: the first ones lie on the first, the others on the second.
func serverOf(s shape, shard int) int { return shard * servers / s.Shards() }

// script is the text that makes a shape's table in the current database. Keys of the shards do not meet.
func script(s shape, shard int) string {
	text := wideSQL
	switch s.Name {
	case narrowName, keyedName:
		text = narrowSQL
	case lineitemName:
		text = lineitemSQL
	}
	return strings.NewReplacer(
		"@ID", fmt.Sprintf("(seq-1)*%d+%d", s.Shards(), shard+1), "@T", s.Table(), "@N", fmt.Sprint(s.Rows),
	).Replace(text)
}

// startServers starts the servers on data kept below dir, making what is not there yet.
func startServers(ctx context.Context, dir string, shapes []shape, say io.Writer) (_ []*testenv.MySQL, err error) {
	// Other texts make other data, in another folder.
	texts := sha256.Sum256([]byte(narrowSQL + wideSQL))
	data := filepath.Join(dir, "data-"+hex.EncodeToString(texts[:4]))
	started := make([]*testenv.MySQL, servers)
	defer func() {
		if err != nil {
			err = errors.Join(err, closeServers(started))
		}
	}()
	g, ctx := errgroup.WithContext(ctx)
	for i := range started {
		g.Go(func() error {
			db, err := testenv.StartServer(ctx, testenv.FlavorMariaDB, append(serverSettings(),
				testenv.InDir(filepath.Join(data, fmt.Sprintf("server%d", i+1))))...)
			if err != nil {
				return err
			}
			started[i] = db
			return fill(ctx, db, i, shapes, say)
		})
	}
	return started, g.Wait()
}

// serverSettings are a server's for reading: all pages in memory, and no durability, which nothing here needs.
func serverSettings() []testenv.Option {
	return []testenv.Option{
		testenv.BufferPool("1536M"),
		testenv.Setting("innodb_log_file_size", "512M"),
		testenv.Setting("innodb_flush_log_at_trx_commit", "0"),
		testenv.Setting("innodb_doublewrite", "0"),
		testenv.TimeZone("+00:00"),
	}
}

func closeServers(list []*testenv.MySQL) error {
	var errs []error
	for _, db := range list {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// fill makes the tables of one server that do not have their rows yet.
func fill(ctx context.Context, server *testenv.MySQL, index int, shapes []shape, say io.Writer) error {
	cfg, err := mysql.ParseDSN(server.DSN("tributary", ""))
	if err != nil {
		return err
	}
	cfg.MultiStatements = true
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to server %d: %w", index+1, err)
	}
	defer conn.Close()
	for _, s := range shapes {
		for shard := range s.Shards() {
			if serverOf(s, shard) != index {
				continue
			}
			if err := fillTable(ctx, conn, shard, s, say); err != nil {
				return fmt.Errorf("make %s.%s: %w", database(shard), s.Table(), err)
			}
		}
	}
	return nil
}

func fillTable(ctx context.Context, conn *sql.Conn, shard int, s shape, say io.Writer) error {
	_, err := conn.ExecContext(ctx, "SET sql_log_bin = 0; CREATE DATABASE IF NOT EXISTS "+database(shard)+"; USE "+database(shard))
	if err != nil {
		return err
	}
	count := func() (n int64, err error) {
		err = conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+s.Table()).Scan(&n)
		return n, err
	}
	whole := func(n int64) bool { return n == s.Rows || s.Name == lineitemName && n > 0 } // a part is loaded in one transaction
	if n, err := count(); err == nil && whole(n) {
		return nil
	}
	began := time.Now()
	if _, err := conn.ExecContext(ctx, script(s, shard)); err != nil {
		return err
	}
	if s.Name == lineitemName {
		if err := loadLineitem(ctx, conn, shard, s); err != nil {
			return err
		}
	}
	// The statement gives rows, which an Exec throws away.
	if _, err := conn.ExecContext(ctx, "ANALYZE TABLE "+s.Table()); err != nil {
		return err
	}
	n, err := count()
	if err != nil {
		return err
	}
	if !whole(n) {
		return fmt.Errorf("%d rows instead of %d", n, s.Rows)
	}
	fmt.Fprintf(say, "bench: made %s.%s, %d rows, in %.1f s\n", database(shard), s.Table(), n, time.Since(began).Seconds())
	return nil
}
