package mysql

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/tributary-lake/tributary/source/mysql/userlock"
)

// killTimeout bounds how long a cancelled statement is waited for, that the server be told.
const killTimeout = 3 * time.Second

// guard has the server end the connection's statement when the context ends before the guard does: a client that goes
// away is not noticed before the next row is sent, which a sort may put off for hours. The caller ends the guard when
// the statement is over. It returns after the server was told; then the connection is not used again.
func (c *conn) guard(ctx context.Context) (end func()) {
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		c.kill(context.WithoutCancel(ctx))
	})
	return func() {
		if !stop() {
			c.dead = true
			<-told
		}
	}
}

// kill ends the connection's statement from a second connection, which has no slot. A server that cannot be told
// notices by itself, later.
func (c *conn) kill(ctx context.Context) {
	if c.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	dc, err := c.connector.driver.Connect(ctx)
	if err != nil {
		return
	}
	defer func() { _ = dc.Close() }()
	if e, ok := dc.(driver.ExecerContext); ok {
		_, _ = e.ExecContext(ctx, "KILL QUERY "+c.id, nil) // it may have ended meanwhile
	}
}

// IsValid tells whether the pool may keep the connection.
func (c *conn) IsValid() bool { return !c.dead && c.driverConn.IsValid() }

// ResetSession tells whether the pool may use the connection again, or has to close it: it may be gone, or others may
// wait for its slot.
func (c *conn) ResetSession(ctx context.Context) error {
	if err := c.driverConn.ResetSession(ctx); err != nil {
		return err
	}
	if due, err := userlock.Due(ctx, c, c.slotted); err != nil || due {
		return driver.ErrBadConn
	}
	return nil
}

// ExecContext runs a statement that a cancelled context ends at the server too.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer c.guard(ctx)()
	return c.driverConn.ExecContext(ctx, query, args)
}

// QueryContext runs a statement that a cancelled context ends at the server too, until its rows are closed.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	end := c.guard(ctx)
	rows, err := c.driverConn.QueryContext(ctx, query, args)
	if err != nil {
		end()
		return nil, err
	}
	return &guardedRows{Rows: rows, end: end}, nil
}

// guardedRows end the guard of their statement when they are closed.
type guardedRows struct {
	driver.Rows
	end func()
}

// Close closes the rows.
func (r *guardedRows) Close() error {
	err := r.Rows.Close()
	r.end()
	return err
}
