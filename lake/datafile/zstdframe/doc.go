// Package zstdframe compresses a page of a column into a zstd frame (RFC 8878), for speed first.
//
// [Encoder.Matches] searches for repeats as zstd's fastest level does, [Encoder.Literals] does not search at all: every
// block is Huffman-coded or as it is. What both make is an ordinary frame of one segment that says its size, of blocks of
// up to 128 KiB, which every zstd decoder reads.
//
// It is not a general compressor: a page is in memory as a whole and not larger than [Most]. Huffman coding is
// klauspost's huff0; the coding of sequences is here, because no library offers it alone.
//
// Invariants:
//   - What a frame decodes to is the page, byte for byte: tests ask a decoder in Go, and those of the data files the one that Paimon uses.
//   - An encoder keeps its memory from page to page and allocates none in the steady state.
//
// It must agree with RFC 8878, sections 3.1.1 (frames and blocks), 3.1.1.3 (literals and sequences) and 4 (entropy coding).
package zstdframe
