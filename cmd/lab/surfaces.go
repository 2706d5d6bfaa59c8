package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/lab/report"
	"agentlab/lab/suite"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

func newSurfaces() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "surfaces [NAME]",
		Short: "List the built-in surfaces, or print the catalog of one",
		Long: `List the built-in tool surfaces with the number of their tools and the bytes
that a model is sent. With a name, print that catalog as a function-calling API
is sent it: of a built-in surface, or of one of the suite file, which is connected
to. Behind a contract a model sees other schemas and descriptions than the server's.`,
		Example: `  lab surfaces
  lab surfaces typed-registry-v2
  lab surfaces governed -f lab.yaml`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSurfaces,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if err := report.SurfaceTable(cmd.OutOrStdout(), ticket.Surfaces()); err != nil {
					return couldNotRun(err)
				}
				return nil
			}
			definitions, err := definitionsOf(cmd, args[0], file)
			if err != nil {
				return err
			}
			catalog, err := tool.Catalog(definitions)
			if err != nil {
				return couldNotRun(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n", catalog)
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", suite.DefaultFile, "the suite `FILE` of a surface that is not built in")
	return cmd
}

// definitionsOf are what a model sees of a built-in surface, or of one of the suite
// file.
func definitionsOf(cmd *cobra.Command, name, file string) ([]tool.Definition, error) {
	if !cmd.Flag("file").Changed {
		builtin, err := surfaceNamed(name)
		if err == nil {
			return builtin.Definitions(), nil
		}
		if _, missing := os.Lstat(file); errors.Is(missing, fs.ErrNotExist) {
			return nil, err
		}
	}
	ctx := cmd.Context()
	s, err := untilDone(ctx, func() (*suite.Suite, error) { return suite.Read(file, os.LookupEnv) })
	if err != nil {
		return nil, unreadable(err)
	}
	spec, err := surfaceOf(s, name)
	if err != nil {
		return nil, err
	}
	laid, err := readContracts(ctx, []suite.Surface{spec}, file)
	if err != nil {
		return nil, err
	}
	definitions, _, err := listTools(ctx, spec, filepath.Dir(file), s.Timeout, cmd.ErrOrStderr())
	if err != nil || laid[0] == nil {
		return definitions, err
	}
	tools, err := laid[0].Lay(definitions)
	if err != nil {
		return nil, unreadable(err)
	}
	seen := make([]tool.Definition, len(tools))
	for i, t := range tools {
		seen[i] = t.Contract.Definition
	}
	return seen, nil
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
