package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/starter/page"
	"github.com/tributary-lake/tributary/workflows"
)

// summary prints a run's end and gives its exit code.
func (c *cli) summary(s *workflows.Summary) error {
	if c.json {
		if err := c.printJSON(s); err != nil {
			return err
		}
	} else {
		c.printSummary(s)
	}
	switch s.Status {
	case workflows.StatusDone:
		return nil
	case workflows.StatusCancelled:
		return &exitError{code: exitInterrupted}
	case workflows.StatusUnknown:
		return &exitError{code: exitUnknown}
	}
	return &exitError{code: failedCode(s.Tables)}
}

// failedCode is the one code of all failed tables when they agree, else 1.
func failedCode(tables []activities.TableResult) int {
	code := 0
	for _, t := range tables {
		if t.Status != workflows.StatusFailed {
			continue
		}
		if k := codeOf(t.ErrorType); code == 0 || code == k {
			code = k
		} else {
			return exitFailed
		}
	}
	return max(code, exitFailed)
}

func (c *cli) printSummary(s *workflows.Summary) {
	w := c.newTable()
	w.AppendHeader(table.Row{"table", "status", "snapshot", "rows read", "rows written", "failed", "files", "bytes", "splits", "seconds", "rows/s"})
	for _, t := range s.Tables {
		snapshot := "–"
		if t.Snapshot > 0 {
			snapshot = fmt.Sprintf("%d %s", t.Snapshot, t.Kind)
		}
		w.AppendRow(table.Row{
			t.Table, t.Status, snapshot, t.Read, t.Written, t.Rejected, t.Files, bytesText(t.Bytes), t.Splits,
			fmt.Sprintf("%.1f", t.Seconds), fmt.Sprintf("%.0f", float64(t.Read)/max(t.Seconds, 0.001)),
		})
	}
	fmt.Fprintln(c.stdout, w.Render())
	fmt.Fprintf(c.stdout, "run %s: %s in %.1f s\n", s.Run, s.Status, s.Seconds)
	for _, t := range s.Tables {
		for _, n := range t.Notes {
			fmt.Fprintf(c.stdout, "%s: note: %s\n", t.Table, n)
		}
		for _, cut := range t.Cut {
			fmt.Fprintf(c.stdout, "%s: %s\n", t.Table, cut)
		}
		for _, r := range t.Replaced {
			fmt.Fprintf(c.stdout, "%s: %d values of column %s were replaced (%s)\n", t.Table, r.Count, r.Column, r.Policy)
		}
		if t.Error != "" {
			fmt.Fprintf(c.stdout, "\n%s: %s\n", t.Table, page.Shorten(t.Error))
		}
	}
}

// newTable is the one look of all tables; it is plain where the output is no terminal.
func (c *cli) newTable() table.Writer {
	w := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	return w
}

// bytesText is a size for people.
func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n), ""
	for _, prefix = range []string{"Ki", "Mi", "Gi", "Ti", "Pi"} {
		if value /= unit; value < unit {
			break
		}
	}
	return fmt.Sprintf("%.1f %sB", value, prefix)
}
