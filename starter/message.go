package main

import (
	"errors"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/tributary-lake/tributary/internal/app"
)

func (c *cli) inspectMessage() *cobra.Command {
	var extract string
	cmd := &cobra.Command{
		Use:   "message FILE",
		Short: "Show what a commit-message file holds, or take its messages out",
		Long: `Show what a commit-message file holds: who wrote it with which version of Paimon's
serializer, and the new data files of each message. Partitions are shown as the
bytes that the file has: their types are those of the table.

With --extract the messages are written to a new or empty directory as well, for
a committer in Java: message-1.bin and so on hold exactly the bytes of Paimon's
CommitMessageSerializer, and messages.json the serializer version that reads them,
the schema id and their number. examples/java-committer reads FILE itself.`,
		Example: `  starter inspect message /tmp/tributary/lake/_tributary/JOB/RUN/TABLE/messages/UNIT-ID
  starter inspect message FILE --extract /tmp/messages`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("extract") {
				return c.extractMessages(cmd, args[0], extract)
			}
			info, err := app.Message(cmd.Context(), args[0])
			if err != nil {
				return failed(err)
			}
			if c.json {
				return c.printJSON(info)
			}
			c.printMessage(info)
			return nil
		},
	}
	cmd.Flags().StringVar(&extract, "extract", "", "write the plain messages to this directory, which must be new or empty")
	return cmd
}

func (c *cli) extractMessages(cmd *cobra.Command, file, dir string) error {
	if dir == "" {
		return usage(errors.New("--extract needs a directory"))
	}
	out, err := app.ExtractMessages(cmd.Context(), file, dir)
	if err != nil {
		return failed(err)
	}
	if c.json {
		return c.printJSON(out)
	}
	fmt.Fprintf(c.stdout, "%s of serializer version %d (Paimon %s), schema %d, in %s; %s tells the same\n",
		count(out.Count, "message"), out.SerializerVersion, out.PaimonLine, out.SchemaID, dir, out.Index)
	return nil
}

func (c *cli) printMessage(m *app.MessageInfo) {
	fmt.Fprintf(c.stdout, "written by %s for Paimon %s, serializer version %d, schema %d\n", m.Producer, m.PaimonLine, m.SerializerVersion, m.SchemaID)
	fmt.Fprintf(c.stdout, "%s with %s, %s, %s\n", count(len(m.Messages), "message"), count(m.Files, "new file"), count(m.Rows, "row"), bytesText(m.Bytes))
	w := c.newTable()
	w.AppendHeader(table.Row{"message", "partition", "bucket", "new file", "rows", "size", "sequence"})
	others := 0
	for i := range m.Messages {
		e := &m.Messages[i]
		others += e.Others
		for _, f := range e.NewFiles {
			w.AppendRow(table.Row{i + 1, cellText(&e.Partition), e.Bucket, f.Name, f.Rows, bytesText(f.Bytes), fmt.Sprintf("%d–%d", f.MinSequence, f.MaxSequence)})
		}
	}
	if m.Files > 0 {
		fmt.Fprintln(c.stdout, "\n"+w.Render())
	}
	if others > 0 {
		fmt.Fprintf(c.stdout, "and other files, deleted, compacted, of a changelog or of an index: %d\n", others)
	}
}
