package pipe

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// Out takes batches, of which it keeps nothing.
type Out interface {
	Write(ctx context.Context, b *row.Batch) error
	// Bytes is the size of what has been written so far.
	Bytes() int64
}

// Read reads a split: it hands each full batch to emit, which gives an empty one of the same columns for it.
type Read func(ctx context.Context, r source.Read, emit func(full *row.Batch) (empty *row.Batch, err error)) (source.ReadStats, error)

// Pipe moves batches from a reader to a writer that works beside it. Batches circulate: the reader fills one while the
// writer encodes another, and waits when none is free.
type Pipe struct {
	Out Out
	// Rows and Bytes are counted up as they are written.
	Rows, Bytes *atomic.Int64
	// Sum takes the checksum of the rows as they come from the reader, when it is asked for.
	Sum *row.Checksum
	// told is what was added to Bytes already.
	told int64
}

// Batches is the number of batches on the way: one being read, one being written, one waiting.
const Batches = 3

// Copy moves the rows of one split, and tells what was read and how many rows were handed to the writer.
func (p *Pipe) Copy(ctx context.Context, from Read, r source.Read) (stats source.ReadStats, written int64, err error) {
	free, full := make(chan *row.Batch, Batches), make(chan *row.Batch, Batches)
	types := outputTypes(r.Outputs)
	for range Batches - 1 { // the reader brings the first one itself
		free <- row.NewBatch(types)
	}
	g, reading := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		defer close(full)
		stats, err = from(reading, r, func(b *row.Batch) (*row.Batch, error) {
			if p.Sum != nil {
				p.Sum.Add(b)
			}
			full <- b // never waits: there are no more batches than room
			select {
			case next := <-free:
				return next, nil
			case <-reading.Done():
				return nil, context.Cause(reading)
			}
		})
		return err
	})
	g.Go(func() error {
		for b := range full {
			// Files stay open from one split to the next, so they must not end with this one's context.
			if err := p.Out.Write(ctx, b); err != nil {
				return err
			}
			written += int64(b.Rows)
			p.Rows.Add(int64(b.Rows))
			bytes := p.Out.Bytes()
			p.Bytes.Add(bytes - p.told)
			p.told = bytes
			b.Reset()
			free <- b
		}
		return nil
	})
	err = g.Wait()
	return stats, written, err
}

func outputTypes(outputs []source.Output) []schema.Type {
	types := make([]schema.Type, len(outputs))
	for i, o := range outputs {
		types[i] = o.Type
	}
	return types
}
