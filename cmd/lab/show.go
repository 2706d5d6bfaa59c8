package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/report/terminal"
	"agentlab/lab/spelling"
	"agentlab/lab/stream"
)

// show is the command line of lab show.
type show struct {
	surface string
	failed  bool

	pattern string // of the ids of cases; empty for all
	file    string
}

func newShow() *cobra.Command {
	var o show
	standard := filepath.Join("reports", "local", report.RunsFile)
	cmd := &cobra.Command{
		Use:   "show {CASE | --failed} [FILE]",
		Short: "Explain single runs: proposals, decisions, effects, and what a grader missed",
		Long: `Explain what came of a case on each surface, out of the stream of runs that lab
tool-eval wrote: what was proposed, what each control decided (✓ pass, ✗ refuse, with
its code, ↺ replay, · skip), whether the handler ran, what changed, what came back,
and for each grader that failed, what it expected (-) against what came (+). Nothing
is run.

CASE is an id, or a glob over ids. FILE is ` + standard + ` where it is
left out, and - for standard input.

--failed shows the runs that failed or could not run, of all surfaces or of --surface.
At a terminal they come one by one: Enter or n for the next, p for the one before, q
to quit. The exit code is 0 whatever the runs came to.`,
		Example: `  lab show duplicate-action
  lab show 'invalid-*' --surface typed-registry-v2
  lab show --failed
  lab show read-ticket ci/tool-runs.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case o.failed && len(args) > 1:
				return errors.New("--failed shows the failed runs of all cases; leave CASE out")
			case !o.failed && len(args) == 0:
				return errors.New("name a case, or --failed")
			case len(args) > 2:
				return fmt.Errorf("unexpected argument %q", args[2])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = standard
			if !o.failed {
				o.pattern, args = args[0], args[1:]
			}
			if len(args) > 0 {
				o.file = args[0]
			}
			return o.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.surface, "surface", "", "show the runs on this `SURFACE` alone")
	flags.BoolVar(&o.failed, "failed", false, "show every run that failed or could not run")
	return cmd
}

func (o *show) run(cmd *cobra.Command) error {
	open, closeStored, err := kept(cmd, o.file)
	if err != nil {
		return err
	}
	defer closeStored()
	from, reader, err := o.read(open)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := o.knowsSurface(reader.Comparison()); err != nil {
		return err
	}
	stdout := cmd.OutOrStdout()
	shown := &showing{show: o, reader: reader, style: styleOf(cmd, stdout)}
	_, seen := isTerminal(stdout)
	if _, typed := isTerminal(cmd.InOrStdin()); o.failed && seen && typed && o.file != standardOutput {
		err = walk(cmd.Context(), shown.next, cmd.InOrStdin(), stdout)
	} else {
		err = shown.all(stdout)
	}
	switch {
	case cmd.Context().Err() != nil:
		return cmd.Context().Err()
	case err != nil:
		return err
	case shown.count > 0:
		return nil
	case o.failed:
		fmt.Fprintln(stdout, "no run failed, and each could run")
		return nil
	}
	return o.unknownCase(open)
}

func (o *show) knowsSurface(c *eval.Comparison) error {
	var names []string
	for _, s := range c.Summaries() {
		names = append(names, s.Strategy)
	}
	if o.surface == "" || slices.Contains(names, o.surface) {
		return nil
	}
	return usageError(fmt.Errorf("there is no run on %q; the surfaces are %s%s", o.surface, strings.Join(names, " and "), meant(o.surface, names)))
}

// read starts to read the stream, which is closed by its caller.
func (o *show) read(open func() (io.ReadCloser, error)) (io.Closer, *stream.Reader, error) {
	from, err := open()
	if err != nil {
		return nil, nil, usageError(err)
	}
	reader, err := stream.NewReader(from)
	if err != nil {
		from.Close()
		return nil, nil, unreadableStream(o.file, err)
	}
	return from, reader, nil
}

// unknownCase is the error of a case that is not in the stream.
func (o *show) unknownCase(open func() (io.ReadCloser, error)) error {
	from, reader, err := o.read(open)
	if err != nil {
		return err
	}
	defer from.Close()
	var ids []string
	for {
		pair, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return unreadableStream(o.file, err)
		}
		ids = append(ids, pair.Case.ID)
	}
	return usageError(fmt.Errorf("no case of %s is %q or matches it%s", o.file, o.pattern, meant(o.pattern, ids)))
}

// meant asks whether the nearest of some names was meant: by its letters, or because
// it holds what was typed.
func meant(name string, known []string) string {
	nearest := spelling.Nearest(name, known)
	if nearest == "" {
		if at := slices.IndexFunc(known, func(k string) bool { return strings.Contains(strings.ToLower(k), strings.ToLower(name)) }); at >= 0 {
			nearest = known[at]
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", nearest)
}

// showing reads a stream and explains the runs of it that are wanted, one at a time.
type showing struct {
	*show
	reader  *stream.Reader
	style   terminal.Style
	pair    *eval.Pair
	waiting []*eval.Run // of that pair
	count   int
}

// next is the explanation of the next run; io.EOF after the last.
func (s *showing) next() ([]byte, error) {
	for len(s.waiting) == 0 {
		pair, err := s.reader.Next()
		if err == io.EOF {
			return nil, io.EOF
		}
		if err != nil {
			return nil, unreadableStream(s.file, err)
		}
		s.pair = pair
		for _, run := range pair.Runs() {
			if s.wants(run) {
				s.waiting = append(s.waiting, run)
			}
		}
	}
	run := s.waiting[0]
	s.waiting = s.waiting[1:]
	s.count++
	var text bytes.Buffer
	err := terminal.Explain(&text, s.pair, run, s.style)
	return text.Bytes(), err
}

func (s *showing) wants(run *eval.Run) bool {
	switch {
	case s.surface != "" && s.surface != run.Strategy:
		return false
	case s.failed:
		return run.Unavailable != nil || run.Ran() && !run.Passed
	}
	return run.Case.ID == s.pattern || globs(s.pattern, run.Case.ID)
}

// all writes every run, with a line between two.
func (s *showing) all(w io.Writer) error {
	for {
		text, err := s.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if s.count > 1 {
			text = append([]byte("\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return couldNotRun(err)
		}
	}
}
