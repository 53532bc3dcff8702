package filereader

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// The delta encodings are decoded here and not by the Parquet library, because its decoders believe the bit widths and
// counts that they read and hand them to assembly.

// maxDeltaBlock bounds the values of a block of DELTA_BINARY_PACKED; writers use 128.
const maxDeltaBlock = 1 << 16

// decodeDelta reads n numbers in DELTA_BINARY_PACKED and returns what is behind them. Numbers of 32 bits are the lower halves.
func decodeDelta(dst []uint64, src []byte, n int) ([]uint64, []byte, error) {
	var head [3]uint64 // values of a block, pieces of a block, values
	for i := range head {
		size := 0
		if head[i], size = binary.Uvarint(src); size <= 0 {
			return dst, nil, fmt.Errorf("%w: deltas without their head", ErrCorrupt)
		}
		src = src[size:]
	}
	first, size := binary.Varint(src)
	block, pieces := head[0], head[1]
	if size <= 0 || pieces == 0 || block > maxDeltaBlock || block%pieces != 0 || block/pieces == 0 || block/pieces%8 != 0 {
		return dst, nil, fmt.Errorf("%w: deltas in blocks of %d and %d pieces", ErrCorrupt, block, pieces)
	}
	if head[2] != uint64(n) {
		return dst, nil, fmt.Errorf("%w: %d deltas and not %d", ErrCorrupt, head[2], n)
	}
	src = src[size:]
	if n == 0 {
		return dst, src, nil
	}
	dst = slices.Grow(dst, n)
	dst = append(dst, uint64(first))
	for left := n - 1; left > 0; {
		least, size := binary.Varint(src)
		if size <= 0 || len(src)-size < int(pieces) {
			return dst, nil, fmt.Errorf("%w: %d deltas are missing", ErrCorrupt, left)
		}
		widths := src[size : size+int(pieces)]
		src = src[size+int(pieces):]
		for _, w := range widths {
			if left == 0 {
				break
			}
			k, width := min(left, int(block/pieces)), int(w)
			if width > 64 || (k*width+7)/8 > len(src) {
				return dst, nil, fmt.Errorf("%w: %d deltas of %d bits in %d bytes", ErrCorrupt, k, width, len(src))
			}
			for i := range k {
				dst = append(dst, dst[len(dst)-1]+uint64(least)+bitsAt(src, i*width, width))
			}
			// Some writers leave the padding of the last piece out.
			src = src[min(len(src), int(block/pieces)*width/8):]
			left -= k
		}
	}
	return dst, src, nil
}

// bitsAt reads a bit-packed number, which src holds.
func bitsAt(src []byte, at, width int) uint64 {
	v := uint64(0)
	for got := 0; got < width; {
		k := min(8-at%8, width-got)
		v |= uint64(src[at/8]>>(at%8)&(1<<k-1)) << got
		got, at = got+k, at+k
	}
	return v
}

// decodeDeltas reads the n numbers of a page in DELTA_BINARY_PACKED.
func (r *chunkReader) decodeDeltas(src []byte, n int) error {
	var err error
	if r.deltas, _, err = decodeDelta(r.deltas[:0], src, n); err != nil {
		return err
	}
	r.plain = r.plain[:0]
	for _, x := range r.deltas {
		if r.column.physical == format.Int32 {
			r.plain = binary.LittleEndian.AppendUint32(r.plain, uint32(x))
		} else {
			r.plain = binary.LittleEndian.AppendUint64(r.plain, x)
		}
	}
	return r.column.decodePlain(&r.values, r.plain, n)
}

// decodeLengths reads n byte arrays in DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes.
func (r *chunkReader) decodeLengths(src []byte, n int) error {
	var err error
	if r.deltas, src, err = decodeDelta(r.deltas[:0], src, n); err != nil {
		return err
	}
	for _, size := range r.deltas {
		if size > uint64(len(src)) {
			return fmt.Errorf("%w: a value of %d bytes in %d bytes", ErrCorrupt, size, len(src))
		}
		if err := r.column.appendBytes(&r.values, src[:size]); err != nil {
			return err
		}
		src = src[size:]
	}
	return nil
}

// decodePrefixes reads n byte arrays in DELTA_BYTE_ARRAY: how much each shares with the one before, the lengths of the rest, and
// all the rests.
func (r *chunkReader) decodePrefixes(src []byte, n int) error {
	var err error
	if r.deltas, src, err = decodeDelta(r.deltas[:0], src, n); err != nil {
		return err
	}
	if r.deltas, src, err = decodeDelta(r.deltas, src, n); err != nil {
		return err
	}
	r.plain = r.plain[:0]
	total := uint64(0)
	for i := range n {
		prefix, size := r.deltas[i], r.deltas[n+i]
		if prefix > uint64(len(r.plain)) || size > uint64(len(src)) {
			return fmt.Errorf("%w: a value of %d bytes behind %d of the one before", ErrCorrupt, size, prefix)
		}
		if total += prefix + size; total > uint64(r.limit) {
			return fmt.Errorf("%w: a page of %d bytes", ErrCorrupt, total)
		}
		r.plain = append(r.plain[:prefix], src[:size]...)
		src = src[size:]
		if err := r.column.appendBytes(&r.values, r.plain); err != nil {
			return err
		}
	}
	return nil
}

// decodeSplit reads n values in BYTE_STREAM_SPLIT: the first bytes of all, the second of all, and so on.
func (r *chunkReader) decodeSplit(src []byte, n int) error {
	width := r.column.plainWidth()
	if width == 0 || len(src)/width < n {
		return fmt.Errorf("%w: %d split values of %d bytes in %d bytes", ErrCorrupt, n, width, len(src))
	}
	r.plain = slices.Grow(r.plain[:0], n*width)[:n*width]
	for i := range n {
		for k := range width {
			r.plain[i*width+k] = src[k*n+i]
		}
	}
	return r.column.decodePlain(&r.values, r.plain, n)
}
