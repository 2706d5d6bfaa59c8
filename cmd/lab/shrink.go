package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/shrink"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// shrinkCommand is the command line of lab shrink. The surfaces are asked for as
// those of lab tool-eval.
type shrinkCommand struct {
	toolEval
	id      string
	surface string
	out     string
	maxRuns int
}

func newShrink() *cobra.Command {
	var o shrinkCommand
	cmd := &cobra.Command{
		Use:   "shrink --case ID",
		Short: "Make a failing case as small as it can be and still fail",
		Long: `Replay a case that fails, again and again, each time with something less in it:
a proposal, an argument, half of a text, an approval, an expectation. What is left
is what the failure needs. The smallest case is written as a line of a dataset.

It has to fail in the same way all the time: by the same graders, whatever steps
they are of, and with the same error, or success, of the last call. What is
expected is dropped, and never changed.`,
		Example: `  lab shrink --cases mine.jsonl --case unapproved-note
  lab shrink --cases mine.jsonl --case slow-one --surface wide-tool-v1 --out small.jsonl
  lab shrink -f lab.yaml --case read-plain --max-runs 100`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return fmt.Errorf("unexpected argument %q; the case is named by --case", args[0])
			case o.id == "":
				return errors.New("--case names no case")
			case o.maxRuns < 1:
				return fmt.Errorf("--max-runs %d is less than one", o.maxRuns)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"out", "surface"} {
				if flag := cmd.Flag(name); flag.Changed && flag.Value.String() == "" {
					return usageError(fmt.Errorf("--%s names nothing", name))
				}
			}
			return o.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.cases, "cases", nil, "read cases from this JSONL `FILE`; repeatable (default: the shipped cases)")
	flags.StringVar(&o.id, "case", "", "the `ID` of the case")
	flags.StringVar(&o.surface, "surface", "", "where it fails, the `NAME` of the candidate or the baseline (default: the candidate)")
	flags.StringVar(&o.baseline, "baseline", ticket.WideName, "the `SURFACE` that the candidate is compared with")
	flags.StringVar(&o.candidate, "candidate", ticket.TypedName, "the `SURFACE` that is judged")
	flags.StringVar(&o.out, "out", "", "write the case to this `FILE`, and not to stdout")
	flags.StringVar(&o.store, "store", storeMemory, "where "+ticket.ProductionName+" keeps tickets and receipts, a `STORE`: memory, or sqlite:FILE")
	flags.IntVar(&o.maxRuns, "max-runs", 1000, "replay at most `N` times")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	o.foreign.flags(cmd)
	for flag, complete := range map[string]cobra.CompletionFunc{
		"baseline":  completeSurfaces,
		"candidate": completeSurfaces,
		"surface":   completeSurfaces,
		"cases":     cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		"case":      cobra.NoFileCompletions,
		"file":      cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

func (o *shrinkCommand) run(cmd *cobra.Command) (err error) {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	o.patterns = []string{o.id}
	selected := newSelection("case", o.patterns)
	plan, _, closePlan, err := o.prepare(cmd, selected)
	if err != nil {
		return err
	}
	defer func() { err = withLeftovers(stderr, err, closePlan()) }()
	on, err := o.on(&plan)
	if err != nil {
		return err
	}
	settings := dataset.Settings{Candidate: plan.Candidate.Name()}
	if plan.Baseline != nil {
		settings.Baseline = plan.Baseline.Name()
	}
	line, err := o.line(ctx, plan.Cases, selected)
	if err != nil {
		return err
	}
	play := func(ctx context.Context, c *dataset.Case) (eval.Run, error) {
		proposals := c.Candidate
		if on != plan.Candidate {
			proposals = c.Baseline
		}
		run, err := eval.Play(ctx, on, c, proposals)
		if err == nil && run.Unavailable != nil {
			err = run.Unavailable
		}
		return run, err
	}
	way := ""
	shrunk, err := shrink.Case(ctx, line, settings, o.maxRuns, func(ctx context.Context, c *dataset.Case) (bool, error) {
		if way == "" {
			if c.Todo != "" {
				return false, usageError(fmt.Errorf("case %s is still a todo, and is not replayed", c.ID))
			}
			run, err := play(ctx, c)
			way = failing(&run)
			return way != "", err
		}
		run, err := play(ctx, c)
		return err == nil && failing(&run) == way, err
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, shrink.ErrPasses):
		return usageError(fmt.Errorf("case %s passes on %s: only one that fails can be shrunk", o.id, on.Name()))
	case err != nil:
		return asExit(err)
	}
	text := append(slices.Clone(shrunk.Line), '\n')
	if o.out != "" {
		if err := writeFiles([]string{o.out}, text); err != nil {
			return couldNotRun(err)
		}
	} else if _, err := stdout.Write(text); err != nil {
		return couldNotRun(err)
	}
	if !o.quiet {
		fmt.Fprintf(stderr, "%s fails on %s by %s: %d bytes before, %d after %s\n", report.Visible(o.id), report.Visible(on.Name()), report.Visible(way),
			len(line), len(shrunk.Line), report.Counted(shrunk.Runs, "run"))
		if !shrunk.Done {
			fmt.Fprintf(stderr, "lab: --max-runs %d was used up: it may become smaller still\n", o.maxRuns)
		}
	}
	return nil
}

// asExit is an error that knows its exit code.
func asExit(err error) error {
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return err
	}
	return couldNotRun(err)
}

// on is the surface on which the case fails.
func (o *shrinkCommand) on(plan *eval.Plan) (tool.Surface, error) {
	switch {
	case o.surface == "" || o.surface == plan.Candidate.Name():
		return plan.Candidate, nil
	case plan.Baseline != nil && o.surface == plan.Baseline.Name():
		return plan.Baseline, nil
	}
	return nil, usageError(fmt.Errorf("--surface %s is neither the candidate nor the baseline", o.surface))
}

// line finds the line of the case. Every line is checked, as what is wrong with
// another one may be what its user wants to know.
func (o *shrinkCommand) line(ctx context.Context, cases *dataset.Reader, selected *selection) ([]byte, error) {
	defer cases.Close()
	// Kept as it is read, so that a pipe gives its lines too.
	var line []byte
	ledger := dataset.NewLedger(cases)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		batch, err := cases.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, replayError(errors.Join(ledger.Close(), err), selected)
		}
		decoded := batch.Decode()
		ledger.Record(decoded)
		for _, l := range decoded.Lines {
			if l.Case.ID == o.id && line == nil {
				line = slices.Clone(batch.Line(l.Number))
			}
		}
	}
	if err := ledger.Close(); err != nil {
		return nil, replayError(err, selected)
	}
	if line == nil {
		return nil, usageError(fmt.Errorf("there is no case %q", o.id))
	}
	return line, nil
}

// ofStep is how the name of a grader of one step begins.
var ofStep = regexp.MustCompile(`^step \d+ `)

// failing is the way in which a run fails: the graders that say so, without the
// numbers of steps, and the last error. It is empty where the run passes.
func failing(run *eval.Run) string {
	var names []string
	for _, g := range run.Grades {
		if !g.Passed {
			names = append(names, ofStep.ReplaceAllString(g.Name, "step "))
		}
	}
	if names == nil {
		return ""
	}
	slices.Sort(names)
	way := strings.Join(slices.Compact(names), ", ")
	if e := run.Last().Error; e != nil {
		return way + " (" + string(e.Code) + ")"
	}
	return way + " (a success)"
}
