package userlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/tributary-lake/tributary/source"
)

// Slots are the connections that an instance has for this program, over all its processes. The instance itself holds
// them, as user locks (GET_LOCK) named tributary:slot:1 and so on: a connection of the pool has one of them from its
// opening to its end, so a lost connection gives it back, and there is no other coordinator.
//
// Whoever needs a slot queues for the lock tributary:turn, which the server grants in the order of asking, and only
// who has it looks for a free slot. Of one process one connection waits at a time.
//
// User locks need no right. They are the server's own, and neither replicated nor written: a read-only replica has
// its own slots, and so does each server behind an address that balances.
type Slots struct {
	// count is how many there are. Where jobs differ the greatest holds: each takes its highest free one, so that the low
	// ones are left for those that may have no other.
	count int
	// door lets one connection of this process wait.
	door chan struct{}
}

// Session is a connection of the instance.
type Session interface {
	// Ask is the only value of a query's only row. Its errors have their class.
	Ask(ctx context.Context, query string) (string, error)
}

// Conn is a Session that can be closed, by which its slot is free.
type Conn interface {
	Session
	Close() error
}

// Hold is how long a connection keeps its slot for its own process while others wait.
const Hold = 5 * time.Second

// The names are at most 64 characters, MySQL's bound.
const (
	slotLock = "tributary:slot:"
	turnLock = "tributary:turn"
)

const (
	// turnWait is how long one statement waits for the turn, and slotWait for one slot before all are tried again, in
	// seconds: MySQL takes whole ones alone.
	turnWait = 60
	slotWait = 1
	// gatherWait is how long several connections are waited for together once there is one: longer than Hold, so that others
	// can end their reads and give up theirs.
	gatherWait = 2 * Hold
)

// NewSlots are so many.
func NewSlots(count int) *Slots { return &Slots{count: count, door: make(chan struct{}, 1)} }

// Enter waits until no other connection of this process waits for a slot.
func (s *Slots) Enter(ctx context.Context) error {
	select {
	case s.door <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave lets the next one wait.
func (s *Slots) Leave() { <-s.door }

// Take waits for a slot and gives it to the connection. The caller has entered, and closes the connection on an error.
func (s *Slots) Take(ctx context.Context, c Session) error {
	if err := s.turn(ctx, c); err != nil {
		return err
	}
	if _, err := s.find(ctx, c, time.Time{}); err != nil {
		return err
	}
	return s.next(ctx, c)
}

// Gather opens up to so many connections and gives each a slot, as a whole by one turn: nobody else gets a slot meanwhile,
// so two that need many never hold half each and wait for the other's. It waits for the first slot as long as the context
// lasts. For the others together it waits [gatherWait], then goes on without. The caller has entered. On an error it returns
// what it has opened too.
func Gather[C Conn](ctx context.Context, s *Slots, most int, open func(context.Context) (C, error)) ([]C, error) {
	first, err := open(ctx)
	if err != nil {
		return nil, err
	}
	all := []C{first}
	if err := s.turn(ctx, first); err != nil {
		return all, err
	}
	if _, err := s.find(ctx, first, time.Time{}); err != nil {
		return all, err
	}
	for until := time.Now().Add(gatherWait); len(all) < most; {
		more, err := open(ctx)
		if err != nil {
			return all, err
		}
		got, err := s.find(ctx, more, until)
		if err != nil || !got {
			_ = more.Close()
			if err != nil {
				return all, err
			}
			break
		}
		all = append(all, more)
	}
	return all, s.next(ctx, first)
}

// turn waits for the connection's turn to look for slots.
func (s *Slots) turn(ctx context.Context, c Session) error {
	for {
		got, err := ask(ctx, c, fmt.Sprintf("SELECT COALESCE(GET_LOCK('%s', %d), 0)", turnLock, turnWait))
		if err != nil || got == "1" {
			return err
		}
	}
}

// find waits for a slot, which the connection gets, until some time, or for ever when that is zero. It is the turn of the
// connection or of one that gathers with it.
func (s *Slots) find(ctx context.Context, c Session, until time.Time) (bool, error) {
	for last := rand.IntN(s.count) + 1; ; last = last%s.count + 1 {
		got, err := ask(ctx, c, s.query(last))
		if err != nil {
			return false, err
		}
		if got != "0" {
			return true, nil
		}
		if !until.IsZero() && time.Now().After(until) {
			return false, nil
		}
	}
}

// next lets the next one look.
func (s *Slots) next(ctx context.Context, c Session) error {
	_, err := ask(ctx, c, "SELECT COALESCE(RELEASE_LOCK('"+turnLock+"'), 0)")
	return err
}

// query takes the first slot that is free, else waits a moment for one, and says which it got, or 0.
func (s *Slots) query(last int) string {
	var b strings.Builder
	b.WriteString("SELECT CASE")
	for n := s.count; n >= 1; n-- {
		fmt.Fprintf(&b, " WHEN GET_LOCK('%s%d', 0) = 1 THEN %d", slotLock, n, n)
	}
	fmt.Fprintf(&b, " WHEN GET_LOCK('%s%d', %d) = 1 THEN %d ELSE 0 END", slotLock, last, slotWait, last)
	return b.String()
}

// Due tells that a connection should give up its slot, because others wait and it has had it for long enough.
func Due(ctx context.Context, c Session, since time.Time) (bool, error) {
	if since.IsZero() || time.Since(since) < Hold {
		return false, nil
	}
	free, err := c.Ask(ctx, "SELECT IS_FREE_LOCK('"+turnLock+"')")
	return free == "0", err
}

// ask is the answer of a statement with locks. A server that knows none cannot be shared, and is not read.
func ask(ctx context.Context, c Session, query string) (string, error) {
	text, err := c.Ask(ctx, query)
	if err == nil {
		if _, wrong := strconv.Atoi(text); wrong != nil {
			return "", fmt.Errorf("%w: the server answers %q where the number of a lock is due", source.ErrDenied, text)
		}
		return text, nil
	}
	var server *driversql.MySQLError
	if errors.As(err, &server) && !errors.Is(err, source.ErrUnavailable) {
		return "", fmt.Errorf("%w: the server refuses GET_LOCK, by which limits.connections is shared (Percona XtraDB Cluster does so unless pxc_strict_mode is PERMISSIVE): %w",
			source.ErrDenied, err)
	}
	return "", err
}
