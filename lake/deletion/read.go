package deletion

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
)

// ErrCorrupt is returned for an index file that contradicts itself or its manifest. Reading again does not help.
var ErrCorrupt = errors.New("corrupt deletion vectors")

// IndexType is the type of index files with deletion vectors.
const IndexType = "DELETION_VECTORS"

const (
	// version is the first byte of a file.
	version = 1
	// magic32 is big endian, magic64 little endian.
	magic32 = 1581511376
	magic64 = 1681511377
	// maxFile bounds the memory taken. Paimon begins another file at 2 MiB (deletion-vector.index-file.target-size).
	maxFile = 1 << 30
)

// Read reads an index file at a path, of which f is what the manifest says. It returns the vectors by the names of their data
// files, without folders. A file of another type than [IndexType] gives an error; what is wrong in the file gives
// [ErrCorrupt].
func Read(ctx context.Context, store fileio.Store, path string, f manifest.IndexFile) (map[string]*Vector, error) {
	if f.Type != IndexType {
		return nil, fmt.Errorf("index file %s is of type %s, not %s", store.URI(path), f.Type, IndexType)
	}
	data, err := fileio.ReadFile(ctx, store, path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read deletion vectors: %w", err)
	}
	vectors, err := parse(data, f)
	if err != nil {
		return nil, fmt.Errorf("index file %s: %w", store.URI(path), err)
	}
	return vectors, nil
}

func parse(data []byte, f manifest.IndexFile) (map[string]*Vector, error) {
	if int64(len(data)) != f.Size {
		return nil, fmt.Errorf("%w: it has %d bytes and not %d", ErrCorrupt, len(data), f.Size)
	}
	if len(data) == 0 || data[0] != version {
		return nil, fmt.Errorf("%w: it does not begin with version %d", ErrCorrupt, version)
	}
	vectors := make(map[string]*Vector, len(f.DeletionVectors))
	for _, d := range f.DeletionVectors {
		if vectors[d.DataFile] != nil {
			return nil, fmt.Errorf("%w: two vectors for data file %s", ErrCorrupt, d.DataFile)
		}
		v, err := vector(data, d)
		if err != nil {
			return nil, fmt.Errorf("%w: vector of data file %s at byte %d: %w", ErrCorrupt, d.DataFile, d.Offset, err)
		}
		if d.Cardinality != nil && *d.Cardinality != v.Count() {
			return nil, fmt.Errorf("%w: data file %s has %d deleted rows and not %d", ErrCorrupt, d.DataFile, v.Count(), *d.Cardinality)
		}
		vectors[d.DataFile] = v
	}
	return vectors, nil
}

// vector reads the length, the body and its checksum. The manifest's length is that of the body for 32-bit vectors, and of all
// three for others.
func vector(data []byte, d manifest.DeletionVector) (*Vector, error) {
	if d.Offset < 0 || int(d.Offset) > len(data)-8 {
		return nil, fmt.Errorf("outside of the file's %d bytes", len(data))
	}
	data = data[d.Offset:]
	length := int64(int32(binary.BigEndian.Uint32(data)))
	data = data[4:]
	if length < 4 || length > int64(len(data)-4) {
		return nil, fmt.Errorf("a length of %d", length)
	}
	body := data[:length]
	if sum := crc32.ChecksumIEEE(body); sum != binary.BigEndian.Uint32(data[length:]) {
		return nil, errors.New("its checksum does not match")
	}
	switch magic := binary.BigEndian.Uint32(body); magic {
	case magic32:
		if int64(d.Length) != length {
			return nil, fmt.Errorf("a length of %d and not %d", length, d.Length)
		}
		return read32(body[4:])
	case bits.ReverseBytes32(magic64):
		if int64(d.Length) != length+8 {
			return nil, fmt.Errorf("a length of %d and not %d", length+8, d.Length)
		}
		return read64(body[4:])
	default:
		return nil, fmt.Errorf("unknown magic number %d", magic)
	}
}

func read32(data []byte) (*Vector, error) {
	b := roaring.New()
	n, err := b.ReadFrom(bytes.NewReader(data))
	if err == nil {
		err = b.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("bitmap: %w", err)
	}
	if n != int64(len(data)) {
		return nil, fmt.Errorf("%d bytes behind the bitmap", int64(len(data))-n)
	}
	return &Vector{rows: roaring64.Roaring32AsRoaring64(b)}, nil
}

// read64 reads the number of bitmaps, and each behind its key.
func read64(data []byte) (*Vector, error) {
	// The library makes room for as many as are said to be there. The least bitmap has eight bytes.
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8)/12 {
		return nil, errors.New("more bitmaps than bytes")
	}
	b := roaring64.New()
	n, err := b.ReadFrom(bytes.NewReader(data))
	if err == nil {
		err = b.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("bitmap: %w", err)
	}
	if n != int64(len(data)) {
		return nil, fmt.Errorf("%d bytes behind the bitmap", int64(len(data))-n)
	}
	return &Vector{rows: b}, nil
}
