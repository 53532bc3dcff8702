package faultio

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// ErrInjected is the error of every operation that was made to fail.
var ErrInjected = errors.New("injected fault")

// Kind is a sort of operation.
type Kind string

// The operations that are counted. Reads of an open file and Abort are not.
const (
	Open            Kind = "open"
	Create          Kind = "create"
	Write           Kind = "write"
	Close           Kind = "close"
	CreateExclusive Kind = "create-exclusive"
	Stat            Kind = "stat"
	List            Kind = "list"
	Delete          Kind = "delete"
)

// Op is one operation on the store.
type Op struct {
	Kind Kind
	Path string
	// N counts the operations of a store from 0, in the order in which they began.
	N int
}

// Fault is what happens to an operation.
type Fault int

const (
	// None lets the operation be.
	None Fault = iota
	// FailBefore reports a failure and does nothing.
	FailBefore
	// FailAfter does the operation and reports a failure.
	FailAfter
	// Block does nothing and answers only when the context ends.
	Block
)

type store struct {
	fileio.Store
	choose func(Op) Fault
	n      atomic.Int64
}

// New wraps a store; choose says for each operation what happens to it, and may be called at the same time.
func New(s fileio.Store, choose func(Op) Fault) fileio.Store {
	return &store{Store: s, choose: choose}
}

// run does one operation under the fault chosen for it.
func (s *store) run(ctx context.Context, kind Kind, path string, do func() error) error {
	op := Op{Kind: kind, Path: path, N: int(s.n.Add(1) - 1)}
	injected := fmt.Errorf("%s %s (operation %d): %w", kind, path, op.N, ErrInjected)
	switch s.choose(op) {
	case FailBefore:
		return injected
	case FailAfter:
		if err := do(); err != nil {
			return err
		}
		return injected
	case Block:
		<-ctx.Done()
		return fmt.Errorf("%s %s (operation %d): %w", kind, path, op.N, ctx.Err())
	case None:
	}
	return do()
}

func (s *store) Open(ctx context.Context, path string) (r fileio.Reader, err error) {
	err = s.run(ctx, Open, path, func() (err error) {
		r, err = s.Store.Open(ctx, path)
		return err
	})
	if err != nil && r != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, err
}

func (s *store) Create(ctx context.Context, path string) (w fileio.Writer, err error) {
	err = s.run(ctx, Create, path, func() (err error) {
		w, err = s.Store.Create(ctx, path)
		return err
	})
	if err != nil && w != nil {
		return nil, errors.Join(err, w.Abort())
	}
	if err != nil {
		return nil, err
	}
	return &writer{Writer: w, ctx: ctx, store: s, path: path}, nil
}

func (s *store) CreateExclusive(ctx context.Context, path string, data []byte) error {
	return s.run(ctx, CreateExclusive, path, func() error { return s.Store.CreateExclusive(ctx, path, data) })
}

func (s *store) Stat(ctx context.Context, path string) (info fileio.Info, err error) {
	err = s.run(ctx, Stat, path, func() (err error) {
		info, err = s.Store.Stat(ctx, path)
		return err
	})
	return info, err
}

func (s *store) List(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	return s.run(ctx, List, folder, func() error { return s.Store.List(ctx, folder, fn) })
}

// Folders implements fileio.FolderLister and counts as a List.
func (s *store) Folders(ctx context.Context, folder string) (names []string, err error) {
	err = s.run(ctx, List, folder, func() (err error) {
		names, err = fileio.Folders(ctx, s.Store, folder)
		return err
	})
	return names, err
}

func (s *store) Delete(ctx context.Context, path string) error {
	return s.run(ctx, Delete, path, func() error { return s.Store.Delete(ctx, path) })
}

type writer struct {
	fileio.Writer
	ctx   context.Context //nolint:containedctx // a writer lives within the call that its Create was made for
	store *store
	path  string
}

func (w *writer) Write(p []byte) (n int, err error) {
	err = w.store.run(w.ctx, Write, w.path, func() (err error) {
		n, err = w.Writer.Write(p)
		return err
	})
	return n, err
}

// Close gives the file up when it fails before its work, as a store does whose own Close fails.
func (w *writer) Close() error {
	done := false
	err := w.store.run(w.ctx, Close, w.path, func() error {
		done = true
		return w.Writer.Close()
	})
	if !done {
		return errors.Join(err, w.Writer.Abort())
	}
	return err
}
