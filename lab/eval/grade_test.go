package eval_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

func output(text string) eval.Step {
	return eval.Step{Result: tool.Result{Output: json.RawMessage(text)}}
}

func failure(code tool.Code, retryable bool) eval.Step {
	return eval.Step{Result: tool.Result{Error: &tool.Error{Code: code, Category: tool.Policy, Retryable: retryable}}}
}

func replayed(step eval.Step) eval.Step {
	step.Replayed = true
	return step
}

func steps(list ...eval.Step) eval.Run { return eval.Run{Steps: list} }

func TestGraders(t *testing.T) {
	type want struct {
		Passed           bool
		Expected, Actual string
	}
	counting := func(run eval.Run, effects int) eval.Run {
		run.SideEffects = effects
		return run
	}
	expecting := func(ok bool, effects int) dataset.Expectation {
		return dataset.Expectation{OK: &ok, SideEffectCount: &effects}
	}
	code := func(c string) dataset.Expectation { return dataset.Expectation{ErrorCode: &c} }
	retryable := func(b bool) dataset.Expectation { return dataset.Expectation{Retryable: &b} }
	replays := func(b bool) dataset.Expectation { return dataset.Expectation{Replayed: &b} }
	keys := func(k ...string) dataset.Expectation {
		return dataset.Expectation{OutputKeys: append([]string{}, k...)}
	}
	count := func(n int) dataset.Expectation { return dataset.Expectation{OutputCount: &n} }
	cursor := func(b bool) dataset.Expectation { return dataset.Expectation{HasNextCursor: &b} }

	accepts := func(b bool) dataset.Expectation { return dataset.Expectation{Accepted: &b} }
	crossed := func(input tool.Verdict, code tool.Code) eval.Step {
		s := failure(code, false)
		s.Trace.Decisions = []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: "input", Verdict: input}}
		return s
	}
	done, denied := output(`{}`), failure(tool.PermissionDenied, false)
	tests := []struct {
		grader string
		name   string
		expect dataset.Expectation
		run    eval.Run
		want   want
	}{
		{"ok", "success as expected", expecting(true, 0), steps(done), want{true, `true`, `true`}},
		{"ok", "failure as expected", expecting(false, 0), steps(denied), want{true, `false`, `false`}},
		{"ok", "failure", expecting(true, 0), steps(denied), want{false, `true`, `false`}},
		{"ok", "success", expecting(false, 0), steps(done), want{false, `false`, `true`}},
		{"ok", "of the last step", expecting(true, 0), steps(denied, done), want{true, `true`, `true`}},

		{"accepted", "by the input control", accepts(true), steps(crossed(tool.Pass, tool.TicketNotFound)), want{true, `true`, `true`}},
		{"accepted", "refused by it", accepts(true), steps(crossed(tool.Refuse, tool.InvalidArguments)), want{false, `true`, `false`}},
		{"accepted", "refused, as expected", accepts(false), steps(crossed(tool.Refuse, tool.InvalidArguments)), want{true, `false`, `false`}},
		{"accepted", "refused before it", accepts(false), steps(eval.Step{Result: tool.Result{Error: denied.Error, Trace: tool.Trace{Decisions: []tool.Decision{{Control: "lookup", Verdict: tool.Refuse}}}}}), want{false, `false`, `null`}},
		{"accepted", "by a server", accepts(true), steps(done), want{true, `true`, `true`}},
		{"accepted", "refused by a server", accepts(true), steps(failure(tool.InvalidArguments, false)), want{false, `true`, `false`}},
		{"accepted", "no tool of a server", accepts(false), steps(failure(tool.ToolNotFound, false)), want{true, `false`, `false`}},
		{"accepted", "in a server's own words", accepts(false), steps(failure(tool.ToolFailed, false)), want{false, `false`, `null`}},

		{"side_effect_count", "none", expecting(true, 0), counting(steps(done), 0), want{true, `0`, `0`}},
		{"side_effect_count", "one too many", expecting(true, 1), counting(steps(done, done), 2), want{false, `1`, `2`}},
		{"side_effect_count", "one too few", expecting(true, 1), counting(steps(done), 0), want{false, `1`, `0`}},
		{"side_effect_count", "many", expecting(true, 1_000_000_000), counting(steps(done), 1_000_000_000), want{true, `1000000000`, `1000000000`}},
		{"side_effect_count", "around what is kept ready", expecting(true, 31), counting(steps(done), 32), want{false, `31`, `32`}},
		{"side_effect_count", "below zero", expecting(true, 0), counting(steps(done), -2), want{false, `0`, `-2`}},

		{"error_code", "as expected", code("permission_denied"), steps(denied), want{true, `"permission_denied"`, `"permission_denied"`}},
		{"error_code", "another", code("approval_required"), steps(denied), want{false, `"approval_required"`, `"permission_denied"`}},
		{"error_code", "none", code("approval_required"), steps(done), want{false, `"approval_required"`, `null`}},
		{"error_code", "of the last step", code("permission_denied"), steps(denied, done), want{false, `"permission_denied"`, `null`}},
		{"error_code", "expected as the text null", code("null"), steps(done), want{false, `"null"`, `null`}},
		{"error_code", "that needs escapes", code("a\"\n"), steps(failure("a\"\n", false)), want{true, `"a\"\n"`, `"a\"\n"`}},

		{"retryable", "as expected", retryable(true), steps(failure(tool.ToolTimeout, true)), want{true, `true`, `true`}},
		{"retryable", "not, as expected", retryable(false), steps(denied), want{true, `false`, `false`}},
		{"retryable", "not", retryable(true), steps(denied), want{false, `true`, `false`}},
		{"retryable", "a success is neither", retryable(false), steps(done), want{false, `false`, `null`}},
		{"retryable", "of the last step", retryable(true), steps(failure(tool.ToolTimeout, true), denied), want{false, `true`, `false`}},

		{"replayed", "the last step", replays(true), steps(done, replayed(done)), want{true, `true`, `true`}},
		{"replayed", "a step in the middle", replays(true), steps(done, replayed(done), denied), want{true, `true`, `true`}},
		{"replayed", "the first step", replays(false), steps(replayed(done), done), want{false, `false`, `true`}},
		{"replayed", "no step", replays(true), steps(done, done), want{false, `true`, `false`}},
		{"replayed", "no step, as expected", replays(false), steps(done), want{true, `false`, `false`}},

		{"output_keys", "as expected", keys("a", "b"), steps(output(`{"a":1,"b":{"c":2}}`)), want{true, `["a","b"]`, `["a","b"]`}},
		{"output_keys", "in any order", keys("b", "a"), steps(output(`{"b":1,"a":2}`)), want{true, `["a","b"]`, `["a","b"]`}},
		{"output_keys", "one too many", keys("a"), steps(output(`{"a":1,"b":2}`)), want{false, `["a"]`, `["a","b"]`}},
		{"output_keys", "one too few", keys("a", "b"), steps(output(`{"a":1}`)), want{false, `["a","b"]`, `["a"]`}},
		{"output_keys", "none, as expected", keys(), steps(done), want{true, `[]`, `[]`}},
		{"output_keys", "with escapes", keys("\u00e9\n", "\""), steps(output(`{"\u00e9\n":1,"\"":2}`)), want{true, `["\"","é\n"]`, `["\"","é\n"]`}},
		{"output_keys", "with items and a cursor", keys("items", "next_cursor"), steps(output(`{"next_cursor":null,"items":[{"id":1}]}`)),
			want{true, `["items","next_cursor"]`, `["items","next_cursor"]`}},
		{"output_keys", "of an array", keys(), steps(output(`[]`)), want{false, `[]`, `null`}},
		{"output_keys", "of a failure", keys("a"), steps(denied), want{false, `["a"]`, `null`}},
		{"output_keys", "of the last step", keys("a"), steps(output(`{"a":1}`), denied), want{false, `["a"]`, `null`}},

		{"output_count", "as expected", count(3), steps(output(`{"items":[1,[2,2],{"items":[3]}]}`)), want{true, `3`, `3`}},
		{"output_count", "none, as expected", count(0), steps(output(`{"items":[]}`)), want{true, `0`, `0`}},
		{"output_count", "one too many", count(1), steps(output(`{"items":[null,null]}`)), want{false, `1`, `2`}},
		{"output_count", "no items", count(0), steps(output(`{"tickets":[1]}`)), want{false, `0`, `null`}},
		{"output_count", "items that are no array", count(0), steps(output(`{"items":{}}`)), want{false, `0`, `null`}},
		{"output_count", "items that are null", count(0), steps(output(`{"items":null}`)), want{false, `0`, `null`}},
		{"output_count", "items further down", count(1), steps(output(`{"page":{"items":[1]}}`)), want{false, `1`, `null`}},
		{"output_count", "of an array", count(1), steps(output(`[1]`)), want{false, `1`, `null`}},
		{"output_count", "of a failure", count(0), steps(denied), want{false, `0`, `null`}},

		{"has_next_cursor", "as expected", cursor(true), steps(output(`{"next_cursor":"3"}`)), want{true, `true`, `true`}},
		{"has_next_cursor", "null", cursor(true), steps(output(`{"next_cursor":null}`)), want{false, `true`, `false`}},
		{"has_next_cursor", "null, as expected", cursor(false), steps(output(`{"next_cursor":null}`)), want{true, `false`, `false`}},
		{"has_next_cursor", "absent", cursor(true), steps(output(`{"items":[]}`)), want{false, `true`, `false`}},
		{"has_next_cursor", "absent, as expected", cursor(false), steps(done), want{true, `false`, `false`}},
		{"has_next_cursor", "false is not null", cursor(true), steps(output(`{"next_cursor":false}`)), want{true, `true`, `true`}},
		{"has_next_cursor", "no text is not null", cursor(true), steps(output(`{"next_cursor":""}`)), want{true, `true`, `true`}},
		{"has_next_cursor", "an object is not null", cursor(false), steps(output(`{"next_cursor":{"after":null},"z":null}`)), want{false, `false`, `true`}},
		{"has_next_cursor", "further down", cursor(true), steps(output(`{"page":{"next_cursor":"3"}}`)), want{false, `true`, `false`}},
		{"has_next_cursor", "of a failure", cursor(true), steps(denied), want{false, `true`, `null`}},
	}
	for _, row := range answerRows() {
		// Each grades the last step, and nothing but the last.
		expect := dataset.Expectation{IsError: row.e.IsError, ContentContains: row.e.ContentContains,
			MaxOutputBytes: row.e.MaxOutputBytes, SchemaValid: row.e.SchemaValid}
		tests = append(tests, struct {
			grader string
			name   string
			expect dataset.Expectation
			run    eval.Run
			want   want
		}{row.grader, row.name, expect, steps(done, row.step), want{row.passed, row.expected, row.actual}})
	}
	covered := make(map[string]map[bool]bool)
	for _, test := range tests {
		t.Run(test.grader+"/"+test.name, func(t *testing.T) {
			for _, g := range eval.Grades(test.expect, &test.run) {
				if g.Name != test.grader {
					continue
				}
				got := want{g.Passed, string(g.Expected), string(g.Actual)}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if covered[g.Name] == nil {
					covered[g.Name] = make(map[bool]bool)
				}
				covered[g.Name][g.Passed] = true
				return
			}
			t.Errorf("no grade")
		})
	}
	for _, g := range eval.Graders() {
		if !covered[g.Name][true] || !covered[g.Name][false] {
			t.Errorf("%s does not pass and fail in this table", g.Name)
		}
		if g.Judges == "" {
			t.Errorf("%s does not say what it judges", g.Name)
		}
	}
}

