package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/sandbox"
	"agentlab/lab/suite"
	"agentlab/lab/ticket"
)

// toolEval is the command line of lab tool-eval.
type toolEval struct {
	cases     []string
	patterns  []string
	baseline  string
	candidate string
	out       string
	check     string
	format    string
	store     string
	workers   int
	quiet     bool
	plain     bool // no progress
	foreign   foreign
}

// maxWorkers is more than any machine has cores for; each worker takes memory.
const maxWorkers = 1024

// formats are what stdout can be given, by the value of --format.
var formats = map[string]func(io.Writer, *eval.Comparison, []report.Row) error{
	"text": report.Text,
	"json": func(w io.Writer, c *eval.Comparison, _ []report.Row) error { return report.ComparisonJSON(w, c) },
	"markdown": func(w io.Writer, c *eval.Comparison, _ []report.Row) error {
		return report.ComparisonMarkdown(w, c)
	},
}

func newToolEval() *cobra.Command {
	var o toolEval
	cmd := &cobra.Command{
		Use:   "tool-eval",
		Short: "Replay fixed proposals on tool surfaces, grade them, and judge the gate",
		Long: `Replay the fixed proposals of every case on two tool surfaces, or on one alone,
each case on a fresh backend. Grade every run by what came back and by what really
changed, compare the surfaces, write four reports, and exit 0 where the gate
passes and 1 where it fails.

The surfaces are MCP servers, as a suite file or flags name them ("lab help
suite"), or the two that are built in.

No model is called: the result says what the runtime does with given proposals,
and nothing about how well a model proposes.`,
		Example: `  lab tool-eval                                   the shipped cases; reports go to reports/local
  lab tool-eval -f lab.yaml                       your own servers; ./lab.yaml is found without -f
  lab tool-eval --candidate-mcp 'node server.js' --cases mine.jsonl
  lab tool-eval --cases mine.jsonl --out /tmp/r   your cases, and reports elsewhere
  lab tool-eval --case 'invalid-*' --case read-ticket
  lab tool-eval --format json | jq .gate_passed
  lab tool-eval --check reports                   fail where the committed reports are stale`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q; each file needs a --cases of its own", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"check", "out"} {
				if flag := cmd.Flag(name); flag.Changed && flag.Value.String() == "" {
					return usageError(fmt.Errorf("--%s names no directory", name))
				}
			}
			o.plain = cmd.Flag("no-color").Changed || os.Getenv("NO_COLOR") != ""
			return o.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.cases, "cases", nil, "read cases from this JSONL `FILE`; repeatable (default: the shipped cases)")
	flags.StringArrayVar(&o.patterns, "case", nil, "replay only cases whose id is `ID` or matches it as a glob (*, ?, [a-z]); repeatable")
	flags.StringVar(&o.baseline, "baseline", ticket.WideName, "the `SURFACE` to compare with")
	flags.StringVar(&o.candidate, "candidate", ticket.TypedName, "the `SURFACE` that the gate judges")
	flags.StringVar(&o.out, "out", filepath.Join("reports", "local"), "write the reports to this `DIR`")
	flags.StringVar(&o.check, "check", "", "write no reports; fail where those in `DIR` are not what would be written")
	flags.StringVar(&o.format, "format", "text", "what stdout gets, a `FORMAT`: text, json or markdown")
	flags.StringVar(&o.store, "store", storeMemory, "where "+ticket.ProductionName+" keeps tickets and receipts, a `STORE`: memory, or sqlite:FILE, which each case empties first")
	flags.IntVar(&o.workers, "workers", 0, "replay `N` cases at once (default: one a core)")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	o.foreign.flags(cmd)
	cmd.MarkFlagsMutuallyExclusive("check", "out")
	for flag, complete := range map[string]cobra.CompletionFunc{
		"baseline":  completeSurfaces,
		"candidate": completeSurfaces,
		"format":    cobra.FixedCompletions([]string{"text", "json", "markdown"}, cobra.ShellCompDirectiveNoFileComp),
		"out":       cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"check":     cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"cases":     cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		"case":      cobra.NoFileCompletions,

		"file":       cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
		"mcp-config": cobra.FixedCompletions([]string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

func (o *toolEval) run(cmd *cobra.Command) (err error) {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	render := formats[o.format]
	if render == nil {
		return usageError(fmt.Errorf("--format %q is not one of text, json, markdown", o.format))
	}
	if o.check != "" {
		if info, err := os.Stat(o.check); err != nil || !info.IsDir() {
			return usageError(fmt.Errorf("--check %s: there is no such directory", o.check))
		}
	}
	selected := newSelection(o.patterns)
	plan, servers, closePlan, err := o.prepare(cmd, selected)
	if err != nil {
		return err
	}
	defer func() { err = withLeftovers(stderr, err, closePlan()) }()
	dir := o.out
	if o.check != "" {
		if dir, err = os.MkdirTemp("", "lab-check-"); err != nil {
			return couldNotRun(err)
		}
		defer os.RemoveAll(dir)
	}
	set, err := report.Create(dir)
	if err != nil {
		return couldNotRun(err)
	}
	defer set.Discard()
	plan.Started = set.Start
	comparison, err := eval.Replay(ctx, plan, set.NewPage, (*report.Page).Add, set.Deliver)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return replayError(err, selected)
	}
	if err := selected.idle(); err != nil {
		return usageError(err)
	}
	if err := set.Publish(comparison); err != nil {
		return couldNotRun(err)
	}
	said := "reports: " + dir
	var outdated error
	if o.check != "" {
		said = "reports in " + o.check + " are up to date"
		outdated = checked(dir, o.check)
		// Now, for a pipe that nobody reads ends the process at its first write.
		os.RemoveAll(dir)
	}
	if err := render(stdout, comparison, set.Rows()); err != nil {
		return couldNotRun(err)
	}
	if !o.quiet {
		tellStarts(stderr, servers)
		tellRemarks(stderr, servers, plan, comparison)
		if o.foreign.implicit {
			fmt.Fprintf(stderr, "replayed the built-in demo, as there is no %s here; lab init writes one for a server of your own\n", suite.DefaultFile)
		}
	}
	switch {
	case comparison.CouldNotRun() > 0:
		if o.check == "" && !o.quiet {
			fmt.Fprintln(stderr, report.Visible(said))
		}
		return notRun(comparison)
	case outdated != nil:
		return outdated
	case !o.quiet:
		fmt.Fprintln(stderr, report.Visible(said))
	}
	if !comparison.GatePassed() {
		return errGateFailed
	}
	return nil
}

// withLeftovers is the error of a command that could not tidy up after itself:
// what is left behind must not go unseen, whatever else went wrong.
func withLeftovers(stderr io.Writer, err, left error) error {
	switch {
	case left == nil:
		return err
	case err == nil:
		return couldNotRun(left)
	}
	for line := range strings.SplitSeq(left.Error(), "\n") {
		fmt.Fprintln(stderr, "lab: "+report.Visible(line))
	}
	return err
}

// prepare makes the plan of what is asked for: of servers outside, or of the
// built-in surfaces. What it opened is closed by closePlan.
func (o *toolEval) prepare(cmd *cobra.Command, selected *selection) (plan eval.Plan, servers []*sandbox.Surface, closePlan func() error, err error) {
	ctx := cmd.Context()
	asked, dir, err := o.foreign.suite(cmd)
	if err != nil {
		return eval.Plan{}, nil, nil, err
	}
	if asked != nil {
		if cmd.Flag("store").Changed {
			return eval.Plan{}, nil, nil, usageError(fmt.Errorf("--store is for %s, which is not replayed", ticket.ProductionName))
		}
		plan, servers, err = o.planForeign(ctx, cmd, asked, dir, selected)
		return plan, servers, func() error { return closeAll(servers) }, err
	}
	surfaces, closeStore, err := withStore(ctx, o.store, o.baseline, o.candidate)
	if err != nil {
		return eval.Plan{}, nil, nil, err
	}
	plan, err = o.plan(dataset.Settings{Surfaces: surfaceNames()}.Open(o.sources(ctx)...), selected, cmd.ErrOrStderr())
	if err != nil {
		return eval.Plan{}, nil, nil, errors.Join(err, closeStore())
	}
	plan.Baseline, plan.Candidate = surfaces[0], surfaces[1]
	return plan, nil, closeStore, nil
}

// checked compares the fresh reports with the committed ones.
func checked(fresh, committed string) error {
	err := report.Check(fresh, committed)
	var stale *report.Stale
	switch {
	case errors.As(err, &stale):
		return &exitError{exitGateFailed, err}
	case err != nil:
		return couldNotRun(err)
	}
	return nil
}

// faulty is the error of an input with faults. Each stands on a line by itself, so
// that an editor can jump to it.
func faulty(input string, total int, err error) error {
	return usageError(fmt.Errorf("%s has %s\n%w", input, report.Counted(total, "fault"), err))
}

// replayError gives the error of a replay its exit code.
func replayError(err error, selected *selection) error {
	var invalid *dataset.Invalid
	switch {
	case errors.As(err, &invalid):
		return faulty("the dataset", invalid.Total, err)
	case errors.Is(err, eval.ErrNoCase):
		return usageError(selected.idle())
	case errors.Is(err, dataset.ErrUnreadable), errors.Is(err, eval.ErrOnlyTodo):
		return usageError(err)
	}
	return couldNotRun(err)
}

// plan reads the flags that every plan has.
func (o *toolEval) plan(cases *dataset.Reader, selected *selection, stderr io.Writer) (eval.Plan, error) {
	if o.workers < 0 || o.workers > maxWorkers {
		return eval.Plan{}, usageError(fmt.Errorf("--workers %d is not from 0 to %d", o.workers, maxWorkers))
	}
	plan := eval.Plan{Cases: cases, Workers: o.workers}
	if o.patterns != nil {
		plan.Selection = o.patterns
		plan.Select = selected.selects
	}
	if file, ok := stderr.(*os.File); ok && !o.quiet && !o.plain && isatty.IsTerminal(file.Fd()) {
		plan.Progress = progress(stderr)
	}
	return plan, nil
}

func (o *toolEval) sources(ctx context.Context) []dataset.Source {
	if o.cases == nil {
		return []dataset.Source{{
			Name: datasets.ToolCasesName,
			Path: datasets.ToolCasesName,
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(datasets.ToolCases)), nil },
		}}
	}
	sources := make([]dataset.Source, len(o.cases))
	for i, file := range o.cases {
		sources[i] = dataset.Source{
			Name: filepath.Base(file),
			Path: file,
			Open: openOnce(ctx, file),
		}
	}
	return sources
}

