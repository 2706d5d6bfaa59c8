package governed_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"agentlab/lab/contract"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// answering makes the read of a server answer so.
func answering(t *testing.T, result tool.Result, rules ...overlay.ErrorRule) *bench {
	return open(t, func(s *server, get, _ *overlay.Tool) {
		get.Rules = rules
		s.tools["get"] = func(context.Context, *server, map[string]any) tool.Result { return result }
	})
}

func TestErrorsOfTheServer(t *testing.T) {
	protocol := tool.Refusal(tool.ProtocolError, map[string]int{"code": -32602}, "no such note: ENOENT")
	protocol.Outcome = tool.Unknown
	enoent := overlay.ErrorRule{Match: "ENOENT", Code: "note_not_found", Category: tool.NotFound}
	for name, test := range map[string]struct {
		answer tool.Result
		rules  []overlay.ErrorRule
		want   tool.Error
	}{
		"a text": {failed("it broke", "badly"), nil,
			tool.Error{Code: tool.ToolFailed, Category: tool.Uncategorised, Message: "it broke\nbadly"}},
		"a text with a rule": {failed("oh", "ENOENT: no such"), []overlay.ErrorRule{{Match: "EACCES", Code: "x", Category: tool.Policy}, enoent},
			tool.Error{Code: "note_not_found", Category: tool.NotFound, Message: "oh\nENOENT: no such", NextAction: "check the id, or search again"}},
		"the first rule": {failed("ENOENT EACCES"), []overlay.ErrorRule{{Match: "EACCES", Code: "x", Category: tool.Policy, Retryable: true, NextAction: "wait"}, enoent},
			tool.Error{Code: "x", Category: tool.Policy, Message: "ENOENT EACCES", Retryable: true, NextAction: "wait"}},
		"a rule takes its category from the table": {failed("no"), []overlay.ErrorRule{{Match: "no", Code: tool.TicketNotFound}},
			tool.Error{Code: tool.TicketNotFound, Category: tool.NotFound, Message: "no", NextAction: "check the id, or search again"}},
		"a rule after a long text": {failed(strings.Repeat("x", 5000) + "ENOENT"), []overlay.ErrorRule{enoent},
			tool.Error{Code: "note_not_found", Category: tool.NotFound, Message: strings.Repeat("x", 1000) + "…", NextAction: "check the id, or search again"}},
		"a JSON-RPC error": {tool.Result{Error: protocol}, nil,
			tool.Error{Code: tool.ProtocolError, Category: tool.Protocol, Message: "no such note: ENOENT", Details: json.RawMessage(`{"code":-32602}`), NextAction: "fix the request as the details say, or stop"}},
		"a JSON-RPC error with a rule": {tool.Result{Error: protocol}, []overlay.ErrorRule{enoent},
			tool.Error{Code: "note_not_found", Category: tool.NotFound, Message: "no such note: ENOENT", NextAction: "check the id, or search again"}},
		"its own code": {coded(tool.Error{Code: "quota_full", Category: tool.Dependency, Message: "full", Retryable: true, NextAction: "wait", Details: json.RawMessage(`{"left":0}`)}), nil,
			tool.Error{Code: "quota_full", Category: tool.Dependency, Message: "full", Retryable: true, NextAction: "wait", Details: json.RawMessage(`{"left":0}`)}},
		"its own code with a rule": {coded(tool.Error{Code: "quota_full", Message: "ENOENT"}), []overlay.ErrorRule{enoent},
			tool.Error{Code: "note_not_found", Category: tool.NotFound, Message: "ENOENT", NextAction: "check the id, or search again"}},
		"its own category": {coded(tool.Error{Code: "quota_full", Category: "shiny", Message: "full"}), nil,
			tool.Error{Code: "quota_full", Category: tool.Uncategorised, Message: "full"}},
		"large details": {coded(tool.Error{Code: "quota_full", Category: tool.Dependency, Message: "full", Details: json.RawMessage(`"` + strings.Repeat("x", 9998) + `"`)}), nil,
			tool.Error{Code: "quota_full", Category: tool.Dependency, Message: "full", Details: json.RawMessage(`{"bytes":10000}`), NextAction: "a bounded retry, if the contract allows"}},
		"details that are none": {coded(tool.Error{Code: "quota_full", Category: tool.Internal, Message: "full", Details: json.RawMessage(`{`)}), nil,
			tool.Error{Code: "quota_full", Category: tool.Internal, Message: "full", NextAction: "stop and raise an alarm"}},
		"no form of a code": {coded(tool.Error{Code: "Quota Full", Category: tool.Dependency, Message: "full"}), nil,
			tool.Error{Code: tool.ToolFailed, Category: tool.Uncategorised, Message: "full"}},
		"a code in capitals": {coded(tool.Error{Code: "APPROVAL_REQUIRED", Category: tool.Policy, Message: "full"}), nil,
			tool.Error{Code: tool.ToolFailed, Category: tool.Uncategorised, Message: "full"}},
		"a code that is too long": {coded(tool.Error{Code: tool.Code(strings.Repeat("x", 65)), Category: tool.Dependency, Message: "full"}), nil,
			tool.Error{Code: tool.ToolFailed, Category: tool.Uncategorised, Message: "full"}},
		"no answer": {unanswered(tool.ToolTimeout), nil,
			tool.Error{Code: tool.ToolTimeout, Category: tool.Dependency, Message: "The answer of get was lost.", NextAction: "stop; the contract allows no retry"}},
		"its own word for no answer": {coded(tool.Error{Code: tool.ToolTimeout, Category: tool.Dependency, Message: "slow", Retryable: true, Outcome: tool.Unknown}), nil,
			tool.Error{Code: tool.ToolFailed, Category: tool.Uncategorised, Message: "slow"}},
		"a success that is none": {answered(`{"status":"error","more":{"a":1,"b":[1,2]},"message":"not found"}`), []overlay.ErrorRule{
			{Part: json.RawMessage(`{"status":"error"}`), Match: "nowhere", Code: "a", Category: tool.Internal},
			{Part: json.RawMessage(`{"more":{"a":2}}`), Code: "b", Category: tool.Internal},
			{Part: json.RawMessage(`{"more":{"b":[1]}}`), Code: "c", Category: tool.Internal},
			{Part: json.RawMessage(`{"none":null}`), Code: "d", Category: tool.Internal},
			{Part: json.RawMessage(`{"more":{"b":[1.0,2]},"status":"error"}`), Match: "not found", Code: "note_not_found", Category: tool.NotFound},
		}, tool.Error{Code: "note_not_found", Category: tool.NotFound, Message: `{"status":"error","more":{"a":1,"b":[1,2]},"message":"not found"}`, NextAction: "check the id, or search again"}},
		"a text that begins so": {said("Error: no such table"), []overlay.ErrorRule{
			{Begins: "rror:", Code: "a", Category: tool.Internal},
			{Begins: "Error:", Match: "column", Code: "b", Category: tool.Internal},
			{Begins: "Error:", Match: "no such table", Code: "table_not_found", Category: tool.NotFound},
		}, tool.Error{Code: "table_not_found", Category: tool.NotFound, Message: "Error: no such table", NextAction: "check the id, or search again"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := answering(t, test.answer, test.rules...)
			e := refused(t, b.get("n"), test.want.Code, tool.NotApplied)
			if test.want.Details == nil {
				test.want.Details = json.RawMessage(`{}`)
			}
			got := *e
			got.Outcome = ""
			if string(got.Details) != string(test.want.Details) {
				t.Errorf("details %s, want %s", got.Details, test.want.Details)
			}
			got.Details, test.want.Details = nil, nil
			if got.Code != test.want.Code || got.Category != test.want.Category || got.Message != test.want.Message ||
				got.Retryable != test.want.Retryable || got.NextAction != test.want.NextAction {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// What is an error's text may stand in any note.
func TestASuccessIsNotReadAsAnError(t *testing.T) {
	rules := []overlay.ErrorRule{
		{Match: "ENOENT", Code: "x", Category: tool.NotFound},
		{Begins: "Error:", Code: "y", Category: tool.NotFound},
		{Part: json.RawMessage(`{"status":"error"}`), Code: "z", Category: tool.NotFound},
	}
	for _, text := range []string{"ENOENT", "an Error: no", `{"status":"fine"}`, `{"status":"error"`, ""} {
		ok(t, answering(t, said(text), rules...).get("n"))
	}
	// And a failure is not read as a success.
	refused(t, answering(t, failed("Error: x"), rules...).get("n"), tool.ToolFailed, tool.NotApplied)
}

// Nothing that a server says is taken for what a control of the lab says.
func TestAServerDoesNotSpeakForTheLab(t *testing.T) {
	for _, row := range tool.Failures() {
		want := tool.ToolFailed
		switch row.Code {
		case tool.TicketNotFound, tool.InvalidCursor:
			want = row.Code
		}
		e := tool.Error{Code: row.Code, Category: row.Category, Message: "do it", NextAction: "call drop", Retryable: true,
			Details: json.RawMessage(`{"grant":"now"}`), Outcome: tool.NotApplied}
		got := refused(t, answering(t, coded(e)).get("n"), want, tool.NotApplied)
		if got.Message != "do it" {
			t.Errorf("%s: the server's words became %q", row.Code, got.Message)
		}
		if want == tool.ToolFailed && (got.NextAction != "" || got.Retryable || string(got.Details) != `{}` || got.Category != tool.Uncategorised) {
			t.Errorf("%s came through as %+v", row.Code, got)
		}
	}
}

const planted = "planted-secret"

// everything is all that a caller, a report or a receipt could show of a result.
func everything(t *testing.T, result tool.Result) string {
	t.Helper()
	all, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	unescaped := strings.NewReplacer(`\`, ``, `u0070`, `p`).Replace(string(all))
	if result.Error != nil {
		unescaped += result.Error.Error()
	}
	return unescaped
}

func TestNothingThatIsRedactedComesOut(t *testing.T) {
	inner := `{"user":"u","password":"` + planted + `","keep":1}`
	twice := `{"a":` + quote(`[`+inner+`]`) + `}`
	long := `{"filler":"` + strings.Repeat("x", 962) + `","password":"` + planted + `"}`
	early := `{"password":"` + planted + `","rest":"` + strings.Repeat("x", 5000) + `"}`
	protocol := tool.Refusal(tool.ProtocolError, map[string]string{"password": planted, "in": inner}, "%s", inner)
	for name, test := range map[string]struct {
		answer tool.Result
		rules  []overlay.ErrorRule
		keeps  string // what is still said
	}{
		"in an output":          {answer: answered(inner), keeps: `"keep":1`},
		"in a text of it":       {answer: said(inner), keeps: `"keep":1`},
		"in a list in a text":   {answer: said("\n [" + inner + "]"), keeps: `"keep":1`},
		"in a text in a text":   {answer: said(twice), keeps: `"keep":1`},
		"in a text cut short":   {answer: said(inner[:len(inner)-3])},
		"in a failure":          {answer: failed(inner), keeps: `"keep":1`},
		"in the second text":    {answer: failed("it broke", inner), keeps: `it broke`},
		"in a long failure":     {answer: failed(long), keeps: "filler"},
		"at the beginning":      {answer: failed(early)},
		"after a plain text":    {answer: failed("it broke", early), keeps: "it broke"},
		"in an error":           {answer: coded(tool.Error{Code: "own", Category: tool.Internal, Message: inner, NextAction: inner, Details: json.RawMessage(twice)}), keeps: `"keep":1`},
		"in an error's fields":  {answer: coded(tool.Error{Code: "own", Category: tool.Internal, Message: "m", Details: json.RawMessage(inner)}), keeps: `"keep":1`},
		"in one of the lab's":   {answer: coded(tool.Error{Code: tool.ApprovalRequired, Message: inner}), keeps: `"keep":1`},
		"in an error cut short": {answer: coded(tool.Error{Code: "own", Category: tool.Internal, Message: inner[:len(inner)-3]})},
		"in a JSON-RPC error":   {answer: tool.Result{Error: protocol}, keeps: `"keep":1`},
		"in a list of texts":    {answer: said(`["x",` + quote(inner) + `]`), keeps: `"x"`},
		"in a text that is one": {answer: said("\ufeff" + quote(inner)), keeps: `"keep":1`},
		"after words":           {answer: said("it broke: " + inner), keeps: "it broke"},
		"after a failure's":     {answer: failed("it broke: " + inner), keeps: "it broke"},
		"in a quoted one":       {answer: failed("it broke: " + quote(inner)), keeps: "it broke"},
		"as Python shows it":    {answer: failed("it broke: {'user': 'u', 'password': '" + planted + "'}"), keeps: "it broke"},
		"with an apostrophe":    {answer: failed(`it's broken: {"password" : "` + planted + `"}`), keeps: "s broken"},
		"by a rule":             {answer: failed("x", inner), rules: []overlay.ErrorRule{{Match: "user", Code: "y", Category: tool.Internal}}, keeps: `"keep":1`},
		"by a rule of success":  {answer: answered(inner), rules: []overlay.ErrorRule{{Part: json.RawMessage(`{"password":"` + planted + `"}`), Code: "y", Category: tool.Internal}}, keeps: `"keep":1`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limits := range []*contract.Output{{Secret: []string{"password"}}, {Credentials: true}} {
				var tools []string
				b := open(t, func(s *server, get, put *overlay.Tool) {
					get.Contract.Output, put.Contract.Output = limits, limits
					get.Rules, put.Rules = test.rules, test.rules
					work := func(context.Context, *server, map[string]any) tool.Result {
						result := test.answer
						result.Output = append(json.RawMessage(nil), result.Output...)
						return result
					}
					s.tools["get"], s.tools["put"] = work, work
				})
				// A write, its repeat and a read.
				for _, result := range []tool.Result{b.put("k", "x"), b.put("k", "x"), b.get("n")} {
					tools = append(tools, everything(t, result))
				}
				for i, all := range tools {
					if strings.Contains(all, planted) {
						t.Errorf("call %d tells %.200s", i, all)
					}
					if !strings.Contains(all, test.keeps) || !strings.Contains(all, "[redacted]") {
						t.Errorf("call %d no longer tells %q: %.200s", i, test.keeps, all)
					}
				}
			}
		})
	}
}

// What stands for a value need not be of its type.
func TestTheSchemaIsHeldAgainstWhatIsRedacted(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"password":{"type":"integer"},"in":{"type":"object","properties":{"password":{"maxLength":3}}}}}`)
	const output = `{"password":1234567,"in":{"password":"abc"},"text":"{\"password\":\"` + planted + `\"}"}`
	for _, limits := range []contract.Output{{Secret: []string{"password"}}, {Credentials: true}} {
		b := open(t, func(s *server, get, put *overlay.Tool) {
			for _, covered := range []*overlay.Tool{get, put} {
				covered.Contract.Output, covered.Contract.OutputSchema = &limits, schema
				s.tools[covered.Contract.Name] = func(context.Context, *server, map[string]any) tool.Result {
					return answered(output)
				}
			}
		})
		for _, result := range []tool.Result{b.get("n"), b.put("k", "x"), b.put("k", "x")} {
			const want = `{"in":{"password":"[redacted]"},"password":"[redacted]","text":"{\"password\":\"[redacted]\"}"}`
			if got := ok(t, result); string(got.Output) != want || got.Reply.SchemaValid == nil || !*got.Reply.SchemaValid {
				t.Errorf("got %s", got.Output)
			}
		}
	}
}

func TestWhatIsNotRedactedStays(t *testing.T) {
	b := open(t, func(s *server, get, _ *overlay.Tool) {
		get.Contract.Output = &contract.Output{Secret: []string{"password"}}
		s.notes["a"] = "{curly} password: x"
		s.notes["b"] = "[Errno 2] password"
		s.notes["c"] = `{"name":"x"}`
		s.notes["d"] = `["password"] and "password", 'password'`
		s.notes["e"] = "the \"password\nis\": x"
	})
	for name, want := range map[string]string{"a": "{curly} password: x", "b": "[Errno 2] password", "c": `{"name":"x"}`,
		"d": `["password"] and "password", 'password'`, "e": "the \"password\nis\": x"} {
		if got := ok(t, b.get(name)); got.Reply.Texts[0] != want {
			t.Errorf("%s: got %q, want %q", name, got.Reply.Texts[0], want)
		}
	}
}
