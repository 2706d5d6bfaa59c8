package eval

import (
	"bytes"
	"encoding/json"
	"strconv"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

// stepGrader compares one thing that a case expects of one step.
type stepGrader struct {
	name     string
	expected func(e *dataset.StepExpectation) json.RawMessage // nil where the case does not ask
	actual   func(s *Step) json.RawMessage
	isPart   bool // what is expected is a part of the actual
}

// stepGraders is the list of graders of a step, in the order of every report.
var stepGraders = []stepGrader{
	{"ok", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.OK, boolean) }, (*Step).ok, false},
	{"side_effect_count", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.SideEffectCount, number) },
		func(s *Step) json.RawMessage { return number(s.SideEffects) }, false},
	{"error_code", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.ErrorCode, text) }, (*Step).errorCode, false},
	{"retryable", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.Retryable, boolean) }, (*Step).retryable, false},
	{"replayed", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.Replayed, boolean) },
		func(s *Step) json.RawMessage { return boolean(s.Replayed) }, false},
	{"output_keys", func(e *dataset.StepExpectation) json.RawMessage { return sortedTexts(e.OutputKeys) },
		func(s *Step) json.RawMessage { return outlineOf(s.Output).keyTexts() }, false},
	{"output_count", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.OutputCount, number) },
		func(s *Step) json.RawMessage { return outlineOf(s.Output).itemCount() }, false},
	{"has_next_cursor", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.HasNextCursor, boolean) },
		func(s *Step) json.RawMessage { return outlineOf(s.Output).nextCursor() }, false},
	{"refused_by", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.RefusedBy, textOrNull) },
		func(s *Step) json.RawMessage { return textOrNull(s.Trace.RefusedBy()) }, false},
	{"handler_ran", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.HandlerRan, boolean) },
		func(s *Step) json.RawMessage { return boolean(s.Trace.HandlerRan) }, false},
	{"outcome", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.Outcome, text) },
		func(s *Step) json.RawMessage {
			return s.ofError(func(e *tool.Error) json.RawMessage { return textOrNull(string(e.Outcome)) })
		}, false},
	{"next_action", func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.NextAction, text) },
		func(s *Step) json.RawMessage {
			return s.ofError(func(e *tool.Error) json.RawMessage { return textOrNull(e.NextAction) })
		}, false},
	{"output", func(e *dataset.StepExpectation) json.RawMessage { return e.Output },
		func(s *Step) json.RawMessage { return s.Output }, true},
	{"details", func(e *dataset.StepExpectation) json.RawMessage { return e.Details },
		func(s *Step) json.RawMessage {
			return s.ofError(func(e *tool.Error) json.RawMessage { return e.Details })
		}, true},
}

// askedOfStep is a grader that a case asks for of one step.
type askedOfStep struct {
	*stepGrader
	step int
	name string // such as "step 2 refused_by"; the first step is 1
	json json.RawMessage
	part *part // where isPart
}

func askOfSteps(steps []*dataset.StepExpectation) []askedOfStep {
	var list []askedOfStep
	for i, e := range steps {
		if e == nil {
			continue
		}
		for g := range stepGraders {
			grader := &stepGraders[g]
			expected := grader.expected(e)
			if expected == nil {
				continue
			}
			a := askedOfStep{stepGrader: grader, step: i, name: "step " + strconv.Itoa(i+1) + " " + grader.name, json: expected}
			if grader.isPart {
				a.part = newPart(expected)
			}
			list = append(list, a)
		}
	}
	return list
}

func (a *askedOfStep) grade(run *Run) Grade {
	var actual json.RawMessage
	if a.step < len(run.Steps) {
		actual = a.actual(&run.Steps[a.step])
	}
	if a.part != nil {
		return a.part.grade(a.name, actual)
	}
	if actual == nil {
		return Grade{Name: a.name, Expected: a.json, Actual: null}
	}
	return Grade{a.name, bytes.Equal(a.json, actual), a.json, actual}
}

// The actual values of a step. What a success has none of is null.

func (s *Step) ok() json.RawMessage { return boolean(s.OK()) }

func (s *Step) errorCode() json.RawMessage {
	if s.OK() {
		return null
	}
	return text(string(s.Error.Code))
}

func (s *Step) retryable() json.RawMessage {
	if s.OK() {
		return null
	}
	return boolean(s.Error.Retryable)
}

func (s *Step) ofError(value func(*tool.Error) json.RawMessage) json.RawMessage {
	if s.OK() {
		return nil
	}
	return value(s.Error)
}

// textOrNull is null for the empty text.
func textOrNull(s string) json.RawMessage {
	if s == "" {
		return null
	}
	return text(s)
}
