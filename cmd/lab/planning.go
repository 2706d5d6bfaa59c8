package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
)

// planning is the part of a command line that says what is replayed on what.
type planning struct {
	cases     []string
	patterns  []string
	candidate string
	workers   int
	quiet     bool
	plain     bool // no progress
	foreign   foreign

	// weakened says that no baseline is replayed, and that mutants are made of the
	// candidate, which therefore must have a contract.
	weakened bool
	// What mutants of a server are made of: the contract before it, and the name of the
	// baseline that its cases may be replayed on as well.
	overlaid *contractFile
	before   string
}

// maxWorkers is more than any machine has cores for; each worker takes memory.
const maxWorkers = 1024

// flags defines the flags of what is replayed, of which a command says which cases
// are its default, and which surface, and what it does with that.
func (o *planning) flags(cmd *cobra.Command, cases, candidate, judged string) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.cases, "cases", nil, "read cases from this JSONL `FILE`; repeatable (default: "+cases+")")
	flags.StringArrayVar(&o.patterns, "case", nil, "replay only cases whose id is `ID` or matches it as a glob (*, ?, [a-z]); repeatable")
	flags.StringVar(&o.candidate, "candidate", candidate, judged)
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	o.foreign.flags(cmd)
	completions(cmd, map[string]cobra.CompletionFunc{
		"candidate":  completeSurfaces,
		"cases":      cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
		"case":       cobra.NoFileCompletions,
		"file":       cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
		"mcp-config": cobra.FixedCompletions([]string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
	})
}

// completions says what a shell may put in the place of the values of flags.
func completions(cmd *cobra.Command, flags map[string]cobra.CompletionFunc) {
	for flag, function := range flags {
		if err := cmd.RegisterFlagCompletionFunc(flag, function); err != nil {
			panic(err) // the flag is defined beside this
		}
	}
}

// plan reads the flags that every plan has.
func (o *planning) plan(cases *dataset.Reader, selected *selection, stderr io.Writer) (eval.Plan, error) {
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

// sources are the files that are named, or the shipped ones where none is.
func (o *planning) sources(ctx context.Context, shipped ...dataset.Source) []dataset.Source {
	if o.cases == nil {
		return shipped
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

// The shipped cases.
var (
	shippedToolCases    = shipped(datasets.ToolCasesName, datasets.ToolCases)
	shippedControlCases = shipped(datasets.ControlCasesName, datasets.ControlCases)
)

func shipped(name string, text []byte) dataset.Source {
	return dataset.Source{
		Name: name,
		Path: name,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
	}
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
