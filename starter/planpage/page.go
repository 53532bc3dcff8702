package planpage

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/starter/page"
)

// Page prints a plan for people, in the terminal or as Markdown.
type Page struct {
	Out      io.Writer
	NewTable func() table.Writer
	// Size writes a number of bytes.
	Size     func(bytes int64) string
	Markdown bool
	Plan     *activities.Explanation
}

// pageShards is how many shards a page lists; JSON has more.
const pageShards = 40

// Print prints it.
func (p *Page) Print() {
	x := p.Plan
	if x.Target == "" { // refused before there was a plan
		p.title(fmt.Sprintf("table %s: the plan is refused", x.Table))
		p.refused()
		fmt.Fprintln(p.Out)
		return
	}
	fate := "rows will be added to it"
	switch {
	case x.Create:
		fate = "will be created"
	case x.Replace:
		fate = fmt.Sprintf("its rows will be replaced in one snapshot (newest now: %d)", x.Base)
	}
	p.title(fmt.Sprintf("table %s → %s: %s", x.Table, x.Target, fate))
	if len(x.Refused) > 0 {
		p.section("A RUN WOULD BE REFUSED, OR FAIL")
		p.refused()
		fmt.Fprintln(p.Out)
	}
	p.summary()
	p.columns()
	p.drift()
	p.shards()
	p.findings()
	if len(x.Losses) > 0 {
		p.section("notes")
		p.lines(prefixed("note: ", x.Losses))
	}
	fmt.Fprintln(p.Out)
}

func (p *Page) refused() {
	for _, r := range p.Plan.Refused {
		p.lines([]string{page.Shorten(r)})
	}
}

// summary is the plan in one table.
func (p *Page) summary() {
	x := p.Plan
	rows := []table.Row{
		{"shards", fmt.Sprintf("%d, with about %s rows in %s", x.ShardCount, thousands(x.Rows), p.Size(x.Bytes))},
		{"splits", fmt.Sprintf("%d in %d units of work; rows of a split: %s at least, %s in the middle, %s at most",
			x.Splits, x.Units, thousands(x.SplitRows.Min), thousands(x.SplitRows.Median), thousands(x.SplitRows.Max))},
		{"consistency", x.Consistency},
		{"partitions", textOr(strings.Join(x.Partition, ", "), "none")},
		{"buckets", x.Buckets},
		{"memory", p.memory()},
	}
	if e := x.Estimate; e != nil {
		text := fmt.Sprintf("about %s in the lake", p.Size(e.LakeBytes))
		if e.Seconds > 0 {
			text += fmt.Sprintf(", in about %s of reading and writing", roughly(e.Seconds))
		}
		rows = append(rows, table.Row{"estimate", text}, table.Row{"", "from a sample: " + e.How})
	}
	switch s := x.Sample; {
	case s == nil:
		rows = append(rows, table.Row{"dry run", "none: no row was read"})
	case s.Cut:
		rows = append(rows, table.Row{"dry run", fmt.Sprintf("CUT OFF BY --sample-time after %s rows of %d of %d shards: %s", thousands(s.Rows), s.Shards, x.ShardCount, p.found())})
	default:
		rows = append(rows, table.Row{"dry run", fmt.Sprintf("%s rows of %d of %d shards: %s", thousands(s.Rows), s.Shards, x.ShardCount, p.found())})
	}
	p.table(nil, rows)
}

func (p *Page) memory() string {
	m := p.Plan.Memory
	enough := "needs %s of run.memory, which is %s (%s)"
	if m.Need > m.Has {
		enough = "needs %s, MORE THAN run.memory, which is %s (%s)"
	}
	return fmt.Sprintf(enough, p.Size(m.Need), p.Size(m.Has), m.How)
}

func (p *Page) found() string {
	if n := len(p.Plan.Sample.Findings); n > 0 {
		return fmt.Sprintf("not every value arrives as it is: %d findings below", n)
	}
	return "every value arrives as it is"
}

func (p *Page) columns() {
	p.section("columns")
	var rows []table.Row
	for _, col := range p.Plan.Columns {
		rows = append(rows, table.Row{col.Name, col.Type, col.Source})
	}
	p.table(table.Row{"column", "type", "from"}, rows)
}

