package source

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
)

// checkCut proves with big integers that the parts are the range: it starts and ends where they do, and each part
// begins one after the end of the one before. Widths differ by one at most.
func checkCut(t *testing.T, r Range, n int) {
	t.Helper()
	parts, err := r.Cut(n)
	require.NoError(t, err)
	number := func(s string) *big.Int {
		v, ok := new(big.Int).SetString(s, 10)
		require.True(t, ok, s)
		return v
	}
	one := big.NewInt(1)
	values := new(big.Int).Sub(number(r.Upper), number(r.Lower))
	values.Add(values, one)
	want := n
	if values.Cmp(big.NewInt(int64(n))) < 0 {
		want = int(values.Int64())
	}
	require.Len(t, parts, want)
	next := number(r.Lower)
	narrow := new(big.Int).Div(values, big.NewInt(int64(want)))
	splits := make([]Split, len(parts))
	for i, p := range parts {
		require.Equal(t, 0, next.Cmp(number(p.Lower)), "part %d of %d of %v", i, n, r)
		width := new(big.Int).Sub(number(p.Upper), number(p.Lower))
		width.Add(width, one)
		extra := new(big.Int).Sub(width, narrow)
		require.True(t, extra.Sign() == 0 || extra.Cmp(one) == 0, "part %d of %d of %v has width %s", i, n, r, width)
		next.Add(number(p.Upper), one)
		require.Equal(t, r.Column, p.Column)
		require.Equal(t, r.Unsigned, p.Unsigned)
		splits[i].Range = &parts[i]
	}
	require.Equal(t, 0, next.Sub(next, one).Cmp(number(r.Upper)))
	require.NoError(t, CheckPlan(splits))
}

func TestCut(t *testing.T) {
	const least, most, top = "-9223372036854775808", "9223372036854775807", "18446744073709551615"
	for _, n := range []int{1, 2, 3, 7, 100, 1000} {
		for _, r := range []Range{
			{Lower: "1", Upper: "1"},
			{Lower: "-1", Upper: "0"},
			{Lower: "-5", Upper: "5"},
			{Lower: least, Upper: most},
			{Lower: least, Upper: least},
			{Lower: most, Upper: most},
			{Lower: least, Upper: "-9223372036854775806"},
			{Lower: "0", Upper: most},
			{Lower: "1", Upper: "1000"},
			{Lower: "0", Upper: top, Unsigned: true},
			{Lower: "18446744073709551614", Upper: top, Unsigned: true},
			{Lower: top, Upper: top, Unsigned: true},
			{Lower: "9223372036854775807", Upper: "9223372036854775808", Unsigned: true},
			{Lower: "0", Upper: "0", Unsigned: true},
		} {
			r.Column = "id"
			checkCut(t, r, n)
		}
	}
	random := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		a, b := random.Uint64()>>random.IntN(64), random.Uint64()>>random.IntN(64)
		unsigned := random.IntN(2) == 0
		if !unsigned {
			a, b = a^signBit, b^signBit
		}
		checkCut(t, Range{Column: "k", Lower: bound(min(a, b), unsigned), Upper: bound(max(a, b), unsigned), Unsigned: unsigned}, 1+random.IntN(200))
	}
	for _, bad := range []Range{
		{Lower: "2", Upper: "1"},
		{Lower: "", Upper: "1"},
		{Lower: "1 OR 1=1", Upper: "1"},
		{Lower: "9223372036854775808", Upper: "9223372036854775808"},
		{Lower: "-1", Upper: "1", Unsigned: true},
		{Lower: "0", Upper: "18446744073709551616", Unsigned: true},
		{Lower: "1", Upper: "x"},
	} {
		_, err := bad.Cut(2)
		require.Error(t, err, "%v", bad)
	}
	_, err := Range{Lower: "1", Upper: "2"}.Cut(0)
	require.Error(t, err)
}

func TestParts(t *testing.T) {
	for _, c := range []struct {
		rows, target int64
		span         uint64
		want         int
	}{
		{0, 100, 1e18, 1},
		{1, 100, 0, 1},
		{100, 100, 1e6, 1},
		{101, 100, 1e6, 2},
		{1e6, 100, 1e6, 1000},
		{1 << 62, 1, 1<<64 - 1, 1000},
		{1 << 62, 1, 9, 10},
		{1000, 100, 3, 4},
		{50, 0, 50, 1},
		{-1, 10, 50, 1},
	} {
		require.Equal(t, c.want, Parts(c.rows, c.target, c.span, 1000), "%+v", c)
	}
}

