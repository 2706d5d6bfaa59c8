package eval_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// served is a step on a server outside, which answered so.
func served(reply *tool.Reply) eval.Step {
	step := output(`{"content":[]}`)
	step.Reply, step.Effects = reply, []tool.Effect{}
	if reply == nil || reply.IsError {
		step.Output, step.Error = nil, &tool.Error{Code: tool.ToolFailed, Category: tool.Uncategorised}
	}
	return step
}

type answerRow struct {
	grader, name     string
	e                dataset.StepExpectation
	step             eval.Step
	passed           bool
	expected, actual string
}

// answerRows are what is graded of an answer as a server gave it.
func answerRows() []answerRow {
	isError := func(b bool) dataset.StepExpectation { return dataset.StepExpectation{IsError: &b} }
	valid := func(b bool) dataset.StepExpectation { return dataset.StepExpectation{SchemaValid: &b} }
	contains := func(s string) dataset.StepExpectation { return dataset.StepExpectation{ContentContains: &s} }
	most := func(n int) dataset.StepExpectation { return dataset.StepExpectation{MaxOutputBytes: &n} }

	failed := served(&tool.Reply{IsError: true, Texts: []string{"No such file: ü", "second"}, Bytes: 40})
	answered := served(&tool.Reply{Texts: []string{"Wrote 3 lines"}, Bytes: 100})
	silent := served(&tool.Reply{Bytes: 2})
	lost := served(nil) // nobody answered: a timeout, say
	refusedCall := served(nil)
	refusedCall.Error = &tool.Error{Code: tool.ProtocolError, Category: tool.Protocol}
	unread := eval.Step{Result: tool.Result{Error: &tool.Error{Code: tool.MalformedProposal, Category: tool.Protocol}}, Malformed: true}
	own, denied := output(`{"a":"text"}`), failure(tool.PermissionDenied, false)
	long := served(&tool.Reply{Texts: []string{strings.Repeat("ü", 500) + "here" + strings.Repeat("x", 500)}})
	withSchema := func(valid bool) eval.Step { return served(&tool.Reply{SchemaValid: &valid}) }
	u := func(n int) string { return strings.Repeat("ü", n) }
	return []answerRow{
		{"is_error", "said", isError(true), failed, true, `true`, `true`},
		{"is_error", "not said", isError(true), answered, false, `true`, `false`},
		{"is_error", "not said, as expected", isError(false), answered, true, `false`, `false`},
		{"is_error", "no answer is neither", isError(true), lost, false, `true`, `null`},
		{"is_error", "no call of a tool is neither", isError(true), refusedCall, false, `true`, `null`},
		{"is_error", "no proposal is neither", isError(true), unread, false, `true`, `null`},
		{"is_error", "a failure of the lab's own", isError(true), denied, true, `true`, `true`},
		{"is_error", "a success of the lab's own", isError(false), own, true, `false`, `false`},

		{"content_contains", "at the start", contains("Wrote"), answered, true, `"Wrote"`, `"Wrote 3 lines"`},
		{"content_contains", "in another case", contains("wrote"), answered, false, `"wrote"`, `"Wrote 3 lines"`},
		{"content_contains", "in the second text", contains("second"), failed, true, `"second"`, `"second"`},
		{"content_contains", "in none", contains("third"), failed, false, `"third"`, `"No such file: ü\nsecond"`},
		{"content_contains", "across two texts", contains("ü\nsecond"), failed, false, `"ü\nsecond"`, `"No such file: ü\nsecond"`},
		{"content_contains", "no text", contains("x"), silent, false, `"x"`, `null`},
		{"content_contains", "no answer", contains("x"), lost, false, `"x"`, `null`},
		{"content_contains", "of the lab's own", contains(`"a":"te`), own, true, `"\"a\":\"te"`, `"{\"a\":\"text\"}"`},
		{"content_contains", "of a failure of the lab's own", contains("denied"), denied, false, `"denied"`, `null`},
		{"content_contains", "far down", contains("here"), long, true, `"here"`, `"…` + u(20) + "here" + strings.Repeat("x", 176) + `…"`},
		{"content_contains", "nowhere in a long one", contains("there"), long, false, `"there"`, `"` + u(200) + `…"`},

		{"max_output_bytes", "as many", most(100), answered, true, `100`, `100`},
		{"max_output_bytes", "fewer", most(101), answered, true, `101`, `100`},
		{"max_output_bytes", "more", most(99), answered, false, `99`, `100`},
		{"max_output_bytes", "of an error that a server tells", most(39), failed, false, `39`, `40`},
		{"max_output_bytes", "of no answer", most(5), lost, false, `5`, `null`},
		{"max_output_bytes", "of the lab's own", most(12), own, true, `12`, `12`},
		{"max_output_bytes", "more, of the lab's own", most(11), own, false, `11`, `12`},
		{"max_output_bytes", "of a failure of the lab's own", most(5), denied, false, `5`, `null`},

		{"schema_valid", "as it should be", valid(true), withSchema(true), true, `true`, `true`},
		{"schema_valid", "broken", valid(true), withSchema(false), false, `true`, `false`},
		{"schema_valid", "broken, as expected", valid(false), withSchema(false), true, `false`, `false`},
		{"schema_valid", "no schema", valid(true), answered, false, `true`, `null`},
		{"schema_valid", "no answer", valid(false), lost, false, `false`, `null`},
		{"schema_valid", "of the lab's own", valid(true), own, false, `true`, `null`},
	}
}

