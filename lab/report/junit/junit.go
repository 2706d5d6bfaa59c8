// Package junit renders runs as JUnit XML, which CI systems show: a test suite a
// surface, a test case a run.
//
// Start with [New].
//
// One invariant: the document satisfies the schema of Jenkins' xUnit plugin
// (junit-10.xsd), whatever the texts of tools and datasets are.
//
// There are no times in it, as the lab has no clock. A run that could not run is an
// error, and a case that is still to do is skipped. So is a run that the baseline
// failed, with why: systems turn red for a failure, and the gate does not.
package junit

import (
	"bufio"
	"encoding/xml"
	"io"
	"path"
	"strconv"
	"strings"

	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/tool"
)

// maxReason is how many bytes of a reason are shown.
const maxReason = 1000

// Report is a document that is being written.
type Report struct {
	out        *bufio.Writer
	comparison *eval.Comparison
	// The suite of the baseline is written as it comes, and that of the candidate
	// after it.
	candidate spill
}

// New starts a document of a comparison, to which its pairs are added in order.
func New(w io.Writer, c *eval.Comparison) *Report {
	r := &Report{out: bufio.NewWriterSize(w, 64<<10), comparison: c}
	tests, errors := 0, 0
	for _, s := range c.Summaries() {
		tests += s.TotalCases + s.CouldNotRun + c.Dataset.Todo
		errors += s.CouldNotRun
	}
	r.out.WriteString(xml.Header)
	r.out.WriteString("<testsuites" + attribute("name", c.Dataset.Name) + count("tests", tests) + count("failures", c.Candidate.TotalCases-c.Candidate.PassedCases) + count("errors", errors) + ">\n")
	if c.Baseline != nil {
		r.out.WriteString(suite(c.Baseline, 0, c.Dataset.Todo+c.Baseline.TotalCases-c.Baseline.PassedCases))
	}
	return r
}

func suite(s *eval.Summary, failures, skipped int) string {
	return "  <testsuite" + attribute("name", s.Strategy) + count("tests", s.PassedCases+failures+s.CouldNotRun+skipped) +
		count("failures", failures) + count("errors", s.CouldNotRun) + count("skipped", skipped) + ">\n"
}

// Add adds the runs of a case.
func (r *Report) Add(pair *eval.Pair) error {
	if pair.Baseline != nil {
		if _, err := r.out.WriteString(testcase(pair, pair.Baseline)); err != nil {
			return err
		}
	}
	return r.candidate.write(testcase(pair, &pair.Candidate))
}

// Close ends the document.
func (r *Report) Close() error {
	defer r.candidate.discard()
	if r.comparison.Baseline != nil {
		r.out.WriteString("  </testsuite>\n")
	}
	c := &r.comparison.Candidate
	r.out.WriteString(suite(c, c.TotalCases-c.PassedCases, r.comparison.Dataset.Todo))
	if err := r.candidate.copyTo(r.out); err != nil {
		return err
	}
	r.out.WriteString("  </testsuite>\n</testsuites>\n")
	return r.out.Flush()
}

func testcase(pair *eval.Pair, run *eval.Run) string {
	class := strings.TrimSuffix(pair.File, path.Ext(pair.File)) + "." + run.Strategy
	start := "    <testcase" + attribute("name", run.Case.ID) + attribute("classname", class)
	end := "</testcase>\n"
	switch {
	case run.Case.Todo != "":
		return start + "><skipped" + attribute("message", "still to do: "+tool.Cut(run.Case.Todo, maxReason)) + "/>" + end
	case run.Unavailable != nil:
		return start + "><error" + attribute("type", "could_not_run") + attribute("message", "could not run: "+tool.Cut(run.Unavailable.Reason, maxReason)) + "/>" + end
	case run.Passed:
		return start + "/>\n"
	}
	failed := "failed: " + strings.Join(report.FailedGraders(run), ", ")
	why := line(pair.File+":"+strconv.Itoa(pair.Line)) + "\n" + text(report.Explain(pair, run))
	if run == pair.Baseline {
		return start + "><skipped" + attribute("message", failed+"; the gate judges the candidate") + "/><system-out>" + why + "</system-out>" + end
	}
	return start + "><failure" + attribute("type", "failed") + attribute("message", failed) + ">" + why + "</failure>" + end
}

func count(name string, n int) string { return " " + name + `="` + strconv.Itoa(n) + `"` }

func attribute(name, value string) string { return " " + name + `="` + line(value) + `"` }

// line is a text that is one line, as XML.
func line(s string) string { return escaped(report.Visible(s)) }

// text is a text of several lines, whose own are kept.
func text(s string) string {
	split := strings.Split(s, "\n")
	for i := range split {
		split[i] = strings.ReplaceAll(line(split[i]), "&#34;", `"`) // outside of attributes it is read better
	}
	return strings.Join(split, "\n")
}

// escaped is a text as XML. Characters that XML has not become U+FFFD.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}
