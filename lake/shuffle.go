package lake

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// ShufflerOptions say where a [Shuffler] leaves its files.
type ShufflerOptions struct {
	// Store and Folder are where the files go, Name is the bare name of the n-th, from 0. It must name no file that exists.
	Store  fileio.Store
	Folder string
	Name   func(n int) string
	// Guard is asked before each file whether it may still be written; its error ends the writing. It may be nil.
	Guard func(ctx context.Context) error
	// Memory bounds the bytes of rows that are held and sorted at once. Default 64 MiB.
	Memory int
}

// Shuffled says where the rows of one shuffler lie: for each partition and bucket in sorted sources. It may be kept as JSON.
type Shuffled struct {
	Parts []ShuffledPart `json:"parts"`
}

// ShuffledPart are the rows of one partition and bucket.
type ShuffledPart struct {
	// Partition is a serialized BinaryRow.
	Partition []byte `json:"partition"`
	Bucket    int32  `json:"bucket"`
	// Sources are sorted, each a list of segments in order. All rows are in them, also those that share a key.
	Sources [][]mergetree.Segment `json:"sources"`
}

// Shuffler sorts rows of a key table by partition, bucket and key, so that whoever is the one writer of a bucket finds its
// rows among those of many shufflers: see [BucketMerger]. It writes no data file. It is not for use by several goroutines.
// After an error only Abort makes sense.
type Shuffler struct {
	opts   ShufflerOptions
	spec   *mergetree.Spec
	router *router
	parts  map[*part][][]mergetree.Segment
	next   int64 // sequence number of the next row
	held   int   // bytes in the memory of all sorters
	files  int
	rows   int64
	bytes  int64
	names  []string
}

// segmentSize is how much of a source, in memory, is read at least. It is what ranges of keys are cut by.
const segmentSize = 1 << 20

// blockSize of sorted files, in memory. Readers hold one of each source, so it must be small; packing wants it large.
const blockSize = 128 << 10

// NewShuffler starts a shuffler.
func (t *Table) NewShuffler(o ShufflerOptions) (*Shuffler, error) {
	if err := schema.CheckWritable(t.schema); err != nil {
		return nil, err
	}
	spec, err := mergetree.SpecOf(t.schema)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", schema.ErrNotWritable, err)
	}
	if o.Memory <= 0 {
		o.Memory = 64 << 20
	}
	options, err := t.schema.ParseOptions()
	if err != nil {
		return nil, err
	}
	s := &Shuffler{opts: o, spec: spec, parts: map[*part][][]mergetree.Segment{}}
	if s.router, err = newRouter(t, options); err != nil {
		return nil, err
	}
	// What the table holds is the matter of whoever merges.
	s.router.existing = func(context.Context) (*Existing, error) { return &Existing{}, nil }
	return s, nil
}

// NumberFrom makes a number the sequence number of the next row. Of rows that nothing else orders the one with the highest
// number is the latest. It must not be less than that of any row before.
func (s *Shuffler) NumberFrom(sequence int64) { s.next = max(s.next, sequence) }

// Write adds the rows of a batch, whose columns are the table's in order. The batch is not kept.
func (s *Shuffler) Write(ctx context.Context, b *row.Batch) error { return s.WriteChanges(ctx, b, nil) }

// WriteChanges is Write with a kind for each row, none of which the table ignores; nil inserts all.
func (s *Shuffler) WriteChanges(ctx context.Context, b *row.Batch, kinds []row.Kind) error {
	if b.Rows == 0 {
		return nil
	}
	if err := s.router.route(ctx, b); err != nil {
		return err
	}
	for _, p := range s.router.touched {
		if p.keyed.sorter == nil {
			var err error
			if p.keyed.sorter, err = s.sorter(); err != nil {
				return err
			}
		}
		sorter := p.keyed.sorter
		before := sorter.Memory()
		sorter.NumberFrom(s.next)
		if err := sorter.WriteRows(ctx, b, p.rows, kinds); err != nil {
			return err
		}
		s.held += sorter.Memory() - before
	}
	s.next += int64(b.Rows)
	s.rows += int64(b.Rows)
	if s.held > s.opts.Memory {
		return s.flush(ctx)
	}
	return nil
}

func (s *Shuffler) sorter() (*mergetree.Sorter, error) {
	return mergetree.NewSorter(s.spec, mergetree.SortOptions{
		Memory: s.opts.Memory, Merge: mergetree.MergeOptions{Unmerged: true, BatchBytes: blockSize},
	})
}

// SetMemory changes [ShufflerOptions.Memory] and gives back what is held beyond it.
func (s *Shuffler) SetMemory(ctx context.Context, bytes int) error {
	if s.opts.Memory = bytes; s.held > bytes {
		return s.flush(ctx)
	}
	return nil
}

// flush writes all rows that are held to one file, part by part.
func (s *Shuffler) flush(ctx context.Context) (err error) {
	if s.held == 0 {
		return nil
	}
	if s.opts.Guard != nil {
		if err := s.opts.Guard(ctx); err != nil {
			return fmt.Errorf("begin a sorted file: %w", err)
		}
	}
	name := s.opts.Name(s.files)
	s.files++
	s.names = append(s.names, name)
	to := path.Join(s.opts.Folder, name)
	out, err := s.opts.Store.Create(ctx, to)
	if err != nil {
		return fmt.Errorf("create a sorted file: %w", err)
	}
	buffered := bufio.NewWriterSize(out, 2*blockSize)
	at := int64(0)
	for _, p := range s.router.order {
		if p.keyed.sorter == nil {
			continue
		}
		sorted, err := p.keyed.sorter.Sorted(ctx)
		if err != nil {
			return errors.Join(err, out.Abort())
		}
		segments, err := mergetree.WriteSegments(ctx, s.spec, buffered, to, at, sorted, segmentSize)
		if err != nil {
			return errors.Join(err, out.Abort())
		}
		p.keyed.sorter = nil
		for _, one := range segments {
			at += one.Size
		}
		s.parts[p] = append(s.parts[p], segments)
	}
	s.held = 0
	s.bytes += at
	if err := buffered.Flush(); err != nil {
		return errors.Join(fmt.Errorf("write the sorted file %s: %w", to, err), out.Abort())
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("close the sorted file %s: %w", to, err)
	}
	return nil
}

// Close ends the files and tells where the rows are.
func (s *Shuffler) Close(ctx context.Context) (*Shuffled, error) {
	if err := s.flush(ctx); err != nil {
		return nil, err
	}
	out := &Shuffled{}
	for _, p := range s.router.order {
		out.Parts = append(out.Parts, ShuffledPart{Partition: p.partition, Bucket: p.bucket, Sources: s.parts[p]})
	}
	return out, nil
}

// Rows is the number of rows added.
func (s *Shuffler) Rows() int64 { return s.rows }

// Bytes is the size of all files so far.
func (s *Shuffler) Bytes() int64 { return s.bytes }

// Abort removes every file that the shuffler made, also after Close, as long as nobody has been told of them.
func (s *Shuffler) Abort(ctx context.Context) error {
	var errs []error
	for _, name := range s.names {
		errs = append(errs, s.opts.Store.Delete(ctx, path.Join(s.opts.Folder, name)))
	}
	s.names = nil
	return errors.Join(errs...)
}

// Rows is the number of rows of all parts.
func (s *Shuffled) Rows() int64 {
	n := int64(0)
	for _, p := range s.Parts {
		for _, source := range p.Sources {
			for _, one := range source {
				n += one.Rows
			}
		}
	}
	return n
}
