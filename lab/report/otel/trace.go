package otel

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
	"time"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/report"
	"agentlab/lab/tool"
)

// trace is that of one run.
type trace struct {
	report *Report
	pair   *eval.Pair
	of     *eval.Run
	role   string
	id     string
	root   string
	now    time.Duration // since the start of the run
}

func newTrace(r *Report, pair *eval.Pair, run *eval.Run) *trace {
	t := &trace{report: r, pair: pair, of: run, role: "candidate"}
	if run == pair.Baseline {
		t.role = "baseline"
	}
	digest := t.digest("trace")
	t.id, t.root = digest[:32], t.digest("run")[:16]
	return t
}

// digest tells apart the places in the runs of all datasets.
func (t *trace) digest(what string, place ...int) string {
	hash := sha256.New()
	for _, part := range []string{t.report.dataset, t.role, t.of.Strategy, t.of.Case.ID, what} {
		io.WriteString(hash, strconv.Itoa(len(part))+":"+part)
	}
	for _, n := range place {
		io.WriteString(hash, strconv.Itoa(n)+";")
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// run writes the spans of the run, a parent before its children.
func (t *trace) run() {
	run := t.of
	s := t.start(t.root, "", "lab.run", t.length())
	s.text("lab.surface", run.Strategy)
	s.text("lab.role", t.role)
	s.text("lab.case.id", run.Case.ID)
	if t.pair.File != "" {
		s.text("lab.case.file", t.pair.File)
		s.number("lab.case.line", t.pair.Line)
	}
	if len(run.Case.Tags) > 0 {
		s.texts("lab.case.tags", run.Case.Tags)
	}
	if run.Case.Clause != "" {
		s.text("lab.case.clause", run.Case.Clause)
	}
	fault := ""
	switch {
	case run.Unavailable != nil:
		fault = "could_not_run"
	case !run.Passed:
		fault = "failed"
		s.texts("lab.run.failed_graders", report.FailedGraders(run))
	}
	if run.Unavailable == nil {
		s.truth("lab.run.passed", run.Passed)
		if !run.Blind {
			s.number("lab.run.side_effects", run.SideEffects)
		}
	}
	t.end(s, fault)
	proposals := run.Case.Candidate
	if run == t.pair.Baseline {
		proposals = run.Case.Baseline
	}
	for i := range run.Steps {
		p := &dataset.Proposal{}
		if i < len(proposals) {
			p = &proposals[i]
		}
		t.step(i, &run.Steps[i], p)
	}
}

// attempts are the calls of a step.
func attempts(step *eval.Step) []eval.Attempt {
	if step.Malformed || len(step.Attempts) > 0 {
		return step.Attempts
	}
	return []eval.Attempt{{Result: step.Result}}
}

// length is how long the run takes.
func (t *trace) length() (all time.Duration) {
	for i := range t.of.Steps {
		for _, a := range attempts(&t.of.Steps[i]) {
			all += max(a.Took, 0) + max(a.Next.Wait, 0)
		}
	}
	return all
}

func (t *trace) step(i int, step *eval.Step, p *dataset.Proposal) {
	if step.Malformed {
		s := t.start(t.digest("proposal", i)[:16], t.root, "lab.proposal", 0)
		s.number("lab.step", i+1)
		t.end(s, codeOf(&step.Result))
		return
	}
	call, _ := eval.ReadProposal(p)
	all := attempts(step)
	for j := range all {
		a := &all[j]
		id := t.digest("call", i, j)[:16]
		s := t.start(id, t.root, "execute_tool "+shown(call.Name), max(a.Took, 0))
		s.text("gen_ai.operation.name", "execute_tool")
		s.text("gen_ai.tool.name", call.Name)
		s.text("gen_ai.tool.type", "function")
		s.text("gen_ai.tool.call.id", "call_"+t.digest("proposal", i)[:24])
		if t.report.options.Arguments {
			s.whole("gen_ai.tool.call.arguments", arguments(call.Arguments, t.report.options.Secret))
			if a.Trace.Fingerprint != "" {
				s.text("lab.arguments.digest", a.Trace.Fingerprint)
			}
		}
		s.number("lab.step", i+1)
		s.number("lab.attempt", j+1)
		if p.Setting != nil && p.Caller != nil {
			s.text("lab.caller", p.Caller.ID)
		}
		t.result(s, step, a, j == len(all)-1)
		t.end(s, codeOf(&a.Result))
		for k := range a.Trace.Decisions {
			t.control(id, i, j, k, &a.Trace.Decisions[k])
		}
		t.now += max(a.Took, 0) + max(a.Next.Wait, 0)
	}
}

// result tells what a call came to; of the last one what its step did.
func (t *trace) result(s *span, step *eval.Step, a *eval.Attempt, last bool) {
	if e := a.Error; e != nil {
		s.text("lab.error.category", string(e.Category))
		s.truth("lab.error.retryable", e.Retryable)
		if e.Outcome != "" {
			s.text("lab.error.outcome", string(e.Outcome))
		}
	} else {
		s.number("lab.output.bytes", len(a.Output))
	}
	s.truth("lab.replayed", a.Replayed)
	if by := a.Trace.RefusedBy(); by != "" {
		s.text("lab.refused_by", by)
	}
	if last {
		s.truth("lab.handler_ran", a.Trace.HandlerRan)
		if !t.of.Blind {
			s.number("lab.side_effects", step.SideEffects)
		}
	}
	if a.Next.Action != "" {
		s.text("lab.next.action", string(a.Next.Action))
	}
}

func (t *trace) control(parent string, i, j, k int, d *tool.Decision) {
	s := t.start(t.digest("control", i, j, k)[:16], parent, "lab.control "+shown(d.Control), 0)
	s.text("lab.control.name", d.Control)
	s.text("lab.control.decision", string(d.Verdict))
	if d.Code != "" {
		s.text("lab.control.code", string(d.Code))
	}
	t.end(s, "")
}

// codeOf is the code of an error, or the empty text.
func codeOf(result *tool.Result) string {
	switch {
	case result.Error == nil:
		return ""
	case result.Error.Code == "":
		return "_OTHER" // as the conventions call what has no name
	}
	return string(result.Error.Code)
}