// A grader judges where it is asked. All come in the order of the list.
func TestGradesAsked(t *testing.T) {
	names := func(e dataset.Expectation) (names []string) {
		run := steps(output(`{}`))
		for _, g := range eval.Grades(e, &run) {
			names = append(names, g.Name)
		}
		return names
	}
	var all []string
	for _, g := range eval.Graders() {
		all = append(all, g.Name)
	}
	if diff := cmp.Diff(fields("ok side_effect_count accepted error_code retryable replayed output_keys output_count has_next_cursor is_error content_contains max_output_bytes schema_valid"), all); diff != "" {
		t.Errorf("graders (-want +got):\n%s", diff)
	}
	tests := []struct {
		expect dataset.Expectation
		want   string
	}{
		{dataset.Expectation{}, ""},
		{dataset.Expectation{OK: ptr(false)}, "ok"},
		{dataset.Expectation{SideEffectCount: ptr(0)}, "side_effect_count"},
		{dataset.Expectation{Accepted: ptr(false)}, "accepted"},
		{dataset.Expectation{ErrorCode: ptr("")}, "error_code"},
		{dataset.Expectation{Retryable: ptr(false)}, "retryable"},
		{dataset.Expectation{Replayed: ptr(false)}, "replayed"},
		{dataset.Expectation{OutputKeys: []string{}}, "output_keys"},
		{dataset.Expectation{OutputCount: ptr(0)}, "output_count"},
		{dataset.Expectation{HasNextCursor: ptr(false)}, "has_next_cursor"},
		{dataset.Expectation{IsError: ptr(false)}, "is_error"},
		{dataset.Expectation{ContentContains: ptr("")}, "content_contains"},
		{dataset.Expectation{MaxOutputBytes: ptr(0)}, "max_output_bytes"},
		{dataset.Expectation{SchemaValid: ptr(false)}, "schema_valid"},
		{dataset.Expectation{ErrorCode: ptr("x"), Retryable: ptr(true), Replayed: ptr(true), OutputKeys: []string{"x"},
			OutputCount: ptr(1), HasNextCursor: ptr(true)}, "error_code retryable replayed output_keys output_count has_next_cursor"},
	}
	for _, test := range tests {
		want := append([]string(nil), fields(test.want)...)
		if diff := cmp.Diff(want, names(test.expect)); diff != "" {
			t.Errorf("grades (-want +got):\n%s", diff)
		}
	}
}

// The list of graders is handed out as a copy.
func TestGradersAreOneList(t *testing.T) {
	eval.Graders()[0].Name = "changed"
	if name := eval.Graders()[0].Name; name != "ok" {
		t.Errorf("the first grader is %q", name)
	}
}
