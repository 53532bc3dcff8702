package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "commits: "+err.Error())
		os.Exit(1)
	}
}

// timed is what a child says of its commits.
type timed struct {
	// Millis are the times of the last commits, in milliseconds.
	Millis []float64
	// PeakKB is the most memory that the process had, in KiB.
	PeakKB int64
	// Manifests is the number of manifests that the last snapshot names.
	Manifests int
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	fs := flag.NewFlagSet("commits", flag.ContinueOnError)
	files := fs.Int("files", 100_000, "`files` of the large commit")
	commits := fs.Int("commits", 1_000, "small `commits` on top of them")
	child := fs.String("child", "", "for the program's own use: `what` to do in this process")
	folder := fs.String("folder", "", "for the program's own use: the warehouse's `folder`")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *child != "" {
		return work(ctx, *child, *folder, *commits, stdout)
	}
	dir, err := os.MkdirTemp("", "trb-commits-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	out := table.NewWriter()
	out.SetOutputMirror(stdout)
	out.AppendHeader(table.Row{"what", "median ms", "ms a file", "peak MiB", "manifests"})
	for _, n := range []int{*files / 10, *files} {
		warehouse := filepath.Join(dir, strconv.Itoa(n))
		if err := prepare(ctx, warehouse, n, *commits); err != nil {
			return err
		}
		r, err := measure(ctx, "large", warehouse, *commits)
		if err != nil {
			return err
		}
		ms := median(r.Millis)
		out.AppendRow(table.Row{fmt.Sprintf("%d files in one snapshot", n), round(ms), fmt.Sprintf("%.4f", ms/float64(n)), round(float64(r.PeakKB) / 1024), r.Manifests})
		for _, when := range []string{"first", "last"} {
			if r, err = measure(ctx, when, warehouse, *commits); err != nil {
				return err
			}
			number := map[string]int{"first": 10, "last": *commits}[when]
			out.AppendRow(table.Row{fmt.Sprintf("small commit no. %d on them", number), round(median(r.Millis)), "", round(float64(r.PeakKB) / 1024), r.Manifests})
		}
	}
	out.Render()
	return nil
}

func round(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// measure lets a process of its own do one part.
func measure(ctx context.Context, what, folder string, commits int) (timed, error) {
	self, err := os.Executable()
	if err != nil {
		return timed{}, err
	}
	cmd := exec.CommandContext(ctx, self, "-child", what, "-folder", folder, "-commits", strconv.Itoa(commits))
	cmd.Stderr = os.Stderr
	began := time.Now()
	data, err := cmd.Output()
	if err != nil {
		return timed{}, fmt.Errorf("%s, after %s: %w", what, time.Since(began).Round(time.Millisecond), err)
	}
	var r timed
	if err := json.Unmarshal(data, &r); err != nil {
		return timed{}, fmt.Errorf("%s said %q: %w", what, data, err)
	}
	return r, nil
}
