package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

var twoProposals = []dataset.Proposal{
	{Name: "first", Arguments: json.RawMessage(`{"n":1}`)},
	{Name: "second", Arguments: json.RawMessage(`{}`)},
}

func proposed(p dataset.Proposal) tool.Proposal {
	return tool.Proposal{Name: p.Name, Arguments: p.Arguments}
}

func aCase() *dataset.Case {
	return &dataset.Case{
		ID:          "a-case",
		Permissions: []string{"ticket:read"},
		Approved:    true,
		Baseline:    twoProposals,
		Candidate:   twoProposals[:1],
		Expected:    dataset.Expectation{OK: ptr(true), SideEffectCount: ptr(0)},
	}
}

func play(t testing.TB, surface tool.Surface, proposals []dataset.Proposal) eval.Run {
	t.Helper()
	run, err := eval.Play(t.Context(), surface, aCase(), proposals)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A session is given the proposals in order, on behalf of one caller.
func TestPlayCalls(t *testing.T) {
	var got []tool.Call
	surface := &script{call: func(_ context.Context, call tool.Call) tool.Result {
		got = append(got, call)
		return tool.Result{Output: json.RawMessage(`{}`)}
	}}
	run := play(t, surface, twoProposals)
	caller := tool.Caller{ID: "case-actor", Permissions: []string{"ticket:read"}}
	want := []tool.Call{
		{Proposal: proposed(twoProposals[0]), Caller: caller, Approved: true},
		{Proposal: proposed(twoProposals[1]), Caller: caller, Approved: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(run.Steps) != 2 || run.Strategy != "script" || run.Case.ID != "a-case" || !run.Passed {
		t.Errorf("run = %+v", run)
	}
	if surface.opened.Load() != 1 || surface.closed.Load() != 1 {
		t.Errorf("opened %d times and closed %d times", surface.opened.Load(), surface.closed.Load())
	}
}

// What a surface answers with becomes one result in one form.
func TestPlaySettlesResults(t *testing.T) {
	invalid := &tool.Error{
		Code:       tool.InvalidToolOutput,
		Category:   tool.Internal,
		Message:    "The surface answered with something other than one JSON document.",
		Details:    json.RawMessage(`{}`),
		NextAction: "stop and raise an alarm",
		Outcome:    tool.Unknown,
	}
	out := func(text string) tool.Result { return tool.Result{Output: json.RawMessage(text)} }
	failing := func(details string) tool.Result {
		e := &tool.Error{Code: tool.PermissionDenied, Category: tool.Policy}
		if details != "" {
			e.Details = json.RawMessage(details)
		}
		return tool.Result{Error: e}
	}
	trace := tool.Trace{Decisions: []tool.Decision{{Control: "lookup", Verdict: tool.Pass}}, HandlerRan: true}
	tests := []struct {
		name   string
		answer tool.Result
		want   tool.Result
	}{
		{"compact", out(`{"a":[1,2]}`), out(`{"a":[1,2]}`)},
		{"with newlines", out("{\r\n\t\"a\" : [ 1,\n2 ]\n}\n"), out(`{"a":[1,2]}`)},
		{"with the spelling of its strings and numbers", out(`{"\u0061" : "\/ \u00e9" , "n" : 1.50E+01}`), out(`{"\u0061":"\/ \u00e9","n":1.50E+01}`)},
		{"with spaces in its strings only", out(`{"a b":"\\\" , "}`), out(`{"a b":"\\\" , "}`)},
		{"with white space around", out("\n {\"a\": 1}\r\n"), out(`{"a":1}`)},
		{"null", out(` null `), out(`null`)},
		{"text", out(`"done"`), out(`"done"`)},
		{"none", tool.Result{}, tool.Result{Error: invalid}},
		{"nothing", out(``), tool.Result{Error: invalid}},
		{"white space", out(" \n"), tool.Result{Error: invalid}},
		{"not JSON", out(`done`), tool.Result{Error: invalid}},
		{"truncated", out(`{"a":1`), tool.Result{Error: invalid}},
		{"two documents", out(`{} {}`), tool.Result{Error: invalid}},
		{"duplicate keys", out(`{"a":1,"a":2}`), tool.Result{Error: invalid}},
		{"invalid UTF-8", out("{\"a\":\"\xff\"}"), tool.Result{Error: invalid}},
		{"lone surrogate", out(`{"a":"\ud800"}`), tool.Result{Error: invalid}},
		{"what else is told of it", tool.Result{Output: json.RawMessage(`?`), Replayed: true, Trace: trace},
			tool.Result{Error: invalid, Replayed: true, Trace: trace}},
		{"failure", failing(`{"a":1}`), failing(`{"a":1}`)},
		{"failure with newlines", failing("{\n}"), failing(`{}`)},
		{"failure with white space", failing(` {"a":1} `), failing(`{"a":1}`)},
		{"failure without details", failing(``), failing(`{}`)},
		{"failure with other details", failing(`["a"]`), failing(`{}`)},
		{"failure with broken details", failing(`{"a"`), failing(`{}`)},
		{"failure with an output", tool.Result{Output: json.RawMessage("{\n"), Error: failing(`{}`).Error}, failing(`{}`)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := play(t, answering(test.answer), twoProposals[:1])
			if diff := cmp.Diff(test.want, run.Last().Result); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if run.Passed != (test.want.Error == nil) {
				t.Errorf("passed = %v", run.Passed)
			}
		})
	}
}

// A surface may answer every call with the same memory.
func TestPlayLeavesTheAnswerAlone(t *testing.T) {
	const output, details = "{\n\"a\" : 1 }", "{\t\"b\" : 2 }"
	answer := tool.Result{Output: json.RawMessage(output)}
	failing := tool.Result{Error: &tool.Error{Code: tool.HandlerFailed, Category: tool.Internal, Details: json.RawMessage(details)}}
	run := play(t, answering(answer), twoProposals)
	run.Steps[0].Output[1] = '!'
	play(t, answering(failing), twoProposals)
	if string(answer.Output) != output || string(failing.Error.Details) != details {
		t.Errorf("the answers became %q and %q", answer.Output, failing.Error.Details)
	}
	if string(run.Steps[1].Output) != `{"a":1}` {
		t.Errorf("the second output became %q with the first", run.Steps[1].Output)
	}
}

func TestPlayCountsEffects(t *testing.T) {
	type counts struct {
		Steps []int
		Run   int
	}
	tests := []struct {
		name    string
		effects []int // before the first call, after it, after the second
		want    counts
	}{
		{"none", []int{0, 0, 0}, counts{[]int{0, 0}, 0}},
		{"one a call", []int{0, 1, 2}, counts{[]int{1, 1}, 2}},
		{"some were there", []int{5, 5, 8}, counts{[]int{0, 3}, 3}},
		{"some were undone", []int{3, 4, 1}, counts{[]int{1, -3}, -2}},
		{"below zero", []int{0, -1, -1}, counts{[]int{-1, 0}, -1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := play(t, &script{effects: test.effects}, twoProposals)
			got := counts{Run: run.SideEffects}
			for _, step := range run.Steps {
				got.Steps = append(got.Steps, step.SideEffects)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if run.Passed != (test.want.Run == 0) {
				t.Errorf("passed = %v", run.Passed)
			}
		})
	}
}

func TestPlayCouldNotOpen(t *testing.T) {
	surface := &script{open: func(context.Context) error { return errBoom }}
	run, err := eval.Play(t.Context(), surface, aCase(), twoProposals)
	if !errors.Is(err, errBoom) || err.Error() != "case a-case: script: boom" {
		t.Errorf("error = %v", err)
	}
	if run.Grades != nil || run.Steps != nil {
		t.Errorf("run = %+v beside the error", run)
	}
}

// A call that the end of ctx cut short is no answer to be graded.
func TestPlayCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	surface := &script{call: func(context.Context, tool.Call) tool.Result {
		cancel()
		return tool.Result{Error: tool.Refusal(tool.HandlerFailed, nil, "cancelled")}
	}}
	run, err := eval.Play(ctx, surface, aCase(), twoProposals)
	if err != context.Canceled {
		t.Errorf("error = %v", err)
	}
	if run.Grades != nil || surface.called.Load() != 1 || surface.closed.Load() != 1 {
		t.Errorf("%d grades, %d calls, closed %d times", len(run.Grades), surface.called.Load(), surface.closed.Load())
	}
}
