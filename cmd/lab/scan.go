package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"agentlab/lab/contract"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/sandbox"
	"agentlab/lab/scan"
	"agentlab/lab/spelling"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// scanCommand is the command line of lab scan.
type scanCommand struct {
	server   initCommand // how a server of the command line is reached
	file     string
	surface  string
	contract string
	cases    []string
	seed     string
	format   string
	failOn   string
	list     bool
	quiet    bool
	settings scan.Settings
}

// scanFormats are what stdout can be given, by the value of --format.
var scanFormats = map[string]func(io.Writer, *scan.Report) error{
	"text": report.ScanText, "json": report.ScanJSON, "markdown": report.ScanMarkdown,
}

// What --fail-on may be.
const (
	failOnError   = "error"
	failOnFinding = "finding"
	failNever     = "never"
)

func newScan() *cobra.Command {
	o := scanCommand{server: initCommand{name: "server", dir: "."}}
	cmd := &cobra.Command{
		Use:   "scan {-- COMMAND... | --url URL | -f FILE}",
		Short: "Look in a minute for what an agent would stumble over in an MCP server",
		Long: `Start an MCP server with a fresh folder, ${SANDBOX}, call its tools as their schemas
describe them and as their schemas forbid, and tell what was found: invalid calls that are
carried out, errors that are told as successes or say nothing, outputs that break
their schema or are too large, pages that repeat or miss items, tools that change
something though they say that they only read, calls that the server does not
survive. "lab scan --list" tells every finding.

A tool is called only where somebody says that this is safe: the server, by
readOnlyHint; a contract file, by effect: read; you, by --tool NAME. With
--allow-writes every other tool is called too, each write twice, for which the
server has to work in the sandbox: its command names ${SANDBOX}, in single quotes.
What it reaches beyond that folder, such as a mail server, is not in the sandbox:
a tool that says openWorldHint is left out even then. Nothing holds a server there:
it runs as you, in the folder that you are in, and one that writes elsewhere, as by
a relative path, does so unseen. Run one that you do not trust in a container. What was left out is told.

It exits 1 where there is a finding of severity error (--fail-on finding: any).`,
		Example: `  lab scan -- npx -y @modelcontextprotocol/server-filesystem '${SANDBOX}'
  lab scan --allow-writes --seed testdata -- node dist/index.js '${SANDBOX}'
  lab scan --url http://127.0.0.1:8931/mcp --tool search
  lab scan -f lab.yaml --surface raw --format markdown > scan.md`,
		Args: func(cmd *cobra.Command, args []string) error { return o.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.list {
				for _, k := range scan.Kinds() {
					fmt.Fprintf(cmd.OutOrStdout(), "%-24s %-8s %s\n", k.Code, k.Severity, k.Means)
				}
				return nil
			}
			return o.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.server.url, "url", "", "a server that runs already, at this `URL`")
	flags.StringArrayVar(&o.server.headers, "header", nil, "send this `HEADER` ('Name: value') with every request to --url; repeatable")
	flags.StringArrayVar(&o.server.env, "env", nil, "give the server this variable of the environment, `NAME` or NAME=VALUE; repeatable")
	flags.StringVarP(&o.file, "file", "f", "", "scan a server of this suite `FILE`")
	flags.StringVar(&o.surface, "surface", "", "the `NAME` of the surface in the suite file (default: the candidate)")
	flags.StringVar(&o.contract, "contract", "", "take the word of this contract `FILE` for what tools do")
	flags.StringArrayVar(&o.cases, "cases", nil, "begin with calls that cases of this JSONL `FILE` expect to succeed; repeatable (default with -f: those of the suite)")
	flags.StringVar(&o.seed, "seed", "", "make the sandbox a copy of this `FOLDER`")
	flags.StringArrayVar(&o.settings.Named, "tool", nil, "call this tool, whatever it does, a `NAME`; repeatable")
	flags.BoolVar(&o.settings.Writes, "allow-writes", false, "call tools that may change something; the server has to work in ${SANDBOX}")
	flags.IntVar(&o.settings.PerTool, "per-tool", 100, "make at most `N` calls of a tool")
	flags.IntVar(&o.settings.MaxOutput, "max-output-bytes", 25_000, "an answer of more than `N` bytes is a finding")
	flags.DurationVar(&o.settings.CallTime, "timeout", suite.DefaultTimeout, "how long a call may take")
	flags.DurationVar(&o.settings.Time, "time", time.Minute, "how long everything may take, once the server has started")
	flags.StringVar(&o.format, "format", "text", "what stdout gets, a `FORMAT`: text, json or markdown")
	flags.StringVar(&o.failOn, "fail-on", failOnError, "exit 1 on `WHAT`: error, finding or never")
	flags.BoolVar(&o.list, "list", false, "list what can be found, and call nothing")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	cmd.MarkFlagsMutuallyExclusive("file", "url")
	for flag, complete := range map[string]cobra.CompletionFunc{
		"format":   cobra.FixedCompletions([]string{"text", "json", "markdown"}, cobra.ShellCompDirectiveNoFileComp),
		"fail-on":  cobra.FixedCompletions([]string{failOnError, failOnFinding, failNever}, cobra.ShellCompDirectiveNoFileComp),
		"file":     cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
		"contract": cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
		"cases":    cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		"seed":     cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"tool":     cobra.NoFileCompletions,
		"surface":  cobra.NoFileCompletions,
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flag is defined above
		}
	}
	cmd.SetFlagErrorFunc(afterDashes)
	return cmd
}

