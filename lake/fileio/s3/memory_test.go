package s3_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/s3"
)

func clientWith(t testing.TB, endpoint string, buffers *s3.Buffers) *s3.Client {
	t.Helper()
	c, err := s3.NewClient(t.Context(), s3.Config{Endpoint: endpoint, Keys: keys}, buffers)
	require.NoError(t, err)
	return c
}

// A gigabyte in one file takes no more than the memory of uploads.
func TestGigabyte(t *testing.T) {
	server := theServer(t)
	buffers := s3.NewBuffers(s3.UploadMemory)
	s := newStore(t, clientWith(t, server.Endpoint, buffers), "s3://"+server.Bucket(t))
	w, err := s.Create(t.Context(), "data.parquet")
	require.NoError(t, err)
	block := bytes.Repeat([]byte("tributary "), 100_003)
	const size = 1_000_000_000
	for left := size; left > 0; left -= len(block) {
		_, err := w.Write(block[:min(left, len(block))])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	info, err := s.Stat(t.Context(), "data.parquet")
	require.NoError(t, err)
	require.Equal(t, int64(size), info.Size)
	require.LessOrEqual(t, buffers.Most(), int64(64<<20))
	require.Zero(t, buffers.Out())
}

// More files are open than memory holds parts of: those that find none wait on the local disk, none waits for ever, and all come
// out whole.
func TestManyOpenFiles(t *testing.T) {
	server := theServer(t)
	buffers := s3.NewBuffers(4 << 20)
	s := newStore(t, clientWith(t, server.Endpoint, buffers), "s3://"+server.Bucket(t))
	const files = 24
	var writers [files]fileio.Writer
	for i := range writers {
		var err error
		writers[i], err = s.Create(t.Context(), fmt.Sprintf("p=%d/f", i))
		require.NoError(t, err)
	}
	// Rows come to the files by turns; every eighth file grows beyond a part.
	sums := [files]string{}
	contents := [files]bytes.Buffer{}
	for round := range 20 {
		for i, w := range writers {
			piece := bytes.Repeat([]byte{byte(round), byte(i)}, 30_001)
			if i%8 == 0 {
				piece = bytes.Repeat(piece, 8)
			}
			_, err := w.Write(piece)
			require.NoError(t, err)
			contents[i].Write(piece)
		}
	}
	for i, w := range writers {
		if i%5 == 4 {
			require.NoError(t, w.Abort())
			continue
		}
		require.NoError(t, w.Close())
		sums[i] = fmt.Sprintf("%x", sha256.Sum256(contents[i].Bytes()))
	}
	for i := range writers {
		if i%5 == 4 {
			continue
		}
		data, err := fileio.ReadFile(t.Context(), s, fmt.Sprintf("p=%d/f", i), 1<<30)
		require.NoError(t, err)
		require.Equal(t, sums[i], fmt.Sprintf("%x", sha256.Sum256(data)))
	}
	require.Len(t, list(t, s, ""), files-files/5)
	require.Equal(t, int64(4<<20), buffers.Most())
	require.Zero(t, buffers.Out())
}

// A large file that must be the first of its name is sent in parts where the store keeps the condition there too.
func TestLargeExclusive(t *testing.T) {
	server := theServer(t)
	s := newStore(t, newClient(t, server.Endpoint), "s3://"+server.Bucket(t))
	data := bytes.Repeat([]byte("0123456789abcdef"), 4<<20+1)
	require.NoError(t, s.CreateExclusive(t.Context(), "plan", data))
	require.NoError(t, s.CreateExclusive(t.Context(), "plan", data))
	data[len(data)-1] = 'x'
	require.ErrorIs(t, s.CreateExclusive(t.Context(), "plan", data), fileio.ErrExist)
	r, err := s.Open(t.Context(), "plan")
	require.NoError(t, err)
	last := make([]byte, 1)
	_, err = r.ReadAt(last, r.Size()-1)
	require.NotErrorIs(t, err, io.EOF)
	require.Equal(t, "f", string(last))
	require.Equal(t, []string{"plan"}, list(t, s, ""))
}