func TestCheckPlan(t *testing.T) {
	split := func(shard int, lower, upper string) Split {
		return Split{Shard: shard, Range: &Range{Column: "id", Lower: lower, Upper: upper}}
	}
	require.NoError(t, CheckPlan(nil))
	require.NoError(t, CheckPlan([]Split{{Shard: 3}, split(1, "-5", "0"), split(1, "1", "9"), {Shard: 0}}))
	other := split(1, "10", "12")
	other.Range.Column = "ID2"
	unsigned := split(1, "10", "12")
	unsigned.Range.Unsigned = true
	for message, splits := range map[string][]Split{
		"do not stand together": {{Shard: 1}, {Shard: 2}, {Shard: 1}},
		"the whole shard":       {{Shard: 1}, {Shard: 1}},
		"is the whole shard":    {split(1, "1", "2"), {Shard: 1}},
		"begins at 2":           {split(1, "1", "2"), split(1, "2", "3")},
		"begins at 4":           {split(1, "1", "2"), split(1, "4", "5")},
		"begins at 1":           {split(1, "5", "6"), split(1, "1", "2")},
		"wrong order":           {split(1, "2", "1")},
		"is not a 64-bit":       {split(1, "one", "1")},
		`of "ID2"`:              {split(1, "1", "9"), other},
		`range of "id"`:         {split(1, "1", "9"), unsigned},
		"begins at -9223372036854775808": {
			split(1, "0", "9223372036854775807"), split(1, "-9223372036854775808", "-1"),
		},
	} {
		require.ErrorContains(t, CheckPlan(splits), message)
	}
}

// TestCheckChain breaks a chain of key ranges in every way. The order of its bounds is not looked at.
func TestCheckChain(t *testing.T) {
	columns := []string{"a", "b"}
	chain := func(bounds ...[]string) []Split {
		var splits []Split
		var lower []string
		for _, b := range bounds {
			splits = append(splits, Split{Keys: &KeyRange{Columns: columns, Lower: lower, Upper: b}})
			lower = b
		}
		return splits
	}
	whole := func() []Split { return chain([]string{"1", "'z'"}, []string{"1", "'É'"}, []string{"0", "'a'"}) }
	nullable := func() []Split {
		return []Split{
			{Keys: &KeyRange{Columns: columns[:1], Nullable: true, Upper: []string{"1"}}},
			{Keys: &KeyRange{Columns: columns[:1], Nullable: true, Lower: []string{"1"}, Upper: []string{"2"}}},
			{Keys: &KeyRange{Columns: columns[:1], Nullable: true, Null: true}},
		}
	}
	require.NoError(t, CheckPlan(whole()))
	require.NoError(t, CheckPlan(nullable()))
	require.NoError(t, CheckPlan(nullable()[2:]), "a shard that has NULLs at most")
	for message, change := range map[string]func(s []Split) []Split{
		"split 1 begins after": func(s []Split) []Split { return append(s[:1], s[2:]...) },
		"split 0 begins after": func(s []Split) []Split { return s[1:] },
		"split 2 begins after": func(s []Split) []Split { s[2].Keys.Lower = []string{"1", "'é'"}; return s },
		"is empty":             func([]Split) []Split { return chain([]string{"1", "2"}, []string{"1", "2"}) },
		"1 values for 2":       func(s []Split) []Split { s[2].Keys.Upper = []string{"2"}; return s },
		"0 values for 2":       func(s []Split) []Split { s[2].Keys.Upper = nil; return s },
		"the first is one of":  func(s []Split) []Split { s[1].Keys.Columns = []string{"b", "a"}; return s },
		"without columns":      func(s []Split) []Split { s[0].Keys.Columns = nil; return s },
		"another kind":         func(s []Split) []Split { s[2] = Split{Range: &Range{Column: "a", Lower: "1", Upper: "2"}}; return s },
		"two kinds":            func(s []Split) []Split { s[0].Range = &Range{Column: "a", Lower: "1", Upper: "2"}; return s },
		"which is never NULL":  func(s []Split) []Split { s[2].Keys.Upper, s[2].Keys.Lower, s[2].Keys.Null = nil, nil, true; return s },
		"for one column only": func(s []Split) []Split {
			s = append(s, Split{Keys: &KeyRange{Columns: columns, Null: true}})
			for i := range s {
				s[i].Keys.Nullable = true
			}
			return s
		},
		"split 1 is the whole shard": func(s []Split) []Split { s[1].Keys = nil; return s },
		"do not stand together":      func(s []Split) []Split { s[1] = Split{Shard: 1}; return s },
		"shard 7: split 1 begins": func(s []Split) []Split {
			for i := range s {
				s[i].Shard = 7
			}
			s[1].Keys.Lower = nil
			return s
		},
	} {
		require.ErrorContains(t, CheckPlan(change(whole())), message)
	}
	for message, change := range map[string]func(s []Split) []Split{
		"no split reads such rows": func(s []Split) []Split { return s[:2] },
		"but not the last":         func(s []Split) []Split { return append(s, s[2]) },
		"the first is one of":      func(s []Split) []Split { s[1].Keys.Nullable = false; return s },
		"but has bounds":           func(s []Split) []Split { s[2].Keys.Upper = []string{"9"}; return s },
	} {
		require.ErrorContains(t, CheckPlan(change(nullable())), message)
	}
}

