package eval

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

func answered(bytes int) tool.Result {
	return tool.Result{Output: json.RawMessage(strings.Repeat("x", bytes))}
}

// refusedBy is a refusal by the last of these controls.
func refusedBy(code tool.Code, controls ...string) tool.Result {
	r := tool.Result{Error: &tool.Error{Code: code}}
	for _, control := range controls {
		r.Trace.Decisions = append(r.Trace.Decisions, tool.Decision{Control: control, Verdict: tool.Pass})
	}
	if n := len(controls); n > 0 {
		r.Trace.Decisions[n-1].Verdict = tool.Refuse
	}
	return r
}

func TestOperations(t *testing.T) {
	replay := answered(9)
	replay.Replayed = true
	run := func(steps ...Step) Run { return Run{Case: new(dataset.Case), Steps: steps} }
	base := func(steps ...Step) *Run { return &Run{Case: new(dataset.Case), Steps: steps} }
	step := func(r tool.Result) Step { return Step{Result: r} }
	pairs := []*Pair{
		{Case: &dataset.Case{}, Baseline: base(step(answered(3)), step(refusedBy(tool.ToolFailed))), Candidate: run(step(refusedBy(tool.ToolTimeout, "a", "b", "c")))},
		{Case: &dataset.Case{Stage: new(dataset.Stage)}, Baseline: base(Step{Result: refusedBy(tool.MalformedProposal), Malformed: true}),
			Candidate: run(Step{Result: replay, Attempts: []Attempt{{Result: refusedBy(tool.BudgetExhausted, "a")}, {Result: refusedBy(tool.InvalidArguments, "a", "b")}, {Result: replay}}},
				step(refusedBy(tool.OutcomeUnknown, "a", "b", "c")), step(answered(4)))},
	}
	want := Comparison{
		Baseline: &Summary{Operations: &Operations{Calls: 2, Successes: 1, Malformed: 1, OutputBytes: map[int]int{3: 1}}},
		Candidate: Summary{Operations: &Operations{
			Calls: 6, Successes: 2, Timeouts: 1, Replays: 1, BudgetStops: 1, OutputBytes: map[int]int{9: 1, 4: 1},
			Refusals: []Refusals{{"a", 1, 0}, {"b", 1, 1}, {"c", 2, 2}},
		}},
	}
	c := Comparison{Baseline: new(Summary)}
	for _, pair := range pairs {
		var one operations // as of a batch of its own
		one.count(pair)
		c.operations.add(&one)
	}
	c.tellOperations()
	if diff := cmp.Diff(want.Baseline, c.Baseline); diff != "" {
		t.Errorf("baseline (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Candidate, c.Candidate); diff != "" {
		t.Errorf("candidate (-want +got):\n%s", diff)
	}
	// Without a staged case nothing is told.
	plain := Comparison{Baseline: new(Summary)}
	plain.operations.count(pairs[0])
	plain.tellOperations()
	if plain.Baseline.Operations != nil || plain.Candidate.Operations != nil {
		t.Errorf("operations of a dataset that stages nothing: %+v", plain)
	}
}

func TestMedianOutput(t *testing.T) {
	var none Operations
	if _, ok := none.MedianOutput(); ok {
		t.Error("a median of nothing")
	}
	if _, ok := none.LargestOutput(); ok {
		t.Error("a largest of nothing")
	}
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 20), 1, 40).Draw(t, "sizes")
		var o Operations
		for _, size := range sizes {
			r := answered(size)
			o.countResult(&r)
		}
		slices.Sort(sizes)
		n := len(sizes)
		want := float64(sizes[(n-1)/2]+sizes[n/2]) / 2
		if median, ok := o.MedianOutput(); !ok || median != want {
			t.Fatalf("median of %v is %v, want %v", sizes, median, want)
		}
		if largest, ok := o.LargestOutput(); !ok || largest != sizes[n-1] {
			t.Fatalf("largest of %v is %v", sizes, largest)
		}
	})
}
