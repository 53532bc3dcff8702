package mergetree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// WriterOptions say what files a [Writer] makes and where.
type WriterOptions struct {
	// File is passed on to every file's writer. A nil codec is made of the table's options, see [Spec.Compression].
	File datafile.Options
	// Store and Folder say where: the folder of one partition and bucket.
	Store  fileio.Store
	Folder string
	// Name gives the bare name of the n-th file, from 0. It must never name a file that exists.
	Name func(n int) string
	// BeforeFile is asked before each new file whether it may still be written; its error ends the writing. It may be nil.
	BeforeFile func(ctx context.Context) error
	// Level of the merge tree. Above level 0 a bucket's files of one level must not overlap.
	Level int32
	// Source is SourceAppend for what a writer adds and SourceCompact for what a compaction makes of files.
	Source manifest.FileSource
	// Changelog makes changelog files, in which a key may come more than once.
	Changelog bool
	// TargetSize is the file size in bytes at which the next file begins; 0 takes the table's.
	TargetSize int64
	// Now tells the time of day; nil means time.Now.
	Now func() time.Time
}

// Writer writes the rows of one partition and bucket of a key table into files of about the target size and describes them
// for the manifest (org.apache.paimon.io.KeyValueDataFileWriter). It is not for use by several goroutines. After an error only
// Abort makes sense.
type Writer struct {
	spec    *Spec
	opts    WriterOptions
	files   *datafile.RollingWriter
	physic  *row.Batch // the columns of a file, which are those of the batch being written
	copies  int        // of key columns in a file
	stats   []datafile.StatsMode
	keyMode []datafile.StatsMode
	err     error

	keyer *keyer
	keys  keys
	// of the last row written, to check the order
	started bool
	prefix  uint64
	key     []byte

	file fileFacts
}

// fileFacts are what a file's record needs beside what its columns' writers know.
type fileFacts struct {
	any      bool
	min, max []byte // keys as serialized BinaryRows
	// sequence numbers
	low, high int64
	deletes   int64
}

// NewWriter prepares to write; the first file begins with the first row. What must not be written is ErrUnsupported.
func NewWriter(spec *Spec, o WriterOptions) (*Writer, error) {
	if err := spec.CheckWritable(); err != nil {
		return nil, err
	}
	options, err := spec.table.ParseOptions()
	if err != nil {
		return nil, err
	}
	if o.TargetSize <= 0 {
		o.TargetSize = options.TargetFileSize
	}
	if o.File.Codec == nil {
		name, level, err := spec.Compression(o.Level, o.Changelog)
		if err != nil {
			return nil, err
		}
		if o.File.Codec, err = datafile.NewCodec(name, level); err != nil {
			return nil, err
		}
	}
	w := &Writer{spec: spec, opts: o, keyer: newKeyer(spec), copies: len(spec.keyFields())}
	if err := w.readModes(); err != nil {
		return nil, err
	}
	fields := spec.FileFields()
	w.physic = &row.Batch{Columns: make([]row.Vector, len(fields))}
	modes, err := datafile.StatsModes(fields, nil)
	if err != nil {
		return nil, err
	}
	w.files, err = datafile.NewRollingWriter(datafile.RollingOptions{
		File: o.File, Store: o.Store, Folder: o.Folder, Name: o.Name, BeforeFile: o.BeforeFile,
		SchemaID: spec.table.ID, Fields: fields, StatsModes: modes, TargetSize: o.TargetSize, Now: o.Now,
		Describe: w.describe,
	})
	return w, err
}

// readModes chooses how much of the columns' statistics is kept (org.apache.paimon.stats.StatsCollectorFactories): of keys
// nearly all.
func (w *Writer) readModes() error {
	options, err := w.spec.statsOptions(w.opts.Level, w.opts.Changelog)
	if err != nil {
		return err
	}
	keyMode, err := datafile.ParseStatsMode("truncate(128)")
	if err != nil {
		return err
	}
	for range w.spec.Key {
		w.keyMode = append(w.keyMode, keyMode)
	}
	fields := w.spec.table.Fields
	if w.copies > 0 {
		w.stats, err = datafile.StatsModes(fields, options)
		return err
	}
	// In thin mode the key's own columns stand for the copies, and are not counted among those that have statistics.
	var counted []schema.Field
	isKey := map[int]bool{}
	for _, at := range w.spec.Key {
		if _, own := options["fields."+fields[at].Name+".stats-mode"]; !own {
			isKey[at] = true
		}
	}
	for i, f := range fields {
		if !isKey[i] {
			counted = append(counted, f)
		}
	}
	modes, err := datafile.StatsModes(counted, options)
	if err != nil {
		return err
	}
	for i := range fields {
		if isKey[i] {
			w.stats = append(w.stats, keyMode)
			continue
		}
		w.stats, modes = append(w.stats, modes[0]), modes[1:]
	}
	for i, at := range w.spec.Key {
		w.keyMode[i] = w.stats[at]
	}
	return nil
}

