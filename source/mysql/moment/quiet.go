package moment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/tributary-lake/tributary/source"
)

// quiet opens the readers until nothing was committed meanwhile.
func (r *Request) quiet(ctx context.Context, side Session) (source.Moment, error) {
	for try := 0; ; try++ {
		p, disturbed, err := r.quietOnce(ctx, side)
		if err != nil {
			return source.Moment{}, err
		}
		if disturbed == "" {
			return source.Moment{Position: p, Tries: try}, nil
		}
		if try+1 >= r.pace.positions {
			return source.Moment{}, &voidError{reason: fmt.Sprintf("no quiet moment in %d tries: %s", try+1, disturbed)}
		}
		if err := wait(ctx, rand.N(20*time.Millisecond)); err != nil {
			return source.Moment{}, err
		}
	}
}

// What disturbs a quiet moment.
const (
	othersCommitted = "others committed"
	othersCommit    = "commits were under way"
)

// quietOnce opens the readers once, and says what may have come between them. A transaction that XA has prepared is out of the
// order in which others commit: the binary log has its end before its rows can be seen, whatever the counts say. So none may
// be there before; one that is prepared later is a commit of its own.
func (r *Request) quietOnce(ctx context.Context, side Session) (p source.Position, disturbed string, err error) {
	quiet := r.quietMySQL
	if r.Server.mariadb {
		quiet = r.quietMariaDB
	}
	return quiet(ctx, side, func() (disturbed string, err error) {
		if disturbed, err = r.Server.prepared(ctx, side); err != nil || disturbed != "" {
			return disturbed, err
		}
		return "", r.begin(ctx)
	})
}

// quietMariaDB proves that no commit became visible while the readers opened, by the count of commits before and after: a
// transaction is counted while the lock is held under which its rows become visible and under which snapshots are taken
// (LOCK_commit_ordered). The places in the binary log that each snapshot has noted prove nothing: what SHOW STATUS is about to
// print stands in variables that all sessions share, so that a session may be told another's. For the count that does no harm,
// as it only grows and is another's no earlier. What is visible ends where the log does, or a commit is under way.
func (r *Request) quietMariaDB(ctx context.Context, side Session, open func() (string, error)) (source.Position, string, error) {
	before, _, err := visible(ctx, side)
	if err != nil {
		return source.Position{}, "", &voidError{"ask for the count of commits", err}
	}
	if disturbed, err := open(); err != nil || disturbed != "" {
		return source.Position{}, disturbed, err
	}
	after, p, err := visible(ctx, side)
	if err != nil {
		return p, "", &voidError{"ask for the count of commits", err}
	}
	if before != after {
		return p, othersCommitted, nil
	}
	at, written, err := gtidsAt(ctx, side, p)
	if err != nil {
		return p, "", &voidError{"ask for the GTIDs of a position", err}
	}
	if at != written {
		return p, othersCommit, nil
	}
	p.GTID = written
	return p, "", nil
}

// quietMySQL proves that nothing was committed while the readers opened. A transaction enters the binary log, then its
// rows can be seen, then its GTID is executed; from before the first to the last it counts as committing. So if its rows
// came into sight in between, either it was committing before or after, or the position has moved.
func (r *Request) quietMySQL(ctx context.Context, side Session, open func() (string, error)) (source.Position, string, error) {
	before, err := r.Server.whereMySQL(ctx, side)
	if err != nil {
		return before, "", &voidError{"ask for the position", err}
	}
	busy, err := r.Server.committing(ctx, side)
	if err != nil {
		return before, "", &voidError{"ask for commits under way", err}
	}
	if busy {
		return before, othersCommit, nil
	}
	if disturbed, err := open(); err != nil || disturbed != "" {
		return before, disturbed, err
	}
	// In this order: what is executed after the question was not committing before it.
	if busy, err = r.Server.committing(ctx, side); err != nil {
		return before, "", &voidError{"ask for commits under way", err}
	}
	after, err := r.Server.whereMySQL(ctx, side)
	if err != nil {
		return before, "", &voidError{"ask for the position", err}
	}
	switch {
	case busy:
		return before, othersCommit, nil
	case before != after:
		return before, othersCommitted, nil
	}
	return before, "", nil
}

// prepared tells that a transaction waits for XA COMMIT, or may do so where the account cannot see it.
func (v *Server) prepared(ctx context.Context, s Session) (string, error) {
	const codeNoRight = 1401 // of MySQL 8.0, which says that the resource manager failed
	rows, err := s.Query(ctx, "XA RECOVER")
	var server *driversql.MySQLError
	if denied(err) || errors.As(err, &server) && server.Number == codeNoRight {
		// Then the statements tell, whatever became of them.
		counts, err := s.Query(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_xa_prepare', 'Com_xa_commit') AND Value <> '0'")
		if err != nil {
			return "", &voidError{"ask for statements of XA", err}
		}
		if len(counts) > 0 {
			return "XA is in use, and the account cannot see what is prepared: " + v.grant("XA_RECOVER_ADMIN"), nil
		}
		return "", nil
	}
	if err != nil {
		return "", &voidError{"ask for prepared transactions", err}
	}
	if len(rows) > 0 {
		return fmt.Sprintf("%d transactions are prepared and wait for XA COMMIT or XA ROLLBACK, such as %q", len(rows), rows[0]["data"]), nil
	}
	return "", nil
}
