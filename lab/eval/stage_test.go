package eval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// stagedCase reads a case whose middle, from caller or actor_permissions to
// expected, is given.
func stagedCase(t testing.TB, middle, expected string) *dataset.Case {
	t.Helper()
	line := `{"case_id":"a-case","intent":"Do.",` + middle + `,"expected":{` + expected + `}}`
	r := reader([]byte(line))
	batch, err := r.Next()
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	decoded := batch.Decode()
	if len(decoded.Lines) != 1 {
		t.Fatalf("%s: %v", line, decoded.Faults)
	}
	return decoded.Lines[0].Case
}

const by = `"caller":{"id":"agent","permissions":["ticket:read","ticket:write"]},`

func playStaged(t testing.TB, surface tool.Surface, c *dataset.Case) eval.Run {
	t.Helper()
	run, err := eval.Play(t.Context(), surface, c, c.Candidate)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// diary is a staged surface that writes down what the harness does with it. A
// call named slow takes 100 ms; the state is the number of calls.
type diary struct {
	script
	lines   []string
	answer  func(call tool.Call, attempt int) tool.Result
	advice  func(attempts int) tool.NextStep
	broken  bool // the state is no JSON
	session diarySession
}

func (d *diary) Open(context.Context) (tool.Session, error) {
	d.session = diarySession{diary: d, made: make(map[string]int)}
	return &d.session, nil
}

type diarySession struct {
	diary *diary
	since time.Duration
	calls int
	made  map[string]int
}

func (s *diarySession) note(format string, args ...any) {
	s.diary.lines = append(s.diary.lines, fmt.Sprintf("%d ", s.since.Milliseconds())+fmt.Sprintf(format, args...))
}

var epoch = time.Unix(1000, 0)

func since(at time.Time) int64 { return at.Sub(epoch).Milliseconds() }

func (s *diarySession) Arrange(b tool.Budget)    { s.note("budget %v", b) }
func (s *diarySession) SetTime(at time.Duration) { s.since = at }
func (s *diarySession) Now() time.Time           { return epoch.Add(s.since) }
func (s *diarySession) Effects() int             { return s.calls }
func (s *diarySession) Close() error             { return nil }
func (s *diarySession) Unread(context.Context, tool.Caller) (tool.Result, bool) {
	return tool.Result{}, false
}
func (s *diarySession) Receipts() json.RawMessage { return json.RawMessage(`[ ]`) }
func (s *diarySession) State() json.RawMessage {
	if s.diary.broken {
		return json.RawMessage(`?`)
	}
	return json.RawMessage(fmt.Sprintf(`{ "calls": %d }`, s.calls))
}

func (s *diarySession) Pending(_ context.Context, call tool.Call) (tool.Pending, *tool.Error) {
	s.note("show %s by %s", call.Proposal.Name, call.Caller.ID)
	if call.Proposal.Name == "unknown" {
		return tool.Pending{}, tool.Refusal(tool.ToolNotFound, nil, "no such tool")
	}
	return tool.Pending{Digest: "digest of " + call.Proposal.Name, ResourceVersion: fmt.Sprint("v", s.calls)}, nil
}

func (s *diarySession) Call(ctx context.Context, call tool.Call) tool.Result {
	return s.CallWith(ctx, call, tool.Fault{})
}

func (s *diarySession) CallWith(_ context.Context, call tool.Call, fault tool.Fault) tool.Result {
	name := call.Proposal.Name
	said := name + " by " + call.Caller.ID
	for _, g := range call.Grants {
		said += fmt.Sprintf(" %s(%s %s by %s %d-%d)", g.ID, g.Digest, g.ResourceVersion, g.Approver.ID, since(g.IssuedAt), since(g.ExpiresAt))
	}
	if fault != (tool.Fault{}) {
		said += fmt.Sprintf(" fault %v", fault)
	}
	s.note("%s", said)
	s.calls++
	s.made[name]++
	result := tool.Result{Output: json.RawMessage(`{}`)}
	if s.diary.answer != nil {
		result = s.diary.answer(call, s.made[name])
	}
	if name == "slow" {
		result.Took = 100 * time.Millisecond
	}
	return result
}

func (s *diarySession) Next(_ tool.Call, _ tool.Result, attempts int) tool.NextStep {
	return s.diary.advice(attempts)
}

func TestTimeline(t *testing.T) {
	const ok = `"ok":true,"side_effect_count":0`
	list := func(items ...string) string { return by + `"proposals":[` + strings.Join(items, ",") + `]` }
	p := func(name, more string) string { return `{"name":"` + name + `","arguments":{}` + more + `}` }
	tests := []struct {
		name   string
		middle string
		want   []string
	}{
		{"one after the other", list(p("slow", ""), p("b", ""), p("slow", ""), p("c", "")),
			[]string{"0 slow by agent", "100 b by agent", "100 slow by agent", "200 c by agent"}},
		{"at their times", list(p("a", `,"at_ms":5`), p("slow", `,"at_ms":5`), p("b", `,"at_ms":50`)),
			[]string{"5 a by agent", "5 slow by agent", "50 b by agent"}},
		{"a time and then none", list(p("slow", `,"at_ms":30`), p("b", "")), []string{"30 slow by agent", "130 b by agent"}},
		{"one that is made while another is under way", list(p("slow", ""), p("b", `,"at_ms":50`), p("c", "")),
			[]string{"0 slow by agent", "50 b by agent", "50 c by agent"}},
		{"one that comes before its turn", list(p("slow", ""), p("slow", ""), p("c", `,"at_ms":50`)),
			[]string{"0 slow by agent", "50 c by agent", "100 slow by agent"}},
		{"in parallel", list(p("slow", ""), p("slow", ""), p("c", "")) + `,"parallel":true`,
			[]string{"0 slow by agent", "0 slow by agent", "0 c by agent"}},
		{"in parallel from a time on", list(p("slow", `,"at_ms":7`), p("slow", ""), p("c", `,"at_ms":9`)) + `,"parallel":true`,
			[]string{"7 slow by agent", "7 slow by agent", "9 c by agent"}},
		{"another caller", list(p("a", `,"caller":{"id":"other","permissions":[]}`), p("b", "")), []string{"0 a by other", "0 b by agent"}},
		{"faults", list(p("a", `,"faults":{"latency_ms":3,"error":"down"}`)), []string{"0 a by agent fault {3ms false down false  false false}"}},
		{"no faults", list(p("a", `,"faults":{}`)), []string{"0 a by agent"}},
		{"a model's words", list(`{"raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}"}`, p("b", "")),
			[]string{"0 a by agent", "0 b by agent"}},
		{"words that are none", list(`{"raw":"?"}`, p("b", "")), []string{"0 b by agent"}},
		{"permissions only", `"actor_permissions":["r"],"approved":true,"proposals":[` + p("a", "") + `]`, []string{"0 a by case-actor"}},
		{"an approval", list(p("a", ""), p("b", `,"at_ms":20`)) +
			`,"approvals":[{"proposal":1,"approver":{"id":"lead","permissions":[]},"at_ms":20,"expires_at_ms":40}]`,
			[]string{"0 a by agent", "20 show b by agent", "20 b by agent grant-1(digest of b v1 by lead 20-40)"}},
		{"approvals in another order, and one that holds later", list(p("a", `,"at_ms":20`)) +
			`,"approvals":[{"proposal":0,"approver":{"id":"lead","permissions":[]},"at_ms":10,"issued_at_ms":30,"expires_at_ms":40},` +
			`{"call":{"name":"other","arguments":{}},"approver":{"id":"lead","permissions":[]},"expires_at_ms":1},` +
			`{"proposal":0,"approver":{"id":"lead","permissions":[]},"at_ms":21,"expires_at_ms":40}]`,
			[]string{"0 show other by agent", "10 show a by agent",
				"20 a by agent grant-2(digest of other v0 by lead 0-1) grant-1(digest of a v0 by lead 30-40)", "21 show a by agent"}},
		{"approvals of what cannot be shown", list(`{"raw":"?"}`, p("unknown", "")) +
			`,"approvals":[{"proposal":0,"approver":{"id":"lead","permissions":[]},"expires_at_ms":1},` +
			`{"proposal":1,"approver":{"id":"lead","permissions":[]},"expires_at_ms":1}]`,
			[]string{"0 show unknown by agent", "0 unknown by agent"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			surface := new(diary)
			run := playStaged(t, surface, stagedCase(t, test.middle, ok))
			if diff := cmp.Diff(append([]string{"0 budget {0 0s 0 0}"}, test.want...), surface.lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var unshown []string
			for _, u := range run.Unshown {
				unshown = append(unshown, fmt.Sprintf("%d %s", u.Approval, u.Error.Code))
			}
			if want := map[bool][]string{true: {"0 malformed_proposal", "1 tool_not_found"}}[test.name == "approvals of what cannot be shown"]; !slices.Equal(unshown, want) {
				t.Errorf("unshown %q, want %q", unshown, want)
			}
			if string(run.State) != fmt.Sprintf(`{"calls":%d}`, run.SideEffects) || string(run.Receipts) != `[]` {
				t.Errorf("state %s, receipts %s", run.State, run.Receipts)
			}
		})
	}
}

func TestStageArrangesTheBudget(t *testing.T) {
	surface := new(diary)
	playStaged(t, surface, stagedCase(t, by+`"proposals":[{"name":"a","arguments":{}}],"budget":{"proposals":1,"elapsed_ms":2,"concurrent":3,"cost":4}`,
		`"ok":true,"side_effect_count":1`))
	if want := "0 budget {1 2ms 3 4}"; surface.lines[0] != want {
		t.Errorf("%q, want %q", surface.lines[0], want)
	}
}

// A case that stages nothing meets a staged session as it meets any other.
func TestPlainCaseOnAStagedSurface(t *testing.T) {
	surface := new(diary)
	run, err := eval.Play(t.Context(), surface, aCase(), twoProposals)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0 first by case-actor", "0 second by case-actor"}
	if diff := cmp.Diff(want, surface.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if run.State != nil || run.Receipts != nil || run.Steps[0].Attempts != nil {
		t.Errorf("run = %+v", run)
	}
}

func TestStageOfABrokenState(t *testing.T) {
	c := stagedCase(t, by+`"proposals":[{"name":"a","arguments":{}}]`, `"ok":true,"side_effect_count":1`)
	_, err := eval.Play(t.Context(), &diary{broken: true}, c, c.Candidate)
	if want := "case a-case: script: the state or the receipts are not one JSON document"; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// told is an attempt as a test writes it.
func told(run *eval.Run, step int) []string {
	var attempts []string
	for _, a := range run.Steps[step].Attempts {
		said := "ok"
		if !a.OK() {
			said = string(a.Error.Code)
		}
		attempts = append(attempts, fmt.Sprintf("%s: %s after %d ms: %s", said, a.Next.Action, a.Next.Wait.Milliseconds(), a.Next.Reason))
	}
	return attempts
}

func TestRecoveryDoesWhatItIsTold(t *testing.T) {
	failing := func(failures int) func(tool.Call, int) tool.Result {
		return func(_ tool.Call, attempt int) tool.Result {
			if attempt <= failures {
				return tool.Result{Error: tool.Refusal(tool.RateLimited, nil, "wait")}
			}
			return tool.Result{Output: json.RawMessage(`{}`)}
		}
	}
	always := func(action tool.Action, wait time.Duration) func(int) tool.NextStep {
		return func(int) tool.NextStep { return tool.NextStep{Action: action, Wait: wait, Reason: "so it is"} }
	}
	const done = "ok: proceed after 0 ms: the call succeeded"
	tests := []struct {
		name     string
		answer   func(tool.Call, int) tool.Result
		advice   func(int) tool.NextStep
		calls    []string // the times at which they were made, and the next one
		attempts []string
	}{
		{"nothing failed", failing(0), always(tool.Stop, 0), []string{"0 slow", "100 next"}, []string{done}},
		{"a retry after a wait", failing(2), always(tool.Retry, 30*time.Millisecond),
			[]string{"0 slow fault", "130 slow", "260 slow", "360 next"},
			[]string{"rate_limited: retry after 30 ms: so it is", "rate_limited: retry after 30 ms: so it is", done}},
		{"a wait below zero", failing(1), always(tool.Retry, -time.Second), []string{"0 slow", "100 slow", "200 next"},
			[]string{"rate_limited: retry after 0 ms: so it is", done}},
		{"a look-up", failing(1), always(tool.LookUpReceipt, 0), []string{"0 slow", "100 slow", "200 next"},
			[]string{"rate_limited: look_up_receipt after 0 ms: so it is", done}},
		{"a stop", failing(1), always(tool.Stop, 0), []string{"0 slow", "100 next"}, []string{"rate_limited: stop after 0 ms: so it is"}},
		{"what only the agent can do", failing(1), always(tool.FixArguments, 0), []string{"0 slow", "100 next"},
			[]string{"rate_limited: fix_arguments after 0 ms: so it is"}},
		{"an advice to proceed", failing(1), always(tool.Proceed, 0), []string{"0 slow", "100 next"},
			[]string{"rate_limited: proceed after 0 ms: so it is"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			surface := &diary{advice: test.advice, answer: func(call tool.Call, attempt int) tool.Result {
				if call.Proposal.Name == "next" {
					return tool.Result{Output: json.RawMessage(`{}`)}
				}
				return test.answer(call, attempt)
			}}
			run := playStaged(t, surface, stagedCase(t,
				by+`"recovery":"auto","proposals":[{"name":"slow","arguments":{},"faults":{"panic":true}},{"name":"next","arguments":{}}]`,
				`"ok":true,"side_effect_count":0`))
			var calls []string
			for i, line := range surface.lines[1:] {
				faulty := strings.Contains(line, "fault")
				if faulty != (i == 0) {
					t.Errorf("call %d: %s: the fault is of the first attempt", i, line)
				}
				at, rest, _ := strings.Cut(line, " ")
				name, _, _ := strings.Cut(rest, " ")
				calls = append(calls, at+" "+name)
			}
			for i := range test.calls {
				test.calls[i] = strings.TrimSuffix(test.calls[i], " fault")
			}
			if diff := cmp.Diff(test.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.attempts, told(&run, 0)); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			if step := run.Steps[0]; step.SideEffects != len(test.attempts) || step.OK() != step.Attempts[len(step.Attempts)-1].OK() {
				t.Errorf("step = %+v", step)
			}
		})
	}
}

// However long a session advises to repeat, the harness ends.
func TestRecoveryEnds(t *testing.T) {
	surface := &diary{
		answer: func(tool.Call, int) tool.Result { return tool.Result{Error: tool.Refusal(tool.RateLimited, nil, "no")} },
		advice: func(int) tool.NextStep {
			return tool.NextStep{Action: tool.Retry, Wait: time.Millisecond, Reason: "again"}
		},
	}
	run := playStaged(t, surface, stagedCase(t, by+`"recovery":"auto","proposals":[{"name":"a","arguments":{}}]`, `"ok":false,"side_effect_count":0`))
	attempts := told(&run, 0)
	if len(attempts) != 10 || attempts[9] != "rate_limited: stop after 0 ms: the harness makes no more than 10 attempts" {
		t.Errorf("%d attempts: %v", len(attempts), attempts)
	}
}

// The same on the surface of the demo, by its own rules.
func TestRecoveryOfTheDemo(t *testing.T) {
	write := func(faults string) string {
		return by + `"recovery":"auto","approvals":[{"proposal":0,"approver":{"id":"lead","permissions":["ticket:approve"]},"expires_at_ms":1000}],` +
			`"proposals":[{"name":"record_ticket_followup","arguments":{"ticket_id":"T-102","note":"Call.","action_id":"action-1"},"faults":{` + faults + `}}]`
	}
	read := `{"name":"get_ticket","arguments":{"ticket_id":"T-102"}}`
	tests := []struct {
		name     string
		middle   string
		expected string
		attempts []string // of the last step
	}{
		{"a lost response is looked up, and the effect is one", write(`"lost_response":true`),
			`"ok":true,"side_effect_count":1,"replayed":true,"state":{"followups":{"T-102":["Call."]},"effects":1},` +
				`"steps":[{"ok":true,"side_effect_count":1,"replayed":true,"refused_by":null,"handler_ran":false}]`,
			[]string{"outcome_unknown: look_up_receipt after 0 ms: nobody knows whether the write was applied; its key tells",
				"ok: proceed after 0 ms: the call succeeded"}},
		{"a rate is waited for", by + `"recovery":"auto","proposals":[` + strings.Repeat(read+",", 4) + read + `]`,
			`"ok":true,"side_effect_count":0,"steps":[null,null,null,null,{"ok":true,"output":{"ticket":{"id":"T-102"}}}]`,
			[]string{"rate_limited: retry after 1000 ms: the rate lets the call through then", "ok: proceed after 0 ms: the call succeeded"}},
		{"what the handler broke is not repeated", by + `"recovery":"auto","proposals":[{"name":"get_ticket","arguments":{"ticket_id":"T-102"},"faults":{"panic":true}}]`,
			`"ok":false,"side_effect_count":0,"steps":[{"error_code":"handler_failed","refused_by":"handler","handler_ran":true,"outcome":"not_applied",` +
				`"next_action":"stop and raise an alarm","details":{}}]`,
			[]string{"handler_failed: stop after 0 ms: a repeat would fail in the same way"}},
		{"a person has to confirm", by + `"recovery":"auto","proposals":[{"name":"record_ticket_followup","arguments":{"ticket_id":"T-102","note":"n","action_id":"action-1"}}]`,
			`"ok":false,"side_effect_count":0,"steps":[{"error_code":"approval_required","refused_by":"approval","handler_ran":false,` +
				`"details":{"preview":"Append to ticket T-102: \"n\"","resource_version":"v0"}}]`,
			[]string{"approval_required: ask_approval after 0 ms: a person has to confirm exactly this call"}},
		{"a budget ends it", by + `"recovery":"auto","budget":{"proposals":1},"proposals":[` + read + `,` + read + `]`,
			`"ok":false,"side_effect_count":0,"steps":[{"ok":true},{"error_code":"budget_exhausted","refused_by":"budget","details":{"used":1,"of":1.0e0}}]`,
			[]string{"budget_exhausted: stop after 0 ms: the budget is used up"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := playStaged(t, production(t), stagedCase(t, test.middle, test.expected))
			if failed := failedGrades(&run); failed != nil {
				t.Errorf("failed: %v", failed)
			}
			if diff := cmp.Diff(test.attempts, told(&run, len(run.Steps)-1)); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
		})
	}
}

// What cannot be read is a refusal of the harness: nothing is called, no
// control is asked, and no budget is used.
func TestMalformedProposals(t *testing.T) {
	two := `[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"a\",\"input\":{}},{\"type\":\"tool_use\",\"id\":\"2\",\"name\":\"b\",\"input\":{}}]`
	tests := []struct{ name, raw, details string }{
		{"no JSON", `"raw":"{'a':1}"`, `{"offset":1,"reason":"invalid character '\\'' at start of value"}`},
		{"nothing proposed", `"raw":"Nothing to do.","format":"fenced"`, `{"offset":0,"reason":"nothing was proposed"}`},
		{"two calls", `"raw":"` + two + `"`, `{"offset":0,"reason":"2 calls, where a step is one"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := stagedCase(t, by+`"recovery":"auto","budget":{"proposals":2},"proposals":[{`+test.raw+`},{"name":"get_ticket","arguments":{"ticket_id":"T-102"}}]`,
				`"ok":true,"side_effect_count":0,"steps":[{"ok":false,"error_code":"malformed_proposal","refused_by":null,"handler_ran":false,`+
					`"outcome":"not_applied","next_action":"propose again, as one well-formed call"},{"ok":true}]`)
			run := playStaged(t, production(t), c)
			if failed := failedGrades(&run); failed != nil {
				t.Errorf("failed: %v", failed)
			}
			step := run.Steps[0]
			if diff := cmp.Diff(test.details, string(step.Error.Details)); diff != "" {
				t.Errorf("details (-want +got):\n%s", diff)
			}
			if !step.Malformed || step.Attempts != nil || run.Steps[1].Malformed {
				t.Errorf("steps = %+v", run.Steps)
			}
			onWide := playStaged(t, ticket.Wide{}, c)
			if diff := cmp.Diff(step.Error, onWide.Steps[0].Error); diff != "" {
				t.Errorf("on another surface (-staged +other):\n%s", diff)
			}
		})
	}
}

// A surface that knows nothing of stages is given its calls in order.
func TestStagedCaseOnAPlainSurface(t *testing.T) {
	var got []tool.Call
	surface := &script{call: func(_ context.Context, call tool.Call) tool.Result {
		got = append(got, call)
		return tool.Result{Output: json.RawMessage(`{}`)}
	}}
	c := stagedCase(t, by+`"recovery":"auto","parallel":true,"budget":{"proposals":1},`+
		`"approvals":[{"proposal":0,"approver":{"id":"lead","permissions":[]},"expires_at_ms":1}],"proposals":[`+
		`{"name":"a","arguments":{},"at_ms":50,"faults":{"panic":true},"caller":{"id":"other","permissions":["r"]}},`+
		`{"raw":"`+"```json\\n"+`{\"name\":\"b\",\"arguments\":{}}`+"\\n```"+`"}]`,
		`"ok":true,"side_effect_count":0,"state":{},"steps":[{"ok":true,"refused_by":null},null]`)
	run := playStaged(t, surface, c)
	want := []tool.Call{
		{Proposal: tool.Proposal{Name: "a", Arguments: json.RawMessage(`{}`)}, Caller: tool.Caller{ID: "other", Permissions: []string{"r"}}},
		{Proposal: tool.Proposal{Name: "b", Arguments: json.RawMessage(`{}`)}, Caller: tool.Caller{ID: "agent", Permissions: []string{"ticket:read", "ticket:write"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"state: {}, null"}, failedGrades(&run)); diff != "" {
		t.Errorf("failed grades (-want +got):\n%s", diff)
	}
}

// A call that the end of ctx cut short is no answer, on a stage as elsewhere.
func TestStageCancelled(t *testing.T) {
	for name, surface := range map[string]func(call func(tool.Call, int) tool.Result) tool.Surface{
		"staged": func(call func(tool.Call, int) tool.Result) tool.Surface { return &diary{answer: call} },
		"plain": func(call func(tool.Call, int) tool.Result) tool.Surface {
			return &script{call: func(_ context.Context, c tool.Call) tool.Result { return call(c, 1) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			calls := 0
			c := stagedCase(t, by+`"proposals":[{"name":"a","arguments":{}},{"name":"b","arguments":{}}]`, `"ok":true,"side_effect_count":0`)
			_, err := eval.Play(ctx, surface(func(tool.Call, int) tool.Result {
				calls++
				cancel()
				return tool.Result{Output: json.RawMessage(`{}`)}
			}), c, c.Candidate)
			if err != context.Canceled || calls != 1 {
				t.Errorf("error = %v after %d calls", err, calls)
			}
		})
	}
}

// production is the surface of the demo whose sessions can be staged.
func production(t testing.TB) tool.Surface {
	t.Helper()
	for _, s := range ticket.Surfaces() {
		if s.Name() == ticket.ProductionName {
			return s
		}
	}
	t.Fatalf("no surface %s", ticket.ProductionName)
	return nil
}
