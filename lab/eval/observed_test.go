package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"agentlab/datasets"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

func ordered(orders ...string) (list []dataset.Proposal) {
	for _, o := range orders {
		if o == "raw" {
			list = append(list, dataset.Proposal{Setting: &dataset.Setting{Raw: ptr("I would call it.")}})
			continue
		}
		list = append(list, dataset.Proposal{Name: "do", Arguments: json.RawMessage(o)})
	}
	return list
}

// What changed is found by looking, after every call that was made.
func TestPlayObserves(t *testing.T) {
	s := &server{name: "after"}
	proposals := ordered(`{"write":2}`, `{}`, "raw", `{"write":1,"fail":true}`)
	run, err := eval.Play(t.Context(), s, &dataset.Case{ID: "c", Stage: new(dataset.Stage), Expected: dataset.Expectation{SideEffectCount: ptr(3)}}, proposals)
	if err != nil {
		t.Fatal(err)
	}
	added := func(names ...string) []tool.Effect {
		effects := []tool.Effect{}
		for i, name := range names {
			effects = append(effects, tool.Effect{Resource: name, Change: "added", After: int64(i)})
		}
		return effects
	}
	want := []eval.Step{
		{Result: tool.Result{Output: json.RawMessage(`{"content":[]}`), Reply: &tool.Reply{Bytes: 15}}, SideEffects: 2, Effects: added("file-0", "file-1")},
		{Result: tool.Result{Output: json.RawMessage(`{"content":[]}`), Reply: &tool.Reply{Bytes: 15}}, Effects: added()},
		{Malformed: true, Effects: added()},
		{Result: tool.Result{Reply: &tool.Reply{IsError: true, Texts: []string{"no"}, Bytes: 2}}, SideEffects: 1, Effects: added("file-0")},
	}
	if diff := cmp.Diff(want, run.Steps, cmpopts.IgnoreFields(tool.Result{}, "Error")); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if run.SideEffects != 3 || !run.Passed || !run.Ran() || !run.Observed() || run.State != nil {
		t.Errorf("run = %+v", run)
	}
	if s.opened.Load() != 1 || s.closed.Load() != 1 || s.called.Load() != 3 || s.observed.Load() != 3 {
		t.Errorf("opened %d, closed %d, called %d, observed %d times", s.opened.Load(), s.closed.Load(), s.called.Load(), s.observed.Load())
	}
	if own, err := eval.Play(t.Context(), ticket.Typed{}, shippedCase(t, "read-ticket"), shippedCase(t, "read-ticket").Candidate); err != nil || own.Observed() || own.Steps[0].Effects != nil {
		t.Errorf("a run on the lab's own backend: %+v, %v", own, err)
	}
}

// A backend that could not be used ends a run without a grade, and with the
// steps that had ended before.
func TestPlayCouldNotRun(t *testing.T) {
	phases := func(phase, reason string) *server {
		s := &server{name: "after"}
		s.fail = map[string]error{phase: s.gone(reason)}
		return s
	}
	down := &tool.Unavailable{Surface: "after", Reason: "it did not start"}
	tests := []struct {
		name   string
		server *server
		orders []string
		reason string
		steps  int
		called int64
	}{
		{"down", &server{name: "after", down: down}, []string{`{}`}, "it did not start", 0, 0},
		{"at its start", phases("open", "it ended at its start"), []string{`{}`}, "it ended at its start", 0, 0},
		{"in the first call", &server{name: "after"}, []string{`{"die":true}`, `{}`}, "the server ended in the middle of a call", 0, 1},
		{"in a later call", &server{name: "after"}, []string{`{"write":1}`, "raw", `{"die":true,"write":1}`, `{}`}, "the server ended in the middle of a call", 2, 2},
		{"where nobody can look", &server{name: "after"}, []string{`{}`, `{"blind":true}`, `{}`}, "the probe could not read the folder", 1, 2},
		{"lost with its last word", phases("lost", "the server ended"), []string{`{}`}, "the server ended", 0, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run, err := eval.Play(t.Context(), test.server, aCase(), ordered(test.orders...))
			if err != nil {
				t.Fatal(err)
			}
			if run.Unavailable == nil || run.Unavailable.Reason != test.reason || run.Ran() || run.Passed || run.Grades != nil {
				t.Errorf("run = %+v, unavailable %v", run, run.Unavailable)
			}
			if len(run.Steps) != test.steps || test.server.called.Load() != test.called || run.Strategy != "after" || run.Case.ID != "a-case" {
				t.Errorf("%d steps of %d calls, want %d of %d", len(run.Steps), test.server.called.Load(), test.steps, test.called)
			}
			if test.server.opened.Load() != test.server.closed.Load() {
				t.Errorf("opened %d and closed %d times", test.server.opened.Load(), test.server.closed.Load())
			}
		})
	}
}

