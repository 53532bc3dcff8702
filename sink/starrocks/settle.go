package starrocks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tributary-lake/tributary/sink"
)

// State asks what became of a label. It is the proof of every outcome that is in doubt, as long as the server keeps the
// label: three days, and no more than a thousand finished ones of a database.
func (c *Client) State(ctx context.Context, database, label string) (sink.State, string, error) {
	r := request{
		op: "state", label: label, method: http.MethodGet,
		path: "/api/" + url.PathEscape(database) + "/get_load_state", query: url.Values{"label": {label}},
	}
	for w := c.waits(); ; {
		a, err := c.do(ctx, r)
		if err == nil {
			state, known := labelState(a)
			if known {
				return state, a.Reason, nil
			}
			class := a.read().class()
			err = c.problem(ctx, r, a, class)
		}
		if errors.Is(err, sink.ErrDenied) || errors.Is(err, sink.ErrRefused) || !w.pause(ctx) {
			return sink.Unknown, "", err
		}
	}
}

// labelState reads the state in either place that front ends have for it.
func labelState(a reply) (sink.State, bool) {
	text := a.State
	if text == "" {
		text = a.Data
	}
	switch strings.ToUpper(text) {
	case "UNKNOWN":
		return sink.Unknown, true
	case "PREPARE":
		return sink.Open, true
	case "PREPARED":
		return sink.Prepared, true
	case "COMMITTED", "VISIBLE":
		return sink.Committed, true
	case "ABORTED":
		return sink.RolledBack, true
	}
	return sink.Unknown, false
}

// transact sends begin, prepare, commit or rollback.
func (c *Client) transact(ctx context.Context, op string, t sink.Table, label string, more map[string]string) (request, reply, error) {
	r := request{
		op: op, label: label, method: http.MethodPost, path: "/api/transaction/" + op,
		headers: map[string]string{"label": label, "db": t.Database, "table": t.Name},
	}
	for k, v := range more {
		r.headers[k] = v
	}
	a, err := c.do(ctx, r)
	return r, a, err
}

// Commit makes a part visible. It may be called again and by anybody: the label's state is asked first, and after every
// reply that is no plain yes. It returns nil once the part is committed, [sink.ErrLost] when it is rolled back, [sink.ErrUnknown]
// when the server has forgotten it, and [sink.ErrDoubt] when patience ends before the server says.
func (c *Client) Commit(ctx context.Context, p sink.Part) error {
	var last error
	for w := c.waits(); ; {
		state, reason, err := c.State(ctx, p.Table.Database, p.Label)
		if err != nil {
			return fmt.Errorf("commit label %s: %w", p.Label, err)
		}
		switch state {
		case sink.Committed:
			return nil
		case sink.RolledBack:
			return fmt.Errorf("%w: label %s is rolled back: %s", sink.ErrLost, p.Label, reason)
		case sink.Unknown:
			return fmt.Errorf("%w: the server does not know label %s any more: see whether its %d rows are in %s", sink.ErrUnknown, p.Label, p.Rows, p.Table)
		case sink.Open:
			// A commit would now commit what is there at the node, in one phase and whether or not it is all.
			last = fmt.Errorf("label %s is still open", p.Label)
		case sink.Prepared:
			r, a, err := c.transact(ctx, "commit", p.Table, p.Label, nil)
			if err != nil {
				last = err
				break
			}
			switch a.read() {
			case done, later:
				return nil
			case denied:
				return c.problem(ctx, r, a, sink.ErrDenied)
			default:
				last = c.problem(ctx, r, a, sink.ErrDoubt)
			}
		}
		if !w.pause(ctx) {
			return fmt.Errorf("%w: commit label %s: %w", sink.ErrDoubt, p.Label, errors.Join(last, ctx.Err()))
		}
	}
}

// RollBack gives up a label, unless it is committed, and returns the state that it is in then: RolledBack, Committed, or
// Unknown where the server knows nothing of it. A label that only a node knew that is gone stays open until its time is over.
func (c *Client) RollBack(ctx context.Context, t sink.Table, label string) (sink.State, error) {
	var last error
	for w := c.waits(); ; {
		state, _, err := c.State(ctx, t.Database, label)
		if err != nil {
			return state, fmt.Errorf("roll back label %s: %w", label, err)
		}
		if state != sink.Open && state != sink.Prepared {
			return state, nil
		}
		r, a, err := c.transact(ctx, "rollback", t, label, nil)
		switch {
		case err != nil:
			last = err
		case a.read() == done:
			return sink.RolledBack, nil
		case a.read() == denied:
			return state, c.problem(ctx, r, a, sink.ErrDenied)
		default:
			last = c.problem(ctx, r, a, sink.ErrDoubt)
		}
		if !w.pause(ctx) {
			return state, fmt.Errorf("%w: roll back label %s: %w", sink.ErrDoubt, label, errors.Join(last, ctx.Err()))
		}
	}
}
