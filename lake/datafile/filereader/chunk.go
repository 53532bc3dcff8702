package filereader

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"github.com/tributary-lake/tributary/lake/row"
)

const (
	// chunkBuffer is how much of a column chunk is read at a time.
	chunkBuffer = 1 << 20
	// headerBytes bounds a page header, whose statistics may hold long strings.
	headerBytes = 1 << 20
	// maxPageValues bounds the values of a page, which may take no bytes at all.
	maxPageValues = 1 << 24
)

// plainDictionary is what pages of version 1 call indices of a dictionary, and some writers the dictionary itself.
const plainDictionary = format.PlainDictionary //nolint:staticcheck // deprecated, and what Paimon writes

// chunkReader reads the pages of one column chunk after another into a vector without nulls.
type chunkReader struct {
	column fileColumn
	limit  int // of a page's bytes
	zstd   *zstd.Decoder

	in      *bufio.Reader
	codec   format.CompressionCodec
	left    int64 // bytes of the chunk
	rows    int64 // entries of the chunk, not yet decoded: rows, but for repeated fields
	dict    row.Vector
	hasDict bool

	raw, page []byte
	indices   []uint32
	deltas    []uint64
	plain     []byte

	// The page decoded last: its values without nulls, and definition and repetition level of each entry. No levels: all
	// values are there; no repetition levels: all are 0.
	values       row.Vector
	levels, reps []uint32
	count        int // entries of the page
	// What has been taken from it.
	row, value int
}

func newChunkReader(c fileColumn, limit int, dec *zstd.Decoder) *chunkReader {
	return &chunkReader{column: c, limit: limit, zstd: dec, values: row.NewVector(c.typ), dict: row.NewVector(c.typ)}
}

// open begins a chunk that lies at the given place of the file.
func (r *chunkReader) open(file io.ReaderAt, meta *format.ColumnMetaData, offset int64, rows int64) {
	section := io.NewSectionReader(file, offset, meta.TotalCompressedSize)
	if size := int(min(meta.TotalCompressedSize, chunkBuffer)); r.in == nil || r.in.Size() < size {
		r.in = bufio.NewReaderSize(section, max(size, 16))
	} else {
		r.in.Reset(section)
	}
	r.codec, r.left, r.rows = meta.Codec, meta.TotalCompressedSize, rows
	r.hasDict = false
	r.count, r.row, r.value = 0, 0, 0
}

// next decodes the next page that has rows. It fails where the chunk has none.
func (r *chunkReader) next() error {
	for {
		h, err := r.header()
		if err != nil {
			return err
		}
		if err := r.load(&h); err != nil {
			return err
		}
		switch {
		case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
			err = r.dictionary(&h)
		case h.Type == format.DataPage && h.DataPageHeader.Valid:
			err = r.dataV1(&h)
		case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
			err = r.dataV2(&h)
		default:
			continue // an index page, or one of a kind yet unknown
		}
		if err != nil {
			return err
		}
		if r.count > 0 && r.row == 0 {
			r.rows -= int64(r.count)
			return nil
		}
	}
}

func (r *chunkReader) header() (format.PageHeader, error) {
	var h format.PageHeader
	for size := min(512, r.in.Size()); ; size = min(2*size, r.in.Size()) {
		data, err := r.in.Peek(size)
		if err != nil && !errors.Is(err, io.EOF) {
			return h, fmt.Errorf("read page header: %w", err)
		}
		n, bad := readStruct(data, &h)
		if bad == nil {
			r.left -= int64(n)
			_, err = r.in.Discard(n)
			return h, err
		}
		if len(data) < size || size >= headerBytes || size == r.in.Size() {
			return h, fmt.Errorf("page header: %w", bad)
		}
	}
}

// load reads a page's bytes and checks them.
func (r *chunkReader) load(h *format.PageHeader) error {
	size, raw := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if size < 0 || size > r.left || raw < 0 || raw > int64(r.limit) {
		return fmt.Errorf("%w: a page of %d bytes, %d unpacked, with %d left in its column", ErrCorrupt, size, raw, r.left)
	}
	r.left -= size
	if int64(cap(r.raw)) < size {
		r.raw = make([]byte, size)
	}
	r.raw = r.raw[:size]
	if _, err := io.ReadFull(r.in, r.raw); err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	if h.CRC != 0 && uint32(h.CRC) != crc32.ChecksumIEEE(r.raw) {
		return fmt.Errorf("%w: a page's checksum does not match", ErrCorrupt)
	}
	return nil
}

