package mergetree_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// sortedSource has many rows sorted.
func sortedSource(t *testing.T, spec *mergetree.Spec, rows int) mergetree.Source {
	t.Helper()
	s, err := mergetree.NewSorter(spec, mergetree.SortOptions{FirstSequence: 100})
	require.NoError(t, err)
	for i, b := range narrowBatches(rows) {
		kinds := make([]row.Kind, b.Rows)
		if i%2 == 1 {
			kinds[0] = row.Delete
		}
		require.NoError(t, s.Write(t.Context(), b, kinds))
	}
	src, err := s.Sorted(t.Context())
	require.NoError(t, err)
	return src
}

func TestWriterRollsFilesThatFollowEachOther(t *testing.T) {
	const rows = 60_000
	table := narrow("id")
	spec, err := mergetree.SpecOf(table)
	require.NoError(t, err)
	store := fileiotest.NewMemory()
	at := time.Date(2024, 2, 29, 12, 0, 0, 0, time.FixedZone("", 3600))
	w, err := mergetree.NewWriter(spec, mergetree.WriterOptions{
		File: datafile.Options{PageRows: 1000}, Store: store, Folder: "d", Name: numbered, Level: 5, Source: manifest.SourceCompact,
		TargetSize: 60 << 10, Now: func() time.Time { return at },
	})
	require.NoError(t, err)
	require.NoError(t, w.WriteAll(t.Context(), sortedSource(t, spec, rows)))
	require.EqualValues(t, rows, w.Rows())
	require.Positive(t, w.Buffered())
	made, err := w.Close()
	require.NoError(t, err)
	require.Greater(t, len(made), 3)
	require.Len(t, files(t, store), len(made))
	next, deletes := int64(0), int64(0)
	for i, f := range made {
		require.EqualValues(t, 5, f.Level)
		require.Equal(t, manifest.SourceCompact, *f.Source)
		require.Equal(t, numbered(i), f.Name)
		require.Equal(t, at.UnixMilli()+3_600_000, *f.CreationMillis)
		low, err := row.Deserialize(spec.KeyTypes(), f.MinKey)
		require.NoError(t, err)
		high, err := row.Deserialize(spec.KeyTypes(), f.MaxKey)
		require.NoError(t, err)
		// Ids are 0 to rows-1, so where a file begins and how long it is tells its keys.
		require.Equal(t, next, low[0].I64)
		require.Equal(t, next+f.Rows-1, high[0].I64)
		require.Equal(t, f.MinKey, f.KeyStats.Min)
		require.Equal(t, f.MaxKey, f.KeyStats.Max)
		next += f.Rows
		deletes += *f.DeleteRows
		lowest, highest, retracted := int64(1<<62), int64(-1), int64(0)
		src := openFile(t, store, "d/"+f.Name, f.Size, spec.Fields())
		b := spec.NewBatch()
		for src.Next(t.Context(), b) == nil {
			for k := range b.Rows {
				e := entryOf(b, k)
				lowest, highest = min(lowest, e.sequence), max(highest, e.sequence)
				if retracts(e) {
					retracted++
				}
			}
		}
		require.NoError(t, src.Close())
		require.Equal(t, []int64{lowest, highest, retracted}, []int64{f.MinSequence, f.MaxSequence, *f.DeleteRows})
	}
	require.EqualValues(t, rows, next)
	require.EqualValues(t, 7, deletes)
	require.NoError(t, w.Abort(t.Context()))
	require.Empty(t, files(t, store))
}

func TestWriterRefusesDisorder(t *testing.T) {
	table := narrow("id")
	spec, err := mergetree.SpecOf(table)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		ids       []int64
		changelog bool
		bad       bool
	}{
		"ascending":                     {[]int64{1, 2, 3, 4, 5, 6, 7, 8}, false, false},
		"twice":                         {[]int64{1, 2, 2, 3}, false, true},
		"twice, far apart":              {[]int64{1, 2, 3, 4, 5, 6, 6, 7, 7}, false, true},
		"descending":                    {[]int64{2, 1}, false, true},
		"twice in a changelog":          {[]int64{1, 2, 2, 2, 2, 2, 2, 2, 3}, true, false},
		"descending in a changelog":     {[]int64{1, 2, 2, 1}, true, true},
		"ascending over the whole type": {[]int64{-1 << 63, -1, 0, 1<<63 - 1}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := fileiotest.NewMemory()
			w, err := mergetree.NewWriter(spec, mergetree.WriterOptions{Store: store, Folder: "d", Name: numbered, Changelog: c.changelog})
			require.NoError(t, err)
			err = w.WriteAll(t.Context(), ids1(table, c.ids))
			if c.bad {
				require.ErrorIs(t, err, mergetree.ErrOrder)
				_, err = w.Close()
				require.ErrorIs(t, err, mergetree.ErrOrder)
			} else {
				require.NoError(t, err)
			}
			require.NoError(t, w.Abort(t.Context()))
			require.Empty(t, files(t, store))
		})
	}
}

func TestWriterMakesNoEmptyFile(t *testing.T) {
	spec, err := mergetree.SpecOf(narrow("id"))
	require.NoError(t, err)
	store := fileiotest.NewMemory()
	w, err := mergetree.NewWriter(spec, mergetree.WriterOptions{Store: store, Folder: "d", Name: numbered})
	require.NoError(t, err)
	require.NoError(t, w.WriteAll(t.Context(), ids1(narrow("id"), nil)))
	made, err := w.Close()
	require.NoError(t, err)
	require.Empty(t, made)
	require.Empty(t, files(t, store))
}

func TestFileFields(t *testing.T) {
	table := narrow("code", "id")
	spec, err := mergetree.SpecOf(table)
	require.NoError(t, err)
	type column struct {
		id   int
		name string
		typ  string
	}
	describe := func(fields []schema.Field) []column {
		var out []column
		for _, f := range fields {
			out = append(out, column{f.ID, f.Name, f.Type.String()})
		}
		return out
	}
	system := []column{{2147483646, "_SEQUENCE_NUMBER", "BIGINT NOT NULL"}, {2147483645, "_VALUE_KIND", "TINYINT NOT NULL"}}
	want := append([]column{{1073741824, "_KEY_code", "STRING NOT NULL"}, {1073741823, "_KEY_id", "BIGINT NOT NULL"}}, system...)
	require.Equal(t, append(want, describe(table.Fields)...), describe(spec.FileFields()))
	require.Equal(t, append(system, describe(table.Fields)...), describe(spec.Fields()))
	table.Options["data-file.thin-mode"] = "true"
	require.Equal(t, describe(spec.Fields()), describe(spec.FileFields()))
}
