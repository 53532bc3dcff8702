package starrocks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/sink"
	"github.com/tributary-lake/tributary/sink/starrocks/encode"
)

// UnitOptions say where the rows of a unit go and how.
type UnitOptions struct {
	Table sink.Table
	// Label of the attempt. Nobody else may use it: see [Label].
	Label  string
	Format encode.Format
	// Compression of bodies.
	Compression encode.Compression
	// Rows and Bytes end a load, whichever comes first; 10,240 rows and 64 MiB when zero.
	Rows  int
	Bytes int
}

const (
	defaultRows  = 10_240
	defaultBytes = 64 << 20
)

// Unit is one attempt at a unit: a transaction that is begun with the first row, so that an empty unit has none. When it fails, its
// rows will not be seen by anybody, and the attempt must be made again under another label. It is for one goroutine.
type Unit struct {
	client *Client
	o      UnitOptions
	body   []byte
	start  int // of the first row in body
	rows   int // in body
	part   sink.Part
	begun  bool
	ended  bool
	failed error
}

// NewUnit asks nobody yet.
func (c *Client) NewUnit(o UnitOptions) (*Unit, error) {
	if o.Rows <= 0 {
		o.Rows = defaultRows
	}
	if o.Bytes <= 0 {
		o.Bytes = defaultBytes
	}
	if len(o.Label) > maxLabel || o.Label == "" {
		return nil, fmt.Errorf("%w: a label has 1 to %d characters: %q", sink.ErrRefused, maxLabel, o.Label)
	}
	if err := o.Compression.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", sink.ErrDenied, err)
	}
	return &Unit{client: c, o: o, part: sink.Part{Label: o.Label, Table: o.Table}}, nil
}

