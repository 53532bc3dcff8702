package row_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// everyLayout are types of every layout.
func everyLayout() []schema.Type {
	return []schema.Type{
		schema.Of(schema.Int), schema.Of(schema.BigInt), schema.Of(schema.Float), schema.Of(schema.Double), schema.StringType(),
		{Kind: schema.Decimal, Precision: 30, Scale: 2},
		{Kind: schema.Timestamp, Precision: 9},
	}
}

func checksum(t *testing.T, types []schema.Type, rows [][]string) *row.Checksum {
	t.Helper()
	var c row.Checksum
	for part := range slices.Chunk(rows, 3) {
		b := row.NewBatch(types)
		for _, r := range part {
			for i, text := range r {
				if text == "NULL" {
					b.Columns[i].AppendNull()
					continue
				}
				v, err := row.ParseText(types[i], text)
				require.NoError(t, err)
				b.Columns[i].Append(v)
			}
			b.Rows++
		}
		c.Add(b)
	}
	return &c
}

func TestChecksumIsOfRowsInAnyOrder(t *testing.T) {
	types := everyLayout()
	rows := [][]string{
		{"1", "2", "0.5", "0.25", "a", "1.00", "2024-01-02T03:04:05.000000006"},
		{"1", "2", "0.5", "0.25", "a", "1.00", "2024-01-02T03:04:05.000000006"},
		{"0", "0", "0", "0", "", "0.00", "1970-01-01T00:00:00.000000000"},
		{"NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"},
		{"7", "8", "NULL", "9", "z", "-1.00", "1960-01-02T03:04:05.000000007"},
	}
	want := checksum(t, types, rows)
	require.Equal(t, int64(5), want.Rows)
	for range 10 {
		rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		require.True(t, want.Same(checksum(t, types, rows)))
	}
	for i := range types {
		for r := range rows {
			old := rows[r][i]
			for _, other := range []string{"NULL", map[bool]string{true: "2001-01-01T00:00:00.000000000", false: "5"}[i == 6]} {
				rows[r][i] = other
				require.Equal(t, old == other, want.Same(checksum(t, types, rows)), "%s in place of %s", other, old)
			}
			rows[r][i] = old
		}
	}
	require.False(t, want.Same(checksum(t, types, append(rows, rows[0]))))
	require.False(t, want.Same(checksum(t, types, rows[1:])))
	replaced := slices.Clone(rows)
	replaced[0] = rows[1]
	require.Equal(t, slices.Equal(rows[0], rows[1]), want.Same(checksum(t, types, replaced)), "one row for another")
}

// Values that change places between two columns of one type are other rows.
func TestChecksumKnowsColumns(t *testing.T) {
	types := []schema.Type{schema.StringType(), schema.StringType()}
	a := checksum(t, types, [][]string{{"x", "y"}, {"ab", "c"}})
	require.False(t, a.Same(checksum(t, types, [][]string{{"y", "x"}, {"ab", "c"}})))
	require.False(t, a.Same(checksum(t, types, [][]string{{"x", "y"}, {"a", "bc"}})))
	require.False(t, a.Same(checksum(t, types, [][]string{{"x", "c"}, {"ab", "y"}})))
}

func BenchmarkChecksum(b *testing.B) {
	types := everyLayout()
	batch := row.NewBatch(types)
	for range 4096 {
		for i, text := range []string{"1", "2", "0.5", "0.25", "some text of a row", "1.00", "2024-01-02T03:04:05.000000006"} {
			v, err := row.ParseText(types[i], text)
			require.NoError(b, err)
			batch.Columns[i].Append(v)
		}
		batch.Rows++
	}
	var c row.Checksum
	for b.Loop() {
		c.Add(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(c.Rows), "ns/row")
}
