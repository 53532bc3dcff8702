package lake

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// The cases of Paimon's IntervalPartitionTest, as ranges of keys: what overlaps, or only touches, is one section, in which files
// that neither overlap nor touch share a run.
func TestSections(t *testing.T) {
	s, err := schema.New(schema.Spec{
		Fields: []schema.Field{{Name: "id", Type: schema.Of(schema.Int)}}, PrimaryKeys: []string{"id"},
		Options: map[string]string{"bucket": "1"},
	})
	require.NoError(t, err)
	types := row.Types(s.Fields)
	for name, c := range map[string]struct {
		files [][2]int64
		want  [][][][2]int64
	}{
		"no overlap":      {[][2]int64{{7, 9}, {1, 2}, {4, 5}}, [][][][2]int64{{{{1, 2}}}, {{{4, 5}}}, {{{7, 9}}}}},
		"the same":        {[][2]int64{{1, 2}, {1, 2}}, [][][][2]int64{{{{1, 2}}, {{1, 2}}}}},
		"touching":        {[][2]int64{{1, 2}, {2, 3}, {3, 4}}, [][][][2]int64{{{{1, 2}, {3, 4}}, {{2, 3}}}}},
		"within a longer": {[][2]int64{{2, 3}, {5, 6}, {1, 10}, {11, 11}}, [][][][2]int64{{{{1, 10}}, {{2, 3}, {5, 6}}}, {{{11, 11}}}}},
		"negative":        {[][2]int64{{-1, 4}, {-9, -3}, {-5, -2}}, [][][][2]int64{{{{-9, -3}}, {{-5, -2}}}, {{{-1, 4}}}}},
		"none":            {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var files []File
			for _, f := range c.files {
				files = append(files, File{DataFile: manifest.DataFile{
					MinKey: row.Serialize(types, []row.Value{{I64: f[0]}}), MaxKey: row.Serialize(types, []row.Value{{I64: f[1]}}),
				}})
			}
			parts, err := sections(files, types, func(schema.ID) (*schema.Table, error) { return s, nil })
			require.NoError(t, err)
			var got [][][][2]int64
			for _, section := range parts {
				var runs [][][2]int64
				for _, r := range section {
					var ranges [][2]int64
					for _, f := range r {
						low, err := row.Deserialize(types, f.DataFile.MinKey)
						require.NoError(t, err)
						high, err := row.Deserialize(types, f.DataFile.MaxKey)
						require.NoError(t, err)
						ranges = append(ranges, [2]int64{low[0].I64, high[0].I64})
					}
					runs = append(runs, ranges)
				}
				got = append(got, runs)
			}
			require.Equal(t, c.want, got)
		})
	}
	_, err = sections([]File{{DataFile: manifest.DataFile{Name: "data-1.parquet", MinKey: []byte{1, 2}}}}, types,
		func(schema.ID) (*schema.Table, error) { return s, nil })
	require.ErrorIs(t, err, manifest.ErrCorrupt)
	require.ErrorContains(t, err, "data-1.parquet")
}

// The greatest number counts, whichever file comes last, and a number of buckets that old releases did not know does not.
func TestExisting(t *testing.T) {
	e := &Existing{counts: map[string]int32{}, next: map[string]int64{}}
	partition := row.Serialize(nil, nil)
	for _, entry := range []manifest.Entry{
		{Partition: partition, Bucket: 0, TotalBuckets: 2, File: manifest.DataFile{MaxSequence: 9}},
		{Partition: partition, Bucket: 0, TotalBuckets: 0, File: manifest.DataFile{MaxSequence: 4}},
		{Partition: partition, Bucket: 1, TotalBuckets: 2, File: manifest.DataFile{MaxSequence: 0}},
	} {
		e.add(&entry)
	}
	for bucket, want := range []int64{10, 1, 0} {
		next, err := e.sequence(partition, int32(bucket))
		require.NoError(t, err)
		require.Equal(t, want, next)
	}
	for _, full := range []int64{1 << 62, math.MaxInt64 - 1, math.MaxInt64} {
		e.add(&manifest.Entry{Partition: partition, Bucket: 3, TotalBuckets: 2, File: manifest.DataFile{MaxSequence: full}})
		_, err := e.sequence(partition, 3)
		require.ErrorIs(t, err, manifest.ErrCorrupt, "rows with a number beyond would lose against all others")
	}
	require.NoError(t, e.checkBuckets(partition, "", 2))
	require.ErrorIs(t, e.checkBuckets(partition, "region=1", 3), ErrBucketCount)
	require.NoError(t, e.checkBuckets([]byte("another"), "region=2", 3))
}
