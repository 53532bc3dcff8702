package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpreadOf(t *testing.T) {
	require.Equal(t, spread{}, spreadOf(nil))
	require.Equal(t, spread{Min: 7, Median: 7, Max: 7}, spreadOf([]float64{7}))
	// The middle of an odd number of values is one of them; of an even number it is the mean of the middle two.
	require.Equal(t, spread{Min: 1, Median: 3, Max: 9}, spreadOf([]float64{9, 1, 3}))
	require.Equal(t, spread{Min: 1, Median: 2.5, Max: 4}, spreadOf([]float64{4, 1, 3, 2}))
	require.Equal(t, spread{Min: 5, Median: 6, Max: 7}, spreadOf([]float64{7, 5}))

	values := []float64{3, 1, 2}
	spreadOf(values)
	require.Equal(t, []float64{3, 1, 2}, values, "the caller's values keep their order")
}

func TestChange(t *testing.T) {
	require.InDelta(t, 50, change(2, 3), 1e-9)
	require.InDelta(t, -25, change(4, 3), 1e-9)
	require.Zero(t, change(0, 3), "nothing before is no change")
}