func TestAnswersOfSteps(t *testing.T) {
	for _, row := range answerRows() {
		t.Run(row.grader+"/"+row.name, func(t *testing.T) {
			run := steps(row.step, output(`{}`))
			grades := eval.Grades(dataset.Expectation{Steps: []*dataset.StepExpectation{&row.e, nil}}, &run)
			got := grades[len(grades)-1]
			if len(grades) != 1 || got.Name != "step 1 "+row.grader || got.Passed != row.passed || string(got.Expected) != row.expected || string(got.Actual) != row.actual {
				t.Errorf("%d grades, the last %s %v %s %s", len(grades), got.Name, got.Passed, got.Expected, got.Actual)
			}
		})
	}
}

// A step that a run does not have is graded as nothing.
func TestAnswerOfNoStep(t *testing.T) {
	run := steps(output(`{}`))
	grades := eval.Grades(dataset.Expectation{Steps: []*dataset.StepExpectation{nil, {ContentContains: ptr("x"), MaxOutputBytes: ptr(9)}}}, &run)
	for _, g := range grades {
		if g.Passed || string(g.Actual) != "null" {
			t.Errorf("%s: %v, %s", g.Name, g.Passed, g.Actual)
		}
	}
}

// However large a text is, a grade shows a little of it, and nothing cut apart.
func TestContentIsShownInPart(t *testing.T) {
	for shift := range 4 {
		content := strings.Repeat("x", shift) + strings.Repeat("😀", 100_000) + "found" + strings.Repeat("é", 100_000)
		for _, sought := range []string{"found", "lost", strings.Repeat("é", 1000)} {
			run := steps(served(&tool.Reply{Texts: []string{content}}))
			g := eval.Grades(dataset.Expectation{ContentContains: &sought}, &run)[0]
			var shown string
			if err := json.Unmarshal(g.Actual, &shown); err != nil {
				t.Fatal(err)
			}
			if n := utf8.RuneCountInString(shown); n > 202 || strings.ContainsRune(shown, utf8.RuneError) {
				t.Errorf("%d characters: %s", n, shown)
			}
			if g.Passed != (sought != "lost") || g.Passed && !strings.Contains(shown, sought[:4]) {
				t.Errorf("%.10s: passed = %v and shows %s", sought, g.Passed, shown)
			}
		}
	}
}
