// Package eval replays cases on one surface or two, grades what came of them,
// compares the surfaces and judges the gate.
//
// Start with [Replay]. [Play] is one case on one surface, [Grades] its
// comparison with what was expected.
//
// One invariant: the same cases give the same runs in the same order, with any
// number of workers. No clock and no map order reaches a run.
//
// A case that asks for no more than calls in order is played so on any surface.
// One that stages something (times, faults, approvals, a budget, recovery) is
// played on the simulated clock of a [tool.Staged] session; a surface of any
// other kind is given its calls in order and knows nothing of the rest.
//
// A surface over a server outside ([tool.Foreign], with sessions that are
// [tool.Observed]) can be lost at any time. What it was to be used for could not
// run: it is counted, fails the gate, and is no grade. What a case stages is left
// out there, but for proposals that start together: those really do. Where the
// lab's own controls stand before the server ([tool.Supervised] too), the budget,
// the approvals and the recovery hold as well, on the real clock: nothing waits for
// the time of a proposal, and nothing is made to go wrong.
//
// The package writes nothing and knows no report; it claims nothing about a
// model, because none is called.
package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

// Version is the version of the lab, part of every report.
const Version = "0.6.0"

// Step is what one proposal of a run came to: the result of its last attempt.
type Step struct {
	tool.Result
	SideEffects int // changes of the backend from before the call to after it
	// Effects are those changes, where the backend is looked at and not the lab's
	// own; else nil.
	Effects []tool.Effect
	// Attempts are the calls that the proposal led to, where the case asks for
	// recovery; a proposal that could not be read led to none.
	Attempts []Attempt
	// Malformed says that no call was made: the model's output is no proposal.
	Malformed bool
}

// Attempt is one call of a proposal, and what was done after it.
type Attempt struct {
	tool.Result
	Next tool.NextStep
}

// Unshown is an approval of a call that could not be shown to its approver.
type Unshown struct {
	Approval int         // its index in the case
	Error    *tool.Error // why
}

// unshown sorts them by their place in the case.
func unshown(list []Unshown) []Unshown {
	slices.SortFunc(list, func(a, b Unshown) int { return cmp.Compare(a.Approval, b.Approval) })
	return list
}

// Run is one case on one surface.
type Run struct {
	Strategy    string // the name of the surface
	Case        *dataset.Case
	Passed      bool
	SideEffects int    // of all steps
	Blind       bool   // nobody looked for them, and none is graded
	Steps       []Step // one a proposal, in order
	Grades      []Grade
	// Unshown are the approvals of the case that nobody gave, in their order.
	Unshown []Unshown
	// Unavailable is why the run came to no end, and so has no grades; its steps
	// are those that ended before. It is nil of a run that did, and of a todo.
	Unavailable *tool.Unavailable
	// State and Receipts are the backend's at the end, of a staged run; else
	// nil.
	State    json.RawMessage
	Receipts json.RawMessage
}

// Ran reports whether the run has grades, and so passed or failed. One of a todo
// case has none, and one that could not run.
func (r *Run) Ran() bool { return r.Unavailable == nil && r.Case.Todo == "" }

// Observed reports whether the backend was looked at, and is not the lab's own.
func (r *Run) Observed() bool { return len(r.Steps) > 0 && r.Steps[0].Observed() }

// Governed reports whether the lab's own controls stood before a backend that is
// not its own, as the traces show.
func (r *Run) Governed() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.governed() })
}

// Last returns the step that the graders judge.
func (r *Run) Last() *Step { return &r.Steps[len(r.Steps)-1] }

// ActorID is who calls in every case. A case names what its actor may do, not
// who it is.
const ActorID = "case-actor"

// Play replays proposals on a fresh session of a surface and grades what came
// of them. An error means that nothing more can run; it is never a grade. Where
// only this run could not, because the error is a [tool.Unavailable], the run
// says so. A todo case is not played.
func Play(ctx context.Context, surface tool.Surface, c *dataset.Case, proposals []dataset.Proposal) (Run, error) {
	return play(ctx, surface, c, proposals, ask(&c.Expected))
}

func play(ctx context.Context, surface tool.Surface, c *dataset.Case, proposals []dataset.Proposal, asked questions) (Run, error) {
	if err := ctx.Err(); err != nil {
		return Run{}, err
	}
	if len(proposals) == 0 {
		return Run{}, fmt.Errorf("case %s: %s: there is no proposal", c.ID, surface.Name())
	}
	run := Run{Strategy: surface.Name(), Case: c}
	if c.Todo != "" {
		return run, nil
	}
	if err := run.call(ctx, surface, proposals); err != nil {
		if ctx.Err() != nil {
			return Run{}, ctx.Err()
		}
		if errors.As(err, &run.Unavailable) {
			return run, nil
		}
		return Run{}, fmt.Errorf("case %s: %s: %w", c.ID, run.Strategy, err)
	}
	if foreign, ok := surface.(tool.Foreign); ok {
		run.Blind = foreign.Blind()
	}
	run.Grades = grade(asked, &run)
	run.Passed = true
	for _, g := range run.Grades {
		run.Passed = run.Passed && g.Passed
	}
	return run, nil
}

// call makes the calls of a run on a session of their own.
func (r *Run) call(ctx context.Context, surface tool.Surface, proposals []dataset.Proposal) error {
	session, err := surface.Open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if observed, ok := session.(tool.Observed); ok {
		return callObserved(ctx, observed, r, proposals)
	}
	r.Steps = make([]Step, len(proposals))
	if staged, ok := session.(tool.Staged); ok && r.Case.Stage != nil {
		return stage(ctx, staged, r, proposals)
	}
	return callInOrder(ctx, session, r, proposals)
}

// settle holds a surface to its word: a result is an error, whose details are
// a JSON object, or else an output, which is one JSON document.
func settle(result *tool.Result) {
	if result.Error != nil {
		result.Output = nil
		told := *result.Error
		if details, ok := compact(told.Details); ok && details[0] == '{' {
			told.Details = details
		} else {
			told.Details = json.RawMessage("{}")
		}
		result.Error = &told
		return
	}
	output, ok := compact(result.Output)
	if !ok {
		result.Error = tool.Refusal(tool.InvalidToolOutput, nil, "The surface answered with something other than one JSON document.")
		result.Error.Outcome = tool.Unknown
	}
	result.Output = output
}

// compact returns a JSON document in the form that reports need, and whether
// it is one that has a single reading. The result is a copy: what a surface
// answers with may be its own.
func compact(document json.RawMessage) (json.RawMessage, bool) {
	out, err := jsontext.AppendFormat(make([]byte, 0, len(document)), document, jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, false
	}
	return out, true
}
