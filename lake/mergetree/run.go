package mergetree

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/s2"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/mergetree/block"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

var (
	// ErrRunTruncated is returned for a run that ends before its rows do.
	ErrRunTruncated = errors.New("sorted run is cut off")
	// ErrRunCorrupt is returned for a run whose bytes are not those that were written, or that is one of another table.
	ErrRunCorrupt = errors.New("sorted run is corrupt")
)

// Run is a sorted run: a file, or a part of one, that holds the rows of a source. It may be kept as JSON.
type Run struct {
	// Path of the file in its store.
	Path string `json:"path"`
	// Offset is where the run begins in the file.
	Offset int64 `json:"offset,omitempty"`
	// Size in bytes.
	Size int64 `json:"size"`
	Rows int64 `json:"rows"`
	// Block is the size in bytes of the largest block of rows, which a reader has to hold.
	Block int `json:"block"`
	// Checksum is a CRC-32C over all bytes of the run.
	Checksum uint32 `json:"checksum"`
}

// A run is a head and blocks, all little-endian. The head is the magic and a CRC of the columns' names and types. A block is
// the length of its payload, its length unpacked, the number of its rows, a CRC-32C over these three and the payload, and the
// payload: the columns of its rows packed by S2.
const (
	runMagic      = "TRBRUN1\n"
	runHeadSize   = len(runMagic) + 4
	blockHeadSize = 16
	maxBlock      = 1<<31 - 1
)

// RunWriter writes a sorted run. Several may be written to one file after each other. The format is this package's own and
// lasts no longer than the run of a job: it is not for keeping. Every batch becomes a block, which is read as a whole.
type RunWriter struct {
	out io.Writer
	run Run
	raw []byte
	buf []byte
	err error
	sum uint32
}

// NewRunWriter starts a run. out stands at an offset of the file of that path.
func NewRunWriter(spec *Spec, out io.Writer, path string, offset int64) *RunWriter {
	w := &RunWriter{out: out, run: Run{Path: path, Offset: offset}}
	head := binary.LittleEndian.AppendUint32([]byte(runMagic), fingerprint(spec.Fields()))
	w.put(head)
	return w
}

// fingerprint tells columns of one table from those of another.
func fingerprint(fields []schema.Field) uint32 {
	var text []byte
	for _, f := range fields {
		text = fmt.Appendf(text, "%s %s\n", f.Name, f.Type)
	}
	return crc32.Checksum(text, castagnoli())
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func (w *RunWriter) put(p []byte) {
	if w.err != nil {
		return
	}
	if _, err := w.out.Write(p); err != nil {
		w.err = fmt.Errorf("write sorted run: %w", err)
		return
	}
	w.sum = crc32.Update(w.sum, castagnoli(), p)
	w.run.Size += int64(len(p))
}

// Write adds the rows of a batch, whose order is the caller's word. The batch is not kept.
func (w *RunWriter) Write(b *row.Batch) error {
	if w.err != nil || b.Rows == 0 {
		return w.err
	}
	w.raw = block.Append(w.raw[:0], b)
	if len(w.raw) > maxBlock {
		w.err = fmt.Errorf("write sorted run: a batch of %d bytes is more than a block holds", len(w.raw))
		return w.err
	}
	if n := blockHeadSize + s2.MaxEncodedLen(len(w.raw)); cap(w.buf) < n {
		w.buf = make([]byte, n)
	}
	payload := s2.Encode(w.buf[blockHeadSize:cap(w.buf)], w.raw)
	packed := w.buf[:blockHeadSize+len(payload)]
	binary.LittleEndian.PutUint32(packed, uint32(len(payload)))
	binary.LittleEndian.PutUint32(packed[4:], uint32(len(w.raw)))
	binary.LittleEndian.PutUint32(packed[8:], uint32(b.Rows))
	binary.LittleEndian.PutUint32(packed[12:], blockSum(packed[:12], payload))
	w.put(packed)
	w.run.Rows += int64(b.Rows)
	w.run.Block = max(w.run.Block, len(w.raw))
	return w.err
}

func blockSum(head, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(head, castagnoli()), castagnoli(), payload)
}

