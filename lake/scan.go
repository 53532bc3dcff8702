package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/predicate"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// ErrNotReadable is returned by [Table.Plan] and [Table.Scan] for what Paimon may have written and this library does not
// read: rows that would have to be aggregated or joined, files that are not Parquet or lie outside the table's folder.
var ErrNotReadable = errors.New("cannot be read by this release")

// File is a data file that a snapshot shows.
type File struct {
	// Path in the table's store, empty where the file lies elsewhere: see DataFile.ExternalPath.
	Path string
	// Partition has the values of the partition keys, in their order.
	Partition []row.Value
	Bucket    int32
	// TotalBuckets is the number of buckets when the file was written, -1 where there are none.
	TotalBuckets int32
	DataFile     manifest.DataFile
}

// ScanOptions say what to read.
type ScanOptions struct {
	// Snapshot to read; 0 is the latest.
	Snapshot snapshot.ID
	// Tag whose snapshot is read instead, whether that has expired or not; empty for none.
	Tag string
	// Columns to read, in this order; none means all.
	Columns []string
	// Where says which rows are wanted; the zero value wants all.
	Where predicate.Condition
}

// Files returns the data files that a snapshot shows, of any table; 0 is the latest. A table without a snapshot has none. An
// unknown snapshot gives fileio.ErrNotExist.
func (t *Table) Files(ctx context.Context, id snapshot.ID) ([]File, error) {
	s, err := t.snapshot(ctx, id)
	if err != nil || s == nil {
		return nil, err
	}
	var files []File
	err = t.eachFile(ctx, s, manifest.Filter{}, func(f *File) error {
		files = append(files, *f)
		return nil
	})
	return files, err
}

// Scan reads the rows that a snapshot shows and that are wanted, in the table's own schema whatever schema the snapshot or a
// file has: columns are matched by id, one that a file lacks is null, narrower numbers are widened. Partition columns have
// the partition's values, as with Paimon's readers. Of a key table each key comes once, as Paimon's batch readers see it: rows
// that they wait for a compaction to show are not there. fn gets batches of the columns asked for and may keep none; its
// error ends the scan and is returned as it is. A table without a snapshot has no rows.
//
// What does not agree is an error: the sizes and rows of files with their manifest and, unless a condition on partitions
// leaves some out, their sum with the snapshot.
func (t *Table) Scan(ctx context.Context, o ScanOptions, fn func(*row.Batch) error) error {
	p, err := t.Plan(ctx, o)
	if err != nil {
		return err
	}
	for i := range p.Splits {
		if err := p.Read(ctx, &p.Splits[i], fn); err != nil {
			return err
		}
	}
	return nil
}

// Read reads the wanted rows of one of the plan's splits, as [Table.Scan] does. Several may be read at the same time.
func (p *Plan) Read(ctx context.Context, s *Split, fn func(*row.Batch) error) (err error) {
	rows, out, err := p.scan.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() {
		if closing := rows.Close(); closing != nil {
			err = errors.Join(err, closing)
		}
	}()
	in := out.p.newBatch()
	for {
		if err := rows.Next(ctx, in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.emit(in, fn); err != nil {
			return err
		}
	}
}

// output makes batches for the caller of those of a projection.
type output struct {
	p      *projection
	where  *predicate.Predicate // bound to the projection's fields
	fields row.Batch            // those of the batch without the system's
	chosen []int32
	view   row.Batch  // shares the columns of what is read
	copied *row.Batch // of the chosen rows
}

// emit hands the wanted rows and columns on.
func (o *output) emit(in *row.Batch, fn func(*row.Batch) error) error {
	o.fields.Rows, o.fields.Columns = in.Rows, in.Columns[len(o.p.system):]
	o.view.Rows, o.view.Columns = in.Rows, o.view.Columns[:0]
	for _, i := range o.p.wanted {
		o.view.Columns = append(o.view.Columns, o.fields.Columns[i])
	}
	if o.where.Always() {
		return fn(&o.view)
	}
	o.chosen = o.where.Select(&o.fields, o.chosen[:0])
	switch len(o.chosen) {
	case 0:
		return nil
	case in.Rows:
		return fn(&o.view)
	}
	if o.copied == nil {
		o.copied = row.NewBatch(o.p.wantedTypes())
	}
	o.copied.Reset()
	o.copied.AppendRows(&o.view, o.chosen)
	return fn(o.copied)
}

// snapshot reads a snapshot. It is nil when the latest is wanted and there is none.
func (t *Table) snapshot(ctx context.Context, id snapshot.ID) (*snapshot.Snapshot, error) {
	m := snapshot.NewManager(t.store, t.path)
	if id == 0 {
		return m.Latest(ctx)
	}
	return m.Get(ctx, id)
}

// eachFile calls fn for every live file of a snapshot that the filter wants.
func (t *Table) eachFile(ctx context.Context, s *snapshot.Snapshot, filter manifest.Filter, fn func(*File) error) error {
	layout, err := partition.LayoutOf(t.path, t.schema)
	if err != nil {
		return err
	}
	return t.liveEntries(ctx, s, filter, func(e *manifest.Entry) error {
		values, err := layout.Values(e.Partition)
		if err != nil {
			return fmt.Errorf("partition of file %s in snapshot %d: %w: %w", e.File.Name, s.ID, manifest.ErrCorrupt, err)
		}
		f := File{Partition: values, Bucket: e.Bucket, TotalBuckets: e.TotalBuckets, DataFile: e.File}
		if e.File.ExternalPath == nil {
			f.Path = path.Join(layout.Bucket(values, e.Bucket), e.File.Name)
		}
		return fn(&f)
	})
}

// liveEntries calls fn for every live entry of a snapshot that the filter wants.
func (t *Table) liveEntries(ctx context.Context, s *snapshot.Snapshot, filter manifest.Filter, fn func(*manifest.Entry) error) error {
	folder := manifest.In(t.store, t.path)
	var metas []manifest.FileMeta
	for _, l := range []manifest.List{
		{Name: s.BaseManifestList, Size: orZero(s.BaseManifestListSize)},
		{Name: s.DeltaManifestList, Size: orZero(s.DeltaManifestListSize)},
	} {
		more, err := folder.ReadList(ctx, l)
		if err != nil {
			return fmt.Errorf("files of snapshot %d: %w", s.ID, err)
		}
		metas = append(metas, more...)
	}
	return folder.Live(ctx, metas, filter, fn)
}

func orZero(v *int64) int64 {
	if v == nil {
		return 0
	}
	return *v
}
