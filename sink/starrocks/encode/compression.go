package encode

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression of a body on its way. StarRocks takes compressed JSON from 3.2.7 on.
type Compression string

// The compressions, by the names that StarRocks gives to formats of compressed CSV.
const (
	NoCompression Compression = ""
	Gzip          Compression = "gzip"
	LZ4           Compression = "lz4"
	Zstd          Compression = "zstd"
)

// Validate refuses a compression that is none of these.
func (c Compression) Validate() error {
	switch c {
	case NoCompression, Gzip, LZ4, Zstd:
		return nil
	}
	return fmt.Errorf("compression %q is none of %s, %s and %s", string(c), Gzip, LZ4, Zstd)
}

// json is the name in the header of JSON, where LZ4 has another one.
func (c Compression) json() string {
	if c == LZ4 {
		return "lz4_frame"
	}
	return string(c)
}

// Compress returns the compressed body, or the body itself where there is nothing to do.
func (c Compression) Compress(body []byte) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	switch c {
	case NoCompression:
		return body, nil
	case Gzip:
		z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		w = z
	case LZ4:
		w = lz4.NewWriter(&out)
	case Zstd:
		z, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		w = z
	default:
		return nil, c.Validate()
	}
	if _, err := w.Write(body); err != nil {
		return nil, fmt.Errorf("compress with %s: %w", c, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress with %s: %w", c, err)
	}
	return out.Bytes(), nil
}
