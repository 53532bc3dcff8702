package starrocks

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/tributary-lake/tributary/sink"
)

// request is one thing asked of the cluster.
type request struct {
	// op names it in errors, label is what it is about.
	op, label string
	method    string
	path      string
	query     url.Values
	headers   map[string]string
	body      []byte
}

const (
	// maxHops bounds redirects: to the leader, to a node, and what proxies add.
	maxHops = 6
	// maxReply bounds a reply: it is a page of JSON.
	maxReply = 1 << 20
)

// do asks the front ends in turn until one is reached, and follows where it points. Its errors are [Error]s.
func (c *Client) do(ctx context.Context, r request) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Reply)
	defer cancel()
	first := int(c.first.Load())
	var failed error
	for i := range c.nodes {
		n := (first + i) % len(c.nodes)
		answer, err := c.follow(ctx, r, c.nodes[n])
		if errors.Is(err, sink.ErrUnavailable) && ctx.Err() == nil {
			failed = err
			continue
		}
		c.first.Store(int64(n))
		return answer, err
	}
	return reply{}, failed
}

// follow asks one front end.
func (c *Client) follow(ctx context.Context, r request, node string) (reply, error) {
	at := node + r.path
	if len(r.query) > 0 {
		at += "?" + r.query.Encode()
	}
	var been []string
	for {
		if slices.Contains(been, at) || len(been) == maxHops {
			// Whoever sends in a circle has done nothing.
			return reply{}, r.fail(at, sink.ErrUnavailable, fmt.Sprintf("redirected in a circle, or more than %d times: look at the addresses that the nodes give of themselves", maxHops))
		}
		been = append(been, at)
		status, body, next, err := c.hop(ctx, r, at)
		switch {
		case err != nil:
			return reply{}, err
		case next != "":
			at = next
			continue
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			return reply{}, r.fail(at, sink.ErrDenied, fmt.Sprintf("HTTP %d for user %q", status, c.config.User))
		case status == http.StatusNotFound:
			return reply{}, r.fail(at, sink.ErrDenied, "HTTP 404: this is no StarRocks, or one without this interface")
		case status != http.StatusOK:
			return reply{}, r.fail(at, sink.ErrDoubt, fmt.Sprintf("HTTP %d", status))
		}
		answer, err := parseReply(body)
		if err != nil {
			return reply{}, r.fail(at, sink.ErrDoubt, fmt.Sprintf("a reply that is not understood: %v", err))
		}
		answer.from = at
		return answer, nil
	}
}

// hop makes one request. A redirect is in next.
func (c *Client) hop(ctx context.Context, r request, at string) (status int, body []byte, next string, err error) {
	req, err := http.NewRequestWithContext(ctx, r.method, at, bytes.NewReader(r.body))
	if err != nil {
		return 0, nil, "", r.fail(at, sink.ErrDenied, "no address of a node")
	}
	for k, v := range r.headers {
		req.Header.Set(k, v)
	}
	req.SetBasicAuth(c.config.User, c.config.Password)
	if r.method != http.MethodGet {
		req.Header.Set("Expect", "100-continue")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, "", r.fail(at, unanswered(err), withoutURL(err).Error())
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusTemporaryRedirect {
		u, err := resp.Location()
		if err != nil {
			return 0, nil, "", r.fail(at, sink.ErrDoubt, "a redirect to nowhere")
		}
		u.User = nil
		return resp.StatusCode, nil, u.String(), nil
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return 0, nil, "", r.fail(at, sink.ErrDoubt, "the reply broke off: "+withoutURL(err).Error())
	}
	return resp.StatusCode, body, "", nil
}

// unanswered is the class of an error without a reply: what could not be sent was not done.
func unanswered(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return sink.ErrUnavailable
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return sink.ErrUnavailable
	}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return sink.ErrDenied
	}
	return sink.ErrDoubt
}

// withoutURL takes off what the error says of the request, since [Error] says it too.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
