package lake

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/spill"
)

// waitingRows are rows whose files cannot be open yet: in memory as they came, before them in files of the spill store,
// sorted by part. A part knows which are its own.
type waitingRows struct {
	w    *Writer
	rows *row.Batch
	// parts have rows in memory, as they came. live are the rows in memory that were not handed on.
	parts []*part
	live  int
	files int // number of the next spill file

	one     *row.Batch // what is being spilled or read
	scratch spill.Scratch
}

const (
	// spillRows and spillBytes bound a segment.
	spillRows, spillBytes = 4096, 1 << 20
)

func newWaitingRows(w *Writer) *waitingRows { return &waitingRows{w: w} }

// any tells whether rows wait in memory.
func (q *waitingRows) any() bool { return len(q.parts) > 0 }

// add copies rows of a part.
func (q *waitingRows) add(p *part, b *row.Batch, rows []int32) {
	if q.rows == nil {
		q.rows = row.NewBatch(row.Types(q.w.table.schema.Fields))
	}
	if len(p.appended.waiting) == 0 {
		q.parts = append(q.parts, p)
	}
	from := q.rows.Rows
	q.rows.AppendRows(b, rows)
	for i := from; i < q.rows.Rows; i++ {
		p.appended.waiting = append(p.appended.waiting, int32(i))
	}
	q.live += q.rows.Rows - from
}

// size is the memory of the rows that wait, as far as they were not handed on.
func (q *waitingRows) size() int {
	if q.live == 0 {
		return 0
	}
	const number = 4
	return int(int64(q.rows.Size())*int64(q.live)/int64(q.rows.Rows)) + number*q.live
}

// most is the part with the most rows in memory.
func (q *waitingRows) most() *part {
	most := q.parts[0]
	for _, p := range q.parts {
		if len(p.appended.waiting) > len(most.appended.waiting) {
			most = p
		}
	}
	return most
}

// take hands the rows of a part on, in their order, and forgets them.
func (q *waitingRows) take(ctx context.Context, p *part, fn func(b *row.Batch, rows []int32) error) error {
	for _, s := range p.appended.spilled {
		if err := s.Read(ctx, q.batch(), &q.scratch); err != nil {
			return fmt.Errorf("read spilled rows: %w", err)
		}
		if err := fn(q.one, nil); err != nil {
			return err
		}
	}
	if err := q.release(ctx, p); err != nil {
		return err
	}
	rows := p.appended.waiting
	if len(rows) == 0 {
		return nil
	}
	q.parts = slices.DeleteFunc(q.parts, func(o *part) bool { return o == p })
	p.appended.waiting = nil
	q.live -= len(rows)
	if err := fn(q.rows, rows); err != nil {
		return err
	}
	q.tidy()
	return nil
}

// tidy gives back the memory of rows that were handed on, when they are the most.
func (q *waitingRows) tidy() {
	if q.live > q.rows.Rows/2 {
		return
	}
	old := q.rows
	q.rows = nil
	if q.live == 0 {
		return
	}
	q.rows = row.NewBatch(row.Types(q.w.table.schema.Fields))
	for _, p := range q.parts {
		from := q.rows.Rows
		q.rows.AppendRows(old, p.appended.waiting)
		for i := range p.appended.waiting {
			p.appended.waiting[i] = int32(from + i)
		}
	}
}

// spill moves all rows from memory to a file of the spill store.
func (q *waitingRows) spill(ctx context.Context) (err error) {
	if guard := q.w.opts.Guard; guard != nil {
		if err := guard(ctx); err != nil {
			return fmt.Errorf("spill rows: %w", err)
		}
	}
	to := path.Join(q.w.opts.SpillFolder, fmt.Sprintf("rows-%d", q.files))
	q.files++
	f, err := spill.Create(ctx, q.w.opts.Spill, to)
	if err != nil {
		return fmt.Errorf("spill rows: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("spill rows to %s: %w", q.w.opts.Spill.URI(to), err), f.Drop(ctx))
		}
	}()
	segments := map[*part][]spill.Segment{}
	for _, p := range q.parts {
		for rows := range q.pieces(p.appended.waiting) {
			b := q.batch()
			b.Reset()
			b.AppendRows(q.rows, rows)
			s, err := f.Add(b, &q.scratch)
			if err != nil {
				return err
			}
			segments[p] = append(segments[p], s)
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, p := range q.parts {
		p.appended.spilled = append(p.appended.spilled, segments[p]...)
		p.appended.waiting = p.appended.waiting[:0]
	}
	q.parts, q.live = q.parts[:0], 0
	q.rows.Reset()
	if held(q.rows) > q.w.memory()/2 {
		q.rows = nil
	}
	return nil
}

// pieces cuts rows into those of a segment each.
func (q *waitingRows) pieces(rows []int32) func(func([]int32) bool) {
	each := min(spillRows, max(1, spillBytes*q.rows.Rows/max(1, q.rows.Size())))
	return slices.Chunk(rows, each)
}

// batch is the one for rows that are spilled or read.
func (q *waitingRows) batch() *row.Batch {
	if q.one == nil {
		q.one = row.NewBatch(row.Types(q.w.table.schema.Fields))
	}
	return q.one
}

// release forgets the spilled rows of a part, and removes files of which nothing is left.
func (q *waitingRows) release(ctx context.Context, p *part) error {
	var errs []error
	for _, s := range p.appended.spilled {
		if err := s.Release(ctx); err != nil {
			errs = append(errs, fmt.Errorf("remove spilled rows: %w", err))
		}
	}
	p.appended.spilled = nil
	return errors.Join(errs...)
}

// drop gives the rows of a part up.
func (q *waitingRows) drop(ctx context.Context, p *part) error {
	if n := len(p.appended.waiting); n > 0 {
		q.parts = slices.DeleteFunc(q.parts, func(o *part) bool { return o == p })
		q.live -= n
		p.appended.waiting = nil
	}
	return q.release(ctx, p)
}

// held is the memory of a batch.
func held(b *row.Batch) int {
	n := 0
	for i := range b.Columns {
		v := &b.Columns[i]
		n += cap(v.I32)*4 + cap(v.I64)*8 + cap(v.F32)*4 + cap(v.F64)*8 + cap(v.Data) + cap(v.Offsets)*4
	}
	return n
}
