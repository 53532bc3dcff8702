package spill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/mergetree/block"
	"github.com/tributary-lake/tributary/lake/row"
)

// Scratch is memory that all files of one writer use.
type Scratch struct{ raw, packed []byte }

// File is a file of segments.
type File struct {
	store    fileio.Store
	path     string
	out      fileio.Writer
	at       int64
	segments int
	reader   fileio.Reader // nil until it is read
}

// Segment is a piece of a file: some rows.
type Segment struct {
	file   *File
	offset int64
	// size in the file, and unpacked.
	size, raw, rows int
}

// Create begins a file.
func Create(ctx context.Context, store fileio.Store, path string) (*File, error) {
	out, err := store.Create(ctx, path)
	return &File{store: store, path: path, out: out}, err
}

// Add adds the rows of a batch, which is not kept.
func (f *File) Add(b *row.Batch, s *Scratch) (Segment, error) {
	s.raw = block.Append(s.raw[:0], b)
	if n := s2.MaxEncodedLen(len(s.raw)); n < 0 {
		return Segment{}, fmt.Errorf("rows of %d bytes are more than can be spilled", len(s.raw))
	} else if cap(s.packed) < n {
		s.packed = make([]byte, n)
	}
	data := s2.Encode(s.packed[:cap(s.packed)], s.raw)
	_, err := f.out.Write(data)
	out := Segment{file: f, offset: f.at, size: len(data), raw: len(s.raw), rows: b.Rows}
	f.at += int64(len(data))
	f.segments++
	return out, err
}

// Close ends the writing.
func (f *File) Close() error { return f.out.Close() }

// Drop gives up a file that could not be written. What the store answers may be wrong: the file may be there.
func (f *File) Drop(ctx context.Context) error {
	return errors.Join(f.out.Abort(), f.store.Delete(ctx, f.path))
}

// Read reads the rows into a batch, instead of what it holds.
func (s Segment) Read(ctx context.Context, b *row.Batch, m *Scratch) error {
	f := s.file
	if f.reader == nil {
		r, err := f.store.Open(ctx, f.path)
		if err != nil {
			return err
		}
		f.reader = r
	}
	m.packed = slices.Grow(m.packed[:0], s.size)[:s.size]
	if n, err := f.reader.ReadAt(m.packed, s.offset); n < s.size {
		return fmt.Errorf("%s: %w", f.store.URI(f.path), err)
	}
	m.raw = slices.Grow(m.raw[:0], s.raw)[:s.raw]
	raw, err := s2.Decode(m.raw, m.packed)
	b.Reset()
	if err == nil {
		err = block.Read(b, raw, s.rows)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.store.URI(f.path), err)
	}
	return nil
}

// Release says that the segment is not needed any more. It removes a file of which nothing else is.
func (s Segment) Release(ctx context.Context) error {
	f := s.file
	if f.segments--; f.segments > 0 {
		return nil
	}
	var err error
	if f.reader != nil {
		err = f.reader.Close()
	}
	return errors.Join(err, f.store.Delete(ctx, f.path))
}
