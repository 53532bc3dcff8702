package zstdframe

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/huff0"
)

const (
	// Most is the longest page: longer frames of one segment would need more of a reader's memory than zstd's own.
	Most = 4 << 20
	// Least is the shortest page: shorter ones are not worth a frame of their own kind.
	Least = 256

	// blockMost is the largest block of a frame.
	blockMost = 128 << 10
)

// The types of a frame's blocks, and of a block's literals.
const (
	blockRaw        = 0
	blockCompressed = 2

	literalsRaw        = 0
	literalsRepeated   = 1
	literalsCompressed = 2
)

// Encoder makes frames. It is not for use by several goroutines. The zero value is ready.
type Encoder struct {
	huff huff0.Scratch
	// table has for a hash the four bytes that had it last, above, and where they are, below.
	table [1 << tableBits]uint64
	// recent are the three offsets that a sequence can name by their numbers.
	recent    [3]uint32
	literals  []byte
	sequences []sequence
	codes     [kinds]coder
}

// Literals appends src as a frame in which nothing refers back. For values that do not repeat, such as numbers and
// digests, that is hardly longer than what a search finds, and many times faster. src has from Least to Most bytes.
func (e *Encoder) Literals(dst, src []byte) []byte {
	return frame(dst, src, func(dst []byte, from, to int, last bool) []byte {
		block := src[from:to]
		at := len(dst)
		dst = append(dst, 0, 0, 0)
		dst = e.appendLiterals(dst, block)
		dst = append(dst, 0) // no sequences
		return finish(dst, at, block, last)
	})
}

// Matches appends src as a frame, and searches it for what repeats; a block in which hardly anything does stays as it is. src has from Least to Most bytes.
func (e *Encoder) Matches(dst, src []byte) []byte {
	clear(e.table[:])
	e.recent = [3]uint32{1, 4, 8}
	return frame(dst, src, func(dst []byte, from, to int, last bool) []byte {
		recent := e.recent
		e.search(src[:to], from)
		at := len(dst)
		dst = append(dst, 0, 0, 0)
		if size := to - from; size-len(e.literals) > size>>6+leastGain {
			dst = e.appendLiterals(dst, e.literals)
			dst = e.appendSequences(dst)
		} else {
			dst = append(dst, src[from:to]...)
		}
		if len(dst)-at-blockHeader >= to-from {
			e.recent = recent // a block as it is changes nothing for the next
		}
		return finish(dst, at, src[from:to], last)
	})
}

// frame appends the frame's header and, block by block, what encode makes.
func frame(dst, src []byte, encode func(dst []byte, from, to int, last bool) []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, 0xFD2FB528)
	dst = append(dst, 2<<6|1<<5) // a content size of four bytes, which is the window too
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	for from := 0; ; from += blockMost {
		to := min(from+blockMost, len(src))
		dst = encode(dst, from, to, to == len(src))
		if to == len(src) {
			return dst
		}
	}
}

// leastGain is how much, beside a sixty-fourth of the block, has to repeat before the block is coded.
const leastGain = 16

// blockHeader is the size of the header for which room was left at the start of a block.
const blockHeader = 3

// finish sets the header of the block that begins at a place of dst, and puts the block as it is where that is no longer.
func finish(dst []byte, at int, block []byte, last bool) []byte {
	kind, size := uint32(blockCompressed), len(dst)-at-blockHeader
	if size >= len(block) {
		kind, size = blockRaw, len(block)
		dst = append(dst[:at+blockHeader], block...)
	}
	head := kind<<1 | uint32(size)<<3
	if last {
		head |= 1
	}
	dst[at], dst[at+1], dst[at+2] = byte(head), byte(head>>8), byte(head>>16)
	return dst
}

// appendLiterals appends a section of literals: in four streams with a table of their own where that is shorter.
func (e *Encoder) appendLiterals(dst, literals []byte) []byte {
	const head = 5
	var coded []byte
	err := huff0.ErrIncompressible
	if len(literals) >= Least {
		e.huff.Reuse = huff0.ReusePolicyNone
		coded, _, err = huff0.Compress4X(literals, &e.huff)
	}
	size := uint64(len(literals)) << 4
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		return append(dst, literalsRepeated|3<<2|byte(size), byte(size>>8), byte(size>>16), literals[0])
	case err != nil || len(coded)+head >= len(literals):
		dst = append(dst, literalsRaw|3<<2|byte(size), byte(size>>8), byte(size>>16))
		return append(dst, literals...)
	}
	h := literalsCompressed | 3<<2 | size | uint64(len(coded))<<22
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h))
	dst = append(dst, byte(h>>32))
	return append(dst, coded...)
}
