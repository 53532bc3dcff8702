package mergetree_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

type ctx = context.Context

func allKinds() []row.Kind {
	return []row.Kind{row.Insert, row.UpdateBefore, row.UpdateAfter, row.Delete}
}

// engines are ways to merge, with the kinds of rows that each takes.
func engines() []struct {
	name, engine, option string
	kinds                []row.Kind
} {
	adds := []row.Kind{row.Insert, row.UpdateAfter}
	return []struct {
		name, engine, option string
		kinds                []row.Kind
	}{
		{"deduplicate", "deduplicate", "", allKinds()},
		{"deduplicate ignoring deletes", "deduplicate", "deduplicate.ignore-delete", allKinds()},
		{"first-row", "first-row", "", adds},
		{"first-row ignoring deletes", "first-row", "ignore-delete", allKinds()},
		{"partial-update", "partial-update", "", adds},
		{"partial-update ignoring deletes", "partial-update", "partial-update.ignore-delete", allKinds()},
		{"partial-update removing", "partial-update", "partial-update.remove-record-on-delete", allKinds()},
	}
}

func TestMergeIsTheModels(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			for seed := range uint64(60) {
				r := rand.New(rand.NewPCG(seed, 1))
				table, m := randomTable(r, e.engine)
				if e.option != "" {
					table.Options[e.option] = "true"
					m.ignore = e.option != "partial-update.remove-record-on-delete"
				}
				spec, err := mergetree.SpecOf(table)
				require.NoError(t, err)
				rows := randomRows(r, table, r.IntN(120), e.kinds)
				o := mergetree.MergeOptions{
					Unmerged: r.IntN(4) == 0, DropDeletes: r.IntN(2) == 0, BatchRows: 1 + r.IntN(6), BatchBytes: 1 + r.IntN(1000),
				}
				want := m.want(sourceOrder(m, rows, 5), o.Unmerged, o.DropDeletes)
				sources, lists := split(m, rows, 5, r)
				got := m.lines(t, spec, mergetree.Merge(spec, sources, o))
				if o.Unmerged && o.DropDeletes {
					want = slices.DeleteFunc(want, func(s string) bool {
						var sequence int64
						var kind string
						_, err := fmt.Sscan(s, &sequence, &kind)
						require.NoError(t, err)
						return kind[0] == '-'
					})
				}
				require.Equal(t, want, got, "seed %d, key %v, options %v", seed, table.PrimaryKeys, table.Options)
				for _, l := range lists {
					require.Positive(t, l.closed)
				}
			}
		})
	}
}

// sourceOrder are the rows as they lie in sources, one after the other: the order in which equal rows are merged.
func sourceOrder(m *model, rows []entry, n int) []entry {
	var out []entry
	for i := range n {
		for _, g := range m.sorted(part(rows, i, n)) {
			out = append(out, g...)
		}
	}
	return out
}

func part(rows []entry, i, n int) []entry {
	var out []entry
	for k := i; k < len(rows); k += n {
		out = append(out, rows[k])
	}
	return out
}

// split deals rows out to sorted sources.
func split(m *model, rows []entry, n int, r *rand.Rand) ([]mergetree.Source, []*listSource) {
	var sources []mergetree.Source
	var lists []*listSource
	for i := range n {
		s := &listSource{r: r}
		for _, g := range m.sorted(part(rows, i, n)) {
			s.rows = append(s.rows, g...)
		}
		sources, lists = append(sources, s), append(lists, s)
	}
	return sources, lists
}

