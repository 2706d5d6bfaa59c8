package stream

import (
	"strconv"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// AppendPair appends the lines of a case: of its run on the baseline, where there is
// one, and on the candidate.
func AppendPair(dst []byte, pair *eval.Pair) []byte {
	if pair.Baseline != nil {
		dst = appendRun(dst, pair, pair.Baseline, pair.Case.Baseline)
	}
	return appendRun(dst, pair, &pair.Candidate, pair.Case.Candidate)
}

// appendRun appends a line of a run. It is written by hand because it is most of
// what a run over a large dataset does.
//
// What a stage adds is told only of cases that have one, where the lab's own
// controls stand; what was seen of a backend outside, only of such a backend.
func appendRun(dst []byte, pair *eval.Pair, run *eval.Run, proposals []dataset.Proposal) []byte {
	staged := run.Case.Stage != nil && (!run.Observed() || run.Governed())
	dst = appendStart(dst, eventRun)
	dst = append(dst, `,"strategy":`...)
	dst = jsonvalue.AppendString(dst, run.Strategy)
	dst = append(dst, `,"case_id":`...)
	dst = jsonvalue.AppendString(dst, run.Case.ID)
	dst = append(dst, `,"intent":`...)
	dst = jsonvalue.AppendString(dst, run.Case.Intent)
	if pair.Source > 0 {
		dst = append(dst, `,"source":`...)
		dst = strconv.AppendInt(dst, int64(pair.Source), 10)
	}
	dst = append(dst, `,"file":`...)
	dst = jsonvalue.AppendString(dst, pair.File)
	dst = append(dst, `,"line":`...)
	dst = strconv.AppendInt(dst, int64(pair.Line), 10)
	dst = appendOf(dst, run.Case)
	if run.Ran() {
		dst = append(dst, `,"passed":`...)
		dst = strconv.AppendBool(dst, run.Passed)
		dst = append(dst, `,"side_effect_count":`...)
		dst = appendCount(dst, run.SideEffects, run.Blind)
	} else {
		dst = appendNoVerdict(dst, run)
	}
	dst = append(dst, `,"proposals":[`...)
	for i := range proposals {
		dst = appendComma(dst, i)
		dst = appendProposal(dst, &proposals[i])
	}
	dst = append(dst, `],"results":[`...)
	for i := range run.Steps {
		dst = appendComma(dst, i)
		dst = appendStep(dst, &run.Steps[i], staged, run.Blind)
	}
	dst = append(dst, `],"grades":[`...)
	for i := range run.Grades {
		dst = appendComma(dst, i)
		dst = appendGrade(dst, &run.Grades[i], run.Observed())
	}
	dst = append(dst, `],"trace":[`...)
	for i := range run.Steps {
		dst = appendComma(dst, i)
		dst = appendTrace(dst, &run.Steps[i], staged)
	}
	dst = append(dst, ']')
	dst = appendUnshown(dst, run)
	if run.State != nil {
		dst = append(dst, `,"state":`...)
		dst = append(dst, run.State...)
	}
	if run.Receipts != nil {
		dst = append(dst, `,"receipts":`...)
		dst = append(dst, run.Receipts...)
	}
	return append(dst, "}\n"...)
}

// appendNoVerdict says why a run neither passed nor failed. What it changed is
// not known as a whole.
func appendNoVerdict(dst []byte, run *eval.Run) []byte {
	dst = append(dst, `,"passed":null,"side_effect_count":null,`...)
	if run.Unavailable == nil {
		dst = append(dst, `"todo":`...)
		return jsonvalue.AppendString(dst, run.Case.Todo)
	}
	dst = append(dst, `"could_not_run":`...)
	return jsonvalue.AppendString(dst, tool.Cut(run.Unavailable.Reason, MaxValue))
}

func appendComma(dst []byte, index int) []byte {
	if index > 0 {
		dst = append(dst, ',')
	}
	return dst
}

// appendWord appends a string of the lab's own, in which nothing needs an
// escape.
func appendWord(dst []byte, word string) []byte {
	dst = append(dst, '"')
	dst = append(dst, word...)
	return append(dst, '"')
}

// appendCount appends a number of effects, which is null where nobody looked.
func appendCount(dst []byte, effects int, blind bool) []byte {
	if blind {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, int64(effects), 10)
}

func appendStep(dst []byte, step *eval.Step, staged, blind bool) []byte {
	dst = append(dst, `{"ok":`...)
	dst = strconv.AppendBool(dst, step.OK())
	dst = append(dst, `,"output":`...)
	if step.OK() {
		dst = appendValue(dst, step.Output, step.Observed())
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"error":`...)
	dst = appendError(dst, step.Error, step.Observed())
	dst = append(dst, `,"side_effects":`...)
	dst = appendCount(dst, step.SideEffects, blind)
	dst = append(dst, `,"replayed":`...)
	dst = strconv.AppendBool(dst, step.Replayed)
	if step.Malformed {
		dst = append(dst, `,"malformed":true`...)
	}
	if step.Reply != nil {
		dst = appendReply(dst, step.Reply)
	}
	if staged {
		dst = appendStaged(dst, step)
	}
	return append(dst, '}')
}

// appendStaged appends what a step that was staged has beside its result. Times
// are told of a simulated clock alone: the real one differs from run to run.
func appendStaged(dst []byte, step *eval.Step) []byte {
	if step.ReplacedBy != "" {
		dst = append(dst, `,"replaced_by":`...)
		dst = jsonvalue.AppendString(dst, step.ReplacedBy)
	}
	simulated := !step.Observed()
	if simulated {
		dst = append(dst, `,"took_ms":`...)
		dst = strconv.AppendInt(dst, step.Took.Milliseconds(), 10)
	}
	if step.Attempts == nil {
		return dst
	}
	dst = append(dst, `,"attempts":[`...)
	for i := range step.Attempts {
		a := &step.Attempts[i]
		dst = appendComma(dst, i)
		dst = append(dst, `{"ok":`...)
		dst = strconv.AppendBool(dst, a.OK())
		if !a.OK() {
			dst = append(dst, `,"code":`...)
			dst = jsonvalue.AppendString(dst, tool.Cut(string(a.Error.Code), MaxValue))
		}
		if i < len(step.Attempts)-1 { // the last is what the result is of
			dst = appendEarlier(dst, a)
		}
		dst = append(dst, `,"action":`...)
		dst = jsonvalue.AppendString(dst, string(a.Next.Action))
		if simulated {
			dst = append(dst, `,"wait_ms":`...)
			dst = strconv.AppendInt(dst, a.Next.Wait.Milliseconds(), 10)
		}
		dst = append(dst, `,"reason":`...)
		dst = jsonvalue.AppendString(dst, a.Next.Reason)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendError(dst []byte, e *tool.Error, observed bool) []byte {
	if e == nil {
		return append(dst, "null"...)
	}
	if observed {
		e = bounded(e)
	}
	dst = append(dst, `{"code":`...)
	dst = jsonvalue.AppendString(dst, string(e.Code))
	dst = append(dst, `,"category":`...)
	dst = jsonvalue.AppendString(dst, string(e.Category))
	dst = append(dst, `,"message":`...)
	dst = jsonvalue.AppendString(dst, e.Message)
	dst = append(dst, `,"retryable":`...)
	dst = strconv.AppendBool(dst, e.Retryable)
	dst = append(dst, `,"details":`...)
	dst = append(dst, e.Details...)
	if e.NextAction != "" {
		dst = append(dst, `,"next_action":`...)
		dst = jsonvalue.AppendString(dst, e.NextAction)
	}
	if e.Outcome != "" {
		dst = append(dst, `,"outcome":`...)
		dst = jsonvalue.AppendString(dst, string(e.Outcome))
	}
	return append(dst, '}')
}

func appendGrade(dst []byte, g *eval.Grade, observed bool) []byte {
	dst = append(dst, `{"name":`...)
	dst = appendWord(dst, g.Name)
	dst = append(dst, `,"passed":`...)
	dst = strconv.AppendBool(dst, g.Passed)
	dst = append(dst, `,"expected":`...)
	dst = appendValue(dst, g.Expected, observed && g.Name == eval.Repeated) // it came from there too
	dst = append(dst, `,"actual":`...)
	dst = appendValue(dst, g.Actual, observed)
	return append(dst, '}')
}

func appendDecisions(dst []byte, decisions []tool.Decision) []byte {
	dst = append(dst, `"decisions":[`...)
	for i, d := range decisions {
		dst = appendComma(dst, i)
		dst = append(dst, `{"control":`...)
		dst = appendWord(dst, d.Control)
		dst = append(dst, `,"decision":`...)
		dst = appendWord(dst, string(d.Verdict))
		if d.Code != "" {
			dst = append(dst, `,"code":`...)
			dst = jsonvalue.AppendString(dst, tool.Cut(string(d.Code), MaxValue))
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func appendTrace(dst []byte, step *eval.Step, staged bool) []byte {
	t := &step.Trace
	dst = append(dst, '{')
	dst = appendDecisions(dst, t.Decisions)
	dst = append(dst, `,"handler_ran":`...)
	dst = strconv.AppendBool(dst, t.HandlerRan)
	dst = append(dst, `,"fingerprint":`...)
	dst = appendWord(dst, t.Fingerprint)
	if staged && t.Fault != "" {
		dst = append(dst, `,"fault":`...)
		dst = jsonvalue.AppendString(dst, tool.Cut(t.Fault, MaxValue))
	}
	if step.Observed() {
		dst = appendEffects(dst, step.Effects)
	}
	if t.ListChanged {
		dst = append(dst, `,"tools_list_changed":true`...)
	}
	return append(dst, '}')
}
