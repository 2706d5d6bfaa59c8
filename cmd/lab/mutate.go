package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/mutation"
	"agentlab/lab/report"
	"agentlab/lab/sandbox"
	"agentlab/lab/suite"
	"agentlab/lab/ticket"
)

// mutate is the command line of lab mutate.
type mutate struct {
	planning
	mutants     []string
	waivers     string
	writeCases  string
	list        bool
	full        bool
	minScore    float64
	caseTimeout time.Duration
	out         string
	check       string
	format      string
}

// mutationFormats are what stdout can be given, by the value of --format.
var mutationFormats = map[string]struct {
	matrix    func(io.Writer, *mutation.Matrix) error
	operators func(io.Writer, []mutation.Operator) error
}{
	"text":     {report.MutationText, report.OperatorsText},
	"json":     {report.MutationJSON, report.OperatorsJSON},
	"markdown": {report.MutationMarkdown, report.OperatorsMarkdown},
}

func newMutate() *cobra.Command {
	o := mutate{planning: planning{weakened: true}}
	cmd := &cobra.Command{
		Use:   "mutate",
		Short: "Weaken each control in turn, and see which case notices",
		Long: `Make mutants of a surface behind contracts, each with one control removed or
weakened in one place, and replay the cases on one mutant after the other. A
mutant that some case fails on is noticed; one that every case passes on shows a
behaviour that nobody checks. "lab help mutants" tells more.

The surface is the candidate of a suite file or of flags, which must have a
contract, or one that is built in.`,
		Example: `  lab mutate                                      the shipped cases on typed-registry-v3
  lab mutate -f lab.yaml                          your own server, behind its contract
  lab mutate --min-score 1.0                      fail where any mutant goes unnoticed
  lab mutate --mutant 'expiry-*' --full           some mutants, and every case that notices each
  lab mutate --candidate typed-registry-v2 --cases mine.jsonl
  lab mutate -f lab.yaml --write-cases killers.jsonl
  lab mutate --waivers waivers.yaml --min-score 1 excuse those that no case could notice
  lab mutate --list                               the ways of weakening
  lab mutate --check reports                      fail where the committed reports are stale`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q; each file needs a --cases of its own", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, flag := range []struct{ name, what string }{{"check", "directory"}, {"out", "directory"}, {"waivers", "file"}, {"write-cases", "file"}} {
				if f := cmd.Flag(flag.name); f.Changed && f.Value.String() == "" {
					return usageError(fmt.Errorf("--%s names no %s", flag.name, flag.what))
				}
			}
			o.plain = cmd.Flag("no-color").Changed || os.Getenv("NO_COLOR") != ""
			return o.run(cmd)
		},
	}
	flags := cmd.Flags()
	o.planning.flags(cmd, "all shipped cases", ticket.ProductionName, "make mutants of this `SURFACE`")
	flags.StringArrayVar(&o.mutants, "mutant", nil, "only the mutants whose id is `ID` or matches it as a glob (*, ?, [a-z]); repeatable")
	flags.StringVar(&o.waivers, "waivers", "", "the `FILE` that says which mutants no case could notice, and why (default, for "+ticket.ProductionName+": the shipped one)")
	flags.StringVar(&o.writeCases, "write-cases", "", "look for generated cases that would notice the survivors, and write them to this new `FILE`")
	flags.BoolVar(&o.list, "list", false, "list the ways of weakening, and do nothing")
	flags.BoolVar(&o.full, "full", false, "replay every case on every mutant, also when one has noticed, and find idle cases")
	flags.Float64Var(&o.minScore, "min-score", 0, "fail where the mutation score is below `SCORE`, from 0 to 1")
	flags.DurationVar(&o.caseTimeout, "case-timeout", 0, fmt.Sprintf("how long a case may take on a mutant (default: %s, and of an MCP server three times what a call may take, where that is more)", mutation.DefaultTimeout))
	flags.StringVar(&o.out, "out", filepath.Join("reports", "local"), "write the reports to this `DIR`")
	flags.StringVar(&o.check, "check", "", "write no reports; fail where those in `DIR` are not what would be written")
	flags.StringVar(&o.format, "format", "text", "what stdout gets, a `FORMAT`: text, json or markdown")
	flags.IntVar(&o.workers, "workers", 0, "look at `N` mutants at once (default: one a core)")
	cmd.MarkFlagsMutuallyExclusive("check", "out")
	completions(cmd, map[string]cobra.CompletionFunc{
		"format":      cobra.FixedCompletions([]string{"text", "json", "markdown"}, cobra.ShellCompDirectiveNoFileComp),
		"out":         cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"check":       cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"mutant":      cobra.NoFileCompletions,
		"write-cases": cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		"waivers":     cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
	})
	return cmd
}

