package main

import (
	"io"

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
  lab surfaces                  list what they can be replayed on
  lab help cases                how to write a case`,
		Version:       eval.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetVersionTemplate("lab {{.Version}}\n")
	root.AddCommand(newToolEval(), newSurfaces(), newSchema(), newVersion())
	root.AddCommand(topics()...)
	return root
}
