package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/stream"
)

// remake is the command line of lab report.
type remake struct {
	reports []string
	format  string
	out     string
	cases   []string
	quiet   bool
	telemetry
}

func newReport() *cobra.Command {
	var o remake
	standard := filepath.Join("reports", "local", report.RunsFile)
	cmd := &cobra.Command{
		Use:   "report [FILE...]",
		Short: "Make reports of a stored stream of runs, without running anything",
		Long: `Make reports of the stream of runs that lab tool-eval wrote, without running
anything. They are the same bytes as those that were written then, and so is the
exit code: 1 where the gate failed, 3 where some run could not run.

FILE is ` + standard + ` where it is left out, and - for standard input.
Several files are the streams of all shards of one run, and the reports are those
of the whole; "lab report merge" writes the whole stream itself.`,
		Example: `  lab report
  lab report runs.jsonl --report sarif=lab.sarif --report junit=junit.xml
  lab report runs.jsonl --format markdown
  lab report runs.jsonl --otel traces.otlp.jsonl --otel-arguments
  lab report shards/*/tool-runs.jsonl --report junit=junit.xml
  ssh ci cat tool-runs.jsonl | lab report - --format failures`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{standard}
			}
			return o.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", "text", "what stdout gets, a `FORMAT`: "+strings.Join(formatNames(), ", "))
	flags.StringVar(&o.out, "out", filepath.Join("reports", "local"), "where a --report without a FILE goes, a `DIR`")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	o.telemetry.flags(cmd)
	reportsFlag(cmd, &o.reports, "write a report, `FORMAT[=FILE]`; repeatable")
	flags.StringArrayVar(&o.cases, "cases", nil, "where a `FILE` of the dataset is, which sarif and github point into; repeatable (default: by its name, here or in datasets)")
	if err := cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is defined above
	}
	cmd.AddCommand(newMerge())
	return cmd
}

func (o *remake) run(cmd *cobra.Command, names []string) error {
	reports, toStdout, err := o.want(cmd, o.reports, o.out, o.format)
	if err != nil {
		return err
	}
	var open func() (io.ReadCloser, error)
	var closeStored func()
	var comparison *eval.Comparison
	if len(names) > 1 {
		open, closeStored, comparison, err = mergedStream(cmd, names)
	} else {
		open, closeStored, comparison, err = stored(cmd, names[0])
	}
	if err != nil {
		return err
	}
	defer closeStored()
	if err := writeReports(open, comparison, append(reports, wantedReport{toStdout, standardOutput}), cmd.OutOrStdout(), locate(o.cases)); err != nil {
		return couldNotRun(err)
	}
	switch {
	case comparison.CouldNotRun() > 0:
		return notRun(comparison)
	case !comparison.GatePassed():
		return errGateFailed
	}
	return nil
}

// stored opens a stream that can be read more than once, and says what it comes to.
func stored(cmd *cobra.Command, name string) (open func() (io.ReadCloser, error), closeStored func(), comparison *eval.Comparison, err error) {
	if open, closeStored, err = kept(cmd, name); err != nil {
		return nil, nil, nil, err
	}
	if comparison, err = summed(open); err != nil {
		closeStored()
		return nil, nil, nil, unreadableStream(name, err)
	}
	return open, closeStored, comparison, nil
}

// kept opens a stream that can be read more than once: what comes by a pipe is
// kept in a temporary file until closeStored.
func kept(cmd *cobra.Command, name string) (open func() (io.ReadCloser, error), closeStored func(), err error) {
	if name != standardOutput {
		info, err := os.Stat(name)
		if err != nil {
			return nil, nil, usageError(err)
		}
		if info.Mode().IsRegular() {
			return func() (io.ReadCloser, error) { return os.Open(name) }, func() {}, nil
		}
	}
	from := io.NopCloser(cmd.InOrStdin())
	if name != standardOutput {
		if from, err = openUntil(cmd.Context(), name); err != nil {
			return nil, nil, usageError(err)
		}
	}
	defer from.Close()
	kept, err := os.CreateTemp("", "lab-report-")
	if err != nil {
		return nil, nil, couldNotRun(err)
	}
	closeStored = func() { os.Remove(kept.Name()) }
	_, err = io.Copy(kept, from)
	if err = errors.Join(err, kept.Close()); err != nil {
		closeStored()
		return nil, nil, couldNotRun(err)
	}
	return func() (io.ReadCloser, error) { return os.Open(kept.Name()) }, closeStored, nil
}

// summed reads a stream to its end: a report may have to say first what comes last.
func summed(open func() (io.ReadCloser, error)) (*eval.Comparison, error) {
	from, err := open()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	reader, err := stream.NewReader(from)
	if err != nil {
		return nil, err
	}
	if err := report.Feed(reader); err != nil {
		return nil, err
	}
	return reader.Comparison(), nil
}

// unreadableStream is the error of a stream that cannot be read: its line is told as
// an editor can jump to it.
func unreadableStream(name string, err error) error {
	var invalid *stream.Invalid
	if errors.As(err, &invalid) {
		return usageError(fmt.Errorf("%s:%d: %s", name, invalid.Line, invalid.Reason))
	}
	return usageError(fmt.Errorf("%s: %w", name, err))
}
