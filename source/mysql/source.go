package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/userlock"
	"github.com/tributary-lake/tributary/source/mysql/wire"
)

// Options bound what a read holds in memory, and say who is told of pauses.
type Options struct {
	// BatchRows is the most rows of a batch; 0 means 4096.
	BatchRows int
	// BatchBytes is the size at which a batch is handed on; 0 means 1 MiB. One row that is larger makes a batch alone.
	BatchBytes int
	// Log is told once of each pause of reading, and of its end; nil tells nobody.
	Log *slog.Logger
}

// Source is a set of instances. Its methods may be called from several goroutines.
type Source struct {
	instances []*instance
	options   Options
}

// instance is one server and its limits.
type instance struct {
	config Config
	// plain opens connections without a slot.
	plain *connector
	// reading opens connections with one of the slots; db is the pool of them, which plan and read.
	reading *connector
	slots   *userlock.Slots
	db      *sql.DB
	// side has no slots and is for waiting and watching; replica is nil when none is watched.
	side, replica *sql.DB
	line          *userlock.Line
	load          *load
}

// idle is how long a connection keeps its slot while its process has no use for it.
const idle = time.Second

// sideIdle is how long a connection without a slot stays open unused.
const sideIdle = 5 * time.Second

// Open prepares the instances and logs in to each once. The error names every instance that cannot be used.
func Open(ctx context.Context, configs []Config, o Options) (*Source, error) {
	if o.BatchRows <= 0 {
		o.BatchRows = 4096
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = 1 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Source{options: o}
	names := map[string]bool{}
	for _, c := range configs {
		if err := c.validate(); err != nil {
			return nil, err
		}
		if names[c.Name] {
			return nil, fmt.Errorf("%w: two instances are called %q", source.ErrDenied, c.Name)
		}
		names[c.Name] = true
		if c.Connections <= 0 {
			c.Connections = DefaultConnections
		}
		in, err := newInstance(c, o.Log)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", source.ErrDenied, err)
		}
		s.instances = append(s.instances, in)
	}
	if err := s.ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newInstance(c Config, log *slog.Logger) (*instance, error) {
	in := &instance{config: c, slots: userlock.NewSlots(c.Connections)}
	var err error
	if in.reading, err = newConnector(c, in.slots); err != nil {
		return nil, err
	}
	in.db = sql.OpenDB(in.reading)
	in.db.SetMaxOpenConns(c.Connections)
	in.db.SetMaxIdleConns(c.Connections)
	in.db.SetConnMaxIdleTime(idle)
	if in.plain, err = newConnector(c, nil); err != nil {
		return nil, err
	}
	in.side = sidePool(in.plain)
	if c.Replica.Host != "" {
		watched, err := newConnector(c.replica(), nil)
		if err != nil {
			return nil, err
		}
		in.replica = sidePool(watched)
	}
	in.line = userlock.NewLine(c.RowsPerSecond, c.BytesPerSecond, in.side)
	in.load = newLoad(c, log, in.side, in.replica)
	return in, nil
}

// sidePool is a pool of connections without slots: one to wait in line, one to watch.
func sidePool(plain *connector) *sql.DB {
	db := sql.OpenDB(plain)
	db.SetMaxOpenConns(2)
	db.SetConnMaxIdleTime(sideIdle)
	return db
}

// ping logs in to all instances at once, without waiting for slots, and asks their replicas.
func (s *Source) ping(ctx context.Context) error {
	errs := make([]error, len(s.instances))
	var g errgroup.Group
	for i, in := range s.instances {
		g.Go(func() error {
			errs[i] = in.ping(ctx)
			return nil
		})
	}
	_ = g.Wait() // every error is wanted, not the first
	return errors.Join(errs...)
}

func (in *instance) ping(ctx context.Context) error {
	c, err := in.plain.open(ctx)
	if err != nil {
		return in.config.explain(err)
	}
	if err := c.Close(); err != nil {
		return in.config.explain(err)
	}
	if in.replica == nil {
		return nil
	}
	return checkReplica(ctx, in.config, in.replica)
}

// Close closes all connections. Reads that still run fail.
func (s *Source) Close() error {
	errs := make([]error, len(s.instances))
	for i, in := range s.instances {
		errs[i] = in.close()
	}
	return errors.Join(errs...)
}

func (in *instance) close() error {
	if in.line != nil {
		in.line.Close()
	}
	if in.load != nil {
		in.load.close()
	}
	err := errors.Join(in.db.Close(), in.side.Close())
	if in.replica != nil {
		err = errors.Join(err, in.replica.Close())
	}
	return err
}

// begin prepares the request of a read, once the instance can bear it: the statement, and how it is paced. It waits for
// at most so long while reading is paused, for ever when that is 0. The caller calls end after the read.
func (in *instance) begin(ctx context.Context, q *wire.Request, r source.Read, o Options, most time.Duration) (end func(), err error) {
	if q.Query, err = selectSQL(r); err != nil {
		return nil, err
	}
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	if in.load != nil {
		ends = append(ends, in.load.leave)
		if err := in.load.enter(ctx, most); err != nil {
			end()
			return nil, err
		}
	}
	if in.line != nil {
		ends = append(ends, in.line.Leave)
		in.line.Enter()
		o.BatchRows, o.BatchBytes = in.line.Batch(o.BatchRows, o.BatchBytes)
	}
	q.BatchRows, q.BatchBytes = min(o.BatchRows, rowsIn(r.Outputs, o.BatchBytes)), o.BatchBytes
	q.Pass = func(rows, bytes int) error {
		if in.load != nil {
			if err := in.load.pass(ctx, longestPause); err != nil {
				return err
			}
		}
		if in.line == nil {
			return nil
		}
		return in.line.Pass(ctx, rows, bytes)
	}
	return end, nil
}

// instance is the one that a shard lies on.
func (s *Source) instance(name string) (*instance, error) {
	for _, in := range s.instances {
		if in.config.Name == name {
			return in, nil
		}
	}
	return nil, fmt.Errorf("%w: instance %q is not configured", source.ErrDenied, name)
}

// conn takes a connection of the instance, and waits while all are in use.
func (in *instance) conn(ctx context.Context) (*sql.Conn, error) {
	c, err := in.db.Conn(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, in.config.explain(err)
	}
	return c, nil
}
