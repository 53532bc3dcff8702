package avro

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

const (
	magic     = "Obj\x01"
	syncSize  = 16
	schemaKey = "avro.schema"
	codecKey  = "avro.codec"

	// blockSize is the number of bytes after which a block is closed, as Java's DataFileConstants.DEFAULT_SYNC_INTERVAL.
	blockSize = 64_000

	// maxBlock bounds one block after decompression, maxFile all blocks of a file, maxSchema the schema's text. Paimon
	// writes blocks of 64 kB in files of 8 MiB.
	maxBlock  = 64 << 20
	maxFile   = 2 << 30
	maxSchema = 1 << 20

	// maxExpansion bounds how many bytes become of one, beyond leastLimit: names of files are random, so that no entry shrinks
	// to less than a twentieth, and a small file that claims to hold millions of entries is made to exhaust memory.
	maxExpansion = 256
	leastLimit   = 4 << 20
)

// Writer builds a container file in memory, compressed with zstandard at level 1.
type Writer struct {
	out     []byte
	block   []byte
	records int64
	sync    [syncSize]byte
	zstd    *zstd.Encoder
}

// Compressors take megabytes and are safe to share, so a process has one of each.
var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)))
	})
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderMaxMemory(maxBlock))
	})
)

// NewWriter starts a file with a schema's text.
func NewWriter(schema string) (*Writer, error) {
	enc, err := encoder()
	if err != nil {
		return nil, fmt.Errorf("start zstandard: %w", err)
	}
	w := &Writer{zstd: enc}
	if _, err := rand.Read(w.sync[:]); err != nil {
		return nil, fmt.Errorf("make a sync mark: %w", err)
	}
	w.out = append(w.out, magic...)
	w.out = AppendLong(w.out, 2)
	w.out = AppendBytes(AppendBytes(w.out, schemaKey), schema)
	w.out = AppendBytes(AppendBytes(w.out, codecKey), "zstandard")
	w.out = append(AppendLong(w.out, 0), w.sync[:]...)
	return w, nil
}

// Append adds one encoded record.
func (w *Writer) Append(record []byte) {
	w.block = append(w.block, record...)
	w.records++
	if len(w.block) >= blockSize {
		w.flush()
	}
}

// Size is the number of bytes of the file so far, without the block that is not yet full.
func (w *Writer) Size() int64 { return int64(len(w.out)) }

// Finish ends the file and returns its bytes. The writer must not be used again.
func (w *Writer) Finish() []byte {
	w.flush()
	return w.out
}

func (w *Writer) flush() {
	if w.records == 0 {
		return
	}
	packed := w.zstd.EncodeAll(w.block, nil)
	w.out = AppendLong(w.out, w.records)
	w.out = AppendBytes(w.out, packed)
	w.out = append(w.out, w.sync[:]...)
	w.block, w.records = w.block[:0], 0
}

// File is a container file that is being read.
type File struct {
	Schema *Schema
	codec  string
	sync   []byte
	d      *Decoder
	// total is the number of bytes decompressed so far, limit the most there may be.
	total, limit int64
	zstd         *zstd.Decoder
}

// Open reads the header of a file held in memory. Known, which may be nil, gives the schema of a text that was
// parsed before, or nil.
func Open(data []byte, known func(text []byte) *Schema) (*File, error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return nil, fmt.Errorf("%w: it does not start with the mark of an avro container", ErrMalformed)
	}
	f := &File{
		d: NewDecoder(data[len(magic):]), codec: "null",
		limit: min(maxFile, max(leastLimit, maxExpansion*int64(len(data)))),
	}
	var schema []byte
	f.d.blocks(func() {
		key, value := f.d.take(f.d.varint()), f.d.take(f.d.varint())
		switch string(key) {
		case schemaKey:
			schema = value
		case codecKey:
			f.codec = string(value)
		}
	})
	f.sync = f.d.take(syncSize)
	if f.d.err != nil {
		return nil, f.d.err
	}
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("%w: a schema of %d bytes", ErrMalformed, len(schema))
	}
	var err error
	if known != nil {
		f.Schema = known(schema)
	}
	if f.Schema == nil {
		if f.Schema, err = ParseSchema(schema); err != nil {
			return nil, err
		}
	}
	if f.codec == "zstandard" {
		if f.zstd, err = decoder(); err != nil {
			return nil, fmt.Errorf("start zstandard: %w", err)
		}
	}
	return f, nil
}

// Each calls fn for every record of the file; fn reads exactly one record of the file's schema. An error of fn ends the
// reading and is returned.
func (f *File) Each(fn func(d *Decoder) error) error {
	for f.d.Len() > 0 {
		records := f.d.varint()
		packed := f.d.take(f.d.varint())
		mark := f.d.take(syncSize)
		if f.d.err != nil {
			return f.d.err
		}
		if !bytes.Equal(mark, f.sync) {
			return fmt.Errorf("%w: a block ends without its mark", ErrMalformed)
		}
		if records < 0 {
			return fmt.Errorf("%w: a block of %d records", ErrMalformed, records)
		}
		block, err := f.unpack(packed)
		if err != nil {
			return err
		}
		if f.total += int64(len(block)); f.total > f.limit {
			return fmt.Errorf("%w: more than %d bytes when decompressed", ErrMalformed, f.limit)
		}
		if err := eachInBlock(block, records, fn); err != nil {
			return err
		}
	}
	return nil
}

func eachInBlock(block []byte, records int64, fn func(d *Decoder) error) error {
	d := NewDecoder(block)
	for ; records > 0; records-- {
		// A record without bytes could be announced without end.
		if d.Len() == 0 {
			return fmt.Errorf("%w: a block ends before its records do", ErrMalformed)
		}
		if err := fn(d); err != nil {
			return err
		}
		if d.err != nil {
			return d.err
		}
	}
	if d.Len() > 0 {
		return fmt.Errorf("%w: %d bytes are left after the records of a block", ErrMalformed, d.Len())
	}
	return nil
}

func (f *File) unpack(packed []byte) ([]byte, error) {
	var block []byte
	var err error
	switch f.codec {
	case "null", "":
		return packed, nil
	case "zstandard":
		block, err = f.zstd.DecodeAll(packed, nil)
	case "deflate":
		block, err = inflate(packed)
	case "snappy":
		block, err = unsnap(packed)
	default:
		return nil, fmt.Errorf("%w: codec %q is unknown; null, deflate, snappy and zstandard are read", ErrMalformed, f.codec)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s block: %w", ErrMalformed, f.codec, err)
	}
	return block, nil
}

func inflate(packed []byte) ([]byte, error) {
	block, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxBlock+1))
	if err == nil && len(block) > maxBlock {
		err = fmt.Errorf("more than %d bytes", maxBlock)
	}
	return block, err
}

// unsnap decompresses a snappy block, which ends in the checksum of the plain bytes.
func unsnap(packed []byte) ([]byte, error) {
	if len(packed) < 4 {
		return nil, io.ErrUnexpectedEOF
	}
	body, sum := packed[:len(packed)-4], binary.BigEndian.Uint32(packed[len(packed)-4:])
	n, err := s2.DecodedLen(body)
	if err != nil {
		return nil, err
	}
	if n > maxBlock {
		return nil, fmt.Errorf("%d bytes, at most %d are read", n, maxBlock)
	}
	block, err := s2.Decode(nil, body)
	if err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(block) != sum {
		return nil, fmt.Errorf("checksum differs")
	}
	return block, nil
}
