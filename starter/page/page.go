package page

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/sys/unix"
)

const (
	// defaultWidth is that of what is no terminal.
	defaultWidth = 120
	// leastColumn is how narrow no column becomes, and leastWidth how narrow no page.
	leastColumn, leastWidth = 10, 40
	// listed is how many lines of a list are shown.
	listed = 10
)

// Width is how many columns the output has, of a terminal its own.
func Width(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return defaultWidth
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return defaultWidth
	}
	return max(int(size.Col), leastWidth)
}

// Fit makes the widest columns of a table without borders narrower, and their cells several lines, until it is no wider than that.
func Fit(w table.Writer, header table.Row, rows []table.Row, width int) {
	var widths []int
	for _, row := range slices.Concat([]table.Row{header}, rows) {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			for _, line := range strings.Split(fmt.Sprint(cell), "\n") {
				widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(line))
			}
		}
	}
	most := narrowest(widths, width-2*len(widths)-1) // a space on both sides of each cell, and the half of a wide letter
	var configs []table.ColumnConfig
	for i, is := range widths {
		if is > most {
			configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: most, WidthMaxEnforcer: text.WrapSoft})
		}
	}
	w.SetColumnConfigs(configs)
}

// narrowest is how wide columns may be at most so that all together have room.
func narrowest(widths []int, room int) int {
	most := slices.Max(append(slices.Clone(widths), leastColumn))
	for ; most > leastColumn; most-- {
		sum := 0
		for _, is := range widths {
			sum += min(is, most)
		}
		if sum <= room {
			break
		}
	}
	return most
}

// Shorten leaves of each list in a text, whose lines are indented, the first lines and how many more there are.
func Shorten(message string) string {
	var out []string
	hidden := 0
	end := func() {
		if hidden > 0 {
			out = append(out, fmt.Sprintf("  … and %d more lines; --json has all", hidden))
		}
		hidden = 0
	}
	inList := 0
	for _, line := range strings.Split(message, "\n") {
		if !strings.HasPrefix(line, "  ") {
			end()
			inList = 0
			out = append(out, line)
			continue
		}
		if inList++; inList > listed {
			hidden++
			continue
		}
		out = append(out, line)
	}
	end()
	return strings.Join(out, "\n")
}
