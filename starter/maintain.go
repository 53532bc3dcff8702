package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/tributary-lake/tributary/internal/app"
)

func (c *cli) table() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Keep a table in order: compact, expire, clean, tag",
		Long: `Keep a table in order: make few large files of many small ones, let old snapshots go,
find files that nothing names, keep snapshots by name. The storage itself is worked
on: neither Temporal nor a worker is needed, and runs may go on meanwhile.

What removes files only shows what would go, until it is told to by --yes.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("table knows compact, expire, orphans, tags, tag and untag, not %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.tableCompact(), c.tableExpire(), c.tableOrphans(), c.tableTags(), c.tableTag(), c.tableUntag())
	return cmd
}

// undone tells what to do about something that was only shown.
const undone = "nothing was changed: --yes does it"

// yesFlag adds the leave to remove files.
func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "do it; without it only show what would go")
}

// kept is an error of keeping a table in order.
func kept(err error) error {
	switch {
	case errors.Is(err, app.ErrRefused):
		return &exitError{exitRefused, err}
	case errors.Is(err, app.ErrUnknown):
		return &exitError{exitUnknown, err}
	case errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, err}
	}
	return failed(err)
}

// interruptible lets Ctrl-C and SIGTERM end a command's work in good order.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
}

func (c *cli) tableCompact() *cobra.Command {
	var where inTheLake
	var full bool
	cmd := &cobra.Command{
		Use:   "compact (--warehouse URI | -f job.yaml) [DATABASE.TABLE]",
		Short: "Make few large files of a table's many small ones",
		Long: `Make few large files of a table's many small ones. The rows stay as they are. Of append
tables, neighbouring small files are written anew: five or more, or fewer that fill two
files; with --full, two are enough. Key tables are always compacted fully.

It is safe beside a run: neither adds to nor waits for the other. When another commit
took away a file meanwhile that was compacted, nothing is changed, and the command says
so: call it again. Exit code 3 for tables that only Paimon itself compacts.

The old files stay for as long as their snapshots do: see starter table expire.`,
		Example: "  starter table compact --warehouse /tmp/tributary/lake ods.orders\n  starter table compact -f examples/orders.yaml --full",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lake, name, _, err := where.find(cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			r, err := lake.Compact(ctx, name, full)
			if err != nil {
				return kept(err)
			}
			switch {
			case c.json:
				return c.printJSON(r)
			case r.Snapshot == 0 && full:
				fmt.Fprintf(c.stdout, "table %s has nothing to compact\n", r.Table)
			case r.Snapshot == 0:
				fmt.Fprintf(c.stdout, "table %s has nothing worth compacting; --full takes less\n", r.Table)
			default:
				fmt.Fprintf(c.stdout, "compacted %s of %s, %s, to %s, %s, in snapshot %d\n", count(r.FilesBefore, "file"), r.Table,
					bytesText(r.BytesBefore), count(r.FilesAfter, "file"), bytesText(r.BytesAfter), r.Snapshot)
			}
			return nil
		},
	}
	where.flags(cmd)
	cmd.Flags().BoolVar(&full, "full", false, "take small files of append tables even where there are only two")
	return cmd
}

// expireFlags are the choices of an expiry.
type expireFlags struct {
	min, max  int
	olderThan time.Duration
	yes       bool
}

func (f *expireFlags) options(cmd *cobra.Command) (app.ExpireOptions, error) {
	o := app.ExpireOptions{RetainMin: f.min, RetainMax: f.max, Remove: f.yes}
	set := cmd.Flags().Changed
	switch {
	case set("retain-min") && f.min < 1:
		return o, usage(fmt.Errorf("--retain-min %d: the newest snapshot always stays, so at least 1", f.min))
	case set("retain-max") && !set("retain-min"):
		return o, usage(errors.New("give --retain-min with --retain-max: the minimum of the table's own options may be above it"))
	case set("retain-max") && f.max < f.min:
		return o, usage(fmt.Errorf("--retain-max %d is below --retain-min %d", f.max, f.min))
	case f.olderThan < 0:
		return o, usage(fmt.Errorf("--older-than %s: an age is not negative", f.olderThan))
	}
	if set("older-than") {
		o.OlderThan = time.Now().Add(-f.olderThan)
	}
	return o, nil
}

func (c *cli) tableExpire() *cobra.Command {
	var where inTheLake
	var flags expireFlags
	cmd := &cobra.Command{
		Use:   "expire (--warehouse URI | -f job.yaml) [DATABASE.TABLE] [--yes]",
		Short: "Let old snapshots go, and the files that only they show",
		Long: `Let old snapshots go, and the files that only they show; before that, tags whose time is
over. A snapshot goes when it is older than the age and not among the newest, or is
beyond the maximum. What flags leave open is up to the table's options
snapshot.num-retained.min (10), snapshot.num-retained.max (no bound) and
snapshot.time-retained (1 h). What a tag, a branch, a consumer or an unsettled run
needs stays in any case.

