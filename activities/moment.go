package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/activities/sink"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// momentCopy is the reading and writing of a unit at one moment of its instance.
type momentCopy struct {
	*attempt
	table *lake.Table

	mu   sync.Mutex
	left []ledger.UnitSplit
	done sink.Leavings
	// outs are the sinks made so far, one for each reader.
	outs []sink.Sink
}

// write reads and writes all splits of the unit, as many at once as there are readers, and closes the files. When anything of
// it is lost all of it is: another attempt reads it at another moment.
func (c *momentCopy) write(ctx context.Context) ([]byte, ledger.Counts, error) {
	if c.session.Moments == nil {
		return nil, ledger.Counts{}, fmt.Errorf("%w: the plan at %s wants consistency %s, the job does not", ledger.ErrCorrupt, c.attempt.ledger.URI(), c.plan.Consistency)
	}
	var shards []source.Shard
	for _, s := range c.unit.Splits {
		if n := len(shards); n == 0 || shards[n-1] != s.Shard {
			shards = append(shards, s.Shard)
		}
	}
	m, err := c.session.Moments.OpenMoment(ctx, shards[0].Instance, shards, max(1, c.plan.Readers[c.unit.ID]))
	if err != nil {
		return nil, ledger.Counts{}, err
	}
	err = c.read(ctx, m)
	if closed := m.Close(); err == nil && closed != nil {
		err = fmt.Errorf("close the moment: %w", closed)
	}
	if err != nil {
		return nil, c.done.Counts, err
	}
	opened := m.Opened()
	c.moment = &opened
	data, err := c.done.File(c.table, c.sinks())
	return data, c.done.Counts, err
}

// read has every reader take splits until none is left. Its files must not outlive the context of all.
func (c *momentCopy) read(ctx context.Context, m Moment) error {
	for i := range m.Readers() {
		out, err := sink.New(c.table, c.sinks(), i, m.Readers())
		if err != nil {
			return err
		}
		c.outs = append(c.outs, out)
	}
	g, ctx := errgroup.WithContext(ctx)
	for i, out := range c.outs {
		from := func(ctx context.Context, r source.Read, emit func(*row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
			return m.Read(ctx, i, r, emit)
		}
		g.Go(func() error {
			l, err := c.copy(ctx, c.table, from, c.take, out)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.done.Add(l)
			return err
		})
	}
	return g.Wait()
}

func (c *momentCopy) take() (ledger.UnitSplit, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.left) == 0 {
		return ledger.UnitSplit{}, false
	}
	s := c.left[0]
	c.left = c.left[1:]
	return s, true
}

// Abort removes what was written.
func (c *momentCopy) Abort(ctx context.Context) error {
	errs := make([]error, len(c.outs))
	for i, out := range c.outs {
		errs[i] = out.Abort(ctx)
	}
	return errors.Join(errs...)
}
