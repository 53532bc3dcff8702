package verifypage

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/tributary-lake/tributary/activities/comparing"
)

// Print prints the results of a job's tables: a table for each, and a line that sums it up.
func Print(out io.Writer, newTable func() table.Writer, found []comparing.Result) {
	for i, r := range found {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if r.Refused != "" {
			fmt.Fprintf(out, "table %s cannot be compared: %s\n", r.Table, r.Refused)
			continue
		}
		fmt.Fprintf(out, "table %s → %s, snapshot %d\n", r.Table, r.Target, r.Snapshot)
		for _, n := range r.Notes {
			fmt.Fprintf(out, "note: %s\n", n)
		}
		fmt.Fprintln(out, groups(newTable(), r).Render())
		fmt.Fprintf(out, "%s: %d rows in %d shards, %d in the table\n", r.State, r.SourceRows, r.Shards, r.TableRows)
	}
}

func groups(w table.Writer, r comparing.Result) table.Writer {
	w.AppendHeader(table.Row{"shard", "state", "rows there", "rows in the table", "why"})
	w.SuppressEmptyColumns()
	for _, g := range r.Groups {
		w.AppendRow(table.Row{name(g), g.State, g.SourceRows, g.TableRows, g.Why})
	}
	if r.More > 0 {
		w.AppendRow(table.Row{fmt.Sprintf("… and %d more", r.More)})
	}
	return w
}

func name(g comparing.Group) string {
	text := strings.Join(g.Shards, "\n")
	if g.More > 0 {
		text += fmt.Sprintf("\nand %d more", g.More)
	}
	if text == "" {
		return "of no shard"
	}
	return text
}
