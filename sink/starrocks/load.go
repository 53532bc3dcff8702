package starrocks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/tributary-lake/tributary/sink"
)

// Body is what one request loads.
type Body struct {
	Data []byte
	// Rows are in it.
	Rows int64
	// Headers tell how to read it.
	Headers map[string]string
}

// loadHeaders are those of a body, with what may not change: a row that does not fit fails the load, and NULL is only what
// was sent as NULL.
func (c *Client) loadHeaders(b Body) map[string]string {
	h := map[string]string{"timezone": "UTC"}
	maps.Copy(h, c.config.Headers)
	maps.Copy(h, b.Headers)
	h["max_filter_ratio"], h["strict_mode"] = "0", "true"
	return h
}

// Put loads a body in one request that commits at once: plain Stream Load. The label keeps it from being loaded twice, so the same
// rows must come with it whenever it is used. A label that is in use is waited for; one that is committed is not sent again; one that is
// rolled back is. When the server does not know the label after a request whose outcome is in doubt, it is an [sink.ErrUnknown].
func (c *Client) Put(ctx context.Context, t sink.Table, label string, b Body) (sink.Part, error) {
	part := sink.Part{Label: label, Table: t, Rows: b.Rows, Bytes: int64(len(b.Data))}
	r := request{
		op: "stream load", label: label, method: http.MethodPut, body: b.Data, headers: c.loadHeaders(b),
		path: "/api/" + url.PathEscape(t.Database) + "/" + url.PathEscape(t.Name) + "/_stream_load",
	}
	r.headers["label"] = label
	for w := c.waits(); ; {
		a, err := c.do(ctx, r)
		if err == nil {
			switch o := a.read(); o {
			case done, later:
				part.Transaction = a.TxnID
				return part, c.confirm(ctx, r, a, b.Rows)
			case rejected, denied:
				return part, c.problem(ctx, r, a, o.class())
			case taken, gone, working, busy, failed:
				err = c.problem(ctx, r, a, o.class())
			}
		}
		if errors.Is(err, sink.ErrDenied) {
			return part, err
		}
		again := errors.Is(err, sink.ErrUnavailable) || errors.Is(err, sink.ErrBusy)
		if !again {
			state, err2 := c.await(ctx, t, label, w)
			switch {
			case err2 != nil:
				return part, fmt.Errorf("%w, after: %w", err2, err)
			case state == sink.Committed:
				return part, nil
			case state == sink.Unknown:
				return part, fmt.Errorf("%w: the server does not know label %s: see whether its %d rows are in %s: %w", sink.ErrUnknown, label, b.Rows, t, err)
			}
		}
		if !w.pause(ctx) {
			return part, errors.Join(err, ctx.Err())
		}
	}
}

// await waits for the end of a label that is at work.
func (c *Client) await(ctx context.Context, t sink.Table, label string, w *waits) (sink.State, error) {
	for {
		state, _, err := c.State(ctx, t.Database, label)
		if err != nil || state == sink.Committed || state == sink.RolledBack || state == sink.Unknown {
			return state, err
		}
		if !w.pause(ctx) {
			return state, fmt.Errorf("%w: label %s is still %s", sink.ErrDoubt, label, state)
		}
	}
}

// confirm compares what the server counted with what was sent.
func (c *Client) confirm(ctx context.Context, r request, a reply, rows int64) error {
	if a.LoadedRows == rows && a.TotalRows == rows && a.FilteredRows == 0 && a.UnselectedRows == 0 {
		return nil
	}
	class := sink.ErrLost
	if a.FilteredRows > 0 || a.UnselectedRows > 0 {
		class = sink.ErrRefused
	}
	a.Message = fmt.Sprintf("%d rows were sent and the server counted %d: %d loaded, %d filtered, %d not selected: %s",
		rows, a.TotalRows, a.LoadedRows, a.FilteredRows, a.UnselectedRows, a.Message)
	return c.problem(ctx, r, a, class)
}
