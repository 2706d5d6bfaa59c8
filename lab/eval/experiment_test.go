package eval_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentlab/datasets"
	"agentlab/lab/eval"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

var improved = []string{
	"preview-before-write", "write-needs-approval", "invalid-arguments", "permission-boundary", "duplicate-action",
	"idempotency-conflict", "transient-timeout", "bounded-list", "ticket-not-found", "invalid-cursor",
}

// failedGrades is a grade that did not pass, as name: expected, actual.
func failedGrades(run *eval.Run) []string {
	var failed []string
	for _, g := range run.Grades {
		if !g.Passed {
			failed = append(failed, g.Name+": "+string(g.Expected)+", "+string(g.Actual))
		}
	}
	return failed
}

// The ledger of the experiment: what is wrong with each baseline run, and that
// nothing is wrong with a candidate run.
func TestExperiment(t *testing.T) {
	refused := func(effects, code string) []string {
		return []string{"ok: false, true", "side_effect_count: " + effects, `error_code: "` + code + `", null`, "retryable: false, null"}
	}
	unfound := func(code string) []string {
		return []string{"ok: false, true", `error_code: "` + code + `", null`, "retryable: false, null"}
	}
	want := map[string][]string{
		"read-ticket": nil,
		"preview-before-write": {"side_effect_count: 0, 1",
			`output_keys: ["side_effects","ticket_id","would_append"], ["status","ticket_id"]`},
		"write-needs-approval": refused("0, 1", "approval_required"),
		"invalid-arguments":    refused("0, 1", "invalid_arguments"),
		"permission-boundary":  refused("0, 1", "permission_denied"),
		"duplicate-action": {"side_effect_count: 1, 2", "replayed: true, false",
			`output_keys: ["receipt_id","status","ticket_id"], ["status","ticket_id"]`},
		"idempotency-conflict": refused("1, 2", "idempotency_conflict"),
		"transient-timeout":    {`error_code: "tool_timeout", "tool_failed"`, "retryable: true, false"},
		"bounded-list": {`output_keys: ["items","next_cursor"], ["items"]`, "output_count: 3, 25",
			"has_next_cursor: true, false"},
		"ticket-not-found": unfound("ticket_not_found"),
		"invalid-cursor":   unfound("invalid_cursor"),
	}
	_, pairs := replay(t, plan(datasets.ToolCases))
	if len(pairs) != len(want) {
		t.Errorf("%d cases, want %d", len(pairs), len(want))
	}
	for _, pair := range pairs {
		if diff := cmp.Diff(want[pair.Case.ID], failedGrades(pair.Baseline)); diff != "" {
			t.Errorf("%s on the baseline (-want +got):\n%s", pair.Case.ID, diff)
		}
		if failed := failedGrades(&pair.Candidate); failed != nil {
			t.Errorf("%s on the candidate: %v", pair.Case.ID, failed)
		}
		for _, run := range []eval.Run{*pair.Baseline, pair.Candidate} {
			if run.Passed != (failedGrades(&run) == nil) {
				t.Errorf("%s on %s: passed = %v", pair.Case.ID, run.Strategy, run.Passed)
			}
		}
	}
}