func TestSorterIsTheModels(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			spills := 0
			for seed := range uint64(12) {
				r := rand.New(rand.NewPCG(seed, 2))
				table, m := randomTable(r, e.engine)
				if e.option != "" {
					table.Options[e.option] = "true"
				}
				if r.IntN(4) == 0 {
					table.Options["ignore-update-before"] = "true"
				}
				spec, err := mergetree.SpecOf(table)
				require.NoError(t, err)
				store := fileiotest.NewMemory()
				o := mergetree.SortOptions{
					Memory: 16<<10 + r.IntN(100<<10), Store: store, Folder: "a/b", FirstSequence: int64(r.IntN(9)),
					Name: func(n int) string {
						spills = max(spills, n+1)
						return "spill-" + strconv.Itoa(n)
					},
					Merge: mergetree.MergeOptions{Unmerged: r.IntN(4) == 0, DropDeletes: r.IntN(2) == 0, BatchRows: 1 + r.IntN(50)},
				}
				if o.Merge.Unmerged {
					o.Merge.DropDeletes = false
				}
				s, err := mergetree.NewSorter(spec, o)
				require.NoError(t, err)
				rows := write(t, s, r, table, e.kinds, o.FirstSequence)
				require.EqualValues(t, len(rows), s.Rows())
				require.EqualValues(t, o.FirstSequence+int64(len(rows)), s.NextSequence())
				src, err := s.Sorted(t.Context())
				require.NoError(t, err)
				require.Equal(t, m.want(rows, o.Merge.Unmerged, o.Merge.DropDeletes), m.lines(t, spec, src),
					"seed %d, key %v, options %v", seed, table.PrimaryKeys, table.Options)
				require.NoError(t, s.Close(t.Context()))
				require.Empty(t, files(t, store))
			}
			require.Greater(t, spills, 5, "runs must have been merged in several passes")
		})
	}
}

// write adds random rows and tells which ones the sorter should have, with their numbers.
func write(t *testing.T, s *mergetree.Sorter, r *rand.Rand, table *schema.Table, kinds []row.Kind, next int64) []entry {
	t.Helper()
	is := func(key string) bool { return table.Options[key] == "true" }
	engine := table.Options["merge-engine"]
	ignoreDelete := is("ignore-delete") || is(engine+".ignore-delete")
	var rows []entry
	for range r.IntN(30) {
		added := randomRows(r, table, r.IntN(200), kinds)
		b := row.NewBatch(row.Types(table.Fields))
		var given []row.Kind
		var chosen []int32
		selecting := r.IntN(2) == 0
		for i, e := range added {
			for c, v := range e.values {
				b.Columns[c].Append(v)
			}
			b.Rows++
			given = append(given, e.kind)
			if selecting && r.IntN(3) == 0 {
				continue
			}
			chosen = append(chosen, int32(i))
			if retracts(e) && ignoreDelete || e.kind == row.UpdateBefore && is("ignore-update-before") {
				continue
			}
			e.sequence = next
			next++
			rows = append(rows, e)
		}
		if selecting {
			require.NoError(t, s.WriteRows(t.Context(), b, chosen, given))
		} else {
			require.NoError(t, s.Write(t.Context(), b, given))
		}
		if r.IntN(10) == 0 {
			require.NoError(t, s.Spill(t.Context()))
			require.Zero(t, s.Memory())
		}
	}
	return rows
}

// files are the paths of all files of a store.
func files(tb testing.TB, store fileio.Store) []string {
	tb.Helper()
	var paths []string
	require.NoError(tb, store.List(context.Background(), "", func(i fileio.Info) error {
		paths = append(paths, i.Path)
		return nil
	}))
	return paths
}

func TestMergeRefusesRowsOutOfOrder(t *testing.T) {
	table := narrow("id")
	spec, err := mergetree.SpecOf(table)
	require.NoError(t, err)
	for name, ids := range map[string][]int64{"in a batch": {1, 3, 2}, "between batches": {1, 5, 6, 7, 8, 9, 4}} {
		t.Run(name, func(t *testing.T) {
			src := mergetree.Merge(spec, []mergetree.Source{ids1(table, ids)}, mergetree.MergeOptions{})
			b := spec.NewBatch()
			var err error
			for err == nil {
				err = src.Next(t.Context(), b)
			}
			require.ErrorIs(t, err, mergetree.ErrOrder)
			require.ErrorContains(t, err, fmt.Sprintf("key (%d)", ids[len(ids)-1]))
			require.ErrorIs(t, src.Next(t.Context(), b), mergetree.ErrOrder, "an error stays")
			require.NoError(t, src.Close())
		})
	}
}

