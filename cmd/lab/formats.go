package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/report/junit"
	"agentlab/lab/report/sarif"
	"agentlab/lab/stream"
)

// reportFormat is a format that a report can have: it needs no more than what all
// cases came to, or every case.
type reportFormat struct {
	name  string
	file  string // what it is called in a directory
	atEnd func(io.Writer, *eval.Comparison, []report.Row) error
	sink  func(io.Writer, *eval.Comparison, locating) (report.Sink, error)
}

// locating says where a file of the dataset is found, from the root of the
// repository, or the empty text.
type locating func(file string) string

// reportFormats are what --report and --format know.
var reportFormats = []reportFormat{
	{name: "text", file: "tool-comparison.txt", atEnd: report.Text},
	{name: "json", file: report.ComparisonFile, atEnd: func(w io.Writer, c *eval.Comparison, _ []report.Row) error {
		return report.ComparisonJSON(w, c)
	}},
	{name: "markdown", file: report.MarkdownFile, atEnd: func(w io.Writer, c *eval.Comparison, _ []report.Row) error {
		return report.ComparisonMarkdown(w, c)
	}},
	{name: "failures", file: report.FailuresFile, sink: func(w io.Writer, c *eval.Comparison, _ locating) (report.Sink, error) {
		return report.NewFailures(w, c)
	}},
	{name: "jsonl", file: report.RunsFile, sink: func(w io.Writer, c *eval.Comparison, _ locating) (report.Sink, error) {
		return report.NewRuns(w, c), nil
	}},
	{name: "junit", file: "junit.xml", sink: func(w io.Writer, c *eval.Comparison, _ locating) (report.Sink, error) {
		return junit.New(w, c), nil
	}},
	{name: "sarif", file: "tool-failures.sarif", sink: func(w io.Writer, c *eval.Comparison, locate locating) (report.Sink, error) {
		return sarif.New(w, c, sarif.Options{Locate: locate}), nil
	}},
	{name: formatOtel, file: "tool-traces.otlp.jsonl", sink: newOtel(false)},
	{name: "github", file: standardOutput, sink: newGitHub},
}

func (f *reportFormat) open(w io.Writer, c *eval.Comparison, locate locating) (report.Sink, error) {
	if f.atEnd != nil {
		return report.AtEnd(w, c, f.atEnd), nil
	}
	return f.sink(w, c, locate)
}

// showReports writes reports to stdout: of what is still in memory, where one is asked for
// and that is enough for it.
func showReports(stdout io.Writer, c *eval.Comparison, rows []report.Row, all []wantedReport, runs io.ReadCloser, locate locating) error {
	if f := all[0].reportFormat; len(all) == 1 && f.atEnd != nil {
		return f.atEnd(stdout, c, rows)
	}
	return writeReports(func() (io.ReadCloser, error) { return runs, nil }, c, all, stdout, locate)
}

// apart parts the reports that go to files from those that go to stdout.
func apart(all []wantedReport) (inFiles, shown []wantedReport) {
	for _, w := range all {
		if w.path == standardOutput {
			shown = append(shown, w)
		} else {
			inFiles = append(inFiles, w)
		}
	}
	return inFiles, shown
}

func formatNames() []string {
	names := make([]string, len(reportFormats))
	for i, f := range reportFormats {
		names[i] = f.name
	}
	return names
}

func formatNamed(flag, name string) (*reportFormat, error) {
	i := slices.IndexFunc(reportFormats, func(f reportFormat) bool { return f.name == name })
	if i < 0 {
		return nil, usageError(fmt.Errorf("--%s %q is not one of %s", flag, name, strings.Join(formatNames(), ", ")))
	}
	return &reportFormats[i], nil
}

// standardOutput is the name that stands for it.
const standardOutput = "-"

// wantedReport is one report that was asked for.
type wantedReport struct {
	*reportFormat
	path string // a file, or standardOutput
}

// wantedReports reads the values of --report, FORMAT or FORMAT=FILE; without a file
// it is the format's own in dir.
func wantedReports(values []string, dir string) ([]wantedReport, error) {
	var all []wantedReport
	for _, value := range values {
		name, path, named := strings.Cut(value, "=")
		format, err := formatNamed("report", name)
		if err != nil {
			return nil, err
		}
		switch {
		case !named && format.file == standardOutput:
			path = standardOutput
		case !named:
			path = filepath.Join(dir, format.file)
		case path == "":
			return nil, usageError(fmt.Errorf("--report %s names no file", value))
		}
		if slices.ContainsFunc(all, func(w wantedReport) bool { return w.path == path }) {
			return nil, usageError(fmt.Errorf("--report: two reports go to %s", path))
		}
		all = append(all, wantedReport{format, path})
	}
	return all, nil
}

// reportsFlag adds --report to a command.
func reportsFlag(cmd *cobra.Command, values *[]string, usage string) {
	cmd.Flags().StringArrayVar(values, "report", nil, usage)
	complete := cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	if err := cmd.RegisterFlagCompletionFunc("report", complete); err != nil {
		panic(err) // the flag is defined above
	}
}

// writeReports makes reports of a finished stream, all of them in one pass over it.
// Each file is put in place when it is whole.
func writeReports(open func() (io.ReadCloser, error), c *eval.Comparison, all []wantedReport, stdout io.Writer, locate locating) (err error) {
	if len(all) == 0 {
		return nil
	}
	from, err := open()
	if err != nil {
		return err
	}
	defer from.Close()
	reader, err := stream.NewReader(from)
	if err != nil {
		return err
	}
	var sinks []report.Sink
	var files []*replacing
	defer func() {
		for _, f := range files {
			f.discard()
		}
	}()
	for _, w := range all {
		out := stdout
		if w.path != standardOutput {
			file, err := replace(w.path)
			if err != nil {
				return err
			}
			files = append(files, file)
			out = file.buffered
		}
		sink, err := w.open(out, c, locate)
		if err != nil {
			return err
		}
		sinks = append(sinks, sink)
	}
	if err := report.Feed(reader, sinks...); err != nil {
		return err
	}
	for _, f := range files {
		if err := f.publish(); err != nil {
			return err
		}
	}
	return nil
}

// replacing is a file that is written beside the one it comes in the place of.
type replacing struct {
	path     string
	file     *os.File
	buffered *bufio.Writer
}

func replace(path string) (*replacing, error) {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path+".partial", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return &replacing{path, file, bufio.NewWriterSize(file, 64<<10)}, nil
}

func (r *replacing) publish() error {
	if err := errors.Join(r.buffered.Flush(), r.file.Close()); err != nil {
		return err
	}
	err := os.Rename(r.file.Name(), r.path)
	if err == nil {
		r.file = nil
	}
	return err
}

// discard removes what was not published.
func (r *replacing) discard() {
	if r.file != nil {
		r.file.Close()
		os.Remove(r.file.Name())
		r.file = nil
	}
}
