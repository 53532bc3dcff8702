package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-lake/tributary/internal/testenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		stop()
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "testenv",
		Short:         "Real servers and judges for tests and demonstrations",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(installCommand(), startCommand(), stopCommand())
	for _, name := range testenv.Judges() {
		root.AddCommand(judgeCommand(name))
	}
	return root
}

func installCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "install [NAME...]",
		Short:     "Fetch or build ahead of time: " + strings.Join(testenv.Installable(), " ") + " (default: what make test needs)",
		ValidArgs: testenv.Installable(),
		Args:      cobra.OnlyValidArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) == 0 {
				names = testenv.Needed()
			}
			for _, name := range names {
				began := time.Now()
				if err := testenv.Install(cmd.Context(), name); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-13s ready (%s)\n", name, time.Since(began).Round(10*time.Millisecond))
			}
			dir, err := testenv.CacheDir()
			fmt.Fprintln(cmd.OutOrStdout(), "in", dir)
			return err
		},
	}
}

func startCommand() *cobra.Command {
	var settings []string
	start := &cobra.Command{
		Use:   "start FLAVOR DIR PORT",
		Short: fmt.Sprintf("Start a server that keeps running, with its data in DIR; FLAVOR is one of %v", testenv.Flavors()),
		Args:  cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			flavor, err := testenv.ParseFlavor(args[0])
			if err != nil {
				return err
			}
			port, err := strconv.ParseUint(args[2], 10, 16)
			if err != nil || port == 0 {
				return fmt.Errorf("port %q: give a number from 1 to 65535", args[2])
			}
			opts := []testenv.Option{testenv.InDir(args[1]), testenv.OnPort(int(port)), testenv.Detached()}
			for _, s := range settings {
				name, value, _ := strings.Cut(s, "=")
				opts = append(opts, testenv.Setting(name, value))
			}
			m, err := testenv.StartServer(cmd.Context(), flavor, opts...)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s runs on %s, pid %d, socket %s, log %s\nusers tributary and reader, the password is the name\n",
				flavor, m.Version(), m.Addr(), m.PID(), m.Socket(), m.LogPath())
			return m.Close()
		},
	}
	start.Flags().StringArrayVar(&settings, "set", nil, "server variable NAME=VALUE, may be repeated")
	return start
}

func stopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop DIR",
		Short: "End the server that was started in DIR; its data stays",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, err := testenv.StopDetached(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if pid == 0 {
				return fmt.Errorf("no server runs in %s", args[0])
			}
			fmt.Fprintf(cmd.OutOrStdout(), "stopped, pid was %d\n", pid)
			return nil
		},
	}
}

func judgeCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name + " COMMAND ARG...",
		Short:              "Ask the " + name + " about a Paimon table (e2e/referee/README.md has the commands)",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			judge, err := testenv.JudgeCommand(cmd.Context(), name, args...)
			if err != nil {
				return err
			}
			judge.Stdin, judge.Stdout, judge.Stderr = os.Stdin, os.Stdout, os.Stderr
			return judge.Run()
		},
	}
}
