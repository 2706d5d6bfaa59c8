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

	"agentlab/lab/report"
	"agentlab/lab/suite"
)

// initCommand is the command line of lab init.
type initCommand struct {
	name     string
	dir      string
	url      string
	headers  []string
	env      []string
	timeout  time.Duration
	force    bool
	contract bool
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

With --contract a first contract file and the lock of the catalog are written too,
and the suite compares the server with the same server behind its contract. What
each tool does is guessed from its annotations and its name, and marked for review.

${SANDBOX} in the command, in single quotes, stands for the fresh folder that each
case gets. The command runs in the folder that the files are written to.`,
		Example: `  lab init -- npx -y @modelcontextprotocol/server-filesystem '${SANDBOX}'
  lab init --contract -- node dist/index.js '${SANDBOX}'
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
			case o.contract && o.name == governedName:
				return fmt.Errorf("--name %s is what the server behind the contract is called", governedName)
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
	flags.BoolVar(&o.contract, "contract", false, "write a first contract too, and compare the server with itself behind it")
	flags.BoolVar(&o.force, "force", false, "replace files that are there")
	cmd.SetFlagErrorFunc(afterDashes)
	cmd.AddCommand(newInitCI())
	return cmd
}

// afterDashes says of a flag that is unknown where a flag of another command would
// stand.
func afterDashes(cmd *cobra.Command, err error) error {
	if cmd.ArgsLenAtDash() < 0 {
		return fmt.Errorf("%w; a command with flags of its own comes after --", err)
	}
	return err
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
	if o.contract {
		files = append(files, filepath.Join(o.dir, firstContract), filepath.Join(o.dir, defaultLock))
	}
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
	server, _ := read.Surface(o.name)
	definitions, took, err := listTools(ctx, server, o.dir, o.timeout, stderr)
	if err != nil {
		return err
	}
	if len(definitions) == 0 {
		return couldNotRun(fmt.Errorf("%s lists no tools; there is nothing to write cases for", o.name))
	}
	texts, err := o.first(definitions)
	if err != nil {
		return couldNotRun(err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := writeFiles(files, append([][]byte{[]byte(written)}, texts...)...); err != nil {
		return couldNotRun(err)
	}
	fmt.Fprintf(stderr, "%s started in %s and lists %s\n", report.Visible(o.name), took.Round(time.Millisecond), report.Counted(len(definitions), "tool"))
	next := "lab tool-eval"
	if filepath.Clean(o.dir) != "." {
		next += " -f " + shellWord(files[0])
	}
	all, todo := count(texts[0])
	fmt.Fprintf(stdout, "%s: the suite\n%s: %s, of which %d are a todo\n", report.Visible(files[0]), report.Visible(files[1]), report.Counted(all, "case"), todo)
	if o.contract {
		fmt.Fprintf(stdout, "%s: the contract, with %d lines to review\n%s: the catalog as it was reviewed\n",
			report.Visible(files[2]), bytes.Count(texts[1], []byte("# REVIEW")), report.Visible(files[3]))
	}
	fmt.Fprintf(stdout, "\nNext:\n  %s\nand say in %s what has to come of the calls that are a todo.\n", report.Visible(next), report.Visible(files[1]))
	if !o.contract {
		fmt.Fprint(stdout, "A refusal passes whatever its reason, such as an id that does not exist: seed the\nsandbox with what the calls name, and name the error_code where it matters.\n")
	}
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
