package peers

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Job is a table to move: all shards into the Paimon table lake.<Table> of a new warehouse.
type Job struct {
	Table   string
	Columns []Column
	// Key is the column whose ranges are read.
	Key    string
	Shards []Shard
	// Account of the servers; its password is its name.
	Account string
	// Folder is empty, and takes the warehouse and what the tool leaves beside it.
	Folder string
}

// Shard is one table, on a server of this machine.
type Shard struct {
	Port      int
	Database  string
	Low, High int64 // least and greatest key
}

// Warehouse is where the table comes to lie.
func (j Job) Warehouse() string { return filepath.Join(j.Folder, "warehouse") }

const (
	ranges    = 20
	fetchSize = 5000
)

// url is that of a shard for MySQL's Connector/J.
func (s Shard) url() string {
	return fmt.Sprintf("jdbc:mysql://127.0.0.1:%d/%s?useSSL=false&useCursorFetch=true&connectionTimeZone=UTC", s.Port, s.Database)
}

// Peer is a tool that is installed.
type Peer interface {
	// Command is the process that does a job; it is done when that ends well.
	Command(Job) (*exec.Cmd, error)
}

// Names lists the tools that there are.
func Names() []string { return []string{"spark", "flink"} }

// Install puts a tool in place in the cache, once.
func Install(ctx context.Context, name string) (Peer, error) {
	switch name {
	case "spark":
		return installSpark(ctx)
	case "flink":
		return installFlink(ctx)
	}
	return nil, fmt.Errorf("no tool is called %q: there are %v", name, Names())
}
