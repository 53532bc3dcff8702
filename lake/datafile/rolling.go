package datafile

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// RollingOptions say what files a RollingWriter makes and where.
type RollingOptions struct {
	// File is passed on to every file's writer.
	File Options
	// Store and Folder say where: the folder of one partition and bucket.
	Store  fileio.Store
	Folder string
	// Name gives the bare name of the n-th file, from 0. It must never name a file that exists.
	Name func(n int) string
	// BeforeFile is asked before each new file whether it may still be written; its error ends the writing. It may be nil.
	BeforeFile func(ctx context.Context) error
	// SchemaID is the schema version whose fields these are.
	SchemaID schema.ID
	Fields   []schema.Field
	// StatsModes has a mode for each field; nil means truncate(16) for all, as Paimon's default.
	StatsModes []StatsMode
	// TargetSize is the file size in bytes at which the next file begins. Default 256 MiB, Paimon's `target-file-size` of
	// append tables.
	TargetSize int64
	// Sequence is the sequence number of the first row.
	Sequence int64
	// Now tells the time of day; nil means time.Now.
	Now func() time.Time
	// Describe completes the record of a finished file, which is that of an append table's; nil leaves it so. Its error ends
	// the writing.
	Describe func(r Result, f *manifest.DataFile) error
}

func (o RollingOptions) withDefaults() (RollingOptions, error) {
	var err error
	if o.StatsModes == nil {
		if o.StatsModes, err = StatsModes(o.Fields, nil); err != nil {
			return o, err
		}
	}
	if len(o.StatsModes) != len(o.Fields) {
		return o, fmt.Errorf("%d statistics modes for %d columns", len(o.StatsModes), len(o.Fields))
	}
	if o.TargetSize <= 0 {
		o.TargetSize = 256 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// RollingWriter writes the rows of one partition and bucket of an append table into files of about the target size and
// describes them for the manifest. It is not for use by several goroutines. After an error only Abort makes sense.
type RollingWriter struct {
	opts     RollingOptions
	writer   *Writer
	out      fileio.Writer // of the open file, nil when there is none
	names    []string      // of all files begun
	files    []manifest.DataFile
	sequence int64
	err      error
}

// NewRollingWriter prepares to write; the first file begins with the first row.
func NewRollingWriter(opts RollingOptions) (*RollingWriter, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(nil, opts.Fields, opts.File)
	if err != nil {
		return nil, err
	}
	return &RollingWriter{opts: opts, writer: w, sequence: opts.Sequence}, nil
}

// Write adds all rows of a batch, which is not kept.
func (w *RollingWriter) Write(ctx context.Context, b *row.Batch) error {
	if b.Rows == 0 {
		return w.err
	}
	return w.write(ctx, func() error { return w.writer.Write(b) })
}

// WriteRows adds the rows of a batch whose numbers are given. Neither is kept.
func (w *RollingWriter) WriteRows(ctx context.Context, b *row.Batch, rows []int32) error {
	if len(rows) == 0 {
		return w.err
	}
	return w.write(ctx, func() error { return w.writer.WriteRows(b, rows) })
}

func (w *RollingWriter) write(ctx context.Context, add func() error) error {
	if w.err != nil {
		return w.err
	}
	if w.out == nil {
		if err := w.open(ctx); err != nil {
			return w.fail(err)
		}
	}
	if err := add(); err != nil {
		return w.fail(fmt.Errorf("write %s: %w", w.current(), err))
	}
	if w.writer.Size() >= w.opts.TargetSize {
		return w.fail(w.finish())
	}
	return nil
}

func (w *RollingWriter) fail(err error) error {
	if err != nil {
		w.err = err
	}
	return err
}

// current is the path of the newest file.
func (w *RollingWriter) current() string { return path.Join(w.opts.Folder, w.names[len(w.names)-1]) }

func (w *RollingWriter) open(ctx context.Context) error {
	if w.opts.BeforeFile != nil {
		if err := w.opts.BeforeFile(ctx); err != nil {
			return fmt.Errorf("begin a data file in %s: %w", w.opts.Folder, err)
		}
	}
	w.names = append(w.names, w.opts.Name(len(w.names)))
	out, err := w.opts.Store.Create(ctx, w.current())
	if err != nil {
		return fmt.Errorf("create data file: %w", err)
	}
	w.out = out
	w.writer.Reset(out)
	return nil
}

// finish ends the open file and describes it.
func (w *RollingWriter) finish() error {
	res, err := w.writer.Close()
	if err != nil {
		return fmt.Errorf("finish %s: %w", w.current(), err)
	}
	stats, names, err := ManifestStats(res.Columns, w.opts.StatsModes)
	if err != nil {
		return fmt.Errorf("statistics of %s: %w", w.current(), err)
	}
	if err := w.out.Close(); err != nil {
		return fmt.Errorf("close %s: %w", w.current(), err)
	}
	w.out = nil
	creation, deletes, source := wallClock(w.opts.Now()), int64(0), manifest.SourceAppend
	file := manifest.DataFile{
		Name:              w.names[len(w.names)-1],
		Size:              res.Size,
		Rows:              res.Rows,
		MinKey:            make([]byte, 12),
		MaxKey:            make([]byte, 12),
		KeyStats:          manifest.EmptyStats(),
		ValueStats:        stats,
		MinSequence:       w.sequence,
		MaxSequence:       w.sequence + res.Rows - 1,
		SchemaID:          w.opts.SchemaID,
		ExtraFiles:        []string{},
		CreationMillis:    &creation,
		DeleteRows:        &deletes,
		Source:            &source,
		ValueStatsColumns: names,
	}
	if w.opts.Describe != nil {
		if err := w.opts.Describe(res, &file); err != nil {
			return fmt.Errorf("describe %s: %w", w.current(), err)
		}
	}
	w.files = append(w.files, file)
	w.sequence += res.Rows
	return nil
}

// wallClock is the time on the clock on the wall as if it were UTC, in milliseconds since 1970, as Paimon keeps it.
func wallClock(t time.Time) int64 {
	_, offset := t.Zone()
	return t.UnixMilli() + int64(offset)*1000
}

// Close ends the last file and returns what all files are. No rows give no file.
func (w *RollingWriter) Close() ([]manifest.DataFile, error) {
	if w.err != nil {
		return nil, w.err
	}
	if w.out != nil {
		if err := w.finish(); err != nil {
			return nil, w.fail(err)
		}
	}
	w.err = errors.New("the data files are closed")
	return w.files, nil
}

// Abort removes all files that were begun, also after Close, as long as nobody has been told of them. It goes on where a
// file cannot be removed; the error joins all such.
func (w *RollingWriter) Abort(ctx context.Context) error {
	w.err = errors.New("the data files are aborted")
	var errs []error
	if w.out != nil {
		errs = append(errs, w.out.Abort())
		w.out = nil
	}
	for _, name := range w.names {
		if err := w.opts.Store.Delete(ctx, path.Join(w.opts.Folder, name)); err != nil {
			errs = append(errs, fmt.Errorf("remove data file: %w", err))
		}
	}
	w.names, w.files = nil, nil
	return errors.Join(errs...)
}

// Buffered is the memory held, in bytes.
func (w *RollingWriter) Buffered() int { return w.writer.Buffered() }

// Shrink is [Writer.Shrink] of the open file, if there is one.
func (w *RollingWriter) Shrink() error {
	if w.err != nil || w.out == nil {
		return w.err
	}
	return w.fail(w.writer.Shrink())
}

// Size is the number of bytes of all files so far, finished pages in memory included.
func (w *RollingWriter) Size() int64 {
	n := int64(0)
	for _, f := range w.files {
		n += f.Size
	}
	if w.out != nil {
		n += w.writer.Size()
	}
	return n
}

// Rows is the number of rows added.
func (w *RollingWriter) Rows() int64 {
	n := w.sequence - w.opts.Sequence
	if w.out != nil {
		n += w.writer.Rows()
	}
	return n
}
