package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentlab/lab/boundary"
	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/report"
	"agentlab/lab/sandbox"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// initCommand is the command line of lab init.
type initCommand struct {
	name    string
	dir     string
	url     string
	headers []string
	env     []string
	timeout time.Duration
	force   bool
}

func newInit() *cobra.Command {
	var o initCommand
	cmd := &cobra.Command{
		Use:   "init {-- COMMAND... | --url URL}",
		Short: "Write a suite file and first cases for an MCP server of your own",
		Long: `Connect to an MCP server, list its tools, and write lab.yaml and a first file of
cases: for each tool one plain call, built from its schema and marked todo where a
person has to say what is right, and the calls that its schema forbids and that
must be refused. No tool is called.

${SANDBOX} in the command, in quotes, stands for the fresh folder that each case
gets.`,
		Example: `  lab init -- npx -y @modelcontextprotocol/server-filesystem '${SANDBOX}'
  lab init --env API_TOKEN -- node dist/index.js
  lab init --url http://127.0.0.1:8931/mcp --header 'Authorization: Bearer ${TOKEN}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && o.url == "":
				return errors.New("name the server: a command after --, or --url")
			case len(args) > 0 && o.url != "":
				return errors.New("name either a command or --url")
			case cmd.ArgsLenAtDash() > 0:
				return fmt.Errorf("unexpected argument %q before --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "server", "what the server is called in reports, a `NAME`")
	flags.StringVar(&o.dir, "dir", ".", "write the files to this `DIR`")
	flags.StringVar(&o.url, "url", "", "a server that runs already, at this `URL`")
	flags.StringArrayVar(&o.headers, "header", nil, "send this `HEADER` ('Name: value') with every request to --url; repeatable")
	flags.StringArrayVar(&o.env, "env", nil, "give the server this variable of the environment, `NAME` or NAME=VALUE; repeatable")
	flags.DurationVar(&o.timeout, "timeout", firstTimeout, "how long the server may take to start, this first time")
	flags.BoolVar(&o.force, "force", false, "replace files that are there")
	return cmd
}

// firstTimeout is long, as a package runner fetches its package the first time.
const firstTimeout = 2 * time.Minute

// casesFile is where the first cases go.
const casesFile = "cases/first.jsonl"

func (o *initCommand) run(ctx context.Context, command []string, stdout, stderr io.Writer) error {
	written, err := o.suiteFile(command)
	if err != nil {
		return usageError(err)
	}
	files := []string{filepath.Join(o.dir, suite.DefaultFile), filepath.Join(o.dir, filepath.FromSlash(casesFile))}
	if !o.force {
		for _, file := range files {
			if _, err := os.Lstat(file); err == nil {
				return usageError(fmt.Errorf("%s is there already; --force replaces it", file))
			}
		}
	}
	read, err := o.read(written)
	if err != nil {
		return err
	}
	// Commands run beside their suite file.
	undo, err := makeFolder(o.dir)
	if err != nil {
		return couldNotRun(err)
	}
	definitions, took, err := o.ask(ctx, read, stderr)
	if err != nil {
		undo()
		return err
	}
	if len(definitions) == 0 {
		undo()
		return couldNotRun(fmt.Errorf("%s lists no tools; there is nothing to write cases for", o.name))
	}
	cases, err := boundary.Cases(definitions, "")
	if err != nil {
		undo()
		return couldNotRun(err)
	}
	for i, text := range [][]byte{[]byte(written), cases} {
		if err := writeFile(files[i], text); err != nil {
			return couldNotRun(err)
		}
	}
	fmt.Fprintf(stderr, "%s started in %s and lists %s\n", report.Visible(o.name), took.Round(time.Millisecond), counted(len(definitions), "tool"))
	todo := strings.Count(string(cases), `"todo":`)
	fmt.Fprintf(stdout, "%s: the suite\n%s: %s, of which %d are a todo\n\nNext:\n  lab tool-eval\nand say in %s what has to come of the calls that are a todo.\n",
		report.Visible(files[0]), report.Visible(files[1]), counted(strings.Count(string(cases), "\n"), "case"), todo, report.Visible(files[1]))
	return nil
}

// makeFolder makes a folder with those above it, and returns what takes away the
// ones that were missing, as long as they are empty.
func makeFolder(dir string) (undo func(), err error) {
	var made []string
	for missing := filepath.Clean(dir); ; missing = filepath.Dir(missing) {
		if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, missing)
	}
	return func() {
		for _, folder := range made {
			os.Remove(folder)
		}
	}, os.MkdirAll(dir, 0o755)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// suiteFile is the text of the suite file.
func (o *initCommand) suiteFile(command []string) (string, error) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# What lab tool-eval replays; \"lab help suite\" tells every key.")
	line("version: 1")
	line("surfaces:")
	line("  %s:", o.name)
	line("    mcp:")
	effects := `effects: {directory: "${SANDBOX}"}   # what counts as a side effect: a file that changes there`
	if o.url != "" {
		line("      url: %s", yamlString(o.url))
		for i, header := range o.headers {
			name, value, ok := strings.Cut(header, ":")
			if !ok {
				return "", fmt.Errorf("--header %q has no colon", name)
			}
			if i == 0 {
				line("      headers:")
			}
			line("        %s: %s", yamlString(strings.TrimSpace(name)), yamlString(strings.TrimSpace(value)))
		}
		effects = `effects: []   # nothing is counted: say where what the server changes can be seen`
	} else {
		quoted := make([]string, len(command))
		for i, word := range command {
			quoted[i] = yamlString(word)
		}
		line("      command: [%s]", strings.Join(quoted, ", "))
		environment := o.env
		if base := filepath.Base(command[0]); (base == "npx" || base == "npm") && os.Getenv("HOME") != "" {
			// Its HOME is the sandbox, in which every case would fetch the package anew.
			environment = append([]string{"npm_config_cache=${HOME}/.npm"}, environment...)
		}
		for i, variable := range environment {
			name, value, literal := strings.Cut(variable, "=")
			if name == "" {
				return "", fmt.Errorf("--env %q names no variable", variable)
			}
			if !literal {
				value = "${" + name + "}"
			}
			if i == 0 {
				line("      env:")
			}
			line("        %s: %s", yamlString(name), yamlString(value))
		}
	}
	line("candidate: %s", o.name)
	line("cases: [cases/*.jsonl]")
	if o.url == "" {
		line("sandbox: {}       # a fresh empty ${SANDBOX} for every case; seed: FOLDER makes it a copy of one")
	}
	line("%s", effects)
	line("isolation: case   # a fresh server for every case")
	line("timeout: %s     # of a start, and of each call", suite.DefaultTimeout)
	return b.String(), nil
}

// yamlString quotes a text for YAML, which takes what JSON does.
func yamlString(text string) string { return string(jsonvalue.AppendString(nil, text)) }

// read reads the suite file that is to be written as it will be read from then
// on: in a folder of its own, as the cases that it names are not there yet.
func (o *initCommand) read(written string) (*suite.Suite, error) {
	dir, err := os.MkdirTemp("", "lab-init-")
	if err != nil {
		return nil, couldNotRun(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, suite.DefaultFile)
	if err := errors.Join(writeFile(file, []byte(written)), writeFile(filepath.Join(dir, filepath.FromSlash(casesFile)), nil)); err != nil {
		return nil, couldNotRun(err)
	}
	s, err := suite.Read(file, os.LookupEnv)
	if invalid := (*suite.Invalid)(nil); errors.As(err, &invalid) {
		// It is the command line that is wrong, and no file of the user's.
		return nil, usageError(errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")))
	}
	return s, unreadable(err)
}

// ask connects to the server and lists its tools.
func (o *initCommand) ask(ctx context.Context, s *suite.Suite, stderr io.Writer) ([]tool.Definition, time.Duration, error) {
	spec := s.Surfaces[0]
	spec.Effects = nil // nothing is called, and so nothing is looked at
	surface, err := sandbox.Open(ctx, spec, sandbox.Settings{
		Version:   eval.Version,
		Dir:       o.dir,
		Isolation: s.Isolation,
		Timeout:   o.timeout,
		Notice:    notices(stderr),
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		return nil, 0, couldNotRun(err)
	}
	_, took, _ := surface.Starts()
	if err := surface.Close(); err != nil {
		return nil, 0, couldNotRun(err)
	}
	if down := surface.Down(); down != nil {
		return nil, 0, couldNotRun(down)
	}
	return surface.Definitions(), took, nil
}

// writeFile writes a file whole or not at all.
func writeFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		if gone := os.Remove(file.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
