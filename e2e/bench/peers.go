package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tributary-lake/tributary/e2e/bench/peers"
	"github.com/tributary-lake/tributary/internal/testenv"
)

// rivals are the other tools of a sitting.
type rivals struct {
	names     []string
	installed map[string]peers.Peer
	jobs      map[string]peers.Job // by the name of a shape; without a folder
}

// install puts the tools in place and makes the views that they read.
func (r *rivals) install(ctx context.Context, shapes []shape, servers []*testenv.MySQL) error {
	r.installed, r.jobs = map[string]peers.Peer{}, map[string]peers.Job{}
	for _, name := range r.names {
		var err error
		if r.installed[name], err = peers.Install(ctx, name); err != nil {
			return err
		}
	}
	for _, s := range shapes {
		if len(r.names) == 0 || !r.takePart(s) {
			continue
		}
		j := peers.Job{Table: s.Table(), Key: "id", Account: account}
		if s.Name == lineitemName {
			j.Key = "l_orderkey"
		}
		for shard := range s.Shards() {
			if err := describe(ctx, servers[serverOf(s, shard)], shard, &j); err != nil {
				return fmt.Errorf("describe %s.%s: %w", database(shard), j.Table, err)
			}
		}
		r.jobs[s.Name] = j
	}
	return nil
}

// takePart says whether the tools do a shape: they write append tables.
func (r *rivals) takePart(s shape) bool { return s.Name != keyedName }

// describe adds a shard to a job, after making its view.
func describe(ctx context.Context, server *testenv.MySQL, shard int, j *peers.Job) error {
	db, err := sql.Open("mysql", server.DSN("tributary", database(shard)))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // only read from, but for a view
	rows, err := db.QueryContext(ctx, "SELECT column_name, column_type FROM information_schema.columns WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position", database(shard), j.Table)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	j.Columns = nil
	for rows.Next() {
		var c peers.Column
		if err := rows.Scan(&c.Name, &c.Type); err != nil {
			return err
		}
		j.Columns = append(j.Columns, c)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, peers.View(j.Table, j.Columns)); err != nil {
		return err
	}
	s := peers.Shard{Port: server.Port(), Database: database(shard)}
	err = db.QueryRowContext(ctx, fmt.Sprintf("SELECT MIN(%[1]s), MAX(%[1]s) FROM %[2]s", j.Key, j.Table)).Scan(&s.Low, &s.High)
	j.Shards = append(j.Shards, s)
	return err
}

// rivalRun measures one run of a tool, from the start of its process to the end of it, and counts what it has committed.
func (b *sitting) rivalRun(ctx context.Context, name string, s shape, round int) (result, error) {
	r := b.result(name, s, round)
	j := b.rivals.jobs[s.Name]
	j.Folder = filepath.Join(b.dir, fmt.Sprintf("%s-%s-%d", name, s.Name, round))
	if err := os.MkdirAll(j.Folder, 0o755); err != nil {
		return r, err
	}
	cmd, err := b.rivals.installed[name].Command(j)
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, runPatience)
	defer cancel()
	c, err := b.meter.measure(func() (time.Duration, error) {
		out, err := complete(ctx, cmd)
		return out.cpu, err
	})
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	r.fill(c)
	// Maxrss of Linux is in KiB, that of the largest process; the tools are one each.
	r.PeakMB = float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
	if err := b.countRows(ctx, j, s); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, os.RemoveAll(j.Folder)
}

// countRows has Paimon count the rows of a tool's table.
func (b *sitting) countRows(ctx context.Context, j peers.Job, s shape) error {
	cmd, err := testenv.JudgeCommand(ctx, testenv.Judges()[0], "count", j.Warehouse(), "lake."+j.Table)
	if err != nil {
		return err
	}
	out, err := complete(ctx, cmd)
	if err != nil {
		return err
	}
	var counted testenv.RowCount
	if err := json.Unmarshal(out.stdout, &counted); err != nil {
		return fmt.Errorf("paimon's count %q: %w", out.stdout, err)
	}
	if counted.Rows != s.Total() {
		return fmt.Errorf("paimon counts %d instead of %d rows", counted.Rows, s.Total())
	}
	return nil
}