// openOnce returns a function that opens a file, which the end of ctx closes,
// so that no read of a pipe or of a terminal outlasts it. What is not a regular
// file can be opened once only: a pipe has nothing to say a second time.
func openOnce(ctx context.Context, name string) func() (io.ReadCloser, error) {
	opened := false
	return func() (io.ReadCloser, error) {
		if opened {
			if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
				return nil, fmt.Errorf("%s cannot be read twice", name)
			}
		}
		opened = true
		return openUntil(ctx, name)
	}
}

// openUntil opens a file, which the end of ctx closes. Opening takes as long as
// a pipe has no writer, and ends with ctx too.
func openUntil(ctx context.Context, name string) (io.ReadCloser, error) {
	type opening struct {
		file *os.File
		err  error
	}
	opened := make(chan opening, 1)
	go func() {
		file, err := os.Open(name)
		opened <- opening{file, err}
	}()
	select {
	case o := <-opened:
		if o.err != nil {
			return nil, o.err
		}
		context.AfterFunc(ctx, func() { o.file.Close() })
		return o.file, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// progress tells a person at a terminal how far a long run is.
func progress(w io.Writer) func(done int) {
	started, last := time.Now(), time.Now()
	return func(done int) {
		if time.Since(last) < time.Second {
			return
		}
		last = time.Now()
		rate := float64(done) / time.Since(started).Seconds()
		fmt.Fprintf(w, "%d cases, %.0f a second\n", done, rate)
	}
}
