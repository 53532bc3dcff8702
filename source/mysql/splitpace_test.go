package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThinning has more bounds than a shard may have: each two splits become one, and those to come get twice the rows.
func TestThinning(t *testing.T) {
	b := &bounds{pace: &pace{rows: 10}}
	var last []string
	for range MostSplits - 1 {
		last = []string{"1"}
		b.add(last, 10)
	}
	require.Len(t, b.all, MostSplits/2-1)
	require.EqualValues(t, 20, b.pace.step(0))
	for _, one := range b.all {
		require.EqualValues(t, 20, one.rows)
	}
	b = &bounds{pace: &pace{rows: 10}}
	long := string(make([]byte, mostBoundBytes/4+1))
	for i := range 4 {
		b.add([]string{long, string(rune('a' + i))}, 10)
	}
	require.Len(t, b.all, 2, "bounds are held to memory too")
	require.Equal(t, "b", b.all[0].key[1])
	require.Equal(t, "d", b.key()[1])
}

// TestPace divides rows into a number of parts, for counts that do not go up.
func TestPace(t *testing.T) {
	p := &pace{parts: 7, total: 10}
	var steps []int64
	for i := 0; !p.last(i); i++ {
		steps = append(steps, p.step(i))
	}
	require.Equal(t, []int64{1, 1, 2, 1, 2, 1}, steps, "and 2 for the last")
	p = &pace{parts: 3, total: 0}
	require.EqualValues(t, 1, p.step(0), "a step goes ahead")
	require.True(t, p.last(2))
}
