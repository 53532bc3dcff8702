package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/tributary-lake/tributary/devstack/temporaldev"
)

// noShards as the value of -demo-shards leaves them out.
const noShards = -1

// errUsage is returned for arguments that make no sense; what is wrong has then been written to stderr.
var errUsage = errors.New("usage")

type options struct {
	temporal  temporaldev.Options
	shardPort int
	stdinEOF  bool
	logLevel  slog.Level
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{logLevel: slog.LevelError}
	o.temporal.SearchAttributes = map[string]enumspb.IndexedValueType{}
	fs := flag.NewFlagSet("devserver", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.temporal.Dir, "dir", "", "folder that keeps the state; empty keeps it in memory")
	fs.IntVar(&o.temporal.Port, "port", 7233, "port of the Temporal frontend; 0 takes a free one")
	fs.IntVar(&o.temporal.UIPort, "ui-port", 8233, "port of the web UI; 0 takes a free one, -1 leaves the UI out")
	fs.StringVar(&o.temporal.Namespace, "namespace", "default", "namespace to make")
	fs.IntVar(&o.shardPort, "demo-shards", noShards,
		"start the demo MySQL shards with the first instance on this port and the second on the next; 0 takes free ones, -1 leaves them out")
	fs.BoolVar(&o.stdinEOF, "stdin-eof", false, "end when stdin is closed, so that a parent's death ends this process")
	fs.TextVar(&o.logLevel, "log-level", o.logLevel, "what to log on stderr: DEBUG, INFO, WARN or ERROR")
	fs.Func("search-attribute", "custom search attribute NAME=TYPE (Keyword, Int, Text, Bool, Double, Datetime, KeywordList), repeatable",
		func(s string) error { return addSearchAttribute(o.temporal.SearchAttributes, s) })
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, flag.ErrHelp
		}
		return o, errUsage
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(stderr, "devserver takes no arguments beside its flags, got %q\n", fs.Args())
		return o, errUsage
	}
	return o, nil
}

func addSearchAttribute(to map[string]enumspb.IndexedValueType, s string) error {
	name, kind, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("write it as NAME=TYPE, such as Campaign=Keyword")
	}
	t, err := enumspb.IndexedValueTypeFromString(kind)
	if err != nil {
		return fmt.Errorf("type of %s: %w", name, err)
	}
	to[name] = t
	return nil
}
