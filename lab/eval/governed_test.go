package eval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/eval"
	"agentlab/lab/tool"
)

// governed is a surface over a backend outside before which the lab's own controls
// stand. It writes down what the harness does with it, and when. A call named slow
// takes 100 ms; each changes one thing.
type governed struct {
	*server
	mu     sync.Mutex
	lines  []string
	answer func(call tool.Call, attempt int) tool.Result // nil: every call succeeds
	advice func(attempts int) tool.NextStep
	over   bool // the budget is used up
	began  time.Time
}

func newGoverned() *governed { return &governed{server: &server{name: "governed"}} }

func (g *governed) Open(ctx context.Context) (tool.Session, error) {
	opened, err := g.server.Open(ctx)
	if err != nil {
		return nil, err
	}
	g.began = time.Now()
	return &governedSession{connection: opened.(*connection), governed: g, made: make(map[string]int)}, nil
}

type governedSession struct {
	*connection
	governed *governed
	made     map[string]int
}

func (s *governedSession) note(format string, args ...any) {
	g := s.governed
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines = append(g.lines, fmt.Sprintf("%d ", time.Since(g.began).Milliseconds())+fmt.Sprintf(format, args...))
}

func (s *governedSession) Arrange(b tool.Budget) { s.note("budget %v", b) }
func (s *governedSession) Now() time.Time        { return time.Now() }

func (s *governedSession) Unread(_ context.Context, c tool.Caller) (tool.Result, bool) {
	s.note("unread by %s", c.ID)
	return tool.Result{Error: tool.Refusal(tool.BudgetExhausted, nil, "no more"), Reply: &tool.Reply{IsError: true},
		Trace: tool.Trace{Decisions: []tool.Decision{{Control: "budget", Verdict: tool.Refuse, Code: tool.BudgetExhausted}}}}, s.governed.over
}

func (s *governedSession) Pending(_ context.Context, call tool.Call) (tool.Pending, *tool.Error) {
	s.note("show %s by %s", call.Proposal.Name, call.Caller.ID)
	if call.Proposal.Name == "unknown" || len(call.Grants) > 0 {
		return tool.Pending{}, tool.Refusal(tool.ToolNotFound, nil, "no such tool")
	}
	return tool.Pending{Digest: "digest of " + call.Proposal.Name, ResourceVersion: fmt.Sprint("v", s.server.called.Load())}, nil
}

func (s *governedSession) Call(ctx context.Context, call tool.Call) tool.Result {
	name := call.Proposal.Name
	said := name + " by " + call.Caller.ID
	for _, g := range call.Grants {
		at := func(t time.Time) int64 { return t.Sub(s.governed.began).Milliseconds() }
		said += fmt.Sprintf(" %s(%s %s by %s %d-%d)", g.ID, g.Digest, g.ResourceVersion, g.Approver.ID, at(g.IssuedAt), at(g.ExpiresAt))
	}
	s.note("%s", said)
	call.Proposal.Arguments = json.RawMessage(`{"write":1}`)
	result := s.connection.Call(ctx, call)
	result.Trace = tool.Trace{Decisions: []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: "handler", Verdict: tool.Pass}}, HandlerRan: true}
	s.connection.mu.Lock()
	s.made[name]++
	made := s.made[name]
	s.connection.mu.Unlock()
	if s.governed.answer != nil {
		result = s.governed.answer(call, made)
	}
	if name == "slow" {
		time.Sleep(100 * time.Millisecond)
	}
	return result
}

func (s *governedSession) Next(_ tool.Call, _ tool.Result, attempts int) tool.NextStep {
	return s.governed.advice(attempts)
}

// refused is the refusal of a control, as a surface of this kind answers it.
func refused(code tool.Code, control string) tool.Result {
	e := tool.Refusal(code, nil, "no")
	return tool.Result{Error: e, Reply: &tool.Reply{IsError: true, Texts: []string{string(code)}, Bytes: 5},
		Trace: tool.Trace{Decisions: []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: control, Verdict: tool.Refuse, Code: code}}}}
}

