package main

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/tributary-lake/tributary/internal/app"
)

func (c *cli) tableTags() *cobra.Command {
	var where inTheLake
	cmd := &cobra.Command{
		Use:     "tags (--warehouse URI | -f job.yaml) [DATABASE.TABLE]",
		Short:   "List a table's tags: names that keep snapshots",
		Example: "  starter table tags --warehouse /tmp/tributary/lake ods.orders",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lake, name, _, err := where.find(cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			list, err := lake.Tags(cmd.Context(), name)
			if err != nil {
				return failed(err)
			}
			if c.json {
				return c.printJSON(list)
			}
			if len(list.Tags) == 0 {
				fmt.Fprintf(c.stdout, "table %s has no tag\n", list.Table)
				return nil
			}
			c.printTags(list.Tags)
			return nil
		},
	}
	where.flags(cmd)
	return cmd
}

func (c *cli) printTags(tags []app.TagInfo) {
	w := c.newTable()
	w.AppendHeader(table.Row{"tag", "snapshot", "time", "rows", "expires"})
	for i := range tags {
		t := &tags[i]
		expires := "never"
		if t.Expires != "" {
			expires = t.Expires
		}
		if t.Expired {
			expires += ", over"
		}
		w.AppendRow(table.Row{cellText(&t.Name), t.Snapshot.ID, timeText(t.Snapshot.Time), t.Snapshot.Rows, expires})
	}
	fmt.Fprintln(c.stdout, w.Render())
}

func (c *cli) tableTag() *cobra.Command {
	var where inTheLake
	var id int64
	var retained time.Duration
	cmd := &cobra.Command{
		Use:   "tag (--warehouse URI | -f job.yaml) [DATABASE.TABLE] TAG",
		Short: "Keep a snapshot under a name",
		Long: `Keep a snapshot, the latest unless another is named, from expiring. Readers find it by
the tag's name. With --time-retained the first starter table expire after that time
deletes the tag, as Paimon's own commits do.`,
		Example: "  starter table tag --warehouse /tmp/tributary/lake ods.orders month-11\n  starter table tag -f examples/orders.yaml before-cleanup --snapshot 3 --time-retained 720h",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSnapshot(cmd, id); err != nil {
				return err
			}
			if cmd.Flags().Changed("time-retained") && retained < time.Second {
				return usage(fmt.Errorf("--time-retained %s: a tag lives for a second or more", retained))
			}
			lake, name, tag, err := where.findTag(cmd, args)
			if err != nil {
				return err
			}
			t, err := lake.Tag(cmd.Context(), name, tag, id, retained)
			if err != nil {
				return failed(err)
			}
			if c.json {
				return c.printJSON(t)
			}
			c.printTags([]app.TagInfo{*t})
			return nil
		},
	}
	where.flags(cmd)
	snapshotFlag(cmd, &id)
	cmd.Flags().DurationVar(&retained, "time-retained", 0, "let the tag live for this long, such as 720h; without it for ever")
	return cmd
}

// findTag is find for commands whose last argument is a tag, which may have a dot as a table's name has.
func (l *inTheLake) findTag(cmd *cobra.Command, args []string) (lake *app.Lake, name, tag string, err error) {
	n := len(args) - 1
	lake, name, _, err = l.find(cmd.Context(), args[:n], 0)
	return lake, name, args[n], err
}

func (c *cli) tableUntag() *cobra.Command {
	var where inTheLake
	var yes bool
	cmd := &cobra.Command{
		Use:   "untag (--warehouse URI | -f job.yaml) [DATABASE.TABLE] TAG [--yes]",
		Short: "Delete a tag, and the files that only it shows",
		Long: `Delete a tag, and the files that only it shows: when its snapshot has expired, the rows
that it kept are gone. Without --yes only what would go is shown. Exit code 3 for tables
that only Paimon itself expires.`,
		Example: "  starter table untag --warehouse /tmp/tributary/lake ods.orders month-11 --yes",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			lake, name, tag, err := where.findTag(cmd, args)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			r, err := lake.Untag(ctx, name, tag, yes)
			if err != nil {
				return kept(err)
			}
			if c.json {
				return c.printJSON(r)
			}
			deleted, removed := "deleted", "removed"
			if !r.Removed {
				deleted, removed = "would delete", "would remove"
			}
			fmt.Fprintf(c.stdout, "%s tag %s of %s, which kept snapshot %d\n", deleted, r.Tag, r.Table, r.Snapshot)
			fmt.Fprintf(c.stdout, "%s %s and %s of metadata\n", removed, count(len(r.DataFiles), "data file"), count(len(r.MetadataFiles), "file"))
			if !r.Removed {
				fmt.Fprintln(c.stdout, undone)
			}
			return nil
		},
	}
	where.flags(cmd)
	yesFlag(cmd, &yes)
	return cmd
}
