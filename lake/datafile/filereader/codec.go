package filereader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// decompress unpacks a page into dst, whose length is that of the page, and returns it. No more memory is taken.
func decompress(codec format.CompressionCodec, z *zstd.Decoder, dst, src []byte) ([]byte, error) {
	n, err := 0, error(nil)
	switch codec {
	case format.Zstd:
		var out []byte
		out, err = z.DecodeAll(src, dst[:0:len(dst)])
		n = len(out)
	case format.Snappy:
		if n, err = snappy.DecodedLen(src); err == nil && n == len(dst) {
			_, err = snappy.Decode(dst, src)
		}
	case format.Gzip:
		n, err = gunzip(dst, src)
	case format.Lz4Raw:
		n, err = lz4.UncompressBlock(src, dst)
	case format.Lz4: // given up by Parquet, and what Paimon means by lz4
		n, err = hadoopLZ4(dst, src)
	case format.Brotli:
		n, err = io.ReadFull(brotli.NewReader(bytes.NewReader(src)), dst)
	default:
		return nil, fmt.Errorf("%w: compression %s", ErrUnsupported, codec)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: unpack page: %w", ErrCorrupt, err)
	}
	if n != len(dst) {
		return nil, fmt.Errorf("%w: a page has %d bytes and not %d", ErrCorrupt, n, len(dst))
	}
	return dst, nil
}

func gunzip(dst, src []byte) (int, error) {
	z, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return 0, err
	}
	return io.ReadFull(z, dst)
}

// hadoopLZ4 unpacks the frames of org.apache.hadoop.io.compress.Lz4Codec: the unpacked size of a block, then pieces of it, each
// behind its packed size.
func hadoopLZ4(dst, src []byte) (int, error) {
	at := 0
	for len(src) >= 4 {
		end := at + int(binary.BigEndian.Uint32(src))
		src = src[4:]
		if end > len(dst) {
			return at, errors.New("a block of LZ4 is larger than its page")
		}
		for at < end {
			if len(src) < 4 {
				return at, io.ErrUnexpectedEOF
			}
			size := binary.BigEndian.Uint32(src)
			if src = src[4:]; uint64(size) > uint64(len(src)) {
				return at, io.ErrUnexpectedEOF
			}
			n, err := lz4.UncompressBlock(src[:size], dst[at:end])
			if err != nil || n == 0 {
				return at, errors.Join(err, errors.New("a piece of LZ4 is damaged"))
			}
			at, src = at+n, src[size:]
		}
	}
	return at, nil
}