// drift tells what would be altered in the target, which shards would be left out, and how the others differ.
func (p *Page) drift() {
	x := p.Plan
	if len(x.Alter)+len(x.LeftOut)+len(x.Drift) == 0 {
		return
	}
	p.section("drift")
	p.lines(prefixed("would alter the target: ", x.Alter))
	if x.LeftOutCount > 0 {
		lines := []string{fmt.Sprintf("WOULD LEAVE OUT %d of %d shards, none of their rows would be read:", x.LeftOutCount, x.LeftOutCount+x.ShardCount)}
		for _, l := range x.LeftOut {
			lines = append(lines, "  "+l.String())
		}
		if n := x.LeftOutCount - len(x.LeftOut); n > 0 {
			lines = append(lines, fmt.Sprintf("  … and %d more", n))
		}
		p.lines(lines)
	}
	var drift []string
	for _, d := range x.Drift {
		drift = append(drift, "drift: "+d.String())
	}
	p.lines(drift)
}

func (p *Page) shards() {
	p.section("shards")
	var rows []table.Row
	for _, s := range p.Plan.Shards[:min(len(p.Plan.Shards), pageShards)] {
		spread := "–"
		if s.Splits > 0 {
			spread = fmt.Sprintf("%s / %s / %s", thousands(s.SplitRows.Min), thousands(s.SplitRows.Median), thousands(s.SplitRows.Max))
		}
		if s.Window != nil {
			s.Key += "; " + s.Window.String()
		}
		rows = append(rows, table.Row{s.Shard, thousands(s.Rows), p.Size(s.Bytes), s.Splits, spread, s.Key})
	}
	p.table(table.Row{"shard", "rows (estimate)", "bytes", "splits", "rows of a split (least / middle / most)", "split by"}, rows)
	if n := p.Plan.ShardCount - len(rows); n > 0 {
		p.lines([]string{fmt.Sprintf("… and %d more shards; --json lists %d", n, len(p.Plan.Shards))})
	}
}

// findings are the values of the dry run that would not arrive as they are.
func (p *Page) findings() {
	if p.Plan.Sample == nil || len(p.Plan.Sample.Findings) == 0 {
		return
	}
	p.section("values of the sample that do not arrive as they are")
	var rows []table.Row
	for _, f := range p.Plan.Sample.Findings {
		what := f.Policy
		if f.Refused {
			what = "ENDS THE RUN"
		}
		rows = append(rows, table.Row{f.Column, what, thousands(f.Count), f.Shards, f.Example, textOr(f.Key, "–"), textOr(f.Value, "–")})
	}
	p.table(table.Row{"column", "becomes", "values", "shards", "such as in", "where", "value"}, rows)
}

// title, section, lines and table are the parts of a page.
func (p *Page) title(text string) {
	if p.Markdown {
		text = "## " + text + "\n"
	}
	fmt.Fprintln(p.Out, text)
}

func (p *Page) section(text string) {
	if p.Markdown {
		text = "### " + text + "\n"
	}
	fmt.Fprintln(p.Out, "\n"+text)
}

func (p *Page) lines(lines []string) {
	for _, l := range lines {
		if p.Markdown {
			trimmed := strings.TrimLeft(l, " ")
			l = l[:len(l)-len(trimmed)] + "- " + strings.ReplaceAll(trimmed, "\n", "\n  ")
		}
		fmt.Fprintln(p.Out, l)
	}
}

func (p *Page) table(header table.Row, rows []table.Row) {
	w := p.NewTable()
	if header != nil {
		w.AppendHeader(header)
	} else if p.Markdown {
		w.AppendHeader(table.Row{"", ""})
	}
	w.AppendRows(rows)
	if p.Markdown {
		fmt.Fprintln(p.Out, w.RenderMarkdown())
		return
	}
	page.Fit(w, header, rows, page.Width(p.Out))
	fmt.Fprintln(p.Out, w.Render())
}

func prefixed(prefix string, lines []string) []string {
	out := slices.Clone(lines)
	for i := range out {
		out[i] = prefix + out[i]
	}
	return out
}

func textOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// thousands writes a number with commas.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// roughly is a duration as exactly as an estimate is.
func roughly(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < 10*time.Minute:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
