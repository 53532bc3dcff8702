package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/moment"
	"github.com/tributary-lake/tributary/source/mysql/userlock"
	"github.com/tributary-lake/tributary/source/mysql/wire"
)

// Moment is a set of connections of one instance that see the same moment of it. Different readers may be used at the
// same time. It ends with Close; an error of one reader leaves it without use.
type Moment struct {
	in      *instance
	options Options
	readers []*session
	opened  source.Moment
}

// PlanMoments says how connections of each instance that the shards lie on would be opened at one moment, so many on an
// instance. An account that may not, or a shard whose engine has no moments, is a [source.ErrDenied] that says what to do.
func (s *Source) PlanMoments(ctx context.Context, shards []source.Shard, asked source.MomentMethod, readers map[string]int) ([]source.MomentPlan, error) {
	byInstance := map[string][]source.Shard{}
	for _, shard := range shards {
		byInstance[shard.Instance] = append(byInstance[shard.Instance], shard)
	}
	var plans []source.MomentPlan
	var errs []error
	for _, in := range s.instances {
		on := byInstance[in.config.Name]
		if len(on) == 0 {
			continue
		}
		p, err := in.planMoment(ctx, on, asked, min(readers[in.config.Name], in.config.Connections))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		plans = append(plans, p)
	}
	return plans, errors.Join(errs...)
}

// CheckSnapshots refuses tables whose engine has no snapshots: their rows change while they are read. The error is a
// [source.ErrDenied] that names them.
func (s *Source) CheckSnapshots(ctx context.Context, tables []source.Table) error {
	byInstance := map[string][]source.Shard{}
	for _, t := range tables {
		byInstance[t.Shard.Instance] = append(byInstance[t.Shard.Instance], t.Shard)
	}
	var errs []error
	for _, in := range s.instances {
		if on := byInstance[in.config.Name]; len(on) > 0 {
			errs = append(errs, in.checkSnapshots(ctx, on))
		}
	}
	return errors.Join(errs...)
}