// What a case arranges is arranged on the real clock: nothing waits for the time of
// a proposal, and grants are as old as the case says, or older.
func TestGovernedStage(t *testing.T) {
	list := func(items ...string) string { return by + `"proposals":[` + strings.Join(items, ",") + `]` }
	p := func(name, more string) string { return `{"name":"` + name + `","arguments":{}` + more + `}` }
	grant := func(which, more string) string {
		return `{` + which + `,"approver":{"id":"lead","permissions":[]}` + more + `}`
	}
	tests := []struct {
		name    string
		middle  string
		want    []string
		unshown []string
	}{
		{"one after the other", list(p("slow", ""), p("b", `,"at_ms":9000`), p("c", "")),
			[]string{"0 slow by agent", "100 b by agent", "100 c by agent"}, nil},
		{"a budget", list(p("a", "")) + `,"budget":{"proposals":1,"elapsed_ms":2,"concurrent":3,"cost":4}`, []string{"0 a by agent"}, nil},
		{"other callers, and faults that are left out", list(p("a", `,"caller":{"id":"other","permissions":[]},"faults":{"panic":true}`), p("b", "")),
			[]string{"0 a by other", "0 b by agent"}, nil},
		{"an approval from the start", list(p("a", ""), p("b", "")) + `,"approvals":[` + grant(`"proposal":1`, `,"expires_at_ms":40`) + `]`,
			[]string{"0 show b by agent", "0 a by agent grant-1(digest of b v0 by lead 0-40)", "0 b by agent grant-1(digest of b v0 by lead 0-40)"}, nil},
		{"approvals among proposals, in the order of their times",
			list(p("a", `,"at_ms":20`), p("b", ""), p("c", `,"at_ms":30`)) + `,"approvals":[` +
				grant(`"proposal":2`, `,"at_ms":25,"expires_at_ms":40`) + `,` + grant(`"proposal":0`, `,"at_ms":20,"expires_at_ms":20`) + `,` +
				grant(`"call":{"name":"other","arguments":{}}`, `,"at_ms":10,"issued_at_ms":15,"expires_at_ms":90`) + `,` +
				grant(`"proposal":0`, `,"at_ms":31,"expires_at_ms":40`) + `]`,
			[]string{
				"0 show other by agent", "0 show a by agent",
				"0 a by agent grant-3(digest of other v0 by lead -5-70) grant-2(digest of a v0 by lead 0-0)",
				"0 b by agent grant-3(digest of other v0 by lead -5-70) grant-2(digest of a v0 by lead 0-0)",
				"0 show c by agent",
				"0 c by agent grant-3(digest of other v0 by lead -15-60) grant-2(digest of a v0 by lead -10--10) grant-1(digest of c v2 by lead -5-10)",
			}, nil},
		{"a clock that is further than the case", list(p("slow", ""), p("b", `,"at_ms":60`)) + `,"approvals":[` + grant(`"proposal":1`, `,"at_ms":50,"expires_at_ms":99`) + `]`,
			[]string{"0 slow by agent", "100 show b by agent", "100 b by agent grant-1(digest of b v1 by lead 50-99)"}, nil},
		{"approvals of what cannot be shown", list(`{"raw":"?"}`, p("unknown", "")) +
			`,"approvals":[` + grant(`"proposal":0`, `,"expires_at_ms":1`) + `,` + grant(`"proposal":1`, `,"expires_at_ms":1`) + `]`,
			[]string{"0 show unknown by agent", "0 unread by agent", "0 unknown by agent"}, []string{"0 malformed_proposal", "1 tool_not_found"}},
		{"approvals of what cannot be shown, the second first", list(p("a", ""), p("b", `,"at_ms":9`)) +
			`,"approvals":[` + grant(`"call":{"name":"unknown","arguments":{}}`, `,"at_ms":9,"expires_at_ms":10`) + `,` + grant(`"call":{"name":"unknown","arguments":{}}`, `,"expires_at_ms":1`) + `]`,
			[]string{"0 show unknown by agent", "0 a by agent", "0 show unknown by agent", "0 b by agent"}, []string{"0 tool_not_found", "1 tool_not_found"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				surface := newGoverned()
				run := playStaged(t, surface, stagedCase(t, test.middle, `"ok":true,"side_effect_count":0`))
				var unshown []string
				for _, u := range run.Unshown {
					unshown = append(unshown, fmt.Sprintf("%d %s", u.Approval, u.Error.Code))
				}
				if diff := cmp.Diff(test.unshown, unshown); diff != "" {
					t.Errorf("unshown (-want +got):\n%s", diff)
				}
				budget := "0 budget {0 0s 0 0}"
				if test.name == "a budget" {
					budget = "0 budget {1 2ms 3 4}"
				}
				if diff := cmp.Diff(append([]string{budget}, test.want...), surface.lines); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if run.State != nil || run.Receipts != nil || int64(run.SideEffects) != surface.called.Load() || surface.observed.Load() != surface.called.Load() {
					t.Errorf("%d effects, state %s, receipts %s", run.SideEffects, run.State, run.Receipts)
				}
			})
		})
	}
}

