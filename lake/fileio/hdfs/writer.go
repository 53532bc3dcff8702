package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/colinmarc/hdfs/v2"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// pieceBytes are gathered before they are sent, a packet of HDFS. A file that is not larger is written in one go, again where
// it fails.
const pieceBytes = 64 << 10

// Create implements fileio.Store. Nothing is sent before there is more than a packet, or Close is called.
func (s *Store) Create(ctx context.Context, p string) (fileio.Writer, error) {
	clean, err := s.file(ctx, "create", p)
	if err != nil {
		return nil, err
	}
	return &writer{ctx: ctx, store: s, path: clean}, nil
}

// writer writes a temporary file and gives it its name on Close.
type writer struct {
	ctx   context.Context //nolint:containedctx // a writer lives within the call that its Create was made for
	store *Store
	path  string
	piece []byte
	ended bool

	// Of a file of more than a piece:
	made    *made
	session *session
	file    *hdfs.FileWriter
	failed  error
	// calling is closed when the last call of the library has come back.
	calling chan struct{}
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if w.ended {
		return 0, fmt.Errorf("write %s: %w", w.store.URI(w.path), fs.ErrClosed)
	}
	written := 0
	for written < len(p) {
		if len(w.piece) == pieceBytes {
			if err := w.send(); err != nil {
				return written, w.store.wrap("write", w.path, err)
			}
		}
		if w.piece == nil {
			w.piece = make([]byte, 0, pieceBytes)
		}
		n := min(len(p)-written, pieceBytes-len(w.piece))
		w.piece = append(w.piece, p[written:written+n]...)
		written += n
	}
	return written, nil
}

// send sends the piece.
func (w *writer) send() error {
	if w.failed == nil && w.file == nil {
		w.failed = w.begin()
	}
	if w.failed == nil {
		w.failed = w.call(func() error { return write(w.file, w.piece) })
	}
	if w.failed != nil {
		return w.failed
	}
	w.made.size += int64(len(w.piece))
	w.piece = w.piece[:0]
	return nil
}

// begun is a temporary file that is open.
type begun struct {
	session *session
	file    *hdfs.FileWriter
	path    string
}

// begin creates the temporary file, under a new name each time that it fails in a way that may pass.
func (w *writer) begin() error {
	got := make(chan begun, 1)
	err := w.store.cluster.do(w.ctx, func(c *session) error {
		temporary := beside(w.path)
		f, err := w.store.create(c, temporary)
		if err != nil {
			return err
		}
		c.keep()
		got <- begun{c, f, temporary}
		if w.ctx.Err() != nil { // the writer may have gone
			w.drop(got)
		}
		return w.ctx.Err()
	})
	if err != nil {
		w.drop(got)
		return err
	}
	b := <-got
	w.session, w.file, w.made = b.session, b.file, &made{path: b.path}
	return nil
}

// drop gives up a file that was begun too late, unless that was done.
func (w *writer) drop(got <-chan begun) {
	select {
	case b := <-got:
		_ = b.file.Close() // it is removed
		b.session.release(nil)
		w.store.forget(w.ctx, b.path)
	default:
	}
}

// call makes a call of the library on the open file.
func (w *writer) call(f func() error) error {
	calling := make(chan struct{})
	w.calling = calling
	return run(w.ctx, func() error {
		defer close(calling)
		return f()
	})
}

// Close implements fileio.Writer: data first, then the name.
func (w *writer) Close() error {
	if w.ended {
		return fmt.Errorf("close %s: %w", w.store.URI(w.path), fs.ErrClosed)
	}
	if err := w.publish(); err != nil {
		return w.store.wrap("close", w.path, errors.Join(err, w.giveUp()))
	}
	w.end(nil)
	return nil
}

func (w *writer) publish() error {
	if w.file == nil && w.failed == nil {
		m, err := w.store.put(w.ctx, w.path, w.piece)
		if err != nil {
			return err
		}
		w.made = m
		return w.store.replace(w.ctx, m, w.path)
	}
	if err := w.send(); err != nil {
		return err
	}
	if w.failed = w.call(func() error { return finish(w.ctx, w.file) }); w.failed != nil {
		return w.failed
	}
	w.file = nil
	if err := w.store.look(w.ctx, w.made); err != nil {
		return err
	}
	return w.store.replace(w.ctx, w.made, w.path)
}

// replace gives a temporary file its name, and any that has it away. When no answer comes, the number of the file under the name
// tells.
func (s *Store) replace(ctx context.Context, m *made, p string) error {
	var lost error
	err := s.cluster.do(ctx, func(c *session) error {
		err := c.call.rename(s.name(m.path), s.name(p), true)
		if transient(err) {
			lost = err
		}
		return err
	})
	if err == nil || lost == nil {
		return err
	}
	if info, looked := s.stat(ctx, p); looked == nil && info.GetFileId() == m.id {
		return nil
	}
	return errors.Join(err, lost)
}

// Abort implements fileio.Writer.
func (w *writer) Abort() error {
	if w.ended {
		return nil
	}
	if err := w.giveUp(); err != nil {
		return w.store.wrap("abort", w.path, err)
	}
	return nil
}

// giveUp removes what was written.
func (w *writer) giveUp() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), cleanTime)
	defer cancel()
	if w.calling != nil {
		select {
		case <-w.calling:
		case <-ctx.Done():
		}
	}
	if file := w.file; file != nil && ctx.Err() == nil {
		_ = run(ctx, file.Close) // it ends the connection to the data node; the file is removed
	}
	made := w.made
	w.end(w.failed)
	if made == nil {
		return nil
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(w.ctx), cleanTime)
	defer cancel()
	return w.store.remove(ctx, made.path)
}

// end lets go of what the writer holds.
func (w *writer) end(err error) {
	w.ended = true
	if w.session != nil {
		w.session.release(err)
	}
	w.session, w.file, w.made, w.piece = nil, nil, nil, nil
}
