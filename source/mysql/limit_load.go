package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/lag"
	"github.com/tributary-lake/tributary/source/mysql/userlock"
)

// load pauses the reads of one process while a replica lags or the instance is busy with others' statements. One
// goroutine looks every [loadEvery] while anybody reads.
//
// A read that has not begun waits as long as it takes, and holds nothing. One that is under way holds its connection, its
// snapshot and the table's metadata lock; so after [longestPause] it is given up, to be tried again from its start.
type load struct {
	instance string
	log      *slog.Logger
	// looks find a reason to pause, or none.
	looks []func(context.Context) (string, error)

	mu      sync.Mutex
	readers int
	looking bool
	stop    context.CancelFunc
	closed  bool
	// known is set when the looks have succeeded since the goroutine began.
	known bool
	// reason is why reading is paused, since when; empty when it is not.
	reason string
	since  time.Time
	// err is why the looks fail, since when.
	err      error
	errSince time.Time
	// changed is closed, and made anew, whenever that changes.
	changed chan struct{}
	wait    sync.WaitGroup
}

const (
	loadEvery    = time.Second
	longestPause = 10 * time.Minute
	// blind is how long looks may fail before reads do.
	blind = 15 * time.Second
)

// newLoad is nil when nothing is watched. The replica is nil when there is none.
func newLoad(c Config, log *slog.Logger, db, replica *sql.DB) *load {
	l := &load{instance: c.Name, log: log, changed: make(chan struct{})}
	if replica != nil {
		l.looks = append(l.looks, func(ctx context.Context) (string, error) {
			found, err := lag.Of(ctx, replica)
			if err != nil {
				return "", c.replica().explainLag(err)
			}
			return tooMuch(found, c.Replica, c.MaxReplicaLag), nil
		})
	}
	if c.MaxThreadsRunning > 0 {
		l.looks = append(l.looks, func(ctx context.Context) (string, error) {
			n, err := threadsOfOthers(ctx, db)
			if err != nil || n <= c.MaxThreadsRunning {
				return "", err
			}
			return fmt.Sprintf("the server runs %d threads for others, more than max_threads_running %d", n, c.MaxThreadsRunning), nil
		})
	}
	if len(l.looks) == 0 {
		return nil
	}
	return l
}

// enter begins a read: it waits while reading is paused, for at most so long, or for ever when that is 0. leave ends the
// read, also after an error.
func (l *load) enter(ctx context.Context, most time.Duration) error {
	l.mu.Lock()
	l.readers++
	if !l.looking && !l.closed {
		l.looking, l.known, l.err = true, false, nil
		looking, stop := context.WithCancel(context.WithoutCancel(ctx)) // it must not end with one of the readers
		l.stop = stop
		l.wait.Go(func() { l.watch(looking) })
	}
	l.mu.Unlock()
	return l.pass(ctx, most)
}

func (l *load) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers-- // the goroutine sees it when it looks next
}

// pass waits while reading is paused, for at most so long, or for ever when that is 0.
func (l *load) pass(ctx context.Context, most time.Duration) error {
	var over <-chan time.Time
	for {
		l.mu.Lock()
		known, reason, err, errSince, changed, closed := l.known, l.reason, l.err, l.errSince, l.changed, l.closed
		l.mu.Unlock()
		switch {
		case closed:
			return userlock.ErrClosed
		case err != nil && (errors.Is(err, source.ErrDenied) || time.Since(errSince) > blind):
			return err
		case known && reason == "":
			return nil
		}
		if over == nil && most > 0 {
			t := time.NewTimer(most)
			defer t.Stop()
			over = t.C
		}
		select {
		case <-changed:
		case <-over:
			return fmt.Errorf("%w: paused for %s, as %s: the split is read again from its start", source.ErrUnavailable, most, reason)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch looks until nobody reads.
func (l *load) watch(ctx context.Context) {
	t := time.NewTicker(loadEvery)
	defer t.Stop()
	for l.note(l.look(ctx)) {
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// look is the first reason to pause.
func (l *load) look(ctx context.Context) (string, error) {
	for _, look := range l.looks {
		if reason, err := look(ctx); err != nil || reason != "" {
			return reason, err
		}
	}
	return "", nil
}

// note keeps what was found, tells of a pause once and once of its end, and says whether to look again.
func (l *load) note(reason string, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.readers == 0 {
		l.looking = false
		l.stop()
		l.wake()
		return false
	}
	switch {
	case err != nil:
		if l.err == nil {
			l.errSince = time.Now()
		}
		l.err = err
	default:
		l.err, l.known = nil, true
		l.tell(reason)
	}
	l.wake()
	return true
}

func (l *load) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// tell logs that reading is paused or goes on when that is new.
func (l *load) tell(reason string) {
	switch {
	case reason != "" && l.reason == "":
		l.since = time.Now()
		l.log.Warn("reading is paused", "instance", l.instance, "reason", reason)
	case reason == "" && l.reason != "":
		l.log.Info("reading goes on", "instance", l.instance, "paused", time.Since(l.since).Round(time.Second).String())
	}
	l.reason = reason
}

// close ends what is under way.
func (l *load) close() {
	l.mu.Lock()
	l.closed = true
	if l.looking {
		l.stop()
	}
	l.mu.Unlock()
	l.wait.Wait()
}

// threadsOfOthers is how many statements the server runs, without those of the own account, which are what the pause
// could change: a paused reader counts as running.
func threadsOfOthers(ctx context.Context, db *sql.DB) (int, error) {
	const own = "SELECT COUNT(*) FROM information_schema.processlist WHERE command <> 'Sleep' AND user = SUBSTRING_INDEX(USER(), '@', 1)"
	c, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	var name string
	var all, ours int
	if err := c.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_running'").Scan(&name, &all); err != nil {
		return 0, classify(err)
	}
	if err := c.QueryRowContext(ctx, own).Scan(&ours); err != nil {
		return 0, classify(err)
	}
	return max(0, all-ours), nil
}

// tooMuch is the reason to pause, or none.
func tooMuch(l lag.Lag, replica Address, most time.Duration) string {
	switch {
	case l.Stopped:
		return fmt.Sprintf("replica %s has stopped replicating", replica)
	case l.Behind > most:
		return fmt.Sprintf("replica %s lags by %s, more than max_replica_lag %s", replica, l.Behind, most)
	}
	return ""
}

// checkReplica refuses a replica that is none, or that does not tell.
func checkReplica(ctx context.Context, c Config, db *sql.DB) error {
	found, err := lag.Of(ctx, db)
	if err != nil {
		return c.replica().explainLag(err)
	}
	if !found.Replica {
		return fmt.Errorf("%w: instance %q: the server at %s, named as replica, replicates from nowhere: name a replica, or none",
			source.ErrDenied, c.Name, c.Replica)
	}
	return nil
}

// explainLag says what an error in asking a replica means.
func (c Config) explainLag(err error) error {
	var server *driversql.MySQLError
	if errors.As(err, &server) {
		switch server.Number {
		case codeSpecificDenied, codeAccessDenied, codeTableDenied:
			return fmt.Errorf("%w: instance %q: user %q may not ask %s how far it is behind: grant REPLICATION CLIENT (MariaDB from 10.5: REPLICA MONITOR) there, or name no replica: %w",
				source.ErrDenied, c.Name, c.User, c.address(), err)
		}
		return classify(err)
	}
	return c.explain(err)
}
