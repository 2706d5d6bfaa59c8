package report_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentlab/lab/report"
	"agentlab/lab/stream"
	"agentlab/lab/tool"
)

// governed is the same backend outside with the lab's own controls before it. What
// comes of a call is in the name of its tool.
type governed struct{ server }

func (g governed) Open(ctx context.Context) (tool.Session, error) {
	return &governedSession{connection: connection{server: g.server}}, nil
}

type governedSession struct {
	connection
	calls int
}

func (*governedSession) Arrange(tool.Budget) {}
func (*governedSession) Now() time.Time      { return time.Now() }
func (*governedSession) Pending(_ context.Context, call tool.Call) (tool.Pending, *tool.Error) {
	switch call.Proposal.Name {
	case "misspelt":
		return tool.Pending{}, tool.Refusal(tool.InvalidArguments, map[string]any{"violations": []tool.Violation{
			{Pointer: "/path", Keyword: "required", Message: "property \"pa`th\" is required"}, {Message: "a second"}}}, "The arguments break the contract.")
	case "missing":
		return tool.Pending{}, tool.Refusal(tool.ToolNotFound, nil, "No such tool.")
	}
	return tool.Pending{Digest: "sha256:x"}, nil
}
func (*governedSession) Unread(context.Context, tool.Caller) (tool.Result, bool) {
	return tool.Result{}, false
}
func (*governedSession) Next(_ tool.Call, _ tool.Result, attempts int) tool.NextStep {
	if attempts == 1 {
		return tool.NextStep{Action: tool.LookUpReceipt, Wait: time.Duration(time.Now().Nanosecond() % 1e6), Reason: "its key tells"}
	}
	return tool.NextStep{Action: tool.Stop, Reason: "it cannot pass"}
}

func (s *governedSession) Call(ctx context.Context, call tool.Call) tool.Result {
	s.calls++
	refuse := func(control string, e *tool.Error) tool.Result {
		text, _ := json.Marshal(e)
		ran := control == "handler" || control == "output"
		return tool.Result{Error: e, Reply: &tool.Reply{IsError: true, Texts: []string{string(text)}, Bytes: len(text)},
			Trace: tool.Trace{HandlerRan: ran, Decisions: []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: control, Verdict: tool.Refuse, Code: e.Code}}}}
	}
	s.last = ""
	switch call.Proposal.Name {
	case "misspelt":
		return refuse("input", tool.Refusal(tool.InvalidArguments, map[string]string{"see": "dry_run"}, "The arguments break the contract."))
	case "missing":
		return refuse("handler", tool.Coded("note_missing", tool.NotFound, "no such file <b>|%s", hostileText))
	case "too large":
		return refuse("output", tool.Refusal(tool.OutputTooLarge, nil, "The output is too large."))
	case "lost":
		if s.calls == 1 {
			s.last = "write"
			result := refuse("handler", tool.Refusal(tool.OutcomeUnknown, nil, "Nobody knows."))
			result.Error.Outcome, result.Trace.Fault = tool.Unknown, "timeout"
			return result
		}
		return tool.Result{Output: json.RawMessage(`{"content":[]}`), Reply: &tool.Reply{Bytes: 14}, Replayed: true,
			Trace: tool.Trace{Decisions: []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: "idempotency", Verdict: tool.Replay}}}}
	}
	result := s.connection.Call(ctx, call)
	result.Took = time.Since(time.Now().Add(-time.Hour)) // which is of the real clock
	result.Trace.HandlerRan = true
	result.Trace.Decisions = []tool.Decision{{Control: "lookup", Verdict: tool.Pass}, {Control: "output", Verdict: tool.Pass}}
	return result
}

// governedCases are stopped by controls, behind them, and by nobody.
func governedCases() string {
	const none = `{"ok":false,"side_effect_count":0,`
	return foreignCase("reads", "", `{"ok":true,"side_effect_count":0,"steps":[{"handler_ran":true,"refused_by":null}]}`, "read") +
		foreignCase("misspelt", "", none+`"error_code":"invalid_arguments","steps":[{"refused_by":"input","handler_ran":false,"outcome":"not_applied"}]}`, "misspelt") +
		foreignCase("missing", "", none+`"error_code":"note_missing"}`, "missing") +
		foreignCase("too large", "", none+`"error_code":"output_too_large"}`, "too large") +
		foreignCase("some failure", "", none+`"is_error":true}`, "missing") +
		foreignCase("recovers", `"recovery":"auto",`, `{"ok":true,"side_effect_count":3,"replayed":true}`, "lost") +
		foreignCase("not the code", "", none+`"error_code":"tool_timeout"}`, "missing") +
		foreignCase("not the contract's", "", none+`"error_code":"folder_missing"}`, "misspelt") +
		foreignCase("writes too much", "", `{"ok":true,"side_effect_count":1}`, "write") +
		foreignCase("never shown", `"approvals":[`+approval(`"proposal":0`)+`,`+approval(`"call":{"name":"write","arguments":{}}`)+`,`+approval(`"call":{"name":"missing","arguments":{}}`)+`],`,
			`{"ok":true,"side_effect_count":3}`, "misspelt") +
		foreignCase("not again", "", `{"ok":true,"side_effect_count":3,"steps":[{"replayed":true}]}`, "write") +
		foreignCase("not the same failure again", "", none+`"error_code":"answer_lost","replayed":true}`, "missing") +
		foreignCase("no call", "", `{"ok":true,"side_effect_count":0}`, "misspelt")
}

// approval is one of a call.
func approval(of string) string {
	return `{` + of + `,"approver":{"id":"lead","permissions":[]},"expires_at_ms":9}`
}

func TestGoldenReportsOfAGovernedServer(t *testing.T) {
	comparisons, runs := compiled(t, report.ComparisonSchema), compiled(t, stream.Schema)
	written := replayedCases(t, t.TempDir(), governedCases(), server{name: "before"}, governed{server{name: "after"}})
	for name, text := range written {
		if name == "text" {
			name = "text.txt"
		}
		golden(t, filepath.Join("foreign", "governed", name), []byte(text))
	}
	if found := violations(t, comparisons, []byte(written[report.ComparisonFile])); found != nil {
		t.Errorf("%s: %v", report.ComparisonFile, found)
	}
	for line := range strings.Lines(written[report.RunsFile]) {
		if found := violations(t, runs, []byte(line)); found != nil {
			t.Errorf("%v in %s", found, line)
		}
	}
	for _, word := range []string{`"took_ms"`, `"wait_ms"`} {
		if strings.Contains(written[report.RunsFile], word) {
			t.Errorf("%s is told of a real clock", word)
		}
	}
}