// Close ends the run and tells what it is. The underlying writer stays open.
func (w *RunWriter) Close() (Run, error) {
	if w.err != nil {
		return Run{}, w.err
	}
	w.err = errors.New("the sorted run is closed")
	w.run.Checksum = w.sum
	return w.run, nil
}

// WriteRun writes all rows of a source to a file of its own, and closes the source. After an error there is no such file.
func WriteRun(ctx context.Context, spec *Spec, store fileio.Store, path string, s Source) (run Run, err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	out, err := store.Create(ctx, path)
	if err != nil {
		return Run{}, fmt.Errorf("create sorted run: %w", err)
	}
	w := NewRunWriter(spec, out, path, 0)
	b := spec.NewBatch()
	for {
		err := s.Next(ctx, b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = w.Write(b)
		}
		if err != nil {
			return Run{}, errors.Join(err, out.Abort())
		}
	}
	run, err = w.Close()
	if err != nil {
		return Run{}, errors.Join(err, out.Abort())
	}
	if err := out.Close(); err != nil {
		// What the store answers may be wrong: the file may be there.
		return Run{}, errors.Join(fmt.Errorf("close sorted run: %w", err), store.Delete(ctx, path))
	}
	return run, nil
}

// OpenRun reads a run of a file that holds it as it was written: else it, or the source at the latest at its end, gives
// ErrRunTruncated or ErrRunCorrupt.
func OpenRun(ctx context.Context, spec *Spec, store fileio.Store, r Run) (Source, error) {
	return openRun(ctx, spec, store, r, &scratch{})
}

// scratch is memory that readers which are not used at the same time share.
type scratch struct{ packed, raw []byte }

type runReader struct {
	in      fileio.Reader // nil when closed
	name    string
	run     Run
	at      int64 // next byte to read
	rows    int64
	head    [blockHeadSize]byte // of the next block, unless at the end
	sum     uint32
	scratch *scratch
	err     error
}

func openRun(ctx context.Context, spec *Spec, store fileio.Store, r Run, s *scratch) (Source, error) {
	in, err := store.Open(ctx, r.Path)
	if err != nil {
		return nil, fmt.Errorf("open sorted run: %w", err)
	}
	o := &runReader{in: in, name: store.URI(r.Path), run: r, at: r.Offset, scratch: s}
	if err := o.begin(fingerprint(spec.Fields())); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *runReader) corrupt(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s at byte %d: %s", kind, o.name, o.at, fmt.Sprintf(format, args...))
}

func (o *runReader) end() int64 { return o.run.Offset + o.run.Size }

// begin reads the head and that of the first block.
func (o *runReader) begin(want uint32) error {
	if o.run.Offset < 0 || o.run.Size < int64(runHeadSize) || o.run.Block < 0 || o.run.Block > maxBlock {
		return o.corrupt(ErrRunCorrupt, "there is no run of %d bytes with blocks of %d", o.run.Size, o.run.Block)
	}
	if size := o.in.Size(); size-o.run.Offset < o.run.Size {
		return o.corrupt(ErrRunTruncated, "the file has %d bytes, the run ends at %d", size, o.end())
	}
	buf := make([]byte, runHeadSize+blockHeadSize)
	n := min(int64(len(buf)), o.run.Size)
	if err := o.read(buf[:n]); err != nil {
		return err
	}
	if string(buf[:len(runMagic)]) != runMagic {
		return o.corrupt(ErrRunCorrupt, "it does not begin as a sorted run")
	}
	if got := binary.LittleEndian.Uint32(buf[len(runMagic):]); got != want {
		return o.corrupt(ErrRunCorrupt, "it is one of other columns")
	}
	copy(o.head[:], buf[runHeadSize:])
	return nil
}

