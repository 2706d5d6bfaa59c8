// Package terminal explains runs to a person at a terminal: what was proposed, what
// each control decided, what changed, and where a grader expected something else.
//
// Start with [Explain]; [Line] is a run on one line.
//
// One invariant: no line but a word that cannot be broken is wider than the width
// that was asked for, as a terminal counts columns, and nothing of a tool or a
// dataset reaches the terminal but as text that shows itself.
//
// The package asks no terminal how wide it is and whether it has colours: who writes
// to one knows. It judges nothing.
package terminal

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/stream"
	"agentlab/lab/tool"
)

// Style is how text is laid out.
type Style struct {
	Width  int // in columns; 0 wraps nothing
	Colour bool
}

// Explain writes what came of one run of a pair, and why.
func Explain(w io.Writer, pair *eval.Pair, run *eval.Run, style Style) error {
	p := &page{out: bufio.NewWriter(w), style: style, ink: inks(style.Colour)}
	// What the stream alone would show, so that a run reads the same later.
	run = stream.Bounded(run)
	p.head(pair, run)
	p.steps(run, proposalsOf(pair, run))
	p.grades(run)
	return p.out.Flush()
}

// Line is a run on one line, without its end: the verdict, the case, the surface and
// what each control said of the last call.
func Line(run *eval.Run, style Style) string {
	ink := inks(style.Colour)
	words := []string{ink.verdict(run), report.Visible(run.Case.ID), "on", report.Visible(run.Strategy)}
	if run.Unavailable != nil {
		words[3] += ":"
		return strings.Join(append(words, report.Visible(tool.Cut(run.Unavailable.Reason, maxLine))), " ")
	}
	if len(run.Steps) > 0 {
		for _, d := range run.Last().Trace.Decisions {
			words = append(words, ink.decision(d))
		}
	}
	return strings.Join(words, " ")
}

// maxLine is how many bytes of a text of any length stand on a line.
const maxLine = 400

func proposalsOf(pair *eval.Pair, run *eval.Run) []dataset.Proposal {
	if pair.Baseline != nil && run.Strategy == pair.Baseline.Strategy {
		return pair.Case.Baseline
	}
	return pair.Case.Candidate
}

func (p *page) head(pair *eval.Pair, run *eval.Run) {
	p.flow("", " ", piece{report.Visible(run.Case.ID), p.ink.bold}, word("on"), word(report.Visible(run.Strategy)+":"), piece{verdict(run), p.ink.ofVerdict(run)})
	p.text("  ", nil, run.Case.Intent)
	if pair.File != "" {
		p.text("  ", p.ink.faint, fmt.Sprintf("%s:%d", pair.File, pair.Line))
	}
	if len(run.Case.Tags) > 0 {
		p.text("  ", p.ink.faint, "tags: "+strings.Join(run.Case.Tags, ", "))
	}
	if run.Case.Clause != "" {
		p.text("  ", p.ink.faint, "tests: "+run.Case.Clause)
	}
	switch {
	case run.Unavailable != nil:
		p.text("  ", p.ink.doubt, "could not run: "+run.Unavailable.Reason)
		p.text("  ", p.ink.faint, "This is neither a pass nor a failure; what ended before stands below.")
	case run.Case.Todo != "":
		p.text("  ", p.ink.doubt, "to do: "+run.Case.Todo)
		p.text("  ", p.ink.faint, "It was not replayed; a person has to decide this first.")
	}
}

// verdict is what came of a run, in words.
func verdict(run *eval.Run) string {
	switch {
	case run.Unavailable != nil:
		return "could not run"
	case run.Case.Todo != "":
		return "to do"
	case run.Passed:
		return "pass"
	}
	return "FAIL"
}

func (p *page) steps(run *eval.Run, proposals []dataset.Proposal) {
	for i := range proposals {
		p.blank()
		p.proposal(i, &proposals[i])
		if i < len(run.Steps) {
			p.step(run, &run.Steps[i])
		} else if run.Ran() || run.Unavailable != nil {
			p.text("   ", p.ink.faint, "was not called")
		}
	}
	for _, u := range run.Unshown {
		p.blank()
		p.text("", p.ink.bad, fmt.Sprintf("approvals[%d] could not be shown: %s: %s", u.Approval, u.Error.Code, u.Error.Message))
	}
}

