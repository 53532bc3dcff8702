package mergetree

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
)

// SortOptions say how a [Sorter] works.
type SortOptions struct {
	// Memory is the number of bytes that rows and their keys and, later, the reading of runs may take. Default 64 MiB. A row
	// that is larger is held all the same.
	Memory int
	// Store and Folder say where runs are spilled to. Without a store all rows stay in memory: the caller watches it.
	Store  fileio.Store
	Folder string
	// Name gives the bare name of the n-th spilled run, from 0. It must name no file that exists. Default run-<n>.
	Name func(n int) string
	// BeforeFile is asked before each spilled run whether it may still be written; its error ends the sorting. It may be nil.
	BeforeFile func(ctx context.Context) error
	// FirstSequence is the sequence number of the first row.
	FirstSequence int64
	// Merge says what the sorted source gives: merged rows, or all of them. Its batches are bounded by the memory too.
	Merge MergeOptions
}

// ErrMemory is returned when rows would have to be spilled, or runs to be merged before others, and there is no store for it.
var ErrMemory = errors.New("rows do not fit into the sorter's memory")

// Sorter makes a source of rows that come in any order. Each row gets the next sequence number as it comes; rows of kinds that
// the table ignores get none and are left out. It is not for use by several goroutines. After an error only Close makes sense.
type Sorter struct {
	spec  *Spec
	opts  SortOptions
	keyer *keyer
	order *sequencer
	err   error

	chunkBytes, chunkRows int
	chunks                []*chunk // sorted but for the last
	spare                 []*chunk // emptied, for reuse
	sealed                bool     // the last chunk is sorted
	held                  int      // bytes of all chunks but the one being filled
	sorting               sorting
	selected, every       []int32

	next, rows int64
	runs       []spilled
	names      []string // of all runs begun that may be there
	begun      int
	scratch    scratch
}

// spilled is a run that takes part in the sorting.
type spilled struct {
	run   Run
	store fileio.Store
	name  string // of one of the sorter's own, else empty
	// segments and keys are what is read in place of the run, of which only Block is known then.
	segments []Segment
	keys     KeyRange
}

// NewSorter starts a sorter.
func NewSorter(spec *Spec, o SortOptions) (*Sorter, error) {
	if o.Memory <= 0 {
		o.Memory = 64 << 20
	}
	if o.Name == nil {
		o.Name = func(n int) string { return fmt.Sprintf("run-%d", n) }
	}
	o.Merge = o.Merge.withDefaults()
	o.Merge.BatchBytes = min(o.Merge.BatchBytes, blockBytes(o.Memory))
	return &Sorter{
		spec: spec, opts: o, keyer: newKeyer(spec), order: newSequencer(spec), next: o.FirstSequence,
		chunkBytes: min(max(o.Memory/64, 4<<10), 4<<20), chunkRows: 1 << 16, sealed: true,
	}, nil
}

// blockBytes is the size of batches and blocks for a memory of which each takes a small part.
func blockBytes(memory int) int { return min(max(memory/128, 4<<10), 512<<10) }

