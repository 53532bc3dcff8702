package mergetree_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
)

// Rows of 64 MiB go through a sorter of far less memory, spilled and merged in passes.
func TestSorterTakesHugeRows(t *testing.T) {
	const huge = 64 << 20
	table := narrow("id")
	spec, err := mergetree.SpecOf(table)
	require.NoError(t, err)
	store, err := fileio.NewLocal(t.TempDir())
	require.NoError(t, err)
	s, err := mergetree.NewSorter(spec, mergetree.SortOptions{Memory: 1 << 20, Store: store, Folder: "runs"})
	require.NoError(t, err)
	b := row.NewBatch(row.Types(table.Fields))
	note := make([]byte, huge)
	for i := range 3 {
		note[i] = byte(i)
		b.Reset()
		b.Columns[0].I64 = append(b.Columns[0].I64, int64(9-i), int64(100+i))
		b.Columns[1].AppendBytes([]byte("x"))
		b.Columns[1].AppendBytes([]byte("y"))
		b.Columns[2].I64 = append(b.Columns[2].I64, 1, 2)
		b.Columns[3].AppendBytes(note)
		b.Columns[3].AppendBytes(note[:10])
		b.Columns[4].I64 = append(b.Columns[4].I64, 1, 2)
		b.Rows = 2
		require.NoError(t, s.Write(t.Context(), b, nil))
		require.Less(t, s.Memory(), 2*huge, "one such row at a time")
	}
	require.NotEmpty(t, files(t, store))
	src, err := s.Sorted(t.Context())
	require.NoError(t, err)
	var ids []int64
	out := spec.NewBatch()
	for src.Next(t.Context(), out) == nil {
		for i := range out.Rows {
			id := out.Columns[mergetree.ValueColumns].I64[i]
			ids = append(ids, id)
			value := out.Columns[mergetree.ValueColumns+3].Bytes(i)
			if id < 100 {
				require.Len(t, value, huge)
				require.EqualValues(t, 9-id, value[9-id])
			} else {
				require.Len(t, value, 10)
			}
		}
	}
	require.NoError(t, src.Close())
	require.Equal(t, []int64{7, 8, 9, 100, 101, 102}, ids)
	require.NoError(t, s.Close(t.Context()))
	require.Empty(t, files(t, store))
}

// Runs made elsewhere are merged in passes, together with rows, and stay where they are.
func TestSorterMergesRunsMadeElsewhere(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		table, m := randomTable(r, "deduplicate")
		spec, err := mergetree.SpecOf(table)
		require.NoError(t, err)
		store := fileiotest.NewMemory()
		s, err := mergetree.NewSorter(spec, mergetree.SortOptions{
			Memory: 20 << 10, Store: store, Folder: "own", FirstSequence: 100_000, Merge: mergetree.MergeOptions{BatchRows: 7},
		})
		require.NoError(t, err)
		var all []entry
		elsewhere := 3 + r.IntN(20)
		for i := range elsewhere {
			rows := sourceOrder(m, randomRows(r, table, 1+r.IntN(40), allKinds()), 1)
			for k := range rows {
				rows[k].sequence += int64(1000 * i)
			}
			run, err := mergetree.WriteRun(t.Context(), spec, store, fmt.Sprint("splits/", i), &listSource{rows: sourceOrder(m, rows, 1), r: r})
			require.NoError(t, err)
			require.NoError(t, s.AddRun(store, run))
			all = append(all, rows...)
		}
		all = append(all, write(t, s, r, table, allKinds(), 100_000)...)
		src, err := s.Sorted(t.Context())
		require.NoError(t, err)
		require.Equal(t, m.want(all, false, false), m.lines(t, spec, src), "seed %d", seed)
		require.NoError(t, s.Close(t.Context()))
		require.Len(t, files(t, store), elsewhere)
	}
}

func TestSorterHoldsNoMoreThanItsMemory(t *testing.T) {
	spec, err := mergetree.SpecOf(narrow("code"))
	require.NoError(t, err)
	for _, memory := range []int{256 << 10, 1 << 20, 2 << 20} {
		store := fileiotest.NewMemory()
		s, err := mergetree.NewSorter(spec, mergetree.SortOptions{Memory: memory, Store: store})
		require.NoError(t, err)
		for _, b := range narrowBatches(40_000) {
			require.NoError(t, s.Write(t.Context(), b, nil))
			require.LessOrEqual(t, s.Memory(), memory)
		}
		require.Greater(t, len(files(t, store)), 0)
		src, err := s.Sorted(t.Context())
		require.NoError(t, err)
		require.Equal(t, 40_000, drain(t, spec, src))
		require.NoError(t, s.Close(t.Context()))
	}
}

func TestSorterRefusesBatchesOfAnotherTable(t *testing.T) {
	table := narrow("id")
	for want, change := range map[string]func(b *row.Batch) []row.Kind{
		"a batch of 4 columns": func(b *row.Batch) []row.Kind { b.Columns = b.Columns[:4]; return nil },
		"does not fit":         func(b *row.Batch) []row.Kind { b.Columns[0] = b.Columns[1]; return nil },
		"1 kinds for 3 rows":   func(*row.Batch) []row.Kind { return []row.Kind{row.Insert} },
		"4 values in 3 rows":   func(b *row.Batch) []row.Kind { b.Columns[0].I64 = append(b.Columns[0].I64, 1); return nil },
		"in a NOT NULL column": func(b *row.Batch) []row.Kind { b.Columns[1].Reset(); appendNulls(&b.Columns[1], 3); return nil },
	} {
		spec, err := mergetree.SpecOf(table)
		require.NoError(t, err)
		s, err := mergetree.NewSorter(spec, mergetree.SortOptions{})
		require.NoError(t, err)
		b := narrowBatches(3)[0]
		kinds := change(b)
		require.ErrorContains(t, s.Write(t.Context(), b, kinds), want)
	}
	spec, err := mergetree.SpecOf(table)
	require.NoError(t, err)
	s, err := mergetree.NewSorter(spec, mergetree.SortOptions{})
	require.NoError(t, err)
	require.ErrorContains(t, s.WriteRows(t.Context(), narrowBatches(3)[0], []int32{0, 3}, nil), "row 3 is not in a batch of 3")
}

func appendNulls(v *row.Vector, n int) {
	for range n {
		v.AppendNull()
	}
}