func (o *runReader) read(p []byte) error {
	if n, err := o.in.ReadAt(p, o.at); n < len(p) {
		if err == nil || errors.Is(err, io.EOF) {
			return o.corrupt(ErrRunTruncated, "%d bytes are missing", len(p)-n)
		}
		return fmt.Errorf("read sorted run %s: %w", o.name, err)
	}
	o.at += int64(len(p))
	o.sum = crc32.Update(o.sum, castagnoli(), p)
	return nil
}

func (o *runReader) Next(ctx context.Context, b *row.Batch) error {
	b.Reset()
	if o.err == nil {
		if o.err = ctx.Err(); o.err == nil {
			o.err = o.next(b)
		}
	}
	if o.err != nil {
		b.Reset()
	}
	return o.err
}

// next reads a block and, in the same request, the head of the one behind it.
func (o *runReader) next(b *row.Batch) error {
	if o.rows == o.run.Rows {
		switch {
		case o.at != o.end():
			return o.corrupt(ErrRunCorrupt, "bytes follow the last of %d rows", o.rows)
		case o.sum != o.run.Checksum:
			return o.corrupt(ErrRunCorrupt, "its checksum is %08x, not %08x", o.sum, o.run.Checksum)
		}
		return io.EOF
	}
	stored, raw := int64(binary.LittleEndian.Uint32(o.head[:])), int64(binary.LittleEndian.Uint32(o.head[4:]))
	rows, sum := int64(binary.LittleEndian.Uint32(o.head[8:])), binary.LittleEndian.Uint32(o.head[12:])
	left := o.end() - o.at
	switch {
	case stored > left:
		return o.corrupt(ErrRunCorrupt, "a block of %d bytes does not fit into the %d left", stored, left)
	case raw > int64(o.run.Block), rows == 0, rows > o.run.Rows-o.rows, rows > raw:
		return o.corrupt(ErrRunCorrupt, "a block of %d rows and %d bytes unpacked is not in a run of %d and %d", rows, raw, o.run.Rows, o.run.Block)
	}
	more := min(int64(blockHeadSize), left-stored)
	o.scratch.packed = sized(o.scratch.packed, int(stored+more))
	if err := o.read(o.scratch.packed); err != nil {
		return err
	}
	payload := o.scratch.packed[:stored]
	if got := blockSum(o.head[:12], payload); got != sum {
		return o.corrupt(ErrRunCorrupt, "a block's checksum is %08x, not %08x", got, sum)
	}
	copy(o.head[:], o.scratch.packed[stored:])
	if n, err := s2.DecodedLen(payload); err != nil || int64(n) != raw {
		return o.corrupt(ErrRunCorrupt, "a block unpacks to another length than %d", raw)
	}
	o.scratch.raw = sized(o.scratch.raw, int(raw))
	if _, err := s2.Decode(o.scratch.raw, payload); err != nil {
		return o.corrupt(ErrRunCorrupt, "a block cannot be unpacked: %v", err)
	}
	if err := block.Read(b, o.scratch.raw, int(rows)); err != nil {
		return o.corrupt(ErrRunCorrupt, "%v", err)
	}
	o.rows += rows
	return nil
}

// sized returns a slice of n bytes, in the memory of another if that suffices and is not far too much.
func sized(p []byte, n int) []byte {
	if cap(p) < n || cap(p) > 1<<20 && cap(p)/4 > n {
		return make([]byte, n)
	}
	return p[:n]
}

func (o *runReader) Close() error {
	if o.in == nil {
		return nil
	}
	in := o.in
	o.in = nil
	if o.err == nil {
		o.err = errors.New("the sorted run is closed")
	}
	if err := in.Close(); err != nil {
		return fmt.Errorf("close sorted run %s: %w", o.name, err)
	}
	return nil
}
