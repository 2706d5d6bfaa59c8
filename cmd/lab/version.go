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
		RunE: func(cmd *cobra.Command, _ []string) error {
			return written(fmt.Fprintln(cmd.OutOrStdout(), "lab", eval.Version))
		},
	}
}

// written turns the error of a write to stdout into that of the command.
func written(_ int, err error) error {
	if err != nil {
		return couldNotRun(err)
	}
	return nil
}
