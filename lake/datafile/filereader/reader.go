package filereader

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

var (
	// ErrCorrupt is returned for a file that breaks Parquet's rules or whose size is not the one recorded.
	ErrCorrupt = errors.New("corrupt data file")
	// ErrUnsupported is returned for sound Parquet that this package does not read, such as an encoding that neither it nor
	// Paimon's writer uses, or a type that cannot become the one asked for.
	ErrUnsupported = errors.New("not supported")
	// ErrRange is returned for a value that the type asked for cannot hold, such as 40000 as SMALLINT.
	ErrRange = errors.New("value out of the type's range")
)

const magic = "PAR1"

// maxFooter bounds the footer. One of 10,000 columns in 100 row groups has some 100 MB.
const maxFooter = 256 << 20

// Options of a reader. The zero value is good.
type Options struct {
	// BatchRows bounds the rows of a batch. Default 4096.
	BatchRows int
	// MaxPageBytes bounds a page's unpacked size, and the memory that a nested value takes while it is put together; more is
	// taken for corruption. Default 1 GiB, which holds MySQL's longest value, or an array of some ten million numbers.
	MaxPageBytes int
}

// Reader reads a Parquet file of this package, of Paimon or of another writer, row group by row group, in the file's order of
// rows. It is not for use by several goroutines.
type Reader struct {
	file   fileio.Reader
	opts   Options
	meta   format.FileMetaData
	leaves int
	zstd   *zstd.Decoder

	columns []readColumn
	group   int   // the next row group
	left    int64 // rows of the one being read
}

// readColumn is a column asked for. It has no leaves when the file lacks it.
type readColumn struct {
	name   string
	leaves []*chunkReader
	// Of a flat column: its only leaf.
	chunks  *chunkReader
	convert conversion
	// Of a nested column.
	nested *assembler
}

// Open opens a file of the given size to read the given fields: columns are found by name, one that the file lacks reads as
// null, and values are brought to the field's type. What a column was called when the file was written is for the caller to
// know. A size that is not the file's gives ErrCorrupt.
func Open(ctx context.Context, store fileio.Store, path string, size int64, fields []schema.Field, opts Options) (*Reader, error) {
	file, err := store.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open data file: %w", err)
	}
	r, err := newReader(file, size, fields, opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open data file %s: %w", path, err), file.Close())
	}
	return r, nil
}

func newReader(file fileio.Reader, size int64, fields []schema.Field, opts Options) (*Reader, error) {
	r := &Reader{file: file, opts: opts}
	return r, r.open(size, fields)
}

func (r *Reader) open(size int64, fields []schema.Field) error {
	if r.opts.BatchRows <= 0 {
		r.opts.BatchRows = 4096
	}
	if r.opts.MaxPageBytes <= 0 {
		r.opts.MaxPageBytes = 1 << 30
	}
	if size != r.file.Size() {
		return fmt.Errorf("%w: it has %d bytes and not %d", ErrCorrupt, r.file.Size(), size)
	}
	if err := r.readFooter(size); err != nil {
		return err
	}
	root, leaves, err := fileTree(r.meta.Schema)
	if err != nil {
		return err
	}
	r.leaves = leaves
	if err := r.checkGroups(size); err != nil {
		return err
	}
	// One goroutine, and never more memory than the page header says.
	r.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(uint64(r.opts.MaxPageBytes)+1))
	if err != nil {
		return fmt.Errorf("make zstd decoder: %w", err)
	}
	for _, f := range fields {
		in, err := root.child(f)
		if err != nil {
			return err
		}
		c, err := r.column(in, f)
		if err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
		r.columns = append(r.columns, c)
	}
	return nil
}

// column prepares to read a field of the file, nil where it has none, as the field asked for.
func (r *Reader) column(in *fileNode, f schema.Field) (readColumn, error) {
	c := readColumn{name: f.Name}
	if in == nil {
		return c, nil
	}
	m := matcher{leaf: func(c fileColumn) *chunkReader { return newChunkReader(c, r.opts.MaxPageBytes, r.zstd) }}
	n, err := m.match(in, f.Type, false)
	if err != nil {
		return c, err
	}
	c.leaves = n.leaves
	if f.Type.Nested() {
		c.nested = &assembler{root: n, limit: r.opts.MaxPageBytes}
	} else {
		c.chunks, c.convert = n.leaves[0], n.convert
	}
	return c, nil
}