func TestCutAt(t *testing.T) {
	const top = "18446744073709551615"
	r := Range{Column: "id", Lower: "0", Upper: top, Unsigned: true}
	parts, err := r.CutAt([]string{"0", "9223372036854775807", "18446744073709551614"})
	require.NoError(t, err)
	require.Equal(t, []Range{
		{"id", "0", "0", true}, {"id", "1", "9223372036854775807", true}, {"id", "9223372036854775808", "18446744073709551614", true}, {"id", top, top, true},
	}, parts)
	parts, err = Range{Column: "id", Lower: "-5", Upper: "5"}.CutAt(nil)
	require.NoError(t, err)
	require.Equal(t, []Range{{"id", "-5", "5", false}}, parts)
	for _, bad := range [][]string{{top}, {"5", "5"}, {"5", "4"}, {"x"}, {"-1"}} {
		_, err := r.CutAt(bad)
		require.Error(t, err, bad)
	}
	_, err = Range{Lower: "2", Upper: "1"}.CutAt(nil)
	require.Error(t, err)
}

// TestColumns names what a split is bounded by.
func TestColumns(t *testing.T) {
	require.Nil(t, Split{}.Columns())
	require.Equal(t, []string{"id"}, Split{Range: &Range{Column: "id"}}.Columns())
	require.Equal(t, []string{"a", "b"}, Split{Keys: &KeyRange{Columns: []string{"a", "b"}}}.Columns())
}

// TestJSON checks that the types survive the plan file, those with nothing in them too.
func TestJSON(t *testing.T) {
	here := "here"
	in := Read{
		Shard: Shard{"a", "b", "c"}, Split: Split{Shard: 4, Range: &Range{"id", "1", "2", true}, Rows: 7, Note: "why"}, Where: "x > 1",
		Outputs: []Output{
			{Column: Column{Name: "id", Definition: "int", Type: schema.Of(schema.Int).WithNotNull(true), ZeroDate: ZeroDateNull}, Type: schema.Of(schema.BigInt)},
			{Type: schema.StringType(), Constant: &here},
		},
	}
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	var out Read
	require.NoError(t, json.Unmarshal(raw, &out))
	require.Equal(t, in, out)
	in.Split = Split{Keys: &KeyRange{Columns: []string{"a"}, Lower: []string{"_utf8mb4 X'27' COLLATE utf8mb4_bin"}, Upper: []string{"9"}, Nullable: true}}
	raw, err = json.Marshal(in)
	require.NoError(t, err)
	var keys Read
	require.NoError(t, json.Unmarshal(raw, &keys))
	require.Equal(t, in, keys)
	var old Split
	require.NoError(t, json.Unmarshal([]byte(`{"shard":4,"range":{"column":"id","lower":"1","upper":"2","unsigned":true},"rows":7}`), &old))
	require.Equal(t, Split{Shard: 4, Range: &Range{"id", "1", "2", true}, Rows: 7}, old, "plans of before there were other keys")
	raw, err = json.Marshal(Table{Columns: []Column{{Name: "refused"}}})
	require.NoError(t, err)
	require.NotContains(t, string(raw), "type\"")
}