Without --yes only what would go is shown. It is safe beside runs, and after it was cut
off: call it again. Readers of old snapshots fail when these go. Exit code 3 for tables
that only Paimon itself expires.`,
		Example: "  starter table expire --warehouse /tmp/tributary/lake ods.orders\n  starter table expire -f examples/orders.yaml --older-than 72h --retain-min 3 --yes",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.options(cmd)
			if err != nil {
				return err
			}
			lake, name, _, err := where.find(cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			r, err := lake.Expire(ctx, name, o)
			if err != nil {
				return kept(err)
			}
			if c.json {
				return c.printJSON(r)
			}
			c.printExpired(r)
			return nil
		},
	}
	where.flags(cmd)
	cmd.Flags().IntVar(&flags.min, "retain-min", 0, "keep this many of the newest snapshots, whatever their age")
	cmd.Flags().IntVar(&flags.max, "retain-max", 0, "keep no more than this many, however young; needs --retain-min")
	cmd.Flags().DurationVar(&flags.olderThan, "older-than", 0, "let snapshots go that have not been the newest for this long, such as 72h")
	yesFlag(cmd, &flags.yes)
	return cmd
}

func (c *cli) printExpired(r *app.Expired) {
	if len(r.Snapshots) == 0 && len(r.Tags) == 0 {
		fmt.Fprintf(c.stdout, "table %s has nothing to expire\n", r.Table)
		return
	}
	expired, removed := "expired", "removed"
	if !r.Removed {
		expired, removed = "would expire", "would remove"
	}
	if len(r.Tags) > 0 {
		fmt.Fprintf(c.stdout, "%s %s of %s: %s\n", expired, count(len(r.Tags), "tag"), r.Table, strings.Join(r.Tags, ", "))
	}
	if n := len(r.Snapshots); n > 0 {
		span := fmt.Sprint(r.Snapshots[0])
		if n > 1 {
			span += fmt.Sprintf("–%d", r.Snapshots[n-1])
		}
		fmt.Fprintf(c.stdout, "%s %s of %s: %s; the first to stay is %d\n", expired, count(n, "snapshot"), r.Table, span, r.Earliest)
	}
	fmt.Fprintf(c.stdout, "%s %s and %s of metadata\n", removed, count(len(r.DataFiles), "data file"), count(len(r.MetadataFiles), "file"))
	if !r.Removed {
		fmt.Fprintln(c.stdout, undone)
	}
}

// leastAge is the age below which files may belong to a commit that is still to come.
const leastAge = 24 * time.Hour

// orphanFlags are the choices of a search for orphans.
type orphanFlags struct {
	olderThan  time.Duration
	force, yes bool
	staging    []string
}

func (f *orphanFlags) options() (app.OrphanOptions, error) {
	o := app.OrphanOptions{OlderThan: time.Now().Add(-f.olderThan), Force: f.force, Remove: f.yes}
	switch {
	case f.olderThan < 0:
		return o, usage(fmt.Errorf("--older-than %s: an age is not negative", f.olderThan))
	case f.olderThan < leastAge && !f.force:
		return o, usage(errors.New("--older-than is below a day: files as young may belong to a commit that is still to come; when nobody writes to the table, --force takes them"))
	}
	return o, nil
}

func (c *cli) tableOrphans() *cobra.Command {
	var where inTheLake
	var flags orphanFlags
	cmd := &cobra.Command{
		Use:   "orphans (--warehouse URI | -f job.yaml) [DATABASE.TABLE] [--yes]",
		Short: "Find files that no snapshot and no run has a use for, and remove them",
		Long: `Find files in a table's folders that no snapshot, tag or branch names: what writers left
that died before their commit. Nothing but its age tells such a file from one whose
commit is still to come, so they must be older than a day.

Files of runs that are not settled are kept, whatever their age: starter resume may yet
commit them, and starter abort removes them. Their ledgers are looked for below
<warehouse>/_tributary, the job's staging root, and each --staging. Other writers, such
as Flink or Spark, have no ledgers: give an --older-than that none of theirs outlasts.

Without --yes they are only shown. It is safe beside runs, and after it was cut off.`,
		Example: "  starter table orphans --warehouse /tmp/tributary/lake ods.orders\n  starter table orphans -f examples/orders.yaml --older-than 72h --yes",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := flags.options()
			if err != nil {
				return err
			}
			lake, name, _, err := where.find(cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			for _, uri := range flags.staging {
				if err := lake.CheckStaging(cmd.Context(), uri); err != nil {
					return usage(err)
				}
			}
			o.Staging = append(where.staging, flags.staging...)
			ctx, stop := interruptible(cmd)
			defer stop()
			r, err := lake.Orphans(ctx, name, o)
			if err != nil {
				return kept(err)
			}
			if c.json {
				return c.printJSON(r)
			}
			c.printOrphans(r)
			return nil
		},
	}
	where.flags(cmd)
	cmd.Flags().DurationVar(&flags.olderThan, "older-than", leastAge, "take files that were last changed this long ago, a day or more")
	cmd.Flags().BoolVar(&flags.force, "force", false, "allow an age below a day; only when nobody writes to the table")
	cmd.Flags().StringArrayVar(&flags.staging, "staging", nil, "a further root of ledgers, where jobs have one of their own; may be repeated")
	yesFlag(cmd, &flags.yes)
	return cmd
}

func (c *cli) printOrphans(r *app.Orphans) {
	if len(r.Files) > 0 {
		w := c.newTable()
		w.AppendHeader(table.Row{"orphan", "size", "changed"})
		for _, f := range r.Files {
			w.AppendRow(table.Row{path.Join(path.Base(path.Dir(f.Path)), path.Base(f.Path)), bytesText(f.Bytes), timeText(f.Modified)})
		}
		fmt.Fprintln(c.stdout, w.Render())
	}
	if r.Kept > 0 {
		fmt.Fprintf(c.stdout, "%s of runs that are not settled stay; `starter resume` or `starter abort` settles %s\n",
			count(r.Kept, "file"), strings.Join(r.Runs, ", "))
	}
	switch {
	case len(r.Files) == 0:
		fmt.Fprintf(c.stdout, "table %s has no orphans\n", r.Table)
	case r.Removed:
		fmt.Fprintf(c.stdout, "removed %s of %s, %s\n", count(len(r.Files), "orphan"), r.Table, bytesText(r.Bytes))
	default:
		fmt.Fprintf(c.stdout, "%s of %s, %s\n%s\n", count(len(r.Files), "orphan"), r.Table, bytesText(r.Bytes), undone)
	}
}