// unpack decompresses into a buffer that lasts until the next page.
func (r *chunkReader) unpack(src []byte, size int) ([]byte, error) {
	if size == 0 && len(src) == 0 { // values that are all null: some writers do not compress nothing
		return nil, nil
	}
	if r.codec != format.Uncompressed && cap(r.page) < size {
		r.page = make([]byte, size)
	}
	if r.codec == format.Uncompressed {
		if len(src) != size {
			return nil, fmt.Errorf("%w: a page has %d bytes and not %d", ErrCorrupt, len(src), size)
		}
		return src, nil
	}
	return decompress(r.codec, r.zstd, r.page[:size], src)
}

func (r *chunkReader) dictionary(h *format.PageHeader) error {
	d := h.DictionaryPageHeader.V
	if e := d.Encoding; e != format.Plain && e != plainDictionary {
		return fmt.Errorf("%w: encoding %s of a dictionary", ErrUnsupported, e)
	}
	if d.NumValues < 0 || d.NumValues > maxPageValues {
		return fmt.Errorf("%w: a dictionary of %d values", ErrCorrupt, d.NumValues)
	}
	page, err := r.unpack(r.raw, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	r.dict.Reset()
	r.hasDict = true
	return r.column.decodePlain(&r.dict, page, int(d.NumValues))
}

// begin starts a page of n entries.
func (r *chunkReader) begin(n int32) error {
	if n < 0 || int64(n) > r.rows || n > maxPageValues {
		return fmt.Errorf("%w: a page of %d rows with %d left", ErrCorrupt, n, r.rows)
	}
	r.values.Reset()
	r.levels, r.reps = r.levels[:0], r.reps[:0]
	r.count, r.row, r.value = int(n), 0, 0
	return nil
}

func (r *chunkReader) dataV1(h *format.PageHeader) error {
	d := h.DataPageHeader.V
	if err := r.begin(d.NumValues); err != nil {
		return err
	}
	page, err := r.unpack(r.raw, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	if r.column.maxRep > 0 {
		levels, rest, err := levelsOf(page, d.RepetitionLevelEncoding)
		if err != nil {
			return fmt.Errorf("repetition %w", err)
		}
		if err := r.readReps(levels); err != nil {
			return err
		}
		page = rest
	}
	if r.column.maxDef == 0 {
		return r.decode(page, d.Encoding, r.count)
	}
	levels, page, err := levelsOf(page, d.DefinitionLevelEncoding)
	if err != nil {
		return fmt.Errorf("definition %w", err)
	}
	n, err := r.readLevels(levels)
	if err != nil {
		return err
	}
	return r.decode(page, d.Encoding, n)
}

// levelsOf splits a page behind its levels, which have their size in front.
func levelsOf(page []byte, e format.Encoding) (levels, rest []byte, err error) {
	if e != format.RLE {
		return nil, nil, fmt.Errorf("levels: %w: encoding %s", ErrUnsupported, e)
	}
	if len(page) < 4 {
		return nil, nil, fmt.Errorf("levels: %w: a page without them", ErrCorrupt)
	}
	size := binary.LittleEndian.Uint32(page)
	page = page[4:]
	if uint64(size) > uint64(len(page)) {
		return nil, nil, fmt.Errorf("levels: %w: %d bytes of them in %d", ErrCorrupt, size, len(page))
	}
	return page[:size], page[size:], nil
}

func (r *chunkReader) dataV2(h *format.PageHeader) error {
	d := h.DataPageHeaderV2.V
	if err := r.begin(d.NumValues); err != nil {
		return err
	}
	levels, repeats := d.DefinitionLevelsByteLength, d.RepetitionLevelsByteLength
	// Each is checked by itself first, so that the sum cannot overflow.
	if levels < 0 || repeats < 0 || int64(levels)+int64(repeats) > int64(min(len(r.raw), int(h.UncompressedPageSize))) {
		return fmt.Errorf("%w: levels of %d and %d bytes in a page of %d", ErrCorrupt, repeats, levels, len(r.raw))
	}
	page := r.raw[levels+repeats:]
	var err error
	if !d.IsCompressed.Valid || d.IsCompressed.V {
		if page, err = r.unpack(page, int(h.UncompressedPageSize-levels-repeats)); err != nil {
			return err
		}
	}
	n := r.count
	if r.column.maxRep > 0 {
		if err = r.readReps(r.raw[:repeats]); err != nil {
			return err
		}
	}
	if r.column.maxDef > 0 {
		if n, err = r.readLevels(r.raw[repeats : repeats+levels]); err != nil {
			return err
		}
	}
	return r.decode(page, d.Encoding, n)
}

// readLevels reads the definition levels of the page and returns how many values are not null.
func (r *chunkReader) readLevels(src []byte) (int, error) {
	most := uint32(r.column.maxDef)
	var err error
	if r.levels, err = decodeHybrid(r.levels, src, bits.Len32(most), r.count); err != nil {
		return 0, fmt.Errorf("definition levels: %w", err)
	}
	n := 0
	for _, l := range r.levels {
		if l >= most {
			if l > most {
				return 0, fmt.Errorf("%w: definition level %d of %d", ErrCorrupt, l, most)
			}
			n++
		}
	}
	if n == r.count {
		r.levels = r.levels[:0]
	}
	return n, nil
}

// readReps reads the repetition levels of the page.
func (r *chunkReader) readReps(src []byte) error {
	most := uint32(r.column.maxRep)
	var err error
	if r.reps, err = decodeHybrid(r.reps, src, bits.Len32(most), r.count); err != nil {
		return fmt.Errorf("repetition levels: %w", err)
	}
	for _, l := range r.reps {
		if l > most {
			return fmt.Errorf("%w: repetition level %d of %d", ErrCorrupt, l, most)
		}
	}
	return nil
}

// decode reads the n values of a page.
func (r *chunkReader) decode(src []byte, e format.Encoding, n int) error {
	p := r.column.physical
	integers, arrays := p == format.Int32 || p == format.Int64, p == format.ByteArray || p == format.FixedLenByteArray
	switch {
	case e == format.Plain:
		return r.column.decodePlain(&r.values, src, n)
	case n == 0:
		return nil
	case e == plainDictionary || e == format.RLEDictionary:
		return r.decodeIndices(src, n)
	case e == format.RLE && p == format.Boolean:
		return r.decodeBooleans(src, n)
	case e == format.DeltaBinaryPacked && integers:
		return r.decodeDeltas(src, n)
	case e == format.DeltaLengthByteArray && p == format.ByteArray:
		return r.decodeLengths(src, n)
	case e == format.DeltaByteArray && arrays:
		return r.decodePrefixes(src, n)
	case e == format.ByteStreamSplit && p != format.Boolean && p != format.ByteArray && p != format.Int96:
		return r.decodeSplit(src, n)
	}
	return fmt.Errorf("%w: encoding %s of values of type %s", ErrUnsupported, e, p)
}

func (r *chunkReader) decodeIndices(src []byte, n int) error {
	if !r.hasDict || len(src) == 0 {
		return fmt.Errorf("%w: a page without its dictionary", ErrCorrupt)
	}
	var err error
	if r.indices, err = decodeHybrid(r.indices[:0], src[1:], int(src[0]), n); err != nil {
		return fmt.Errorf("dictionary indices: %w", err)
	}
	return gather(&r.values, &r.dict, r.indices, r.limit)
}

func (r *chunkReader) decodeBooleans(src []byte, n int) error {
	if len(src) < 4 {
		return fmt.Errorf("%w: booleans without their length", ErrCorrupt)
	}
	var err error
	if r.indices, err = decodeHybrid(r.indices[:0], src[4:], 1, n); err != nil {
		return fmt.Errorf("booleans: %w", err)
	}
	for _, b := range r.indices {
		r.values.I32 = append(r.values.I32, int32(b))
	}
	return nil
}
