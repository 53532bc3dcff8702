package source

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
)

// signBit turns the order of two's complement into that of unsigned numbers.
const signBit = 1 << 63

// place is where a bound stands in the order of its column's 2^64 possible values.
func place(bound string, unsigned bool) (uint64, error) {
	if unsigned {
		v, err := strconv.ParseUint(bound, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("bound %q is not an unsigned 64-bit integer", bound)
		}
		return v, nil
	}
	v, err := strconv.ParseInt(bound, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("bound %q is not a 64-bit integer", bound)
	}
	return uint64(v) ^ signBit, nil
}

// bound is the value at a place.
func bound(place uint64, unsigned bool) string {
	if unsigned {
		return strconv.FormatUint(place, 10)
	}
	return strconv.FormatInt(int64(place^signBit), 10)
}

// Places is the range's bounds as positions in the order of the column's values: lower ≤ upper, differences are exact.
// It refuses bounds that are not 64-bit integers of the range's signedness, or are in the wrong order.
func (r Range) Places() (lower, upper uint64, err error) {
	if lower, err = place(r.Lower, r.Unsigned); err != nil {
		return 0, 0, err
	}
	if upper, err = place(r.Upper, r.Unsigned); err != nil {
		return 0, 0, err
	}
	if lower > upper {
		return 0, 0, fmt.Errorf("range of %q from %s to %s is in the wrong order", r.Column, r.Lower, r.Upper)
	}
	return lower, upper, nil
}

// Cut divides the range into n parts of equal width, give or take one value, in ascending order and without gaps.
// It gives fewer when the range holds fewer than n values, and at least one. Nothing overflows: the range may be all 2^64 values.
func (r Range) Cut(n int) ([]Range, error) {
	lower, upper, err := r.Places()
	if err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, errors.New("a range cannot be cut into less than one part")
	}
	span := upper - lower // the number of values, less one
	if uint64(n-1) > span {
		n = int(span + 1)
	}
	parts := make([]Range, n)
	for i := range parts {
		from := lower + share(span, uint64(i), uint64(n))
		to := upper
		if i+1 < n {
			to = lower + share(span, uint64(i+1), uint64(n)) - 1
		}
		parts[i] = Range{Column: r.Column, Lower: bound(from, r.Unsigned), Upper: bound(to, r.Unsigned), Unsigned: r.Unsigned}
	}
	return parts, nil
}

// CutAt divides the range after each of the given values, which ascend and lie within it below its upper bound.
func (r Range) CutAt(after []string) ([]Range, error) {
	lower, upper, err := r.Places()
	if err != nil {
		return nil, err
	}
	parts := make([]Range, 0, len(after)+1)
	for _, a := range after {
		at, err := place(a, r.Unsigned)
		if err != nil {
			return nil, err
		}
		if at < lower || at >= upper {
			return nil, fmt.Errorf("range of %q from %s to %s cannot be cut after %s", r.Column, bound(lower, r.Unsigned), r.Upper, a)
		}
		parts = append(parts, Range{Column: r.Column, Lower: bound(lower, r.Unsigned), Upper: bound(at, r.Unsigned), Unsigned: r.Unsigned})
		lower = at + 1 // at is below upper
	}
	return append(parts, Range{Column: r.Column, Lower: bound(lower, r.Unsigned), Upper: r.Upper, Unsigned: r.Unsigned}), nil
}

// share is floor((span+1)*i/n) for i < n, in 128 bits: span+1 may be 2^64.
func share(span, i, n uint64) uint64 {
	hi, lo := bits.Mul64(span, i)
	lo, carry := bits.Add64(lo, i, 0)
	q, _ := bits.Div64(hi+carry, lo, n) // hi+carry < n, as (span+1)*i < 2^64*n
	return q
}

// Parts is into how many splits a shard goes: rows over target, rounded up, but no more than values in the range,
// and no more than most. Span is the number of values in the range, less one.
func Parts(rows, target int64, span uint64, most int) int {
	if rows < 1 || target < 1 {
		return 1
	}
	n := (rows-1)/target + 1
	if uint64(n-1) > span {
		n = int64(span) + 1 // span is below n here
	}
	return int(min(n, int64(most)))
}
