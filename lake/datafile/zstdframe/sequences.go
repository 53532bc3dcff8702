package zstdframe

import (
	"encoding/binary"
	"math/bits"
)

// The three numbers of a sequence, in the order of their tables in a block.
const (
	ofLiterals = iota
	ofOffset
	ofMatch
	kinds
)

// The ways in which a table is given.
const (
	modeRepeated = 1 // one code for all
	modeTable    = 2
)

// mostLog is the largest logarithm of a table's size, by kind.
var mostLog = [kinds]int{9, 8, 9}

const (
	mostCodes = 53
	leastLog  = 5
	tableSize = 1 << 9
)

// coder codes the numbers of one kind by an FSE table (RFC 8878, section 4.1).
type coder struct {
	codes  []byte
	counts [mostCodes]uint32
	norm   [mostCodes]uint16
	top    int // the greatest code
	log    int
	// mode is how the table is given.
	mode byte

	states [tableSize]uint16
	delta  [64]transition
}

// transition is what a code adds to a state to find its bits, and its next place in states.
type transition struct {
	bits  uint32
	place int32
}

// literalsCode and matchCode are the codes of small numbers; greater ones have one for each power of two.
var literalsCode = [64]byte{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	16, 16, 17, 17, 18, 18, 19, 19, 20, 20, 20, 20, 21, 21, 21, 21,
	22, 22, 22, 22, 22, 22, 22, 22, 23, 23, 23, 23, 23, 23, 23, 23,
	24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24,
}

var matchCode = [128]byte{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
	32, 32, 33, 33, 34, 34, 35, 35, 36, 36, 36, 36, 37, 37, 37, 37,
	38, 38, 38, 38, 38, 38, 38, 38, 39, 39, 39, 39, 39, 39, 39, 39,
	40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40,
	41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41, 41,
	42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
	42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
}

// literalsBits and matchBits are how many bits of the number stand beside its code.
var literalsBits = [64]byte{
	16: 1, 17: 1, 18: 1, 19: 1, 20: 2, 21: 2, 22: 3, 23: 3,
	24: 4, 25: 6, 26: 7, 27: 8, 28: 9, 29: 10, 30: 11, 31: 12, 32: 13, 33: 14, 34: 15, 35: 16,
}

var matchBits = [64]byte{
	32: 1, 33: 1, 34: 1, 35: 1, 36: 2, 37: 2, 38: 3, 39: 3, 40: 4, 41: 4,
	42: 5, 43: 7, 44: 8, 45: 9, 46: 10, 47: 11, 48: 12, 49: 13, 50: 14, 51: 15, 52: 16,
}

const matchBase = 3

func codeOfLiterals(n uint32) byte {
	if n < 64 {
		return literalsCode[n]
	}
	return byte(bits.Len32(n)-1) + 19
}

func codeOfMatch(n uint32) byte {
	if n < 128 {
		return matchCode[n]
	}
	return byte(bits.Len32(n)-1) + 36
}

// appendSequences appends the section of sequences.
func (e *Encoder) appendSequences(dst []byte) []byte {
	n := len(e.sequences)
	switch {
	case n == 0:
		return append(dst, 0)
	case n < 128:
		dst = append(dst, byte(n))
	case n < 0x7F00:
		dst = append(dst, byte(n>>8)+128, byte(n))
	default:
		dst = append(dst, 255, byte(n-0x7F00), byte((n-0x7F00)>>8))
	}
	for k := range e.codes {
		e.codes[k].start()
	}
	lits, offs, matches := &e.codes[ofLiterals], &e.codes[ofOffset], &e.codes[ofMatch]
	for i := range e.sequences {
		s := &e.sequences[i]
		lits.add(codeOfLiterals(s.literals))
		offs.add(byte(bits.Len32(s.offset) - 1))
		matches.add(codeOfMatch(s.match - matchBase))
	}
	modes := len(dst)
	dst = append(dst, 0)
	for k := range e.codes {
		c := &e.codes[k]
		dst = c.appendTable(dst, mostLog[k])
		dst[modes] |= c.mode << (6 - 2*k)
	}
	return e.appendBits(dst)
}

// appendBits appends the sequences from the last to the first, as a decoder reads bits backwards.
func (e *Encoder) appendBits(dst []byte) []byte {
	lits, offs, matches := &e.codes[ofLiterals], &e.codes[ofOffset], &e.codes[ofMatch]
	var w bitWriter
	n := len(e.sequences) - 1
	litCodes, offCodes, matchCodes := lits.codes[:n+1], offs.codes[:n+1], matches.codes[:n+1]
	matchState, offState, litState := matches.begin(matchCodes[n]), offs.begin(offCodes[n]), lits.begin(litCodes[n])
	for i := n; i >= 0; i-- {
		s := &e.sequences[i]
		lc, oc, mc := litCodes[i], offCodes[i], matchCodes[i]
		if i < n { // 26 bits at most, and 7 before
			offState, w = offs.put(offState, oc, w)
			matchState, w = matches.put(matchState, mc, w)
			litState, w = lits.put(litState, lc, w)
		}
		w = w.add(uint64(s.literals), uint(literalsBits[lc&63]))
		dst, w = w.flush(dst)
		w = w.add(uint64(s.match-matchBase), uint(matchBits[mc&63])).add(uint64(s.offset), uint(oc))
		dst, w = w.flush(dst)
	}
	w = w.add(uint64(matchState), matches.width()).add(uint64(offState), offs.width()).add(uint64(litState), lits.width())
	w = w.add(1, 1) // where the bits end
	return w.end(dst)
}

