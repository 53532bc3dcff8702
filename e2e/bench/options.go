package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/e2e/bench/peers"
)

// errUsage is returned for arguments that make no sense; what is wrong has then been written to stderr.
var errUsage = errors.New("usage")

// options are the flags.
type options struct {
	rounds      int
	shapes      []shape
	peers       []string
	parallelism int
	memory      string
	jsonFile    string
	compareFile string
	perfDir     string
}

// The tables that there are.
const (
	narrowName = "narrow"
	wideName   = "wide"
	// smallName is one table like the wide ones, read once: a job whose time is the time until it has begun and ended.
	smallName = "small"
	// lineitemName is TPC-H's table of scale factor 1, in eight parts.
	lineitemName = "lineitem"
	// keyedName is the narrow tables into a key table of sixteen buckets.
	keyedName = "keyed"
)

// keyedBuckets is how many buckets that has.
const keyedBuckets = 16

// shape is one kind of table, and the rows of each of its shards.
type shape struct {
	Name string
	// Rows of one shard; 0 for lineitem, whose parts are not equal.
	Rows int64
}

// Table is the name of its tables. It tells sizes apart, so that tables of all sizes lie side by side.
func (s shape) Table() string {
	switch s.Name {
	case lineitemName:
		return "lineitem_sf1"
	case keyedName:
		return shape{Name: narrowName, Rows: s.Rows}.Table()
	}
	return fmt.Sprintf("%s_%d", s.Name, s.Rows)
}

// Shards is how many tables it has.
func (s shape) Shards() int {
	switch s.Name {
	case smallName:
		return 1
	case lineitemName:
		return 8
	}
	return 4
}

// Total is the rows of all shards.
func (s shape) Total() int64 {
	if s.Name == lineitemName {
		return lineitemRows
	}
	return s.Rows * int64(s.Shards())
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	all := []shape{{Name: narrowName}, {Name: wideName}, {Name: smallName}, {Name: lineitemName}, {Name: keyedName}}
	var which, tools string
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&o.rounds, "rounds", 5, "`times` that floor and product run, in turns")
	fs.Int64Var(&all[0].Rows, "narrow-rows", 1_000_000, "`rows` of each of the four narrow shards")
	fs.Int64Var(&all[1].Rows, "wide-rows", 250_000, "`rows` of each of the four wide shards")
	fs.Int64Var(&all[2].Rows, "small-rows", 200_000, "`rows` of the small job's only table")
	fs.StringVar(&which, "shapes", "narrow,wide,small,lineitem,keyed", "the `tables` to measure")
	fs.StringVar(&tools, "peers", "", "other `tools` to run in each round too: "+strings.Join(peers.Names(), ",")+"; they need Java, Maven and Python, and fetch some 900 MB once")
	fs.IntVar(&o.parallelism, "parallelism", 4, "`splits` in flight")
	fs.StringVar(&o.memory, "memory", "", "the worker's --memory, such as 512MiB; empty leaves its default")
	fs.StringVar(&o.jsonFile, "json", "", "append a line of JSON for each measurement to this `file`")
	fs.StringVar(&o.compareFile, "compare", "", "show the best of this `file`, which -json has written, beside the results")
	fs.StringVar(&o.perfDir, "perf", "", "record the worker with perf(1) into this `folder`; this slows it down, so it excludes -json")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, flag.ErrHelp
		}
		return o, errUsage
	}
	if tools != "" {
		o.peers = strings.Split(tools, ",")
	}
	all[4].Rows = all[0].Rows
	for name := range strings.SplitSeq(which, ",") {
		i := slices.IndexFunc(all, func(s shape) bool { return s.Name == name })
		if i < 0 {
			fmt.Fprintf(stderr, "bench: -shapes knows narrow, wide, small, lineitem and keyed, not %q\n", name)
			return o, errUsage
		}
		o.shapes = append(o.shapes, all[i])
	}
	if text := o.problem(fs); text != "" {
		fmt.Fprintln(stderr, "bench: "+text)
		return o, errUsage
	}
	return o, nil
}

func (o options) problem(fs *flag.FlagSet) string {
	switch {
	case fs.NArg() > 0:
		return fmt.Sprintf("there are no arguments beside the flags, got %q", fs.Args())
	case o.rounds < 1 || o.parallelism < 1:
		return "-rounds and -parallelism are at least 1"
	case slices.ContainsFunc(o.shapes, func(s shape) bool { return s.Total() < 1 }):
		return "a shard has at least 1 row"
	case slices.ContainsFunc(o.peers, func(name string) bool { return !slices.Contains(peers.Names(), name) }):
		return fmt.Sprintf("-peers knows %s, not %q", strings.Join(peers.Names(), " and "), strings.Join(o.peers, ","))
	case o.perfDir != "" && o.jsonFile != "":
		return "-perf slows the worker down: its results are not kept, leave -json out"
	}
	return ""
}
