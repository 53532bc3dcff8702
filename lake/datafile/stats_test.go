package datafile

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// statsOf writes one column and returns its statistics in a mode, as text, nil for none.
func statsOf(t *testing.T, typ schema.Type, mode string, values ...row.Value) (low, high *string, nulls int64) {
	t.Helper()
	fields := fieldsOf(false, typ)
	w, err := NewWriter(io.Discard, fields, Options{PageRows: 2})
	require.NoError(t, err)
	b := row.NewBatch([]schema.Type{typ})
	fill(b, [][]row.Value{values}, 0, len(values))
	require.NoError(t, w.Write(b))
	res, err := w.Close()
	require.NoError(t, err)
	m, err := ParseStatsMode(mode)
	require.NoError(t, err)
	stats, names, err := ManifestStats(res.Columns, []StatsMode{m})
	require.NoError(t, err)
	require.Nil(t, names)
	text := func(data []byte) *string {
		vs, err := row.Deserialize([]schema.Type{typ}, data)
		require.NoError(t, err)
		if vs[0].Null {
			return nil
		}
		s := row.Text(typ, vs[0])
		return &s
	}
	return text(stats.Min), text(stats.Max), *stats.NullCounts[0]
}

func TestManifestStats_CutsStrings(t *testing.T) {
	long := strings.Repeat("x", 5000)
	some := func(s string) *string { return &s }
	for _, c := range []struct {
		mode      string
		values    []string
		low, high *string
	}{
		{"truncate(16)", []string{"b", "a"}, some("a"), some("b")},
		{"truncate(3)", []string{"abcd", "abc"}, some("abc"), some("abd")},
		{"truncate(3)", []string{"abc"}, some("abc"), some("abc")},
		{"truncate(2)", []string{"中文😀"}, some("中文"), some("中斈")},
		{"truncate(2)", []string{"a\U0010FFFFz"}, some("a\U0010FFFF"), some("b")},
		{"truncate(1)", []string{"\U0010FFFFz"}, nil, nil},
		{"truncate(1)", []string{"\uD7FFz"}, some("\uD7FF"), some("\uE000")},
		{"truncate(16)", []string{long, "a"}, some("a"), some(strings.Repeat("x", 15) + "y")},
		{"truncate(2000)", []string{long, "a"}, nil, nil}, // more than is kept
		{"truncate(16)", []string{"\xff\xff", "a"}, nil, nil},
		{"full", []string{"abcd", "ab"}, some("ab"), some("abcd")},
		{"full", []string{long, "a"}, nil, nil},
		{"full", []string{long[:boundBytes], long[:boundBytes-1]}, some(long[:boundBytes-1]), some(long[:boundBytes])},
		{"counts", []string{"abcd", "ab"}, nil, nil},
	} {
		var values []row.Value
		for _, v := range c.values {
			values = append(values, row.Value{B: []byte(v)}, row.NullValue())
		}
		low, high, nulls := statsOf(t, schema.StringType(), c.mode, values...)
		require.Equal(t, c.low, low, "%v", c)
		require.Equal(t, c.high, high, "%v", c)
		require.EqualValues(t, len(c.values), nulls)
	}
}

func TestManifestStats_LeavesOutModeNone(t *testing.T) {
	fields := fieldsOf(false, schema.Of(schema.Int), schema.StringType(), schema.BytesType(), schema.Of(schema.Int))
	modes, err := StatsModes(fields, map[string]string{
		"metadata.stats-mode": "full", "metadata.stats-keep-first-n-columns": "2", "fields.c2.stats-mode": "counts",
	})
	require.NoError(t, err)
	var columns []ColumnStats
	for i, f := range fields {
		v := row.Value{I64: 7, B: []byte("x")}
		columns = append(columns, ColumnStats{Field: f, Nulls: int64(i), Min: v, Max: v})
	}
	stats, names, err := ManifestStats(columns, modes)
	require.NoError(t, err)
	require.Equal(t, []string{"c0", "c1", "c2"}, names)
	low, err := row.Deserialize(row.Types(fields[:3]), stats.Min)
	require.NoError(t, err)
	require.EqualValues(t, 7, low[0].I64)
	require.Equal(t, "x", string(low[1].B))
	require.True(t, low[2].Null)
	require.EqualValues(t, 2, *stats.NullCounts[2])

	none, err := StatsModes(fields, map[string]string{"metadata.stats-mode": "none"})
	require.NoError(t, err)
	stats, names, err = ManifestStats(columns, none)
	require.NoError(t, err)
	require.NotNil(t, names)
	require.Empty(t, names)
	require.Empty(t, stats.NullCounts)
	require.Equal(t, make([]byte, 12), stats.Min)
	require.Equal(t, make([]byte, 12), stats.Max)
}

func TestParseStatsMode_Refuses(t *testing.T) {
	for _, s := range []string{"", "truncate", "truncate()", "truncate(0)", "truncate(-1)", "truncate(16", "min"} {
		_, err := ParseStatsMode(s)
		require.ErrorContains(t, err, "truncate(n)", s)
	}
	fields := fieldsOf(false, schema.Of(schema.Int))
	for _, options := range []map[string]string{
		{"metadata.stats-mode": "x"}, {"fields.c0.stats-mode": "x"}, {"metadata.stats-keep-first-n-columns": "x"},
	} {
		_, err := StatsModes(fields, options)
		require.Error(t, err)
	}
	_, _, err := ManifestStats(make([]ColumnStats, 2), make([]StatsMode, 1))
	require.Error(t, err)
}
