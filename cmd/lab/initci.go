package main

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// ciFiles are the files that lab init ci prints.
//
//go:embed ci/*.yml
var ciFiles embed.FS

// ciSystems are the systems that there is a file for, and what it is called there.
var ciSystems = []struct{ name, file string }{
	{"github", ".github/workflows/lab.yml"},
	{"gitlab", ".gitlab-ci.yml"},
}

func newInitCI() *cobra.Command {
	var source string
	var names, places []string
	for _, s := range ciSystems {
		names = append(names, s.name)
		places = append(places, fmt.Sprintf("  lab init ci %s > %s", s.name, s.file))
	}
	cmd := &cobra.Command{
		Use:   "ci {" + strings.Join(names, " | ") + "}",
		Short: "Print a ready file for a CI system: the gate, its reports, nothing secret",
		Long: `Print a ready file for a CI system. It builds the lab, runs the gate with what
lab.yaml says, gives the system its own kind of report and keeps all reports as an
artifact. It may read the repository and nothing more, needs no secret, and names
every action by its commit.`,
		Example:   strings.Join(places, "\n"),
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return fmt.Errorf("name one of %s", strings.Join(names, ", "))
			case cobra.OnlyValidArgs(cmd, args) != nil:
				return fmt.Errorf("there is no file for %q, only for %s%s", args[0], strings.Join(names, ", "), meant(args[0], names))
			}
			return checkSource(source)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := ciFile(args[0], source)
			if err != nil {
				return couldNotRun(err)
			}
			fmt.Fprint(cmd.OutOrStdout(), text)
			return nil
		},
	}
	cmd.Flags().StringVar(&source, "source", ".", "where in the repository the source of the lab is, a `DIR`")
	return cmd
}

// plainPath is a path that means the same to YAML, a shell and an expression of a
// workflow.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._/-]*$`)

func checkSource(source string) error {
	if !plainPath.MatchString(source) || path.Clean(source) != source || source == ".." || strings.HasPrefix(source, "../") {
		return errors.New("--source is a folder inside the repository, of letters, digits and . _ - /")
	}
	return nil
}

// ciFile is the file for one system.
func ciFile(system, source string) (string, error) {
	text, err := ciFiles.ReadFile("ci/" + system + ".yml")
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(string(text), "{{.Source}}", `"`+source+`"`), nil
}
