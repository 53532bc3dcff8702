package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sync/errgroup"
)

// readAll has the client read every row of a shape and throw it away: one client for each server, both at once, each
// reading its server's shards one after the other. It returns the clients' CPU time.
func readAll(ctx context.Context, client string, ports []int, s shape) (time.Duration, error) {
	used := make([]time.Duration, servers)
	g, ctx := errgroup.WithContext(ctx)
	for i := range servers {
		g.Go(func() error {
			for shard := range s.Shards() {
				if serverOf(s, shard) != i {
					continue
				}
				cpu, err := readTable(ctx, client, ports[i], database(shard)+"."+s.Table())
				if err != nil {
					return err
				}
				used[i] += cpu
			}
			return nil
		})
	}
	err := g.Wait()
	return used[0] + used[1], err
}

func readTable(ctx context.Context, client string, port int, table string) (time.Duration, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }() // nothing can be lost
	cmd := exec.Command(client, "--no-defaults", "--default-character-set=utf8mb4", "--host=127.0.0.1", fmt.Sprintf("--port=%d", port),
		"--user="+account, "--quick", "--skip-column-names", "--execute=SELECT * FROM "+table)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+account)
	cmd.Stdout = null
	out, err := complete(ctx, cmd)
	return out.cpu, err
}
