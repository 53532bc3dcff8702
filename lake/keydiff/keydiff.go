package keydiff

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Diff is a mergetree.Source of what has to be added. It is not for use by several goroutines.
type Diff struct {
	// Same counts rows that are there as they are wanted, Gone those that are taken away.
	Same, Gone int64
	// Sums, unless nil, takes the checksums of these rows without the columns of the system. Whoever wants them sets it before the
	// first call.
	Sums *Sums

	one           *row.Batch // a row that is summed
	there, wanted side
	keys, values  []column
	err           error
}

// Sums are of rows that are left out, as they are wanted, and of those that are taken away, as they are there.
type Sums struct {
	Same, Gone row.Checksum
}

// column is one to compare.
type column struct {
	at  int // in a batch of mergetree.Spec.Fields
	typ schema.Type
}

// side is one of the streams.
type side struct {
	source mergetree.Source
	batch  *row.Batch
	at     int
	ended  bool
	// picked are rows of the batch that are still to be given.
	picked []int32
	last   *row.Batch // the row before the batch, empty before the first
}

// New compares. It closes both sources when it is closed.
func New(spec *mergetree.Spec, there, wanted mergetree.Source) *Diff {
	d := &Diff{one: spec.NewBatch()}
	for _, s := range []struct {
		to   *side
		from mergetree.Source
	}{{&d.there, there}, {&d.wanted, wanted}} {
		*s.to = side{source: s.from, batch: spec.NewBatch(), last: spec.NewBatch()}
	}
	isKey := map[int]bool{}
	fields := spec.Table().Fields
	for _, at := range spec.Key {
		isKey[at] = true
		d.keys = append(d.keys, column{mergetree.ValueColumns + at, fields[at].Type})
	}
	for at, f := range fields {
		if !isKey[at] {
			d.values = append(d.values, column{mergetree.ValueColumns + at, f.Type})
		}
	}
	return d
}

// Next implements mergetree.Source.
func (d *Diff) Next(ctx context.Context, b *row.Batch) error {
	b.Reset()
	if d.err == nil {
		d.err = d.next(ctx, b)
	}
	if d.err != nil {
		b.Reset()
	}
	return d.err
}

func (d *Diff) next(ctx context.Context, b *row.Batch) error {
	for {
		for _, s := range []*side{&d.there, &d.wanted} {
			if s.ended || s.at < s.batch.Rows {
				continue
			}
			// What was picked of the batch goes out before the batch goes.
			if d.give(b); b.Rows > 0 {
				return nil
			}
			if err := d.load(ctx, s); err != nil {
				return err
			}
		}
		if d.there.ended && d.wanted.ended {
			return io.EOF
		}
		d.step(b)
	}
}

// step takes the lowest key.
func (d *Diff) step(b *row.Batch) {
	c := d.order()
	switch {
	case c < 0:
		d.pick(b, &d.there)
		d.Gone++
		if d.Sums != nil {
			d.sum(&d.Sums.Gone, &d.there)
		}
	case c > 0:
		d.pick(b, &d.wanted)
	case d.same():
		d.Same++
		if d.Sums != nil {
			d.sum(&d.Sums.Same, &d.wanted)
		}
	default:
		d.pick(b, &d.wanted)
	}
	if c <= 0 {
		d.there.at++
	}
	if c >= 0 {
		d.wanted.at++
	}
}

// sum adds the row that a side has come to.
func (d *Diff) sum(to *row.Checksum, s *side) {
	d.one.Reset()
	d.one.AppendRows(s.batch, []int32{int32(s.at)})
	to.Add(&row.Batch{Rows: 1, Columns: d.one.Columns[mergetree.ValueColumns:]})
}

// order compares the keys that both sides have come to. An end is behind all keys.
func (d *Diff) order() int {
	switch {
	case d.wanted.ended:
		return -1
	case d.there.ended:
		return 1
	}
	return compare(d.keys, d.there.batch, d.there.at, d.wanted.batch, d.wanted.at)
}

func (d *Diff) same() bool {
	return compare(d.values, d.there.batch, d.there.at, d.wanted.batch, d.wanted.at) == 0
}

func compare(columns []column, a *row.Batch, i int, b *row.Batch, j int) int {
	for _, c := range columns {
		if x := row.Compare(c.typ, a.Columns[c.at].Value(i), b.Columns[c.at].Value(j)); x != 0 {
			return x
		}
	}
	return 0
}

// pick notes that a side's row is given, after what was picked of the other.
func (d *Diff) pick(b *row.Batch, s *side) {
	other := &d.there
	if s == other {
		other = &d.wanted
	}
	if len(other.picked) > 0 {
		d.give(b)
	}
	s.picked = append(s.picked, int32(s.at))
}

// give adds what is picked, of one side at most.
func (d *Diff) give(b *row.Batch) {
	b.AppendRows(d.wanted.batch, d.wanted.picked)
	from := b.Rows
	b.AppendRows(d.there.batch, d.there.picked)
	kinds := b.Columns[mergetree.KindColumn].I32
	for i := from; i < b.Rows; i++ {
		kinds[i] = int32(row.Delete)
	}
	d.wanted.picked, d.there.picked = d.wanted.picked[:0], d.there.picked[:0]
}

// load reads the next batch of a side.
func (d *Diff) load(ctx context.Context, s *side) error {
	if s.batch.Rows > 0 {
		s.last.Reset()
		s.last.AppendRows(s.batch, []int32{int32(s.batch.Rows - 1)})
	}
	s.at = 0
	err := s.source.Next(ctx, s.batch)
	if errors.Is(err, io.EOF) {
		s.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	before, at := s.last, 0
	for i := range s.batch.Rows {
		if before.Rows > 0 && compare(d.keys, before, at, s.batch, i) >= 0 {
			return fmt.Errorf("%w: a key does not come after the one before it", mergetree.ErrOrder)
		}
		before, at = s.batch, i
	}
	return nil
}

// Close implements mergetree.Source.
func (d *Diff) Close() error {
	if d.err == nil {
		d.err = errors.New("the comparison is closed")
	}
	return errors.Join(d.there.source.Close(), d.wanted.source.Close())
}
