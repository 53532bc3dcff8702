package page

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"
)

// A table that is too wide keeps all its text within the width; one that fits is left as it is.
func TestFit(t *testing.T) {
	rows := []table.Row{
		{"a/shop_1/orders_1", 1234567, strings.Repeat("word ", 40), "数据" + strings.Repeat("字", 60)},
		{"a/shop_1/orders_2", 1, "short", strings.Repeat("x", 130)},
	}
	for _, width := range []int{120, 80, 60} {
		w := table.NewWriter()
		style := table.StyleLight
		style.Options = table.OptionsNoBordersAndSeparators
		w.SetStyle(style)
		header := table.Row{"shard", "rows (estimate)", "note", "value"}
		w.AppendHeader(header)
		w.AppendRows(rows)
		Fit(w, header, rows, width)
		out := w.Render()
		for _, line := range strings.Split(out, "\n") {
			require.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), width, line)
		}
		require.Equal(t, 40, strings.Count(out, "word"))
		require.Equal(t, 130, strings.Count(out, "x"))
		require.Equal(t, 60, strings.Count(out, "字"))
	}
	w := table.NewWriter()
	w.AppendRow(table.Row{strings.Repeat("word ", 10)})
	Fit(w, nil, []table.Row{{strings.Repeat("word ", 10)}}, 120)
	require.Contains(t, w.Render(), strings.Repeat("word ", 9)+"word")
}

func TestWidthOfWhatIsNoTerminal(t *testing.T) {
	require.Equal(t, 120, Width(&bytes.Buffer{}))
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, 120, Width(f))
}

func TestShorten(t *testing.T) {
	var lines []string
	for i := range 85 {
		lines = append(lines, fmt.Sprintf("\n  row %d", i))
	}
	got := Shorten("rows have the same key:" + strings.Join(lines, "") + "\nnothing was committed:\n  one\n  two")
	require.Equal(t, "rows have the same key:"+strings.Join(lines[:10], "")+"\n  … and 75 more lines; --json has all\nnothing was committed:\n  one\n  two", got)
	require.Equal(t, "plain", Shorten("plain"))
}
