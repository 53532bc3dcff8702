package userlock

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tributary-lake/tributary/source"
)

// Line paces the reads of one process so that rows and bytes of an instance stay within their rate over all processes.
//
// The instance keeps the line: the user lock tributary:line. Who holds it sleeps there, at the server, and what it has
// slept it may read: a second's sleep is a second's rows. As only one can hold it at a time, all together never get more
// than the rate; as the server hands it on in the order of asking, all get the same; and nobody's share lies idle while
// another could use it. Jobs with different rates share its time.
//
// Time is taken ahead while rows are on the way, but never more than [lineAhead], and only while somebody reads.
type Line struct {
	// rows and bytes a second; 0 for no limit.
	rows, bytes float64
	db          *sql.DB

	mu      sync.Mutex
	readers int
	// have is time at the line that was slept and not used; below 0 when a batch was larger than what there was.
	have time.Duration
	// paying is set while a goroutine sleeps at the line; stop ends it, err is what the last one ended with.
	paying bool
	stop   context.CancelFunc
	err    error
	closed bool
	// changed is closed, and made anew, whenever have or err changes.
	changed chan struct{}
	wait    sync.WaitGroup
}

const (
	lineLock = "tributary:line"
	// lineTurn is how long the line is held at a time, and lineBatch the rows of a batch as time: small enough that many
	// processes take turns quickly, and large enough that a round trip does not count.
	lineTurn  = 200 * time.Millisecond
	lineBatch = 50 * time.Millisecond
	lineAhead = 2 * lineTurn
	// lineWait is how many seconds one statement waits for the line.
	lineWait = 60
)

// ErrClosed ends what waits when a line is closed.
var ErrClosed = fmt.Errorf("%w: the source was closed", source.ErrUnavailable)

// NewLine paces by rows and bytes a second, 0 for no limit; it is nil when there is none. Of the pool it needs one connection.
func NewLine(rowsPerSecond, bytesPerSecond int64, db *sql.DB) *Line {
	if rowsPerSecond <= 0 && bytesPerSecond <= 0 {
		return nil
	}
	return &Line{rows: float64(rowsPerSecond), bytes: float64(bytesPerSecond), db: db, changed: make(chan struct{})}
}

// Batch makes batches of so many rows and bytes no larger than what is read in a moment.
func (l *Line) Batch(rows, bytes int) (int, int) {
	if l.rows > 0 {
		rows = min(rows, max(1, int(l.rows*lineBatch.Seconds())))
	}
	if l.bytes > 0 {
		bytes = min(bytes, max(1, int(l.bytes*lineBatch.Seconds())))
	}
	return rows, bytes
}

// Enter begins a read; Leave ends it.
func (l *Line) Enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers++; l.readers == 1 {
		l.have = min(l.have, 0) // what was left over when the last one read is too old
	}
}

// Leave ends a read.
func (l *Line) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers--
}

// Pass waits until rows of so many bytes may be handed on.
func (l *Line) Pass(ctx context.Context, rows, bytes int) error {
	for first := true; ; first = false {
		l.mu.Lock()
		if err := l.failed(first); err != nil {
			l.mu.Unlock()
			return err
		}
		ok := l.have > 0
		if ok {
			l.have -= l.cost(rows, bytes)
		}
		l.pay(ctx)
		changed := l.changed
		l.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// failed is why a reader need not wait any longer. Another try at the line is made for one that has just come.
func (l *Line) failed(first bool) error {
	switch {
	case l.closed:
		return ErrClosed
	case first:
		return nil
	}
	return l.err
}

// cost is how much time at the line the rows need.
func (l *Line) cost(rows, bytes int) time.Duration {
	var seconds float64
	if l.rows > 0 {
		seconds = float64(rows) / l.rows
	}
	if l.bytes > 0 {
		seconds = max(seconds, float64(bytes)/l.bytes)
	}
	return time.Duration(seconds * float64(time.Second))
}

// pay has a goroutine sleep at the line unless one does or there is enough. The caller holds the mutex.
func (l *Line) pay(ctx context.Context) {
	if l.paying || l.closed || l.have >= lineAhead {
		return
	}
	l.paying, l.err = true, nil
	// Readers share what it gets, so it must not end with one of them.
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.wait.Go(func() {
		for l.turn(ctx) {
		}
	})
}

// turn sleeps at the line once, and tells whether to do so again.
func (l *Line) turn(ctx context.Context) bool {
	slept, err := sleepInLine(ctx, l.db)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.have += slept
	if err != nil {
		l.err = fmt.Errorf("wait for rows_per_second or bytes_per_second: %w", err)
	}
	l.paying = err == nil && !l.closed && l.readers > 0 && l.have < lineAhead
	if !l.paying {
		l.stop()
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return l.paying
}

// sleepInLine waits for the line, sleeps, and tells how long it held the line; 0 when it did not get it.
func sleepInLine(ctx context.Context, db *sql.DB) (time.Duration, error) {
	const now = "UNIX_TIMESTAMP(SYSDATE(6))"
	query := fmt.Sprintf("SELECT IF(GET_LOCK('%s', %d) = 1, CONCAT_WS('|', %s, SLEEP(%g), %s, RELEASE_LOCK('%[1]s')), '')",
		lineLock, lineWait, now, lineTurn.Seconds(), now)
	var text string
	if err := db.QueryRowContext(ctx, query).Scan(&text); err != nil || text == "" {
		return 0, err
	}
	parts := strings.Split(text, "|")
	if len(parts) != 4 || parts[1] != "0" {
		return 0, fmt.Errorf("the server answers %q to SLEEP: its statement was ended", text)
	}
	from, err := strconv.ParseFloat(parts[0], 64)
	if err != nil {
		return 0, fmt.Errorf("the server's clock says %q: %w", parts[0], err)
	}
	to, err := strconv.ParseFloat(parts[2], 64)
	if err != nil {
		return 0, fmt.Errorf("the server's clock says %q: %w", parts[2], err)
	}
	// The server may oversleep, which counts; its clock may be set meanwhile, which does not.
	return min(max(lineTurn, time.Duration((to-from)*float64(time.Second))), 2*lineTurn), nil
}

// Close ends what is under way.
func (l *Line) Close() {
	l.mu.Lock()
	l.closed = true
	if l.paying {
		l.stop()
	}
	l.mu.Unlock()
	l.wait.Wait()
}
