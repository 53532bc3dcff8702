package condition

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/source"
)

func TestConditionsStayWithinTheirBrackets(t *testing.T) {
	for _, good := range []string{
		"", "a = 1", "a = 1 OR b = 2", "(a = 1) OR (b IN (1,2))", "name = ')'", `name = '\')'`, `name = "it's)"`, "`odd)name` = 1",
		"name = 'it''s (' AND b > 0", "note LIKE '%--%' OR note = '#;/*'", "a - -1 > 0", "id IN (SELECT id FROM other WHERE x = ')')",
		`a = '\\' AND b = 1`, "id > 1500 -- the newest", "a = 1 # ) not this\nAND b = 2", "a = 1 --\t(\n", "a --1 > (0)",
	} {
		require.NoError(t, Check(good), good)
	}
	for _, bad := range []string{
		"1=1) OR (1=1", "1=1) UNION ALL SELECT * FROM t WHERE (1=1", ")", "(", "a = 'x", "(a = 1 -- )", "(a = 1 # )", "a = 1 /* x */", "a = 1 /*! OR 1=1 */",
		"a --1 > 0)",
		"a = 1; DROP TABLE t", `a = '\'`, "a = `b", `a = '\\\') OR (1=1`,
	} {
		require.ErrorIs(t, Check(bad), source.ErrRefused, bad)
	}
}

func FuzzCondition(f *testing.F) {
	f.Add("a = 'x' AND (b)")
	f.Fuzz(func(t *testing.T, where string) {
		if Check(where) != nil {
			return
		}
		// What is accepted stays accepted as a part of a larger condition, and a bracket too many never is.
		require.NoError(t, Check("(\n"+where+"\n) AND (1=1)"))
		require.Error(t, Check(where+"\n)"))
	})
}
