package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"agentlab/lab/report"
)

// The exit codes, as "lab help exit-codes" tells them.
const (
	exitPassed      = 0
	exitGateFailed  = 1
	exitUsage       = 2
	exitCouldNotRun = 3
	exitInterrupted = 130
)

// exitError is an error that knows the exit code it stands for. Where err is
// nil the code says it all.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// errGateFailed ends a command whose output has already said why.
var errGateFailed = &exitError{code: exitGateFailed}

func usageError(err error) error { return &exitError{exitUsage, err} }

func couldNotRun(err error) error { return &exitError{exitCouldNotRun, err} }

// run executes a command line and returns its exit code.
func run(args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if cause := recover(); cause != nil {
			fmt.Fprintf(stderr, "lab: panic: %v\n%s", cause, debug.Stack())
			code = exitCouldNotRun
		}
	}()
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		// Little is alive at a time: a short run ends before it has to collect,
		// and a long one collects when it nears the limit.
		debug.SetGCPercent(800)
		debug.SetMemoryLimit(96 << 20)
	}
	ctx, stop := untilSignal()
	defer stop()
	piped := keepBrokenPipes()

	out := &firstError{w: stdout}
	root := newRoot(out, stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	piped(out)
	if out.err != nil {
		err = couldNotRun(fmt.Errorf("write to stdout: %w", out.err))
	}
	if err == nil {
		return exitPassed
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		fmt.Fprintln(stderr, "lab: interrupted; nothing was written")
		return exitInterrupted
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		// What cobra finds wrong with a command line.
		exit = &exitError{exitUsage, fmt.Errorf("%w\nRun '%s --help' for usage", err, cmd.CommandPath())}
	}
	if exit.err != nil {
		fmt.Fprint(stderr, "lab: ")
		for line := range strings.SplitSeq(exit.Error(), "\n") {
			fmt.Fprintln(stderr, report.Visible(line))
		}
	}
	return exit.code
}

// firstError remembers the first error of a writer, so that no command has to
// look at each of its writes to stdout.
type firstError struct {
	w   io.Writer
	err error
}

func (f *firstError) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if f.err == nil {
		f.err = err
	}
	return n, err
}
