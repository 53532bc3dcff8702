package hdfs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/colinmarc/hdfs/v2"

	"github.com/tributary-lake/tributary/lake/fileio"
)

const (
	// connections to the name node of one cluster: the library sends one request at a time on each.
	connections = 4
	// sessionAge is when a connection is made anew, so that keys which the library fetches once, and tickets, do not grow old.
	sessionAge = time.Hour
	// patience is how long is tried again what may pass: a name node that restarts, or another that takes over.
	patience = 45 * time.Second
	// firstPatience is the same as long as the cluster has never answered.
	firstPatience = 10 * time.Second
)

// Client speaks to clusters with one set of settings. Its methods may be called at the same time.
type Client struct {
	config Config
	site   *site

	mu       sync.Mutex
	clusters map[string]*cluster // by authority
}

// NewClient makes a client. Nothing is sent; the files that the configuration names are read.
func NewClient(c Config) (*Client, error) {
	s, err := load(c)
	if err != nil {
		return nil, fmt.Errorf("hdfs settings: %w", err)
	}
	return &Client{config: c, site: s, clusters: map[string]*cluster{}}, nil
}

// Store returns the store below an address: hdfs://host:port/path, hdfs://host/path, or hdfs://service/path with a name service
// of the configuration. Percent signs stand for themselves, as in Paimon's paths.
func (c *Client) Store(uri string) (*Store, error) {
	rest, ok := strings.CutPrefix(uri, "hdfs://")
	authority, root, _ := strings.Cut(rest, "/")
	if !ok || authority == "" || strings.ContainsAny(authority, "@?#") {
		return nil, fmt.Errorf("hdfs store %q: want hdfs://host:port/path or hdfs://service/path", uri)
	}
	clean, err := fileio.CleanFolder(strings.Trim(root, "/"))
	if err != nil {
		return nil, fmt.Errorf("hdfs store hdfs://%s: %w", authority, err)
	}
	options, err := c.site.options(c.config, authority)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.clusters[authority]
	if k == nil {
		k = &cluster{config: c.config, site: c.site, options: options}
		c.clusters[authority] = k
	}
	return &Store{cluster: k, authority: authority, root: clean}, nil
}

// cluster is a cluster and the connections to it.
type cluster struct {
	config  Config
	site    *site
	options hdfs.ClientOptions

	mu       sync.Mutex
	sessions [connections]*session
	next     int
	answered bool // at some time
}

// session is a connection to the name node. What it has opened is renewed and read through it.
type session struct {
	*hdfs.Client
	call    caller
	born    time.Time
	cluster *cluster
	// Guarded by the cluster's lock:
	users  int
	broken bool // nobody may begin to use it
}

// session returns a connection for one use. It takes time where it must be made.
func (k *cluster) session() (*session, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = (k.next + 1) % connections
	s := k.sessions[k.next]
	if s != nil && (s.broken || time.Since(s.born) > sessionAge) {
		k.sessions[k.next] = nil
		s.broken = true
		if s.users == 0 {
			_ = s.Close() // nothing is open on it
		}
		s = nil
	}
	if s == nil {
		var err error
		if s, err = k.connect(); err != nil {
			return nil, err
		}
		k.sessions[k.next] = s
	}
	s.users++
	return s, nil
}

func (k *cluster) connect() (*session, error) {
	options := k.options
	if options.KerberosClient != nil {
		var err error
		if options.KerberosClient, err = logIn(k.config); err != nil {
			return nil, err
		}
	}
	c, err := hdfs.NewClient(options)
	if err != nil {
		return nil, err
	}
	call, err := callerOf(c)
	if err == nil {
		_, err = c.ServerDefaults() // the library keeps them, without a lock
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &session{Client: c, call: call, born: time.Now(), cluster: k}, nil
}

// keep begins another use, for as long as a file is open.
func (s *session) keep() {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	s.users++
}

// release ends a use. After an error of the connection nobody else begins one.
func (s *session) release(err error) {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	s.users--
	if transient(err) {
		s.broken = true
	} else {
		s.cluster.answered = true
	}
	if s.broken && s.users == 0 {
		for i, other := range s.cluster.sessions {
			if other == s {
				s.cluster.sessions[i] = nil
			}
		}
		_ = s.Close() // nothing is open on it
	}
}

// once makes a call on a connection.
func (k *cluster) once(ctx context.Context, f func(s *session) error) error {
	return run(ctx, func() error {
		s, err := k.session()
		if err != nil {
			return err
		}
		err = f(s)
		s.release(err)
		return err
	})
}

// do makes a call that may be made twice, again while it fails in a way that may pass.
func (k *cluster) do(ctx context.Context, f func(s *session) error) error {
	began := time.Now()
	for failures := 1; ; failures++ {
		err := k.once(ctx, f)
		if !transient(err) || ctx.Err() != nil || !k.patient(began) {
			return err
		}
		if waited := wait(ctx, failures); waited != nil {
			return errors.Join(waited, err)
		}
	}
}

// patient tells whether it is worth trying again what has failed since a moment.
func (k *cluster) patient(began time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answered {
		return time.Since(began) < patience
	}
	return time.Since(began) < firstPatience
}

// run makes a call that takes no context. When the context ends first the call is left to itself; its connections end it.
func run(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait waits after a number of failures: 50 ms doubled each time, at most 5 s, the half of it by chance.
func wait(ctx context.Context, failures int) error {
	full := min(50*time.Millisecond<<min(max(failures-1, 0), 10), 5*time.Second)
	timer := time.NewTimer(full/2 + rand.N(full/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
