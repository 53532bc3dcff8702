package starrocks

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tributary-lake/tributary/sink"
)

// Config says which cluster and as whom.
type Config struct {
	// Nodes are the HTTP addresses of front ends: host:port, or with http:// or https:// before. The next one is asked when one
	// cannot be reached.
	Nodes    []string
	User     string
	Password string
	// Headers go with every load: partial_update, timezone and the like. Those that decide how rows are sent or which rows
	// count are the client's own.
	Headers map[string]string
	// Timeout is how long a transaction may take until it is prepared; the server's default, ten minutes, when zero.
	Timeout time.Duration
	// PreparedTimeout is how long one stays prepared, from StarRocks 3.5.4 on; the server's default, a day, when zero.
	PreparedTimeout time.Duration
	// Reply is how long a request may take; ten minutes when zero.
	Reply time.Duration
	// ShowRows puts the first lines of the server's error log, which hold rows, into errors about rows.
	ShowRows bool
	// Patience is how long a client waits for a server that is busy, or for a label whose outcome is open; three minutes when zero.
	Patience time.Duration
	// Pause is the first wait between two tries, doubled up to ten seconds; a fifth of a second when zero.
	Pause time.Duration
}

const (
	defaultReply    = 10 * time.Minute
	defaultPatience = 3 * time.Minute
	defaultPause    = 200 * time.Millisecond
	longestPause    = 10 * time.Second
	// willing is how long a front end may take to say where the body is to go. Java's collector can hold it up for long.
	willing = time.Minute
)

// Client speaks to one cluster. Several goroutines may use it.
type Client struct {
	config Config
	nodes  []string // URLs
	// first is the number of the node that answered last.
	first atomic.Int64
	http  *http.Client
}

// New checks the configuration; it asks nobody.
func New(c Config) (*Client, error) {
	if len(c.Nodes) == 0 {
		return nil, fmt.Errorf("%w: no nodes: give the HTTP address of a front end, such as fe1:8030", sink.ErrDenied)
	}
	client := &Client{config: withDefaults(c)}
	for _, n := range c.Nodes {
		text := n
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") || strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("%w: node %q is no host:port nor URL of a front end", sink.ErrDenied, n)
		}
		client.nodes = append(client.nodes, u.Scheme+"://"+u.Host)
	}
	for name := range c.Headers {
		if own(name) {
			return nil, fmt.Errorf("%w: the header %q is not for the configuration to set", sink.ErrDenied, name)
		}
	}
	client.http = &http.Client{
		Transport: &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			// Below this, a body goes to a front end that is slow, which has no use for it.
			ExpectContinueTimeout: willing,
			TLSHandshakeTimeout:   10 * time.Second,
			// A server may close a connection in the very moment in which it is used again, and every such request would be in
			// doubt. Front ends close them anyway, and bodies are large.
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client, nil
}

func withDefaults(c Config) Config {
	if c.Reply == 0 {
		c.Reply = defaultReply
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	if c.Pause == 0 {
		c.Pause = defaultPause
	}
	return c
}

// own tells whether a header is one that the client sets, or that would change which rows count.
func own(name string) bool {
	switch strings.ToLower(name) {
	case "label", "db", "table", "timeout", "prepared_timeout", "expect", "authorization", "content-length", "format", "columns", "column_separator", "row_delimiter",
		"jsonpaths", "strip_outer_array", "json_root", "compression", "content-encoding", "max_filter_ratio", "strict_mode",
		"where", "transaction_type", "channel_id", "channel_num", "enable_merge_commit", "enclose", "escape", "trim_space", "skip_header":
		return true
	}
	return false
}

// waits are growing pauses within the client's patience.
type waits struct {
	client *Client
	next   time.Duration
	until  time.Time
}

func (c *Client) waits() *waits {
	return &waits{client: c, next: c.config.Pause, until: time.Now().Add(c.config.Patience)}
}

// pause waits, and tells whether there is any patience left.
func (w *waits) pause(ctx context.Context) bool {
	if time.Now().Add(w.next).After(w.until) {
		return false
	}
	timer := time.NewTimer(w.next)
	defer timer.Stop()
	w.next = min(2*w.next, longestPause)
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
