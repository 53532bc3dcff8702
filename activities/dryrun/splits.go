package dryrun

import (
	"slices"

	"github.com/tributary-lake/tributary/source"
)

// SplitRows is the spread of the rows of splits.
type SplitRows struct {
	Min    int64 `json:"min"`
	Median int64 `json:"median"`
	Max    int64 `json:"max"`
}

// Spread of the rows of splits.
func Spread(splits []source.Split) SplitRows {
	if len(splits) == 0 {
		return SplitRows{}
	}
	rows := make([]int64, len(splits))
	for i, s := range splits {
		rows[i] = s.Rows
	}
	slices.Sort(rows)
	return SplitRows{Min: rows[0], Median: rows[len(rows)/2], Max: rows[len(rows)-1]}
}
