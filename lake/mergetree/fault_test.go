package mergetree_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
)

func numbered(n int) string { return fmt.Sprintf("data-%d.parquet", n) }

// sortAndWrite sorts rows with spills in several passes and writes files of them, and cleans up as a caller does.
func sortAndWrite(ctx context.Context, spec *mergetree.Spec, store fileio.Store, batches []*row.Batch, codec *datafile.Codec) (n int, err error) {
	s, err := mergetree.NewSorter(spec, mergetree.SortOptions{Memory: 16 << 10, Store: store, Folder: "spill"})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	for _, b := range batches {
		if err := s.Write(ctx, b, nil); err != nil {
			return 0, err
		}
	}
	src, err := s.Sorted(ctx)
	if err != nil {
		return 0, err
	}
	w, err := mergetree.NewWriter(spec, mergetree.WriterOptions{
		File: datafile.Options{Codec: codec, PageRows: 400}, Store: store, Folder: "data", Name: numbered, TargetSize: 10 << 10,
	})
	if err != nil {
		return 0, errors.Join(err, src.Close())
	}
	if err := w.WriteAll(ctx, src); err != nil {
		return 0, errors.Join(err, w.Abort(ctx))
	}
	files, err := w.Close()
	if err != nil {
		return 0, errors.Join(err, w.Abort(ctx))
	}
	for _, f := range files {
		n += int(f.Rows)
	}
	return n, nil
}

// Every operation of the store, of writes some, fails once, before or after it was done: the error comes out, no file is left but, where only
// the removing failed, the runs that it was to remove.
func TestFaultsLeaveNoFiles(t *testing.T) {
	const rows = 1000
	batches := narrowBatches(rows)
	codec, err := datafile.NewCodec("zstd", 1)
	require.NoError(t, err)
	spec, err := mergetree.SpecOf(narrow("id"))
	require.NoError(t, err)
	var ops []faultio.Op
	n, err := sortAndWrite(t.Context(), spec, faultio.New(fileiotest.NewMemory(), func(op faultio.Op) faultio.Fault {
		ops = append(ops, op)
		return faultio.None
	}), batches, codec)
	require.NoError(t, err)
	require.Equal(t, rows, n)
	kinds := map[faultio.Kind]int{}
	for _, op := range ops {
		kinds[op.Kind]++
		if op.Kind == faultio.Write && kinds[op.Kind]%9 != 0 {
			continue
		}
		for _, fault := range []faultio.Fault{faultio.FailBefore, faultio.FailAfter} {
			memory := fileiotest.NewMemory()
			_, err := sortAndWrite(t.Context(), spec, faultio.New(memory, func(now faultio.Op) faultio.Fault {
				if now.N == op.N {
					return fault
				}
				return faultio.None
			}), batches, codec)
			left := files(t, memory)
			if op.Kind == faultio.Delete {
				// A run that was merged into another is tried again at the end.
				if err != nil {
					require.ErrorIs(t, err, faultio.ErrInjected)
				}
				left = withoutPrefix(left, "data/")
				require.LessOrEqual(t, len(left), 1, "%v", left)
				continue
			}
			require.ErrorIs(t, err, faultio.ErrInjected, "%v", op)
			require.Empty(t, left, "%v", op)
		}
	}
	for _, kind := range []faultio.Kind{faultio.Create, faultio.Write, faultio.Close, faultio.Open, faultio.Delete} {
		require.Greater(t, kinds[kind], 3, "%s must have been tried", kind)
	}
}

func withoutPrefix(names []string, prefix string) []string {
	var out []string
	for _, n := range names {
		if !strings.HasPrefix(n, prefix) {
			out = append(out, n)
		}
	}
	return out
}

func TestGuardEndsSortingAndWriting(t *testing.T) {
	stop := errors.New("decided otherwise")
	guard := func(context.Context) error { return stop }
	spec, err := mergetree.SpecOf(narrow("id"))
	require.NoError(t, err)
	store := fileiotest.NewMemory()
	s, err := mergetree.NewSorter(spec, mergetree.SortOptions{Store: store, BeforeFile: guard})
	require.NoError(t, err)
	require.NoError(t, s.Write(t.Context(), narrowBatches(5)[0], nil))
	require.ErrorIs(t, s.Spill(t.Context()), stop)
	require.ErrorIs(t, s.Write(t.Context(), narrowBatches(5)[0], nil), stop, "an error stays")
	require.NoError(t, s.Close(t.Context()))

	w, err := mergetree.NewWriter(spec, mergetree.WriterOptions{Store: store, Folder: "data", Name: numbered, BeforeFile: guard})
	require.NoError(t, err)
	src := ids1(narrow("id"), []int64{1})
	require.ErrorIs(t, w.WriteAll(t.Context(), src), stop)
	require.Equal(t, 1, src.closed)
	require.NoError(t, w.Abort(t.Context()))
	require.Empty(t, files(t, store))
}

func TestSorterWithoutAStoreHoldsAll(t *testing.T) {
	spec, err := mergetree.SpecOf(narrow("id"))
	require.NoError(t, err)
	s, err := mergetree.NewSorter(spec, mergetree.SortOptions{Memory: 16 << 10})
	require.NoError(t, err)
	for _, b := range narrowBatches(10_000) {
		require.NoError(t, s.Write(t.Context(), b, nil))
	}
	require.Greater(t, s.Memory(), 10_000*50)
	src, err := s.Sorted(t.Context())
	require.NoError(t, err)
	require.Equal(t, 10_000, drain(t, spec, src))
	require.NoError(t, s.Close(t.Context()))

	s, err = mergetree.NewSorter(spec, mergetree.SortOptions{Memory: 16 << 10})
	require.NoError(t, err)
	require.NoError(t, s.Write(t.Context(), narrowBatches(5)[0], nil))
	require.ErrorIs(t, s.Spill(t.Context()), mergetree.ErrMemory)
}
