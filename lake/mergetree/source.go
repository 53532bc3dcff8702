package mergetree

import (
	"context"
	"errors"
	"io"

	"github.com/tributary-lake/tributary/lake/row"
)

// Source is a stream of rows in merge order, in batches of [Spec.Fields]. It may hold several rows of a key where that is
// said. It is not for use by several goroutines.
type Source interface {
	// Next replaces what is in a batch by the next rows, one at least. At the end it gives io.EOF and an empty batch.
	Next(ctx context.Context, b *row.Batch) error
	// Close gives the source up, at the end or before. It may be called again.
	Close() error
}

// Chain reads sources one after the other: the files of one level, whose keys do not overlap, lowest first. Each is opened
// when the one before has ended. Whether their keys are in order is not looked at; [Merge] and [Writer] do.
func Chain(open ...func(ctx context.Context) (Source, error)) Source { return &chain{open: open} }

type chain struct {
	open []func(ctx context.Context) (Source, error)
	now  Source
}

func (c *chain) Next(ctx context.Context, b *row.Batch) error {
	for {
		if c.now == nil {
			if len(c.open) == 0 {
				b.Reset()
				return io.EOF
			}
			next, err := c.open[0](ctx)
			if err != nil {
				return err // what came with it is no source to close
			}
			c.now, c.open = next, c.open[1:]
		}
		err := c.now.Next(ctx, b)
		if !errors.Is(err, io.EOF) {
			return err
		}
		if err := c.leave(); err != nil {
			return err
		}
	}
}

func (c *chain) Close() error {
	c.open = nil
	return c.leave()
}

// leave closes the source that is open.
func (c *chain) leave() error {
	if c.now == nil {
		return nil
	}
	now := c.now
	c.now = nil
	return now.Close()
}

// Tee hands every batch to each before it passes it on. So the rows of a sorter can go into changelog files on their way
// into a merge.
func Tee(s Source, each func(ctx context.Context, b *row.Batch) error) Source {
	return &tee{Source: s, each: each}
}

type tee struct {
	Source
	each func(ctx context.Context, b *row.Batch) error
}

func (t *tee) Next(ctx context.Context, b *row.Batch) error {
	if err := t.Source.Next(ctx, b); err != nil {
		return err
	}
	return t.each(ctx, b)
}

// Renumber gives the rows of a source new sequence numbers, counting up from first. Within a key their order stays what it
// was. It is for rows whose numbers were made apart from the bucket that they go to.
func Renumber(s Source, first int64) Source { return &renumbered{Source: s, next: first} }

type renumbered struct {
	Source
	next int64
}

func (r *renumbered) Next(ctx context.Context, b *row.Batch) error {
	if err := r.Source.Next(ctx, b); err != nil {
		return err
	}
	numbers := b.Columns[SequenceColumn].I64
	for i := range numbers {
		numbers[i] = r.next
		r.next++
	}
	return nil
}
