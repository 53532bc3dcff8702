package datafile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// skewed is n bytes of which small ones are frequent.
func skewed(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(1 + r.IntN(1+r.IntN(256))))
	}
	return b
}

func TestAppendLiterals_IsZstd(t *testing.T) {
	dec, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer dec.Close()
	r := rand.New(rand.NewPCG(1, 2))
	var s huff0.Scratch
	var frame []byte
	for _, n := range []int{256, 257, 1000, 1023, 1024, 16383, 16384, 65535, 65536, 131071, 131072, 131073, 131200, 131328, 262144, 1 << 20} {
		random := make([]byte, n)
		for i := range random {
			random[i] = byte(r.Uint32())
		}
		half := append(skewed(r, n/2), random[n/2:]...)
		two := bytes.Repeat([]byte{0, 1}, n)[:n]
		for what, src := range map[string][]byte{
			"skewed": skewed(r, n), "random": random, "zeros": make([]byte, n), "half": half, "two": two,
		} {
			frame = appendLiterals(append(frame[:0], "before"...), src, &s)
			got, err := dec.DecodeAll(frame[len("before"):], nil)
			require.NoError(t, err, "%s of %d", what, n)
			require.True(t, bytes.Equal(src, got), "%s of %d", what, n)
			require.LessOrEqual(t, len(frame), n+6+9+3*(1+n/literalsBlock))
			if what == "skewed" && n > 1000 {
				require.Less(t, len(frame), n*9/10)
			}
		}
	}
}

func TestCodec_FollowsWhatPagesAreLike(t *testing.T) {
	dec, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer dec.Close()
	r := rand.New(rand.NewPCG(3, 4))
	c, err := NewCodec("zstd", 1)
	require.NoError(t, err)
	numbers := skewed(r, 100_000)
	repeats := bytes.Repeat(skewed(r, 500), 200)
	var bufs [2][]byte
	var p packing
	pack := func(page []byte) int {
		packed, err := c.pack(&bufs, page, &p)
		require.NoError(t, err)
		got, err := dec.DecodeAll(packed, nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(page, got))
		return len(packed)
	}
	pack(numbers)
	require.True(t, p.decided && p.literals)
	pack(numbers[:50_000])
	require.True(t, p.literals)
	require.Less(t, pack(bytes.Repeat([]byte("same"), 25_000)), 1000, "pages that change their ways are compressed anew")
	p = packing{}
	require.Less(t, pack(repeats), 5000)
	require.True(t, p.decided && !p.literals)
	p = packing{}
	pack(numbers[:100])
	require.False(t, p.decided, "a short page says little")
}

// Paimon's own files of the same codecs are read by the same code (TestReader_PaimonNestedFiles).
func TestCodecs_AreReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	random := make([]byte, 700_000) // more than Hadoop's LZ4 takes in one piece, and incompressible
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	fields := fieldsOf(false, schema.BytesType())
	columns := [][]row.Value{{{B: random}, row.NullValue(), {B: skewed(r, 300_000)}, {B: []byte{1}}, {B: make([]byte, 1<<20)}}}
	for _, name := range []string{"zstd", "snappy", "gzip", "lz4", "lz4_raw", "none"} {
		codec, err := NewCodec(name, 1)
		require.NoError(t, err)
		data, _ := write(t, fields, columns, Options{Codec: codec}, 2)
		requireReader(t, data, fields, columns)
	}
}
