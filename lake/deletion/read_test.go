package deletion

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
)

// golden is an index file of Paimon, and what its manifest says of it.
type golden struct {
	name string
	file manifest.IndexFile
	gone func(position int64) bool
}

func goldens() []golden {
	made := func(name string, size int64, length int32, count int64, gone func(int64) bool) golden {
		v := manifest.DeletionVector{DataFile: "data-0.parquet", Offset: 1, Length: length, Cardinality: &count}
		return golden{name, manifest.IndexFile{Type: IndexType, Name: name, Size: size, Rows: 1, DeletionVectors: []manifest.DeletionVector{v}}, gone}
	}
	many := func(p int64) bool {
		return p >= 100 && p < 1100 || p >= 1500 && p < 3000 && (p-1500)%7 == 0 || p == 2999
	}
	return []golden{
		made("pk_deletion_vectors.index", 33, 24, 2, func(p int64) bool { return p == 0 || p == 1 }),
		made("bitmap32.index", 888, 879, 1216, many),
		made("bitmap64.index", 900, 899, 1216, many),
	}
}

// forge makes a file of one vector with the given body and a checksum that matches.
func forge(g *golden, body []byte) []byte {
	data := binary.BigEndian.AppendUint32([]byte{version}, uint32(len(body)))
	data = append(data, body...)
	data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(body))
	v := &g.file.DeletionVectors[0]
	g.file.Size, v.Length, v.Cardinality = int64(len(data)), int32(len(body)), nil
	if bytes.HasPrefix(body, []byte{0xD1, 0xD3, 0x39, 0x64}) {
		v.Length += 8
	}
	return data
}

func TestRead_PaimonFiles(t *testing.T) {
	dir, err := filepath.Abs("testdata")
	require.NoError(t, err)
	store, err := fileio.NewLocal(dir)
	require.NoError(t, err)
	for _, g := range goldens() {
		vectors, err := Read(t.Context(), store, g.name, g.file)
		require.NoError(t, err)
		require.Len(t, vectors, 1)
		v := vectors["data-0.parquet"]
		require.Equal(t, *g.file.DeletionVectors[0].Cardinality, v.Count())
		for p := range int64(4000) {
			require.Equal(t, g.gone(p), v.Deleted(p), "%s: row %d", g.name, p)
		}
		require.False(t, v.Deleted(-1))
		for _, batch := range []struct {
			first int64
			n     int
		}{{0, 0}, {0, 1}, {0, 4000}, {50, 100}, {100, 1000}, {1099, 2}, {2990, 100}, {1 << 40, 5}} {
			want := []int32{}
			for i := range batch.n {
				if !g.gone(batch.first + int64(i)) {
					want = append(want, int32(i))
				}
			}
			require.Equal(t, want, v.Live([]int32{}, batch.first, batch.n), "%s: %v", g.name, batch)
		}
	}
}

func TestVector_Nil(t *testing.T) {
	var v *Vector
	require.False(t, v.Deleted(0))
	require.Zero(t, v.Count())
	require.Equal(t, []int32{9, 0, 1, 2}, v.Live([]int32{9}, 7, 3))
}

func TestRead_Refuses(t *testing.T) {
	dir, err := filepath.Abs("testdata")
	require.NoError(t, err)
	store, err := fileio.NewLocal(dir)
	require.NoError(t, err)
	g := goldens()[1]
	_, err = Read(t.Context(), store, "absent", g.file)
	require.ErrorIs(t, err, fileio.ErrNotExist)
	g.file.Type = "HASH"
	_, err = Read(t.Context(), store, g.name, g.file)
	require.ErrorContains(t, err, "HASH")

	for want, spoil := range map[string]func(*golden, []byte) []byte{
		"bytes and not":          func(_ *golden, b []byte) []byte { return b[:len(b)-1] },
		"version":                func(_ *golden, b []byte) []byte { b[0] = 2; return b },
		"outside":                func(g *golden, b []byte) []byte { g.file.DeletionVectors[0].Offset = int32(len(b) - 7); return b },
		"outside of":             func(g *golden, b []byte) []byte { g.file.DeletionVectors[0].Offset = -1; return b },
		"a length of":            func(_ *golden, b []byte) []byte { b[1] = 0x7F; return b },
		"a length of -":          func(_ *golden, b []byte) []byte { b[1] = 0xFF; return b },
		"checksum":               func(_ *golden, b []byte) []byte { b[100] ^= 1; return b },
		"and not 5":              func(g *golden, b []byte) []byte { g.file.DeletionVectors[0].Length = 5; return b },
		"1216 deleted rows":      func(g *golden, b []byte) []byte { n := int64(7); g.file.DeletionVectors[0].Cardinality = &n; return b },
		"two vectors":            func(g *golden, b []byte) []byte { v := &g.file.DeletionVectors; *v = append(*v, (*v)[0]); return b },
		"unknown magic number 0": func(g *golden, b []byte) []byte { return forge(g, make([]byte, 10)) },
		"bitmap":                 func(g *golden, b []byte) []byte { return forge(g, append([]byte{0x5e, 0x43, 0xf2, 0xd0}, b[9:40]...)) },
		"behind the bitmap": func(g *golden, b []byte) []byte {
			return forge(g, append(bytes.Clone(b[5:len(b)-4]), 0))
		},
	} {
		for _, which := range goldens()[1:] {
			data, err := os.ReadFile(filepath.Join("testdata", which.name))
			require.NoError(t, err)
			data = spoil(&which, data)
			_, err = parse(data, which.file)
			require.ErrorIs(t, err, ErrCorrupt, want)
			require.ErrorContains(t, err, want)
		}
	}
	_, err = parse(forge(&g, []byte{0xD1, 0xD3, 0x39, 0x64, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}), g.file)
	require.ErrorContains(t, err, "more bitmaps than bytes")
}

// FuzzRead gives any bytes as a vector whose checksum matches.
func FuzzRead(f *testing.F) {
	for _, g := range goldens() {
		data, err := os.ReadFile(filepath.Join("testdata", g.name))
		require.NoError(f, err)
		f.Add(data[5 : len(data)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		g := goldens()[0]
		vectors, err := parse(forge(&g, body), g.file)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		v := vectors["data-0.parquet"]
		gone := int64(0)
		for p := range int64(1000) {
			if v.Deleted(p) {
				gone++
			}
		}
		require.Len(t, v.Live(nil, 0, 1000), int(1000-gone))
		require.LessOrEqual(t, gone, v.Count())
	})
}