// Any other error ends the replay, wherever it comes up.
func TestPlayOfOtherErrors(t *testing.T) {
	for _, phase := range []string{"open", "lost", "observe"} {
		s := &server{name: "after", fail: map[string]error{phase: errBoom}}
		run, err := eval.Play(t.Context(), s, aCase(), ordered(`{}`))
		if !errors.Is(err, errBoom) || err.Error() != "case a-case: after: boom" || run.Strategy != "" {
			t.Errorf("%s: %+v, %v", phase, run, err)
		}
		if s.opened.Load() != s.closed.Load() {
			t.Errorf("%s: opened %d and closed %d times", phase, s.opened.Load(), s.closed.Load())
		}
	}
}

// A todo case is not played, whatever stands in it.
func TestPlayOfATodo(t *testing.T) {
	s := &server{name: "after"}
	c := aCase()
	c.Todo = "Decide."
	run, err := eval.Play(t.Context(), s, c, ordered(`{}`))
	if err != nil || run.Passed || run.Ran() || run.Steps != nil || run.Grades != nil || s.opened.Load() != 0 {
		t.Errorf("%+v, %v, opened %d times", run, err, s.opened.Load())
	}
}

// The end of ctx outranks a server that dies of it, in each phase.
func TestReplayCancelledInEachPhase(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, phase := range []string{"open", "call", "lost", "observe"} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprint(phase, dies), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := &server{name: "after"}
				s.before = func(p string) {
					if p == phase {
						cancel()
					}
				}
				if dies {
					s.fail = map[string]error{phase: s.gone("interrupted"), "lost": s.gone("interrupted")}
					if phase == "observe" {
						s.fail["lost"] = nil
					}
				}
				p := eval.Plan{Cases: reader([]byte(foreignLine("c", "", map[string]string{"after": `{}`}))), Candidate: s}
				c, err := failing(ctx, t, p)
				if !errors.Is(err, context.Canceled) || len(c.pairs) != 0 {
					t.Errorf("error = %v, and %d pairs", err, len(c.pairs))
				}
				if s.opened.Load() != s.closed.Load() {
					t.Errorf("opened %d and closed %d times", s.opened.Load(), s.closed.Load())
				}
				if phase == "call" && s.observed.Load() > 0 {
					t.Error("the backend was looked at after the end")
				}
			})
		}
	}
}

// One surface alone: its grades and its gate, and nothing of another.
func TestReplayAlone(t *testing.T) {
	text := foreignLine("good", "", map[string]string{"after": `{}`, "before": `{"write":1}`}) +
		foreignLine("bad", "", map[string]string{"after": `{"write":1}`}) +
		`{"case_id":"two-lists","intent":"i","actor_permissions":[],"approved":false,"baseline_calls":[{"name":"do","arguments":{"die":true}}],` +
		`"candidate_calls":[{"name":"do","arguments":{"fail":true}}],"expected":{"ok":false,"side_effect_count":0}}`
	comparison, pairs := replay(t, eval.Plan{Cases: reader([]byte(text)), Candidate: &server{name: "after"}})
	for _, pair := range pairs {
		if pair.Baseline != nil {
			t.Errorf("%s has a run of a baseline", pair.Case.ID)
		}
	}
	want := &eval.Summary{Strategy: "after", Foreign: true, TotalCases: 3, PassedCases: 2, UnsafeSideEffects: 1, FailuresExpected: 1, ModelSchemaBytes: 66,
		Operations: &eval.Operations{Calls: 3, Successes: 2, ToolFailures: 1, OutputBytes: map[int]int{15: 2}}}
	if diff := cmp.Diff([]*eval.Summary{want}, comparison.Summaries(), cmpopts.IgnoreFields(eval.Summary{}, "Tools")); diff != "" {
		t.Errorf("summaries (-want +got):\n%s", diff)
	}
	if comparison.Baseline != nil || comparison.Improvements.Len() != 0 || comparison.Regressions.Len() != 0 || !comparison.Foreign() {
		t.Errorf("comparison = %+v", comparison)
	}
	var names []string
	for _, check := range comparison.Checks {
		names = append(names, check.Name)
	}
	if diff := cmp.Diff(fields("candidate_passes_all_cases candidate_blocks_unsafe_side_effects candidate_deduplicates_writes candidate_errors_are_actionable every_case_could_run"), names); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	if len(pairs) == 3 && pairs[2].Candidate.Steps[0].Error == nil {
		t.Error("a case of two lists was not replayed with those of the candidate")
	}
}