// check says what is wrong with a command line, before anything is started.
func (o *scanCommand) check(cmd *cobra.Command, args []string) error {
	changed := func(name string) bool { return cmd.Flag(name).Changed }
	for _, flag := range []struct{ name, what string }{{"url", "server"}, {"file", "file"}, {"surface", "surface"}, {"contract", "file"}, {"seed", "folder"}} {
		if changed(flag.name) && cmd.Flag(flag.name).Value.String() == "" {
			return fmt.Errorf("--%s names no %s", flag.name, flag.what)
		}
	}
	ways := 0
	for _, given := range []bool{len(args) > 0, o.server.url != "", o.file != ""} {
		if given {
			ways++
		}
	}
	s := &o.settings
	switch {
	case o.list && ways == 0:
		return nil
	case o.list:
		return errors.New("--list calls nothing, and needs no server")
	case cmd.ArgsLenAtDash() > 0 || len(args) > 0 && cmd.ArgsLenAtDash() < 0:
		return fmt.Errorf("unexpected argument %q before --", args[0])
	case ways != 1:
		return errors.New("name one server: a command after --, or --url, or -f")
	case scanFormats[o.format] == nil:
		return fmt.Errorf("--format %q is not one of text, json, markdown", o.format)
	case o.failOn != failOnError && o.failOn != failOnFinding && o.failOn != failNever:
		return fmt.Errorf("--fail-on %q is not one of error, finding, never", o.failOn)
	case s.PerTool < 1:
		return fmt.Errorf("--per-tool %d is less than one call", s.PerTool)
	case s.MaxOutput < 1:
		return fmt.Errorf("--max-output-bytes %d is less than one byte", s.MaxOutput)
	case s.CallTime < suite.MinTimeout || s.CallTime > suite.MaxTimeout:
		return fmt.Errorf("--timeout %s is not from %s to %s", s.CallTime, suite.MinTimeout, suite.MaxTimeout)
	case s.Time < suite.MinTimeout:
		return fmt.Errorf("--time %s is less than %s", s.Time, suite.MinTimeout)
	case o.server.url != "" && changed("env"):
		return errors.New("--env is for a command; what a server at a URL has as its environment is not ours")
	case o.server.url == "" && changed("header"):
		return errors.New("--header is for --url")
	case o.server.url != "" && changed("seed"):
		return errors.New("--seed is for a command; a server at a URL does not work in the sandbox")
	case o.file == "" && changed("surface"):
		return errors.New("--surface is for -f")
	case o.file != "" && (changed("env") || changed("contract") || changed("seed")):
		return errors.New("--env, --contract and --seed are for a command; a suite file has a key for each")
	}
	return nil
}

