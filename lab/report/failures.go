package report

import (
	"encoding/json"
	"strconv"
	"strings"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

const (
	failuresHead = "# Failures\n\nA row a failed run, in the order of the dataset; under the table, for each, what was expected, what was proposed, and what came of it.\n\n"

	failuresTable = "| strategy | case | failed graders | side effects | last error |\n" +
		"| --- | --- | --- | ---: | --- |\n"

	noFailures = "No run failed.\n"

	notRunHead = "\n# Could not run\n\n"
)

func appendFailureRow(dst []byte, run *eval.Run) []byte {
	dst = append(dst, "| "...)
	dst = appendCode(dst, run.Strategy, true)
	dst = append(dst, " | "...)
	dst = appendCode(dst, run.Case.ID, true)
	dst = append(dst, " | "...)
	dst = append(dst, strings.Join(FailedGraders(run), ", ")...)
	dst = append(dst, " | "...)
	if run.Blind {
		dst = append(dst, "n/a"...)
	} else {
		dst = strconv.AppendInt(dst, int64(run.SideEffects), 10)
	}
	dst = append(dst, " | "...)
	if !run.Last().OK() {
		dst = appendCode(dst, shownCode(run.Last()), true)
	} else {
		dst = append(dst, "none"...)
	}
	return append(dst, " |\n"...)
}

// maxShown is how many bytes of a proposal, or of an error's details, are shown.
const maxShown = 400

func appendFailureDetail(dst []byte, run *eval.Run, proposals []dataset.Proposal) []byte {
	dst = append(dst, "\n## "...)
	dst = appendCode(dst, run.Strategy, false)
	dst = append(dst, " on "...)
	dst = appendCode(dst, run.Case.ID, false)
	dst = append(dst, "\n\n"...)
	dst = appendInline(dst, run.Case.Intent)
	dst = append(dst, "\n\n"...)
	return appendReasons(dst, run, proposals)
}

// appendReasons says what failed in a run, what was proposed in it and where it
// stopped: a list, and a line under it.
func appendReasons(dst []byte, run *eval.Run, proposals []dataset.Proposal) []byte {
	for i := range run.Grades {
		g := &run.Grades[i]
		if g.Passed {
			continue
		}
		dst = append(dst, "- "...)
		dst = append(dst, g.Name...)
		dst = append(dst, ": expected "...)
		dst = appendGraded(dst, run, g.Expected)
		dst = append(dst, ", actual "...)
		dst = appendGraded(dst, run, g.Actual)
		dst = append(dst, '\n')
	}
	for i := range proposals {
		dst = append(dst, "- proposed: "...)
		if p := &proposals[i]; p.Setting != nil && p.Raw != nil {
			dst = appendShown(dst, []byte(*p.Raw))
		} else {
			dst = appendCode(dst, p.Name, false)
			dst = append(dst, ' ')
			dst = appendShown(dst, p.Arguments)
		}
		dst = append(dst, '\n')
	}
	for i := range run.Unshown {
		dst = appendUnshown(dst, &run.Unshown[i])
	}
	for i := range run.Steps {
		dst = appendChanges(dst, &run.Steps[i])
	}
	dst = append(dst, "\nWhat had to come of it: "...)
	if toldOutside(run) {
		dst = appendDueOutside(dst, &run.Case.Expected)
	} else {
		dst = appendDue(dst, &run.Case.Expected)
	}
	dst = append(dst, ". What came: "...)
	dst = appendEnd(dst, run.Last())
	return append(dst, ".\n"...)
}

// appendUnshown says of an approval why nobody gave it.
func appendUnshown(dst []byte, u *eval.Unshown) []byte {
	dst = append(dst, "- approvals["...)
	dst = strconv.AppendInt(dst, int64(u.Approval), 10)
	dst = append(dst, "] could not be shown: "...)
	dst = appendCode(dst, tool.Cut(string(u.Error.Code), maxCode), false)
	if u.Error.Message != "" {
		dst = append(dst, ": "...)
		dst = appendShown(dst, []byte(u.Error.Message))
	}
	var details struct {
		Violations []tool.Violation `json:"violations"`
	}
	if json.Unmarshal(u.Error.Details, &details) == nil && len(details.Violations) > 0 {
		first := details.Violations[0]
		dst = append(dst, ' ')
		dst = appendShown(dst, []byte(strings.TrimPrefix(first.Pointer+": "+first.Message, ": ")))
	}
	return append(dst, '\n')
}

// maxChanges is how many changes of one call are shown.
const maxChanges = 10

// appendChanges appends what was seen to change after one call.
func appendChanges(dst []byte, step *eval.Step) []byte {
	effects := step.Effects
	if len(effects) == 0 {
		return dst
	}
	dst = append(dst, "- seen after a call: "...)
	for i, e := range effects[:min(len(effects), maxChanges)] {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendCode(dst, tool.Cut(e.Resource, maxShown), false)
		dst = append(dst, ' ')
		dst = appendInline(dst, e.Change)
	}
	// Of very many the stream holds the first.
	if more := max(len(effects), step.SideEffects) - maxChanges; more > 0 {
		dst = append(dst, ", and "...)
		dst = strconv.AppendInt(dst, int64(more), 10)
		dst = append(dst, " more"...)
	}
	return append(dst, '\n')
}

// appendGraded appends a value of a grade: what the lab's own backend gave as it
// is, and of another, which may be of any size, how it starts.
func appendGraded(dst []byte, run *eval.Run, value []byte) []byte {
	if run.Observed() {
		return appendShown(dst, value)
	}
	return appendCode(dst, string(value), false)
}

func appendShown(dst []byte, document []byte) []byte {
	if len(document) <= maxShown {
		return appendCode(dst, string(document), false)
	}
	dst = appendCode(dst, strings.ToValidUTF8(string(document[:maxShown]), ""), false)
	return append(dst, " …"...)
}

// shownCode is the code of a failure, which a server outside may make of any
// length.
func shownCode(s *eval.Step) string {
	if s.Observed() {
		return tool.Cut(string(s.Error.Code), maxCode)
	}
	return string(s.Error.Code)
}

// maxCode is how many bytes of a server's own code are shown.
const maxCode = 60

// appendDue says which control answers a case as its expectation has it.
func appendDue(dst []byte, e *dataset.Expectation) []byte {
	switch {
	case !replayed(e):
	case e.ErrorCode != nil:
		return appendCode(append(dst, "the idempotency control answers the repeat from its receipt, with "...), *e.ErrorCode, false)
	case e.OK != nil && *e.OK:
		return append(dst, "the idempotency control answers the repeat from its receipt"...)
	}
	if e.ErrorCode != nil {
		row, known := tool.Lookup(tool.Code(*e.ErrorCode))
		switch {
		case !known:
			dst = append(dst, "a refusal with a code that no control of the lab has, "...)
		case row.Control == "":
			dst = append(dst, "a refusal with "...)
		default:
			dst = append(dst, "the "...)
			dst = append(dst, row.Control...)
			dst = append(dst, " control refuses with "...)
		}
		return appendCode(dst, *e.ErrorCode, false)
	}
	switch {
	case e.OK == nil:
		return append(dst, "the input control lets it pass"...)
	case !*e.OK:
		return append(dst, "some control refuses; the case names no code"...)
	default:
		return append(dst, "every control lets it pass"...)
	}
}

// replayed reports whether the last call of a case is to be answered from its
// receipt. Where the case says nothing of that call, it is what it says of any.
func replayed(e *dataset.Expectation) bool {
	if n := len(e.Steps); n > 0 && e.Steps[n-1] != nil && e.Steps[n-1].Replayed != nil {
		return *e.Steps[n-1].Replayed
	}
	return e.Replayed != nil && *e.Replayed
}

// toldOutside reports whether nothing is known of the control that had to answer.
func toldOutside(run *eval.Run) bool {
	return run.Observed() && !(run.Governed() && dueToControl(&run.Case.Expected))
}

// dueToControl reports whether it is known which of the lab's controls answers a
// case. A contract before a server has codes of its own, and a failure without one
// may be the server's.
func dueToControl(e *dataset.Expectation) bool {
	if e.ErrorCode == nil {
		return e.OK == nil || *e.OK
	}
	row, _ := tool.Lookup(tool.Code(*e.ErrorCode))
	return row.Control != ""
}

// appendDueOutside says what a server outside has to answer. The lab knows
// nothing of its controls.
func appendDueOutside(dst []byte, e *dataset.Expectation) []byte {
	switch {
	case e.ErrorCode != nil:
		return appendCode(append(dst, "a failure with "...), *e.ErrorCode, false)
	case e.OK == nil:
		return append(dst, "an answer to the arguments"...)
	case !*e.OK:
		return append(dst, "a failure"...)
	}
	return append(dst, "a success"...)
}

// appendEnd says how the last call of a run ended.
func appendEnd(dst []byte, last *eval.Step) []byte {
	if last.OK() {
		if last.Replayed {
			return append(dst, "a success, from a receipt"...)
		}
		dst = append(dst, "a success"...)
		if last.Observed() {
			// What a server calls a success may not be one.
			dst = append(dst, " with "...)
			dst = appendShown(dst, last.Output)
		}
		return dst
	}
	if control := last.Trace.RefusedBy(); control != "" {
		dst = append(dst, "the "...)
		dst = append(dst, control...)
		dst = append(dst, " control refused with "...)
	} else {
		dst = append(dst, "a failure with "...)
	}
	dst = appendCode(dst, shownCode(last), false)
	if last.Observed() && last.Error.Message != "" {
		// A server's own word is often all that there is.
		dst = append(dst, ", "...)
		dst = appendShown(dst, []byte(last.Error.Message))
	}
	if len(last.Error.Details) > len("{}") {
		dst = append(dst, ", "...)
		dst = appendShown(dst, last.Error.Details)
	}
	return dst
}