// A case that arranges nothing is played as on any server.
func TestPlainCaseOnAGovernedSurface(t *testing.T) {
	surface := newGoverned()
	run, err := eval.Play(t.Context(), surface, aCase(), twoProposals)
	if err != nil || run.SideEffects != 2 || !run.Governed() {
		t.Error(run, err)
	}
	if len(surface.lines) != 2 {
		t.Error(surface.lines)
	}
}

// Recovery does what it is told, really waits, and counts what each attempt has
// changed to the step.
func TestGovernedRecovery(t *testing.T) {
	c := stagedCase(t, by+`"recovery":"auto","proposals":[{"name":"a","arguments":{}},{"name":"b","arguments":{}}]`,
		`"ok":true,"side_effect_count":4,"steps":[{"ok":true,"side_effect_count":3},{"side_effect_count":1}]`)
	synctest.Test(t, func(t *testing.T) {
		surface := newGoverned()
		surface.answer = func(call tool.Call, attempt int) tool.Result {
			if call.Proposal.Name == "a" && attempt < 3 {
				return refused(tool.RateLimited, "rate")
			}
			return tool.Result{Output: json.RawMessage(`{}`), Reply: &tool.Reply{Bytes: 2}, Replayed: attempt == 3}
		}
		surface.advice = func(attempts int) tool.NextStep {
			action := tool.Retry
			if attempts == 2 {
				action = tool.LookUpReceipt
			}
			return tool.NextStep{Action: action, Wait: time.Duration(attempts) * time.Hour, Reason: "it may pass"}
		}
		run := playStaged(t, surface, c)
		want := []string{"rate_limited: retry after 3600000 ms: it may pass", "rate_limited: look_up_receipt after 7200000 ms: it may pass", "ok: proceed after 0 ms: the call succeeded"}
		if diff := cmp.Diff(want, told(&run, 0)); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"0 budget {0 0s 0 0}", "0 a by agent", "3600000 a by agent", "10800000 a by agent", "10800000 b by agent"}, surface.lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !run.Passed || !run.Steps[0].Replayed || run.Steps[0].SideEffects != 3 || len(run.Steps[0].Effects) != 3 || surface.observed.Load() != 4 {
			t.Errorf("run = %+v, failed: %v", run, failedGrades(&run))
		}
	})
}

