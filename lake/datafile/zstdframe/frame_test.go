package zstdframe_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/datafile/zstdframe"
)

// decoder checks frames with klauspost's decoder.
func decoder(t testing.TB) *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// pages are of many kinds, with sizes around those of blocks.
func pages() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(n int, f func(b []byte) []byte) []byte {
		var b []byte
		for len(b) < n {
			b = f(b)
		}
		return b[:n]
	}
	out := map[string][]byte{}
	for _, n := range []int{256, 257, 1000, 128<<10 - 1, 128 << 10, 128<<10 + 1, 128<<10 + 300, 400 << 10, 1 << 20} {
		out[fmt.Sprint("zeros ", n)] = make([]byte, n)
		out[fmt.Sprint("noise ", n)] = fill(n, func(b []byte) []byte { return binary.LittleEndian.AppendUint64(b, r.Uint64()) })
		out[fmt.Sprint("few letters ", n)] = fill(n, func(b []byte) []byte { return append(b, "abcd"[r.IntN(4)]) })
		out[fmt.Sprint("skewed ", n)] = fill(n, func(b []byte) []byte { return append(b, byte(r.ExpFloat64()*3)) })
		k := uint64(0)
		out[fmt.Sprint("hexadecimal ", n)] = fill(n, func(b []byte) []byte { k++; return fmt.Appendf(b, "%x....", k*0x9E3779B97F4A7C15) })
		i := 0
		out[fmt.Sprint("counter ", n)] = fill(n, func(b []byte) []byte { i += 4; return binary.LittleEndian.AppendUint64(b, uint64(i)) })
		out[fmt.Sprint("records ", n)] = fill(n, func(b []byte) []byte {
			s := fmt.Sprintf(`{"k":"%08x","n":%d,"tags":["x","y"]}`, r.Uint32(), r.IntN(1000))
			return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
		})
		out[fmt.Sprint("twice ", n)] = fill(n, func(b []byte) []byte {
			var half [16]byte
			binary.LittleEndian.PutUint64(half[:], r.Uint64())
			binary.LittleEndian.PutUint64(half[8:], r.Uint64())
			return append(append(b, half[:]...), half[:]...)
		})
		out[fmt.Sprint("far repeats ", n)] = fill(n, func(b []byte) []byte {
			if from := r.IntN(len(b) + 1); len(b) > 1000 && from < len(b)-100 {
				return append(b, b[from:from+r.IntN(100)]...)
			}
			return binary.LittleEndian.AppendUint64(b, r.Uint64())
		})
		out[fmt.Sprint("long runs ", n)] = fill(n, func(b []byte) []byte {
			return append(b, bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(70_000))...)
		})
	}
	return out
}

// TestFrames has another decoder read what both ways of compressing make, from one encoder one after the other.
func TestFrames(t *testing.T) {
	d := decoder(t)
	var e zstdframe.Encoder
	for name, page := range pages() {
		for way, encode := range map[string]func(dst, src []byte) []byte{"matches": e.Matches, "literals": e.Literals} {
			before := []byte("before")
			frame := encode(before, page)
			require.Equal(t, "before", string(frame[:6]))
			got, err := d.DecodeAll(frame[6:], nil)
			require.NoError(t, err, "%s, %s", name, way)
			require.True(t, bytes.Equal(page, got), "%s, %s", name, way)
			require.LessOrEqual(t, len(frame)-6, len(page)+12+3*(len(page)/(128<<10)), "%s, %s", name, way)
		}
	}
}

// skewed is n bytes of which small ones are frequent.
func skewed(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(1 + r.IntN(1+r.IntN(256))))
	}
	return b
}

func TestLiterals_IsZstd(t *testing.T) {
	dec := decoder(t)
	r := rand.New(rand.NewPCG(1, 2))
	var e zstdframe.Encoder
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
			frame = e.Literals(append(frame[:0], "before"...), src)
			got, err := dec.DecodeAll(frame[len("before"):], nil)
			require.NoError(t, err, "%s of %d", what, n)
			require.True(t, bytes.Equal(src, got), "%s of %d", what, n)
			require.LessOrEqual(t, len(frame), n+6+9+3*(1+n/(128<<10)))
			if what == "skewed" && n > 1000 {
				require.Less(t, len(frame), n*9/10)
			}
		}
	}
}

// TestRatio holds the search against zstd's fastest level as another encoder has it, on values that repeat.
func TestRatio(t *testing.T) {
	other, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	require.NoError(t, err)
	defer other.Close()
	var e zstdframe.Encoder
	for name, page := range pages() {
		if !strings.HasPrefix(name, "records") && !strings.HasPrefix(name, "hexadecimal") && !strings.HasPrefix(name, "twice") && !strings.HasPrefix(name, "counter") || len(page) < 10_000 {
			continue
		}
		ours, theirs := len(e.Matches(nil, page)), len(other.EncodeAll(page, nil))
		require.Less(t, float64(ours), 1.1*float64(theirs)+100, "%s: %d and %d bytes of %d", name, ours, theirs, len(page))
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("abcdabcd"), uint16(300), uint8(3))
	f.Add([]byte{0, 1, 2, 3, 0, 1, 2, 4}, uint16(9), uint8(77))
	var e zstdframe.Encoder
	f.Fuzz(func(t *testing.T, seed []byte, times uint16, salt uint8) {
		var page []byte
		for i := range int(times) {
			page = append(page, seed...)
			page = append(page, byte(i)*salt)
			if len(page) > 300<<10 {
				break
			}
		}
		if len(page) < zstdframe.Least {
			return
		}
		d := decoder(t)
		for _, frame := range [][]byte{e.Matches(nil, page), e.Literals(nil, page)} {
			got, err := d.DecodeAll(frame, nil)
			require.NoError(t, err)
			require.True(t, bytes.Equal(page, got))
		}
	})
}

func BenchmarkMatches(b *testing.B) {
	var e zstdframe.Encoder
	for name, page := range pages() {
		if len(page) != 1<<20 {
			continue
		}
		b.Run(strings.Fields(name)[0], func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			dst := e.Matches(nil, page)
			for b.Loop() {
				dst = e.Matches(dst[:0], page)
			}
			b.ReportMetric(float64(len(dst))/float64(len(page)), "ratio")
		})
	}
}
