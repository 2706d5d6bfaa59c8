package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"agentlab/lab/eval"
	"agentlab/lab/pin"
	"agentlab/lab/report"
	"agentlab/lab/sandbox"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

// pinCommand is the command line of lab pin.
type pinCommand struct {
	file  string
	lock  string
	check bool
}

// defaultLock is the lock of a surface whose contract names none.
const defaultLock = "catalog.lock"

func newPin() *cobra.Command {
	var o pinCommand
	cmd := &cobra.Command{
		Use:   "pin [SURFACE]",
		Short: "Write down what a server's tools look like, or tell what has changed since",
		Long: `Connect to the server of a surface, list its tools, and write the lock of that
catalog: of each tool the description, the schemas and the annotations, as they
were reviewed. No tool is called.

With --check nothing is written: the command tells what the live catalog has that
the lock has not, old and new, and exits 1 where that is anything. A description
that has changed since the review is news: it is what the model reads.

SURFACE is by default the candidate of the suite, and the lock the one that its
contract names as its pin, or else ` + defaultLock + ` beside the suite file.`,
		Example: `  lab pin                      pin the candidate of ./lab.yaml
  lab pin --check              fail where its tools are not what was pinned
  lab pin raw --lock raw.lock  pin another surface, in a file of its own`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"file", "lock"} {
				if flag := cmd.Flag(name); flag.Changed && flag.Value.String() == "" {
					return usageError(fmt.Errorf("--%s names no file", name))
				}
			}
			return o.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "file", "f", suite.DefaultFile, "read this suite `FILE`")
	flags.StringVar(&o.lock, "lock", "", "the lock `FILE`")
	flags.BoolVar(&o.check, "check", false, "write nothing; exit 1 where the live catalog differs")
	return cmd
}

func (o *pinCommand) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := untilDone(ctx, func() (*suite.Suite, error) { return suite.Read(o.file, os.LookupEnv) })
	if err != nil {
		return unreadable(err)
	}
	name := s.Candidate
	if len(args) > 0 {
		name = args[0]
	}
	spec, err := surfaceOf(s, name)
	if err != nil {
		return err
	}
	path, err := o.path(ctx, spec)
	if err != nil {
		return err
	}
	known, err := readLock(path)
	first := errors.Is(err, fs.ErrNotExist) && !o.check
	switch {
	case err == nil || first:
	case errors.Is(err, fs.ErrNotExist):
		return usageError(fmt.Errorf("there is no %s; lab pin writes it", path))
	case o.check:
		return usageError(err)
	default:
		// Another file of that name is not to be lost.
		return usageError(fmt.Errorf("%w\nit is not written over: remove it, or take it from version control, and pin anew", err))
	}
	definitions, _, err := listTools(ctx, spec, filepath.Dir(o.file), s.Timeout, stderr)
	if err != nil {
		return err
	}
	var changes []pin.Change
	if !first {
		changes = known.Changes(definitions)
	}
	for _, c := range changes {
		for _, line := range changeLines(c) {
			fmt.Fprintln(stdout, report.Visible(line))
		}
	}
	live := pin.Of(definitions)
	said := fmt.Sprintf("%s: %s of %s, %s", path, report.Counted(len(definitions), "tool"), name, live.Digest())
	switch {
	case o.check && len(changes) > 0:
		return &exitError{exitGateFailed, fmt.Errorf("%s: %s; lab pin accepts what is there now", path, report.Counted(len(changes), "change"))}
	case o.check:
		fmt.Fprintln(stdout, report.Visible(said+", as pinned"))
		return nil
	}
	// A link to a lock stays one.
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path // which is not there yet
	}
	if err := writeFiles([]string{target}, live.Encode()); err != nil {
		return couldNotRun(err)
	}
	fmt.Fprintln(stdout, report.Visible(said))
	return nil
}

// path is where the lock of a surface lies.
func (o *pinCommand) path(ctx context.Context, spec suite.Surface) (string, error) {
	if o.lock != "" {
		return o.lock, nil
	}
	if spec.Contract != "" {
		file, err := readContract(ctx, spec.Contract)
		if err != nil {
			return "", err
		}
		if file.Pin != "" {
			return file.Pin, nil
		}
	}
	return filepath.Join(filepath.Dir(o.file), defaultLock), nil
}

// readLock reads a lock; its errors tell the file.
func readLock(path string) (pin.Lock, error) {
	lock, err := pin.ReadFile(path)
	if broken := (*pin.Error)(nil); errors.As(err, &broken) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return lock, err
}

// changeLines tell a change: which tool, which part, what it was and what it is.
func changeLines(c pin.Change) []string {
	what := c.Tool
	if c.Part != "" {
		what += " " + c.Part
	}
	var lines []string
	differences, more := c.Differences()
	for _, d := range differences {
		at, kind := what, c.Kind
		if d.Pointer != "" {
			at += " " + d.Pointer
		}
		switch {
		case kind != pin.Changed:
		case d.Old == "":
			kind = pin.Added
		case d.New == "":
			kind = pin.Removed
		}
		lines = append(lines, at+": "+string(kind))
		if d.Old != "" {
			lines = append(lines, "  - "+d.Old)
		}
		if d.New != "" {
			lines = append(lines, "  + "+d.New)
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and at %s more", what, report.Counted(more, "place")))
	}
	return lines
}

// listTools connects to the server of a surface, lists its tools and calls none.
func listTools(ctx context.Context, spec suite.Surface, dir string, timeout time.Duration, stderr io.Writer) ([]tool.Definition, time.Duration, error) {
	spec.Effects = nil // nothing is called, and so nothing is looked at
	surface, err := sandbox.Open(ctx, spec, sandbox.Settings{
		Version:   eval.Version,
		Dir:       dir,
		Isolation: suite.PerCase,
		Timeout:   timeout,
		Notice:    notices(stderr),
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		return nil, 0, couldNotRun(err)
	}
	_, took, _ := surface.Starts()
	if err := surface.Close(); err != nil {
		return nil, 0, couldNotRun(err)
	}
	if down := surface.Down(); down != nil {
		return nil, 0, couldNotRun(down)
	}
	return surface.Definitions(), took, nil
}
