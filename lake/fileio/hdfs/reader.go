package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/colinmarc/hdfs/v2"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/window"
)

const (
	// chunkBytes are read by one call.
	chunkBytes = 1 << 20
	// idleStreams of a reader stay open for whoever goes on where they are.
	idleStreams = 4
)

// reader reads a file at any place, by several streams, each at a place of its own.
type reader struct {
	*window.Reader
	ctx    context.Context //nolint:containedctx // io.ReaderAt has none; a reader lives within the call that its Open was made for
	store  *Store
	path   string
	size   int64
	number uint64

	mu     sync.Mutex
	idle   []*stream // the one used last last
	closed bool
}

// stream is an open file. One call at a time uses it.
type stream struct {
	*hdfs.FileReader
	session *session
	at      int64
}

func (s *stream) end(err error) {
	_ = s.Close() // it was only read from
	s.session.release(err)
}

// Open implements fileio.Store.
func (s *Store) Open(ctx context.Context, p string) (fileio.Reader, error) {
	clean, err := s.file(ctx, "open", p)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, store: s, path: clean}
	if err := s.cluster.do(ctx, func(c *session) error {
		first, err := r.stream(c)
		if err == nil {
			r.put(first)
		}
		return err
	}); err != nil {
		return nil, errors.Join(s.wrap("open", clean, err), r.Close())
	}
	r.Reader = window.New(r.size, nil, r.fetch)
	return r, nil
}

// stream opens the file, which must be the one that was opened first.
func (r *reader) stream(c *session) (*stream, error) {
	info, err := c.call.stat(r.store.name(r.path))
	if err == nil && isFolder(info) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	f, err := c.Client.Open(r.store.name(r.path))
	if err != nil {
		return nil, err
	}
	status, ok := f.Stat().Sys().(*hdfs.FileStatus)
	if !ok {
		return nil, errLibrary
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.number == 0 {
		r.number, r.size = status.GetFileId(), int64(status.GetLength())
	}
	if r.number != status.GetFileId() {
		return nil, fmt.Errorf("%w: another file took its place while it was read", errFinal)
	}
	c.keep()
	return &stream{FileReader: f, session: c}, nil
}

// take returns a stream that goes on at an offset, or nil.
func (r *reader) take(off int64) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, s := range r.idle {
		if s.at == off {
			r.idle = append(r.idle[:i], r.idle[i+1:]...)
			return s
		}
	}
	return nil
}

// put keeps a stream for the next read, in place of the one that waits longest.
func (r *reader) put(s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		s.end(nil)
		return
	}
	if r.idle = append(r.idle, s); len(r.idle) > idleStreams {
		r.idle[0].end(nil)
		r.idle = r.idle[1:]
	}
}

// Size implements fileio.Reader.
func (r *reader) Size() int64 { return r.size }

// Close implements io.Closer.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, s := range r.idle {
		s.end(nil)
	}
	r.idle = nil
	return nil
}

// ReadAt implements io.ReaderAt.
func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read %s: offset %d", r.store.URI(r.path), off)
	}
	n, err := r.Reader.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, r.store.wrap("read", r.path, err)
	}
	return n, err
}

// fetch reads a range that lies within the file.
func (r *reader) fetch(p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) {
		// A call that is left to itself must not write into memory that is not the reader's.
		got := make(chan []byte, 1)
		at, n := off+int64(done), min(len(p)-done, chunkBytes)
		err := r.store.cluster.do(r.ctx, func(c *session) error {
			data := make([]byte, n)
			err := r.chunk(c, data, at)
			if err == nil {
				got <- data
			}
			return err
		})
		if err != nil {
			return done, err
		}
		done += copy(p[done:], <-got)
	}
	return done, nil
}

// chunk reads a range by a stream that goes on there, or by another one that is opened. The library tries one data node after
// the other.
func (r *reader) chunk(c *session, data []byte, at int64) error {
	s := r.take(at)
	if s == nil {
		var err error
		if s, err = r.stream(c); err != nil {
			return err
		}
	}
	if _, err := s.ReadAt(data, at); err != nil {
		s.end(err)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	s.at = at + int64(len(data))
	r.put(s)
	return nil
}
