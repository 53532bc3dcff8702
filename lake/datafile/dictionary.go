package datafile

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

const (
	// dictionaryEntries bounds a dictionary: its indices fit into 15 bits, its tables into a processor's second cache.
	dictionaryEntries = 1 << 15
	// dictionaryBytes bounds the PLAIN bytes of the entries, as Paimon's writer does.
	dictionaryBytes = 1 << 20
	// After sampleValues values at least sampleRepeats must have been seen before. By the odds of equal birthdays fewer
	// mean more distinct values than a dictionary holds.
	sampleValues  = 1024
	sampleRepeats = sampleValues * sampleValues / (2 * dictionaryEntries)
	firstSlots    = 256
)

// dictionaryState is what has been decided for a column chunk.
type dictionaryState uint8

const (
	dictionaryUndecided dictionaryState = iota // no value seen yet
	dictionaryOn
	dictionaryOff // does not pay, or has become too large: pages from here on are PLAIN
)

// dictionary replaces the values of a column chunk by indices, if its first page shows that they repeat.
type dictionary struct {
	state dictionaryState
	width int // of a value, 0 for byte arrays
	never bool
	plain []byte // the entries in PLAIN encoding
	// entries tell of byte arrays where they are in plain.
	entries []entry
	count   int
	slots   []uint16 // open addressing: index + 1 of an entry, 0 is free
	seed    maphash.Seed
	sample  bool // the page being encoded decides
}

// entry is a byte array of a dictionary.
type entry struct {
	key           uint64 // as keyOf says
	start, length uint32 // in plain, where the length stands in front
}

func (d *dictionary) init(p physical, width int) {
	d.width = width
	d.never = p == asBoolean || p == asInt96
	if p == asBytes || p == asFixed {
		d.seed = maphash.MakeSeed()
	}
	d.reset()
}

// reset begins a column chunk.
func (d *dictionary) reset() {
	d.state = dictionaryUndecided
	if d.never {
		d.state = dictionaryOff
	}
	d.plain, d.entries, d.count = d.plain[:0], d.entries[:0], 0
	clear(d.slots)
	if len(d.slots) > firstSlots {
		d.slots = d.slots[:firstSlots]
	}
}

func (d *dictionary) memory() int { return cap(d.plain) + 16*cap(d.entries) + 2*cap(d.slots) }

// encode returns the indices of the n values of a page, or false when the page shall be PLAIN.
func (d *dictionary) encode(raw []byte, n int, indices []uint32) ([]uint32, bool) {
	if d.state == dictionaryOff || n == 0 {
		return indices, false
	}
	if d.slots == nil {
		d.slots = make([]uint16, firstSlots)
	}
	d.sample = d.state == dictionaryUndecided
	size, entries, count := len(d.plain), len(d.entries), d.count
	indices, ok := d.lookup(raw, indices)
	if ok && d.sample {
		ok = 2*d.count <= n
	}
	if !ok {
		// Entries that only this page needed are of no use any more.
		d.plain, d.entries, d.count = d.plain[:size], d.entries[:entries], count
		d.state = dictionaryOff
		return indices, false
	}
	d.state = dictionaryOn
	return indices, true
}

func (d *dictionary) lookup(raw []byte, indices []uint32) ([]uint32, bool) {
	switch d.width {
	case 0:
		return d.lookupBytes(raw, indices)
	case 4:
		return d.lookup4(raw, indices)
	case 8:
		return d.lookup8(raw, indices)
	}
	return d.lookupFixed(raw, indices)
}

// tooMany tells, before an entry of some bytes is added, whether to give up.
func (d *dictionary) tooMany(seen, size int) bool {
	if d.count >= dictionaryEntries || len(d.plain)+size > dictionaryBytes {
		return true
	}
	return d.sample && seen >= sampleValues && seen < 2*sampleValues && d.count > seen-sampleRepeats
}

func (d *dictionary) lookup4(raw []byte, indices []uint32) ([]uint32, bool) {
	for seen := 0; len(raw) >= 4; raw, seen = raw[4:], seen+1 {
		x := binary.LittleEndian.Uint32(raw)
		h := hash4(x) & uint32(len(d.slots)-1)
		for {
			s := d.slots[h]
			if s == 0 {
				if d.tooMany(seen, d.width) {
					return indices, false
				}
				d.plain = binary.LittleEndian.AppendUint32(d.plain, x)
				s = d.insert(h)
			} else if binary.LittleEndian.Uint32(d.plain[4*(int(s)-1):]) != x {
				h = (h + 1) & uint32(len(d.slots)-1)
				continue
			}
			indices = append(indices, uint32(s-1))
			break
		}
	}
	return indices, true
}

func (d *dictionary) lookup8(raw []byte, indices []uint32) ([]uint32, bool) {
	for seen := 0; len(raw) >= 8; raw, seen = raw[8:], seen+1 {
		x := binary.LittleEndian.Uint64(raw)
		h := hash8(x) & uint32(len(d.slots)-1)
		for {
			s := d.slots[h]
			if s == 0 {
				if d.tooMany(seen, d.width) {
					return indices, false
				}
				d.plain = binary.LittleEndian.AppendUint64(d.plain, x)
				s = d.insert(h)
			} else if binary.LittleEndian.Uint64(d.plain[8*(int(s)-1):]) != x {
				h = (h + 1) & uint32(len(d.slots)-1)
				continue
			}
			indices = append(indices, uint32(s-1))
			break
		}
	}
	return indices, true
}

