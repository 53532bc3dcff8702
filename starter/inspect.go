package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/app"
)

func (c *cli) inspect() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Show what lies in the lake, or in a commit-message file",
		Long: `Show what lies in the lake, or in a commit-message file. The storage itself is read:
neither Temporal nor a worker is needed, and nothing is changed.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("inspect knows table, snapshot, files and message, not %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.inspectTable(), c.inspectSnapshot(), c.inspectFiles(), c.inspectMessage())
	return cmd
}

// inTheLake is how a command is told of a table.
type inTheLake struct {
	warehouse, file string
	// staging are the roots where runs of the warehouse keep their ledgers, as far as find learned of them.
	staging []string
}

func (l *inTheLake) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.warehouse, "warehouse", "", "the warehouse: an absolute path or a URI")
	cmd.Flags().StringVarP(&l.file, "file", "f", "", "a job file that names the warehouse and, with one table in it, the table")
}

// find opens the warehouse and tells the table's name and the arguments behind it. With a job file of one table the name
// may be left out; more says how many arguments may follow it.
func (l *inTheLake) find(ctx context.Context, args []string, more int) (*app.Lake, string, []string, error) {
	warehouse, targets := l.warehouse, []string(nil)
	var settings app.StoreSettings
	switch {
	case l.warehouse != "" && l.file != "":
		return nil, "", nil, usage(errors.New("name the warehouse with --warehouse or with a job file, not with both"))
	case l.file != "":
		job, err := loadJob(l.file)
		if err != nil {
			return nil, "", nil, err
		}
		warehouse, settings = job.Target.Warehouse, app.SettingsOf(job.Target)
		l.staging = append(l.staging, job.Target.StagingRoot())
		for i := range job.Tables {
			targets = append(targets, job.Tables[i].Target.Database+"."+job.Tables[i].Target.Table)
		}
		if warehouse == "" {
			return nil, "", nil, usage(fmt.Errorf("job %s has no warehouse", job.Name))
		}
	case l.warehouse == "":
		return nil, "", nil, usage(errors.New("name the warehouse with --warehouse, or a job file with -f"))
	}
	// A name has a dot, so that a number alone is no name.
	if len(args) <= more && (len(args) == 0 || !strings.Contains(args[0], ".")) {
		switch len(targets) {
		case 0:
			return nil, "", nil, usage(errors.New("name the table: DATABASE.TABLE"))
		case 1:
			args = append([]string{targets[0]}, args...)
		default:
			return nil, "", nil, usage(fmt.Errorf("the job has several tables, name one of %s", strings.Join(targets, ", ")))
		}
	}
	if _, _, err := app.ParseTable(args[0]); err != nil {
		return nil, "", nil, usage(err)
	}
	if root := (config.Target{Warehouse: warehouse}).StagingRoot(); !slices.Contains(l.staging, root) {
		l.staging = append(l.staging, root)
	}
	lake, err := app.OpenLake(ctx, warehouse, settings)
	if err != nil {
		return nil, "", nil, usage(err)
	}
	return lake, args[0], args[1:], nil
}

// snapshotFlag adds the choice of a snapshot.
func snapshotFlag(cmd *cobra.Command, id *int64) {
	cmd.Flags().Int64Var(id, "snapshot", 0, "the snapshot's id; without it the latest")
}

func checkSnapshot(cmd *cobra.Command, id int64) error {
	if cmd.Flags().Changed("snapshot") && id < 1 {
		return usage(fmt.Errorf("--snapshot %d: snapshots are numbered from 1", id))
	}
	return nil
}

// failed is an error of the lake itself.
func failed(err error) error { return &exitError{exitFailed, err} }

// maxRows bounds the rows shown, which are held in memory.
const maxRows = 10000

func (c *cli) inspectTable() *cobra.Command {
	var where inTheLake
	var id int64
	var rows int
	cmd := &cobra.Command{
		Use:   "table (--warehouse URI | -f job.yaml) [DATABASE.TABLE]",
		Short: "Show a table: schema, options, newest snapshot, totals, and rows",
		Long: `Show a table: columns, keys, options, the newest snapshot or the one asked for, rows,
