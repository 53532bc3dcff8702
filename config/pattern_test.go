package config

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPattern_Match(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"orders_*", []string{"orders_", "orders_1", "orders_a_b"}, []string{"orders", "Orders_1", "xorders_1", "orders-1"}},
		{"*", []string{"", "a", "a\nb", "表"}, nil},
		{"a?c", []string{"abc", "a表c", "a.c"}, []string{"ac", "abbc"}},
		{"t[0-9]", []string{"t0", "t9"}, []string{"ta", "t10", "t"}},
		{"t[!0-9]", []string{"ta"}, []string{"t0", "t"}},
		{"t[^ab]", []string{"tc"}, []string{"ta"}},
		{"t[a-c_x-z]", []string{"tb", "t_", "ty"}, []string{"td", "t-"}},
		{"t[-a]", []string{"t-", "ta"}, []string{"tb"}},
		{"t[a-]", []string{"t-", "ta"}, []string{"tb"}},
		{`a\*b`, []string{"a*b"}, []string{"axb"}},
		{`t[\]x]`, []string{"t]", "tx"}, []string{"ty"}},
		{"a.b+(c)$", []string{"a.b+(c)$"}, []string{"axb+(c)$"}},
		{"/^mall_[0-9]+$/", []string{"mall_12"}, []string{"mall_", "xmall_1"}},
		{"/all/", []string{"mall_12", "all"}, []string{"ALL"}},
		{"/(?i)all/", []string{"ALL"}, []string{"al"}},
		{"表_*", []string{"表_1"}, []string{"表1"}},
	} {
		p, err := ParsePattern(c.pattern)
		require.NoError(t, err, c.pattern)
		for _, name := range c.yes {
			require.True(t, p.Match(name), "%s should match %q", c.pattern, name)
		}
		for _, name := range c.no {
			require.False(t, p.Match(name), "%s should not match %q", c.pattern, name)
		}
	}
}

func TestPattern_Lists(t *testing.T) {
	p, err := ParsePattern("a*", "/^b$/")
	require.NoError(t, err)
	require.True(t, p.Match("ab"))
	require.True(t, p.Match("b"))
	require.False(t, p.Match("bb"))
	require.Equal(t, "a*, /^b$/", p.String())
	written, err := p.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `["a*", "/^b$/"]`, string(written))

	single, err := ParsePattern("a*")
	require.NoError(t, err)
	written, err = single.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `"a*"`, string(written))

	require.True(t, Pattern{}.IsZero())
	require.False(t, Pattern{}.Match(""))
	for _, bad := range []string{"", "/", "//", "/a", "/(/", "[", "[]", "[!]", "[a", `a\`, "[b-a]"} {
		_, err := ParsePattern("ok", bad)
		require.Error(t, err, "%q", bad)
	}
}

// Go's path.Match knows the same globs for names without a slash.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"orders_*", "orders_1"}, {"a?[b-d]", "axc"}, {"[^a]*", "bcd"}, {`\*`, "*"}, {"[a-]", "-"}, {"[]a]", "a"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		want, err := path.Match(glob, name)
		if err != nil || glob == "" || glob[0] == '/' || !isPlain(glob) || !isPlain(name) {
			return
		}
		p, err := ParsePattern(glob)
		if err != nil {
			return // Stricter about sets: [b-a] is an error here, there it matches nothing.
		}
		require.Equal(t, want, p.Match(name), "%q %q", glob, name)
	})
}

// isPlain reports text on which both must agree: no slash, which path.Match treats apart, no ! which only we negate by,
// and no bytes that are not text.
func isPlain(s string) bool {
	for _, r := range s {
		if r == '/' || r == '!' || r == '\uFFFD' {
			return false
		}
	}
	return true
}
