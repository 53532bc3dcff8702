package main

import "slices"

// spread is the least, the middle and the greatest of some numbers.
type spread struct{ Min, Median, Max float64 }

// spreadOf is the spread of values; the median of an even number of them is the mean of the middle two. Without values
// it is zero.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return spread{Min: v[0], Median: (v[(n-1)/2] + v[n/2]) / 2, Max: v[n-1]}
}

// change is how much now is above before, in percent.
func change(before, now float64) float64 {
	if before == 0 {
		return 0
	}
	return (now - before) / before * 100
}