func TestGovernedRecoveryEnds(t *testing.T) {
	c := stagedCase(t, by+`"recovery":"auto","proposals":[{"name":"a","arguments":{}}]`, `"ok":false,"side_effect_count":10`)
	forever := func(wait time.Duration) *governed {
		surface := newGoverned()
		surface.answer = func(tool.Call, int) tool.Result { return refused(tool.RateLimited, "rate") }
		surface.advice = func(int) tool.NextStep { return tool.NextStep{Action: tool.Retry, Wait: wait} }
		return surface
	}
	synctest.Test(t, func(t *testing.T) {
		run := playStaged(t, forever(-time.Second), c)
		if attempts := told(&run, 0); len(attempts) != 10 || attempts[9] != "rate_limited: stop after 0 ms: the harness makes no more than 10 attempts" {
			t.Error(attempts)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		surface := forever(time.Hour)
		if _, err := eval.Play(ctx, surface, c, c.Candidate); err != context.DeadlineExceeded || surface.called.Load() != 2 {
			t.Errorf("%v after %d calls", err, surface.called.Load())
		}
	})
}

// A proposal that could not be read counts against the budget, and is refused where
// that is used up.
func TestGovernedMalformed(t *testing.T) {
	c := stagedCase(t, by+`"proposals":[{"raw":"?","caller":{"id":"other","permissions":[]}},{"raw":"?"}]`,
		`"ok":false,"side_effect_count":0`)
	for _, over := range []bool{false, true} {
		surface := newGoverned()
		surface.over = over
		run := playStaged(t, surface, c)
		code, control := tool.MalformedProposal, ""
		if over {
			code, control = tool.BudgetExhausted, "budget"
		}
		for i, step := range run.Steps {
			if step.Error.Code != code || step.Malformed == over || step.Trace.RefusedBy() != control || !step.Observed() {
				t.Errorf("step %d: %+v", i+1, step)
			}
		}
		if len(surface.lines) != 3 || !strings.HasSuffix(surface.lines[1], "unread by other") || !strings.HasSuffix(surface.lines[2], "unread by agent") || run.Governed() != over {
			t.Error(surface.lines, run.Governed())
		}
	}
}

// Proposals that start together do so here too, with the grants that each has, and
// with attempts of their own.
func TestGovernedInParallel(t *testing.T) {
	c := stagedCase(t, by+`"recovery":"auto","parallel":true,"approvals":[{"proposal":0,"approver":{"id":"lead","permissions":[]},"expires_at_ms":40},`+
		`{"proposal":1,"approver":{"id":"lead","permissions":[]},"at_ms":10,"expires_at_ms":40}],`+
		`"proposals":[{"name":"slow","arguments":{}},{"name":"slow","arguments":{},"at_ms":20},{"raw":"?"}]`,
		`"ok":false,"side_effect_count":3`)
	synctest.Test(t, func(t *testing.T) {
		surface := newGoverned()
		surface.answer = func(call tool.Call, attempt int) tool.Result {
			if attempt == 1 {
				return refused(tool.ActionInProgress, "idempotency")
			}
			return tool.Result{Output: json.RawMessage(`{}`), Reply: &tool.Reply{Bytes: 2}}
		}
		surface.advice = func(attempts int) tool.NextStep {
			return tool.NextStep{Action: tool.Retry, Wait: time.Second, Reason: "wait"}
		}
		run := playStaged(t, surface, c)
		if took := time.Since(surface.began); took != 1200*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		attempts := len(run.Steps[0].Attempts) + len(run.Steps[1].Attempts)
		if attempts != 3 || !run.Steps[0].OK() || !run.Steps[1].OK() || !run.Steps[2].Malformed || run.Steps[2].SideEffects != 3 || surface.observed.Load() != 1 {
			t.Errorf("run = %+v", run)
		}
		said := make(map[string]int)
		for _, line := range surface.lines {
			said[line]++
		}
		want := map[string]int{
			"0 budget {0 0s 0 0}": 1, "0 show slow by agent": 2, "0 unread by agent": 1,
			"0 slow by agent grant-1(digest of slow v0 by lead 0-40)":                                             1,
			"0 slow by agent grant-1(digest of slow v0 by lead -20-20) grant-2(digest of slow v0 by lead -10-20)": 1,
		}
		for line, times := range want {
			if said[line] != times {
				t.Errorf("%s: %d times, want %d", line, said[line], times)
			}
		}
		if len(surface.lines) != 7 {
			t.Error(surface.lines)
		}
	})
}

// A server that is lost behind the controls ends the case without a grade.
func TestGovernedCouldNotRun(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		surface := newGoverned()
		surface.fail = map[string]error{"lost": surface.gone("the server ended in the middle of a call")}
		c := stagedCase(t, by+`"recovery":"auto","proposals":[{"name":"a","arguments":{}},{"name":"b","arguments":{}}]`, `"ok":true,"side_effect_count":0`)
		c.Stage.Parallel = parallel
		run := playStaged(t, surface, c)
		if run.Ran() || run.Unavailable.Reason != "the server ended in the middle of a call" || len(run.Steps) != 0 {
			t.Errorf("run = %+v", run)
		}
	}
}

