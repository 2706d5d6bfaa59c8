package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/lab/eval"
)

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "Prove that an agent's tools hold their contract",
		Long: `lab tells whether the tools that are given to an AI agent can be trusted when
the agent proposes something wrong. It replays fixed proposals against tool
surfaces, counts what really changed, and passes or fails a gate. It calls no
model, needs no network and no key.`,
		Example: `  lab tool-eval                 replay the shipped cases and judge the gate
  lab init -- COMMAND           begin with an MCP server of your own
  lab scan -- COMMAND           look in a minute what is wrong with one
  lab surfaces                  list what cases can be replayed on
  lab help cases                how to write a case`,
		Version:       eval.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          showHelp,
	}
	root.PersistentFlags().Bool("no-color", false, "no colour and no progress, as where NO_COLOR is set")
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetVersionTemplate("lab {{.Version}}\n")
	root.AddCommand(newToolEval(), newMutate(), newShrink(), newInit(), newGenerate(), newScan(), newSchedule(), newPin(), newSurfaces(), newReport(), newShow(), newStats(), newReceipts(), newSchema(), newVersion())
	root.AddCommand(topics()...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = isTopic
		case "completion":
			cmd.RunE = showHelp
		}
	}
	return root
}

// showHelp is what a command does that only holds others. Without it cobra
// takes any argument for a wish for help.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// isTopic refuses what "lab help" knows nothing of.
func isTopic(cmd *cobra.Command, args []string) error {
	if _, rest, err := cmd.Root().Find(args); err != nil || len(rest) > 0 {
		return fmt.Errorf("unknown help topic %q", strings.Join(args, " "))
	}
	return nil
}