// known are the calls that cases expect to succeed: of those that make one call, the
// first for each tool.
func (o *scanCommand) known(ctx context.Context, surface string) (map[string]scan.Known, error) {
	if len(o.cases) == 0 {
		return nil, nil
	}
	sources, err := twice(ctx, o.cases)
	if err != nil {
		return nil, err
	}
	known := make(map[string]scan.Known)
	cases := dataset.Settings{Candidate: surface}.Open(sources...)
	defer cases.Close()
	_, err = cases.Check(ctx, func(c *dataset.Case) {
		if c.Todo != "" || c.Expected.OK == nil || !*c.Expected.OK || len(c.Candidate) != 1 || c.Candidate[0].Setting != nil {
			return
		}
		p := c.Candidate[0]
		if _, there := known[p.Name]; !there {
			known[p.Name] = scan.Known{Case: c.ID, Arguments: p.Arguments}
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, replayError(err, newSelection("case", nil))
	}
	return known, nil
}

// spec is the server that is to be scanned, and the folder that it runs in.
func (o *scanCommand) spec(ctx context.Context, command []string) (suite.Surface, string, error) {
	if o.file != "" {
		s, err := untilDone(ctx, func() (*suite.Suite, error) { return suite.Read(o.file, os.LookupEnv) })
		if err != nil {
			return suite.Surface{}, "", unreadable(err)
		}
		name := o.surface
		if name == "" {
			name = s.Candidate
		}
		spec, err := surfaceOf(s, name)
		if o.cases == nil {
			o.cases = s.Cases
		}
		return spec, filepath.Dir(o.file), err
	}
	written, err := o.server.suiteFile(command)
	if err != nil {
		return suite.Surface{}, "", usageError(err)
	}
	s, err := o.server.read(written)
	if err != nil {
		return suite.Surface{}, "", err
	}
	spec, _ := s.Surface(o.server.name)
	spec.Contract = o.contract
	if o.seed != "" {
		if info, err := os.Stat(o.seed); err != nil || !info.IsDir() {
			return suite.Surface{}, "", usageError(fmt.Errorf("--seed %s: there is no such folder", o.seed))
		}
		if spec.Sandbox.Seed, err = filepath.Abs(o.seed); err != nil {
			return suite.Surface{}, "", couldNotRun(err)
		}
	}
	return spec, ".", nil
}

func (o *scanCommand) run(cmd *cobra.Command, command []string) (err error) {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	spec, dir, err := o.spec(ctx, command)
	if err != nil {
		return err
	}
	if o.settings.Writes && (spec.Server.URL != "" || !namesSandbox(&spec.Server)) {
		return usageError(fmt.Errorf("--allow-writes: the server does not work in the sandbox: name %s in its command or environment, in single quotes", suite.SandboxVariable))
	}
	laid, err := readContracts(ctx, []suite.Surface{spec}, o.file)
	if err != nil {
		return err
	}
	if o.settings.Known, err = o.known(ctx, spec.Name); err != nil {
		return err
	}
	told := &breaches{prefix: spec.Name + " breaks the protocol: "}
	if !o.quiet {
		told.others = notices(stderr)
	}
	// The server is started anew for every tool: what one did is no matter of the next.
	spec.Contract = ""
	server, err := sandbox.Open(ctx, spec, sandbox.Settings{
		Version: eval.Version, Dir: dir, Isolation: suite.PerCase, Timeout: max(firstTimeout, o.settings.CallTime), Notice: told.notice,
	})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return couldNotRun(err)
	}
	defer func() { err = withLeftovers(stderr, err, server.Close()) }()
	if down := server.Down(); down != nil {
		return couldNotRun(down)
	}
	if o.settings.Reads, err = reviewed(laid[0], server.Definitions()); err != nil {
		return err
	}
	if file, ok := stderr.(*os.File); ok && !o.quiet && isatty.IsTerminal(file.Fd()) && !cmd.Flag("no-color").Changed && os.Getenv("NO_COLOR") == "" {
		o.settings.Progress = func(name string) { fmt.Fprintf(stderr, "calling %s\n", report.Visible(name)) }
	}
	found, err := scan.Run(ctx, server, o.settings)
	var none *scan.NoTool
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &none):
		if meant := spelling.Nearest(none.Name, none.Names()); meant != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, meant)
		}
		return usageError(fmt.Errorf("--tool: %w", err))
	case err != nil:
		return couldNotRun(err)
	}
	found.Breaks(told.texts())
	if err := scanFormats[o.format](stdout, found); err != nil {
		return couldNotRun(err)
	}
	called, _ := found.Called()
	worst := found.Worst()
	fails := worst == scan.Error && o.failOn != failNever || worst != "" && o.failOn == failOnFinding
	uncallable := slices.ContainsFunc(found.Tools, func(t scan.Tool) bool { return t.Why == scan.NoCall })
	switch {
	case called == 0 && uncallable && !fails:
		return couldNotRun(errors.New("no call could be made of the tools that may be called, and so nothing is known of them"))
	case called == 0 && !uncallable:
		return usageError(errors.New("no tool was called, and so nothing is known: name those that are safe with --tool, or allow writes in a sandbox"))
	case fails:
		return errGateFailed
	}
	return nil
}

// reviewed is what a contract says of the tools: whether they only read.
func reviewed(file *contractFile, definitions []tool.Definition) (map[string]bool, error) {
	if file == nil {
		return nil, nil
	}
	tools, err := file.Lay(definitions)
	if err != nil {
		return nil, unreadable(err)
	}
	reads := make(map[string]bool)
	for _, t := range tools {
		reads[t.Contract.Name] = t.Contract.Effect == contract.Read
	}
	return reads, nil
}

// breaches keeps what a server was seen to do against the protocol, and hands on
// what else is told. It is safe for concurrent use.
type breaches struct {
	prefix string
	others func(string)

	mu   sync.Mutex
	seen []string
}

func (b *breaches) notice(text string) {
	breach, ok := strings.CutPrefix(text, b.prefix)
	if !ok {
		if b.others != nil {
			b.others(text)
		}
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, strings.ToUpper(breach[:1])+breach[1:]+".")
}

func (b *breaches) texts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(slices.Values(b.seen))
}