files and bytes, and with --rows its first rows, in the order of its files (10,000 at most).`,
		Example: "  starter inspect table --warehouse /tmp/tributary/lake ods.orders --rows 5\n  starter inspect table -f examples/orders.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSnapshot(cmd, id); err != nil {
				return err
			}
			if rows < 0 || rows > maxRows {
				return usage(fmt.Errorf("--rows %d: 0 to %d can be shown", rows, maxRows))
			}
			lake, name, _, err := where.find(cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			info, err := lake.Table(cmd.Context(), name, id, rows)
			if err != nil {
				return failed(err)
			}
			if c.json {
				return c.printJSON(info)
			}
			c.printTable(info)
			return nil
		},
	}
	where.flags(cmd)
	snapshotFlag(cmd, &id)
	cmd.Flags().IntVar(&rows, "rows", 0, fmt.Sprintf("show this many rows, at most %d", maxRows))
	return cmd
}

func (c *cli) printTable(t *app.TableInfo) {
	fmt.Fprintf(c.stdout, "table %s at %s\n", t.Table, t.Location)
	if t.Comment != "" {
		fmt.Fprintf(c.stdout, "%s\n", cellText(&t.Comment))
	}
	if s := t.Snapshot; s == nil {
		fmt.Fprintln(c.stdout, "no snapshot yet")
	} else {
		fmt.Fprintf(c.stdout, "snapshot %d, %s by %s at %s; %s in all\n", s.ID, s.Kind, s.User, timeText(s.Time), count(t.Snapshots, "snapshot"))
		fmt.Fprintf(c.stdout, "%s in %s, %s\n", count(t.Rows, "row"), count(t.Files, "file"), bytesText(t.Bytes))
	}
	if len(t.Tags) > 0 {
		fmt.Fprintf(c.stdout, "tags: %s\n", strings.Join(t.Tags, ", "))
	}
	if len(t.PartitionKeys) > 0 {
		fmt.Fprintf(c.stdout, "partitioned by %s\n", strings.Join(t.PartitionKeys, ", "))
	}
	if len(t.PrimaryKeys) > 0 {
		fmt.Fprintf(c.stdout, "primary key %s\n", strings.Join(t.PrimaryKeys, ", "))
	}
	fmt.Fprintf(c.stdout, "schema %d:\n\n", t.SchemaID)
	w := c.newTable()
	w.AppendHeader(table.Row{"column", "type", "comment"})
	w.SuppressEmptyColumns()
	for _, col := range t.Columns {
		w.AppendRow(table.Row{col.Name, col.Type, col.Comment})
	}
	fmt.Fprintln(c.stdout, w.Render())
	if len(t.Options) > 0 {
		w = c.newTable()
		w.AppendHeader(table.Row{"option", "value"})
		for _, k := range slices.Sorted(maps.Keys(t.Options)) {
			w.AppendRow(table.Row{k, t.Options[k]})
		}
		fmt.Fprintln(c.stdout, "\n"+w.Render())
	}
	if t.Sample != nil {
		c.printRows(t)
	}
}

func (c *cli) printRows(t *app.TableInfo) {
	w := c.newTable()
	var header table.Row
	for _, col := range t.Columns {
		header = append(header, col.Name)
	}
	w.AppendHeader(header)
	for _, r := range t.Sample {
		var line table.Row
		for _, col := range t.Columns {
			line = append(line, cellText(r[col.Name]))
		}
		w.AppendRow(line)
	}
	fmt.Fprintln(c.stdout, "\n"+w.Render())
}

// maxCell is how many characters of a value a table shows.
const maxCell = 60

// cellText is a value in one line: a text that would break the line, be mistaken for a null or not be seen is quoted.
func cellText(v *string) string {
	if v == nil {
		return "NULL"
	}
	text := *v
	unseen := func(r rune) bool { return !unicode.IsPrint(r) }
	if text == "NULL" || text == "" || strings.TrimSpace(text) != text || strings.ContainsFunc(text, unseen) {
		text = strconv.Quote(text)
	}
	if runes := []rune(text); len(runes) > maxCell {
		text = string(runes[:maxCell-1]) + "…"
	}
	return text
}

func timeText(t time.Time) string { return t.Local().Format(time.DateTime) }

// count is a number of things, such as 1 file or 2 files.
func count[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (c *cli) inspectSnapshot() *cobra.Command {
	var where inTheLake
	cmd := &cobra.Command{
		Use:   "snapshot (--warehouse URI | -f job.yaml) [DATABASE.TABLE] [ID]",
		Short: "List a table's snapshots, or show one",
		Long: `List the snapshots of a table that have not expired, or show one: what it did, who
