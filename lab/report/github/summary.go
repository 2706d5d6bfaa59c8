package github

import (
	"io"
	"strconv"
	"strings"

	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/tool"
)

const (
	// MaxSummary is how many bytes a summary has at most: GitHub takes 1 MiB of a
	// step and no more, and the step may have written something before.
	MaxSummary = 1_000_000
	// maxFailures is how many failed runs a summary tells of, and of those that could
	// not run.
	maxFailures = 10
	// maxExplained is how many bytes are shown of why a run failed.
	maxExplained = 20_000

	cut = "\nThe rest is cut off here, as a summary may not be longer.\n"
)

// Summary is the summary of a job that is being written. It is held until it is
// closed, as it is short.
type Summary struct {
	w          io.Writer
	comparison *eval.Comparison
	limit      int // in bytes
	text       strings.Builder
	full       bool
	failed     int
}

// NewSummary starts the summary of a comparison, to which its pairs are added in
// order. It is Markdown for the file that GITHUB_STEP_SUMMARY names.
func NewSummary(w io.Writer, c *eval.Comparison) *Summary {
	s := &Summary{w: w, comparison: c, limit: MaxSummary}
	s.begin()
	return s
}

func (s *Summary) begin() {
	c := s.comparison
	title := report.Code(c.Candidate.Strategy, false)
	if c.Baseline != nil {
		title = report.Code(c.Baseline.Strategy, false) + " against " + title
	}
	s.add("## " + title + "\n\n")
	if c.GatePassed() {
		s.add("**The gate passed.**\n\n")
	} else {
		s.add("**The gate failed:** " + strings.Join(failedChecks(c), ", ") + "\n\n")
	}
	dataset := "Dataset: " + report.Code(c.Dataset.Name, false) + ", " + report.Counted(c.Dataset.Cases, "case")
	if c.Dataset.Todo > 0 {
		dataset += " and " + strconv.Itoa(c.Dataset.Todo) + " still to do"
	}
	s.add(dataset + ".\n\n")
	for _, row := range report.MetricRows(c) {
		s.add(row + "\n")
	}
	if lost := c.CouldNotRun(); lost > 0 {
		s.add("\n### " + report.Counted(lost, "run") + " could not run\n\n")
		listed := c.NotRun[:min(len(c.NotRun), maxFailures)]
		for _, n := range listed {
			s.add("- " + report.Code(n.Strategy, false) + " on " + report.Code(n.CaseID, false) + ": " + report.Inline(tool.Cut(n.Reason, 400)) + "\n")
		}
		if more := lost - len(listed); more > 0 {
			s.add("- and " + strconv.Itoa(more) + " more\n")
		}
	}
}

// add adds a piece, whole or not at all. Nothing comes after one that did not fit.
func (s *Summary) add(piece string) {
	if s.full || s.text.Len()+len(piece)+len(cut) > s.limit {
		s.full = true
		return
	}
	s.text.WriteString(piece)
}

// Add adds the run of a case on the candidate, where it failed.
func (s *Summary) Add(pair *eval.Pair) error {
	run := &pair.Candidate
	if !run.Ran() || run.Passed {
		return nil
	}
	if s.failed++; s.failed > maxFailures {
		return nil
	}
	if s.failed == 1 {
		s.add("\n### What failed on " + report.Code(run.Strategy, false) + "\n")
	}
	why := report.Explain(pair, run)
	if len(why) > maxExplained {
		// Between lines, so that no code is left open.
		why = why[:strings.LastIndexByte(why[:maxExplained], '\n')+1] + "\n…\n"
	}
	s.add("\n#### " + report.Code(run.Case.ID, false) + "\n\n" + report.Code(pair.File+":"+strconv.Itoa(pair.Line), false) + ": " + report.Inline(run.Case.Intent) + "\n\n" + why)
	return nil
}

// Close writes the summary.
func (s *Summary) Close() error {
	if more := s.failed - maxFailures; more > 0 {
		s.add("\nAnd " + report.Counted(more, "more run") + " failed.\n")
	}
	if s.full {
		s.text.WriteString(cut)
	}
	_, err := io.WriteString(s.w, s.text.String())
	return err
}