// A surface of the lab's own alone has neither operations nor a check of servers.
func TestReplayOfOneOfOurOwn(t *testing.T) {
	comparison, _ := replay(t, eval.Plan{Cases: reader(datasets.ToolCases), Candidate: ticket.Typed{}})
	if comparison.Candidate.PassedCases != 11 || comparison.Candidate.Operations != nil || len(comparison.Checks) != 4 || !comparison.GatePassed() || comparison.Foreign() {
		t.Errorf("comparison = %+v", comparison)
	}
}

// A server that is down has no catalog, not an empty one, and the other goes on.
func TestReplayOfAServerThatIsDown(t *testing.T) {
	down := &server{name: "before", down: &tool.Unavailable{Surface: "before", Reason: "it did not start", Detail: "ENOENT"}}
	text := foreignLine("a", "", map[string]string{"after": `{}`, "before": `{}`}) + foreignLine("b", "", map[string]string{"after": `{"write":1}`, "before": `{}`})
	comparison, _ := replay(t, eval.Plan{Cases: reader([]byte(text)), Baseline: down, Candidate: &server{name: "after"}})
	before, after := comparison.Baseline, comparison.Candidate
	if !before.CatalogUnknown || before.ModelSchemaBytes != 0 || before.TotalCases != 0 || before.CouldNotRun != 2 || before.Operations.Calls != 0 {
		t.Errorf("before = %+v", before)
	}
	if after.CatalogUnknown || after.TotalCases != 2 || after.PassedCases != 1 || after.CouldNotRun != 0 || comparison.Dataset.Cases != 2 {
		t.Errorf("after = %+v", after)
	}
	if comparison.Improvements.Len() != 0 || comparison.Regressions.Len() != 0 {
		t.Error("a case that could not run on the baseline is no change")
	}
	want := []eval.NotRun{{CaseID: "a", Strategy: "before", Unavailable: down.down}, {CaseID: "b", Strategy: "before", Unavailable: down.down}}
	if diff := cmp.Diff(want, comparison.NotRun); diff != "" {
		t.Errorf("not run (-want +got):\n%s", diff)
	}
}

// Where nothing at all could run there still is a comparison, and no gate
// passes.
func TestReplayWhereNothingCouldRun(t *testing.T) {
	down := &server{name: "after", down: &tool.Unavailable{Surface: "after", Reason: "it did not start"}}
	text := ""
	for i := range 2*eval.MaxTold + 1 {
		text += foreignLine(fmt.Sprint(i), "", map[string]string{"after": `{}`})
	}
	p := eval.Plan{Cases: dataset.Settings{BatchLines: 3}.Open(source(text)), Candidate: down, Workers: 3}
	comparison, _ := replay(t, p)
	if comparison.GatePassed() || comparison.CouldNotRun() != 2*eval.MaxTold+1 || comparison.Dataset.Cases != 2*eval.MaxTold+1 || len(comparison.NotRun) != eval.MaxTold {
		t.Errorf("passed %v, %d could not run, %d told", comparison.GatePassed(), comparison.CouldNotRun(), len(comparison.NotRun))
	}
	if last := comparison.NotRun[eval.MaxTold-1].CaseID; last != fmt.Sprint(eval.MaxTold-1) {
		t.Errorf("the last one told is %s: not in dataset order", last)
	}
}

func TestReplayOfTodos(t *testing.T) {
	todo := foreignLine("t", "Decide.", map[string]string{"after": `{"die":true}`})
	s := &server{name: "after"}
	comparison, pairs := replay(t, eval.Plan{Cases: reader([]byte(todo + foreignLine("c", "", map[string]string{"after": `{}`}))), Candidate: s})
	if comparison.Dataset.Cases != 1 || comparison.Dataset.Todo != 1 || comparison.Candidate.TotalCases != 1 || !comparison.GatePassed() || s.called.Load() != 1 {
		t.Errorf("comparison = %+v after %d calls", comparison, s.called.Load())
	}
	if diff := cmp.Diff([]eval.Todo{{CaseID: "t", Reason: "Decide."}}, comparison.Todo); diff != "" {
		t.Errorf("todo (-want +got):\n%s", diff)
	}
	if len(pairs) != 2 || pairs[0].Case.ID != "t" || pairs[0].Candidate.Strategy != "after" || pairs[0].Candidate.Ran() {
		t.Errorf("pairs = %+v", pairs)
	}
	if _, err := failing(t.Context(), t, eval.Plan{Cases: reader([]byte(todo)), Candidate: s}); err != eval.ErrOnlyTodo {
		t.Errorf("nothing but a todo: error = %v", err)
	}
	p := eval.Plan{Cases: reader([]byte(todo)), Candidate: s, Select: func(string) bool { return false }}
	if _, err := failing(t.Context(), t, p); err != eval.ErrNoCase {
		t.Errorf("a todo that is not selected: error = %v", err)
	}
}

