package dataset_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/dataset"
	"agentlab/lab/proposal"
	"agentlab/lab/tool"
)

// staged is a case in which every field stands that a stage can have.
const staged = `{"case_id":"staged","intent":"Write.","caller":{"id":"agent","permissions":["w"],"task":"triage","environment":"test"},` +
	`"proposals":[{"name":"a","arguments":{"n":1},"at_ms":10,"caller":{"id":"other","permissions":[]},` +
	`"faults":{"latency_ms":7,"panic":true,"error":"down","bad_output":true,"output":{"n": [1.0]},"lost_response":true,"crash":true}},` +
	`{"raw":"text","format":"fenced","at_ms":10},{"raw":""}],` +
	`"approvals":[{"proposal":2,"approver":{"id":"lead","permissions":["ok"]},"at_ms":1,"issued_at_ms":2,"expires_at_ms":3},` +
	`{"call":{"name":"b","arguments":{}},"approver":{"id":"lead","permissions":[]},"at_ms":4,"expires_at_ms":5}],` +
	`"budget":{"proposals":1,"elapsed_ms":2,"concurrent":3,"cost":4},"parallel":true,"recovery":"auto","tags":["x","y"],` +
	`"expected":{"ok":true,"side_effect_count":0,"state":{"a":[1,null]},"steps":[null,{},{"ok":true,"side_effect_count":1,"error_code":"c",` +
	`"retryable":false,"replayed":true,"output_keys":["k"],"output_count":2,"has_next_cursor":false,"refused_by":null,"handler_ran":true,` +
	`"outcome":"unknown","next_action":"stop","output":{"x": [{}]},"details":null}]}}`

