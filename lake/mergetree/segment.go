package mergetree

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sort"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
)

// Segment is a part of a sorted source that can be read alone, and the keys of its first and last row, in a form in which they
// compare byte by byte as the keys do. It may be kept as JSON.
type Segment struct {
	Run
	First []byte `json:"first"`
	Last  []byte `json:"last"`
}

// KeyRange is the keys from From, included, to To, not included, in the form of [Segment]. Nil is no bound.
type KeyRange struct {
	From []byte `json:"from,omitempty"`
	To   []byte `json:"to,omitempty"`
}

// all tells whether the range leaves no key out.
func (k KeyRange) all() bool { return k.From == nil && k.To == nil }

// Holds tells whether some key between that of a segment's first row and that of its last lies in the range.
func (k KeyRange) Holds(s Segment) bool {
	return (k.From == nil || bytes.Compare(s.Last, k.From) >= 0) && (k.To == nil || bytes.Compare(s.First, k.To) < 0)
}

// WriteSegments writes all rows of a source as segments of about the given size in memory, one behind the other at an offset
// of the file of that path, where out stands. It closes the source.
func WriteSegments(ctx context.Context, spec *Spec, out io.Writer, path string, offset int64, s Source, size int) (_ []Segment, err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	var segments []Segment
	var w, before *RunWriter
	var now Segment
	end := func() error {
		if w == nil {
			return nil
		}
		run, err := w.Close()
		now.Run = run
		segments, before, w = append(segments, now), w, nil
		offset += run.Size
		return err
	}
	k, b, held := newKeyer(spec), spec.NewBatch(), 0
	for {
		err := s.Next(ctx, b)
		if errors.Is(err, io.EOF) {
			return segments, end()
		}
		if err != nil {
			return nil, err
		}
		if w == nil {
			w, now, held = NewRunWriter(spec, out, path, offset), Segment{First: k.one(b, 0)}, 0
			if before != nil {
				w.raw, w.buf = before.raw, before.buf
			}
		}
		if err := w.Write(b); err != nil {
			return nil, err
		}
		now.Last = k.one(b, b.Rows-1)
		if held += b.Size(); held >= size {
			if err := end(); err != nil {
				return nil, err
			}
		}
	}
}

// one is the key of a row as bytes.
func (k *keyer) one(b *row.Batch, i int) []byte {
	var key []byte
	if k.bits == 0 {
		for _, c := range k.columns {
			key = c.append(key, &b.Columns[c.at], i)
		}
		return key
	}
	var prefix [1]uint64
	for _, c := range k.columns {
		c.shiftIn(prefix[:], &b.Columns[c.at], i)
	}
	return binary.BigEndian.AppendUint64(key, prefix[0])
}

// segments is a source of segments that were one source, as far as a range of keys goes. One is open at a time.
type segments struct {
	Source
	keyer *keyer
	keys  KeyRange
	spare *row.Batch
	read  *int64 // is told of rows that are given
}

func openSegments(spec *Spec, store fileio.Store, list []Segment, keys KeyRange, shared *scratch, read *int64) Source {
	var open []func(ctx context.Context) (Source, error)
	for _, s := range list {
		if keys.Holds(s) {
			open = append(open, func(ctx context.Context) (Source, error) { return openRun(ctx, spec, store, s.Run, shared) })
		}
	}
	return &segments{Source: Chain(open...), keyer: newKeyer(spec), keys: keys, spare: spec.NewBatch(), read: read}
}

func (s *segments) Next(ctx context.Context, b *row.Batch) error {
	for {
		if err := s.Source.Next(ctx, b); err != nil {
			return err
		}
		if !s.keys.all() {
			s.cut(b)
		}
		if b.Rows > 0 {
			*s.read += int64(b.Rows)
			return nil
		}
	}
}

// cut leaves only the rows of the range in a batch.
func (s *segments) cut(b *row.Batch) {
	from, to := 0, b.Rows
	if s.keys.From != nil {
		from = s.before(b, s.keys.From)
	}
	if s.keys.To != nil {
		to = s.before(b, s.keys.To)
	}
	if from == 0 && to == b.Rows {
		return
	}
	s.spare.Reset()
	if from < to {
		for c := range b.Columns {
			appendRange(&s.spare.Columns[c], &b.Columns[c], from, to)
		}
		s.spare.Rows = to - from
	}
	*b, *s.spare = *s.spare, *b
}

// before is the number of rows whose key is less than one.
func (s *segments) before(b *row.Batch, key []byte) int {
	return sort.Search(b.Rows, func(i int) bool { return bytes.Compare(s.keyer.one(b, i), key) >= 0 })
}
