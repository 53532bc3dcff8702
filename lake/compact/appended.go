package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// planAppended chooses runs of neighbouring small files of one bucket of an append table. With buckets the order of rows is
// that of their sequence numbers, and a large file parts the small ones before it from those after it. Without, rows have
// no order, and small files are neighbours all.
func (c *Compactor) planAppended(files []lake.File) []Task {
	ordered := c.options.Bucket != schema.BucketUnaware
	if ordered {
		files = slices.Clone(files)
		slices.SortStableFunc(files, func(a, b lake.File) int {
			return cmp.Compare(a.DataFile.MinSequence, b.DataFile.MinSequence)
		})
	}
	var tasks []Task
	var bin []lake.File
	bytes := int64(0)
	close := func() {
		if len(bin) >= c.minimum || len(bin) > 1 && bytes >= 2*c.options.TargetFileSize {
			tasks = append(tasks, c.task(bin, false))
		}
		bin, bytes = nil, 0
	}
	for _, f := range files {
		if f.DataFile.Size >= c.small {
			if ordered {
				close()
			}
			continue
		}
		bin = append(bin, f)
		bytes += f.DataFile.Size
		if bytes >= 2*c.options.TargetFileSize {
			close()
		}
	}
	close()
	return tasks
}

// rewrite writes the rows of a task's files anew, in their order and in the latest schema. Sequence numbers go on from the
// smallest of the files: a new file's lie within what the old ones had.
func (c *Compactor) rewrite(ctx context.Context, t *Task) ([]manifest.DataFile, error) {
	stats, err := datafile.StatsModes(c.schema.Fields, c.schema.Options)
	if err != nil {
		return nil, err
	}
	codec, err := datafile.NewCodec(c.options.Compression, c.options.ZstdLevel)
	if err != nil {
		return nil, err
	}
	first := t.Files[0].DataFile.MinSequence
	for i := range t.Files {
		first = min(first, t.Files[i].DataFile.MinSequence)
	}
	w, err := datafile.NewRollingWriter(datafile.RollingOptions{
		File:  datafile.Options{Codec: codec, RowGroupBytes: c.o.RowGroupBytes}.WithBlockSize(c.options.BlockSize),
		Store: c.store, Folder: path.Dir(t.Files[0].Path), Name: c.name, BeforeFile: c.o.Guard,
		SchemaID: c.schema.ID, Fields: c.schema.Fields, StatsModes: stats,
		TargetSize: c.options.TargetFileSize, Sequence: first,
		Describe: func(_ datafile.Result, f *manifest.DataFile) error {
			source := manifest.SourceCompact
			f.Source = &source
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	files, err := c.copyRows(ctx, t, w)
	if err != nil {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		return nil, errors.Join(err, w.Abort(cleaning))
	}
	return files, nil
}

func (c *Compactor) copyRows(ctx context.Context, t *Task, w *datafile.RollingWriter) ([]manifest.DataFile, error) {
	if c.reader == nil {
		var err error
		if c.reader, err = c.table.Plan(ctx, lake.ScanOptions{}); err != nil {
			return nil, err
		}
	}
	rows := int64(0)
	for i := range t.Files {
		rows += t.Files[i].DataFile.Rows
		split := lake.Split{Partition: t.Partition, Bucket: t.Bucket, Files: t.Files[i : i+1]}
		if err := c.reader.Read(ctx, &split, func(b *row.Batch) error { return w.Write(ctx, b) }); err != nil {
			return nil, err
		}
	}
	if w.Rows() != rows {
		return nil, fmt.Errorf("%w: the files' manifest says %d rows, %d were read", manifest.ErrCorrupt, rows, w.Rows())
	}
	return w.Close()
}
