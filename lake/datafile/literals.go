package datafile

import (
	"encoding/binary"

	"github.com/klauspost/compress/huff0"
)

// literalsBlock is the largest block of a zstd frame.
const literalsBlock = 128 << 10

// The types of a zstd frame's blocks.
const (
	blockRaw        = 0
	blockCompressed = 2
)

// appendLiterals adds src as a zstd frame in which nothing refers back: every block is Huffman-coded or as it is. For values
// that do not repeat, such as numbers and digests, that is hardly longer than what a search for matches finds, and many
// times faster (RFC 8878, sections 3.1.1 and 4.2). src has 256 bytes or more.
func appendLiterals(dst, src []byte, s *huff0.Scratch) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, 0xFD2FB528)
	dst = append(dst, 2<<6|1<<5) // a content size of four bytes, which is the window too
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	for {
		block := src[:min(len(src), literalsBlock)]
		src = src[len(block):]
		last := uint32(0)
		if len(src) == 0 {
			last = 1
		}
		dst = appendBlock(dst, block, last, s)
		if last == 1 {
			return dst
		}
	}
}

func appendBlock(dst, block []byte, last uint32, s *huff0.Scratch) []byte {
	s.Reuse = huff0.ReusePolicyNone
	var coded []byte
	if len(block) >= 256 {
		var err error
		if coded, _, err = huff0.Compress4X(block, s); err != nil {
			coded = nil // not compressible, or a single byte repeated
		}
	}
	const header = 5 + 1 // of the literals, and a count of no sequences
	if coded == nil || len(coded)+header >= len(block) {
		dst = appendUint24(dst, last|blockRaw<<1|uint32(len(block))<<3)
		return append(dst, block...)
	}
	dst = appendUint24(dst, last|blockCompressed<<1|uint32(len(coded)+header)<<3)
	// Literals in four streams with a table of their own, and two sizes of 18 bits.
	head := uint64(2|3<<2) | uint64(len(block))<<4 | uint64(len(coded))<<22
	dst = binary.LittleEndian.AppendUint32(dst, uint32(head))
	dst = append(dst, byte(head>>32))
	dst = append(dst, coded...)
	return append(dst, 0)
}

func appendUint24(dst []byte, x uint32) []byte {
	return append(dst, byte(x), byte(x>>8), byte(x>>16))
}