func (p *page) proposal(index int, proposal *dataset.Proposal) {
	name, given := proposal.Name, string(proposal.Arguments)
	if proposal.Setting != nil && proposal.Raw != nil {
		name, given = "a model's output", *proposal.Raw
	}
	p.flow(fmt.Sprintf("%d. ", index+1), " ", piece{report.Visible(tool.Cut(name, maxLine)), p.ink.bold})
	p.document("   ", nil, given)
	if proposal.Setting == nil {
		return
	}
	if at := proposal.At; at != nil {
		p.text("   ", p.ink.faint, "at "+at.String())
	}
	if proposal.Caller != nil {
		p.text("   ", p.ink.faint, "by another caller: "+proposal.Caller.ID)
	}
	if proposal.Fault != (tool.Fault{}) {
		p.text("   ", p.ink.faint, "with a fault that the case arranges")
	}
}

func (p *page) step(run *eval.Run, step *eval.Step) {
	if n := len(step.Trace.Decisions); n > 0 {
		row := make([]piece, n)
		for i, d := range step.Trace.Decisions {
			row[i] = p.ink.decided(d)
		}
		p.flow("   ", "  ", row...)
	}
	for i, a := range step.Attempts {
		came := "succeeded"
		if !a.OK() {
			came = "failed with " + string(a.Error.Code)
		}
		p.text("   ", p.ink.faint, fmt.Sprintf("attempt %d %s, then %s: %s", i+1, came, a.Next.Action, a.Next.Reason))
	}
	p.text("   ", nil, handler(step))
	p.effects(run, step)
	p.result(step)
}

// handler says whether the work was done at all.
func handler(step *eval.Step) string {
	switch {
	case step.Malformed:
		return "no call was made: the output is no proposal"
	case step.Replayed:
		return "answered from the receipt of an earlier call; the handler did not run"
	case step.Trace.HandlerRan && step.Trace.Fault != "":
		return "the handler ran, and broke: " + tool.Cut(step.Trace.Fault, maxLine)
	case step.Trace.HandlerRan:
		return "the handler ran"
	case step.Observed() && len(step.Trace.Decisions) == 0:
		return "the server was called; its own controls are not seen"
	case len(step.Trace.Decisions) == 0:
		return "the surface has no controls"
	}
	return "the handler did not run"
}

// maxEffects is how many changes of one call are shown.
const maxEffects = 20

func (p *page) effects(run *eval.Run, step *eval.Step) {
	if run.Blind {
		p.text("   ", p.ink.faint, "nobody looked for effects")
		return
	}
	if step.SideEffects == 0 && len(step.Effects) == 0 {
		p.text("   ", nil, "no effect")
		return
	}
	p.text("   ", nil, report.Counted(step.SideEffects, "effect"))
	for _, e := range step.Effects[:min(len(step.Effects), maxEffects)] {
		p.text("     ", nil, e.Change+" "+e.Resource)
	}
	if more := len(step.Effects) - maxEffects; more > 0 {
		p.text("     ", p.ink.faint, fmt.Sprintf("and %d more", more))
	}
}

func (p *page) result(step *eval.Step) {
	if step.OK() {
		p.text("   ", p.ink.good, "answered")
		p.document("     ", nil, string(step.Output))
		if step.ReplacedBy != "" {
			p.text("     ", p.ink.doubt, "the tool is deprecated; its successor is "+step.ReplacedBy)
		}
		return
	}
	e := step.Error
	p.text("   ", p.ink.bad, strings.TrimSuffix(fmt.Sprintf("error %s (%s): %s", e.Code, e.Category, tool.Cut(e.Message, maxText)), ": "))
	if len(e.Details) > len("{}") {
		p.document("     ", nil, string(e.Details))
	}
	var after []string
	if e.NextAction != "" {
		after = append(after, "next: "+e.NextAction)
	}
	if e.Retryable {
		after = append(after, "a retry can help")
	}
	if e.Outcome != "" {
		after = append(after, "outcome: "+string(e.Outcome))
	}
	if after != nil {
		p.text("     ", p.ink.faint, strings.Join(after, "; "))
	}
}

func (p *page) grades(run *eval.Run) {
	if len(run.Grades) == 0 {
		return
	}
	p.blank()
	var passed []piece
	for i := range run.Grades {
		if run.Grades[i].Passed {
			passed = append(passed, piece{"✓ " + report.Visible(run.Grades[i].Name), p.ink.good})
		}
	}
	if len(passed) > 0 {
		p.flow("", "  ", passed...)
	}
	for i := range run.Grades {
		g := &run.Grades[i]
		if g.Passed {
			continue
		}
		p.flow("", "  ", piece{"✗ " + report.Visible(g.Name), p.ink.bad}, piece{"- expected", p.ink.bad}, piece{"+ actual", p.ink.good})
		p.diff("  ", g.Expected, g.Actual)
	}
}
