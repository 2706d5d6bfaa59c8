package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// turns is a surface of which each session is one of another surface, in turn, and
// the last one for ever.
type turns struct {
	tool.Surface
	of     []tool.Surface
	opened int
}

func inTurn(of ...tool.Surface) *turns { return &turns{Surface: of[0], of: of} }

func (s *turns) Open(ctx context.Context) (tool.Session, error) {
	next := s.of[min(s.opened, len(s.of)-1)]
	s.opened++
	return next.Open(ctx)
}

// seen is a surface over a backend outside, whose n-th proposal comes to the n-th
// result; effects are what is found at each look, and at the end.
type seen struct {
	script
	results []tool.Result
	effects [][]tool.Effect
	late    []tool.Effect
}

func (s *seen) Open(context.Context) (tool.Session, error) { return &seenSession{seen: s}, nil }

type seenSession struct {
	seen  *seen
	looks int
}

func (s *seenSession) Call(_ context.Context, call tool.Call) tool.Result {
	var which struct{ N int }
	if err := json.Unmarshal(call.Proposal.Arguments, &which); err != nil {
		panic(err)
	}
	return s.seen.results[which.N]
}

func (s *seenSession) Observe(context.Context) ([]tool.Effect, error) {
	s.looks++
	if s.looks > len(s.seen.effects) {
		return nil, nil
	}
	return s.seen.effects[s.looks-1], nil
}

func (s *seenSession) Settle(context.Context) ([]tool.Effect, error) { return s.seen.late, nil }
func (s *seenSession) Lost() error                                   { return nil }
func (s *seenSession) Effects() int                                  { panic("Effects of an observed session") }
func (s *seenSession) Close() error                                  { return nil }