// ids1 is a source of rows that have an id and little else, in batches of up to five.
func ids1(table *schema.Table, ids []int64) *listSource {
	s := &listSource{r: rand.New(rand.NewPCG(1, 1))}
	for i, id := range ids {
		e := entry{sequence: int64(i), values: make([]row.Value, len(table.Fields))}
		e.values[0] = row.Value{I64: id}
		e.values[1] = row.Value{B: []byte("x")}
		for c := 2; c < len(e.values); c++ {
			e.values[c] = row.NullValue()
		}
		s.rows = append(s.rows, e)
	}
	return s
}

func TestMergeRefusesDeletesThatTheEngineCannotTake(t *testing.T) {
	for _, engine := range []string{"first-row", "partial-update"} {
		table := narrow("id")
		table.Options["merge-engine"] = engine
		spec, err := mergetree.SpecOf(table)
		require.NoError(t, err)
		s := ids1(table, []int64{7, 7})
		s.rows[1].kind = row.Delete
		src := mergetree.Merge(spec, []mergetree.Source{s}, mergetree.MergeOptions{})
		err = src.Next(t.Context(), spec.NewBatch())
		require.ErrorIs(t, err, mergetree.ErrRetract)
		require.ErrorContains(t, err, "row -D of key (7)")
	}
}

func TestMergeTellsOfDuplicates(t *testing.T) {
	table := narrow("id")
	spec, err := mergetree.SpecOf(table)
	require.NoError(t, err)
	var told []string
	stop := errors.New("stop")
	merge := func(fail bool) error {
		told = nil
		src := mergetree.Merge(spec, []mergetree.Source{ids1(table, []int64{1, 2, 2, 3}), ids1(table, []int64{2, 3, 4})}, mergetree.MergeOptions{
			BatchRows: 1,
			OnDuplicate: func(kept, next *row.Batch) error {
				require.Equal(t, 1, kept.Rows)
				require.Equal(t, 1, next.Rows)
				told = append(told, fmt.Sprint(kept.Columns[2].I64[0], ":", kept.Columns[0].I64[0], "<", next.Columns[0].I64[0]))
				if fail {
					return stop
				}
				return nil
			},
		})
		b := spec.NewBatch()
		for {
			if err := src.Next(t.Context(), b); errors.Is(err, io.EOF) {
				return src.Close()
			} else if err != nil {
				return err
			}
		}
	}
	require.NoError(t, merge(false))
	require.Equal(t, []string{"2:0<1", "2:1<2", "3:1<3"}, told)
	require.ErrorIs(t, merge(true), stop)
	require.Len(t, told, 1)
}

func TestRenumberCountsUp(t *testing.T) {
	table := narrow("id")
	spec, err := mergetree.SpecOf(table)
	require.NoError(t, err)
	src := mergetree.Renumber(mergetree.Chain(
		func(ctx) (mergetree.Source, error) { return ids1(table, []int64{1, 2, 3, 4, 5, 6}), nil },
		func(ctx) (mergetree.Source, error) { return ids1(table, nil), nil },
		func(ctx) (mergetree.Source, error) { return ids1(table, []int64{7, 8}), nil },
	), 40)
	seen := 0
	src = mergetree.Tee(src, func(_ ctx, b *row.Batch) error {
		for i := range b.Rows {
			require.EqualValues(t, 40+seen, b.Columns[mergetree.SequenceColumn].I64[i])
			seen++
			require.EqualValues(t, seen, b.Columns[mergetree.ValueColumns].I64[i])
		}
		return nil
	})
	require.Equal(t, 8, drain(t, spec, src))
	require.Equal(t, 8, seen)
}
