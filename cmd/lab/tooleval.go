package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/sandbox"
	"agentlab/lab/suite"
	"agentlab/lab/ticket"
)

// toolEval is the command line of lab tool-eval.
type toolEval struct {
	planning
	baseline string
	out      string
	check    string
	format   string
	reports  []string
	store    string
	shard    string
	repeat   int
	telemetry
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

With --shard 2/5 every case file is read and checked, and the cases are replayed of
whose id the 64-bit FNV-1a hash, modulo 5, is 1: each job of a CI matrix has a part.

With --repeat each time is a session of its own, on a fresh backend where each case
has one. What is counted is of the first time.

No model is called: the result says what the runtime does with given proposals,
and nothing about how well a model proposes.`,
		Example: `  lab tool-eval                                   the shipped cases; reports go to reports/local
  lab tool-eval -f lab.yaml                       your own servers; ./lab.yaml is found without -f
  lab tool-eval --candidate-mcp 'node server.js' --cases mine.jsonl
  lab tool-eval --cases mine.jsonl --out /tmp/r   your cases, and reports elsewhere
  lab tool-eval --case 'invalid-*' --case read-ticket
  lab tool-eval --shard 2/5 --out shards/2        a fifth of the cases; lab report merge joins the shards
  lab tool-eval --repeat 5                        fail cases that do not come to the same every time
  lab tool-eval --format json | jq .gate_passed
  lab tool-eval --otel traces.jsonl               OpenTelemetry traces too, which no collector has to be there for
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
	o.planning.flags(cmd, "the shipped cases", ticket.TypedName, "the `SURFACE` that the gate judges")
	flags.StringVar(&o.baseline, "baseline", ticket.WideName, "the `SURFACE` to compare with")
	flags.StringVar(&o.out, "out", filepath.Join("reports", "local"), "write the reports to this `DIR`")
	flags.StringVar(&o.check, "check", "", "write no reports; fail where those in `DIR` are not what would be written")
	flags.StringVar(&o.format, "format", "text", "what stdout gets, a `FORMAT`: "+strings.Join(formatNames(), ", "))
	reportsFlag(cmd, &o.reports, "write another report, `FORMAT[=FILE]`, beside those in --out; repeatable")
	o.telemetry.flags(cmd)
	flags.StringVar(&o.store, "store", storeMemory, "where "+ticket.ProductionName+" keeps tickets and receipts, a `STORE`: memory, or sqlite:FILE, which each case empties first")
	flags.IntVar(&o.workers, "workers", 0, "replay `N` cases at once (default: one a core)")
	flags.StringVar(&o.shard, "shard", "", "replay only the cases that fall to this part, `INDEX/OF` such as 2/5; lab report merge joins the parts")
	flags.IntVar(&o.repeat, "repeat", 1, "replay each case `N` times on each surface, which takes N times as long, and fail those that do not come to the same every time")
	cmd.MarkFlagsMutuallyExclusive("check", "out")
	cmd.MarkFlagsMutuallyExclusive("check", "shard")
	completions(cmd, map[string]cobra.CompletionFunc{
		"baseline": completeSurfaces,
		"shard":    cobra.NoFileCompletions,
		"repeat":   cobra.NoFileCompletions,
		"format":   cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp),
		"out":      cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"check":    cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	})
	return cmd
}

func (o *toolEval) run(cmd *cobra.Command) (err error) {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	reports, toStdout, err := o.want(cmd, o.reports, o.out, o.format)
	if err != nil {
		return err
	}
	if o.check != "" {
		if info, err := os.Stat(o.check); err != nil || !info.IsDir() {
			return usageError(fmt.Errorf("--check %s: there is no such directory", o.check))
		}
	}
	shard, err := o.part(cmd)
	if err != nil {
		return err
	}
	if o.repeat < 1 || o.repeat > maxRepeat {
		return usageError(fmt.Errorf("--repeat %d is not from 1 to %d", o.repeat, maxRepeat))
	}
	selected := newSelection("case", o.patterns)
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
	plan.Started, plan.Shard, plan.Repeat = set.Start, shard, o.repeat
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
	if err := set.Finish(comparison); err != nil {
		return couldNotRun(err)
	}
	runs, err := set.OpenRuns()
	if err != nil {
		return couldNotRun(err)
	}
	defer runs.Close()
	// What goes to stdout comes last: a pipe that nobody reads ends the process.
	inFiles, shown := apart(reports)
	located := locate(plan.Cases.Paths())
	if err := writeReports(set.OpenRuns, comparison, inFiles, stdout, located); err != nil {
		return couldNotRun(err)
	}
	if err := set.Publish(comparison); err != nil {
		return couldNotRun(err)
	}
	said := "reports: " + dir
	var outdated error
	if o.check != "" {
		said = "reports in " + o.check + " are up to date"
		outdated = stale(report.Check(dir, o.check))
		// Now, for a pipe that nobody reads ends the process at its first write.
		os.RemoveAll(dir)
	}
	if err := showReports(stdout, comparison, set.Rows(), append(shown, wantedReport{toStdout, standardOutput}), runs, located); err != nil {
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

// maxRepeat is more often than anybody waits for.
const maxRepeat = 1000

// part is the shard that is asked for; nil for all cases.
func (o *toolEval) part(cmd *cobra.Command) (*eval.Shard, error) {
	if !cmd.Flag("shard").Changed {
		return nil, nil
	}
	shard, err := eval.ParseShard(o.shard)
	if err != nil {
		return nil, usageError(fmt.Errorf("--shard %w", err))
	}
	return &shard, nil
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
	plan, err = o.plan(dataset.Settings{Surfaces: surfaceNames()}.Open(o.sources(ctx, shippedToolCases)...), selected, cmd.ErrOrStderr())
	if err != nil {
		return eval.Plan{}, nil, nil, errors.Join(err, closeStore())
	}
	plan.Baseline, plan.Candidate = surfaces[0], surfaces[1]
	return plan, nil, closeStore, nil
}

// stale gives the error of a comparison with committed reports its exit code.
func stale(err error) error {
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
