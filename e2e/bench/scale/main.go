package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	fs := flag.NewFlagSet("scale", flag.ContinueOnError)
	counts := fs.String("splits", "1000,10000,100000", "`numbers` of splits, ten to a shard, a run for each")
	alone := fs.Bool("alone", false, "make each split a unit of its own, as many as a ledger can have")
	address := fs.String("worker", "", "for the program's own use: work for Temporal at this `address`")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *address != "" {
		return work(ctx, *address, stdout)
	}
	var sizes []int
	for text := range strings.SplitSeq(*counts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < splitsPerShard {
			return fmt.Errorf("-splits %q: want numbers of at least %d", *counts, splitsPerShard)
		}
		sizes = append(sizes, n)
	}
	server, err := startTemporal(ctx)
	if err != nil {
		return err
	}
	defer server.end()
	out := table.NewWriter()
	out.SetOutputMirror(stdout)
	out.AppendHeader(table.Row{"splits", "units", "plan s", "write s", "verify s", "commit s", "clean s", "events", "history KiB", "executions", "ledger files", "ledger MiB", "peak MiB"})
	for _, n := range sizes {
		r, err := measure(ctx, server.address, n, *alone)
		if err != nil {
			return fmt.Errorf("%d splits: %w", n, err)
		}
		out.AppendRow(table.Row{
			n, r.units, seconds(r.took["Plan"]), seconds(r.took["Write"]), seconds(r.took["Verify"]), seconds(r.took["Commit"]), seconds(r.took["Clean"]),
			r.events, r.historyBytes >> 10, r.executions, r.ledgerFiles, fmt.Sprintf("%.1f", float64(r.ledgerBytes)/(1<<20)), r.peak >> 20,
		})
	}
	out.Render()
	return nil
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) }
