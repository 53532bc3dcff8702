package keydiff_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/keydiff"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// table has a string and an int as its key, and two values that may be NULL.
func table(t *testing.T) *mergetree.Spec {
	t.Helper()
	s, err := schema.New(schema.Spec{
		Fields: []schema.Field{
			{Name: "v", Type: schema.Of(schema.Double)},
			{Name: "a", Type: schema.StringType()},
			{Name: "b", Type: schema.Of(schema.Int)},
			{Name: "w", Type: schema.StringType()},
		},
		PrimaryKeys: []string{"a", "b"}, Options: map[string]string{"bucket": "1"}, TimeMillis: 1,
	})
	require.NoError(t, err)
	spec, err := mergetree.SpecOf(s)
	require.NoError(t, err)
	return spec
}

type key struct {
	a string
	b int64
}

type values struct{ v, w row.Value }

// rows is a source of rows in batches of random sizes.
type rows struct {
	keys   []key
	of     map[key]values
	random *rand.Rand
	closed bool
}

func source(r *rand.Rand, of map[key]values) *rows {
	keys := slices.Collect(maps.Keys(of))
	slices.SortFunc(keys, func(x, y key) int {
		if x.a != y.a {
			return slices.Compare([]byte(x.a), []byte(y.a))
		}
		return int(x.b - y.b)
	})
	return &rows{keys: keys, of: of, random: r}
}

func (r *rows) Next(_ context.Context, b *row.Batch) error {
	b.Reset()
	if len(r.keys) == 0 {
		return io.EOF
	}
	n := min(1+r.random.IntN(4), len(r.keys))
	for _, k := range r.keys[:n] {
		v := r.of[k]
		for i, x := range []row.Value{{I64: 7}, {I64: int64(row.Insert)}, v.v, {B: []byte(k.a)}, {I64: k.b}, v.w} {
			b.Columns[i].Append(x)
		}
		b.Rows++
	}
	r.keys = r.keys[n:]
	return nil
}

func (r *rows) Close() error { r.closed = true; return nil }

// What is given, applied to what is there, makes what is wanted: a row for each key that differs and for no other, in order.
func TestDiffMakesTheOneOfTheOther(t *testing.T) {
	spec := table(t)
	r := rand.New(rand.NewPCG(1, 2))
	value := func() row.Value {
		if r.IntN(3) == 0 {
			return row.NullValue()
		}
		return row.Value{F64: float64(r.IntN(2)), B: []byte{'x', byte('0' + r.IntN(2))}}
	}
	same, gone, changed := 0, 0, 0
	for range 300 {
		sides := [2]map[key]values{{}, {}}
		for i := range sides {
			for range r.IntN(12) {
				sides[i][key{string(rune('a' + r.IntN(3))), int64(r.IntN(4) - 2)}] = values{value(), value()}
			}
		}
		there, wanted := source(r, sides[0]), source(r, sides[1])
		d := keydiff.New(spec, there, wanted)
		var given []key
		result := maps.Clone(sides[0])
		b := spec.NewBatch()
		for {
			err := d.Next(t.Context(), b)
			if errors.Is(err, io.EOF) {
				require.Zero(t, b.Rows)
				break
			}
			require.NoError(t, err)
			require.Positive(t, b.Rows)
			for i := range b.Rows {
				k := key{string(b.Columns[3].Value(i).B), b.Columns[4].Value(i).I64}
				given = append(given, k)
				if row.Kind(b.Columns[mergetree.KindColumn].I32[i]) == row.Delete {
					require.Contains(t, result, k)
					delete(result, k)
					continue
				}
				v, w := b.Columns[2].Value(i), b.Columns[5].Value(i)
				w.B = slices.Clone(w.B)
				result[k] = values{v, w}
			}
		}
		requireSame(t, sides[1], result)
		var want []key
		var left, equal int64
		for _, k := range source(r, union(sides[0], sides[1])).keys {
			x, was := sides[0][k]
			y, is := sides[1][k]
			switch {
			case was && !is:
				left++
			case was && text(x) == text(y):
				equal++
				continue
			}
			want = append(want, k)
		}
		require.Equal(t, want, given)
		require.Equal(t, left, d.Gone)
		require.Equal(t, equal, d.Same)
		same, gone, changed = same+int(equal), gone+int(left), changed+len(want)
		require.NoError(t, d.Close())
		require.True(t, there.closed && wanted.closed)
	}
	require.Greater(t, min(same, gone, changed-gone), 30)
}

func union(a, b map[key]values) map[key]values {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func text(v values) string {
	s := ""
	if !v.v.Null {
		s = fmt.Sprint(v.v.F64)
	}
	if !v.w.Null {
		s += " " + string(v.w.B)
	}
	return s
}

func requireSame(t *testing.T, want, got map[key]values) {
	t.Helper()
	require.Len(t, got, len(want))
	for k, v := range want {
		require.Equal(t, text(v), text(got[k]), k)
	}
}

// A side with a key twice, or keys in another order, is an error: what it lacks would be taken away.
func TestDiffRefusesDisorder(t *testing.T) {
	spec := table(t)
	r := rand.New(rand.NewPCG(3, 4))
	of := map[key]values{}
	for i := range 20 {
		of[key{"a", int64(i)}] = values{}
	}
	for _, broken := range [][2]int{{3, 4}, {4, 4}} {
		for _, there := range []bool{true, false} {
			good, bad := source(r, of), source(r, of)
			bad.keys[broken[0]], bad.keys[5] = bad.keys[5], bad.keys[broken[1]]
			d := keydiff.New(spec, good, bad)
			if there {
				d = keydiff.New(spec, bad, good)
			}
			var err error
			for b := spec.NewBatch(); err == nil; {
				err = d.Next(t.Context(), b)
			}
			require.ErrorIs(t, err, mergetree.ErrOrder)
		}
	}
}
