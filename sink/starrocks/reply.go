package starrocks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tributary-lake/tributary/sink"
)

// reply is what nodes of all kinds answer: stream loads and transactions spell their keys alike, the rest in lower case.
type reply struct {
	Status            string `json:"Status"`
	Message           string `json:"Message"`
	Label             string `json:"Label"`
	TxnID             int64  `json:"TxnId"`
	ExistingJobStatus string `json:"ExistingJobStatus"`
	TotalRows         int64  `json:"NumberTotalRows"`
	LoadedRows        int64  `json:"NumberLoadedRows"`
	FilteredRows      int64  `json:"NumberFilteredRows"`
	UnselectedRows    int64  `json:"NumberUnselectedRows"`
	LoadBytes         int64  `json:"LoadBytes"`
	ErrorURL          string `json:"ErrorURL"`
	// State and Reason are those of a label; older front ends have it in Data.
	State  string `json:"state"`
	Data   string `json:"data"`
	Reason string `json:"reason"`
	Msg    string `json:"msg"`
	// from is the URL that answered.
	from string
}

func parseReply(body []byte) (reply, error) {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("%w in %q", err, clip(string(body)))
	}
	if r.Message == "" {
		r.Message = r.Msg
	}
	if r.Status == "" && r.State == "" && r.Data == "" {
		return r, fmt.Errorf("neither a status nor a state in %q", clip(string(body)))
	}
	return r, nil
}

// clip keeps a page of HTML out of errors.
func clip(text string) string {
	const enough = 200
	if len(text) > enough {
		return text[:enough] + "…"
	}
	return text
}

// outcome is what a reply says of the request.
type outcome uint8

const (
	// done: it did what was asked.
	done outcome = iota
	// later: committed, and not seen by all nodes yet.
	later
	// taken: the label is in use, or was.
	taken
	// gone: there is no such transaction any more.
	gone
	// working: another request of the transaction is at work; this one was not looked at.
	working
	// busy: the server takes no more of it now.
	busy
	// rejected: it will never take this.
	rejected
	// denied: the account may not.
	denied
	// failed: none of these. What became of the label must be asked.
	failed
)

// read tells what a reply means. Where the status alone does not tell, as with a plain Fail, the message is looked at: the
// server gives nothing else.
func (r reply) read() outcome {
	switch status := strings.ToUpper(r.Status); status {
	case "SUCCESS", "OK":
		return done
	case "PUBLISH TIMEOUT", "PUBLISH_TIMEOUT":
		return later
	case "LABEL ALREADY EXISTS", "LABEL_ALREADY_EXISTS":
		return taken
	case "TXN_NOT_EXISTS", "ABORTED":
		return gone
	case "TXN_IN_PROCESSING":
		return working
	}
	text := strings.ToLower(r.Message)
	for _, m := range messages {
		if strings.Contains(text, m.part) {
			return m.means
		}
	}
	return failed
}

// messages of statuses that say no more than that it failed, the more special first.
var messages = []struct {
	part  string
	means outcome
}{
	{"has already been used", taken}, // front ends from 3.3 on, with Fail as the status
	{"label already exists", taken},
	{"txn_in_processing", working},
	{"publish timeout", failed}, // it may be committed
	{"txn_not_exists", gone},
	{"not exists", gone},
	{"transcation not exist", gone}, // so spelled
	{"no transaction found", gone},
	{"aborted", gone},
	{"too many filtered rows", rejected},
	{"exceed the max size", rejected},
	{"payload size", rejected},
	{"memory", busy},
	{"exceed limit", rejected}, // the body's size
	{"primary key size exceed", rejected},
	{"only primary key table support", rejected},
	{"load request not equal last", rejected},
	{"unknown data format", rejected},
	{"unknown table", rejected},
	{"unknown database", rejected},
	{"does not exist", rejected},
	{"access denied", denied},
	{"no valid basic authorization", denied},
	{"too many versions", busy},
	{"too many tablet versions", busy},
	{"current running txns on db", busy},
	{"please try again later", busy},
	{"please retry later", busy},
	{"no backend alive", busy},
	{"no backend available", busy},
}

// class of the error that an outcome is.
func (o outcome) class() error {
	switch o {
	case gone:
		return sink.ErrLost
	case busy, working:
		return sink.ErrBusy
	case rejected:
		return sink.ErrRefused
	case denied:
		return sink.ErrDenied
	default:
		return sink.ErrDoubt
	}
}

// problem is the error that a reply is, with the first lines of the error log.
func (c *Client) problem(ctx context.Context, r request, a reply, class error) *Error {
	e := r.fail(a.from, class, a.Message)
	e.Status = a.Status
	if a.ErrorURL != "" && c.config.ShowRows {
		e.Lines = c.errorLog(ctx, a.ErrorURL)
	} else if a.ErrorURL != "" {
		e.Message += "; the rows are in " + a.ErrorURL
	}
	return e
}

// errorLog reads the first lines. It is for people: that it cannot be read is said in its place.
func (c *Client) errorLog(ctx context.Context, at string) []string {
	const most = 5
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return []string{"the error log has no address"}
	}
	u.User = nil
	r := request{op: "read the error log", method: http.MethodGet}
	status, body, _, err := c.hop(ctx, r, u.String())
	if err != nil || status != http.StatusOK {
		return []string{"the error log cannot be read at " + at}
	}
	lines := strings.Split(strings.TrimRight(string(body), "\n"), "\n")
	for i := range lines {
		lines[i] = clip(lines[i])
	}
	return lines[:min(len(lines), most)]
}