committed it under which identifier, when, the rows then, and its properties.`,
		Example: "  starter inspect snapshot --warehouse /tmp/tributary/lake ods.orders\n  starter inspect snapshot -f examples/orders.yaml 3",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			lake, name, rest, err := where.find(cmd.Context(), args, 1)
			if err != nil {
				return err
			}
			if len(rest) == 0 {
				list, err := lake.Snapshots(cmd.Context(), name)
				if err != nil {
					return failed(err)
				}
				return c.showSnapshots(list)
			}
			id, err := strconv.ParseInt(rest[0], 10, 64)
			if err != nil || id < 1 {
				return usage(fmt.Errorf("%q is no snapshot's id: they are numbered from 1", rest[0]))
			}
			s, err := lake.Snapshot(cmd.Context(), name, id)
			if err != nil {
				return failed(err)
			}
			return c.showSnapshot(s)
		},
	}
	where.flags(cmd)
	return cmd
}

func (c *cli) showSnapshots(list *app.SnapshotsInfo) error {
	if c.json {
		return c.printJSON(list)
	}
	if len(list.Snapshots) == 0 {
		fmt.Fprintf(c.stdout, "table %s has no snapshot yet\n", list.Table)
		return nil
	}
	w := c.newTable()
	w.AppendHeader(table.Row{"snapshot", "kind", "time", "rows", "change", "schema", "user", "identifier"})
	for _, s := range list.Snapshots {
		w.AppendRow(table.Row{s.ID, s.Kind, timeText(s.Time), s.Rows, fmt.Sprintf("%+d", s.Delta), s.SchemaID, s.User, s.Identifier})
	}
	fmt.Fprintln(c.stdout, w.Render())
	return nil
}

func (c *cli) showSnapshot(s *app.SnapshotInfo) error {
	if c.json {
		return c.printJSON(s)
	}
	w := c.newTable()
	w.AppendRow(table.Row{"snapshot", s.ID})
	w.AppendRow(table.Row{"kind", s.Kind})
	w.AppendRow(table.Row{"time", timeText(s.Time)})
	w.AppendRow(table.Row{"user", s.User})
	w.AppendRow(table.Row{"identifier", s.Identifier})
	w.AppendRow(table.Row{"schema", s.SchemaID})
	w.AppendRow(table.Row{"rows", fmt.Sprintf("%d (%+d)", s.Rows, s.Delta)})
	if s.Watermark != nil {
		w.AppendRow(table.Row{"watermark", *s.Watermark})
	}
	for _, k := range slices.Sorted(maps.Keys(s.Properties)) {
		w.AppendRow(table.Row{"property " + k, s.Properties[k]})
	}
	fmt.Fprintln(c.stdout, w.Render())
	return nil
}

func (c *cli) inspectFiles() *cobra.Command {
	var where inTheLake
	var id int64
	cmd := &cobra.Command{
		Use:     "files (--warehouse URI | -f job.yaml) [DATABASE.TABLE]",
		Short:   "List the data files that a snapshot shows",
		Example: "  starter inspect files --warehouse /tmp/tributary/lake ods.orders --snapshot 3",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSnapshot(cmd, id); err != nil {
				return err
			}
			lake, name, _, err := where.find(cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			info, err := lake.Files(cmd.Context(), name, id)
			if err != nil {
				return failed(err)
			}
			if c.json {
				return c.printJSON(info)
			}
			c.printFiles(info)
			return nil
		},
	}
	where.flags(cmd)
	snapshotFlag(cmd, &id)
	return cmd
}

func (c *cli) printFiles(info *app.FilesInfo) {
	if info.Snapshot == 0 {
		fmt.Fprintf(c.stdout, "table %s has no snapshot yet\n", info.Table)
		return
	}
	w := c.newTable()
	var header table.Row
	for _, k := range info.PartitionKeys {
		header = append(header, k)
	}
	w.AppendHeader(append(header, "bucket", "level", "rows", "size", "schema", "sequence", "file"))
	rows, bytes := int64(0), int64(0)
	for _, f := range info.Files {
		var line table.Row
		for _, k := range info.PartitionKeys {
			line = append(line, cellText(f.Partition[k]))
		}
		w.AppendRow(append(line, f.Bucket, f.Level, f.Rows, bytesText(f.Bytes), f.SchemaID,
			fmt.Sprintf("%d–%d", f.MinSequence, f.MaxSequence), path.Base(f.Path)))
		rows, bytes = rows+f.Rows, bytes+f.Bytes
	}
	fmt.Fprintln(c.stdout, w.Render())
	fmt.Fprintf(c.stdout, "snapshot %d: %s in %s, %s\n", info.Snapshot, count(rows, "row"), count(len(info.Files), "file"), bytesText(bytes))
}
