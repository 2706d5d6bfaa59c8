package eval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/eval"
)

// Where nobody looks at what changes, no number of effects is graded, and the
// gate says nothing of them.
func TestReplayBlindly(t *testing.T) {
	text := foreignLine("writes", "", map[string]string{"after": `{"write":1}`}) +
		foreignLine("fails", "", map[string]string{"after": `{"fail":true}`})
	comparison, pairs := replay(t, eval.Plan{Cases: reader([]byte(text)), Candidate: &server{name: "after", blind: true}})
	var names []string
	for _, check := range comparison.Checks {
		names = append(names, check.Name)
	}
	if diff := cmp.Diff(fields("candidate_passes_all_cases candidate_errors_are_actionable every_case_could_run"), names); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	if !comparison.Candidate.Blind {
		t.Error("the summary does not say that nobody looked")
	}
	for _, pair := range pairs {
		run := pair.Candidate
		if !run.Blind {
			t.Errorf("%s does not say that nobody looked", pair.Case.ID)
		}
		for _, g := range run.Grades {
			if g.Name == "side_effect_count" {
				t.Errorf("%s is graded by %s", pair.Case.ID, g.Name)
			}
		}
	}
	if writes := pairs[0].Candidate; !writes.Passed {
		t.Errorf("a write that nobody sees fails: %v", writes.Grades)
	}
}
