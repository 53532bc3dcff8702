package datafile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// ErrCompression is returned for a `file.compression` that this package does not write.
var ErrCompression = errors.New("compression is not supported; use zstd, snappy, gzip, lz4, lz4_raw or none")

// Codec compresses pages. It may be shared by any number of writers at the same time, which spares each its own tables.
type Codec struct {
	id   format.CompressionCodec
	zstd *zstd.Encoder
	// tolerance is how much longer than zstd's a page may be that appendLiterals makes.
	tolerance float64
	scratch   sync.Pool // of *huff0.Scratch, *gzip.Writer or *lz4.Compressor, as the codec needs
}

// NewCodec makes the codec of a table's options `file.compression` (zstd, snappy, gzip, lz4, lz4_raw or none) and
// `file.compression.zstd-level` (1 to 22, Paimon's default is 1; the other codecs ignore it). As in Java, lz4 is Hadoop's own
// framing of it, and lz4_raw is without.
func NewCodec(name string, level int) (*Codec, error) {
	switch name {
	case "none":
		return &Codec{id: format.Uncompressed}, nil
	case "snappy":
		return &Codec{id: format.Snappy}, nil
	case "gzip":
		c := &Codec{id: format.Gzip}
		c.scratch.New = func() any { return gzip.NewWriter(nil) }
		return c, nil
	case "lz4", "lz4_raw":
		c := &Codec{id: format.Lz4Raw}
		if name == "lz4" {
			c.id = hadoopLZ4
		}
		c.scratch.New = func() any { return new(lz4.Compressor) }
		return c, nil
	case "zstd":
		if level < 1 || level > 22 {
			return nil, fmt.Errorf("zstd level %d is not within 1 and 22", level)
		}
		// Pages carry a CRC of their own, so the frames need none.
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("make zstd encoder: %w", err)
		}
		c := &Codec{id: format.Zstd, zstd: e, tolerance: 1}
		if level == 1 { // chosen for speed
			c.tolerance = literalsTolerance
		}
		c.scratch.New = func() any { return new(huff0.Scratch) }
		return c, nil
	}
	return nil, fmt.Errorf("compression %q: %w", name, ErrCompression)
}

// hadoopLZ4 is LZ4 in the frames of org.apache.hadoop.io.compress.Lz4Codec. Parquet has given it up, and Paimon means it by lz4.
const hadoopLZ4 = format.Lz4

// hadoopBlock is what goes into a frame. Hadoop's decompressor has room for 256 KiB.
const hadoopBlock = 128 << 10

// compress returns the compressed form of src: in buf where that is large enough, or src itself when there is nothing to do.
func (c *Codec) compress(buf, src []byte) ([]byte, error) {
	switch c.id {
	case format.Zstd:
		if n := c.zstd.MaxEncodedSize(len(src)); n > 1<<20 && cap(buf) < n {
			buf = make([]byte, n) // it would grow by copies
		}
		return c.zstd.EncodeAll(src, buf[:0]), nil
	case format.Snappy:
		return snappy.Encode(buf[:cap(buf)], src), nil
	case format.Gzip:
		return c.gzip(buf, src)
	case format.Lz4Raw:
		return c.lz4(buf[:0], src)
	case hadoopLZ4:
		return c.hadoopLZ4(buf[:0], src)
	default: // Uncompressed
		return src, nil
	}
}

func (c *Codec) gzip(buf, src []byte) ([]byte, error) {
	out := bytes.NewBuffer(buf[:0])
	z := c.scratch.Get().(*gzip.Writer)
	defer c.scratch.Put(z)
	z.Reset(out)
	if _, err := z.Write(src); err != nil {
		return nil, fmt.Errorf("compress page: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress page: %w", err)
	}
	return out.Bytes(), nil
}

// lz4 appends a block.
func (c *Codec) lz4(dst, src []byte) ([]byte, error) {
	z := c.scratch.Get().(*lz4.Compressor)
	defer c.scratch.Put(z)
	start := len(dst)
	dst = append(dst, make([]byte, lz4.CompressBlockBound(len(src)))...)
	n, err := z.CompressBlock(src, dst[start:])
	if err != nil {
		return nil, fmt.Errorf("compress page: %w", err)
	}
	return dst[:start+n], nil
}

// hadoopLZ4 appends frames: the length of a block, that of its compressed form, and this.
func (c *Codec) hadoopLZ4(dst, src []byte) ([]byte, error) {
	for len(src) > 0 {
		block := src[:min(len(src), hadoopBlock)]
		src = src[len(block):]
		start := len(dst)
		dst = binary.BigEndian.AppendUint64(dst, uint64(len(block))<<32)
		var err error
		if dst, err = c.lz4(dst, block); err != nil {
			return nil, err
		}
		binary.BigEndian.PutUint32(dst[start+4:], uint32(len(dst)-start-8))
	}
	return dst, nil
}

const (
	// literalsTolerance: three to four times the speed is worth a fifth more bytes.
	literalsTolerance = 1.2
	// literalsGain is what literals must save where zstd, in its haste, leaves a page as it is.
	literalsGain = 0.83
	// Shorter pages are not worth a thought; longer ones would need more of a reader's memory than zstd's own frames.
	literalsLeast, literalsMost = 1 << 10, 4 << 20
)

// packing is how the pages of a column chunk are compressed. The first page decides, and any page that turns out unlike it.
type packing struct {
	decided  bool
	literals bool
	ratio    float64 // of the page that decided
}

// pack compresses a page of a chunk into one of two buffers, which it may swap.
func (c *Codec) pack(bufs *[2][]byte, src []byte, p *packing) ([]byte, error) {
	if c.id == format.Uncompressed {
		return src, nil
	}
	tried := c.id == format.Zstd && len(src) >= literalsLeast && len(src) <= literalsMost && (p.literals || !p.decided)
	if tried {
		s := c.scratch.Get().(*huff0.Scratch)
		bufs[1] = appendLiterals(bufs[1][:0], src, s)
		c.scratch.Put(s)
		ratio := float64(len(bufs[1])) / float64(len(src))
		if p.literals && math.Abs(ratio-p.ratio) < 0.05 {
			return bufs[1], nil
		}
		p.ratio = ratio
	}
	var err error
	if bufs[0], err = c.compress(bufs[0], src); err != nil {
		return nil, err
	}
	if tried {
		p.decided = true
		p.literals = c.prefersLiterals(len(src), len(bufs[0]), len(bufs[1]))
		if p.literals {
			return bufs[1], nil
		}
	}
	return bufs[0], nil
}

func (c *Codec) prefersLiterals(raw, zstd, literals int) bool {
	if float64(zstd) > 0.99*float64(raw) {
		return float64(literals) < literalsGain*float64(raw)
	}
	return float64(literals) < c.tolerance*float64(zstd)
}
