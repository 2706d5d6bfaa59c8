package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentlab/lab/boundary"
	"agentlab/lab/eval"
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

${SANDBOX} in the command, in single quotes, stands for the fresh folder that each
case gets. The command runs in the folder that the files are written to.`,
		Example: `  lab init -- npx -y @modelcontextprotocol/server-filesystem '${SANDBOX}'
  lab init --env API_TOKEN -- node dist/index.js
  lab init --url http://127.0.0.1:8931/mcp --header 'Authorization: Bearer ${TOKEN}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			changed := func(name string) bool { return cmd.Flag(name).Changed }
			switch {
			case changed("url") && o.url == "":
				return errors.New("--url names no server")
			case o.dir == "":
				return errors.New("--dir names no folder")
			case o.name == "":
				return errors.New("--name names nothing")
			case o.url != "" && changed("env"):
				return errors.New("--env is for a command; what a server at a URL has as its environment is not ours")
			case o.url == "" && changed("header"):
				return errors.New("--header is for --url")
			case o.timeout < suite.MinTimeout || o.timeout > suite.MaxTimeout:
				return fmt.Errorf("--timeout %s is not from %s to %s", o.timeout, suite.MinTimeout, suite.MaxTimeout)
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
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd.ArgsLenAtDash() < 0 {
			return fmt.Errorf("%w; a command with flags of its own comes after --", err)
		}
		return err
	})
	return cmd
}

// firstTimeout is long, as a package runner fetches its package the first time.
const firstTimeout = 2 * time.Minute

// casesFile is where the first cases go.
const casesFile = "cases/first.jsonl"

func (o *initCommand) run(ctx context.Context, command []string, stdout, stderr io.Writer) (err error) {
	written, err := o.suiteFile(command)
	if err != nil {
		return usageError(err)
	}
	files := []string{filepath.Join(o.dir, suite.DefaultFile), filepath.Join(o.dir, filepath.FromSlash(casesFile))}
	for _, file := range files {
		switch info, err := os.Lstat(file); {
		case err != nil:
		case info.IsDir():
			return usageError(fmt.Errorf("%s is a folder", file))
		case !o.force:
			return usageError(fmt.Errorf("%s is there already; --force replaces it", file))
		}
	}
	read, err := o.read(written)
	if err != nil {
		return err
	}
	if o.url == "" && !strings.Contains(written[:strings.Index(written, "\ncandidate:")], suite.SandboxVariable) {
		// Most often a shell has expanded it to nothing.
		fmt.Fprintf(stderr, "lab: the command does not name %s: where the server writes elsewhere, nothing is counted and nothing is reset (write it in single quotes)\n", suite.SandboxVariable)
	}
	// Both are there before anything is started: commands run beside their suite
	// file, and nobody wants to wait for a server to learn that nothing can be written.
	undo, err := makeFolder(filepath.Dir(files[1]))
	defer func() {
		if err != nil {
			undo()
		}
	}()
	if err != nil {
		return couldNotRun(err)
	}
	definitions, took, err := o.ask(ctx, read, stderr)
	if err != nil {
		return err
	}
	if len(definitions) == 0 {
		return couldNotRun(fmt.Errorf("%s lists no tools; there is nothing to write cases for", o.name))
	}
	cases, err := boundary.Cases(definitions, "")
	if err != nil {
		return couldNotRun(err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := writeFiles(files, []byte(written), cases); err != nil {
		return couldNotRun(err)
	}
	fmt.Fprintf(stderr, "%s started in %s and lists %s\n", report.Visible(o.name), took.Round(time.Millisecond), report.Counted(len(definitions), "tool"))
	next := "lab tool-eval"
	if filepath.Clean(o.dir) != "." {
		next += " -f " + shellWord(files[0])
	}
	all, todo := count(cases)
	fmt.Fprintf(stdout, "%s: the suite\n%s: %s, of which %d are a todo\n\nNext:\n  %s\nand say in %s what has to come of the calls that are a todo.\n"+
		"A refusal passes whatever its reason, such as an id that does not exist: seed the\nsandbox with what the calls name, and name the error_code where it matters.\n",
		report.Visible(files[0]), report.Visible(files[1]), report.Counted(all, "case"), todo, report.Visible(next), report.Visible(files[1]))
	return nil
}

// count tells how many cases there are, and how many of them are a todo.
func count(cases []byte) (all, todo int) {
	for line := range bytes.Lines(cases) {
		var c struct{ Todo string }
		if json.Unmarshal(line, &c) == nil && c.Todo != "" {
			todo++
		}
		all++
	}
	return all, todo
}

// shellWord is a word as a shell takes it.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./][A-Za-z0-9_@%+=:,./-]*$`)

// makeFolder makes a folder with those above it, and returns what takes away the
// ones that were missing, as long as they are empty. It does so where it fails
// half-way, too.
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

// writeFiles writes files whole, all of them or none.
func writeFiles(names []string, texts ...[]byte) (err error) {
	var staged, made []string
	defer func() {
		if err != nil {
			for _, name := range append(staged, made...) {
				os.Remove(name)
			}
		}
	}()
	for i, name := range names {
		file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
		if err != nil {
			return err
		}
		staged = append(staged, file.Name())
		_, err = file.Write(texts[i])
		if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
			return err
		}
	}
	for i, name := range names {
		_, absent := os.Lstat(name)
		if err := os.Rename(staged[i], name); err != nil {
			return err
		}
		if absent != nil {
			made = append(made, name)
		}
	}
	return nil
}