// Write adds all rows of a batch of [Spec.Fields], which is not kept. Rows must come in merge order and each key once, in
// changelog files as often as it may: else ErrOrder.
func (w *Writer) Write(ctx context.Context, b *row.Batch) error {
	if w.err != nil || b.Rows == 0 {
		return w.err
	}
	w.err = w.write(ctx, b)
	return w.err
}

func (w *Writer) write(ctx context.Context, b *row.Batch) error {
	if len(b.Columns) != len(w.physic.Columns)-w.copies {
		return fmt.Errorf("a batch of %d columns is not one of the table's %d with two system columns",
			len(b.Columns), len(w.spec.table.Fields))
	}
	if err := w.checkOrder(b); err != nil {
		return err
	}
	w.observe(b)
	for i, at := range w.spec.Key[:w.copies] {
		w.physic.Columns[i] = b.Columns[ValueColumns+at]
	}
	copy(w.physic.Columns[w.copies:], b.Columns)
	w.physic.Rows = b.Rows
	return w.files.Write(ctx, w.physic)
}

func (w *Writer) checkOrder(b *row.Batch) error {
	w.keys.reset()
	if err := w.keyer.add(&w.keys, b, 0); err != nil {
		return err
	}
	prefix, key, started := w.prefix, w.key, w.started
	for i, p := range w.keys.prefix {
		k := w.keys.bytes(uint32(i))
		if started && prefix >= p {
			c := 1
			if prefix == p {
				c = bytes.Compare(key, k)
			}
			if c > 0 || c == 0 && !w.opts.Changelog {
				return fmt.Errorf("%w: key %s does not come after the one before it", ErrOrder, w.keyer.text(b, i))
			}
		}
		prefix, key, started = p, k, true
	}
	w.prefix, w.key, w.started = prefix, append(w.key[:0], key...), true
	return nil
}

// observe takes from a batch what the record of its file needs. A batch goes into one file as a whole.
func (w *Writer) observe(b *row.Batch) {
	f := &w.file
	if !f.any {
		*f = fileFacts{any: true, min: w.serialize(b, 0), low: math.MaxInt64, high: math.MinInt64}
	}
	f.max = w.serialize(b, b.Rows-1)
	for _, n := range b.Columns[SequenceColumn].I64[:b.Rows] {
		f.low, f.high = min(f.low, n), max(f.high, n)
	}
	for _, k := range b.Columns[KindColumn].I32[:b.Rows] {
		if row.Kind(k).Retracts() {
			f.deletes++
		}
	}
}

// serialize is a row's key as manifests have it.
func (w *Writer) serialize(b *row.Batch, i int) []byte {
	values := make([]row.Value, len(w.spec.Key))
	for k, at := range w.spec.Key {
		values[k] = b.Columns[ValueColumns+at].Value(i)
	}
	return row.Serialize(w.spec.KeyTypes(), values)
}

// describe completes the record of a file.
func (w *Writer) describe(r datafile.Result, f *manifest.DataFile) error {
	values := r.Columns[w.copies+ValueColumns:]
	keys := make([]datafile.ColumnStats, len(w.spec.Key))
	for i, at := range w.spec.Key {
		keys[i] = values[at]
	}
	var err error
	if f.KeyStats, _, err = datafile.ManifestStats(keys, w.keyMode); err != nil {
		return err
	}
	if f.ValueStats, f.ValueStatsColumns, err = datafile.ManifestStats(values, w.stats); err != nil {
		return err
	}
	deletes, source := w.file.deletes, w.opts.Source
	f.MinKey, f.MaxKey, f.MinSequence, f.MaxSequence = w.file.min, w.file.max, w.file.low, w.file.high
	f.Level, f.DeleteRows, f.Source = w.opts.Level, &deletes, &source
	w.file = fileFacts{}
	return nil
}

// WriteAll adds all rows of a source and closes it.
func (w *Writer) WriteAll(ctx context.Context, s Source) (err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	b := w.spec.NewBatch()
	for {
		err := s.Next(ctx, b)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = w.Write(ctx, b)
		}
		if err != nil {
			return err
		}
	}
}

// Close ends the last file and returns what all files are. No rows give no file.
func (w *Writer) Close() ([]manifest.DataFile, error) {
	if w.err != nil {
		return nil, w.err
	}
	w.err = errors.New("the data files are closed")
	return w.files.Close()
}

// Abort removes all files that were begun, also after Close, as long as nobody has been told of them. It goes on where a file
// cannot be removed; the error joins all such.
func (w *Writer) Abort(ctx context.Context) error {
	w.err = errors.New("the data files are aborted")
	return w.files.Abort(ctx)
}

// Buffered is the memory held, in bytes.
func (w *Writer) Buffered() int { return w.files.Buffered() + w.keys.memory() }

// Size is the number of bytes of all files so far, finished pages in memory included.
func (w *Writer) Size() int64 { return w.files.Size() }

// Rows is the number of rows added.
func (w *Writer) Rows() int64 { return w.files.Rows() }
