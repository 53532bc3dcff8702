package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/sirupsen/logrus"

	"github.com/tributary-lake/tributary/devstack/demoshards"
)

// errUsage is returned for arguments that make no sense; what is wrong has then been written to stderr.
var errUsage = errors.New("usage")

// ready is the line on stdout. Its names are a contract with whoever starts this program.
type ready struct {
	Ready  bool                     `json:"ready"`
	PID    int                      `json:"pid"`
	Shards []demoshards.Description `json:"shards"`
}

// run starts the shards, says so on stdout, and returns when ctx ends or when stdin is closed (if asked to watch it).
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	fs := flag.NewFlagSet("demoshards", flag.ContinueOnError)
	fs.SetOutput(stderr)
	port := fs.Int("port", 0, "port of the first instance, the second takes the next; 0 takes free ones")
	stdinEOF := fs.Bool("stdin-eof", false, "end when stdin is closed, so that a parent's death ends this process")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return flag.ErrHelp
		}
		return errUsage
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(stderr, "demoshards takes no arguments beside its flags, got %q\n", fs.Args())
		return errUsage
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *stdinEOF {
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // any end of stdin counts, an error too
			cancel()
		}()
	}
	// The MySQL engine logs through this library's global logger, chattily.
	logrus.SetOutput(stderr)
	logrus.SetLevel(logrus.ErrorLevel)
	shards, err := demoshards.Start(ctx, demoshards.Options{BasePort: *port})
	var inUse *demoshards.PortInUseError
	if errors.As(err, &inUse) {
		return fmt.Errorf("port %d cannot be used: stop what holds it, or choose another with -port (0 takes free ones): %w", inUse.Port, inUse.Err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shards.Stop()) }()

	line := ready{Ready: true, PID: os.Getpid()}
	for _, i := range shards.Instances() {
		line.Shards = append(line.Shards, i.Describe())
	}
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		return fmt.Errorf("write the ready line: %w", err)
	}
	<-ctx.Done()
	return nil
}
