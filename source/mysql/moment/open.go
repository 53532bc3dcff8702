package moment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	driversql "github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/source"
)

const (
	// lockWait bounds how long a lock is waited for, in whole seconds, as servers take them: who comes after it waits as long.
	lockWait = 2 * time.Second
	// lockHold bounds how long it is held.
	lockHold = 10 * time.Second
)

// Request asks for a moment.
type Request struct {
	Server *Server
	// Shards are the tables that LOCK TABLES locks.
	Shards []source.Shard
	// Readers are the sessions to open. Afterwards each is inside a transaction of its own, after a savepoint: see Release.
	Readers []Session
	// Method is the one that is asked for.
	Method source.MomentMethod
	// Lock opens a session beside the readers, which is closed again.
	Lock func(ctx context.Context) (Session, error)

	pace pace
}

// pace is how patient the opening is.
type pace struct {
	// tries of the last method, and of one after which another can be tried.
	tries, early int
	// first is the pause after the first failure; it doubles up to longest.
	first, longest time.Duration
	// positions is how often connections are opened in search of a quiet moment.
	positions int
}

func (p pace) orDefault() pace {
	if p.tries == 0 {
		return pace{tries: 8, early: 3, first: 500 * time.Millisecond, longest: 8 * time.Second, positions: 100}
	}
	return p
}

// voidError is why a try gave no moment although all readers are well: another may.
type voidError struct {
	reason string
	err    error
}

func (e *voidError) Error() string {
	if e.err == nil {
		return e.reason
	}
	return e.reason + ": " + e.err.Error()
}

func (e *voidError) Unwrap() error { return e.err }

// Open opens the readers at one moment, by the methods that the account may use, one after the other. An error is a
// [source.ErrDenied] that has the GRANT to type, a [source.ErrUnavailable] when the server was too busy for too long, or
// that of a reader; then the readers are of no use any more.
func Open(ctx context.Context, r Request) (source.Moment, error) {
	r.pace = r.pace.orDefault()
	methods := r.Server.Methods(r.Method, len(r.Readers))
	if len(methods) == 0 {
		return source.Moment{}, r.Server.none(r.Method)
	}
	var failed []string
	for i, m := range methods {
		tries := r.pace.early
		if i == len(methods)-1 {
			tries = r.pace.tries
		}
		opened, err := r.by(ctx, m, tries)
		if err == nil {
			return opened, r.each(ctx, "SAVEPOINT "+savepoint)
		}
		var void *voidError
		if !errors.As(err, &void) {
			return source.Moment{}, err
		}
		failed = append(failed, fmt.Sprintf("%s: %s", m, void))
	}
	return source.Moment{}, fmt.Errorf("%w: instance %q: connections could not be opened at one moment: %s",
		source.ErrUnavailable, r.Server.Instance, strings.Join(failed, " | "))
}

const savepoint = "tributary"

// Release lets go of the tables that a session has read, so that others may alter them, and keeps the moment. MariaDB with a
// binary log does not let go of them before the transaction's end.
func Release(ctx context.Context, s Session) error {
	return s.Exec(ctx, "ROLLBACK TO SAVEPOINT "+savepoint)
}

// by tries one method so often.
func (r *Request) by(ctx context.Context, m source.MomentMethod, tries int) (source.Moment, error) {
	pause := r.pace.first
	for try := 1; ; try++ {
		opened, err := r.try(ctx, m)
		if err == nil {
			opened.Instance, opened.Method, opened.Connections = r.Server.Instance, m, len(r.Readers)
			opened.Tries += try
			return opened, nil
		}
		var void *voidError
		if !errors.As(err, &void) || denied(err) || ctx.Err() != nil {
			return opened, err
		}
		if try >= tries {
			return opened, &voidError{fmt.Sprintf("given up after %d tries", try), void}
		}
		if err := wait(ctx, pause); err != nil {
			return opened, err
		}
		pause = min(2*pause, r.pace.longest)
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Request) try(ctx context.Context, m source.MomentMethod) (source.Moment, error) {
	side, err := r.Lock(ctx)
	if err != nil {
		return source.Moment{}, &voidError{"no connection for it", err}
	}
	// It has not done its work before it is closed: whatever it holds goes with it, also after an error.
	defer func() { _ = side.Close() }()
	switch m {
	case source.MomentFlush:
		if err := r.Server.guard(ctx, side); err != nil {
			return source.Moment{}, err
		}
		return r.underLock(ctx, side, m, "FLUSH TABLES WITH READ LOCK")
	case source.MomentLockTables:
		return r.underLock(ctx, side, m, lockTables(r.Shards))
	case source.MomentPosition, source.MomentAuto:
	}
	return r.quiet(ctx, side)
}

// lockTables is the statement that keeps writers off the shards.
func lockTables(shards []source.Shard) string {
	var b strings.Builder
	b.WriteString("LOCK TABLES ")
	for i, s := range shards {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(s.Database) + "." + quote(s.Table) + " READ")
	}
	return b.String()
}

