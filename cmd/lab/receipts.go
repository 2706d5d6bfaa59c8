package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"agentlab/lab/report"
)

func newReceipts() *cobra.Command {
	standard := filepath.Join("reports", "local", report.RunsFile)
	return &cobra.Command{
		Use:   "receipts [FILE]",
		Short: "List the receipts that the runs of a tool-eval left",
		Long: `List the receipts of keyed actions that each run left behind, by the stream of
runs that lab tool-eval wrote (not by a SQLite file). Only the built-in surfaces keep
them there, of cases that are staged; see "lab help cases".`,
		Example: `  lab receipts
  lab receipts reports/local/tool-runs.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := standard
			if len(args) > 0 {
				name = args[0]
			}
			file, err := os.Open(name)
			if err != nil {
				return usageError(err)
			}
			defer file.Close()
			if err := report.ReceiptTable(cmd.OutOrStdout(), file); err != nil {
				return unreadableStream(name, err)
			}
			return nil
		},
	}
}
