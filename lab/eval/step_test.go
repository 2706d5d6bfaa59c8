package eval_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

func TestStepGraders(t *testing.T) {
	listed := output(`{"items":[1,2],"next_cursor":"3"}`)
	listed.SideEffects = 2
	listed.Trace.HandlerRan = true
	refused := eval.Step{Result: tool.Result{
		Error: &tool.Error{Code: tool.RateLimited, Retryable: true, Details: json.RawMessage(`{"retry_after_ms":5,"x":1}`),
			NextAction: "wait", Outcome: tool.NotApplied},
		Trace: tool.Trace{Decisions: []tool.Decision{{Control: "input", Verdict: tool.Pass}, {Control: "rate", Verdict: tool.Refuse}}},
	}}
	bare := failure(tool.ToolFailed, false)
	tests := []struct {
		name string
		step eval.Step
		e    dataset.StepExpectation
		want string // passed, expected and actual
	}{
		{"ok", listed, dataset.StepExpectation{OK: ptr(true)}, `true true true`},
		{"ok", refused, dataset.StepExpectation{OK: ptr(true)}, `false true false`},
		{"side_effect_count", listed, dataset.StepExpectation{SideEffectCount: ptr(2)}, `true 2 2`},
		{"side_effect_count", listed, dataset.StepExpectation{SideEffectCount: ptr(0)}, `false 0 2`},
		{"accepted", refused, dataset.StepExpectation{Accepted: ptr(true)}, `true true true`},
		{"accepted", bare, dataset.StepExpectation{Accepted: ptr(true)}, `false true null`},
		{"error_code", refused, dataset.StepExpectation{ErrorCode: ptr("rate_limited")}, `true "rate_limited" "rate_limited"`},
		{"error_code", listed, dataset.StepExpectation{ErrorCode: ptr("rate_limited")}, `false "rate_limited" null`},
		{"retryable", refused, dataset.StepExpectation{Retryable: ptr(true)}, `true true true`},
		{"retryable", listed, dataset.StepExpectation{Retryable: ptr(false)}, `false false null`},
		{"replayed", replayed(listed), dataset.StepExpectation{Replayed: ptr(true)}, `true true true`},
		{"replayed", listed, dataset.StepExpectation{Replayed: ptr(true)}, `false true false`},
		{"output_keys", listed, dataset.StepExpectation{OutputKeys: []string{"next_cursor", "items"}}, `true ["items","next_cursor"] ["items","next_cursor"]`},
		{"output_keys", refused, dataset.StepExpectation{OutputKeys: []string{}}, `false [] null`},
		{"output_count", listed, dataset.StepExpectation{OutputCount: ptr(2)}, `true 2 2`},
		{"output_count", refused, dataset.StepExpectation{OutputCount: ptr(0)}, `false 0 null`},
		{"has_next_cursor", listed, dataset.StepExpectation{HasNextCursor: ptr(true)}, `true true true`},
		{"has_next_cursor", refused, dataset.StepExpectation{HasNextCursor: ptr(false)}, `false false null`},
		{"refused_by", refused, dataset.StepExpectation{RefusedBy: ptr("rate")}, `true "rate" "rate"`},
		{"refused_by", refused, dataset.StepExpectation{RefusedBy: ptr("input")}, `false "input" "rate"`},
		{"refused_by", refused, dataset.StepExpectation{RefusedBy: ptr("")}, `false null "rate"`},
		{"refused_by", listed, dataset.StepExpectation{RefusedBy: ptr("")}, `true null null`},
		{"handler_ran", listed, dataset.StepExpectation{HandlerRan: ptr(true)}, `true true true`},
		{"handler_ran", refused, dataset.StepExpectation{HandlerRan: ptr(true)}, `false true false`},
		{"outcome", refused, dataset.StepExpectation{Outcome: ptr("not_applied")}, `true "not_applied" "not_applied"`},
		{"outcome", listed, dataset.StepExpectation{Outcome: ptr("applied")}, `false "applied" null`},
		{"outcome", bare, dataset.StepExpectation{Outcome: ptr("unknown")}, `false "unknown" null`},
		{"next_action", refused, dataset.StepExpectation{NextAction: ptr("wait")}, `true "wait" "wait"`},
		{"next_action", bare, dataset.StepExpectation{NextAction: ptr("wait")}, `false "wait" null`},
		{"next_action", listed, dataset.StepExpectation{NextAction: ptr("wait")}, `false "wait" null`},
		{"output", listed, dataset.StepExpectation{Output: json.RawMessage(`{"items":[1.0,2]}`)}, `true {"items":[1.0,2]} {"items":[1,2],"next_cursor":"3"}`},
		{"output", refused, dataset.StepExpectation{Output: json.RawMessage(`null`)}, `false null null`},
		{"details", refused, dataset.StepExpectation{Details: json.RawMessage(`{"retry_after_ms":5}`)}, `true {"retry_after_ms":5} {"retry_after_ms":5,"x":1}`},
		{"details", refused, dataset.StepExpectation{Details: json.RawMessage(`{"retry_after_ms":6}`)}, `false {"retry_after_ms":6} {"retry_after_ms":5,"x":1}`},
		{"details", listed, dataset.StepExpectation{Details: json.RawMessage(`{}`)}, `false {} null`},
	}
	for _, test := range tests {
		e := dataset.Expectation{Steps: []*dataset.StepExpectation{nil, &test.e}}
		run := steps(output(`{}`), test.step)
		grades := eval.Grades(e, &run)
		if len(grades) != 1 {
			t.Fatalf("%s: %d grades, want one", test.name, len(grades))
		}
		g := grades[0]
		passed := "false"
		if g.Passed {
			passed = "true"
		}
		if got := passed + " " + string(g.Expected) + " " + string(g.Actual); got != test.want || g.Name != "step 2 "+test.name {
			t.Errorf("%s: %s is %s, want %s", test.name, g.Name, got, test.want)
		}
	}
}

// The graders of the run come first, those of the steps in their order, and the
// state last. A step that there is not has nothing to compare.
func TestGradesInOrder(t *testing.T) {
	e := dataset.Expectation{
		OK: ptr(true), SideEffectCount: ptr(0), Replayed: ptr(false), State: json.RawMessage(`{"a":1}`),
		Steps: []*dataset.StepExpectation{{OK: ptr(true), RefusedBy: ptr("")}, nil, {HandlerRan: ptr(false), Output: json.RawMessage(`{}`)}},
	}
	run := steps(output(`{}`))
	run.State = json.RawMessage(`{"a":1.0,"b":2}`)
	var got []string
	for _, g := range eval.Grades(e, &run) {
		said := g.Name + " failed"
		if g.Passed {
			said = g.Name
		}
		got = append(got, said)
	}
	want := []string{"ok", "side_effect_count", "replayed", "step 1 ok", "step 1 refused_by", "step 3 handler_ran failed", "step 3 output failed", "state"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
