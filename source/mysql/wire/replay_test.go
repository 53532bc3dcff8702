package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
)

// recording is what a server sent for a whole read of one table, from the answer to prepare to the last packet. The
// tests of source/mysql make the files of testdata.
type recording struct {
	Read          source.Read
	DeprecateEOF  bool
	CacheMetadata bool
	Rows          int
	Packets       []byte
}

// replay is a connection on which a recorded server answers, whatever is sent.
type replay struct{ *bytes.Reader }

func (replay) Write(b []byte) (int, error) { return len(b), nil }

// run reads the recording as if from a server.
func (r *recording) run(rows, size int, emit func(*row.Batch) error) (source.ReadStats, error) {
	stats, _, err := NewReader(replay{bytes.NewReader(r.Packets)}, r.features()).Read(r.request(rows, size, emit))
	return stats, err
}

func (r *recording) features() Features {
	return Features{DeprecateEOF: r.DeprecateEOF, CacheMetadata: r.CacheMetadata}
}

func (r *recording) request(rows, size int, emit func(*row.Batch) error) Request {
	return Request{
		Shard: r.Read.Shard, Outputs: r.Read.Outputs, BatchRows: rows, BatchBytes: size,
		Swap: func(b *row.Batch) (*row.Batch, error) { return b, emit(b) },
	}
}

// recorded loads a recording.
func recorded(tb testing.TB, name string) *recording {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".gz"))
	require.NoError(tb, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(tb, err)
	raw, err := io.ReadAll(z)
	require.NoError(tb, err)
	r := &recording{}
	require.NoError(tb, json.Unmarshal(raw, r))
	return r
}

// TestRecordings checks that the recordings are there and whole.
func TestRecordings(t *testing.T) {
	for name, rows := range map[string]int{"narrow": 4096, "wide": 1024} {
		r := recorded(t, name)
		require.Equal(t, rows, r.Rows)
		stats, err := r.run(100, 1<<20, func(*row.Batch) error { return nil })
		require.NoError(t, err)
		require.EqualValues(t, rows, stats.Rows)
	}
}

// BenchmarkDecode reads recorded packets into batches: what a row costs this process beside the system calls.
func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"narrow", "wide"} {
		b.Run(name, func(b *testing.B) {
			r := recorded(b, name)
			// One stream for all: what is made once for a read is not what is measured.
			replay := replay{bytes.NewReader(nil)}
			st := &stream{Request: r.request(4096, 1<<20, func(*row.Batch) error { return nil })}
			s := &statement{packets: newPackets(replay), Features: r.features()}
			replay.Reset(r.Packets)
			_, err := st.run(s)
			require.NoError(b, err)
			head := headLength(b, r)
			b.ReportAllocs()
			b.SetBytes(int64(len(r.Packets)))
			b.ResetTimer()
			before := cpuTime(b)
			for range b.N {
				replay.Reset(r.Packets[head:])
				s.packets.sequence = r.Packets[head+3]
				if err := st.rows(s.packets); err != nil {
					b.Fatal(err)
				}
			}
			// Time of the processor, as other programs may share it.
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(b.N)/float64(r.Rows), "cpu-ns/row")
		})
	}
}

// cpuTime is what this process has used of the processor.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// headLength is where the rows of a recording begin.
func headLength(tb testing.TB, r *recording) int {
	tb.Helper()
	replay := replay{bytes.NewReader(r.Packets)}
	s := &statement{packets: newPackets(replay), Features: r.features()}
	require.NoError(tb, s.prepare(""))
	_, err := s.execute()
	require.NoError(tb, err)
	return len(r.Packets) - replay.Len() - (s.packets.to - s.packets.from)
}
