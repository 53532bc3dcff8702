package filereader

import (
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
)

// The first case is the example of Parquet's Encodings.md, the numbers 0 to 7 in 3 bits; the others put runs around it.
func TestDecodeHybrid(t *testing.T) {
	packed := []byte{0x03, 0x88, 0xC6, 0xFA}
	counting := []uint32{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		src  []byte
		want []uint32
	}{
		{packed, counting},
		{packed, counting[:5]},
		{append(packed[:4:4], 0x04, 0x02), append(counting[:8:8], 2, 2)}, // a run that is shorter than another group
		{append([]byte{0x06, 0x05}, packed...), append([]uint32{5, 5, 5}, counting...)},
		{packed[:3], counting[:5]}, // without its padding
	} {
		got, err := decodeHybrid(nil, c.src, 3, len(c.want))
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for _, src := range [][]byte{{}, {0x80}, {0x02}, {0x01}, {0x03}, packed[:2]} {
		_, err := decodeHybrid(nil, src, 3, 8)
		require.ErrorIs(t, err, ErrCorrupt, "%v", src)
	}
	_, err := decodeHybrid(nil, packed, 33, 1)
	require.ErrorIs(t, err, ErrCorrupt)
}

// Some writers compress nothing where a page of version 2 has no values, instead of an empty frame.
func TestPageWithoutValues(t *testing.T) {
	for _, codec := range []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Lz4Raw, format.Brotli} {
		r := newChunkReader(fileColumn{physical: format.Int32, maxDef: 1, typ: schema.Of(schema.Int)}, 1<<20, nil)
		r.rows, r.codec, r.raw = 3, codec, []byte{0x06, 0x00} // three times level 0
		require.NoError(t, r.dataV2(&format.PageHeader{
			UncompressedPageSize: 2,
			DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
				NumValues: 3, NumNulls: 3, NumRows: 3, Encoding: format.Plain, DefinitionLevelsByteLength: 2, IsCompressed: thrift.New(true),
			}),
		}))
		require.Equal(t, []uint32{0, 0, 0}, r.levels)
		require.Zero(t, r.values.Len())
	}
}