func (r *Reader) readFooter(size int64) error {
	var tail [8]byte
	if size < int64(len(magic)+len(tail)) {
		return fmt.Errorf("%w: %d bytes are too few for Parquet", ErrCorrupt, size)
	}
	if err := readAt(r.file, tail[:], size-8); err != nil {
		return err
	}
	if string(tail[4:]) != magic {
		return fmt.Errorf("%w: it does not end as Parquet", ErrCorrupt)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-8 || length > maxFooter {
		return fmt.Errorf("%w: a footer of %d bytes", ErrCorrupt, length)
	}
	footer := make([]byte, length)
	if err := readAt(r.file, footer, size-8-length); err != nil {
		return err
	}
	_, err := readStruct(footer, &r.meta)
	return err
}

func readAt(file io.ReaderAt, b []byte, offset int64) error {
	if n, err := file.ReadAt(b, offset); n < len(b) {
		return fmt.Errorf("read footer: %w", err)
	}
	return nil
}

// checkGroups makes sure that row groups are what the schema and the file's size allow.
func (r *Reader) checkGroups(size int64) error {
	rows := int64(0)
	for i := range r.meta.RowGroups {
		g := &r.meta.RowGroups[i]
		if g.NumRows < 0 || len(g.Columns) != r.leaves {
			return fmt.Errorf("%w: row group %d has %d rows and %d of %d columns", ErrCorrupt, i, g.NumRows, len(g.Columns), r.leaves)
		}
		for k := range g.Columns {
			meta := &g.Columns[k].MetaData
			start := chunkStart(meta)
			if start < 0 || meta.TotalCompressedSize < 0 || start > size || meta.TotalCompressedSize > size-start {
				return fmt.Errorf("%w: column %d of row group %d lies outside the file", ErrCorrupt, k, i)
			}
		}
		rows += g.NumRows
	}
	if rows != r.meta.NumRows || rows < 0 {
		return fmt.Errorf("%w: %d rows in row groups, %d in the file", ErrCorrupt, rows, r.meta.NumRows)
	}
	return nil
}

// chunkStart is where the first page of a chunk is: its dictionary, when there is one.
func chunkStart(meta *format.ColumnMetaData) int64 {
	if meta.DictionaryPageOffset > 0 {
		return min(meta.DictionaryPageOffset, meta.DataPageOffset)
	}
	return meta.DataPageOffset
}

// Rows is the number of rows in the file.
func (r *Reader) Rows() int64 { return r.meta.NumRows }

// NextBatch replaces what is in a batch, which has the types of the fields asked for, by the next rows. At the end it gives
// io.EOF and an empty batch.
func (r *Reader) NextBatch(ctx context.Context, b *row.Batch) error {
	b.Reset()
	if len(b.Columns) != len(r.columns) {
		return fmt.Errorf("batch has %d columns, want %d", len(b.Columns), len(r.columns))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for r.left == 0 {
		if r.group == len(r.meta.RowGroups) {
			return io.EOF
		}
		if err := r.nextGroup(); err != nil {
			return err
		}
	}
	n := int(min(r.left, int64(r.opts.BatchRows)))
	for i := range r.columns {
		if err := r.columns[i].read(&b.Columns[i], n); err != nil {
			return fmt.Errorf("read column %q: %w", r.columns[i].name, err)
		}
	}
	r.left -= int64(n)
	b.Rows = n
	return nil
}

func (r *Reader) nextGroup() error {
	g := &r.meta.RowGroups[r.group]
	r.group++
	r.left = g.NumRows
	for i := range r.columns {
		for _, l := range r.columns[i].leaves {
			chunk := &g.Columns[l.column.leaf]
			meta := &chunk.MetaData
			// A repeated field has at least one entry in every row.
			wrong := meta.NumValues < g.NumRows || meta.NumValues > g.NumRows && l.column.maxRep == 0
			if chunk.FilePath != "" || meta.Type != l.column.physical || wrong {
				return fmt.Errorf("%w: column %q of row group %d has other values than the schema says",
					ErrCorrupt, r.columns[i].name, r.group-1)
			}
			l.open(r.file, meta, chunkStart(meta), meta.NumValues)
		}
	}
	return nil
}

// Close gives the file up.
func (r *Reader) Close() error {
	r.zstd.Close()
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("close data file: %w", err)
	}
	return nil
}

// read appends n rows.
func (c *readColumn) read(v *row.Vector, n int) error {
	if c.nested != nil {
		return c.nested.read(v, n)
	}
	if c.chunks == nil {
		for range n {
			v.AppendNull()
		}
		return nil
	}
	r := c.chunks
	for n > 0 {
		if r.row == r.count {
			if err := r.next(); err != nil {
				return err
			}
		}
		k := min(n, r.count-r.row)
		if err := c.take(v, k); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// take appends n rows of the page.
func (c *readColumn) take(v *row.Vector, n int) error {
	r := c.chunks
	if v.Layout == row.LayoutBytes {
		if err := checkRoom(v, len(r.values.Data)); err != nil {
			return err
		}
	}
	if len(r.levels) == 0 && c.convert == nil {
		copyRange(v, &r.values, r.value, r.value+n)
		r.row, r.value = r.row+n, r.value+n
		return nil
	}
	for ; n > 0; n-- {
		at := r.row
		r.row++
		if len(r.levels) > 0 && r.levels[at] == 0 {
			v.AppendNull()
			continue
		}
		x := r.values.Value(r.value)
		r.value++
		if c.convert != nil {
			var err error
			if x, err = c.convert(x); err != nil {
				return err
			}
		}
		v.Append(x)
	}
	return nil
}

// copyRange appends the values from up to, and without, to of a vector of the same layout that has no nulls.
func copyRange(v, src *row.Vector, from, to int) {
	switch v.Layout {
	case row.LayoutInt32:
		v.I32 = append(v.I32, src.I32[from:to]...)
	case row.LayoutInt64:
		v.I64 = append(v.I64, src.I64[from:to]...)
	case row.LayoutFloat32:
		v.F32 = append(v.F32, src.F32[from:to]...)
	case row.LayoutFloat64:
		v.F64 = append(v.F64, src.F64[from:to]...)
	case row.LayoutNanos:
		v.I64, v.I32 = append(v.I64, src.I64[from:to]...), append(v.I32, src.I32[from:to]...)
	case row.LayoutFixed:
		v.Data = append(v.Data, src.Data[from*src.Width:to*src.Width]...)
	case row.LayoutBytes:
		base := uint32(len(v.Data)) - src.Offsets[from]
		v.Data = append(v.Data, src.Data[src.Offsets[from]:src.Offsets[to]]...)
		for _, o := range src.Offsets[from+1 : to+1] {
			v.Offsets = append(v.Offsets, o+base)
		}
	}
}
