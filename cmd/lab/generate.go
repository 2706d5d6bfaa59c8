package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentlab/lab/dataset"
	"agentlab/lab/generate"
	"agentlab/lab/report"
	"agentlab/lab/suite"
	"agentlab/lab/ticket"
)

// generateCommand is the command line of lab generate.
type generateCommand struct {
	surface  string
	file     string
	mcp      string
	contract string
	timeout  time.Duration
	from     []string
	out      string
	coverage string
	force    bool
	quiet    bool
	seed     uint64
	max      int
	perTool  int
	tools    []string
	pairwise bool
	only     string
}

func newGenerate() *cobra.Command {
	var o generateCommand
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write boundary cases that follow from the contracts of a surface",
		Long: `Read the contracts of a surface (a built-in one, a contract file over the live
catalog of an MCP server, or the bare catalog) and write cases whose right answer
follows from them: values on both sides of every keyword of every input schema, and
from the rest of a contract who may call, what was confirmed, what is a repeat, how
long a call may take and what may come out.

No tool of a server is called. Which calls succeed is taken from cases that exist;
of a built-in surface, whose backend is made up, it is tried as well. "lab help
generated" tells what is written and what is left out.`,
		Example: `  lab generate --out cases/generated.jsonl                the demo, or ./lab.yaml
  lab generate --surface typed-registry-v3 --only runtime
  lab generate -f lab.yaml --surface governed --per-tool 200 --out cases/generated.jsonl
  lab generate --mcp 'node server.js ${SANDBOX}' --from cases/first.jsonl
  lab generate --tool get_ticket --pairwise --coverage coverage.json > one.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			changed := func(name string) bool { return cmd.Flag(name).Changed }
			switch {
			case len(args) > 0:
				return fmt.Errorf("unexpected argument %q; each file needs a --from of its own", args[0])
			case o.only != "" && o.only != "schema" && o.only != "runtime":
				return fmt.Errorf("--only %q is not one of schema, runtime", o.only)
			case o.max < 0 || o.perTool < 0:
				return errors.New("--max and --per-tool are not negative; 0 is any number")
			case o.contract != "" && o.mcp == "":
				return errors.New("--contract is for --mcp; a suite file has a key for it")
			case changed("timeout") && o.mcp == "":
				return errors.New("--timeout is for --mcp; a suite file has a key for it")
			case o.timeout < suite.MinTimeout || o.timeout > suite.MaxTimeout:
				return fmt.Errorf("--timeout %s is not from %s to %s", o.timeout, suite.MinTimeout, suite.MaxTimeout)
			}
			// An empty value is a variable of a shell that was not set.
			for _, name := range []string{"surface", "file", "mcp", "contract", "out", "coverage", "only"} {
				if changed(name) && cmd.Flag(name).Value.String() == "" {
					return fmt.Errorf("--%s names nothing", name)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.surface, "surface", "", "the `SURFACE` whose contracts are read (default: the candidate)")
	flags.StringVarP(&o.file, "file", "f", "", "read a surface of this suite `FILE` (default: lab.yaml, where there is one)")
	flags.StringVar(&o.mcp, "mcp", "", "read the catalog of the MCP server that this `COMMAND` starts")
	flags.StringVar(&o.contract, "contract", "", "lay this contract `FILE` over the catalog of --mcp")
	flags.DurationVar(&o.timeout, "timeout", suite.DefaultTimeout, "how long the server of --mcp may take to start")
	flags.StringArrayVar(&o.from, "from", nil, "take calls that succeed from the cases in this `FILE`; repeatable (default: the cases of the suite, or those that are shipped)")
	flags.StringVar(&o.out, "out", "", "write the cases to this `FILE` (default: stdout)")
	flags.BoolVar(&o.force, "force", false, "replace files that are there")
	flags.StringVar(&o.coverage, "coverage", "", "write which keyword has cases on which side to this `FILE`, as JSON")
	flags.Uint64Var(&o.seed, "seed", 1, "the `NUMBER` that says which of many like cases are written")
	flags.IntVar(&o.max, "max", 0, "write at most `N` cases (default: any number)")
	flags.IntVar(&o.perTool, "per-tool", 0, "write at most `N` cases of each tool (default: any number)")
	flags.StringArrayVar(&o.tools, "tool", nil, "write only cases of the tool of this `NAME`; repeatable")
	flags.BoolVar(&o.pairwise, "pairwise", false, "combine the optional properties, so that each two are met with and without each other")
	flags.StringVar(&o.only, "only", "", "write only the cases of one `SIDE`: schema or runtime")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	cmd.MarkFlagsMutuallyExclusive("file", "mcp")
	cmd.MarkFlagsMutuallyExclusive("surface", "mcp")
	for flag, complete := range map[string]cobra.CompletionFunc{
		"surface":  completeSurfaces,
		"only":     cobra.FixedCompletions([]string{"schema", "runtime"}, cobra.ShellCompDirectiveNoFileComp),
		"file":     cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
		"contract": cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
		"from":     cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

func (o *generateCommand) run(cmd *cobra.Command) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	files := slices.DeleteFunc([]string{o.out, o.coverage}, func(file string) bool { return file == "" })
	if len(files) == 2 && filepath.Clean(files[0]) == filepath.Clean(files[1]) {
		return usageError(errors.New("--out and --coverage are the same file"))
	}
	for _, file := range files {
		switch info, err := os.Lstat(file); {
		case err != nil:
		case info.IsDir():
			return usageError(fmt.Errorf("%s is a folder", file))
		case !o.force:
			return usageError(fmt.Errorf("%s is there already; --force replaces it", file))
		}
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return usageError(fmt.Errorf("%s: there is no such folder", filepath.Dir(file)))
		}
	}
	source, err := o.source(cmd)
	if err != nil {
		return err
	}
	for _, name := range o.tools {
		if !slices.ContainsFunc(source.Contracts, func(c contracted) bool { return c.Name == name }) {
			return usageError(fmt.Errorf("there is no tool %q; there are %s", name, strings.Join(first(toolNames(source), maxUnlisted), ", ")))
		}
	}
	set, err := untilDone(ctx, func() (*generate.Set, error) {
		return generate.Cases(ctx, source, generate.Options{
			Seed: o.seed, Max: o.max, PerTool: o.perTool, Tools: o.tools, Pairwise: o.pairwise,
			Schema: o.only != "runtime", Runtime: o.only != "schema",
		})
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return couldNotRun(err)
	case len(set.Cases) == 0:
		o.tell(stderr, set)
		return couldNotRun(errors.New("nothing follows from the contracts that could be written as a case"))
	}
	var cases bytes.Buffer
	if _, err := set.WriteTo(&cases); err != nil {
		return couldNotRun(err)
	}
	var texts [][]byte
	if o.out != "" {
		texts = append(texts, cases.Bytes())
	}
	if o.coverage != "" {
		texts = append(texts, coverageJSON(set))
	}
	if err := writeFiles(files, texts...); err != nil {
		return couldNotRun(err)
	}
	if o.out == "" {
		if _, err := cmd.OutOrStdout().Write(cases.Bytes()); err != nil {
			return couldNotRun(err)
		}
	}
	if !o.quiet {
		o.tell(stderr, set)
		if o.out != "" {
			fmt.Fprintf(stderr, "cases: %s\n", report.Visible(o.out))
		}
	}
	return nil
}

// source finds the surface that is asked for.
func (o *generateCommand) source(cmd *cobra.Command) (generate.Source, error) {
	if o.mcp != "" {
		return o.fromFlags(cmd)
	}
	file := o.file
	if file == "" && !slices.Contains(surfaceNames(), o.surface) {
		// A link to nothing is there, and an error.
		if _, err := os.Lstat(suite.DefaultFile); !errors.Is(err, fs.ErrNotExist) {
			file = suite.DefaultFile
		}
	}
	if file != "" {
		return o.fromSuite(cmd, file)
	}
	name := o.surface
	if name == "" {
		name = ticket.TypedName
		if !o.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "read the contracts of the built-in %s, as there is no %s here\n", name, suite.DefaultFile)
		}
	}
	return o.builtin(cmd.Context(), name)
}

// known reads the calls that succeed from cases.
func (o *generateCommand) known(ctx context.Context, settings dataset.Settings, baseline bool, sources []dataset.Source) ([]generate.Known, error) {
	var known []generate.Known
	_, err := settings.Open(sources...).Check(ctx, func(c *dataset.Case) {
		if baseline && c.Calls == nil {
			c.Candidate = c.Baseline
		}
		known = append(known, generate.KnownCalls(c)...)
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, replayError(err, newSelection("case", nil))
	}
	return known, nil
}

// sources are the files that --from names.
func (o *generateCommand) sources(ctx context.Context, files []string) []dataset.Source {
	sources := make([]dataset.Source, len(files))
	for i, file := range files {
		sources[i] = dataset.Source{Name: filepath.Base(file), Path: file, Open: openOnce(ctx, file)}
	}
	return sources
}