func (d *dictionary) lookupBytes(raw []byte, indices []uint32) ([]uint32, bool) {
	for seen := 0; len(raw) >= 4; seen++ {
		n := binary.LittleEndian.Uint32(raw)
		key, full := d.keyOf(raw, n)
		v := raw[:4+n] // the length is part of the entry
		raw = raw[4+n:]
		h := full & uint32(len(d.slots)-1)
		for {
			s := d.slots[h]
			if s == 0 {
				if d.tooMany(seen, len(v)) {
					return indices, false
				}
				d.entries = append(d.entries, entry{key: key, start: uint32(len(d.plain)), length: n})
				d.plain = append(d.plain, v...)
				s = d.insert(h)
			} else if e := &d.entries[s-1]; e.key != key || e.length != n || n > 8 && !bytes.Equal(d.plain[e.start:][:4+n], v) {
				h = (h + 1) & uint32(len(d.slots)-1)
				continue
			}
			indices = append(indices, uint32(s-1))
			break
		}
	}
	return indices, true
}

// keyOf is a number for the string of n bytes behind its length, and its hash. Two strings of the same length of up to eight
// bytes are equal when their numbers are.
func (d *dictionary) keyOf(raw []byte, n uint32) (key uint64, hash uint32) {
	switch {
	case n > 8:
		key = maphash.Bytes(d.seed, raw[4:4+n])
		return key, uint32(key)
	case len(raw) >= 12:
		key = binary.LittleEndian.Uint64(raw[4:]) & (^uint64(0) >> (64 - 8*n))
	default:
		for i := range n {
			key |= uint64(raw[4+i]) << (8 * i)
		}
	}
	return key, hash8(key + uint64(n))
}

func (d *dictionary) lookupFixed(raw []byte, indices []uint32) ([]uint32, bool) {
	for seen := 0; len(raw) >= d.width; seen++ {
		v := raw[:d.width]
		raw = raw[d.width:]
		h := uint32(maphash.Bytes(d.seed, v)) & uint32(len(d.slots)-1)
		for {
			s := d.slots[h]
			if s == 0 {
				if d.tooMany(seen, d.width) {
					return indices, false
				}
				d.plain = append(d.plain, v...)
				s = d.insert(h)
			} else if !bytes.Equal(d.fixed(int(s)-1), v) {
				h = (h + 1) & uint32(len(d.slots)-1)
				continue
			}
			indices = append(indices, uint32(s-1))
			break
		}
	}
	return indices, true
}

// fixed is an entry of a fixed width.
func (d *dictionary) fixed(i int) []byte { return d.plain[i*d.width : (i+1)*d.width] }

// insert makes the entry just added to plain known at a free slot and returns its index + 1.
func (d *dictionary) insert(slot uint32) uint16 {
	d.count++
	s := uint16(d.count)
	d.slots[slot] = s
	if 2*d.count >= len(d.slots) {
		d.grow()
	}
	return s
}

func (d *dictionary) grow() {
	size := 2 * len(d.slots)
	if cap(d.slots) >= size {
		d.slots = d.slots[:size]
		clear(d.slots)
	} else {
		d.slots = make([]uint16, size)
	}
	for i := range d.count {
		h := d.hash(i) & uint32(size-1)
		for d.slots[h] != 0 {
			h = (h + 1) & uint32(size-1)
		}
		d.slots[h] = uint16(i + 1)
	}
}

func (d *dictionary) hash(i int) uint32 {
	switch d.width {
	case 0:
		if e := d.entries[i]; e.length <= 8 {
			return hash8(e.key + uint64(e.length))
		}
		return uint32(d.entries[i].key)
	case 4:
		return hash4(binary.LittleEndian.Uint32(d.fixed(i)))
	case 8:
		return hash8(binary.LittleEndian.Uint64(d.fixed(i)))
	}
	return uint32(maphash.Bytes(d.seed, d.fixed(i)))
}

// hash4 and hash8 multiply by an odd constant and take the upper half, that all bits have reached.
func hash4(x uint32) uint32 { return uint32(uint64(x) * 0x9E3779B97F4A7C15 >> 32) }

func hash8(x uint64) uint32 {
	x ^= x >> 32
	return uint32(x * 0x9E3779B97F4A7C15 >> 32)
}

// appendIndices adds the body of a dictionary page: the bit width and the indices, as one run when they are all equal, else
// bit-packed. Longer runs are left to the compression.
func appendIndices(dst []byte, indices []uint32, entries int) []byte {
	width := max(1, bits.Len(uint(entries-1)))
	dst = append(dst, byte(width))
	if first := indices[0]; allEqual(indices, first) {
		dst = binary.AppendUvarint(dst, uint64(len(indices))<<1)
		for w := width; w > 0; w -= 8 {
			dst = append(dst, byte(first))
			first >>= 8
		}
		return dst
	}
	groups := (len(indices) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	end := len(dst) + groups*width
	acc, n := uint64(0), 0
	for _, x := range indices {
		acc |= uint64(x) << n
		if n += width; n >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
			acc >>= 32
			n -= 32
		}
	}
	for ; n > 0; n -= 8 {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	for len(dst) < end {
		dst = append(dst, 0)
	}
	return dst
}

func allEqual(indices []uint32, x uint32) bool {
	for _, i := range indices {
		if i != x {
			return false
		}
	}
	return true
}
