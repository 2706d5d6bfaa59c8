package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/datasets"
	"agentlab/lab/mutation"
	"agentlab/lab/overlay"
	"agentlab/lab/report"
	"agentlab/lab/suite"
)

// schemas are the published JSON Schemas, by the word that asks for them.
var schemas = []struct {
	name, of string
	document []byte
}{
	{"cases", "a line of a dataset", datasets.ToolCasesSchema},
	{"comparison", "tool-comparison.json", report.ComparisonSchema},
	{"runs", "a line of tool-runs.jsonl", report.RunsSchema},
	{"mutation", "mutation.json", report.MutationSchema},
	{"scan", "lab scan --format json", report.ScanSchema},
	{"suite", "lab.yaml", suite.Schema},
	{"contract", "a contract file", overlay.Schema},
	{"waivers", "a waiver file", mutation.WaiverSchema},
}

func newSchema() *cobra.Command {
	names := make([]string, len(schemas))
	for i, s := range schemas {
		names[i] = s.name
	}
	cmd := &cobra.Command{
		Use:     "schema {" + strings.Join(names, "|") + "}",
		Short:   "Print the JSON Schema of a dataset, a report, or a file that you write",
		Long:    "Print the JSON Schema (draft 07) of one of these:\n",
		Example: "  lab schema cases > tool-cases.schema.json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(names, args[0]) {
				return fmt.Errorf("name one of %s", strings.Join(names, ", "))
			}
			return nil
		},
		ValidArgs: names,
		Run: func(cmd *cobra.Command, args []string) {
			for _, s := range schemas {
				if s.name == args[0] {
					cmd.OutOrStdout().Write(s.document)
				}
			}
		},
	}
	for _, s := range schemas {
		cmd.Long += fmt.Sprintf("\n  %-12s%s", s.name, s.of)
	}
	return cmd
}
