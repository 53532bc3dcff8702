package datafile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// ErrRange is returned for a value that its type cannot hold, such as 1000 in a DECIMAL(3, 1).
var ErrRange = errors.New("value out of the type's range")

// Options of a writer. The zero value is good: every field that is zero takes its default.
type Options struct {
	// Codec compresses; nil means zstd level 1. Share one between writers.
	Codec *Codec
	// RowGroupBytes is the memory of finished and unfinished pages at which a row group is written out. Default 128 MiB.
	RowGroupBytes int
	// PageBytes bounds the values of a page; a single value may be larger. Default 1 MiB.
	PageBytes int
	// PageRows bounds the rows of a page. Default 20,000, as Paimon's.
	PageRows int
}

// WithBlockSize returns the options with row groups of a table's `file.block-size`, where that is set and not more than
// RowGroupBytes allows; 0 is not set.
func (o Options) WithBlockSize(bytes int64) Options {
	if bytes > 0 && (o.RowGroupBytes <= 0 || bytes < int64(o.RowGroupBytes)) {
		o.RowGroupBytes = int(bytes)
	}
	return o
}

func (o Options) withDefaults() (Options, error) {
	if o.Codec == nil {
		codec, err := NewCodec("zstd", 1)
		if err != nil {
			return o, err
		}
		o.Codec = codec
	}
	if o.RowGroupBytes <= 0 {
		o.RowGroupBytes = 128 << 20
	}
	if o.PageBytes <= 0 {
		o.PageBytes = 1 << 20
	}
	if o.PageRows <= 0 {
		o.PageRows = 20_000
	}
	return o, nil
}

// Result describes a finished file.
type Result struct {
	// Size is the file's exact length in bytes.
	Size int64
	Rows int64
	// Columns has the statistics of each column, in order.
	Columns []ColumnStats
}

// Writer writes one Parquet file of one schema. It is not for use by several goroutines. After an error it is broken: every
// further call returns that error and the file must be given up.
type Writer struct {
	out     io.Writer
	opts    Options
	fields  []schema.Field
	inputs  []input   // of the fields
	columns []*column // the leaves of the file's schema
	sink    *sink

	offset    int64 // bytes written
	rows      int64 // of the row groups written
	groupRows int64 // of the row group in memory
	groups    []format.RowGroup
	err       error
}

// input takes a column of a batch: into one column of the file, or by a shredder into several.
type input struct {
	flat   *column
	nested *shredder
}

func (in input) check(v *row.Vector, rows int) error {
	if in.nested != nil {
		return in.nested.check(v, rows)
	}
	return in.flat.check(v, rows)
}

func (in input) write(s *sink, v *row.Vector, rows int, selected []int32) error {
	if in.nested != nil {
		return in.nested.write(s, v, rows, selected)
	}
	return in.flat.write(s, v, rows, selected)
}

// stats are those of the field; of nested fields only the nulls are known.
func (in input) stats() ColumnStats {
	if s := in.nested; s != nil {
		return ColumnStats{Field: s.field, Nulls: s.nulls, Min: row.NullValue(), Max: row.NullValue()}
	}
	return in.flat.stats()
}

