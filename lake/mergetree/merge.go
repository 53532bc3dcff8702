package mergetree

import (
	"context"
	"errors"
	"io"

	"github.com/tributary-lake/tributary/lake/row"
)

var (
	// ErrOrder is returned when rows come in another order than their source must have, or with a key more than once where
	// each may come once. It is a fault of the file or program that the rows come from.
	ErrOrder = errors.New("rows are out of order")
	// ErrRetract is returned for a row that takes another away where the table's merge engine cannot: first-row, and
	// partial-update without `ignore-delete` or `partial-update.remove-record-on-delete`.
	ErrRetract = errors.New("the merge engine takes no deletes")
)

// MergeOptions say what a merge gives. The zero value gives one row a key, of whatever kind.
type MergeOptions struct {
	// DropDeletes leaves out keys whose row takes away: for reading and for compactions of all that a bucket has. In level 0
	// they must stay.
	DropDeletes bool
	// Unmerged gives all rows, sorted.
	Unmerged bool
	// OnDuplicate is told of each row that has the key of one before: the row kept so far and the new one, as batches of one
	// row that are valid during the call. Its error ends the merge. It may be nil, and is not asked when Unmerged.
	OnDuplicate func(kept, next *row.Batch) error
	// BatchRows bounds the rows of a batch. Default 4096.
	BatchRows int
	// BatchBytes is about the size of a batch's values; one row may be larger. Default 1 MiB.
	BatchBytes int
}

func (o MergeOptions) withDefaults() MergeOptions {
	if o.BatchRows <= 0 {
		o.BatchRows = 4096
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = 1 << 20
	}
	return o
}

// Merge merges sources into one by the table's merge engine. Rows that are equal in all that orders them come in the order of
// the sources. A source may have several rows of a key. Memory is a batch of each source and one more.
// The merged source closes its sources when it is closed.
func Merge(spec *Spec, sources []Source, o MergeOptions) Source {
	cursors := make([]*cursor, len(sources))
	for i, s := range sources {
		cursors[i] = &cursor{src: s, batch: spec.NewBatch()}
	}
	return newMerged(spec, cursors, o)
}

// merged takes rows from cursors by a tree of losers. Rows wait in picks until their batches are about to be replaced, so
// that they are copied column by column.
type merged struct {
	keyer   *keyer
	order   *sequencer
	group   *group
	o       MergeOptions
	cursors []*cursor
	tree    []int32 // of cursors: the winner, then the losers of the matches above them
	started bool
	err     error

	// batches that rows are picked from: those of the cursors, then the group's own.
	batches  []*row.Batch
	picks    []pick
	gatherer gatherer
	bytes    int // about those of the picks and of the batch being made
	out      *row.Batch

	// of the group's key
	prefix uint64
	key    []byte
	owner  int32 // cursor whose batch the key lies in, -1 when it has been copied
	own    []byte
}

func newMerged(spec *Spec, cursors []*cursor, o MergeOptions) *merged {
	m := &merged{
		keyer: newKeyer(spec), order: newSequencer(spec), o: o.withDefaults(), cursors: cursors, tree: make([]int32, max(1, len(cursors))),
	}
	for _, c := range cursors {
		m.batches = append(m.batches, c.batch)
	}
	m.group = newGroup(spec, m)
	m.batches = append(m.batches, m.group.held, m.group.made)
	return m
}

func (m *merged) Close() error {
	if m.err == nil {
		m.err = errors.New("the merged source is closed")
	}
	var errs []error
	for _, c := range m.cursors {
		if c.src != nil {
			errs = append(errs, c.src.Close())
		}
	}
	return errors.Join(errs...)
}

func (m *merged) Next(ctx context.Context, b *row.Batch) error {
	b.Reset()
	if m.err == nil {
		m.err = m.next(ctx, b)
	}
	if m.err != nil {
		b.Reset()
	}
	return m.err
}

func (m *merged) next(ctx context.Context, b *row.Batch) error {
	m.out, m.bytes = b, 0
	if !m.started {
		m.started = true
		if err := m.start(ctx); err != nil {
			return err
		}
	}
	for len(m.cursors) > 0 {
		at := m.tree[0]
		c := m.cursors[at]
		if c.ended {
			break
		}
		same := !m.o.Unmerged && m.group.rows > 0 && compareKeys(m.prefix, m.key, c.prefix, c.key) == 0
		if !same {
			m.finish()
			if b.Rows+len(m.picks) >= m.o.BatchRows || m.bytes >= m.o.BatchBytes {
				m.flush()
				return nil
			}
			m.prefix, m.key, m.owner = c.prefix, c.key, at
		}
		if same && m.o.OnDuplicate != nil {
			if err := m.group.tell(pick{at, c.row}, m.o.OnDuplicate); err != nil {
				return err
			}
		}
		if err := m.group.add(pick{at, c.row}); err != nil {
			return err
		}
		if err := m.advance(ctx, at); err != nil {
			return err
		}
	}
	m.finish()
	m.flush()
	if b.Rows == 0 {
		return io.EOF
	}
	return nil
}

// finish ends the group and picks its row.
func (m *merged) finish() {
	p, ok := m.group.finish()
	if !ok || m.o.DropDeletes && row.Kind(m.batches[p.batch].Columns[KindColumn].I32[p.row]).Retracts() {
		return
	}
	m.picks = append(m.picks, p)
	if int(p.batch) < len(m.cursors) {
		m.bytes += m.cursors[p.batch].size
	} else {
		m.bytes += rowSize(m.batches[p.batch], int(p.row))
	}
}

// flush copies what has been picked.
func (m *merged) flush() {
	m.gatherer.gather(m.out, m.batches, m.picks)
	m.picks = m.picks[:0]
	m.group.flushed()
}

// advance takes the winner's row off and finds the next winner. What is still wanted of a batch is copied before the batch
// goes.
func (m *merged) advance(ctx context.Context, at int32) error {
	c := m.cursors[at]
	if c.last() && c.src != nil {
		m.flush()
		m.group.release(at)
		if m.owner == at {
			m.own = append(m.own[:0], m.key...)
			if m.key != nil {
				m.key = m.own
			}
			m.owner = -1
		}
	}
	if err := c.advance(ctx, m.keyer); err != nil {
		return err
	}
	m.replay(at)
	return nil
}

func (m *merged) start(ctx context.Context) error {
	for _, c := range m.cursors {
		if err := c.first(ctx, m.keyer); err != nil {
			return err
		}
	}
	for i := range m.tree {
		m.tree[i] = -1
	}
	for i := len(m.cursors) - 1; i >= 0; i-- {
		m.replay(int32(i))
	}
	return nil
}

// replay plays the matches of one cursor from its leaf to the root.
func (m *merged) replay(at int32) {
	for t := (int(at) + len(m.cursors)) / 2; t > 0; t /= 2 {
		if m.beats(m.tree[t], at) {
			at, m.tree[t] = m.tree[t], at
		}
	}
	m.tree[0] = at
}

// beats tells whether the row of one cursor comes before that of another. -1 stands for a cursor that has not played yet: it
// comes before all, so that each finds its place when the tree is built.
func (m *merged) beats(i, j int32) bool {
	if i < 0 || j < 0 {
		return i < 0
	}
	a, b := m.cursors[i], m.cursors[j]
	if a.ended || b.ended {
		return !a.ended || b.ended && i < j
	}
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	c := compareKeys(a.prefix, a.key, b.prefix, b.key)
	if c == 0 {
		c = m.order.compare(a.batch, a.row, b.batch, b.row)
	}
	if c == 0 {
		return i < j
	}
	return c < 0
}
