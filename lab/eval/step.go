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
	// compare stands in place of actual where to pass is not to be equal.
	compare func(e *dataset.StepExpectation, s *Step) (bool, json.RawMessage)
}

// stepGraders is the list of graders of a step, in the order of every report.
var stepGraders = []stepGrader{
	{name: "ok", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.OK, boolean) }, actual: (*Step).ok},
	{name: countsEffects, expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.SideEffectCount, number) },
		actual: func(s *Step) json.RawMessage { return number(s.SideEffects) }},
	{name: "accepted", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.Accepted, boolean) }, actual: (*Step).accepted},
	{name: "error_code", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.ErrorCode, text) }, actual: (*Step).errorCode},
	{name: "retryable", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.Retryable, boolean) }, actual: (*Step).retryable},
	{name: "replayed", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.Replayed, boolean) },
		actual: func(s *Step) json.RawMessage { return boolean(s.Replayed) }},
	{name: "output_keys", expected: func(e *dataset.StepExpectation) json.RawMessage { return sortedTexts(e.OutputKeys) },
		actual: func(s *Step) json.RawMessage { return outlineOf(s.Output).keyTexts() }},
	{name: "output_count", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.OutputCount, number) },
		actual: func(s *Step) json.RawMessage { return outlineOf(s.Output).itemCount() }},
	{name: "has_next_cursor", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.HasNextCursor, boolean) },
		actual: func(s *Step) json.RawMessage { return outlineOf(s.Output).nextCursor() }},
	{name: "is_error", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.IsError, boolean) }, actual: (*Step).isError},
	{name: "content_contains", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.ContentContains, text) },
		compare: func(e *dataset.StepExpectation, s *Step) (bool, json.RawMessage) {
			return s.contains(*e.ContentContains)
		}},
	{name: "max_output_bytes", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.MaxOutputBytes, number) },
		compare: func(e *dataset.StepExpectation, s *Step) (bool, json.RawMessage) { return s.within(*e.MaxOutputBytes) }},
	{name: "schema_valid", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.SchemaValid, boolean) }, actual: (*Step).schemaValid},
	{name: "refused_by", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.RefusedBy, textOrNull) },
		actual: func(s *Step) json.RawMessage { return textOrNull(s.Trace.RefusedBy()) }},
	{name: "handler_ran", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.HandlerRan, boolean) },
		actual: func(s *Step) json.RawMessage { return boolean(s.Trace.HandlerRan) }},
	{name: "outcome", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.Outcome, text) },
		actual: func(s *Step) json.RawMessage {
			return s.ofError(func(e *tool.Error) json.RawMessage { return textOrNull(string(e.Outcome)) })
		}},
	{name: "next_action", expected: func(e *dataset.StepExpectation) json.RawMessage { return whereAsked(e.NextAction, text) },
		actual: func(s *Step) json.RawMessage {
			return s.ofError(func(e *tool.Error) json.RawMessage { return textOrNull(e.NextAction) })
		}},
	{name: "output", expected: func(e *dataset.StepExpectation) json.RawMessage { return e.Output },
		actual: func(s *Step) json.RawMessage { return s.Output }, isPart: true},
	{name: "details", expected: func(e *dataset.StepExpectation) json.RawMessage { return e.Details },
		actual: func(s *Step) json.RawMessage {
			return s.ofError(func(e *tool.Error) json.RawMessage { return e.Details })
		}, isPart: true},
}

// askedOfStep is a grader that a case asks for of one step.
type askedOfStep struct {
	*stepGrader
	step int
	of   *dataset.StepExpectation
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
			a := askedOfStep{stepGrader: grader, step: i, of: e, name: "step " + strconv.Itoa(i+1) + " " + grader.name, json: expected}
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
		step := &run.Steps[a.step]
		if a.compare != nil {
			passed, found := a.compare(a.of, step)
			return Grade{a.name, passed, a.json, found}
		}
		actual = a.actual(step)
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