// Of a governed surface the controls' refusals are counted by control, and what a
// tool behind them told by itself.
func TestGovernedSummary(t *testing.T) {
	surface := newGoverned()
	replayed := tool.Result{Output: json.RawMessage(`{}`), Reply: &tool.Reply{Bytes: 2}, Replayed: true,
		Trace: tool.Trace{Decisions: []tool.Decision{{Control: "idempotency", Verdict: tool.Replay}}}}
	told := refused(tool.ToolFailed, "handler")
	told.Error.Code, told.Error.Category, told.Trace.HandlerRan = "file_not_found", tool.NotFound, true
	protocol := refused(tool.ProtocolError, "handler")
	answers := map[string]tool.Result{
		"replayed": replayed, "told": told, "protocol": protocol,
		"unknown": refused(tool.OutcomeUnknown, "handler"),
		"late":    refused(tool.ToolTimeout, "deadline"),
		"budget":  refused(tool.BudgetExhausted, "budget"),
		"input":   refused(tool.InvalidArguments, "input"),
	}
	surface.answer = func(call tool.Call, _ int) tool.Result { return answers[call.Proposal.Name] }
	var text strings.Builder
	for _, name := range fields("replayed told protocol unknown late budget input") {
		fmt.Fprintf(&text, `{"case_id":"%s","intent":"Do.","calls":{"governed":[{"name":"%s","arguments":{}}]},`+
			`"expected":{"ok":%v,"side_effect_count":1,"steps":[{"refused_by":%s,"handler_ran":%v,"is_error":%v%s}]}}`+"\n",
			name, name, name == "replayed",
			map[string]string{"replayed": "null", "told": `"handler"`, "protocol": `"handler"`, "unknown": `"handler"`, "late": `"deadline"`, "budget": `"budget"`, "input": `"input"`}[name],
			name == "told", name != "replayed", map[bool]string{true: `,"outcome":"not_applied"`}[name == "input"])
	}
	comparison, pairs := replay(t, eval.Plan{Cases: reader([]byte(text.String())), Candidate: surface, Workers: 1})
	for _, pair := range pairs {
		if !pair.Candidate.Passed || !pair.Candidate.Governed() {
			t.Errorf("%s: %v", pair.Case.ID, failedGrades(&pair.Candidate))
		}
	}
	s := comparison.Candidate
	want := &eval.Operations{
		Calls: 7, Successes: 1, Timeouts: 1, Replays: 1, BudgetStops: 1, ToolFailures: 1, ProtocolErrors: 1, OutputBytes: map[int]int{2: 1},
		Refusals: []eval.Refusals{{Control: "budget", Count: 1, Place: 1}, {Control: "deadline", Count: 1, Place: 1},
			{Control: "handler", Count: 3, Place: 1}, {Control: "input", Count: 1, Place: 1}},
	}
	if diff := cmp.Diff(want, s.Operations); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if !s.Governed || !s.Foreign || s.StructuredErrors != 6 || s.FailuresExpected != 6 || !comparison.GatePassed() {
		t.Errorf("summary = %+v, %v", s, comparison.Checks)
	}
	plain, _ := replay(t, eval.Plan{Cases: reader([]byte(foreignLine("c", "", map[string]string{"after": `{}`}))), Candidate: &server{name: "after"}})
	if plain.Candidate.Governed {
		t.Error("a server with nothing before it is said to be governed")
	}
}

var _ tool.Supervised = (*governedSession)(nil)
