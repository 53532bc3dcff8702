package activities

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// pipe moves batches from a reader to a writer that works beside it. Batches circulate: the reader fills one while the
// writer encodes another, and waits when none is free.
type pipe struct {
	out   out
	rows  *atomic.Int64
	bytes *atomic.Int64
}

// out is what a pipe needs of where its rows go.
type out interface {
	Write(ctx context.Context, b *row.Batch) error
	// Bytes is the size of what has been written so far.
	Bytes() int64
}

// inPipe is the number of batches on the way: one being read, one being written, one waiting.
const inPipe = 3

// copy moves the rows of one split and tells what was read.
func (p *pipe) copy(ctx context.Context, src Source, r source.Read) (source.ReadStats, error) {
	free, full := make(chan *row.Batch, inPipe), make(chan *row.Batch, inPipe)
	types := outputTypes(r.Outputs)
	for range inPipe - 1 { // the reader brings the first one itself
		free <- row.NewBatch(types)
	}
	g, reading := errgroup.WithContext(ctx)
	var stats source.ReadStats
	g.Go(func() (err error) {
		defer close(full)
		stats, err = src.Read(reading, r, func(b *row.Batch) (*row.Batch, error) {
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
	var written int64
	g.Go(func() error {
		for b := range full {
			// Files stay open from one split to the next, so they must not end with this one's context.
			if err := p.out.Write(ctx, b); err != nil {
				return err
			}
			written += int64(b.Rows)
			p.rows.Add(int64(b.Rows))
			p.bytes.Store(p.out.Bytes())
			b.Reset()
			free <- b
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return stats, err
	}
	if stats.Rows != written {
		return stats, fmt.Errorf("%w: %s: %d rows read and %d handed to the writer", ErrMismatch, r.Shard, stats.Rows, written)
	}
	return stats, nil
}

func outputTypes(outputs []source.Output) []schema.Type {
	types := make([]schema.Type, len(outputs))
	for i, o := range outputs {
		types[i] = o.Type
	}
	return types
}
