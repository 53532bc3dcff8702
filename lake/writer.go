package lake

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// WriterOptions say how a writer names and bounds its files.
type WriterOptions struct {
	// Prefix begins the name of every file, such as data-<uuid>-. It must be this writer's alone: by it the files are
	// found when the writer is lost.
	Prefix string
	// Guard is asked before each new file whether the writer may go on; its error ends the writing. It may be nil.
	Guard func(ctx context.Context) error
	// RowGroupBytes bounds the memory of one open file; 0 takes the library's default.
	RowGroupBytes int
	// Memory bounds what the writer holds: rows that wait for their files or are being sorted by key, and what was encoded and
	// not written out yet. Files get smaller row groups for it. A single row that is larger is held all the same. 0 bounds only
	// rows that wait or are being sorted, by the table's option write-buffer-size, else RowGroupBytes, else 64 MiB. It can
	// be changed: see [Writer.SetMemory].
	Memory int
	// Spill and SpillFolder are where rows go that do not fit into this memory, until the writer is closed. The folder must be
	// this writer's alone. Without a store the table gets more, and smaller, files instead, and Memory may be exceeded by
	// what many open files need.
	Spill       fileio.Store
	SpillFolder string
	// ChangelogPrefix is what Prefix is, for the changelog files of tables with changelog-producer = input, which need it.
	ChangelogPrefix string
	// Existing is what live files ask of the numbers that rows get; nil reads it from the latest snapshot at the first
	// row. Tables without buckets need none.
	Existing *Existing
	// Overwrite tells that a commit will replace the partitions that are written to, so that no live file matters: rows
	// are numbered from 0 and the number of buckets may be another than before.
	Overwrite bool
	// TopLevel tells that a key table's buckets will hold nothing but what this writer writes to them, for an Overwrite. Its
	// files go to the top level of the merge tree, where readers need not merge, and deleted rows are left out.
	TopLevel bool
	// Codecs is shared by writers that work at the same time; nil gives the writer one of its own.
	Codecs *Codecs
}

// Codecs keeps compressors, whose tables take megabytes, for all writers of a process. The zero value is ready; it may be
// used from several goroutines.
type Codecs struct {
	mu   sync.Mutex
	made map[string]*datafile.Codec
}

// get returns the codec of a table's options.
func (c *Codecs) get(name string, level int) (*datafile.Codec, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := fmt.Sprint(name, level)
	if codec := c.made[key]; codec != nil {
		return codec, nil
	}
	codec, err := datafile.NewCodec(name, level)
	if err != nil {
		return nil, err
	}
	if c.made == nil {
		c.made = map[string]*datafile.Codec{}
	}
	c.made[key] = codec
	return codec, nil
}

// Writer writes rows of one table into data files, in a folder for each partition and bucket. It is not for use by several
// goroutines. After an error only Abort makes sense.
type Writer struct {
	table   *Table
	opts    WriterOptions
	options schema.Options
	router  *router
	files   filer
	next    int // number of the next file
	batches int64
}

// filer makes files of the rows of parts.
type filer interface {
	// write adds rows of a batch to a part; nil rows means all, nil kinds that all are inserted.
	write(ctx context.Context, p *part, b *row.Batch, rows []int32, kinds []row.Kind) error
	// finish ends the files of a part. Nothing is written to it any more.
	finish(ctx context.Context, p *part) (message.DataIncrement, error)
	// abort gives up what is open.
	abort(ctx context.Context, p *part) error
	// bytes is the size of a part's files so far.
	bytes(p *part) int64
	// shrink gives back what is held beyond the writer's memory.
	shrink(ctx context.Context) error
}

