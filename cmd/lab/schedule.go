package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"agentlab/lab/dataset"
	"agentlab/lab/generate"
	"agentlab/lab/report"
	"agentlab/lab/schedule"
	"agentlab/lab/ticket"
)

// scheduleCommand is the command line of lab schedule.
type scheduleCommand struct {
	surface string
	store   string
	format  string
	replay  string
	quiet   bool
	plain   bool // no progress
	options schedule.Options
}

var scheduleFormats = map[string]func(io.Writer, *schedule.Report) error{
	"text": report.ScheduleText,
	"json": report.ScheduleJSON,
}

// storeFile is the store of schedules that outlives a process: a file of their own,
// which is gone when they are done.
const storeFile = "sqlite"

func newSchedule() *cobra.Command {
	var o scheduleCommand
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Make calls of one action together, in every order, with something going wrong in between",
		Long: `Make two or three calls with one key together, one step of a call at a time, in
every order that matters, each order on a fresh backend: with the same arguments and
with others, by one caller and by two, with one grant between them; with an answer
that is lost, a handler that fails, a crash or a jump of the clock between any two
steps. After each step, ask what must hold: one effect a key, no effect without an
approval, no effect told as not applied, no receipt lost. "lab help schedules" tells
more.

The surfaces are those that are built in and stand behind contracts: the steps of a
server outside cannot be stopped.`,
		Example: `  lab schedule                                    two calls, in every order
  lab schedule --store sqlite                     and with the process dying between two steps
  lab schedule --calls 2,3                        three calls too, which takes longer
  lab schedule --calls 5 --seed 7 --schedules 500 some orders of five calls
  lab schedule --surface typed-registry-v2
  lab schedule --replay 'record_ticket_followup same none 2: 1 approval, 2 approval'
  lab schedule --format json | jq .violations`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.plain = cmd.Flag("no-color").Changed || os.Getenv("NO_COLOR") != ""
			return o.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.surface, "surface", ticket.ProductionName, "the `SURFACE` that is tried")
	flags.IntSliceVar(&o.options.Calls, "calls", []int{2}, fmt.Sprintf("how many calls are made together, each from 2 to %d, as a comma-separated `LIST`", schedule.MostCalls))
	flags.Uint64Var(&o.options.Seed, "seed", 1, "draw orders at random by this `NUMBER`, where there are too many to try all")
	flags.IntVar(&o.options.Schedules, "schedules", schedule.DefaultSchedules, "try `N` orders of a variation at the most, and where that is not all, N more at random")
	flags.StringVar(&o.store, "store", storeMemory, "where tickets and receipts are kept, a `STORE`: memory, or sqlite, a file of its own, with which the process can die")
	flags.StringVar(&o.format, "format", "text", "what stdout gets, a `FORMAT`: text or json")
	flags.StringVar(&o.replay, "replay", "", "play this one `SCHEDULE` again, as a violation has it")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	completions(cmd, map[string]cobra.CompletionFunc{
		"surface": completeSurfaces,
		"store":   cobra.FixedCompletions([]string{storeMemory, storeFile}, cobra.ShellCompDirectiveNoFileComp),
		"format":  cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp),
		"replay":  cobra.NoFileCompletions,
	})
	return cmd
}

func (o *scheduleCommand) run(cmd *cobra.Command) (err error) {
	ctx := cmd.Context()
	render := scheduleFormats[o.format]
	if render == nil {
		return usageError(fmt.Errorf("--format %q is not one of text, json", o.format))
	}
	if err := o.check(); err != nil {
		return usageError(err)
	}
	subject, closeSubject, err := o.subject(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if closed := closeSubject(); err == nil && closed != nil {
			err = couldNotRun(closed)
		}
	}()
	actions, err := actionsFor(ctx, o.surface)
	if err != nil {
		return err
	}
	if file, ok := cmd.ErrOrStderr().(*os.File); ok && !o.quiet && !o.plain && isatty.IsTerminal(file.Fd()) {
		o.options.Progress = variationsDone(file)
	}
	var found *schedule.Report
	if o.replay != "" {
		found, err = schedule.Replay(ctx, subject, actions, o.options, o.replay)
	} else {
		found, err = schedule.Run(ctx, subject, actions, o.options)
	}
	switch impossible := new(schedule.ScheduleError); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, schedule.ErrNothing), errors.As(err, &impossible):
		return usageError(err)
	case err != nil:
		return couldNotRun(err)
	}
	if err := render(cmd.OutOrStdout(), found); err != nil {
		return couldNotRun(err)
	}
	if found.Violations() > 0 {
		return errGateFailed
	}
	return nil
}