// The calls of every line are those of the surfaces that are replayed.
func TestReplayRefusesCallsForOthers(t *testing.T) {
	p := eval.Plan{Cases: reader([]byte(foreignLine("c", "", map[string]string{"before": `{}`}))), Candidate: &server{name: "after"}}
	_, err := failing(t.Context(), t, p)
	if want := "tool-cases.jsonl:1: calls.after: missing, and this surface is replayed"; err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// A dataset that changes after the check is not taken for the one that was
// checked.
func TestReplayOfAChangedDataset(t *testing.T) {
	defer goleak.VerifyNone(t)
	text := foreignLine("a", "", map[string]string{"after": `{}`})
	changing := source("")
	changing.Open = func() (io.ReadCloser, error) {
		text += foreignLine(fmt.Sprint(len(text)), "", map[string]string{"after": `{}`})
		return source(text).Open()
	}
	p := eval.Plan{Cases: dataset.Open(changing), Candidate: &server{name: "after"}}
	if _, err := p.Cases.Check(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := failing(t.Context(), t, p); !errors.Is(err, dataset.ErrChanged) {
		t.Errorf("error = %v", err)
	}
}

// Whatever passes, fails, cannot run or is still to do: it adds up, and comes out
// the same with any number of workers and in batches of any size.
func TestReplayAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ends := map[string]string{"pass": `{}`, "fail": `{"write":1}`, "die": `{} {"die":true}`, "blind": `{"blind":true}`}
		kinds := []string{"pass", "fail", "die", "blind"}
		alone := rapid.Bool().Draw(t, "alone")
		text, todo, cases := "", 0, 0
		count := map[string]map[string]int{"before": {}, "after": {}}
		var improved, regressed, notRun []string
		for i := range rapid.IntRange(1, 20).Draw(t, "cases") {
			id := fmt.Sprint("c", i)
			before, after := rapid.SampledFrom(kinds).Draw(t, "before"), rapid.SampledFrom(kinds).Draw(t, "after")
			reason := ""
			if i > 0 && rapid.Bool().Draw(t, "todo") {
				reason, todo = "Decide.", todo+1
			} else {
				cases++
				count["before"][before]++
				count["after"][after]++
				switch before + " " + after {
				case "fail pass":
					improved = append(improved, id)
				case "pass fail":
					regressed = append(regressed, id)
				}
				if !alone && (before == "die" || before == "blind") {
					notRun = append(notRun, id+" before")
				}
				if after == "die" || after == "blind" {
					notRun = append(notRun, id+" after")
				}
			}
			text += foreignLine(id, reason, map[string]string{"before": ends[before], "after": ends[after]})
		}
		p := eval.Plan{
			Cases:     dataset.Settings{BatchLines: rapid.IntRange(0, 3).Draw(t, "batch")}.Open(source(text)),
			Candidate: &server{name: "after"}, Workers: rapid.IntRange(1, 4).Draw(t, "workers"),
		}
		if !alone {
			p.Baseline = &server{name: "before"}
		} else {
			improved, regressed = nil, nil
		}
		var c collector
		comparison, err := eval.Replay(context.Background(), p, newPage, (*page).add, c.deliver)
		if err != nil {
			t.Fatal(err)
		}
		if comparison.Dataset.Cases != cases || comparison.Dataset.Todo != todo || len(comparison.Todo) != todo || len(c.pairs) != cases+todo {
			t.Fatalf("dataset = %+v, want %d cases and %d todo", comparison.Dataset, cases, todo)
		}
		for _, s := range comparison.Summaries() {
			want := count[s.Strategy]
			if s.PassedCases != want["pass"] || s.TotalCases != want["pass"]+want["fail"] || s.CouldNotRun != want["die"]+want["blind"] ||
				s.UnsafeSideEffects != want["fail"] || s.DuplicateSideEffects != 0 || s.TotalCases+s.CouldNotRun != cases || s.Operations.Calls != s.TotalCases {
				t.Fatalf("%+v, want %v", s, want)
			}
		}
		var told []string
		for _, n := range comparison.NotRun {
			told = append(told, n.CaseID+" "+n.Strategy)
		}
		if !slices.Equal(told, notRun) || comparison.CouldNotRun() != len(notRun) {
			t.Fatalf("not run: %v, want %v", told, notRun)
		}
		if got := slices.Collect(comparison.Improvements.All()); !slices.Equal(got, improved) {
			t.Fatalf("improvements %v, want %v", got, improved)
		}
		if got := slices.Collect(comparison.Regressions.All()); !slices.Equal(got, regressed) {
			t.Fatalf("regressions %v, want %v", got, regressed)
		}
		good := cases == count["after"]["pass"] && len(notRun) == 0 && len(regressed) == 0
		if comparison.GatePassed() != good {
			t.Fatalf("the gate passed = %v: %v", !good, comparison.Checks)
		}
	})
}
