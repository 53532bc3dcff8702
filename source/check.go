package source

import (
	"errors"
	"fmt"
	"slices"
)

// CheckPlan proves that the splits read every key of a shard between its bounds once. The splits of a shard stand
// together and are one of:
//   - one split without bounds;
//   - ranges of one integer column that follow each other in ascending order without gap or overlap;
//   - a chain of key ranges of the same columns: the first has no lower bound, the lower bound of each other one is byte
//     for byte the upper bound of the one before, and, when the column may be NULL, one split of NULLs ends it.
//
// Keys of a chain are not compared here, where nobody knows their collation. A chain loses none whatever their order: a
// key up to the last bound is in the range that ends at the first bound which is not below it. It repeats none as long as
// the bounds ascend, which the planner takes care of: it asks the source for the next key above the last bound.
func CheckPlan(splits []Split) error {
	done := map[int]bool{}
	for i := 0; i < len(splits); {
		j := i + 1
		for j < len(splits) && splits[j].Shard == splits[i].Shard {
			j++
		}
		shard := splits[i].Shard
		if done[shard] {
			return fmt.Errorf("plan: the splits of shard %d do not stand together", shard)
		}
		done[shard] = true
		if err := checkShard(splits[i:j]); err != nil {
			return fmt.Errorf("plan: shard %d: %w", shard, err)
		}
		i = j
	}
	return nil
}

func checkShard(splits []Split) error {
	for i, s := range splits {
		switch first := splits[0]; {
		case s.Range != nil && s.Keys != nil:
			return fmt.Errorf("split %d has bounds of two kinds", i)
		case s.Range == nil && s.Keys == nil && len(splits) > 1:
			return fmt.Errorf("split %d is the whole shard, but there are %d splits", i, len(splits))
		case (s.Range == nil) != (first.Range == nil):
			return fmt.Errorf("split %d has bounds of another kind than the first", i)
		}
	}
	switch {
	case splits[0].Range != nil:
		return checkRanges(splits)
	case splits[0].Keys != nil:
		return checkChain(splits)
	}
	return nil
}

func checkRanges(splits []Split) error {
	first := splits[0].Range
	var last uint64
	for i, s := range splits {
		if s.Range.Column != first.Column || s.Range.Unsigned != first.Unsigned {
			return fmt.Errorf("split %d is a range of %q, but the first is one of %q", i, s.Range.Column, first.Column)
		}
		lower, upper, err := s.Range.Places()
		if err != nil {
			return fmt.Errorf("split %d: %w", i, err)
		}
		if i > 0 && (last == 1<<64-1 || lower != last+1) {
			return fmt.Errorf("split %d begins at %s, but the one before it ends at %s", i, s.Range.Lower, splits[i-1].Range.Upper)
		}
		last = upper
	}
	return nil
}

// checkChain proves a chain of key ranges, of which the last may be that of the NULLs.
func checkChain(splits []Split) error {
	first := splits[0].Keys
	chain := splits
	if n := len(splits) - 1; splits[n].Keys.Null {
		chain = splits[:n]
		if len(splits[n].Keys.Lower)+len(splits[n].Keys.Upper) > 0 {
			return fmt.Errorf("split %d is that of the NULLs, but has bounds", n)
		}
	} else if first.Nullable {
		return fmt.Errorf("%q may be NULL, but no split reads such rows after the others", first.Columns)
	}
	for i, s := range splits {
		if err := checkKeys(*s.Keys, *first); err != nil {
			return fmt.Errorf("split %d: %w", i, err)
		}
	}
	var last []string
	for i, s := range chain {
		k := s.Keys
		switch {
		case k.Null:
			return fmt.Errorf("split %d is that of the NULLs, but not the last", i)
		case !slices.Equal(k.Lower, last):
			return fmt.Errorf("split %d begins after %q, but the one before it ends at %q", i, k.Lower, last)
		case len(k.Upper) != len(k.Columns):
			return fmt.Errorf("split %d has an upper bound of %d values for %d columns", i, len(k.Upper), len(k.Columns))
		case slices.Equal(k.Lower, k.Upper):
			return fmt.Errorf("split %d is empty: it begins and ends at %q", i, k.Upper)
		}
		last = k.Upper
	}
	return nil
}

// checkKeys compares a key range with the first of its shard.
func checkKeys(k, first KeyRange) error {
	switch {
	case len(k.Columns) == 0:
		return errors.New("a key range without columns")
	case !slices.Equal(k.Columns, first.Columns) || k.Nullable != first.Nullable:
		return fmt.Errorf("a range of %q, but the first is one of %q", k.Columns, first.Columns)
	case k.Nullable && len(k.Columns) > 1:
		return fmt.Errorf("a range of %q, which may be NULL: that is possible for one column only", k.Columns)
	case k.Null && !k.Nullable:
		return fmt.Errorf("NULLs of %q, which is never NULL", k.Columns)
	}
	return nil
}