func (o *scheduleCommand) check() error {
	for _, n := range o.options.Calls {
		if n < 2 || n > schedule.MostCalls {
			return fmt.Errorf("--calls %d is not from 2 to %d", n, schedule.MostCalls)
		}
	}
	if o.options.Schedules < 1 {
		return fmt.Errorf("--schedules %d is not above zero", o.options.Schedules)
	}
	if o.store != storeMemory && o.store != storeFile {
		return fmt.Errorf("--store %q is neither memory nor sqlite", o.store)
	}
	return nil
}

// subject is the surface that is tried, and what closes it.
func (o *scheduleCommand) subject(ctx context.Context) (schedule.Subject, func() error, error) {
	surface, err := surfaceNamed(o.surface)
	if err != nil {
		return nil, nil, err
	}
	subject, ok := surface.(schedule.Subject)
	if !ok {
		return nil, nil, usageError(fmt.Errorf("%s stands behind no contracts; there are no steps to stop at", o.surface))
	}
	if o.store == storeMemory {
		o.options.Workers = runtime.GOMAXPROCS(0)
		return subject, func() error { return nil }, nil
	}
	if o.surface != ticket.ProductionName {
		return nil, nil, usageError(fmt.Errorf("--store %s is for %s", o.store, ticket.ProductionName))
	}
	dir, err := os.MkdirTemp("", "lab-schedule-")
	if err != nil {
		return nil, nil, couldNotRun(err)
	}
	kept, err := ticket.OnSQLite(ctx, filepath.Join(dir, "tickets.db"))
	if err != nil {
		return nil, nil, couldNotRun(errors.Join(err, os.RemoveAll(dir)))
	}
	o.options.Durable = true
	return kept, func() error { return errors.Join(kept.Close(), os.RemoveAll(dir)) }, nil
}

// actionsFor are the calls that shipped cases expect to succeed on a built-in surface.
func actionsFor(ctx context.Context, surface string) ([]schedule.Action, error) {
	var actions []schedule.Action
	reader := dataset.Settings{Surfaces: surfaceNames(), Candidate: surface}.Open(shippedToolCases, shippedControlCases)
	_, err := reader.Check(ctx, func(c *dataset.Case) {
		for _, known := range generate.KnownCalls(c) {
			caller := known.Caller
			if caller.ID == "" {
				caller.ID = "agent" // a case may leave open who it is
			}
			actions = append(actions, schedule.Action{Proposal: known.Proposal, Caller: caller})
		}
	})
	if err != nil && ctx.Err() == nil {
		err = couldNotRun(err) // the cases are part of the program
	}
	return actions, err
}

// variationsDone tells a person at a terminal how far a long search is.
func variationsDone(w io.Writer) func(done, of int) {
	last := time.Now()
	return func(done, of int) {
		if time.Since(last) < time.Second {
			return
		}
		last = time.Now()
		fmt.Fprintf(w, "%d of %d variations\n", done, of)
	}
}

// scheduleLists are what the topic has of the lists of the program.
func scheduleLists() []string {
	var patterns, hazards, steps, invariants strings.Builder
	for _, p := range schedule.Patterns() {
		fmt.Fprintf(&patterns, "- `%s`: %s\n", p.Name, p.Does)
	}
	for _, h := range schedule.Hazards() {
		fmt.Fprintf(&hazards, "- `%s`: %s\n", h.Name, h.Does)
	}
	for _, s := range schedule.Steps() {
		stops := "no stop"
		if len(s.Stops) > 0 {
			stops = "`" + strings.Join(s.Stops, "`, `") + "`"
		}
		fmt.Fprintf(&steps, "- %s (%s): %s\n", s.Control, stops, s.Why)
	}
	for _, i := range schedule.Invariants() {
		fmt.Fprintf(&invariants, "- `%s`: %s\n", i.Name, i.Holds)
	}
	var lists []string
	for name, list := range map[string]*strings.Builder{"patterns": &patterns, "hazards": &hazards, "steps": &steps, "invariants": &invariants} {
		lists = append(lists, "{{"+name+"}}", strings.TrimSuffix(list.String(), "\n"))
	}
	return lists
}