func repeated(t testing.TB, surface tool.Surface, c *dataset.Case, proposals []dataset.Proposal, times int) eval.Run {
	t.Helper()
	run, err := eval.PlayRepeated(t.Context(), surface, c, proposals, times)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// repetition is the grade that tells of repetitions, or nil.
func repetition(run *eval.Run) *eval.Grade {
	for i := range run.Grades {
		if run.Grades[i].Name == eval.Repeated {
			return &run.Grades[i]
		}
	}
	return nil
}

// fullResult is one with something in every member.
func fullResult() tool.Result {
	return tool.Result{Output: json.RawMessage(`{"a":1}`), Took: 5 * time.Millisecond,
		Trace: tool.Trace{Decisions: []tool.Decision{{Control: "lookup", Verdict: tool.Pass}}, HandlerRan: true, Fingerprint: "sha256:1"}}
}

func fullError() tool.Result {
	r := fullResult()
	r.Output, r.Error = nil, &tool.Error{Code: "c", Category: tool.Policy, Message: "m", Details: json.RawMessage(`{"d":1}`), NextAction: "n", Outcome: tool.NotApplied}
	return r
}

// variations of a result, and whether a server outside may differ by them.
var variations = []struct {
	name    string
	from    func() tool.Result
	change  func(*tool.Result)
	outside bool
}{
	{"output", fullResult, func(r *tool.Result) { r.Output = json.RawMessage(`{"a":2}`) }, false},
	{"another empty output", func() tool.Result { return tool.Result{Output: json.RawMessage(`{}`)} }, func(r *tool.Result) { r.Output = json.RawMessage(`[]`) }, false},
	{"null for nothing", func() tool.Result { return tool.Result{Output: json.RawMessage(`""`)} }, func(r *tool.Result) { r.Output = json.RawMessage(`null`) }, false},
	{"spelling", func() tool.Result { return tool.Result{Output: json.RawMessage(`"\u00e9"`)} }, func(r *tool.Result) { r.Output = json.RawMessage(`"é"`) }, false},
	{"failure", fullResult, func(r *tool.Result) { *r = fullError() }, false},
	{"code", fullError, func(r *tool.Result) { r.Error.Code = "x" }, false},
	{"category", fullError, func(r *tool.Result) { r.Error.Category = tool.Internal }, false},
	{"message", fullError, func(r *tool.Result) { r.Error.Message = "x" }, false},
	{"retryable", fullError, func(r *tool.Result) { r.Error.Retryable = true }, false},
	{"details", fullError, func(r *tool.Result) { r.Error.Details = json.RawMessage(`{"d":2}`) }, false},
	{"next action", fullError, func(r *tool.Result) { r.Error.NextAction = "x" }, false},
	{"outcome", fullError, func(r *tool.Result) { r.Error.Outcome = tool.Unknown }, false},
	{"replayed", fullResult, func(r *tool.Result) { r.Replayed = true }, false},
	{"replaced by", fullResult, func(r *tool.Result) { r.ReplacedBy = "x" }, false},
	{"decision", fullResult, func(r *tool.Result) {
		r.Trace.Decisions = []tool.Decision{{Control: "lookup", Verdict: tool.Skip}}
	}, false},
	{"handler", fullResult, func(r *tool.Result) { r.Trace.HandlerRan = false }, false},
	{"fault", fullResult, func(r *tool.Result) { r.Trace.Fault = "x" }, false},
	{"time", fullResult, func(r *tool.Result) { r.Took++; r.Took *= 2 }, true},
	{"fingerprint", fullResult, func(r *tool.Result) { r.Trace.Fingerprint = "sha256:2" }, true},
	{"size of the answer", fullResult, func(r *tool.Result) { r.Reply = &tool.Reply{Bytes: 9} }, true},
	{"another list of tools", fullResult, func(r *tool.Result) { r.Trace.ListChanged = true }, true},
}

// Whatever differs fails the case, at whatever time it does, and the grade tells both.
func TestRepeatFindsWhatDiffers(t *testing.T) {
	for _, v := range variations {
		first, other := v.from(), v.from()
		v.change(&other)
		own := v.name == "size of the answer" || v.name == "another list of tools" // which no surface of the lab's has
		for _, kind := range []struct {
			name    string
			surface func(tool.Result) tool.Surface
			same    bool
		}{
			{"of the lab", func(r tool.Result) tool.Surface { return answering(r) }, own},
			{"outside", func(r tool.Result) tool.Surface { return &seen{results: []tool.Result{r}} }, v.outside},
		} {
			t.Run(v.name+" "+kind.name, func(t *testing.T) {
				c := &dataset.Case{ID: "c"}
				proposals := ordered(`{"n":0}`)
				surface := inTurn(kind.surface(first), kind.surface(first), kind.surface(other))
				run := repeated(t, surface, c, proposals, 4)
				g := repetition(&run)
				if run.Passed != kind.same || (g == nil) != kind.same {
					t.Fatalf("passed: %v, grade %+v; want them the same: %v", run.Passed, g, kind.same)
				}
				want := 3 // what came later says no more
				if kind.same {
					want = 4
				} else if g.Passed || !json.Valid(g.Expected) || !json.Valid(g.Actual) || !strings.HasPrefix(string(g.Actual), `{"time":3,`) {
					t.Errorf("grade %s, %s", g.Expected, g.Actual)
				}
				if surface.opened != want {
					t.Errorf("%d sessions, want %d", surface.opened, want)
				}
				if diff := cmp.Diff(repeated(t, kind.surface(first), c, proposals, 1).Steps, run.Steps); diff != "" {
					t.Errorf("the run is not the first one:\n%s", diff)
				}
				// Twice did not show it.
				if run := repeated(t, inTurn(kind.surface(first), kind.surface(first), kind.surface(other)), c, proposals, 2); !run.Passed {
					t.Errorf("%+v", run.Grades)
				}
			})
		}
	}
}

// Only the steps that differ are told.
func TestRepeatTellsWhatDiffers(t *testing.T) {
	say := func(text string) *seen {
		return &seen{results: []tool.Result{fullResult(), {Output: json.RawMessage(`"` + text + `"`)}}}
	}
	run := repeated(t, inTurn(say("x"), say("<y>")), &dataset.Case{ID: "c"}, ordered(`{"n":0}`, `{"n":1}`), 2)
	g := repetition(&run)
	if g == nil {
		t.Fatal("no grade")
	}
	const told = `{"time":%d,"results":[{"step":2,"ok":true,"output":"%s","side_effects":0,"replayed":false,"handler_ran":false}]}`
	want := []string{fmt.Sprintf(told, 1, "x"), fmt.Sprintf(told, 2, "<y>")}
	if diff := cmp.Diff(want, []string{string(g.Expected), string(g.Actual)}); diff != "" {
		t.Errorf("grade (-want +got):\n%s", diff)
	}
}

// What a run changed has to be the same, in whatever order it was found.
func TestRepeatComparesEffects(t *testing.T) {
	a, b, c := tool.Effect{Resource: "a", Change: tool.Added, After: 1}, tool.Effect{Resource: "b", Change: tool.Added}, tool.Effect{Resource: "a", Change: tool.Added, After: 2}
	list := func(effects ...tool.Effect) []tool.Effect { return effects }
	steps := func(first, second []tool.Effect, late ...tool.Effect) *seen {
		return &seen{results: []tool.Result{fullResult(), fullResult()}, effects: [][]tool.Effect{first, second}, late: late}
	}
	tests := []struct {
		name           string
		first, other   *seen
		same, together bool // one call after the other, and at the same time
	}{
		{"the same", steps(list(a), list(b)), steps(list(a), list(b)), true, true},
		{"another order of them", steps(list(a, b), nil), steps(list(b, a), nil), true, true},
		{"of another step", steps(list(a), list(b)), steps(list(b), list(a)), false, false},
		{"fewer", steps(list(a, b), nil), steps(list(a), nil), false, false},
		{"another size", steps(list(a), nil), steps(list(c), nil), false, false},
		{"later", steps(nil, nil), steps(nil, nil, b), false, false},
	}
	for _, test := range tests {
		for parallel, same := range map[bool]bool{false: test.same, true: test.together} {
			c := &dataset.Case{ID: "c", Stage: &dataset.Stage{Parallel: parallel}}
			run := repeated(t, inTurn(test.first, test.other), c, ordered(`{"n":0}`, `{"n":1}`), 2)
			if run.Passed != same || run.SideEffects != len(slices.Concat(test.first.effects[0], map[bool][]tool.Effect{false: test.first.effects[1]}[parallel], test.first.late)) {
				t.Errorf("%s, parallel %v: passed: %v with %d effects", test.name, parallel, run.Passed, run.SideEffects)
			}
		}
	}
	// Of the lab's own backend the number is known.
	counting := func(effects ...int) *script { return &script{effects: effects} }
	if run := repeated(t, inTurn(counting(0, 1), counting(0, 1), counting(0, 2)), &dataset.Case{ID: "c"}, ordered(`{}`), 3); run.Passed || run.SideEffects != 1 {
		t.Errorf("passed: %v with %d effects", run.Passed, run.SideEffects)
	}
}

// Which of several proposals that start together comes first is chance; what they
// come to together is not.
func TestRepeatInParallel(t *testing.T) {
	results := func(texts ...string) *seen {
		s := new(seen)
		for _, text := range texts {
			s.results = append(s.results, tool.Result{Output: json.RawMessage(`"` + text + `"`)})
		}
		return s
	}
	proposals := ordered(`{"n":0}`, `{"n":1}`, `{"n":2}`)
	for _, test := range []struct {
		other            *seen
		inOrder, anyhow  bool
		expected, actual string
	}{
		{results("x", "x", "y"), true, true, "", ""},
		{results("y", "x", "x"), false, true, "", ""},
		{results("x", "y", "y"), false, false, `"x"`, `"y"`},
		{results("x", "x", "z"), false, false, `"y"`, `"z"`},
	} {
		for parallel, same := range map[bool]bool{false: test.inOrder, true: test.anyhow} {
			c := &dataset.Case{ID: "c", Stage: &dataset.Stage{Parallel: parallel}}
			run := repeated(t, inTurn(results("x", "x", "y"), test.other), c, proposals, 2)
			if run.Passed != same {
				t.Errorf("parallel %v: passed: %v, want %v", parallel, run.Passed, same)
			}
			if g := repetition(&run); parallel && !same {
				for _, side := range []struct {
					got  json.RawMessage
					want string
				}{{g.Expected, test.expected}, {g.Actual, test.actual}} {
					if strings.Count(string(side.got), `"output"`) != 1 || !strings.Contains(string(side.got), `"output":`+side.want) || strings.Contains(string(side.got), `"step"`) {
						t.Errorf("grade %s, want only %s", side.got, side.want)
					}
				}
			}
		}
	}
}

// The state at the end, what could not be shown, and every attempt are results too.
func TestRepeatOfStagedCases(t *testing.T) {
	c := stagedCase(t, by+`"recovery":"auto","approvals":[{"proposal":0,"approver":{"id":"lead","permissions":[]},"expires_at_ms":9}],"proposals":[{"name":"x","arguments":{}}]`, `"ok":true,"side_effect_count":0`)
	failing := func(times int, code tool.Code, wait time.Duration) *diary {
		d := &diary{advice: func(attempts int) tool.NextStep {
			return tool.NextStep{Action: map[bool]tool.Action{true: tool.Retry, false: tool.Stop}[attempts <= times], Wait: wait, Reason: "because"}
		}}
		d.answer = func(_ tool.Call, attempt int) tool.Result {
			if attempt <= times {
				return tool.Result{Error: &tool.Error{Code: code}}
			}
			return tool.Result{Output: json.RawMessage(`{}`)}
		}
		return d
	}
	c.Expected = dataset.Expectation{OK: ptr(true)}
	for _, test := range []struct {
		name         string
		first, other *diary
		want         string // in the grade; empty where they are the same
	}{
		{"the same", failing(1, "a", 0), failing(1, "a", 0), ""},
		{"one more", failing(1, "a", 0), failing(2, "a", 0), `"at_the_end":{"state":{"calls":3}`},
		{"another code", failing(1, "a", 0), failing(1, "b", 0), `"code":"b"`},
		{"another wait", failing(1, "a", 0), failing(1, "a", time.Second), `"wait_ms":1000`},
	} {
		run := repeated(t, inTurn(test.first, test.other), c, c.Candidate, 2)
		g := repetition(&run)
		if run.Passed != (test.want == "") || g != nil && !strings.Contains(string(g.Actual), test.want) {
			t.Errorf("%s: passed: %v, grade %+v", test.name, run.Passed, g)
		}
	}
	unshown := stagedCase(t, by+`"approvals":[{"call":{"name":"unknown","arguments":{}},"approver":{"id":"lead","permissions":[]},"expires_at_ms":9}],"proposals":[{"name":"x","arguments":{}}]`, `"ok":true,"side_effect_count":0`)
	unshown.Expected = dataset.Expectation{OK: ptr(true)}
	if run := repeated(t, new(diary), unshown, unshown.Candidate, 3); !run.Passed || len(run.Unshown) != 1 {
		t.Errorf("%+v", run)
	}
	for _, other := range []*shows{{state: `{"calls":2}`}, {receipts: `[1]`}} {
		plain := stagedCase(t, by+`"proposals":[{"name":"x","arguments":{}}]`, `"ok":true,"side_effect_count":1`)
		run := repeated(t, inTurn(&shows{}, other), plain, plain.Candidate, 2)
		if g := repetition(&run); g == nil || !strings.HasPrefix(string(g.Actual), `{"time":2,"results":[],"at_the_end":{"state":`) || !strings.Contains(string(g.Actual), other.state+other.receipts) {
			t.Errorf("%+v: %+v", other, g)
		}
	}
	if run := repeated(t, inTurn(new(diary), &shows{}), unshown, unshown.Candidate, 2); run.Passed || !strings.Contains(string(repetition(&run).Expected), `"at_the_end":{"unshown":[{"approval":0,"error":{"code":"tool_not_found",`) {
		t.Errorf("%+v", run)
	}
}

// shows is a diary that shows any call, and whose state and receipts may be others.
type shows struct {
	diary
	state, receipts string
}

func (s *shows) Open(ctx context.Context) (tool.Session, error) {
	opened, err := s.diary.Open(ctx)
	return showing{opened.(*diarySession), s}, err
}

type showing struct {
	*diarySession
	of *shows
}

func (s showing) State() json.RawMessage {
	if s.of.state == "" {
		return s.diarySession.State()
	}
	return json.RawMessage(s.of.state)
}

func (s showing) Receipts() json.RawMessage {
	if s.of.receipts == "" {
		return s.diarySession.Receipts()
	}
	return json.RawMessage(s.of.receipts)
}

func (showing) Pending(context.Context, tool.Call) (tool.Pending, *tool.Error) {
	return tool.Pending{}, nil
}

// A repetition that cannot run leaves a pass unproven, and a failure a failure; what
// stops a replay stops it here too.
func TestRepeatThatCouldNotRun(t *testing.T) {
	gone := &server{name: "after", down: &tool.Unavailable{Surface: "after", Reason: "it did not start", Detail: "code 7"}}
	for _, test := range []struct {
		name, order, reason string
		passed              bool
	}{
		{"after a pass", `{}`, "at time 2 of 3: it did not start", false},
		{"after a failure", `{"fail":true}`, "", false},
	} {
		c := &dataset.Case{ID: "c", Expected: dataset.Expectation{OK: ptr(true)}}
		run := repeated(t, inTurn(&server{name: "after"}, gone), c, ordered(test.order), 3)
		if run.Passed || run.Ran() != (test.reason == "") || run.Unavailable != nil && (run.Unavailable.Reason != test.reason || run.Grades != nil || run.Unavailable.Detail != "code 7") || len(run.Steps) != 1 {
			t.Errorf("%s: %+v, %v", test.name, run, run.Unavailable)
		}
	}
	if gone.down.Reason != "it did not start" {
		t.Error("the surface's own reason was changed")
	}
	// One that never ran is not tried again, and neither is a todo.
	down := inTurn(gone)
	if run := repeated(t, down, aCase(), ordered(`{}`), 3); run.Unavailable == nil || down.opened != 1 {
		t.Errorf("%+v, opened %d times", run, down.opened)
	}
	todo := inTurn(&script{})
	if run := repeated(t, todo, &dataset.Case{ID: "c", Todo: "what?"}, ordered(`{}`), 3); run.Ran() || todo.opened != 0 {
		t.Errorf("%+v, opened %d times", run, todo.opened)
	}
	broken := &script{open: func(context.Context) error { return errBoom }}
	if _, err := eval.PlayRepeated(t.Context(), inTurn(&script{}, broken), aCase(), ordered(`{}`), 2); !errors.Is(err, errBoom) {
		t.Error(err)
	}
}

// A replay repeats each case on both surfaces, and says so.
func TestReplayRepeats(t *testing.T) {
	flaky := &script{}
	flaky.call = func(context.Context, tool.Call) tool.Result {
		return tool.Result{Output: json.RawMessage(fmt.Sprintf(`{"n":%d}`, flaky.called.Load()))}
	}
	steady := &script{}
	const line = `{"case_id":"%d","intent":"i","actor_permissions":[],"approved":false,"baseline_calls":[{"name":"x","arguments":{}}],"candidate_calls":[{"name":"x","arguments":{}}],"expected":{"ok":true,"side_effect_count":0}}` + "\n"
	for times, want := range map[int][]int64{0: {2, 2}, 1: {2, 2}, 3: {6, 4}} {
		flaky.called.Store(0)
		steady.called.Store(0)
		plan := eval.Plan{Cases: reader([]byte(fmt.Sprintf(line, 1) + fmt.Sprintf(line, 2))), Baseline: steady, Candidate: flaky, Repeat: times, Workers: 1}
		c, err := eval.Replay(t.Context(), plan, func() struct{} { return struct{}{} }, func(struct{}, *eval.Pair) {}, func(struct{}) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got := []int64{steady.called.Load(), flaky.called.Load()}; !slices.Equal(got, want) {
			t.Errorf("%d times: %d calls, want %d", times, got, want)
		}
		if failed := c.Candidate.TotalCases - c.Candidate.PassedCases; c.GatePassed() != (times < 2) || failed != map[bool]int{true: 2}[times > 1] || c.Baseline.PassedCases != 2 {
			t.Errorf("%d times: gate %v, %d failed", times, c.GatePassed(), failed)
		}
		if want := map[bool]int{true: 3}[times > 1]; c.Repeat != want {
			t.Errorf("Repeat is %d, want %d", c.Repeat, want)
		}
	}
}