// NewWriter starts a writer. Nothing is read or made before the first row.
func (t *Table) NewWriter(opts WriterOptions) (*Writer, error) {
	if err := schema.CheckWritable(t.schema); err != nil {
		return nil, err
	}
	o, err := t.schema.ParseOptions()
	if err != nil {
		return nil, err
	}
	if opts.Codecs == nil {
		opts.Codecs = &Codecs{}
	}
	w := &Writer{table: t, opts: opts, options: o}
	if w.router, err = newRouter(t, o); err != nil {
		return nil, err
	}
	w.router.existing = w.existing
	if len(t.schema.PrimaryKeys) > 0 {
		w.files, err = newKeyFiles(w)
	} else {
		w.files, err = newAppendFiles(w)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// existing is what live files ask for, read once.
func (w *Writer) existing(ctx context.Context) (*Existing, error) {
	if w.opts.Overwrite {
		return &Existing{}, nil
	}
	if w.opts.Existing == nil {
		e, err := w.table.Existing(ctx, 0)
		if err != nil {
			return nil, fmt.Errorf("look for the sequence numbers of %s: %w", w.table.store.URI(w.table.path), err)
		}
		w.opts.Existing = e
	}
	return w.opts.Existing, nil
}

// Write adds the rows of a batch, whose columns are the table's in order. The batch is not kept.
func (w *Writer) Write(ctx context.Context, b *row.Batch) error { return w.WriteKinds(ctx, b, nil) }

// WriteKinds adds rows with what each does to its key; nil means that all are inserted, and a table without a primary key
// takes no others. Neither is kept.
func (w *Writer) WriteKinds(ctx context.Context, b *row.Batch, kinds []row.Kind) error {
	if kinds != nil && len(kinds) != b.Rows {
		return fmt.Errorf("%d rows have %d kinds", b.Rows, len(kinds))
	}
	if b.Rows == 0 {
		return nil
	}
	w.batches++
	p, err := w.router.only(ctx)
	if err != nil {
		return err
	}
	if p != nil {
		return w.files.write(ctx, p, b, nil, kinds)
	}
	if err := w.router.route(ctx, b); err != nil {
		return err
	}
	for _, p := range w.router.touched {
		if err := w.files.write(ctx, p, b, p.rows, kinds); err != nil {
			return err
		}
	}
	return nil
}

// SetMemory changes [WriterOptions.Memory] and gives back what is held beyond it.
func (w *Writer) SetMemory(ctx context.Context, bytes int) error {
	less := bytes < w.opts.Memory
	w.opts.Memory = bytes
	if !less {
		return nil
	}
	return w.files.shrink(ctx)
}

// memory bounds the bytes of rows that wait.
func (w *Writer) memory() int {
	switch {
	case w.opts.Memory > 0:
		return w.opts.Memory
	case w.options.WriteBufferSize > 0:
		return int(w.options.WriteBufferSize)
	case w.opts.RowGroupBytes > 0:
		return w.opts.RowGroupBytes
	}
	return 64 << 20
}

// name numbers files over all parts of the writer.
func (w *Writer) name(p *part, prefix string) string {
	name := fmt.Sprintf("%s%d.parquet", prefix, w.next)
	w.next++
	p.names = append(p.names, name)
	return name
}

// Close ends all files and returns a commit message for each partition and bucket, none if there was no row.
func (w *Writer) Close(ctx context.Context) ([]*message.Commit, error) {
	buckets := w.router.buckets
	var messages []*message.Commit
	for _, p := range w.router.order {
		increment, err := w.files.finish(ctx, p)
		if err != nil {
			return nil, err
		}
		if len(increment.NewFiles) == 0 && len(increment.ChangelogFiles) == 0 {
			continue // all its rows were of kinds that the table ignores
		}
		messages = append(messages, &message.Commit{
			Partition: p.partition, Bucket: p.bucket, TotalBuckets: &buckets, Data: increment,
		})
	}
	return messages, nil
}

// Abort removes every file that the writer made, also after Close, as long as nobody has been told of them.
func (w *Writer) Abort(ctx context.Context) error {
	var errs []error
	for _, p := range w.router.order {
		errs = append(errs, w.files.abort(ctx, p))
		for _, name := range p.names {
			errs = append(errs, w.table.store.Delete(ctx, path.Join(p.folder, name)))
		}
		p.names = nil
	}
	return errors.Join(errs...)
}

// Bytes is the size of all files so far.
func (w *Writer) Bytes() int64 {
	var n int64
	for _, p := range w.router.order {
		n += w.files.bytes(p)
	}
	return n
}
