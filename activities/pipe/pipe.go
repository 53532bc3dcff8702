package pipe

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/tally"
)

// Out takes batches, of which it keeps nothing, within some memory.
type Out interface {
	Write(ctx context.Context, b *row.Batch) error
	// Bytes is the size of what has been written so far.
	Bytes() int64
	// SetMemory changes how many bytes of rows may be held, and gives back what is held beyond that.
	SetMemory(ctx context.Context, bytes int) error
}

// Read reads a split: it hands each full batch to emit, which gives an empty one of the same columns for it.
type Read func(ctx context.Context, r source.Read, emit func(full *row.Batch) (empty *row.Batch, err error)) (source.ReadStats, error)

// Pipe moves batches from a reader to a writer that works beside it.
type Pipe struct {
	Out   Out
	Share *budget.Share
	// Rows and Bytes are counted up as they are written.
	Rows, Bytes *atomic.Int64
	// Sum takes the checksum of the rows as they come from the reader, when it is asked for.
	Sum *row.Checksum
	// Tally takes what is compared with the server's own sum, when that is asked for.
	Tally *tally.Adder
	// told is what was added to Bytes already.
	told int64
}

const (
	// Batches is the number of batches on the way: one being read, one being written, one waiting.
	Batches = 3
	// inBatches is the part of a share that they may take, as a divisor.
	inBatches = 6
	// copies is how often a large row is in memory at most: as it came or as it is compressed, in a batch, in a page.
	copies = 3
	// muchGarbage is what is worth a collection of its own, as the collector comes only when the limit is reached.
	muchGarbage = 8 << 20
)

// full is a batch on its way to the writer, with the bytes that were taken for its only row.
type full struct {
	batch *row.Batch
	taken int64
}

// Copy moves the rows of one split, and tells what was read and how many rows were handed to the writer.
func (p *Pipe) Copy(ctx context.Context, from Read, r source.Read) (stats source.ReadStats, written int64, err error) {
	free, ready := make(chan *row.Batch, Batches), make(chan full, Batches)
	types := outputTypes(r.Outputs)
	for range Batches - 1 { // the reader brings the first one itself
		free <- row.NewBatch(types)
	}
	if err := p.keep(ctx, free, types); err != nil {
		return stats, 0, err
	}
	g, reading := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		defer close(ready)
		taken := int64(0)
		r.Room = func(bytes int, more bool) error {
			n := copies * int64(bytes)
			taken += n
			return p.Share.Take(reading, n, more)
		}
		stats, err = from(reading, r, func(b *row.Batch) (*row.Batch, error) {
			if p.Sum != nil {
				p.Sum.Add(b)
			}
			if p.Tally != nil {
				p.Tally.Add(b)
			}
			ready <- full{b, taken} // never waits: there are no more batches than room
			taken = 0
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
		for {
			select {
			case <-p.Share.Pressed():
				if err := p.keep(ctx, free, types); err != nil {
					return err
				}
			case f, ok := <-ready:
				if !ok {
					return nil
				}
				// Files stay open from one split to the next, so they must not end with this one's context.
				if err := p.write(ctx, f); err != nil {
					return err
				}
				written += int64(f.batch.Rows)
				f.batch.Reset()
				free <- f.batch
			}
		}
	})
	err = g.Wait()
	return stats, written, err
}

// forOut is what is left of a share beside the batches on the way.
func forOut(limit int64) int { return int(limit - limit/inBatches) }

// keep makes the writer keep to what its share allows now, and gives up the memory of batches that are not in use.
func (p *Pipe) keep(ctx context.Context, free chan *row.Batch, types []schema.Type) error {
	for range len(free) {
		select {
		case <-free:
			free <- row.NewBatch(types)
		default: // the reader was faster
		}
	}
	if err := p.Out.SetMemory(ctx, forOut(p.Share.Limit())); err != nil {
		return err
	}
	p.Share.Keeps()
	return nil
}

// write writes a batch. What was taken for a large row is given back once nothing of the row is held any more.
func (p *Pipe) write(ctx context.Context, f full) error {
	if f.taken > muchGarbage {
		runtime.GC() // the row as it came is in no use any more
	}
	if err := p.Out.Write(ctx, f.batch); err != nil {
		return err
	}
	p.Rows.Add(int64(f.batch.Rows))
	bytes := p.Out.Bytes()
	p.Bytes.Add(bytes - p.told)
	p.told = bytes
	if f.taken == 0 {
		return nil
	}
	for i := range f.batch.Columns {
		f.batch.Columns[i].Data = nil
	}
	if f.taken > muchGarbage {
		runtime.GC()
	}
	p.Share.Give(f.taken)
	return nil
}

func outputTypes(outputs []source.Output) []schema.Type {
	types := make([]schema.Type, len(outputs))
	for i, o := range outputs {
		types[i] = o.Type
	}
	return types
}
