package activities_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
)

func checksums(t *testTable) { t.Checksums = true }

// By default nothing is read again; with checksums every data file is, before its unit is claimed.
func TestChecksumsReadEveryFileAgain(t *testing.T) {
	for name, job := range map[string]testJob{"counts": orders(), "checksums": orders(checksums)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.begin(job, "r1")
			opened := map[string]bool{}
			p := w.faulty(func(op faultio.Op) faultio.Fault {
				if op.Kind == faultio.Open && strings.Contains(op.Path, "/bucket-") {
					opened[op.Path] = true
				}
				return faultio.None
			})
			for unit := range 6 {
				_, err := call(t.Context(), p.write, unitOf("r1", unit))
				require.NoError(t, err)
			}
			require.Len(t, opened, map[string]int{"counts": 0, "checksums": 6}[name])
			w.commitRun("r1")
			require.ElementsMatch(t, w.source().lines(), w.rows())
		})
	}
}

// rotten changes a byte of every data file on its way to the disk.
type rotten struct{ fileio.Store }

func (r rotten) Create(ctx context.Context, p string) (fileio.Writer, error) {
	w, err := r.Store.Create(ctx, p)
	return &rottenWriter{Writer: w}, err
}

type rottenWriter struct {
	fileio.Writer
	at int
}

func (w *rottenWriter) Write(p []byte) (int, error) {
	const victim = 40 // within the first page
	if i := victim - w.at; i >= 0 && i < len(p) {
		p = append([]byte(nil), p...)
		p[i] ^= 0x10
	}
	w.at += len(p)
	return w.Writer.Write(p)
}

// What a disk did to a file is found before the unit is claimed, and the files are removed.
func TestChecksumsFindWhatADiskDid(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(checksums), "r1")
	p := w.with(func(s fileio.Store) fileio.Store { return s })
	p.warehouse = rotten{w.warehouse}
	_, err := call(t.Context(), p.write, unitOf("r1", 0))
	require.ErrorContains(t, err, "one/shop/a, split 0")
	require.False(t, exists(t, w.staging, ledgerFile("r1", "splits", "000000")))
	require.Empty(t, w.dataFiles())
}

// replaced puts other files of the same sizes in the place of those that are written.
type replaced struct {
	fileio.Store
	with [][]byte
}

func (r *replaced) Create(ctx context.Context, p string) (fileio.Writer, error) {
	w, err := r.Store.Create(ctx, p)
	if !strings.Contains(p, "/bucket-") {
		return w, err
	}
	out := &replacedWriter{Writer: w, with: r.with[0]}
	r.with = r.with[1:]
	return out, err
}

type replacedWriter struct {
	fileio.Writer
	with []byte
}

func (w *replacedWriter) Write(p []byte) (int, error) { return len(p), nil }

func (w *replacedWriter) Close() error {
	if _, err := w.Writer.Write(w.with); err != nil {
		return err
	}
	return w.Writer.Close()
}

// A row that a merge put in place of another changes no count and no size: the checksums find it before the commit, and only they do.
func TestChecksumsFindWhatAMergeDid(t *testing.T) {
	plain := func(t *testTable) {
		t.PrimaryKey, t.Buckets, t.Options = []string{"id"}, "1", map[string]string{"file.compression": "none"}
	}
	other := newWorld(t)
	other.source().shards[0].ids[4] = 5
	other.load(orders(plain), "r1")
	for _, found := range []bool{false, true} {
		w := newWorld(t)
		job := orders(plain, func(t *testTable) { t.Checksums = found })
		for unit := range w.begin(job, "r1").Units {
			w.writeUnit("r1", unit)
		}
		_, err := call(t.Context(), w.planMerges, activities.PlanMergesInput{TableRun: part("r1")})
		require.NoError(t, err)
		var files [][]byte
		for _, f := range other.dataFiles() {
			data, err := fileio.ReadFile(t.Context(), other.warehouse, f, 1<<20)
			require.NoError(t, err)
			files = append(files, data)
		}
		p := w.with(func(s fileio.Store) fileio.Store { return s })
		p.warehouse = &replaced{w.warehouse, files}
		_, err = call(t.Context(), p.merge, activities.MergeInput{TableRun: part("r1")})
		require.NoError(t, err)
		if !found {
			w.commitRun("r1")
			require.Contains(t, w.rows(), "shop/a 5 n5", "which the source has not")
			continue
		}
		for _, err := range []error{w.verifyError("r1"), w.commitError("r1")} {
			refused(t, err, activities.TypeMismatch, "should have rows with checksum ")
		}
		require.Equal(t, activities.StateAborted, w.abortRun("r1", false).State)
		require.Empty(t, w.dataFiles())
	}
}

// Rows that lost to others, that are marked as deleted, that are in the table already and that are taken away are accounted for.
func TestChecksumsOfKeyTables(t *testing.T) {
	w := newWorld(t)
	w.run(orders(checksums, keyed("id"), marked("n1")), "r1")
	require.Len(t, w.rows(), 9)
	w.source().shards = append(w.source().shards, shard("c", 2, 5))
	for i, job := range []testJob{
		orders(checksums, keyed("id"), func(t *testTable) { t.LastWins = true }),
		orders(checksums, keyed("id"), appending, marked("n4"), func(t *testTable) { t.LastWins = true }),
		orders(checksums, keyed("id"), comparing, func(t *testTable) { t.LastWins = true }),
	} {
		r := w.run(job, fmt.Sprint("r2", i))
		require.NotZero(t, r.Collapsed)
	}
	require.Len(t, w.rows(), 12)
	w.source().shards = []memoryShard{shard("a", 3, 5), shard("b", 100, 5)}
	r := w.run(orders(checksums, keyed("id"), comparing), "r3")
	require.NotZero(t, r.Written)
	require.ElementsMatch(t, w.source().lines(), w.rows())
	w.tidy()

	w.begin(orders(checksums, keyed("id"), marked("n4")), "r4")
	require.True(t, w.planOf("r4").Checksums)
	other := newWorld(t)
	job := orders(checksums, keyed("id"), func(t *testTable) { t.Options = map[string]string{"merge-engine": "first-row"} })
	_, err := call(t.Context(), other.prepare, activities.PrepareInput{Job: job.json(t), Run: "r1"})
	require.NoError(t, err)
	_, err = call(t.Context(), other.plan, activities.PlanInput{TableRun: part("r1")})
	refused(t, err, activities.TypePlanRefused, "checksums cannot be compared")
}
