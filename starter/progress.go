package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"go.temporal.io/sdk/client"
	"golang.org/x/sys/unix"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/workflows"
)

// progress shows a run's tables: bars on a terminal, else a line whenever something changed, at most every ten seconds.
type progress struct {
	out   io.Writer
	every time.Duration
	bars  *mpb.Progress
	table map[string]*mpb.Bar
	last  map[string]string
	said  time.Time
	quiet bool
	queue string
	// heard tells that a worker has answered; until then, after some seconds, the person is told once.
	heard, warned bool
	started       time.Time
}

func (c *cli) newProgress(queue string) *progress {
	p := &progress{out: c.stderr, queue: queue, every: 500 * time.Millisecond, table: map[string]*mpb.Bar{}, last: map[string]string{}, quiet: c.json, started: time.Now()}
	if !p.quiet && isTerminal(c.stderr) {
		p.bars = mpb.New(mpb.WithOutput(c.stderr), mpb.WithRefreshRate(200*time.Millisecond))
	}
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// watch asks for progress until ctx ends.
func (p *progress) watch(ctx context.Context, cl client.Client, workflowID string) {
	if p.quiet {
		<-ctx.Done()
		return
	}
	defer p.close()
	t := time.NewTicker(p.every)
	defer t.Stop()
	for {
		p.look(ctx, cl, workflowID)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// silence is how long it may be quiet before a person is asked about workers.
const silence = 10 * time.Second

// look asks once. What does not answer is asked again later: progress is never a reason to fail.
func (p *progress) look(ctx context.Context, cl client.Client, workflowID string) {
	var run workflows.RunProgress
	if !query(ctx, cl, workflowID, &run) {
		if !p.heard && !p.warned && time.Since(p.started) > silence {
			fmt.Fprintf(p.out, "no worker has taken up the run yet: is one running on task queue %s? The run waits for it\n", p.queue)
			p.warned = true
		}
		return
	}
	p.heard = true
	ended := map[string]bool{}
	for _, r := range run.Results {
		ended[r.Table] = true
	}
	for _, t := range run.Tables {
		var table workflows.TableProgress
		if ended[t.Key.Table] || !query(ctx, cl, t.WorkflowID, &table) {
			continue
		}
		p.show(table)
	}
	for _, r := range run.Results {
		p.end(r)
	}
}

func query(ctx context.Context, cl client.Client, workflowID string, into any) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	v, err := cl.QueryWorkflow(ctx, workflowID, "", workflows.ProgressQuery)
	return err == nil && v.Get(into) == nil
}

func (p *progress) show(t workflows.TableProgress) {
	if p.bars == nil {
		text := fmt.Sprintf("%s: %s, %d of %d units, %d rows, %s", t.Table, t.Phase, t.Done, t.Units, t.Counts.RowsRead, bytesText(t.Counts.Bytes))
		if t.Merges > 0 {
			text += fmt.Sprintf(", %d of %d merges", t.Merged, t.Merges)
		}
		if p.last[t.Table] != text && time.Since(p.said) > 10*time.Second {
			fmt.Fprintln(p.out, text)
			p.last[t.Table], p.said = text, time.Now()
		}
		return
	}
	b := p.table[t.Table]
	if b == nil {
		b = p.bar(t.Table)
		p.table[t.Table] = b
	}
	b.SetTotal(max(t.RowsPlan, t.Counts.RowsRead, 1), false)
	b.SetCurrent(t.Counts.RowsRead)
}

func (p *progress) bar(table string) *mpb.Bar {
	return p.bars.AddBar(0,
		mpb.PrependDecorators(decor.Name(table, decor.WCSyncSpaceR), decor.CurrentNoUnit("%d rows", decor.WCSyncSpace)),
		mpb.AppendDecorators(
			decor.Percentage(decor.WCSyncSpace),
			decor.Any(rate(), decor.WCSyncSpace),
			decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WCSyncSpace), "done"),
		))
}

// rate is the average of rows per second since the bar was made.
func rate() func(decor.Statistics) string {
	start := time.Now()
	return func(s decor.Statistics) string {
		return fmt.Sprintf("%.0f rows/s", float64(s.Current)/max(time.Since(start).Seconds(), 0.001))
	}
}

func (p *progress) end(r activities.TableResult) {
	if b := p.table[r.Table]; b != nil {
		b.SetTotal(max(r.Read, 1), true)
		delete(p.table, r.Table)
	}
}

func (p *progress) close() {
	for _, b := range p.table {
		b.Abort(false)
	}
	if p.bars != nil {
		p.bars.Wait()
	}
}