// guard finds statements behind which a flush must not get. MySQL's closes all tables, and waits for those that long
// statements use; even when it gives up they stay closed, so everybody else waits for the long statement. MariaDB's waits
// for writers alone and leaves nothing.
func (v *Server) guard(ctx context.Context, s Session) error {
	if v.mariadb {
		return nil
	}
	rows, err := s.Query(ctx, "SELECT id, user, time, COALESCE(LEFT(info, 100), '') AS info FROM information_schema.processlist"+
		" WHERE command IN ('Query', 'Execute') AND time >= 1 AND user NOT IN ('system user', 'event_scheduler')"+
		" AND COALESCE(info, '') NOT LIKE '%GET_LOCK(''tributary:%' ORDER BY time DESC LIMIT 1")
	if err != nil {
		return &voidError{"look for long statements", err}
	}
	if len(rows) == 0 {
		return nil
	}
	l := rows[0]
	return &voidError{reason: fmt.Sprintf("a statement of user %q (connection %s) has run for %s s, and a flush behind it would hold up others until it ends: %s", l["user"], l["id"], l["time"], l["info"])}
}

// lockSettings bound what a lock may cost: by the time that it is waited for, and by the silence after which the server
// closes the session, should this process be stopped while it holds the lock.
func lockSettings() []string {
	return []string{
		fmt.Sprintf("SET SESSION lock_wait_timeout = %d", int(lockWait.Seconds())),
		fmt.Sprintf("SET SESSION wait_timeout = %d", int(lockHold.Seconds())),
	}
}

// underLock opens the readers while the session holds a lock.
func (r *Request) underLock(ctx context.Context, lock Session, method source.MomentMethod, statement string) (source.Moment, error) {
	var m source.Moment
	for _, q := range lockSettings() {
		if err := lock.Exec(ctx, q); err != nil {
			return m, &voidError{"bound the lock", err}
		}
	}
	// LOCK TABLES waits so long for each table; the statement as a whole is ended by this.
	waiting, cancel := context.WithTimeout(ctx, lockWait+lockWait/4)
	err := lock.Exec(waiting, statement)
	cancel()
	if err != nil {
		return m, r.notLocked(ctx, err)
	}
	started := time.Now()
	if method == source.MomentLockTables {
		// One that was prepared before and whose connection is gone holds no lock of a table, and may commit.
		if disturbed, err := r.Server.prepared(ctx, lock); err != nil || disturbed != "" {
			return m, &voidError{disturbed, err}
		}
	}
	holding, cancel := context.WithTimeout(ctx, lockHold)
	defer cancel()
	if err := r.begin(holding); err != nil {
		return m, fmt.Errorf("open connections under the lock, which may last %s: %w", lockHold, err)
	}
	if m.Position, err = r.Server.where(holding, lock, r.Readers[0]); err != nil {
		return m, &voidError{"ask for the position under the lock", err}
	}
	// A session that was lost meanwhile, and with it the lock, shows here at the latest.
	if err := lock.Exec(holding, "UNLOCK TABLES"); err != nil {
		return m, &voidError{"the connection that held the lock was lost", err}
	}
	m.Locked = time.Since(started)
	m.Position = r.Server.confirmed(ctx, lock, m.Position)
	return m, nil
}

// notLocked says why the lock was not to be had.
func (r *Request) notLocked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	const codeLockWait, codeDeadlock, codeNoTable = 1205, 1213, 1146
	var server *driversql.MySQLError
	switch {
	case errors.As(err, &server) && server.Number == codeNoTable:
		return fmt.Errorf("%w: a shard is gone: %w", source.ErrSchemaChanged, err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &server) && (server.Number == codeLockWait || server.Number == codeDeadlock):
		return &voidError{fmt.Sprintf("the lock was not to be had within %s, as statements or transactions that write are under way", lockWait), err}
	case denied(err):
		return &voidError{"the server refuses the lock in spite of the account's rights", err}
	}
	return &voidError{"take the lock", err}
}

// begin opens all readers at once.
func (r *Request) begin(ctx context.Context) error {
	return r.each(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
}

// each runs a statement on all readers at once.
func (r *Request) each(ctx context.Context, query string) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range r.Readers {
		g.Go(func() error { return s.Exec(ctx, query) })
	}
	return g.Wait()
}
