package datafile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// plainDictionary is what pages of version 1 call a dictionary and the indices of it.
const plainDictionary = format.PlainDictionary //nolint:staticcheck // deprecated, and what Paimon's Java writer says

// sink is what the columns of a writer share: where finished pages go, and scratch memory.
type sink struct {
	codec *Codec
	arena arena

	rows, picked []int32
	indices      []uint32
	body         []byte
	packed       [2][]byte
	header       bytes.Buffer
	thrift       *thrift.Encoder
}

func newSink(codec *Codec) *sink {
	s := &sink{codec: codec}
	s.thrift = thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(&s.header))
	return s
}

func (s *sink) memory() int {
	return s.arena.memory() + cap(s.body) + cap(s.packed[0]) + cap(s.packed[1]) + 4*(cap(s.rows)+cap(s.picked)+cap(s.indices))
}

// trim gives back scratch memory that one long value made.
func (s *sink) trim(limit int) {
	if cap(s.body) > limit {
		s.body = nil
	}
	for i := range s.packed {
		if cap(s.packed[i]) > limit {
			s.packed[i] = nil
		}
	}
}

// chunk is what is known of a column's finished pages in the row group.
type chunk struct {
	pages            []extent
	bounds           bounds
	nulls            int64
	rows             int64
	rawSize, size    int64 // with page headers
	plain, dictPages int32
	packing          packing
}

func (c *chunk) reset() {
	c.pages = c.pages[:0]
	c.bounds.reset()
	c.nulls, c.rows, c.rawSize, c.size, c.plain, c.dictPages = 0, 0, 0, 0, 0, 0
	c.packing = packing{}
}

// flushPage finishes the page under construction, if it has rows.
func (c *column) flushPage(s *sink) error {
	repetition := format.BitPacked // as parquet-mr says where there are no levels
	if c.levels != nil {
		if err := c.fillPage(); err != nil {
			return err
		}
		if c.levels.maxRep > 0 {
			repetition = format.RLE
		}
	}
	if c.rows == 0 {
		return nil
	}
	values := c.page[c.levelRoom:]
	encoding := format.Plain
	indices, ok := c.dict.encode(values, c.values, s.indices[:0])
	s.indices = indices
	var page []byte
	if ok {
		encoding = plainDictionary
		s.body = append(s.body[:0], c.page[:c.levelRoom]...)
		s.body = appendIndices(s.body, indices, c.dict.count)
		page = c.frame(s.body)
		c.chunk.dictPages++
	} else {
		c.chunk.bounds.add(values, c.width)
		if c.physical == asBoolean {
			s.body = append(s.body[:0], c.page[:c.levelRoom]...)
			s.body = appendBits(s.body, values)
			page = c.frame(s.body)
		} else {
			page = c.frame(c.page)
		}
		c.chunk.plain++
	}
	e, err := c.addPage(s, page, &c.chunk.packing, format.PageHeader{
		Type: format.DataPage,
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues:               int32(c.rows),
			Encoding:                encoding,
			DefinitionLevelEncoding: format.RLE,
			RepetitionLevelEncoding: repetition,
		}),
	})
	if err != nil {
		return err
	}
	c.chunk.pages = append(c.chunk.pages, e)
	c.chunk.rows += int64(c.rows)
	c.chunk.nulls += int64(c.rows - c.values)
	s.trim(2 * (c.maxBytes + c.levelRoom))
	c.startPage()
	return nil
}

// frame puts the definition levels in front of the values, into the room left for them, and returns the page. Those of a leaf of
// a nested column are there already.
func (c *column) frame(page []byte) []byte {
	if !c.optional {
		return page
	}
	levels := 0
	switch {
	case c.values == c.rows || c.values == 0:
		var run [binary.MaxVarintLen32 + 1]byte
		levels = binary.PutUvarint(run[:], uint64(c.rows)<<1) + 1
		if c.values > 0 {
			run[levels-1] = 1
		}
		copy(page[c.levelRoom-levels:], run[:levels])
	default:
		var head [binary.MaxVarintLen32]byte
		n := binary.PutUvarint(head[:], uint64(len(c.present))<<1|1)
		levels = n + len(c.present)
		copy(page[c.levelRoom-levels:], head[:n])
		copy(page[c.levelRoom-len(c.present):], c.present)
	}
	start := c.levelRoom - levels - 4
	binary.LittleEndian.PutUint32(page[start:], uint32(levels))
	return page[start:]
}

// addPage compresses a page and adds it with its header to the finished ones.
func (c *column) addPage(s *sink, page []byte, p *packing, h format.PageHeader) (extent, error) {
	if len(page) > math.MaxInt32-blockSize {
		return extent{}, fmt.Errorf("column %q: a page of %d bytes is too large for Parquet", c.field.Name, len(page))
	}
	data, err := s.codec.pack(&s.packed, page, p)
	if err != nil {
		return extent{}, fmt.Errorf("column %q: %w", c.field.Name, err)
	}
	if cap(c.page) > 2*(c.maxBytes+c.levelRoom) {
		c.page = nil // room that one long value made is not needed besides its compressed form
	}
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(page)), int32(len(data))
	h.CRC = int32(crc32.ChecksumIEEE(data))
	s.header.Reset()
	if err := s.thrift.Encode(&h); err != nil {
		return extent{}, fmt.Errorf("column %q: encode page header: %w", c.field.Name, err)
	}
	e := s.arena.add(s.header.Bytes())
	e.end = s.arena.add(data).end
	c.chunk.rawSize += int64(s.header.Len() + len(page))
	c.chunk.size += int64(e.end - e.start)
	return e, nil
}

// addDictionary adds the dictionary page of a chunk that has pages which need it.
func (c *column) addDictionary(s *sink) (extent, error) {
	c.chunk.bounds.add(c.dict.plain, c.width)
	return c.addPage(s, c.dict.plain, &packing{}, format.PageHeader{
		Type: format.DictionaryPage,
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
			NumValues: int32(c.dict.count),
			Encoding:  plainDictionary,
		}),
	})
}

// appendBits packs bytes of 0 and 1 into bits, the first value lowest.
func appendBits(dst, values []byte) []byte {
	for len(values) >= 8 {
		v := values[:8]
		dst = append(dst, v[0]|v[1]<<1|v[2]<<2|v[3]<<3|v[4]<<4|v[5]<<5|v[6]<<6|v[7]<<7)
		values = values[8:]
	}
	if len(values) > 0 {
		last := byte(0)
		for i, v := range values {
			last |= v << i
		}
		dst = append(dst, last)
	}
	return dst
}