func (in *instance) checkSnapshots(ctx context.Context, shards []source.Shard) error {
	c, err := in.alone(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // nothing was written through it
	return classify(moment.CheckEngines(ctx, c, in.config.Name, shards, "verify: checksums"))
}

func (in *instance) planMoment(ctx context.Context, shards []source.Shard, asked source.MomentMethod, readers int) (source.MomentPlan, error) {
	c, err := in.alone(ctx)
	if err != nil {
		return source.MomentPlan{}, err
	}
	defer func() { _ = c.Close() }() // nothing was written through it
	if err := moment.CheckEngines(ctx, c, in.config.Name, shards, "consistency: split"); err != nil {
		return source.MomentPlan{}, classify(err)
	}
	server, err := moment.Examine(ctx, c, in.config.Name, databasesOf(shards))
	if err != nil {
		return source.MomentPlan{}, classify(err)
	}
	return server.Plan(asked, readers)
}

func databasesOf(shards []source.Shard) []string {
	databases := make([]string, len(shards))
	for i, s := range shards {
		databases[i] = s.Database
	}
	return databases
}

// OpenMoment opens up to r.Readers connections at one moment, and waits until the instance can bear them.
func (s *Source) OpenMoment(ctx context.Context, r source.MomentRequest) (*Moment, error) {
	in, err := s.instance(r.Instance)
	if err != nil {
		return nil, err
	}
	m := &Moment{in: in, options: s.options}
	if err := m.open(ctx, r); err != nil {
		err = errors.Join(classify(err), m.Close())
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("open instance %q at one moment: %w", r.Instance, err)
	}
	s.options.Log.Info("opened at one moment", "instance", r.Instance, "method", string(m.opened.Method), "connections", m.opened.Connections,
		"tries", m.opened.Tries, "locked", m.opened.Locked.String(), "position", m.opened.Position.String())
	return m, nil
}

func (m *Moment) open(ctx context.Context, r source.MomentRequest) error {
	if load := m.in.load; load != nil {
		defer load.leave()
		if err := load.enter(ctx, 0); err != nil {
			return err
		}
	}
	if err := m.in.slots.Enter(ctx); err != nil {
		return err
	}
	conns, err := userlock.Gather(ctx, m.in.slots, max(1, min(r.Readers, m.in.config.Connections)), m.in.reading.open)
	m.in.slots.Leave()
	for _, c := range conns {
		own, failed := newSession(ctx, c)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		m.readers = append(m.readers, own)
	}
	if err != nil {
		return m.in.config.explain(err)
	}
	sessions := make([]moment.Session, len(m.readers))
	for i, own := range m.readers {
		if err := own.Exec(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
			return err // a session may do without it, a moment not
		}
		sessions[i] = own
	}
	server, err := moment.Examine(ctx, sessions[0], r.Instance, databasesOf(r.Shards))
	if err != nil {
		return err
	}
	m.opened, err = moment.Open(ctx, moment.Request{
		Server: server, Shards: r.Shards, Readers: sessions, Method: r.Method,
		Lock: func(ctx context.Context) (moment.Session, error) { return m.in.alone(ctx) },
	})
	return err
}

// Opened tells how and when.
func (m *Moment) Opened() source.Moment { return m.opened }

// Readers is how many there are, at least one.
func (m *Moment) Readers() int { return len(m.readers) }

// Read reads a split as [Source.Read] does, by one of the readers, which nobody else uses meanwhile.
func (m *Moment) Read(ctx context.Context, reader int, r source.Read, swap func(full *row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	var err error
	if r.Outputs, err = withConstants(r); err != nil {
		return source.ReadStats{}, err
	}
	stats, err := m.read(ctx, m.readers[reader], r, wire.Request{Outputs: r.Outputs, Shard: r.Shard, Swap: swap})
	return stats, named(ctx, r.Shard, err)
}

func (m *Moment) read(ctx context.Context, own *session, r source.Read, q wire.Request) (source.ReadStats, error) {
	// A pause that lasts would keep old rows at the server, so it ends the moment.
	paced, err := m.in.begin(ctx, &q, r, m.options, longestPause)
	if err != nil {
		return source.ReadStats{}, err
	}
	defer paced()
	stats, err := readOn(ctx, own.Conn, r, q)
	if err != nil {
		return stats, err
	}
	// Until here the table could not be altered, which may have kept others waiting; on MariaDB it cannot until the end. If
	// it is altered now, the next split of it is refused by the server.
	return stats, classify(moment.Release(ctx, own))
}

// Close ends the moment and gives the connections back.
func (m *Moment) Close() error {
	errs := make([]error, len(m.readers))
	for i, own := range m.readers {
		errs[i] = own.Close()
	}
	m.readers = nil
	return errors.Join(errs...)
}

// alone opens a connection without a slot, which its closing ends.
func (in *instance) alone(ctx context.Context) (*session, error) {
	c, err := in.plain.open(ctx)
	if err != nil {
		return nil, err
	}
	return newSession(ctx, c)
}

// session is one connection outside of any pool.
type session struct {
	*sql.Conn
	db *sql.DB
}

// newSession makes a connection one that statements can be run on. It closes the connection on an error.
func newSession(ctx context.Context, c *conn) (*session, error) {
	db := sql.OpenDB(&only{conn: c})
	db.SetMaxOpenConns(1)
	own, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, c.Close(), db.Close())
	}
	return &session{Conn: own, db: db}, nil
}

// Close ends the connection.
func (s *session) Close() error {
	err := s.Conn.Close()
	if errors.Is(err, sql.ErrConnDone) {
		err = nil // it was lost
	}
	return errors.Join(err, s.db.Close())
}

// Exec runs a statement without a result.
func (s *session) Exec(ctx context.Context, query string) error {
	_, err := s.ExecContext(ctx, query)
	return err
}

// Query returns all rows as text, by column in lower case; NULL is empty.
func (s *session) Query(ctx context.Context, query string) ([]map[string]string, error) {
	rows, err := s.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	var all []map[string]string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		one := map[string]string{}
		for i, name := range names {
			one[strings.ToLower(name)] = string(values[i])
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// only hands out one connection, once: what it was is lost with it.
type only struct {
	conn *conn
	used atomic.Bool
}

// Connect gives the connection.
func (o *only) Connect(context.Context) (driver.Conn, error) {
	if o.used.Swap(true) {
		return nil, fmt.Errorf("%w: the connection was lost", source.ErrUnavailable)
	}
	return o.conn, nil
}

// Driver is the driver's own.
func (o *only) Driver() driver.Driver { return o.conn.connector.Driver() }
