package zstdframe

import (
	"encoding/binary"
	"math/bits"
)

const (
	// tableBits makes a table that fits into a processor's first caches.
	tableBits = 14
	tableMask = 1<<tableBits - 1
	// slowness is how slowly the steps of the search grow while nothing is found.
	slowness = 5
	// searchMargin is how many bytes before a block's end the search stops, so that eight can always be loaded.
	searchMargin = 12
	// leastMatch is the shortest match looked for; zstd's own least is 3.
	leastMatch = 4
)

// sequence is a number of literals and a match after them. The offset is as zstd writes it: 1 to 3 are recent ones.
type sequence struct {
	literals, match, offset uint32
}

func load64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
func load32(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }

// hash of the lowest six bytes.
func hash(x uint64) uint64 { return (x << 16) * 0x9E3779B185EBCA87 >> (64 - tableBits) }

// search finds the sequences and literals of the block src[from:], which may refer to all before it.
func (e *Encoder) search(src []byte, from int) {
	e.literals, e.sequences = e.literals[:0], e.sequences[:0]
	limit := len(src) - searchMargin
	s, emitted := from, from
	for s <= limit {
		at, offset := e.next(src, s, emitted, limit)
		if offset == 0 {
			break
		}
		s = at
		ref := s - offset
		for s > emitted && ref > 0 && src[s-1] == src[ref-1] {
			s, ref = s-1, ref-1
		}
		n := leastMatch + common(src, ref+leastMatch, s+leastMatch)
		e.emit(src[emitted:s], n, uint32(offset))
		s += n
		emitted = s
		if s > limit {
			break
		}
		// A place within the match, where the next record may begin alike.
		e.note(src, s-2)
		// What follows without a literal often repeats the offset before.
		for second := int(e.recent[1]); second <= s && load32(src, s-second) == load32(src, s); second = int(e.recent[1]) {
			n := leastMatch + common(src, s-second+leastMatch, s+leastMatch)
			e.note(src, s)
			e.emit(nil, n, uint32(second))
			s += n
			emitted = s
			if s > limit {
				break
			}
		}
	}
	e.literals = append(e.literals, src[emitted:]...)
}

// note makes a place known.
func (e *Encoder) note(src []byte, s int) {
	x := load64(src, s)
	e.table[hash(x)&tableMask] = x<<32 | uint64(s)
}

// next is the next place with a match and its offset, 0 when there is none. Steps grow while nothing is found.
func (e *Encoder) next(src []byte, s, emitted, limit int) (at, offset int) {
	recent := int(e.recent[0])
	table := &e.table
	for s <= limit {
		x := load64(src, s)
		y := x >> 8
		h, h1 := hash(x)&tableMask, hash(y)&tableMask
		a, b := table[h], table[h1]
		table[h], table[h1] = x<<32|uint64(s), y<<32|uint64(s+1)
		if recent <= s+2 && load32(src, s+2-recent) == uint32(x>>16) {
			return s + 2, recent
		}
		if uint32(a>>32) == uint32(x) && uint32(a) > 0 {
			return s, s - int(uint32(a))
		}
		if uint32(b>>32) == uint32(y) && uint32(b) > 0 {
			return s + 1, s + 1 - int(uint32(b))
		}
		s += 2 + (s-emitted)>>slowness
	}
	return s, 0
}

// common is how many bytes are alike from two places on, the second of which is later.
func common(src []byte, a, b int) int {
	n := 0
	for b+n+8 <= len(src) {
		if x := load64(src, a+n) ^ load64(src, b+n); x != 0 {
			return n + bits.TrailingZeros64(x)>>3
		}
		n += 8
	}
	for b+n < len(src) && src[a+n] == src[b+n] {
		n++
	}
	return n
}

// emit adds a sequence, and does with the recent offsets what a decoder does (RFC 8878, section 3.1.1.5).
func (e *Encoder) emit(literals []byte, match int, offset uint32) {
	e.literals = append(e.literals, literals...)
	r := &e.recent
	named := uint32(0) // which of the recent ones it is
	for i, x := range r {
		if x == offset {
			named = uint32(i) + 1
			break
		}
	}
	value := offset + 3
	if named > 0 && len(literals) > 0 {
		value = named
	} else if named > 1 { // without literals the numbers are one less, and the first has none
		value = named - 1
	}
	switch {
	case value > 3:
		r[2], r[1], r[0] = r[1], r[0], offset
	case named == 2:
		r[1], r[0] = r[0], offset
	case named == 3:
		r[2], r[1], r[0] = r[1], r[0], offset
	}
	e.sequences = append(e.sequences, sequence{literals: uint32(len(literals)), match: uint32(match), offset: value})
}