// Write takes the rows of a batch, which may be reused afterwards. An [encode.UncarriedError] means that the format cannot carry
// a value: the attempt must be made again with another one.
func (u *Unit) Write(ctx context.Context, b *row.Batch) error {
	if u.failed != nil || u.ended {
		return u.over("write")
	}
	for i := range b.Rows {
		if u.rows == 0 {
			u.body = u.o.Format.Begin(u.body[:0])
			u.start = len(u.body)
		}
		grown, err := u.o.Format.Row(u.body, u.start, b, i)
		if err != nil {
			return u.fail(ctx, err)
		}
		u.body = grown
		u.rows++
		if u.rows >= u.o.Rows || len(u.body) >= u.o.Bytes {
			if err := u.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Prepare makes the rows stay and returns what stands for them. A unit without rows has no part: ok is false then.
func (u *Unit) Prepare(ctx context.Context) (part sink.Part, ok bool, err error) {
	if u.failed != nil || u.ended {
		return sink.Part{}, false, u.over("prepare")
	}
	if u.rows > 0 {
		if err := u.flush(ctx); err != nil {
			return sink.Part{}, false, err
		}
	}
	if !u.begun {
		u.ended = true
		return sink.Part{}, false, nil
	}
	if err := u.prepare(ctx); err != nil {
		return sink.Part{}, false, u.fail(ctx, err)
	}
	u.ended = true
	return u.part, true, nil
}

// Abandon gives the unit up, prepared or not.
func (u *Unit) Abandon(ctx context.Context) error {
	u.ended = true
	if !u.begun {
		return nil
	}
	state, err := u.client.RollBack(ctx, u.o.Table, u.o.Label)
	if err == nil && state == sink.Committed {
		return fmt.Errorf("label %s is committed already", u.o.Label)
	}
	return err
}

func (u *Unit) over(op string) error {
	if u.failed != nil {
		return fmt.Errorf("%s: the unit has failed before: %w", op, u.failed)
	}
	return fmt.Errorf("%s: the unit has ended", op)
}

// fail ends the unit. What the server has of it is given up at once as far as one request can: else it ends by its time.
func (u *Unit) fail(ctx context.Context, err error) error {
	if errors.Is(err, sink.ErrDoubt) {
		err = fmt.Errorf("%w: %w", sink.ErrLost, err)
	}
	u.failed, u.ended = err, true
	if u.begun {
		const soon = 10 * time.Second
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
		defer cancel()
		// Whatever the answer, nobody will prepare or commit this label.
		_, _, _ = u.client.transact(ctx, "rollback", u.o.Table, u.o.Label, nil)
	}
	return err
}

func (u *Unit) flush(ctx context.Context) error {
	body := u.o.Format.End(u.body)
	data, err := u.o.Compression.Compress(body)
	if err != nil {
		return u.fail(ctx, err)
	}
	if !u.begun {
		u.begun = true // whatever comes of it, the server may know the label from now on
		if err := u.begin(ctx); err != nil {
			return u.fail(ctx, err)
		}
	}
	if err := u.load(ctx, Body{Data: data, Rows: int64(u.rows), Headers: u.o.Format.Headers(u.o.Compression)}); err != nil {
		return u.fail(ctx, err)
	}
	u.part.Rows += int64(u.rows)
	u.part.Bytes += int64(len(body))
	u.body, u.rows = u.body[:0], 0
	return nil
}

// begin opens the transaction. The label is this attempt's alone: that it is taken means that a try before came through, and
// to try again does no harm.
func (u *Unit) begin(ctx context.Context) error {
	more := map[string]string{}
	if t := u.client.config.Timeout; t > 0 {
		more["timeout"] = seconds(t)
	}
	for w := u.client.waits(); ; {
		r, a, err := u.client.transact(ctx, "begin", u.o.Table, u.o.Label, more)
		if err == nil {
			o := a.read()
			switch o {
			case done, taken:
				u.part.Transaction = a.TxnID
				return nil
			case rejected, denied, gone:
				return u.client.problem(ctx, r, a, o.class())
			case later, working, busy, failed:
				err = u.client.problem(ctx, r, a, o.class())
			}
		}
		if errors.Is(err, sink.ErrDenied) || ctx.Err() != nil {
			return err
		}
		if errors.Is(err, sink.ErrDoubt) {
			// A second begin would make the front end send what follows to another node than the one that has begun.
			state, reason, err2 := u.client.State(ctx, u.o.Table.Database, u.o.Label)
			switch {
			case err2 == nil && state == sink.Open:
				return nil
			case err2 == nil && state == sink.RolledBack:
				return fmt.Errorf("%w: label %s is rolled back: %s", sink.ErrLost, u.o.Label, reason)
			}
		}
		if !w.pause(ctx) {
			return err
		}
	}
}

// load sends a body. It is sent again only where the server cannot have taken any of it.
func (u *Unit) load(ctx context.Context, b Body) error {
	r := request{
		op: "load", label: u.o.Label, method: http.MethodPut, path: "/api/transaction/load",
		body: b.Data, headers: u.client.loadHeaders(b),
	}
	r.headers["label"], r.headers["db"], r.headers["table"] = u.o.Label, u.o.Table.Database, u.o.Table.Name
	for w := u.client.waits(); ; {
		a, err := u.client.do(ctx, r)
		again := errors.Is(err, sink.ErrUnavailable)
		if err == nil {
			o := a.read()
			if o == done {
				if a.TxnID > 0 {
					u.part.Transaction = a.TxnID
				}
				return nil
			}
			again, err = o == working, u.client.problem(ctx, r, a, o.class())
		}
		if !again || !w.pause(ctx) {
			return err
		}
	}
}

// prepare makes the rows stay, and believes only a reply that has seen all of them.
func (u *Unit) prepare(ctx context.Context) error {
	more := map[string]string{}
	if t := u.client.config.PreparedTimeout; t > 0 {
		more["prepared_timeout"] = seconds(t)
	}
	for w := u.client.waits(); ; {
		r, a, err := u.client.transact(ctx, "prepare", u.o.Table, u.o.Label, more)
		again := errors.Is(err, sink.ErrUnavailable)
		if err == nil {
			o := a.read()
			if o == done {
				if a.TxnID > 0 {
					u.part.Transaction = a.TxnID
				}
				return u.client.confirm(ctx, r, a, u.part.Rows)
			}
			again, err = o == working, u.client.problem(ctx, r, a, o.class())
		}
		if !again || !w.pause(ctx) {
			return err
		}
	}
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(max(d, time.Second)/time.Second), 10)
}
