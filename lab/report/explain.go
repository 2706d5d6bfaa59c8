package report

import (
	"agentlab/lab/eval"
	"agentlab/lab/stream"
	"agentlab/lab/tool"
)

// FailedGraders are the names of the graders that a run failed, in their order.
func FailedGraders(run *eval.Run) []string {
	var failed []string
	for i := range run.Grades {
		if !run.Grades[i].Passed {
			failed = append(failed, run.Grades[i].Name)
		}
	}
	return failed
}

// Explain says why a run of a pair failed: the graders, what was proposed, what was
// seen to change, and where the run stopped and should have. It is lines of plain
// text, which shows values as Markdown shows code; what is not shown of it by itself
// is made visible.
func Explain(pair *eval.Pair, run *eval.Run) string {
	proposals := pair.Case.Candidate
	if run == pair.Baseline {
		proposals = pair.Case.Baseline
	}
	return string(appendReasons(nil, stream.Bounded(run), proposals))
}

// DueControl is the control of the lab's that had to end a run, or "" where none
// had to or it is not known which.
func DueControl(run *eval.Run) string {
	e := &run.Case.Expected
	switch {
	case toldOutside(run):
		return ""
	case replayed(e):
		return "idempotency"
	case e.ErrorCode == nil:
		return ""
	}
	row, _ := tool.Lookup(tool.Code(*e.ErrorCode))
	return row.Control
}

// Code is text as a code span of Markdown, in which nothing of it is markup. In the
// cell of a table a pipe is escaped as well.
func Code(s string, inCell bool) string { return string(appendCode(nil, s, inCell)) }

// Inline is text as a line of Markdown, in which nothing of it is markup.
func Inline(s string) string { return string(appendInline(nil, s)) }