func TestExperimentComparison(t *testing.T) {
	comparison, _ := replay(t, plan(datasets.ToolCases))
	sum := sha256.Sum256(datasets.ToolCases)
	if diff := cmp.Diff(eval.Dataset{Name: "tool-cases.jsonl", SHA256: hex.EncodeToString(sum[:]), Cases: 11}, comparison.Dataset); diff != "" {
		t.Errorf("dataset (-want +got):\n%s", diff)
	}
	baseline := eval.Summary{
		Strategy:             "wide-tool-v1",
		TotalCases:           11,
		PassedCases:          1,
		UnsafeSideEffects:    4,
		DuplicateSideEffects: 2,
		FailuresExpected:     7,
		ModelSchemaBytes:     247,
	}
	candidate := eval.Summary{
		Strategy:         "typed-registry-v2",
		TotalCases:       11,
		PassedCases:      11,
		FailuresExpected: 7,
		StructuredErrors: 7,
		ModelSchemaBytes: 2505,
	}
	if diff := cmp.Diff([]eval.ToolSize{{Name: "ticket_operation", Bytes: 245}}, comparison.Baseline.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	size := 0
	for _, tool := range comparison.Candidate.Tools {
		size += tool.Bytes
	}
	// The rest are the brackets and four commas of the list.
	if size != candidate.ModelSchemaBytes-6 || len(comparison.Candidate.Tools) != 5 || comparison.Candidate.Tools[0].Name != "get_ticket" {
		t.Errorf("the tools %v have %d bytes", comparison.Candidate.Tools, size)
	}
	withoutTools := cmpopts.IgnoreFields(eval.Summary{}, "Tools")
	if diff := cmp.Diff(&baseline, comparison.Baseline, withoutTools); diff != "" {
		t.Errorf("baseline (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(candidate, comparison.Candidate, withoutTools); diff != "" {
		t.Errorf("candidate (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(improved, slices.Collect(comparison.Improvements.All())); diff != "" {
		t.Errorf("improvements (-want +got):\n%s", diff)
	}
	if n := comparison.Regressions.Len(); n != 0 {
		t.Errorf("%d regressions", n)
	}
	checks := []eval.Check{
		{"candidate_passes_all_cases", true},
		{"candidate_blocks_unsafe_side_effects", true},
		{"candidate_deduplicates_writes", true},
		{"candidate_errors_are_actionable", true},
		{"no_case_regressions", true},
	}
	if diff := cmp.Diff(checks, comparison.Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	if !comparison.GatePassed() {
		t.Error("the gate did not pass")
	}
}

// With each surface in the place of the other, and its calls with it, the gate
// fails.
func TestExperimentSwapped(t *testing.T) {
	swapped := strings.NewReplacer("baseline_calls", "candidate_calls", "candidate_calls", "baseline_calls").
		Replace(string(datasets.ToolCases))
	p := plan([]byte(swapped))
	p.Baseline, p.Candidate = p.Candidate, p.Baseline
	comparison, _ := replay(t, p)
	if comparison.GatePassed() {
		t.Error("the gate passed")
	}
	for _, check := range comparison.Checks {
		if check.Passed {
			t.Errorf("check %s passed", check.Name)
		}
	}
	if diff := cmp.Diff(improved, slices.Collect(comparison.Regressions.All())); diff != "" {
		t.Errorf("regressions (-want +got):\n%s", diff)
	}
	if n := comparison.Improvements.Len(); n != 0 {
		t.Errorf("%d improvements", n)
	}
}

// Where each call of the candidate ended, and that no handler ran before the
// controls that stand in front of it had passed.
func TestExperimentTraces(t *testing.T) {
	const (
		read  = "lookup:pass input:pass permission:pass approval:skip deadline:pass idempotency:skip handler:pass output:pass"
		write = "lookup:pass input:pass permission:pass approval:pass deadline:pass idempotency:pass handler:pass output:pass"
	)
	type ending struct {
		Decisions  string
		RefusedBy  string
		HandlerRan bool
	}
	want := map[string][]ending{
		"read-ticket":          {{read, "", true}},
		"preview-before-write": {{read, "", true}},
		"write-needs-approval": {{"lookup:pass input:pass permission:pass approval:refuse:approval_required", "approval", false}},
		"invalid-arguments":    {{"lookup:pass input:refuse:invalid_arguments", "input", false}},
		"permission-boundary":  {{"lookup:pass input:pass permission:refuse:permission_denied", "permission", false}},
		"duplicate-action": {{write, "", true},
			{"lookup:pass input:pass permission:pass approval:pass deadline:pass idempotency:replay", "", false}},
		"idempotency-conflict": {{write, "", true},
			{"lookup:pass input:pass permission:pass approval:pass deadline:pass idempotency:refuse:idempotency_conflict", "idempotency", false}},
		"transient-timeout": {{"lookup:pass input:pass permission:pass approval:skip deadline:refuse:tool_timeout", "deadline", false}},
		"bounded-list":      {{read, "", true}},
		"ticket-not-found": {{"lookup:pass input:pass permission:pass approval:skip deadline:pass idempotency:skip " +
			"handler:refuse:ticket_not_found", "handler", true}},
		"invalid-cursor": {{"lookup:pass input:pass permission:pass approval:skip deadline:pass idempotency:skip " +
			"handler:refuse:invalid_cursor", "handler", true}},
	}
	var order []string
	// The contracts of this surface ask for neither.
	for _, control := range registry.Without("budget", "rate") {
		order = append(order, control.Name)
	}
	_, pairs := replay(t, plan(datasets.ToolCases))
	for _, pair := range pairs {
		var got []ending
		for _, step := range pair.Candidate.Steps {
			var decisions, names []string
			for _, d := range step.Trace.Decisions {
				decisions = append(decisions, strings.TrimSuffix(d.Control+":"+string(d.Verdict)+":"+string(d.Code), ":"))
				names = append(names, d.Control)
			}
			got = append(got, ending{strings.Join(decisions, " "), step.Trace.RefusedBy(), step.Trace.HandlerRan})

			if len(names) > len(order) || !slices.Equal(names, order[:len(names)]) {
				t.Errorf("%s: the controls %v are not the first of %v", pair.Case.ID, names, order)
			}
			if reached := slices.Contains(names, "handler"); reached != step.Trace.HandlerRan {
				t.Errorf("%s: handler ran = %v, decided = %v", pair.Case.ID, step.Trace.HandlerRan, reached)
			}
			if refused := step.Trace.RefusedBy() != ""; refused == step.OK() {
				t.Errorf("%s: refused = %v, ok = %v", pair.Case.ID, refused, step.OK())
			}
			if !strings.HasPrefix(step.Trace.Fingerprint, "sha256:") {
				t.Errorf("%s: fingerprint %q", pair.Case.ID, step.Trace.Fingerprint)
			}
		}
		if diff := cmp.Diff(want[pair.Case.ID], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pair.Case.ID, diff)
		}
	}
}

func TestExperimentEffects(t *testing.T) {
	type effects struct{ Baseline, Candidate []int }
	want := map[string]effects{
		"read-ticket":          {[]int{0}, []int{0}},
		"preview-before-write": {[]int{1}, []int{0}},
		"write-needs-approval": {[]int{1}, []int{0}},
		"invalid-arguments":    {[]int{1}, []int{0}},
		"permission-boundary":  {[]int{1}, []int{0}},
		"duplicate-action":     {[]int{1, 1}, []int{1, 0}},
		"idempotency-conflict": {[]int{1, 1}, []int{1, 0}},
		"transient-timeout":    {[]int{0}, []int{0}},
		"bounded-list":         {[]int{0}, []int{0}},
		"ticket-not-found":     {[]int{0}, []int{0}},
		"invalid-cursor":       {[]int{0}, []int{0}},
	}
	got := make(map[string]effects)
	_, pairs := replay(t, plan(datasets.ToolCases))
	for _, pair := range pairs {
		counts := func(run *eval.Run) (counts []int) {
			sum := 0
			for _, step := range run.Steps {
				counts = append(counts, step.SideEffects)
				sum += step.SideEffects
			}
			if sum != run.SideEffects {
				t.Errorf("%s on %s: %d effects, but the steps have %d", pair.Case.ID, run.Strategy, run.SideEffects, sum)
			}
			return counts
		}
		got[pair.Case.ID] = effects{counts(pair.Baseline), counts(&pair.Candidate)}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

// A write that is refused says that nothing was applied.
func TestExperimentOutcomes(t *testing.T) {
	_, pairs := replay(t, plan(datasets.ToolCases))
	refused := 0
	for _, pair := range pairs {
		if e := pair.Candidate.Last().Error; e != nil {
			refused++
			if e.Outcome != tool.NotApplied || e.NextAction == "" {
				t.Errorf("%s: outcome %q, next action %q", pair.Case.ID, e.Outcome, e.NextAction)
			}
		}
	}
	if refused != 7 {
		t.Errorf("%d refusals, want 7", refused)
	}
}
