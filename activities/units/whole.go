package units

import (
	"github.com/tributary-lake/tributary/source"
)

// The ends of 64-bit integers as the source writes them.
const (
	lowest, highest = "-9223372036854775808", "9223372036854775807"
	highestUnsigned = "18446744073709551615"
)

// Whole makes the splits of a shard hold every key, not only those between its bounds at plan time: a moment comes later, and all
// rows that are there then are read. A shard that was empty gets one split. The splits given are not changed.
func Whole(splits []source.Split) []source.Split {
	out := make([]source.Split, 0, len(splits)+1)
	last := len(splits) - 1 // of those with bounds
	if last >= 0 && splits[last].Keys != nil && splits[last].Keys.Null {
		last--
	}
	if last < 0 {
		first := source.Split{}
		if len(splits) > 0 {
			first.Keys = &source.KeyRange{Columns: splits[0].Keys.Columns, Nullable: true}
		}
		out = append(out, first)
	}
	for i, s := range splits {
		switch {
		case s.Range != nil && (i == 0 || i == last):
			r := *s.Range
			s.Range = widened(r, i == 0, i == last)
		case s.Keys != nil && i == last:
			k := *s.Keys
			k.Upper = nil
			s.Keys = &k
			if len(k.Lower) == 0 && !k.Nullable {
				s.Keys = nil
			}
		}
		out = append(out, s)
	}
	return out
}

func widened(r source.Range, first, last bool) *source.Range {
	from, to := lowest, highest
	if r.Unsigned {
		from, to = "0", highestUnsigned
	}
	if first {
		r.Lower = from
	}
	if last {
		r.Upper = to
	}
	return &r
}