// bitWriter gathers bits, the first lowest. It is passed by value so that it stays in registers.
type bitWriter struct {
	bits uint64
	n    uint
}

// add adds the lowest n bits of x. Not more than 64 may come together.
func (w bitWriter) add(x uint64, n uint) bitWriter {
	return bitWriter{w.bits | x&(1<<(n&63)-1)<<(w.n&63), w.n + n}
}

// flush appends the whole bytes.
func (w bitWriter) flush(dst []byte) ([]byte, bitWriter) {
	at, whole := len(dst), w.n/8
	dst = binary.LittleEndian.AppendUint64(dst, w.bits)[:at+int(whole)]
	return dst, bitWriter{w.bits >> (whole * 8 & 63), w.n & 7}
}

// end appends all that is left.
func (w bitWriter) end(dst []byte) []byte {
	dst, w = w.flush(dst)
	if w.n > 0 {
		dst = append(dst, byte(w.bits))
	}
	return dst
}

func (c *coder) start() {
	c.codes, c.top = c.codes[:0], 0
	clear(c.counts[:])
}

func (c *coder) add(code byte) {
	c.codes = append(c.codes, code)
	c.counts[code]++
	c.top = max(c.top, int(code))
}

// begin is the state after the first code.
func (c *coder) begin(code byte) uint32 {
	d := &c.delta[code]
	n := (d.bits + 1<<15) >> 16
	return uint32(c.states[int32((n<<16-d.bits)>>n)+d.place])
}

// put writes what leads from a state to that after another code.
func (c *coder) put(state uint32, code byte, w bitWriter) (uint32, bitWriter) {
	d := &c.delta[code&63]
	n := (state + d.bits) >> 16
	return uint32(c.states[(int32(state>>(n&31))+d.place)&(tableSize-1)]), w.add(uint64(state), uint(n))
}

// width is how many bits a state has.
func (c *coder) width() uint { return uint(c.log) }

// appendTable makes a table for the codes that were added, and appends it.
func (c *coder) appendTable(dst []byte, mostLog int) []byte {
	if int(c.counts[c.top]) == len(c.codes) {
		c.mode, c.log = modeRepeated, 0
		c.delta[c.top], c.states[0] = transition{}, 0 // no bits, whatever comes
		return append(dst, byte(c.top))
	}
	c.mode = modeTable
	distinct := 0
	for _, n := range c.counts[:c.top+1] {
		if n > 0 {
			distinct++
		}
	}
	c.log = min(max(leastLog, bits.Len(uint(len(c.codes)))-2, bits.Len(uint(distinct))+1), mostLog)
	c.normalize()
	c.build()
	return c.appendNorm(dst)
}

// normalize scales the counts to the table's size; no code that occurs gets nothing.
func (c *coder) normalize() {
	size := 1 << c.log
	left, most := size, 0
	for i, n := range c.counts[:c.top+1] {
		c.norm[i] = 0
		if n == 0 {
			continue
		}
		share := max(1, (int(n)*size+len(c.codes)/2)/len(c.codes))
		c.norm[i] = uint16(share)
		left -= share
		if n > c.counts[most] {
			most = i
		}
	}
	for left < 0 { // rare codes were rounded up
		greatest := 0
		for i, n := range c.norm[:c.top+1] {
			if n > c.norm[greatest] {
				greatest = i
			}
		}
		c.norm[greatest]--
		left++
	}
	c.norm[most] += uint16(left)
}

// build spreads the codes over the states.
func (c *coder) build() {
	var spread [tableSize]byte
	size := 1 << c.log
	step, mask, at := size>>1+size>>3+3, size-1, 0
	var start [mostCodes + 1]uint16
	total := int32(0)
	for i, n := range c.norm[:c.top+1] {
		start[i+1] = start[i] + n
		for range n {
			spread[at] = byte(i)
			at = (at + step) & mask
		}
		switch n {
		case 0:
		case 1:
			c.delta[i] = transition{uint32(c.log<<16 - size), total - 1}
		default:
			most := c.log - (bits.Len16(n-1) - 1)
			c.delta[i] = transition{uint32(most<<16 - int(n)<<most), total - int32(n)}
		}
		total += int32(n)
	}
	for i, code := range spread[:size] {
		c.states[start[code]] = uint16(size + i)
		start[code]++
	}
}

// appendNorm appends the description of the table (RFC 8878, section 4.1.1).
func (c *coder) appendNorm(dst []byte) []byte {
	w := bitWriter{}.add(uint64(c.log-leastLog), 4)
	left, threshold, width := 1<<c.log+1, 1<<c.log, uint(c.log+1)
	for i := 0; i <= c.top && left > 1; {
		n := int(c.norm[i])
		i++
		most := 2*threshold - 1 - left
		left -= n
		value, size := n+1, width
		if value >= threshold {
			value += most
		}
		if value < most {
			size--
		}
		dst, w = w.add(uint64(value), size).flush(dst)
		for left < threshold {
			threshold >>= 1
			width--
		}
		if n > 0 {
			continue
		}
		// How many more codes do not occur, in threes.
		zeros := 0
		for i+zeros <= c.top && c.norm[i+zeros] == 0 {
			zeros++
		}
		i += zeros
		for ; zeros >= 3; zeros -= 3 {
			dst, w = w.add(3, 2).flush(dst)
		}
		w = w.add(uint64(zeros), 2)
	}
	return w.end(dst)
}
