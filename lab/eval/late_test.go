package eval_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/eval"
)

// What a server writes after its answer counts to the last call, and to the run.
func TestLateEffectsAreCounted(t *testing.T) {
	text := `{"case_id":"late","intent":"i","proposals":[{"name":"do","arguments":{"write":1}},{"name":"do","arguments":{"late":2}}],` +
		`"expected":{"ok":true,"side_effect_count":1,"steps":[{"side_effect_count":1},{"side_effect_count":0}]}}` + "\n"
	_, pairs := replay(t, eval.Plan{Cases: reader([]byte(text)), Candidate: &server{name: "after"}})
	run := pairs[0].Candidate
	if run.SideEffects != 3 || run.Steps[0].SideEffects != 1 || run.Steps[1].SideEffects != 2 {
		t.Errorf("%d effects: %d and %d", run.SideEffects, run.Steps[0].SideEffects, run.Steps[1].SideEffects)
	}
	var resources []string
	for _, e := range run.Steps[1].Effects {
		resources = append(resources, e.Resource)
	}
	if diff := cmp.Diff([]string{"late-0", "late-1"}, resources); diff != "" {
		t.Errorf("effects of the last call (-want +got):\n%s", diff)
	}
	var failed []string
	for _, g := range run.Grades {
		if !g.Passed {
			failed = append(failed, g.Name)
		}
	}
	if diff := cmp.Diff([]string{"side_effect_count", "step 2 side_effect_count"}, failed); diff != "" {
		t.Errorf("failed graders (-want +got):\n%s", diff)
	}
}

// A backend that cannot be looked at in the end could not run.
func TestSettlingCanFail(t *testing.T) {
	text := foreignLine("c", "", map[string]string{"after": `{}`})
	s := &server{name: "after"}
	s.fail = map[string]error{"settle": s.gone("the folder is gone")}
	_, pairs := replay(t, eval.Plan{Cases: reader([]byte(text)), Candidate: s})
	if run := pairs[0].Candidate; run.Ran() || run.Unavailable.Reason != "the folder is gone" {
		t.Errorf("run = %+v", run)
	}
	broken := errors.New("broken")
	s.fail["settle"] = broken
	if _, err := eval.Replay(t.Context(), eval.Plan{Cases: reader([]byte(text)), Candidate: s},
		func() struct{} { return struct{}{} }, func(struct{}, *eval.Pair) {}, func(struct{}) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
