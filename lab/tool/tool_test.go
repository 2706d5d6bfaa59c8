package tool_test

import (
	"encoding/json"
	"testing"

	"agentlab/lab/tool"
)

func TestRefusedBy(t *testing.T) {
	tests := []struct {
		name      string
		decisions []tool.Decision
		want      string
	}{
		{"no controls", nil, ""},
		{"all passed", []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: "output", Verdict: tool.Pass}}, ""},
		{"refused at once", []tool.Decision{{Control: "lookup", Verdict: tool.Refuse, Code: tool.ToolNotFound}}, "lookup"},
		{"refused last", []tool.Decision{
			{Control: "lookup", Verdict: tool.Pass},
			{Control: "input", Verdict: tool.Pass},
			{Control: "permission", Verdict: tool.Refuse, Code: tool.PermissionDenied},
		}, "permission"},
		{"replayed", []tool.Decision{
			{Control: "lookup", Verdict: tool.Pass},
			{Control: "idempotency", Verdict: tool.Replay},
		}, ""},
		{"skipped last", []tool.Decision{{Control: "approval", Verdict: tool.Skip}}, ""},
		{"a refusal that did not end the call", []tool.Decision{
			{Control: "approval", Verdict: tool.Refuse, Code: tool.ApprovalRequired},
			{Control: "handler", Verdict: tool.Pass},
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (tool.Trace{Decisions: tt.decisions}).RefusedBy(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestResultOK(t *testing.T) {
	tests := []struct {
		name   string
		result tool.Result
		want   bool
	}{
		{"output", tool.Result{Output: json.RawMessage(`{}`)}, true},
		{"replayed output", tool.Result{Output: json.RawMessage(`{}`), Replayed: true}, true},
		{"error", tool.Result{Error: tool.Refusal(tool.ToolFailed, nil, "failed")}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.result.OK(); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestEncodedNames(t *testing.T) {
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"definition",
			tool.Definition{Name: "n", Description: "d", InputSchema: json.RawMessage(`{}`), OutputSchema: json.RawMessage(`true`), Strict: true},
			`{"name":"n","description":"d","inputSchema":{},"outputSchema":true,"strict":true}`},
		{"definition without what is optional",
			tool.Definition{Name: "n", InputSchema: json.RawMessage(`{}`)},
			`{"name":"n","description":"","inputSchema":{}}`},
		{"proposal",
			tool.Proposal{Name: "n", Arguments: json.RawMessage(`{"a":1.0}`)},
			`{"name":"n","arguments":{"a":1.0}}`},
		{"caller",
			tool.Caller{ID: "agent", Permissions: []string{"tickets:read"}},
			`{"id":"agent","permissions":["tickets:read"]}`},
		{"trace",
			tool.Trace{Decisions: []tool.Decision{
				{Control: "lookup", Verdict: tool.Pass},
				{Control: "input", Verdict: tool.Refuse, Code: tool.InvalidArguments},
			}, Fingerprint: "sha256:00"},
			`{"decisions":[{"control":"lookup","decision":"pass"},{"control":"input","decision":"refuse","code":"invalid_arguments"}],` +
				`"handler_ran":false,"fingerprint":"sha256:00"}`},
		{"effect",
			tool.Effect{Resource: "T-102", Change: "noted"},
			`{"resource":"T-102","change":"noted"}`},
		{"violation",
			tool.Violation{Pointer: "/a", Keyword: "type", Message: "a string"},
			`{"pointer":"/a","keyword":"type","message":"a string"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.value)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}
