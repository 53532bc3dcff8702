package hdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// attempts at a rename for which no witness was found.
const attempts = 10

// CreateExclusive implements fileio.Store: the file is written whole beside its place, and renamed if the place is free.
func (s *Store) CreateExclusive(ctx context.Context, p string, data []byte) error {
	clean, err := s.file(ctx, "create", p)
	if err != nil {
		return err
	}
	m, err := s.put(ctx, clean, data)
	if err != nil {
		return s.wrap("create", clean, err)
	}
	won, err := s.settle(ctx, clean, data, m)
	if !won {
		s.forget(ctx, m.path)
	}
	return err
}

// settle renames until it is known who won. Whatever but success is answered, the file is read: only that tells. renamed tells
// that the temporary file is gone.
func (s *Store) settle(ctx context.Context, p string, data []byte, m *made) (renamed bool, err error) {
	for failures := 1; ; failures++ {
		sent := s.cluster.once(ctx, func(c *session) error { return c.call.rename(s.name(m.path), s.name(p), false) })
		if sent == nil {
			return true, nil
		}
		if err := ctx.Err(); err != nil {
			return false, s.wrap("create", p, errors.Join(err, sent))
		}
		same, err := s.holds(ctx, p, data)
		switch {
		case err == nil && same:
			return false, nil
		case err == nil:
			return false, fmt.Errorf("create %s: %w", s.URI(p), fileio.ErrExist)
		case !errors.Is(err, fileio.ErrNotExist):
			return false, s.wrap("create", p, errors.Join(sent, err))
		}
		// There is no file. No answer came, or the one who had won is gone already; anything else is final.
		if !transient(sent) && !taken(sent) || failures == attempts {
			return false, s.wrap("create", p, sent)
		}
		if err := wait(ctx, failures); err != nil {
			return false, s.wrap("create", p, errors.Join(err, sent))
		}
	}
}

// holds tells whether a file has exactly these bytes.
func (s *Store) holds(ctx context.Context, p string, data []byte) (bool, error) {
	r, err := s.Open(ctx, p)
	if err != nil {
		return false, err
	}
	defer func() { _ = r.Close() }() // it was only read from
	if r.Size() != int64(len(data)) {
		return false, nil
	}
	there := make([]byte, len(data))
	if n, err := r.ReadAt(there, 0); err != nil && !(errors.Is(err, io.EOF) && n == len(data)) {
		return false, err
	}
	return bytes.Equal(there, data), nil
}
