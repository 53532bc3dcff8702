package watermark

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	driversql "github.com/go-sql-driver/mysql"
)

const (
	// pause is longer than the server repeats a list of transactions: 100 ms after it was last asked, by anybody. Plans that ask in
	// step would keep the list old for each other, so that up to spread more is waited.
	pause  = 120 * time.Millisecond
	spread = 480 * time.Millisecond
	// patience is how long is waited for transactions to end.
	patience = 5 * time.Second
	// renewal is how long is waited for a list that is not old.
	renewal = 30 * time.Second
)

// transaction is one that was open and may have written. A number would not do: it changes with the first write.
type transaction struct {
	thread  string
	started time.Time
}

// errBlind tells that the account, or the server, does not show transactions.
var errBlind = errors.New("transactions are not shown")

// errOld ends a plan: without a list that is not old rows of open transactions would be passed over.
var errOld = errors.New("information_schema.innodb_trx stays old: the server renews it only when nobody has asked for 100 ms, so another program asks all the time: let it ask less often")

const codeSpecificDenied = 1227

// open lists the transactions of others that may have written something that is not visible yet. Those that only read, or that have
// done nothing so far, have not.
func (p *planner) open(ctx context.Context) ([]transaction, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, renewal, errOld)
	defer cancel()
	for {
		found, fresh, err := p.list(ctx)
		if err != nil || fresh {
			return found, err
		}
		if err := wait(ctx); err != nil {
			return nil, err
		}
	}
}

// list is fresh when it shows the very statement that asks for it.
func (p *planner) list(ctx context.Context) (found []transaction, fresh bool, err error) {
	if _, err := p.conn.ExecContext(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
		return nil, false, err
	}
	defer func() {
		_, end := p.conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
		err = errors.Join(err, end)
	}()
	mark := rand.Text()
	rows, err := p.conn.QueryContext(ctx, "SELECT /* "+mark+" */ trx_mysql_thread_id, trx_mysql_thread_id = CONNECTION_ID(), COALESCE(INSTR(trx_query, '"+mark+"'), 0) > 0,"+
		" COALESCE(DATE_FORMAT(CONVERT_TZ(trx_started, 'SYSTEM', '+00:00'), '%Y-%m-%d %H:%i:%s'), ''),"+
		" trx_is_read_only = 0 AND (trx_rows_modified > 0 OR trx_lock_structs > 0 OR trx_tables_locked > 0 OR trx_query IS NOT NULL)"+
		" FROM information_schema.innodb_trx")
	var server *driversql.MySQLError
	if errors.As(err, &server) && server.Number == codeSpecificDenied {
		return nil, false, fmt.Errorf("%w: %w", errBlind, err)
	}
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var t transaction
		var own, asking, writes bool
		var started string
		if err := rows.Scan(&t.thread, &own, &asking, &started, &writes); err != nil {
			return nil, false, err
		}
		if own {
			fresh = fresh || asking
			continue
		}
		if !writes {
			continue
		}
		if t.started, err = parseClock(started); err != nil {
			t.started = time.Unix(0, 0).UTC() // a recovered one has no time
		}
		found = append(found, t)
	}
	return found, fresh, rows.Err()
}

// ended waits until none of the transactions is open any more, and tells whether that has come.
func (p *planner) ended(ctx context.Context, which []transaction) (bool, error) {
	deadline := time.Now().Add(p.patience)
	for len(which) > 0 {
		if time.Now().After(deadline) {
			return false, nil
		}
		if err := wait(ctx); err != nil {
			return false, err
		}
		now, err := p.open(ctx)
		if err != nil {
			return false, err
		}
		still := map[transaction]bool{}
		for _, t := range now {
			still[t] = true
		}
		left := which[:0]
		for _, t := range which {
			if still[t] {
				left = append(left, t)
			}
		}
		which = left
	}
	return true, nil
}

// oldest is the beginning of the one that is open longest, zero for none.
func oldest(all []transaction) time.Time {
	var first time.Time
	for _, t := range all {
		if first.IsZero() || t.started.Before(first) {
			first = t.started
		}
	}
	return first
}

func wait(ctx context.Context) error {
	timer := time.NewTimer(pause + mathrand.N(spread))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
