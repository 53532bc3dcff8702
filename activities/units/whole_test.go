package units_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities/units"
	"github.com/tributary-lake/tributary/source"
)

// Every split list, as planned, becomes one that holds all keys; what the bounds between splits are stays.
func TestWholeHoldsEveryKey(t *testing.T) {
	ab := []string{"a", "b"}
	keys := func(lower, upper []string) source.Split {
		return source.Split{Keys: &source.KeyRange{Columns: ab, Lower: lower, Upper: upper}}
	}
	nulls := source.Split{Keys: &source.KeyRange{Columns: ab[:1], Nullable: true, Null: true}}
	nullable := func(lower, upper []string) source.Split {
		return source.Split{Keys: &source.KeyRange{Columns: ab[:1], Nullable: true, Lower: lower, Upper: upper}}
	}
	integers := func(unsigned bool, lower, upper string) source.Split {
		return source.Split{Range: &source.Range{Column: "id", Lower: lower, Upper: upper, Unsigned: unsigned}}
	}
	one, two := []string{"1", "2"}, []string{"3", "4"}
	for name, c := range map[string]struct{ planned, want []source.Split }{
		"empty":   {nil, []source.Split{{}}},
		"no key":  {[]source.Split{{}}, []source.Split{{}}},
		"integer": {[]source.Split{integers(false, "5", "6")}, []source.Split{integers(false, "-9223372036854775808", "9223372036854775807")}},
		"integers": {
			[]source.Split{integers(true, "5", "6"), integers(true, "7", "8"), integers(true, "9", "9")},
			[]source.Split{integers(true, "0", "6"), integers(true, "7", "8"), integers(true, "9", "18446744073709551615")},
		},
		"one range":   {[]source.Split{keys(nil, one)}, []source.Split{{}}},
		"two ranges":  {[]source.Split{keys(nil, one), keys(one, two)}, []source.Split{keys(nil, one), keys(one, nil)}},
		"only NULLs":  {[]source.Split{nulls}, []source.Split{nullable(nil, nil), nulls}},
		"one, NULLs":  {[]source.Split{nullable(nil, one[:1]), nulls}, []source.Split{nullable(nil, nil), nulls}},
		"many, NULLs": {[]source.Split{nullable(nil, one[:1]), nullable(one[:1], two[:1]), nulls}, []source.Split{nullable(nil, one[:1]), nullable(one[:1], nil), nulls}},
	} {
		require.Equal(t, c.want, units.Whole(c.planned), name)
	}
}
