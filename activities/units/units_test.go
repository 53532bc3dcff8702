package units_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities/units"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// drafted are shards with so many rows and bytes each, cut into splits of 250,000 rows.
func drafted(shards int, rows, bytes int64) (tables []source.Table, splits [][]source.Split) {
	for i := range shards {
		var cut []source.Split
		for left := rows; left > 0; left -= 250_000 {
			cut = append(cut, source.Split{Shard: i, Rows: min(left, 250_000)})
		}
		tables = append(tables, source.Table{Shard: source.Shard{Instance: "a", Database: "shop", Table: fmt.Sprint("t", i)}, Rows: rows, Bytes: bytes})
		splits = append(splits, cut)
	}
	return tables, splits
}

// packed is the number of units, each split of which is there once and in order.
func packed(t *testing.T, tables []source.Table, splits [][]source.Split, rows, fileBytes int64) int {
	t.Helper()
	made := units.Of(units.Shards{Tables: tables, Splits: splits, Outputs: make([][]source.Output, len(tables))},
		units.Spec{Consistency: units.Split, PackRows: rows, FileBytes: fileBytes, Parallelism: 4}).Units
	next := 0
	for i, u := range made {
		require.Equal(t, i, u.ID)
		for _, s := range u.Splits {
			require.Equal(t, next, s.Number)
			next++
		}
	}
	require.Equal(t, len(slices.Concat(splits...)), next)
	return len(made)
}

const mib = 1 << 20

// However small the splits, a unit makes a file of about the target size, as long as every reader has some units.
func TestUnitsMakeFilesOfTheTargetSize(t *testing.T) {
	for name, c := range map[string]struct {
		shards      int
		rows, bytes int64
		fileSize    int64
		least, most int
	}{
		"a thousand shards of 200 rows are one unit":                                   {1000, 200, 16 << 10, 256 * mib, 1, 1},
		"400 million narrow rows of 20 GiB in 1,600 splits: 512 MiB of them at a time": {4, 100_000_000, 5 << 30, 256 * mib, 40, 60},
		"a table of seconds has enough splits for four readers, and no more":           {4, 1_000_000, 52 * mib, 256 * mib, 16, 16},
		"units grow as soon as there are enough":                                       {4, 4_000_000, 208 * mib, 256 * mib, 16, 20},
		"of wide rows a split makes a file":                                            {4, 1_000_000, 4 << 30, 256 * mib, 16, 16},
		"files that shall be small":                                                    {4, 100_000_000, 5 << 30, 32 * mib, 320, 400},
		"files that would take too long to make again":                                 {4, 100_000_000, 50 << 30, 8 << 30, 200, 220},
	} {
		t.Run(name, func(t *testing.T) {
			tables, splits := drafted(c.shards, c.rows, c.bytes)
			n := packed(t, tables, splits, 250_000, c.fileSize)
			require.GreaterOrEqual(t, n, c.least)
			require.LessOrEqual(t, n, c.most)
		})
	}
}

// Without estimates of the server the rows of splits decide; a number of splits that the job names is left alone.
func TestUnitsWithoutEstimates(t *testing.T) {
	tables, splits := drafted(4, 10_000_000, 1<<30)
	for i := range tables {
		tables[i].Rows, tables[i].Bytes = 0, 0
	}
	require.Equal(t, 160, packed(t, tables, splits, 250_000, 256*mib))
	tables, splits = drafted(1000, 200, 16<<10)
	require.Equal(t, 1000, packed(t, tables, splits, 0, 256*mib))
}

// Shards of which nothing is read, such as those whose window is empty, make no unit and need no moment, whatever the consistency.
func TestNoUnitOfNothing(t *testing.T) {
	tables, splits := drafted(3, 10, 100)
	for i := range tables {
		tables[i].Shard.Instance = string(rune('a' + i))
	}
	for _, consistency := range []string{units.Split, units.Shard, units.Instance} {
		of := func(splits ...[]source.Split) []ledger.Unit {
			return units.Of(units.Shards{Tables: tables, Splits: splits, Outputs: make([][]source.Output, len(tables))},
				units.Spec{Consistency: consistency, PackRows: 250_000, FileBytes: mib, Parallelism: 4}).Units
		}
		require.Empty(t, of(nil, nil, nil), consistency)
		made := of(nil, splits[1], nil)
		require.Len(t, made, 1, consistency)
		require.Equal(t, tables[1].Shard, made[0].Splits[0].Shard)
	}
}