// NewWriter starts a file.
func NewWriter(out io.Writer, fields []schema.Field, opts Options) (*Writer, error) {
	if err := checkFields(fields); err != nil {
		return nil, err
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Writer{opts: opts, fields: fields, sink: newSink(opts.Codec)}
	for _, f := range fields {
		if f.Type.Nested() {
			s := newShredder(f, opts)
			w.inputs, w.columns = append(w.inputs, input{nested: s}), append(w.columns, s.leaves...)
			continue
		}
		c := newColumn(f, opts)
		w.inputs, w.columns = append(w.inputs, input{flat: c}), append(w.columns, c)
	}
	w.Reset(out)
	return w, nil
}

// Reset starts another file of the same schema and keeps the memory. What was not closed is dropped.
func (w *Writer) Reset(out io.Writer) {
	w.out, w.offset, w.rows, w.err = out, 0, 0, nil
	w.groups = w.groups[:0]
	w.resetGroup()
	for _, c := range w.columns {
		c.total.reset()
		c.nulls = 0
	}
	for _, in := range w.inputs {
		if in.nested != nil {
			in.nested.nulls = 0
		}
	}
}

func (w *Writer) resetGroup() {
	w.groupRows = 0
	w.sink.arena.reset()
	for _, c := range w.columns {
		c.startPage()
		c.chunk.reset()
		c.dict.reset()
	}
}

// Write adds all rows of a batch, whose columns are those of the schema in order. The batch is not kept.
func (w *Writer) Write(b *row.Batch) error { return w.write(b, nil, b.Rows) }

// WriteRows adds the rows of a batch whose numbers are given. Neither is kept.
func (w *Writer) WriteRows(b *row.Batch, rows []int32) error {
	for _, i := range rows {
		if i < 0 || int(i) >= b.Rows {
			return fmt.Errorf("row %d is not in a batch of %d", i, b.Rows)
		}
	}
	return w.write(b, rows, len(rows))
}

func (w *Writer) write(b *row.Batch, selected []int32, n int) error {
	if w.err != nil || n == 0 {
		return w.err
	}
	if len(b.Columns) != len(w.inputs) {
		return fmt.Errorf("batch has %d columns, want %d", len(b.Columns), len(w.inputs))
	}
	for i, in := range w.inputs {
		if err := in.check(&b.Columns[i], b.Rows); err != nil {
			return err
		}
	}
	for i, in := range w.inputs {
		if err := in.write(w.sink, &b.Columns[i], b.Rows, selected); err != nil {
			return w.fail(err)
		}
	}
	w.groupRows += int64(n)
	if w.pending() >= int64(w.opts.RowGroupBytes) {
		return w.fail(w.flushGroup())
	}
	return nil
}

func (w *Writer) fail(err error) error {
	if err != nil {
		w.err = err
	}
	return err
}

// pending is the size of the row group in memory.
func (w *Writer) pending() int64 {
	n := w.sink.arena.size
	for _, c := range w.columns {
		n += c.pending()
	}
	return int64(n)
}

// Buffered is the memory held, in bytes.
func (w *Writer) Buffered() int {
	n := w.sink.memory()
	for _, c := range w.columns {
		n += c.memory()
	}
	return n
}

// Shrink writes the row group in memory out, however small it is, and gives its memory up: readers pay for small row groups,
// so this is for when memory is needed elsewhere.
func (w *Writer) Shrink() error {
	if w.err == nil {
		w.err = w.flushGroup()
	}
	w.sink = newSink(w.opts.Codec)
	for _, c := range w.columns {
		c.page, c.present, c.dict.plain, c.dict.entries, c.dict.slots = nil, nil, nil, nil, nil
		c.startPage()
	}
	return w.err
}

// Size is the length that the file has reached: what is written and the finished pages in memory.
func (w *Writer) Size() int64 { return w.offset + int64(w.sink.arena.size) }

// Rows is the number of rows added.
func (w *Writer) Rows() int64 { return w.rows + w.groupRows }

// put writes bytes out.
func (w *Writer) put(b []byte) error {
	n, err := w.out.Write(b)
	w.offset += int64(n)
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}

// flushGroup writes the row group in memory out.
func (w *Writer) flushGroup() error {
	if w.groupRows == 0 {
		return nil
	}
	if w.offset == 0 {
		if err := w.put([]byte(magic)); err != nil {
			return err
		}
	}
	group := format.RowGroup{NumRows: w.groupRows, Ordinal: int16(len(w.groups)), FileOffset: w.offset}
	for _, c := range w.columns {
		meta, err := w.flushChunk(c)
		if err != nil {
			return err
		}
		group.TotalByteSize += meta.TotalUncompressedSize
		group.TotalCompressedSize += meta.TotalCompressedSize
		group.Columns = append(group.Columns, format.ColumnChunk{FileOffset: meta.DataPageOffset, MetaData: meta})
	}
	w.groups = append(w.groups, group)
	w.rows += w.groupRows
	w.resetGroup()
	return nil
}

// flushChunk writes a column's pages of the row group out and describes them.
func (w *Writer) flushChunk(c *column) (format.ColumnMetaData, error) {
	if err := c.flushPage(w.sink); err != nil {
		return format.ColumnMetaData{}, err
	}
	meta := format.ColumnMetaData{
		Type:         c.physical.parquetType(),
		PathInSchema: c.path,
		Codec:        w.opts.Codec.id,
		NumValues:    c.chunk.rows,
	}
	if c.chunk.dictPages > 0 {
		e, err := c.addDictionary(w.sink)
		if err != nil {
			return meta, err
		}
		meta.DictionaryPageOffset = w.offset
		if err := w.putPage(e); err != nil {
			return meta, err
		}
	}
	meta.DataPageOffset = w.offset
	for _, e := range c.chunk.pages {
		if err := w.putPage(e); err != nil {
			return meta, err
		}
	}
	if err := c.checkRange(&c.chunk.bounds); err != nil {
		return meta, err
	}
	c.describe(&meta)
	c.total.merge(&c.chunk.bounds)
	c.nulls += c.chunk.nulls
	return meta, nil
}

func (w *Writer) putPage(e extent) error {
	w.offset += int64(e.end - e.start)
	return w.sink.arena.writeTo(w.out, e)
}

// describe sets sizes, encodings and statistics of the row group's chunk.
func (c *column) describe(meta *format.ColumnMetaData) {
	meta.TotalUncompressedSize, meta.TotalCompressedSize = c.chunk.rawSize, c.chunk.size
	meta.Encoding = []format.Encoding{format.RLE, format.BitPacked}
	stat := func(p format.PageType, e format.Encoding, n int32) {
		meta.EncodingStats = append(meta.EncodingStats, format.PageEncodingStats{PageType: p, Encoding: e, Count: n})
	}
	if c.chunk.dictPages > 0 {
		meta.Encoding = append(meta.Encoding, plainDictionary)
		stat(format.DictionaryPage, plainDictionary, 1)
		stat(format.DataPage, plainDictionary, c.chunk.dictPages)
	}
	if c.chunk.plain > 0 {
		meta.Encoding = append(meta.Encoding, format.Plain)
		stat(format.DataPage, format.Plain, c.chunk.plain)
	}
	meta.Statistics.NullCount = c.chunk.nulls
	meta.Statistics.MinValue, meta.Statistics.MaxValue = c.chunk.bounds.plain()
}

// Close writes what is left and the footer. The underlying writer stays open. A file without rows is an error.
func (w *Writer) Close() (Result, error) {
	if w.err != nil {
		return Result{}, w.err
	}
	if w.Rows() == 0 {
		return Result{}, w.fail(errors.New("a data file without rows is never written"))
	}
	if err := w.flushGroup(); err != nil {
		return Result{}, w.fail(err)
	}
	if err := w.putFooter(); err != nil {
		return Result{}, w.fail(err)
	}
	res := Result{Size: w.offset, Rows: w.rows}
	for _, in := range w.inputs {
		res.Columns = append(res.Columns, in.stats())
	}
	w.err = errors.New("the file is closed")
	return res, nil
}

func (w *Writer) putFooter() error {
	meta := fileMetaData{
		Version:   1,
		Schema:    parquetSchema(w.fields),
		NumRows:   w.rows,
		RowGroups: w.groups,
		CreatedBy: createdBy,
	}
	for range w.columns {
		meta.ColumnOrders = append(meta.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		return fmt.Errorf("encode footer: %w", err)
	}
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	return w.put(append(footer, magic...))
}
