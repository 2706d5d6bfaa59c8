package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"agentlab/lab/eval"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of lab",
		Example: "  lab version",
		Args:    cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintln(cmd.OutOrStdout(), "lab", eval.Version)
		},
	}
}
