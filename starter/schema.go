package main

import (
	"github.com/spf13/cobra"

	"github.com/tributary-lake/tributary/config"
)

func (c *cli) schema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of job files, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := c.stdout.Write(append(config.JSONSchema(), '\n'))
			return err
		},
	}
}
