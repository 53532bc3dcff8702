package mergetree_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Two runs in one file, behind other bytes, are read as they were written, after their records went through JSON.
func TestRunsShareAFile(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		table, m := randomTable(r, "deduplicate")
		spec, err := mergetree.SpecOf(table)
		require.NoError(t, err)
		var file bytes.Buffer
		file.WriteString("something else")
		var runs []mergetree.Run
		var want [][]string
		for range 2 {
			rows := sourceOrder(m, randomRows(r, table, r.IntN(50), allKinds()), 1)
			w := mergetree.NewRunWriter(spec, &file, "x/runs", int64(file.Len()))
			b := spec.NewBatch()
			src := &listSource{rows: rows, r: r}
			for src.Next(t.Context(), b) == nil {
				require.NoError(t, w.Write(b))
			}
			run, err := w.Close()
			require.NoError(t, err)
			require.EqualValues(t, len(rows), run.Rows)
			runs, want = append(runs, run), append(want, m.want(rows, true, false))
		}
		require.EqualValues(t, file.Len(), runs[1].Offset+runs[1].Size)
		store := fileiotest.NewMemory()
		require.NoError(t, fileio.WriteFile(t.Context(), store, "x/runs", file.Bytes()))
		data, err := json.Marshal(runs)
		require.NoError(t, err)
		runs = nil
		require.NoError(t, json.Unmarshal(data, &runs))
		for i, run := range runs {
			src, err := mergetree.OpenRun(t.Context(), spec, store, run)
			require.NoError(t, err)
			require.Equal(t, want[i], m.lines(t, spec, src))
		}
	}
}

// sampleRun is a run of two blocks.
func sampleRun(tb testing.TB) (*mergetree.Spec, mergetree.Run, []byte) {
	tb.Helper()
	spec, err := mergetree.SpecOf(narrow("id"))
	require.NoError(tb, err)
	var file bytes.Buffer
	w := mergetree.NewRunWriter(spec, &file, "run", 0)
	b := spec.NewBatch()
	src := ids1(narrow("id"), []int64{1, 2, 3, 4, 5, 6, 7})
	for src.Next(tb.Context(), b) == nil {
		require.NoError(tb, w.Write(b))
	}
	run, err := w.Close()
	require.NoError(tb, err)
	return spec, run, file.Bytes()
}

// readRun reads a run of a file of these bytes to its end.
func readRun(tb testing.TB, spec *mergetree.Spec, run mergetree.Run, data []byte) (int, error) {
	tb.Helper()
	store := fileiotest.NewMemory()
	require.NoError(tb, fileio.WriteFile(tb.Context(), store, "run", data))
	src, err := mergetree.OpenRun(tb.Context(), spec, store, run)
	if err != nil {
		return 0, err
	}
	rows, b := 0, spec.NewBatch()
	for {
		err := src.Next(tb.Context(), b)
		rows += b.Rows
		if errors.Is(err, io.EOF) {
			return rows, src.Close()
		}
		if err != nil {
			require.Zero(tb, b.Rows)
			return rows, errors.Join(err, src.Close())
		}
	}
}

func TestRunThatIsCutOffOrChanged(t *testing.T) {
	spec, run, data := sampleRun(t)
	rows, err := readRun(t, spec, run, data)
	require.NoError(t, err)
	require.Equal(t, 7, rows)
	for n := range data {
		_, err := readRun(t, spec, run, data[:n])
		require.ErrorIs(t, err, mergetree.ErrRunTruncated, "%d bytes", n)
	}
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 0x40
		_, err := readRun(t, spec, run, changed)
		require.ErrorIs(t, err, mergetree.ErrRunCorrupt, "byte %d", i)
		require.ErrorContains(t, err, "memory://store/run")
	}
	for name, change := range map[string]func(*mergetree.Run){
		"fewer rows": func(r *mergetree.Run) { r.Rows-- }, "more rows": func(r *mergetree.Run) { r.Rows++ },
		"smaller blocks": func(r *mergetree.Run) { r.Block-- }, "another checksum": func(r *mergetree.Run) { r.Checksum++ },
		"another place": func(r *mergetree.Run) { r.Offset, r.Size = 1, r.Size-1 }, "shorter": func(r *mergetree.Run) { r.Size-- },
		"nothing": func(r *mergetree.Run) { *r = mergetree.Run{Path: r.Path} },
		"huge":    func(r *mergetree.Run) { r.Size, r.Offset = math.MaxInt64, -5 },
	} {
		changed := run
		change(&changed)
		_, err := readRun(t, spec, changed, data)
		require.ErrorIs(t, err, mergetree.ErrRunCorrupt, name)
	}
	longer := run
	longer.Size++
	_, err = readRun(t, spec, longer, data)
	require.ErrorIs(t, err, mergetree.ErrRunTruncated)
	_, err = readRun(t, spec, longer, append(data, 0))
	require.ErrorIs(t, err, mergetree.ErrRunCorrupt)
}

func TestRunOfOtherColumns(t *testing.T) {
	_, run, data := sampleRun(t)
	other := narrow("id")
	other.Fields[2].Type = schema.DecimalType(12, 3)
	spec, err := mergetree.SpecOf(other)
	require.NoError(t, err)
	_, err = readRun(t, spec, run, data)
	require.ErrorIs(t, err, mergetree.ErrRunCorrupt)
	require.ErrorContains(t, err, "other columns")
}

// FuzzOpenRun reads any bytes as a run, whatever its record says, with an error or with the rows that it says.
func FuzzOpenRun(f *testing.F) {
	spec, run, data := sampleRun(f)
	f.Add(data, run.Rows, run.Block, run.Checksum)
	f.Fuzz(func(t *testing.T, data []byte, rows int64, block int, checksum uint32) {
		r := mergetree.Run{Path: "run", Size: int64(len(data)), Rows: rows, Block: min(block, 1<<20), Checksum: checksum}
		n, err := readRun(t, spec, r, data)
		if err == nil {
			require.Equal(t, rows, int64(n))
		}
	})
}
