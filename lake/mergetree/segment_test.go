package mergetree_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
)

// Ranges of keys, cut anywhere, of sources that lie in segments are together what all rows are, each row once.
func TestRangesOfSegmentsAreTheModels(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		table, m := randomTable(r, "deduplicate")
		spec, err := mergetree.SpecOf(table)
		require.NoError(t, err)
		store := fileiotest.NewMemory()
		var sources [][]mergetree.Segment
		var all []entry
		var cuts [][]byte
		for i := range 1 + r.IntN(20) {
			rows := sourceOrder(m, randomRows(r, table, 1+r.IntN(60), allKinds()), 1)
			for k := range rows {
				rows[k].sequence += int64(1000 * i)
			}
			var file bytes.Buffer
			file.WriteString("before")
			name := fmt.Sprint("elsewhere/", i)
			segments, err := mergetree.WriteSegments(t.Context(), spec, &file, name, int64(file.Len()), &listSource{rows: sourceOrder(m, rows, 1), r: r}, 1+r.IntN(400))
			require.NoError(t, err)
			require.NoError(t, fileio.WriteFile(t.Context(), store, name, file.Bytes()))
			data, err := json.Marshal(segments)
			require.NoError(t, err)
			segments = nil
			require.NoError(t, json.Unmarshal(data, &segments))
			for _, s := range segments {
				if r.IntN(4) == 0 {
					cuts = append(cuts, pick(r, s.First, s.Last))
				}
			}
			sources, all = append(sources, segments), append(all, rows...)
		}
		slices.SortFunc(cuts, bytes.Compare)
		cuts = slices.CompactFunc(append([][]byte{nil}, cuts...), bytes.Equal)

		got, read, told := []string{}, int64(0), 0
		for i, from := range cuts {
			keys := mergetree.KeyRange{From: from}
			if i+1 < len(cuts) {
				keys.To = cuts[i+1]
			}
			s, err := mergetree.NewSorter(spec, mergetree.SortOptions{
				Memory: 20 << 10, Store: store, Folder: "own",
				Merge: mergetree.MergeOptions{OnDuplicate: func(_, _ *row.Batch) error { told++; return nil }},
			})
			require.NoError(t, err)
			for _, list := range sources {
				require.NoError(t, s.AddSegments(store, list, keys))
			}
			src, err := s.Sorted(t.Context())
			require.NoError(t, err)
			got = append(got, m.lines(t, spec, src)...)
			read += s.Rows()
			require.NoError(t, s.Close(t.Context()))
		}
		require.Equal(t, m.want(all, false, false), got, "seed %d", seed)
		require.EqualValues(t, len(all), read)
		require.Equal(t, len(all), len(got)+told, "each row is there or was told of, whatever number of passes there were")
		require.Len(t, files(t, store), len(sources))
	}
}

// More sources than files may be open are merged in passes though memory would do.
func TestSorterOpensFewFilesAtOnce(t *testing.T) {
	spec, err := mergetree.SpecOf(narrow("id"))
	require.NoError(t, err)
	store := &openCounter{Store: fileiotest.NewMemory()}
	s, err := mergetree.NewSorter(spec, mergetree.SortOptions{Memory: 1 << 30, Store: store, Folder: "own"})
	require.NoError(t, err)
	const sources = 600
	for i := range int64(sources) {
		var file bytes.Buffer
		segments, err := mergetree.WriteSegments(t.Context(), spec, &file, fmt.Sprint("s/", i), 0, ids1(narrow("id"), []int64{i, i + 1000}), 1)
		require.NoError(t, err)
		require.NoError(t, fileio.WriteFile(t.Context(), store, fmt.Sprint("s/", i), file.Bytes()))
		require.NoError(t, s.AddSegments(store, segments, mergetree.KeyRange{}))
	}
	src, err := s.Sorted(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2*sources, drain(t, spec, src))
	require.NoError(t, s.Close(t.Context()))
	require.LessOrEqual(t, store.most, 256)
	require.Zero(t, store.open)
}

// openCounter counts files that are open for reading.
type openCounter struct {
	fileio.Store
	open, most int
}

func (o *openCounter) Open(c ctx, path string) (fileio.Reader, error) {
	in, err := o.Store.Open(c, path)
	if err != nil {
		return nil, err
	}
	o.open++
	o.most = max(o.most, o.open)
	return &countedReader{Reader: in, counter: o}, nil
}

type countedReader struct {
	fileio.Reader
	counter *openCounter
}

func (r *countedReader) Close() error {
	r.counter.open--
	return r.Reader.Close()
}
