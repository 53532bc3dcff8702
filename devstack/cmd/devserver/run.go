package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/sirupsen/logrus"

	"github.com/tributary-lake/tributary/devstack/demoshards"
	"github.com/tributary-lake/tributary/devstack/temporaldev"
)

// ready is the line on stdout. Its names are a contract with whoever starts this program.
type ready struct {
	Ready     bool                     `json:"ready"`
	Address   string                   `json:"address"`
	UI        string                   `json:"ui"`
	Namespace string                   `json:"namespace"`
	PID       int                      `json:"pid"`
	Shards    []demoshards.Description `json:"shards"`
}

// run starts what the arguments ask for, says so on stdout, and returns when ctx ends, when stdin is closed (if asked
// to watch it), or when a server gives up.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.stdinEOF {
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // any end of stdin counts, an error too
			cancel()
		}()
	}
	o.temporal.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: o.logLevel}))
	line := ready{Ready: true, PID: os.Getpid(), Shards: []demoshards.Description{}}

	if o.shardPort != noShards {
		// The MySQL engine logs through this library's global logger, chattily.
		logrus.SetOutput(stderr)
		logrus.SetLevel(logrus.ErrorLevel)
		shards, err := demoshards.Start(ctx, demoshards.Options{BasePort: o.shardPort})
		if err != nil {
			return explain(err)
		}
		defer func() { err = errors.Join(err, shards.Stop()) }()
		for _, i := range shards.Instances() {
			line.Shards = append(line.Shards, i.Describe())
		}
	}

	server, err := temporaldev.Start(ctx, o.temporal)
	if err != nil {
		return explain(err)
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	line.Address, line.UI, line.Namespace = server.Address(), server.UIURL(), server.Namespace()

	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		return fmt.Errorf("write the ready line: %w", err)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Failed():
		return err
	}
}

// explain says in terms of this program's flags what to do about an error that a flag can cure.
func explain(err error) error {
	var temporalPort *temporaldev.PortInUseError
	if errors.As(err, &temporalPort) {
		name := map[string]string{"Port": "-port", "UIPort": "-ui-port"}[temporalPort.Option]
		return portError(temporalPort.Port, name, temporalPort.Err)
	}
	var shardPort *demoshards.PortInUseError
	if errors.As(err, &shardPort) {
		return portError(shardPort.Port, "-demo-shards", shardPort.Err)
	}
	if errors.Is(err, temporaldev.ErrDirInUse) {
		return fmt.Errorf("%w: stop it, or choose another folder with -dir", err)
	}
	return err
}

func portError(port int, flagName string, cause error) error {
	return fmt.Errorf("port %d cannot be used: stop what holds it, or choose another with %s (0 takes a free one): %w", port, flagName, cause)
}
