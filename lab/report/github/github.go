// Package github renders a comparison for GitHub Actions: annotations on the lines
// of the dataset, and the summary of a job.
//
// Start with [NewAnnotations] and [NewSummary].
//
// One invariant: nothing that comes from tools or datasets begins a workflow command
// or is markup of the summary.
//
// Both tell of what fails on the candidate, whose gate it is; how the baseline did is
// in the table of metrics. What is cut off is said.
package github

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/tool"
)

const (
	// MaxAnnotations is how many annotations of a kind GitHub shows of one step.
	MaxAnnotations = 10
	// maxMessage is how many bytes of a message are shown.
	maxMessage = 3000
)

// Options say what annotations cannot know by themselves.
type Options struct {
	// Locate says where a file of the dataset is found, from the root of the
	// repository; "" where it is not in it. Nil takes its name for that.
	Locate func(file string) string
}

// Annotations are workflow commands that are being written.
type Annotations struct {
	out          *bufio.Writer
	comparison   *eval.Comparison
	options      Options
	failed, lost int
}

// NewAnnotations starts the annotations of a comparison, to which its pairs are added
// in order: the first runs that failed are errors, the first that could not run are
// warnings, and one notice says why the gate failed and how many more there are.
func NewAnnotations(w io.Writer, c *eval.Comparison, o Options) *Annotations {
	return &Annotations{out: bufio.NewWriter(w), comparison: c, options: o}
}

// Add adds the run of a case on the candidate, and that on the baseline where it
// could not run.
func (a *Annotations) Add(pair *eval.Pair) error {
	for _, run := range pair.Runs() {
		switch {
		case run.Case.Todo != "":
		case run.Unavailable != nil:
			if a.lost++; a.lost <= MaxAnnotations {
				a.tell("warning", pair, run, "could not run", report.Visible(tool.Cut(run.Unavailable.Reason, maxMessage)))
			}
		case !run.Passed && run != pair.Baseline:
			if a.failed++; a.failed <= MaxAnnotations {
				a.tell("error", pair, run, "failed "+strings.Join(report.FailedGraders(run), ", "), tool.Cut(strings.TrimSuffix(report.Explain(pair, run), "\n"), maxMessage))
			}
		}
	}
	return nil
}

func (a *Annotations) tell(kind string, pair *eval.Pair, run *eval.Run, what, text string) {
	file := pair.File
	if a.options.Locate != nil {
		file = a.options.Locate(file)
	}
	a.out.WriteString("::" + kind + " ")
	if file != "" {
		a.out.WriteString("file=" + property(report.Visible(file)) + ",line=" + strconv.Itoa(max(pair.Line, 1)) + ",")
	}
	a.out.WriteString("title=" + property(report.Visible(run.Case.ID+" on "+run.Strategy)+": "+what) + "::" + data(text) + "\n")
}

// Close ends the annotations.
func (a *Annotations) Close() error {
	var told []string
	if failed := failedChecks(a.comparison); failed != nil {
		told = append(told, "The gate failed: "+strings.Join(failed, ", ")+".")
	}
	if more := a.failed - MaxAnnotations; more > 0 {
		told = append(told, report.Counted(more, "more run")+" failed.")
	}
	if more := a.lost - MaxAnnotations; more > 0 {
		told = append(told, report.Counted(more, "more run")+" could not run.")
	}
	if told != nil {
		a.out.WriteString("::notice title=lab::" + data(strings.Join(told, " ")) + "\n")
	}
	return a.out.Flush()
}

func failedChecks(c *eval.Comparison) []string {
	var failed []string
	for _, check := range c.Checks {
		if !check.Passed {
			failed = append(failed, check.Name)
		}
	}
	return failed
}

// What a workflow command must not hold, as GitHub's toolkit escapes it (command.ts
// of actions/toolkit).
var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func data(s string) string     { return dataEscapes.Replace(s) }
func property(s string) string { return propertyEscapes.Replace(s) }