func TestDecodeStaged(t *testing.T) {
	list := []dataset.Proposal{
		{Name: "a", Arguments: json.RawMessage(`{"n":1}`), Setting: &dataset.Setting{
			At:     ptr(10 * time.Millisecond),
			Caller: &tool.Caller{ID: "other", Permissions: []string{}},
			Fault: tool.Fault{Latency: 7 * time.Millisecond, Panic: true, Error: "down", BadOutput: true,
				Output: `{"n": [1.0]}`, LostResponse: true, Crash: true},
		}},
		{Setting: &dataset.Setting{Raw: ptr("text"), Format: "fenced", At: ptr(10 * time.Millisecond)}},
		{Setting: &dataset.Setting{Raw: ptr("")}},
	}
	want := &dataset.Case{
		ID:          "staged",
		Intent:      "Write.",
		Permissions: []string{"w"},
		Baseline:    list,
		Candidate:   list,
		Tags:        []string{"x", "y"},
		Stage: &dataset.Stage{
			Caller: &tool.Caller{ID: "agent", Permissions: []string{"w"}, Task: "triage", Environment: "test"},
			Approvals: []dataset.Approval{
				{Proposal: 2, Approver: tool.Caller{ID: "lead", Permissions: []string{"ok"}},
					At: time.Millisecond, IssuedAt: 2 * time.Millisecond, ExpiresAt: 3 * time.Millisecond},
				{Call: &tool.Proposal{Name: "b", Arguments: json.RawMessage(`{}`)}, Approver: tool.Caller{ID: "lead", Permissions: []string{}},
					At: 4 * time.Millisecond, IssuedAt: 4 * time.Millisecond, ExpiresAt: 5 * time.Millisecond},
			},
			Budget:   tool.Budget{Proposals: 1, Elapsed: 2 * time.Millisecond, Concurrent: 3, Cost: 4},
			Parallel: true,
			Recover:  true,
		},
		Expected: dataset.Expectation{
			OK: ptr(true), SideEffectCount: ptr(0),
			State: json.RawMessage(`{"a":[1,null]}`),
			Steps: []*dataset.StepExpectation{nil, {}, {
				OK: ptr(true), SideEffectCount: ptr(1), ErrorCode: ptr("c"), Retryable: ptr(false), Replayed: ptr(true),
				OutputKeys: []string{"k"}, OutputCount: ptr(2), HasNextCursor: ptr(false), RefusedBy: ptr(""),
				HandlerRan: ptr(true), Outcome: ptr("unknown"), NextAction: ptr("stop"),
				Output: json.RawMessage(`{"x": [{}]}`), Details: json.RawMessage(`null`),
			}},
		},
	}
	got := mustLoad(t, source("cases.jsonl", staged))
	if diff := cmp.Diff([]dataset.Line{{Number: 1, Case: want}}, got.Lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// Each field that a stage can have makes a case a staged one; tags do not.
func TestWhatStagesACase(t *testing.T) {
	expecting := func(member string) string { return edit(good, `"ok":true`, `"ok":true,`+member) }
	with := func(member string) string { return edit(good, `"expected"`, member+`,"expected"`) }
	proposing := func(member string) string { return edit(good, `"name":"get_ticket"`, `"name":"get_ticket",`+member) }
	tests := map[string]struct {
		line string
		want bool
	}{
		"nothing":         {good, false},
		"tags":            {with(`"tags":["a"]`), false},
		"a caller":        {edit(good, `"actor_permissions":["ticket:read"]`, `"caller":{"id":"a","permissions":[]}`), true},
		"no approval":     {with(`"approvals":[]`), true},
		"a budget":        {with(`"budget":{"cost":1}`), true},
		"parallel":        {with(`"parallel":false`), true},
		"recovery":        {with(`"recovery":"auto"`), true},
		"steps":           {expecting(`"steps":[null]`), true},
		"state":           {expecting(`"state":null`), true},
		"a time":          {proposing(`"at_ms":0`), true},
		"faults":          {proposing(`"faults":{}`), true},
		"another caller":  {proposing(`"caller":{"id":"a","permissions":[]}`), true},
		"a model's words": {edit(good, `{"name":"get_ticket","arguments":{"b":[2]}}`, `{"raw":"x"}`), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := mustLoad(t, source("cases.jsonl", test.line)).Lines[0].Case
			if staged := c.Stage != nil; staged != test.want {
				t.Errorf("staged = %v", staged)
			}
		})
	}
}

func TestDecodeRefusesStages(t *testing.T) {
	tests := []struct {
		name     string
		old, new string
		want     []string
	}{
		{"two callers", `"caller":{"id":"agent"`, `"actor_permissions":[],"caller":{"id":"agent"`, []string{"actor_permissions: may not stand beside caller"}},
		{"two kinds of lists", `"parallel":true`, `"candidate_calls":[{"name":"","arguments":{}}]`,
			[]string{"candidate_calls: may not stand beside proposals"}},
		{"a caller without an id", `"id":"agent",`, ``, []string{"caller.id: missing"}},
		{"an approver with a task", `"permissions":["ok"]`, `"permissions":["ok"],"task":"t"`, []string{"approvals[0].approver.task: unknown field"}},
		{"a format without a text", `"raw":"text",`, ``, []string{"proposals[1].name: missing", "proposals[1].arguments: missing",
			"proposals[1].format: may only stand beside raw"}},
		{"a text beside a name", `"name":"a",`, `"name":"a","raw":"",`, []string{"proposals[0].name: may not stand beside raw",
			"proposals[0].arguments: may not stand beside raw"}},
		{"another format", `"fenced"`, `"yaml"`,
			[]string{"proposals[1].format: must be openai-chat or openai-responses or anthropic-messages or gemini or mcp or fenced"}},
		{"a time before an earlier one", `"fenced","at_ms":10`, `"fenced","at_ms":9`, []string{"proposals[1].at_ms: is before that of an earlier proposal"}},
		{"a time below zero", `"fenced","at_ms":10`, `"fenced","at_ms":-1`, []string{"proposals[1].at_ms: must be a whole number from 0 to 1000000000"}},
		{"half a millisecond", `"latency_ms":7`, `"latency_ms":0.5`, []string{"proposals[0].faults.latency_ms: must be a whole number from 0 to 1000000000"}},
		{"a caller's field", `"id":"agent","permissions"`, `"id":"agent","permission"`, []string{`caller.permission: unknown field; did you mean "permissions"?`, "caller.permissions: missing"}},
		{"an unknown fault", `"panic":true`, `"explode":true`, []string{"proposals[0].faults.explode: unknown field"}},
		{"an approval of nothing", `"proposal":2,`, ``, []string{"approvals[0].proposal: missing"}},
		{"an approval of two calls", `"proposal":2,`, `"proposal":2,"call":{"name":"","arguments":{}},`, []string{"approvals[0].proposal: may not stand beside call"}},
		{"an approval of a proposal that is not there", `"proposal":2`, `"proposal":3`, []string{"approvals[0].proposal: there is no such proposal; the first is 0"}},
		{"an approval for ever", `,"expires_at_ms":3`, ``, []string{"approvals[0].expires_at_ms: missing"}},
		{"a budget of nothing", `"cost":4`, `"cost":0`, []string{"budget.cost: must be a whole number from 1 to 1000000000"}},
		{"another recovery", `"recovery":"auto"`, `"recovery":"manual"`, []string{"recovery: must be auto"}},
		{"a tag twice", `["x","y"]`, `["x","x"]`, []string{`tags[1]: repeats "x"`}},
		{"an empty tag", `["x","y"]`, `["x",""]`, []string{"tags[1]: must not be empty"}},
		{"too few steps", `[null,{},`, `[{},`, []string{"expected.steps: has 2 steps, but not each surface is given as many proposals"}},
		{"a step that is no object", `[null,{},`, `[true,{},`, []string{"expected.steps[0]: must be an object or null, not true"}},
		{"an unknown grader of a step", `"handler_ran"`, `"handlerran"`, []string{`expected.steps[2].handlerran: unknown field; did you mean "handler_ran"?`}},
		{"a control without a name", `"refused_by":null`, `"refused_by":""`, []string{"expected.steps[2].refused_by: must not be empty"}},
		{"a control that is a number", `"refused_by":null`, `"refused_by":1`, []string{"expected.steps[2].refused_by: must be a string or null, not a number"}},
		{"another outcome", `"outcome":"unknown"`, `"outcome":"lost"`, []string{"expected.steps[2].outcome: must be not_applied or applied or unknown"}},
		{"a part without one reading", `"details":null`, `"details":[` + strings.Repeat("1", 401) + `]`,
			[]string{"expected.steps[2].details: a number of more than 400 digits"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			for _, fault := range test.want {
				want = append(want, "in/cases.jsonl:1: "+fault)
			}
			if diff := cmp.Diff(want, faultsOf(t, source("cases.jsonl", edit(staged, test.old, test.new)))); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// Where each surface is given proposals of its own, both lists are looked at.
func TestDecodeRefusesStagesOfTwoLists(t *testing.T) {
	two := edit(good, `[{"name":"get_ticket","arguments":{"b":[2]}}]`,
		`[{"name":"get_ticket","arguments":{},"at_ms":2},{"name":"get_ticket","arguments":{},"at_ms":1}]`)
	approved := edit(two, `"expected"`, `"approvals":[{"proposal":1,"approver":{"id":"e","permissions":[]},"expires_at_ms":1}],"expected"`)
	want := []string{
		"in/cases.jsonl:1: candidate_calls[1].at_ms: is before that of an earlier proposal",
		"in/cases.jsonl:1: expected.steps: has 2 steps, but not each surface is given as many proposals",
		"in/cases.jsonl:1: approvals[0].proposal: there is no such proposal; the first is 0",
	}
	got := faultsOf(t, source("cases.jsonl", edit(approved, `"ok":true`, `"ok":true,"steps":[null,null]`)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// The formats of a case are those that lab/proposal reads.
func TestFormats(t *testing.T) {
	var want []string
	for _, f := range proposal.Formats() {
		want = append(want, string(f))
	}
	if diff := cmp.Diff(want, dataset.Formats()); diff != "" {
		t.Errorf("formats (-proposal +dataset):\n%s", diff)
	}
}
