package eval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

// Repeated is the grade of a run whose repetitions did not all come to the same.
// Runs that did have no such grade.
const Repeated = "repeat"

// PlayRepeated is [Play], so many times, each on a session of its own. The run is
// the first one. Where a later one comes to anything else it fails by the grade
// [Repeated], which tells what was expected, as it came the first time, and what
// came in its place; where it passed and a later one could not run, it could not
// either.
//
// On a surface of the lab's own everything has to be the same. Of a server outside
// outputs, errors, decisions and effects have to, and neither times nor the size of
// an answer; where its proposals start together, any of them may have come to what
// another came to, and to any of the effects.
func PlayRepeated(ctx context.Context, surface tool.Surface, c *dataset.Case, proposals []dataset.Proposal, times int) (Run, error) {
	return playRepeated(ctx, surface, c, proposals, ask(&c.Expected), times)
}

func playRepeated(ctx context.Context, surface tool.Surface, c *dataset.Case, proposals []dataset.Proposal, asked questions, times int) (Run, error) {
	run, err := play(ctx, surface, c, proposals, asked)
	if times < 2 || err != nil || !run.Ran() {
		return run, err
	}
	for n := 2; n <= times; n++ {
		again, err := play(ctx, surface, c, proposals, asked)
		if err != nil {
			return Run{}, err
		}
		if again.Unavailable != nil {
			if run.Passed {
				run.lost(n, times, again.Unavailable)
			}
			return run, nil
		}
		if identical(&run, &again) {
			continue
		}
		first, err := came(&run)
		if err != nil {
			return Run{}, err
		}
		later, err := came(&again)
		if err != nil {
			return Run{}, err
		}
		if expected, actual, same := first.against(later, n); !same {
			run.Grades = append(run.Grades, Grade{Name: Repeated, Expected: expected, Actual: actual})
			run.Passed = false
			return run, nil
		}
	}
	return run, nil
}

// identical reports whether two runs are the same in every respect, which spares most
// of them a closer look.
func identical(a, b *Run) bool {
	return reflect.DeepEqual(a.Steps, b.Steps) && reflect.DeepEqual(a.Unshown, b.Unshown) && bytes.Equal(a.State, b.State) && bytes.Equal(a.Receipts, b.Receipts)
}

// lost says that a run could not run, as its n-th repetition could not.
func (r *Run) lost(n, times int, why *tool.Unavailable) {
	told := *why
	told.Reason = fmt.Sprintf("at time %d of %d: %s", n, times, why.Reason)
	r.Unavailable = &told
	r.Passed, r.Grades, r.State, r.Receipts = false, nil, nil, nil
}

// outcome is what a run came to, part by part, each as JSON.
type outcome struct {
	steps []json.RawMessage
	// Where proposals start together outside, steps are in no order, and the effects
	// are of all of them.
	unordered bool
	effects   json.RawMessage
	rest      json.RawMessage // what is of no single step, or nil
}

// cameStep is what a step came to. The members are called as in the stream of runs.
type cameStep struct {
	Step        int             `json:"step,omitzero"` // counted from 1
	OK          bool            `json:"ok"`
	Output      jsontext.Value  `json:"output,omitzero"`
	Error       *cameError      `json:"error,omitempty"`
	SideEffects *int            `json:"side_effects,omitempty"`
	Replayed    bool            `json:"replayed"`
	Malformed   bool            `json:"malformed,omitzero"`
	ReplacedBy  string          `json:"replaced_by,omitzero"`
	TookMS      *int64          `json:"took_ms,omitempty"`
	Attempts    []cameAttempt   `json:"attempts,omitempty"`
	Decisions   []tool.Decision `json:"decisions,omitempty"`
	HandlerRan  bool            `json:"handler_ran"`
	Fingerprint string          `json:"fingerprint,omitzero"`
	Fault       string          `json:"fault,omitzero"`
	Effects     []tool.Effect   `json:"effects,omitempty"`
}

type cameError struct {
	Code       tool.Code      `json:"code"`
	Category   tool.Category  `json:"category"`
	Message    string         `json:"message"`
	Retryable  bool           `json:"retryable"`
	Details    jsontext.Value `json:"details,omitzero"`
	NextAction string         `json:"next_action,omitzero"`
	Outcome    tool.Outcome   `json:"outcome,omitzero"`
}

type cameAttempt struct {
	OK        bool            `json:"ok"`
	Code      tool.Code       `json:"code,omitzero"`
	Replayed  bool            `json:"replayed,omitzero"`
	Decisions []tool.Decision `json:"decisions,omitempty"`
	Action    tool.Action     `json:"action"`
	WaitMS    *int64          `json:"wait_ms,omitempty"`
	Reason    string          `json:"reason"`
}

// cameRest is what is of no single step.
type cameRest struct {
	Unshown  []cameUnshown  `json:"unshown,omitempty"`
	State    jsontext.Value `json:"state,omitzero"`
	Receipts jsontext.Value `json:"receipts,omitzero"`
}

type cameUnshown struct {
	Approval int        `json:"approval"`
	Error    *cameError `json:"error"`
}

