package lake

import (
	"context"
	"errors"
	"fmt"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// BucketMergerOptions say how a [BucketMerger] works.
type BucketMergerOptions struct {
	// Files say how data files are named and bounded. Overwrite and TopLevel are those of Upsert. Spill and SpillFolder are needed when there are more sources than memory or open files allow to merge at
	// once; SpillName is then the bare name of the n-th file, from 0.
	Files     WriterOptions
	SpillName func(n int) string
	// Upsert adds the rows to those that the buckets hold, in files of level 0, numbered on from the highest number there: the
	// commit must be commit.Request.Alone. Otherwise the rows will be all that the buckets hold, for an overwrite.
	Upsert bool
	// Sorted is the store that the sources lie in.
	Sorted fileio.Store
	// OnDuplicate is told of each row that has the key of one before, as mergetree.MergeOptions has it. It may be nil.
	OnDuplicate func(kept, next *row.Batch) error
	// Against, unless nil, gives what is written in place of the merged rows of a bucket. The source that it gives closes theirs.
	Against func(ctx context.Context, p ShuffledPart, rows mergetree.Source) (mergetree.Source, error)
}

// BucketMerge are rows of one partition and bucket, from any number of shufflers.
type BucketMerge struct {
	ShuffledPart
	// Keys leaves out rows whose keys are not in the range. Merges of ranges that cover all keys give files that do not overlap.
	Keys mergetree.KeyRange `json:"keys,omitzero"`
}

// Merged is what became of rows that were merged.
type Merged struct {
	// Message is nil when no row is left.
	Message *message.Commit
	// In is the number of rows that were read, Out of those in data files.
	In, Out int64
}

// BucketMerger merges the rows that shufflers left for a bucket into data files. Of a bucket or, where these are cut, of a
// range of its keys, only one may be at work. It is not for use by several goroutines. After an error only Abort makes sense.
type BucketMerger struct {
	opts   BucketMergerOptions
	out    *Writer
	files  *keyFiles
	layout *partition.Layout
	spills int
}

// NewBucketMerger starts a merger.
func (t *Table) NewBucketMerger(o BucketMergerOptions) (*BucketMerger, error) {
	o.Files.Overwrite, o.Files.TopLevel = !o.Upsert, !o.Upsert
	out, err := t.NewWriter(o.Files)
	if err != nil {
		return nil, err
	}
	files, ok := out.files.(*keyFiles)
	if !ok {
		return nil, errors.New("a table without a primary key has nothing to merge")
	}
	if files.changelog {
		return nil, fmt.Errorf("%w: changelog-producer = input needs all rows in changelog files, which merges do not write", schema.ErrNotWritable)
	}
	layout, err := partition.LayoutOf(t.path, t.schema)
	if err != nil {
		return nil, err
	}
	return &BucketMerger{opts: o, out: out, files: files, layout: layout}, nil
}

// Merge merges the rows of a bucket, or of a range of its keys. They are numbered from 0, or on from those that are there.
func (m *BucketMerger) Merge(ctx context.Context, b BucketMerge) (*Merged, error) {
	values, err := m.layout.Values(b.Partition)
	if err != nil {
		return nil, err
	}
	p := &part{partition: b.Partition, bucket: b.Bucket, folder: m.layout.Bucket(values, b.Bucket)}
	m.out.router.order = append(m.out.router.order, p)
	there, err := m.out.existing(ctx)
	if err == nil {
		err = there.checkBuckets(b.Partition, m.layout.Partition(values), m.out.router.buckets)
	}
	if err == nil {
		p.sequence, err = there.sequence(b.Partition, b.Bucket)
	}
	if err != nil {
		return nil, fmt.Errorf("write to %s: %w", p.folder, err)
	}
	sorter, err := mergetree.NewSorter(m.files.spec, mergetree.SortOptions{
		Memory: m.out.memory(), Store: m.opts.Files.Spill, Folder: m.opts.Files.SpillFolder, BeforeFile: m.opts.Files.Guard,
		Name: func(int) string {
			m.spills++
			return m.opts.SpillName(m.spills - 1)
		},
		Merge: mergetree.MergeOptions{DropDeletes: !m.opts.Upsert, OnDuplicate: m.opts.OnDuplicate},
	})
	if err != nil {
		return nil, err
	}
	files, err := m.merge(ctx, p, sorter, b)
	rows := sorter.Rows()
	if err := errors.Join(err, sorter.Close(ctx)); err != nil {
		return nil, fmt.Errorf("merge bucket %d of %s: %w", b.Bucket, p.folder, err)
	}
	merged := &Merged{In: rows}
	if len(files.Data.NewFiles) == 0 {
		return merged, nil
	}
	for _, f := range files.Data.NewFiles {
		merged.Out += f.Rows
	}
	merged.Message = files
	return merged, nil
}

func (m *BucketMerger) merge(ctx context.Context, p *part, sorter *mergetree.Sorter, b BucketMerge) (*message.Commit, error) {
	for _, source := range b.Sources {
		if err := sorter.AddSegments(m.opts.Sorted, source, b.Keys); err != nil {
			return nil, err
		}
	}
	sorted, err := sorter.Sorted(ctx)
	if err != nil {
		return nil, err
	}
	if m.opts.Against != nil {
		rows, err := m.opts.Against(ctx, b.ShuffledPart, sorted)
		if err != nil {
			return nil, errors.Join(err, sorted.Close())
		}
		sorted = rows
	}
	data, err := m.files.writer(p, false)
	if err != nil {
		return nil, errors.Join(err, sorted.Close())
	}
	if err := data.WriteAll(ctx, mergetree.Renumber(sorted, p.sequence)); err != nil {
		return nil, err
	}
	made, err := data.Close()
	if err != nil {
		return nil, err
	}
	p.keyed.files, p.keyed.writers = made, nil
	buckets := m.out.router.buckets
	return &message.Commit{
		Partition: p.partition, Bucket: p.bucket, TotalBuckets: &buckets, Data: message.DataIncrement{NewFiles: made},
	}, nil
}

// Bytes is the size of all files so far.
func (m *BucketMerger) Bytes() int64 { return m.out.Bytes() }

// Abort removes every file that the merger made, as long as nobody has been told of them.
func (m *BucketMerger) Abort(ctx context.Context) error { return m.out.Abort(ctx) }