func (o *mutate) run(cmd *cobra.Command) (err error) {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	render, known := mutationFormats[o.format]
	switch {
	case !known:
		return usageError(fmt.Errorf("--format %q is not one of text, json, markdown", o.format))
	case !(o.minScore >= 0 && o.minScore <= 1):
		return usageError(fmt.Errorf("--min-score %v is not from 0 to 1", o.minScore))
	case o.caseTimeout < 0:
		return usageError(fmt.Errorf("--case-timeout %s is below zero", o.caseTimeout))
	case o.list:
		if err := render.operators(stdout, mutation.Operators()); err != nil {
			return couldNotRun(err)
		}
		return nil
	}
	if o.check != "" {
		if info, err := os.Stat(o.check); err != nil || !info.IsDir() {
			return usageError(fmt.Errorf("--check %s: there is no such directory", o.check))
		}
	}
	if o.writeCases != "" {
		if err := newFile(o.writeCases); err != nil {
			return err
		}
	}
	waivers, err := o.excused(ctx)
	if err != nil {
		return err
	}
	plan, servers, err := o.prepare(cmd)
	defer func() { err = withLeftovers(stderr, err, closeAll(servers)) }()
	if err != nil {
		return err
	}
	file := o.waivers
	if file == "" && servers == nil && plan.Subject.Name() == ticket.ProductionName {
		file = datasets.MutantWaiversName
		if waivers, err = mutation.DecodeWaivers(datasets.MutantWaivers, file); err != nil {
			return couldNotRun(err)
		}
	}
	plan.Waivers = waivers
	matrix, err := mutation.Run(ctx, plan)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, mutation.ErrNoCase), errors.Is(err, mutation.ErrNoMutant):
		return usageError(fmt.Errorf("%s: %w", plan.Subject.Name(), err))
	case err != nil:
		return couldNotRun(err)
	}
	matrix.Selection = o.mutants
	if o.writeCases != "" {
		if err := o.write(ctx, stderr, plan, servers, matrix); err != nil {
			return err
		}
	}
	return o.deliver(cmd, render.matrix, matrix, file, servers)
}

// deliver writes the reports, says what a person should know, and judges.
func (o *mutate) deliver(cmd *cobra.Command, render func(io.Writer, *mutation.Matrix) error, matrix *mutation.Matrix, waivers string, servers []*sandbox.Surface) error {
	stdout, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	dir, said := o.out, "reports: "+o.out
	if o.check != "" {
		fresh, err := os.MkdirTemp("", "lab-check-")
		if err != nil {
			return couldNotRun(err)
		}
		defer os.RemoveAll(fresh)
		dir, said = fresh, "reports in "+o.check+" are up to date"
	}
	if err := report.WriteMutation(dir, matrix); err != nil {
		return couldNotRun(err)
	}
	var outdated error
	if o.check != "" {
		outdated = stale(report.CheckMutation(dir, o.check))
		// Now, for a pipe that nobody reads ends the process at its first write.
		os.RemoveAll(dir)
	}
	if err := render(stdout, matrix); err != nil {
		return couldNotRun(err)
	}
	if !o.quiet {
		tellStarts(stderr, servers)
		if n := len(matrix.LeftOut); n > 0 {
			fmt.Fprintf(stderr, "lab: %s on %s itself, and so cannot notice anything: %s\n", report.Counted(n, "case")+verb(n, " does not pass", " do not pass"),
				report.Visible(matrix.Surface), report.Visible(strings.Join(first(matrix.LeftOut, maxUnlisted), ", ")))
		}
		if o.foreign.implicit {
			fmt.Fprintf(stderr, "weakened the built-in demo, as there is no %s here; lab init writes one for a server of your own\n", suite.DefaultFile)
		}
	}
	switch {
	case outdated != nil:
		return outdated
	case !o.quiet:
		fmt.Fprintln(stderr, report.Visible(said))
	}
	return o.judge(matrix, waivers)
}