// came tells what a run came to.
func came(run *Run) (*outcome, error) {
	o := &outcome{unordered: run.Observed() && run.Case.Stage != nil && run.Case.Stage.Parallel}
	var effects []tool.Effect
	for i := range run.Steps {
		step := toldOf(&run.Steps[i])
		if o.unordered {
			effects = append(effects, step.Effects...)
			step.Effects, step.SideEffects = nil, nil
		} else {
			step.Step = i + 1
		}
		encoded, err := encode(step)
		if err != nil {
			return nil, fmt.Errorf("case %s: %s: %w", run.Case.ID, run.Strategy, err)
		}
		o.steps = append(o.steps, encoded)
	}
	rest := cameRest{State: jsontext.Value(run.State), Receipts: jsontext.Value(run.Receipts)}
	for _, u := range run.Unshown {
		rest.Unshown = append(rest.Unshown, cameUnshown{u.Approval, errorOf(u.Error)})
	}
	var err error
	if o.rest, err = encode(rest); err != nil {
		return nil, fmt.Errorf("case %s: %s: %w", run.Case.ID, run.Strategy, err)
	}
	if o.unordered {
		slices.SortFunc(o.steps, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
		if o.effects, err = encode(sorted(effects)); err != nil {
			return nil, fmt.Errorf("case %s: %s: %w", run.Case.ID, run.Strategy, err)
		}
	}
	return o, nil
}

// toldOf is what a step came to: of a server outside without what may differ, which
// is how long it took, and how large the answer was.
func toldOf(s *Step) cameStep {
	told := cameStep{
		OK: s.OK(), Output: jsontext.Value(s.Output), Error: errorOf(s.Error), SideEffects: &s.SideEffects, Replayed: s.Replayed,
		Malformed: s.Malformed, ReplacedBy: s.ReplacedBy,
		Decisions: s.Trace.Decisions, HandlerRan: s.Trace.HandlerRan, Fault: s.Trace.Fault, Effects: sorted(s.Effects),
	}
	simulated := !s.Observed()
	if simulated {
		took := s.Took.Milliseconds()
		told.TookMS, told.Fingerprint = &took, s.Trace.Fingerprint
	}
	for i := range s.Attempts {
		a := &s.Attempts[i]
		attempt := cameAttempt{OK: a.OK(), Replayed: a.Replayed, Decisions: a.Trace.Decisions, Action: a.Next.Action, Reason: a.Next.Reason}
		if !a.OK() {
			attempt.Code = a.Error.Code
		}
		if simulated {
			wait := a.Next.Wait.Milliseconds()
			attempt.WaitMS = &wait
		}
		told.Attempts = append(told.Attempts, attempt)
	}
	return told
}

func errorOf(e *tool.Error) *cameError {
	if e == nil {
		return nil
	}
	return &cameError{e.Code, e.Category, e.Message, e.Retryable, jsontext.Value(e.Details), e.NextAction, e.Outcome}
}

// sorted are effects in one order: which of two was seen first says nothing.
func sorted(effects []tool.Effect) []tool.Effect {
	effects = slices.Clone(effects)
	slices.SortFunc(effects, func(a, b tool.Effect) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Change, b.Change), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
	})
	return effects
}

func encode(value any) (json.RawMessage, error) {
	return jsonv2.Marshal(value, jsontext.PreserveRawStrings(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// against compares with what came at the n-th time. Of both that is told which is
// not the same.
func (o *outcome) against(later *outcome, n int) (expected, actual json.RawMessage, same bool) {
	var before, after [][]byte
	if o.unordered {
		before, after = leftOver(o.steps, later.steps), leftOver(later.steps, o.steps)
	} else {
		for i := range o.steps { // both have one a proposal
			if !bytes.Equal(o.steps[i], later.steps[i]) {
				before, after = append(before, o.steps[i]), append(after, later.steps[i])
			}
		}
	}
	effects, rest := !bytes.Equal(o.effects, later.effects), !bytes.Equal(o.rest, later.rest)
	if before == nil && after == nil && !effects && !rest {
		return nil, nil, true
	}
	tell := func(time int, of *outcome, steps [][]byte) json.RawMessage {
		told := fmt.Appendf(nil, `{"time":%d,"results":[%s]`, time, bytes.Join(steps, []byte(",")))
		if effects {
			told = append(append(told, `,"effects":`...), of.effects...)
		}
		if rest {
			told = append(append(told, `,"at_the_end":`...), of.rest...)
		}
		return append(told, '}')
	}
	return tell(1, o, before), tell(n, later, after), false
}

// leftOver are those of some sorted values that are left when others, sorted too, are
// taken away, each as often as it is there.
func leftOver(values, others []json.RawMessage) (left [][]byte) {
	for _, v := range values {
		for len(others) > 0 && bytes.Compare(others[0], v) < 0 {
			others = others[1:]
		}
		if len(others) > 0 && bytes.Equal(others[0], v) {
			others = others[1:]
			continue
		}
		left = append(left, v)
	}
	return left
}
