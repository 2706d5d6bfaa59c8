package eval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/eval"
)

// Where nobody looks at what changes, no number of effects is graded, and the
// gate says nothing of them.
func TestReplayBlindly(t *testing.T) {
	text := foreignLine("writes", "", map[string]string{"after": `{"write":1}`}) +
		foreignLine("fails", "", map[string]string{"after": `{"fail":true}`}) +
		`{"case_id":"steps","intent":"i","proposals":[{"name":"do","arguments":{"write":1}}],"expected":{"ok":true,"side_effect_count":0,"steps":[{"ok":true,"side_effect_count":0}]}}` + "\n"
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
			if strings.HasSuffix(g.Name, "side_effect_count") {
				t.Errorf("%s is graded by %s", pair.Case.ID, g.Name)
			}
		}
	}
	if steps := pairs[2].Candidate; !steps.Passed || len(steps.Grades) != 2 {
		t.Errorf("grades %v, want those of ok, of the run and of its step", steps.Grades)
	}
	if writes := pairs[0].Candidate; !writes.Passed {
		t.Errorf("a write that nobody sees fails: %v", writes.Grades)
	}
}
