package mysql

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

// slots are the connections that an instance has for this program, over all its processes. The instance itself holds
// them, as user locks (GET_LOCK) named tributary:slot:1 and so on: a connection of the pool has one of them from its
// opening to its end, so a lost connection gives it back, and there is no other coordinator.
//
// Whoever needs a slot queues for the lock tributary:turn, which the server grants in the order of asking, and only
// who has it looks for a free slot. Of one process one connection waits at a time.
//
// User locks need no right. They are the server's own, and neither replicated nor written: a read-only replica has
// its own slots, and so does each server behind an address that balances.
type slots struct {
	// count is how many there are. Where jobs differ the greatest holds: each takes its highest free one, so that the low
	// ones are left for those that may have no other.
	count int
	// door lets one connection of this process wait.
	door chan struct{}
}

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
	// slotHold is how long a connection keeps its slot for its own process while others wait.
	slotHold = 5 * time.Second
	// idle is how long a connection keeps its slot while its process has no use for it.
	idle = time.Second
)

func newSlots(count int) *slots { return &slots{count: count, door: make(chan struct{}, 1)} }

// enter waits until no other connection of this process waits for a slot.
func (s *slots) enter(ctx context.Context) error {
	select {
	case s.door <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slots) leave() { <-s.door }

// take waits for a slot and gives it to the connection. The caller has entered, and closes the connection on an error.
func (s *slots) take(ctx context.Context, c *conn) error {
	for {
		got, err := askLock(ctx, c, fmt.Sprintf("SELECT COALESCE(GET_LOCK('%s', %d), 0)", turnLock, turnWait))
		if err != nil {
			return err
		}
		if got == "1" {
			break
		}
	}
	for last := rand.IntN(s.count) + 1; ; last = last%s.count + 1 {
		got, err := askLock(ctx, c, s.query(last))
		if err != nil {
			return err
		}
		if got != "0" {
			break
		}
	}
	_, err := askLock(ctx, c, "SELECT COALESCE(RELEASE_LOCK('"+turnLock+"'), 0)")
	c.slotted = time.Now()
	return err
}

// query takes the first slot that is free, else waits a moment for one, and says which it got, or 0.
func (s *slots) query(last int) string {
	var b strings.Builder
	b.WriteString("SELECT CASE")
	for n := s.count; n >= 1; n-- {
		fmt.Fprintf(&b, " WHEN GET_LOCK('%s%d', 0) = 1 THEN %d", slotLock, n, n)
	}
	fmt.Fprintf(&b, " WHEN GET_LOCK('%s%d', %d) = 1 THEN %d ELSE 0 END", slotLock, last, slotWait, last)
	return b.String()
}

// due tells that a connection should give up its slot, because others wait and it has had it for long enough.
func (c *conn) due(ctx context.Context) (bool, error) {
	if c.slotted.IsZero() || time.Since(c.slotted) < slotHold {
		return false, nil
	}
	free, err := one(ctx, c, "SELECT IS_FREE_LOCK('"+turnLock+"')")
	return free == "0", err
}

// askLock is the answer of a statement with locks. A server that knows none cannot be shared, and is not read.
func askLock(ctx context.Context, c *conn, query string) (string, error) {
	text, err := one(ctx, c, query)
	if err == nil {
		if _, wrong := strconv.Atoi(text); wrong != nil {
			return "", fmt.Errorf("%w: the server answers %q where the number of a lock is due", source.ErrDenied, text)
		}
		return text, nil
	}
	err = classify(err)
	var server *driversql.MySQLError
	if errors.As(err, &server) && !errors.Is(err, source.ErrUnavailable) {
		return "", fmt.Errorf("%w: the server refuses GET_LOCK, by which limits.connections is shared (Percona XtraDB Cluster does so unless pxc_strict_mode is PERMISSIVE): %w",
			source.ErrDenied, err)
	}
	return "", err
}