// Write adds all rows of a batch of the table's columns. kinds has a kind for each, nil means that all are inserted. Neither
// is kept.
func (s *Sorter) Write(ctx context.Context, b *row.Batch, kinds []row.Kind) error {
	if kinds != nil && (s.spec.IgnoreDelete || s.spec.IgnoreUpdateBefore) {
		return s.WriteRows(ctx, b, s.all(b.Rows), kinds)
	}
	return s.write(ctx, b, kinds, func() error {
		for from := 0; from < b.Rows; {
			c, err := s.chunk(ctx)
			if err != nil {
				return err
			}
			n := s.fit(c, b, from, b.Rows)
			for i := range b.Columns {
				appendRange(&c.batch.Columns[ValueColumns+i], &b.Columns[i], from, from+n)
			}
			for i := from; i < from+n; i++ {
				s.number(c, kinds, i)
			}
			if from += n; from < b.Rows {
				if err := s.seal(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (s *Sorter) all(n int) []int32 {
	s.every = s.every[:0]
	for i := range n {
		s.every = append(s.every, int32(i))
	}
	return s.every
}

// WriteRows adds the rows of a batch whose numbers are given; kinds has a kind for every row of the batch, or is nil.
func (s *Sorter) WriteRows(ctx context.Context, b *row.Batch, rows []int32, kinds []row.Kind) error {
	return s.write(ctx, b, kinds, func() error {
		s.selected = s.selected[:0]
		for _, i := range rows {
			if i < 0 || int(i) >= b.Rows {
				return fmt.Errorf("row %d is not in a batch of %d", i, b.Rows)
			}
			if kinds == nil || !s.spec.ignores(kinds[i]) {
				s.selected = append(s.selected, i)
			}
		}
		for left := s.selected; len(left) > 0; {
			c, err := s.chunk(ctx)
			if err != nil {
				return err
			}
			n := s.fitRows(c, b, left)
			for k := range b.Columns {
				for _, i := range left[:n] {
					appendValue(&c.batch.Columns[ValueColumns+k], &b.Columns[k], int(i))
				}
			}
			for _, i := range left[:n] {
				s.number(c, kinds, int(i))
			}
			if left = left[n:]; len(left) > 0 {
				if err := s.seal(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (s *Sorter) write(ctx context.Context, b *row.Batch, kinds []row.Kind, add func() error) error {
	if s.err != nil {
		return s.err
	}
	s.err = s.check(b, kinds)
	if s.err == nil {
		s.err = ctx.Err()
	}
	if s.err == nil {
		s.err = add()
	}
	return s.err
}

func (s *Sorter) check(b *row.Batch, kinds []row.Kind) error {
	fields := s.spec.table.Fields
	if len(b.Columns) != len(fields) {
		return fmt.Errorf("a batch of %d columns is not one of the table's %d", len(b.Columns), len(fields))
	}
	if kinds != nil && len(kinds) != b.Rows {
		return fmt.Errorf("%d kinds for %d rows", len(kinds), b.Rows)
	}
	for i, f := range fields {
		v := &b.Columns[i]
		if v.Layout != row.LayoutOf(f.Type) || v.Layout == row.LayoutFixed && v.Width != row.FixedWidth(f.Type.Precision) {
			return fmt.Errorf("column %q: a batch column of type %s does not fit", f.Name, v.Type)
		}
		if v.Len() != b.Rows {
			return fmt.Errorf("column %q: batch has %d values in %d rows", f.Name, v.Len(), b.Rows)
		}
		if v.NullCount > 0 && f.Type.NotNull {
			return fmt.Errorf("column %q: %d nulls in a NOT NULL column", f.Name, v.NullCount)
		}
	}
	return nil
}

// number gives a row that was added its sequence number and kind.
func (s *Sorter) number(c *chunk, kinds []row.Kind, i int) {
	kind := row.Insert
	if kinds != nil {
		kind = kinds[i]
	}
	system := c.batch.Columns
	system[SequenceColumn].I64 = append(system[SequenceColumn].I64, s.next)
	system[KindColumn].I32 = append(system[KindColumn].I32, int32(kind))
	c.batch.Rows++
	s.next++
	s.rows++
}

// fit tells how many of a range of rows fit into a chunk. One always fits into an empty chunk.
func (s *Sorter) fit(c *chunk, b *row.Batch, from, to int) int {
	n := min(to-from, s.chunkRows-c.batch.Rows)
	for room := s.chunkBytes - c.batch.Size(); n > 0 && rangeSize(b, from, from+n) > room; {
		n /= 2
	}
	if n == 0 && c.batch.Rows == 0 {
		return 1
	}
	return n
}

// fitRows tells how many of some rows fit into a chunk, as fit.
func (s *Sorter) fitRows(c *chunk, b *row.Batch, rows []int32) int {
	room := s.chunkBytes - c.batch.Size()
	most := min(len(rows), s.chunkRows-c.batch.Rows)
	for n, i := range rows[:most] {
		if room -= rowSize(b, int(i)); room < 0 {
			if n == 0 && c.batch.Rows == 0 {
				return 1
			}
			return n
		}
	}
	return most
}

// rangeSize is about the number of bytes of a range of rows.
func rangeSize(b *row.Batch, from, to int) int {
	n := 0
	for c := range b.Columns {
		switch v := &b.Columns[c]; v.Layout {
		case row.LayoutBytes:
			n += int(v.Offsets[to]-v.Offsets[from]) + 4*(to-from)
		case row.LayoutFixed:
			n += v.Width * (to - from)
		default:
			n += 8 * (to - from)
		}
	}
	return n
}

// chunk is the one to fill. Before a new one is begun, rows are spilled if there is no room for it.
func (s *Sorter) chunk(ctx context.Context) (*chunk, error) {
	if !s.sealed {
		return s.chunks[len(s.chunks)-1], nil
	}
	for s.short() && len(s.spare) > 0 {
		last := len(s.spare) - 1
		s.held -= s.spare[last].held
		s.spare = s.spare[:last]
	}
	if s.short() && len(s.chunks) > 0 {
		if err := s.spill(ctx); err != nil {
			return nil, err
		}
	}
	c := &chunk{batch: s.spec.NewBatch()}
	if n := len(s.spare); n > 0 {
		c, s.spare = s.spare[n-1], s.spare[:n-1]
		s.held -= c.held
	}
	s.chunks = append(s.chunks, c)
	s.sealed = false
	return c, nil
}

// short tells whether there is no room for another chunk, with what its keys and growing slices take, and for a batch and its
// block that spilling needs. A spare chunk has most of its room already.
func (s *Sorter) short() bool {
	need := 4*blockBytes(s.opts.Memory) + s.chunkBytes
	if len(s.spare) == 0 {
		need += 3 * s.chunkBytes
	}
	return s.opts.Store != nil && s.Memory()+need > s.opts.Memory
}

// seal sorts the chunk that was filled.
func (s *Sorter) seal() error {
	if s.sealed {
		return nil
	}
	s.sealed = true
	c := s.chunks[len(s.chunks)-1]
	err := c.sort(s.keyer, s.order, &s.sorting)
	c.held = c.memory()
	s.held += c.held
	return err
}

// Memory is the number of bytes held.
func (s *Sorter) Memory() int {
	n := s.held + s.sorting.memory() + (cap(s.selected)+cap(s.every))*4 + cap(s.scratch.packed) + cap(s.scratch.raw)
	if !s.sealed {
		n += s.chunks[len(s.chunks)-1].memory()
	}
	return n
}

// Rows is the number of rows added, without those left out. Of segments it is the number of those read so far.
func (s *Sorter) Rows() int64 { return s.rows }

// NextSequence is the sequence number that the next row would get.
func (s *Sorter) NextSequence() int64 { return s.next }

// NumberFrom makes a number the sequence number of the next row. It must not be less than NextSequence.
func (s *Sorter) NumberFrom(sequence int64) { s.next = max(s.next, sequence) }

// AddSegments adds those rows of segments, which were one sorted source, whose keys are in a range. They keep the sequence
// numbers that they have, and Close does not remove the segments.
func (s *Sorter) AddSegments(store fileio.Store, list []Segment, keys KeyRange) error {
	if s.err != nil {
		return s.err
	}
	r := spilled{store: store, segments: list, keys: keys}
	for _, one := range list {
		r.run.Block = max(r.run.Block, one.Block)
	}
	s.runs = append(s.runs, r)
	return nil
}

// AddRun adds the rows of a run that was written before, with the sequence numbers that they have. The run is not removed by
// Close.
func (s *Sorter) AddRun(store fileio.Store, r Run) error {
	if s.err != nil {
		return s.err
	}
	s.runs = append(s.runs, spilled{run: r, store: store})
	s.rows += r.Rows
	return nil
}

// Spill writes the rows in memory out as a run and gives their memory back. A caller with several sorters shares memory
// among them by it.
func (s *Sorter) Spill(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	s.err = s.spill(ctx)
	s.release()
	return s.err
}

// release gives all memory back.
func (s *Sorter) release() {
	s.chunks, s.spare, s.selected, s.every, s.held, s.sealed = nil, nil, nil, nil, 0, true
	s.sorting, s.scratch = sorting{}, scratch{}
}

// spill writes the rows in memory out as a run and keeps the memory for others.
func (s *Sorter) spill(ctx context.Context) error {
	if err := s.seal(); err != nil || len(s.chunks) == 0 {
		return err
	}
	run, err := s.writeRun(ctx, newMerged(s.spec, s.cursors(), s.passing()))
	if err != nil {
		return err
	}
	s.runs = append(s.runs, run)
	for _, c := range s.chunks {
		c.reset()
		// What a row of unusual size has made large is not kept.
		if c.held > 4*s.chunkBytes {
			s.held -= c.held
			continue
		}
		s.spare = append(s.spare, c)
	}
	s.chunks = s.chunks[:0]
	return nil
}

func (s *Sorter) cursors() []*cursor {
	cursors := make([]*cursor, len(s.chunks))
	for i, c := range s.chunks {
		cursors[i] = c.cursor()
	}
	return cursors
}

// passing is how rows are merged on their way. Only rows of which one is chosen may be merged before all are together: what
// partial-update makes of some rows has no place among the others.
func (s *Sorter) passing() MergeOptions {
	o := s.opts.Merge
	o.DropDeletes = false
	if s.spec.Engine == PartialUpdate {
		o.Unmerged = true
	}
	return o
}

// writeRun writes a source to a run of the sorter's own.
func (s *Sorter) writeRun(ctx context.Context, src Source) (spilled, error) {
	if s.opts.Store == nil {
		return spilled{}, errors.Join(fmt.Errorf("%w of %d bytes; give it more, or a store to spill to", ErrMemory, s.opts.Memory), src.Close())
	}
	if s.opts.BeforeFile != nil {
		if err := s.opts.BeforeFile(ctx); err != nil {
			return spilled{}, errors.Join(fmt.Errorf("begin a sorted run in %s: %w", s.opts.Folder, err), src.Close())
		}
	}
	name := s.opts.Name(s.begun)
	s.begun++
	s.names = append(s.names, name)
	run, err := WriteRun(ctx, s.spec, s.opts.Store, path.Join(s.opts.Folder, name), src)
	return spilled{run: run, store: s.opts.Store, name: name}, err
}

// Sorted ends the adding and returns the rows. The source must be closed before the sorter is.
func (s *Sorter) Sorted(ctx context.Context) (Source, error) {
	if s.err != nil {
		return nil, s.err
	}
	src, err := s.sorted(ctx)
	s.err = err
	if err == nil {
		s.err = errors.New("the sorter has given its rows away")
	}
	return src, err
}

func (s *Sorter) sorted(ctx context.Context) (Source, error) {
	if err := s.seal(); err != nil {
		return nil, err
	}
	if len(s.runs) == 0 {
		return newMerged(s.spec, s.cursors(), s.opts.Merge), nil
	}
	if err := s.spill(ctx); err != nil {
		return nil, err
	}
	s.release()
	for !s.fits(s.runs) {
		if err := s.pass(ctx); err != nil {
			return nil, err
		}
	}
	return s.merge(ctx, s.runs, s.opts.Merge)
}

// Close gives the sorter up and removes all runs that it has spilled. It must be called when the rows have been read, and
// after an error. It goes on where a run cannot be removed; the error joins all such.
func (s *Sorter) Close(ctx context.Context) error {
	if s.err == nil {
		s.err = errors.New("the sorter is closed")
	}
	s.release()
	var errs []error
	var left []string
	for _, name := range s.names {
		if err := s.opts.Store.Delete(ctx, path.Join(s.opts.Folder, name)); err != nil {
			errs = append(errs, fmt.Errorf("remove sorted run: %w", err))
			left = append(left, name)
		}
	}
	s.names = left
	return errors.Join(errs...)
}