// judge is the error of a gate that fails.
func (o *mutate) judge(matrix *mutation.Matrix, waivers string) error {
	if len(matrix.Stale) > 0 {
		lines := []string{report.Counted(len(matrix.Stale), "waiver") + verb(len(matrix.Stale), " excuses", " excuse") + " nothing"}
		for _, w := range matrix.Stale {
			lines = append(lines, fmt.Sprintf("%s:%d: %s: %s", waivers, w.Line, report.Visible(w.Mutant), w.Why))
		}
		return &exitError{exitGateFailed, errors.New(strings.Join(lines, "\n"))}
	}
	share, judged := matrix.Total.Share()
	switch {
	case o.minScore == 0:
		return nil
	case !judged:
		return &exitError{exitGateFailed, errors.New("there is no mutant to judge, and so no score")}
	case share < o.minScore:
		return &exitError{exitGateFailed, fmt.Errorf("the mutation score is %s, which is below %v", report.Share(share, true), o.minScore)}
	}
	return nil
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// prepare reads the cases and makes the plan. What it has opened is returned with
// an error too.
func (o *mutate) prepare(cmd *cobra.Command) (mutation.Plan, []*sandbox.Surface, error) {
	ctx := cmd.Context()
	selected := newSelection("case", o.patterns)
	asked, dir, err := o.foreign.suite(cmd)
	if err != nil {
		return mutation.Plan{}, nil, err
	}
	limit := o.caseTimeout
	var plan eval.Plan
	var servers []*sandbox.Surface
	if asked != nil {
		if plan, servers, err = o.planForeign(ctx, cmd, asked, dir, selected); err != nil {
			return mutation.Plan{}, nil, err // which has closed them
		}
		if limit == 0 {
			limit = max(mutation.DefaultTimeout, 3*asked.Timeout)
		}
		for _, s := range servers {
			if down := s.Down(); down != nil {
				return mutation.Plan{}, servers, couldNotRun(fmt.Errorf("%s: %s", s.Name(), down.Reason))
			}
		}
	} else {
		surface, err := surfaceNamed(o.candidate)
		if err != nil {
			return mutation.Plan{}, nil, err
		}
		cases := dataset.Settings{Surfaces: surfaceNames(), Candidate: surface.Name()}.Open(o.sources(ctx, shippedToolCases, shippedControlCases)...)
		if plan, err = o.plan(cases, selected, cmd.ErrOrStderr()); err != nil {
			return mutation.Plan{}, nil, err
		}
		plan.Candidate = surface
	}
	subject, ok := plan.Candidate.(mutation.Subject)
	if !ok {
		return mutation.Plan{}, servers, noContract(plan.Candidate.Name())
	}
	cases, err := o.replayed(ctx, plan, selected)
	if err != nil {
		return mutation.Plan{}, servers, err
	}
	chosen, err := o.chosenMutants(ctx, subject)
	if err != nil {
		return mutation.Plan{}, servers, err
	}
	p := mutation.Plan{Subject: subject, Cases: cases, Select: chosen, Workers: plan.Workers, Full: o.full, Timeout: limit}
	if plan.Progress != nil {
		p.Progress = mutantsDone(cmd.ErrOrStderr())
	}
	return p, servers, nil
}

// noContract is the error of a surface that mutants cannot be made of.
func noContract(surface string) error {
	return usageError(fmt.Errorf("%s has no contract, so there is no control that could be weakened; name %s or %s with --candidate, or lay a contract over the server (lab help contract)",
		surface, ticket.TypedName, ticket.ProductionName))
}

// replayed reads the cases that are ready and selected.
func (o *mutate) replayed(ctx context.Context, plan eval.Plan, selected *selection) ([]*dataset.Case, error) {
	var cases []*dataset.Case
	todo := 0
	_, err := plan.Cases.Check(ctx, func(c *dataset.Case) {
		switch {
		case plan.Select != nil && !plan.Select(c.ID):
		case c.Todo != "":
			todo++
		default:
			cases = append(cases, c)
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, replayError(err, selected)
	case selected.idle() != nil:
		return nil, usageError(selected.idle())
	case len(cases) == 0 && todo > 0:
		return nil, usageError(eval.ErrOnlyTodo)
	case len(cases) == 0:
		return nil, usageError(errors.New("there is no case"))
	}
	return cases, nil
}

// chosenMutants are the ids that --mutant asks for, or nil for all.
func (o *mutate) chosenMutants(ctx context.Context, subject mutation.Subject) ([]string, error) {
	if o.mutants == nil {
		return nil, nil
	}
	all, err := mutation.Mutants(ctx, subject)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, couldNotRun(err)
	}
	selected := newSelection("mutant", o.mutants)
	var ids []string
	for _, m := range all {
		if selected.selects(m.ID) {
			ids = append(ids, m.ID)
		}
	}
	if err := selected.idle(); err != nil {
		return nil, usageError(err)
	}
	return ids, nil
}

// excused reads the waivers of a file that is named.
func (o *mutate) excused(ctx context.Context) ([]mutation.Waiver, error) {
	if o.waivers == "" {
		return nil, nil
	}
	waivers, err := untilDone(ctx, func() ([]mutation.Waiver, error) { return mutation.ReadWaivers(o.waivers) })
	return waivers, unreadable(err)
}

// mutantsDone tells a person at a terminal how far a long run is.
func mutantsDone(w io.Writer) func(done, of int) {
	var mu sync.Mutex
	last := time.Now()
	return func(done, of int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) < time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(w, "%d of %d mutants\n", done, of)
	}
}
