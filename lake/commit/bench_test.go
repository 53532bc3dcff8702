package commit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// diskBed is a table on disk.
type diskBed struct {
	*bed
	root string
}

func newDiskBed(b *testing.B) *diskBed {
	b.Helper()
	root := b.TempDir()
	store, err := fileio.NewLocal(root)
	require.NoError(b, err)
	require.NoError(b, os.MkdirAll(filepath.Join(root, tablePath, "bucket-0"), 0o755))
	return &diskBed{newBed(b, store, nil), root}
}

// many writes n data files, not flushed as the store would, and returns them as messages of a hundred files, as so many
// splits would leave them.
func (b *diskBed) many(tb testing.TB, prefix string, n int) []*message.Commit {
	tb.Helper()
	var messages []*message.Commit
	for i := range n {
		name := fmt.Sprintf("%s-%s-%d.parquet", prefix, uuid.NewString(), i)
		require.NoError(tb, os.WriteFile(filepath.Join(b.root, tablePath, "bucket-0", name), []byte("data"), 0o644))
		m := described(name, 4, 3)
		if i%100 == 0 {
			messages = append(messages, m)
			continue
		}
		last := messages[len(messages)-1]
		last.Data.NewFiles = append(last.Data.NewFiles, m.Data.NewFiles...)
	}
	return messages
}

// A commit of many files in one snapshot.
func BenchmarkCommitOfManyFiles(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bed := newDiskBed(b)
			messages := bed.many(b, "f", n)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				req := bed.request(snapshot.Overwrite, int64(i), messages...)
				latest, err := bed.snapshots.LatestID(b.Context())
				require.NoError(b, err)
				req.Base = latest
				_, err = bed.Publish(b.Context(), req)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
		})
	}
}

// One small commit on a table that has many files, after so many small commits: the manifests that they left are merged on
// the way, and the next commit is not slower.
func BenchmarkSmallCommitOnManyFiles(b *testing.B) {
	for _, before := range []int{1, 1_000} {
		b.Run(fmt.Sprintf("after-%d", before), func(b *testing.B) {
			bed := newDiskBed(b)
			first := bed.request(snapshot.Append, 0, bed.many(b, "f", 100_000)...)
			bed.publish(b, first)
			n := 0
			small := func() {
				n++
				req := bed.request(snapshot.Append, int64(n), bed.many(b, "g", 1)...)
				req.Base = snapshot.ID(n)
				bed.publish(b, req)
			}
			for range before {
				small()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				small()
			}
			b.StopTimer()
			latest, err := bed.snapshots.Latest(b.Context())
			require.NoError(b, err)
			metas, err := manifestsOf(b.Context(), bed.manifests, latest)
			require.NoError(b, err)
			b.ReportMetric(float64(len(metas)), "manifests")
		})
	}
}
