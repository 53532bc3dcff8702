package temporaldev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/temporal"
)

const (
	// NoUI as Options.UIPort leaves the web UI out.
	NoUI = -1
	// Retention is how long closed workflows stay visible in a namespace made by Start. The server's own default for
	// a namespace made this way is one day, after which a demonstration would look as if it had never run.
	Retention = 30 * 24 * time.Hour

	host = "127.0.0.1"
	// startTimeout bounds the time until everything answers. A start takes under a second; a disk that is busy
	// syncing for others has been seen to stretch schema set-up to more than ten.
	startTimeout = 90 * time.Second
)

// Options says what to start. The zero value is an in-memory server on free ports with the namespace "default".
type Options struct {
	// Dir is the folder of the database, made if it is missing. Empty keeps everything in memory.
	Dir string
	// Port is the TCP port of the gRPC frontend on 127.0.0.1; 0 takes a free one.
	Port int
	// UIPort is the TCP port of the web UI on 127.0.0.1; 0 takes a free one, NoUI leaves it out.
	UIPort int
	// Namespace is made if it is missing; empty means "default".
	Namespace string
	// SearchAttributes are the custom search attributes of the namespace. Those that an existing namespace lacks are
	// added to it; one that exists with another type is an error.
	SearchAttributes map[string]enumspb.IndexedValueType
	// Logger receives the log of server and UI; nil discards it.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server is a running Temporal with its UI. Make one with Start.
type Server struct {
	namespace string
	address   string
	ui        *webUI
	temporal  temporal.Server
	lock      *dirLock
	failed    chan error
	stopOnce  sync.Once
	stopErr   error
}

// Start brings up server and UI and returns when both answer and the namespace with its search attributes is usable.
// A port that is taken is reported as a *PortInUseError, a folder that another process uses as ErrDirInUse; in every
// case of error nothing stays behind. Ending ctx ends the wait, not a server that Start has returned.
func Start(ctx context.Context, opts Options) (*Server, error) {
	opts = opts.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	s := &Server{namespace: opts.Namespace, failed: make(chan error, 1)}
	if err := s.start(ctx, opts); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, opts Options) error {
	p, err := reservePorts(ctx, opts)
	if err != nil {
		return err
	}
	defer p.release()
	s.address = p.address("frontend")

	if opts.Dir != "" {
		if s.lock, err = lockDir(opts.Dir); err != nil {
			return err
		}
	}
	store, err := openStore(opts.Dir)
	if err != nil {
		return err
	}
	if err := createNamespace(store, opts); err != nil {
		return err
	}
	if opts.UIPort != NoUI {
		if s.ui, err = newWebUI(p.takeUI(), s.address, opts.Namespace, opts.Logger); err != nil {
			return err
		}
	}
	conf := serverConfig(store, p)
	p.release()
	if s.temporal, err = startTemporal(ctx, conf, logger{out: opts.Logger, failed: s.failed}, s.failed); err != nil {
		return err
	}
	if s.ui != nil {
		s.ui.serve(s.failed)
	}
	return s.waitReady(ctx, opts)
}

// Address is the gRPC address of the frontend, host:port.
func (s *Server) Address() string { return s.address }

// UIURL is the address of the web UI for a browser, without a slash at its end; empty without a UI.
func (s *Server) UIURL() string {
	if s.ui == nil {
		return ""
	}
	return "http://" + s.ui.address()
}

// Namespace is the name of the namespace that Start made or found.
func (s *Server) Namespace() string { return s.namespace }

// Failed delivers at most one error: the first reason for which a part of the running server gave up. A server that
// has failed is no longer of use and should be stopped.
func (s *Server) Failed() <-chan error { return s.failed }

// Stop ends UI and server and gives the folder free. It may be called more than once and takes about a second.
func (s *Server) Stop() error {
	s.stopOnce.Do(func() {
		var errs []error
		if s.ui != nil {
			errs = append(errs, s.ui.close())
		}
		if s.temporal != nil {
			if err := s.temporal.Stop(); err != nil {
				errs = append(errs, fmt.Errorf("stop the Temporal server: %w", err))
			}
		}
		if s.lock != nil {
			errs = append(errs, s.lock.release())
		}
		s.stopErr = errors.Join(errs...)
	})
	return s.stopErr
}
