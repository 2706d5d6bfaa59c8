package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/lab/report"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

func newSurfaces() *cobra.Command {
	return &cobra.Command{
		Use:   "surfaces [NAME]",
		Short: "List the built-in surfaces, or print the catalog of one",
		Long: `List the built-in tool surfaces with the number of their tools and the bytes
that a model is sent. With a name, print that catalog as a function-calling API
is sent it.`,
		Example: `  lab surfaces
  lab surfaces typed-registry-v2`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSurfaces,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if err := report.SurfaceTable(cmd.OutOrStdout(), ticket.Surfaces()); err != nil {
					return couldNotRun(err)
				}
				return nil
			}
			surface, err := surfaceNamed(args[0])
			if err != nil {
				return err
			}
			catalog, err := tool.Catalog(surface.Definitions())
			if err != nil {
				return couldNotRun(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n", catalog)
			return nil
		},
	}
}

func surfaceNames() []string {
	var names []string
	for _, s := range ticket.Surfaces() {
		names = append(names, s.Name())
	}
	return names
}

func completeSurfaces(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return surfaceNames(), cobra.ShellCompDirectiveNoFileComp
}

func surfaceNamed(name string) (tool.Surface, error) {
	for _, s := range ticket.Surfaces() {
		if s.Name() == name {
			return s, nil
		}
	}
	return nil, usageError(fmt.Errorf("there is no surface %q; there are %s", name, strings.Join(surfaceNames(), ", ")))
}
