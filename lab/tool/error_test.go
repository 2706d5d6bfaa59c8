package tool_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/tool"
)

func TestFailures(t *testing.T) {
	want := []tool.Failure{
		{Code: "budget_exhausted", Category: "budget", Control: "budget", NextAction: "stop, and tell what was done"},
		{Code: "tool_not_found", Category: "routing", Control: "lookup", NextAction: "choose a listed tool"},
		{Code: "tool_retired", Category: "routing", Control: "lookup", NextAction: "choose the successor that the details name"},
		{Code: "malformed_proposal", Category: "protocol", NextAction: "propose again, as one well-formed call"},
		{Code: "protocol_error", Category: "protocol", NextAction: "fix the request as the details say, or stop"},
		{Code: "invalid_arguments", Category: "validation", Control: "input", NextAction: "fix the arguments that the violations name"},
		{Code: "invalid_cursor", Category: "validation", Control: "handler", NextAction: "fix the arguments that the violations name"},
		{Code: "permission_denied", Category: "policy", Control: "permission", NextAction: "stop, or ask for the right identity"},
		{Code: "resource_forbidden", Category: "policy", Control: "permission", NextAction: "stop, or ask for access to the resource"},
		{Code: "approval_required", Category: "policy", Control: "approval", NextAction: "pause and show the pending call"},
		{Code: "approval_mismatch", Category: "policy", Control: "approval", NextAction: "ask for approval of exactly this call"},
		{Code: "approval_expired", Category: "policy", Control: "approval", NextAction: "ask for a new approval"},
		{Code: "approval_used", Category: "policy", Control: "approval", NextAction: "ask for a new approval"},
		{Code: "approval_stale", Category: "policy", Control: "approval", NextAction: "preview again, and ask for approval of what it shows"},
		{Code: "ticket_not_found", Category: "not_found", Control: "handler", NextAction: "check the id, or search again"},
		{Code: "rate_limited", Category: "dependency", Control: "rate", NextAction: "wait as long as the details say, then repeat", Retryable: true},
		{Code: "idempotency_conflict", Category: "conflict", Control: "idempotency", NextAction: "reconcile; a new action or a person"},
		{Code: "action_in_progress", Category: "conflict", Control: "idempotency", NextAction: "wait, then repeat with the same key", Retryable: true},
		{Code: "tool_timeout", Category: "dependency", Control: "deadline", NextAction: "a bounded retry, if the contract allows"},
		{Code: "outcome_unknown", Category: "dependency", Control: "handler", NextAction: "read what it would have changed before anything is repeated"},
		{Code: "answer_lost", Category: "dependency", Control: "idempotency", NextAction: "go on: it was applied; read what it has changed"},
		{Code: "invalid_tool_output", Category: "internal", Control: "output", NextAction: "stop and raise an alarm"},
		{Code: "output_too_large", Category: "validation", Control: "output", NextAction: "narrow the call by what the details name"},
		{Code: "handler_failed", Category: "internal", Control: "handler", NextAction: "stop and raise an alarm"},
		{Code: "tool_failed", Category: "unknown"},
	}
	if diff := cmp.Diff(want, tool.Failures()); diff != "" {
		t.Errorf("the table of codes (-want +got):\n%s", diff)
	}
}

func TestFailuresAreACopy(t *testing.T) {
	tool.Failures()[0] = tool.Failure{Code: "changed"}
	if got := tool.Failures()[0].Code; got != tool.BudgetExhausted {
		t.Errorf("the first code is now %s", got)
	}
}

func TestCodesAreUniqueSnakeCaseWords(t *testing.T) {
	snakeCase := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := map[tool.Code]bool{}
	for _, f := range tool.Failures() {
		if seen[f.Code] {
			t.Errorf("%s has two rows", f.Code)
		}
		seen[f.Code] = true
		if !snakeCase.MatchString(string(f.Code)) {
			t.Errorf("%s is not in snake_case", f.Code)
		}
		if !snakeCase.MatchString(string(f.Category)) {
			t.Errorf("the category %s of %s is not in snake_case", f.Category, f.Code)
		}
	}
}

func TestEveryConstantHasARow(t *testing.T) {
	codes := map[string]bool{}
	categories := map[string]bool{}
	for _, f := range tool.Failures() {
		codes[string(f.Code)] = true
		categories[string(f.Category)] = true
	}
	tests := []struct {
		typeName string
		want     map[string]bool
	}{
		{"Code", codes},
		{"Category", categories},
	}
	for _, tt := range tests {
		t.Run(tt.typeName, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, constantsOf(t, tt.typeName)); diff != "" {
				t.Errorf("(-table +constants):\n%s", diff)
			}
		})
	}
}

// constantsOf reads the values of the string constants of a type from the
// source.
func constantsOf(t *testing.T, typeName string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != typeName {
			return true
		}
		for _, expression := range spec.Values {
			literal, ok := expression.(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is not spelt out", spec.Names[0].Name)
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values[value] = true
		}
		return true
	})
	return values
}

func TestLookup(t *testing.T) {
	for _, want := range tool.Failures() {
		got, ok := tool.Lookup(want.Code)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("Lookup(%s), found: %t (-want +got):\n%s", want.Code, ok, diff)
		}
	}
	for _, code := range []tool.Code{"", "no_such_code", "Tool_Not_Found", "tool_not_found "} {
		if got, ok := tool.Lookup(code); ok || got != (tool.Failure{}) {
			t.Errorf("Lookup(%q) = %v, %t", code, got, ok)
		}
	}
}

func TestRefusal(t *testing.T) {
	tests := []struct {
		name string
		got  *tool.Error
		want *tool.Error
	}{
		{"no details",
			tool.Refusal(tool.ToolNotFound, nil, "no tool is named %q", "drop_table"),
			&tool.Error{Code: "tool_not_found", Category: "routing", Message: `no tool is named "drop_table"`,
				Details: json.RawMessage(`{}`), NextAction: "choose a listed tool", Outcome: "not_applied"}},
		{"a nil map",
			tool.Refusal(tool.ToolTimeout, map[string]any(nil), "too late"),
			&tool.Error{Code: "tool_timeout", Category: "dependency", Message: "too late",
				Details: json.RawMessage(`{}`), NextAction: "a bounded retry, if the contract allows", Outcome: "not_applied"}},
		{"a nil pointer",
			tool.Refusal(tool.HandlerFailed, (*tool.Violation)(nil), "failed"),
			&tool.Error{Code: "handler_failed", Category: "internal", Message: "failed",
				Details: json.RawMessage(`{}`), NextAction: "stop and raise an alarm", Outcome: "not_applied"}},
		{"a map",
			tool.Refusal(tool.PermissionDenied, map[string]string{"needs": "tickets:write", "has": ""}, "denied"),
			&tool.Error{Code: "permission_denied", Category: "policy", Message: "denied",
				Details: json.RawMessage(`{"has":"","needs":"tickets:write"}`), NextAction: "stop, or ask for the right identity", Outcome: "not_applied"}},
		{"violations",
			tool.Refusal(tool.InvalidArguments, map[string]any{"violations": []tool.Violation{{Pointer: "/id", Keyword: "type", Message: "a string"}}}, "1 violation"),
			&tool.Error{Code: "invalid_arguments", Category: "validation", Message: "1 violation",
				Details:    json.RawMessage(`{"violations":[{"pointer":"/id","keyword":"type","message":"a string"}]}`),
				NextAction: "fix the arguments that the violations name", Outcome: "not_applied"}},
		{"raw details",
			tool.Refusal(tool.ApprovalRequired, json.RawMessage(`{ "tool": "x" }`), "confirm"),
			&tool.Error{Code: "approval_required", Category: "policy", Message: "confirm",
				Details: json.RawMessage(`{"tool":"x"}`), NextAction: "pause and show the pending call", Outcome: "not_applied"}},
		{"nothing to act on",
			tool.Refusal(tool.ToolFailed, nil, "request failed"),
			&tool.Error{Code: "tool_failed", Category: "unknown", Message: "request failed",
				Details: json.RawMessage(`{}`), Outcome: "not_applied"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusalTakesItsRow(t *testing.T) {
	for _, f := range tool.Failures() {
		got := tool.Refusal(f.Code, nil, "message")
		want := &tool.Error{Code: f.Code, Category: f.Category, Message: "message", Retryable: f.Retryable,
			Details: json.RawMessage(`{}`), NextAction: f.NextAction, Outcome: tool.NotApplied}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Code, diff)
		}
	}
}

func TestRefusalPanics(t *testing.T) {
	tests := []struct {
		name    string
		code    tool.Code
		details any
		want    string
	}{
		{"unknown code", "no_such_code", nil, "tool: no such code: no_such_code"},
		{"no code", "", nil, "tool: no such code: "},
		{"details that cannot be encoded", tool.HandlerFailed, make(chan int),
			"tool: details of handler_failed: json: unsupported type: chan int"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != tt.want {
					t.Errorf("panicked with %v, want %s", got, tt.want)
				}
			}()
			err := tool.Refusal(tt.code, tt.details, "message")
			t.Errorf("returned %v", err)
		})
	}
}

func TestErrorIsAnError(t *testing.T) {
	err := error(tool.Refusal(tool.TicketNotFound, nil, "no ticket %s", "T-404"))
	if got, want := err.Error(), "ticket_not_found: no ticket T-404"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var refusal *tool.Error
	if !errors.As(err, &refusal) || refusal.Code != tool.TicketNotFound {
		t.Errorf("errors.As found %v", refusal)
	}
}

func TestErrorAsJSON(t *testing.T) {
	got, err := json.Marshal(tool.Refusal(tool.TicketNotFound, map[string]string{"id": "T-404"}, "no such ticket"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"code":"ticket_not_found","category":"not_found","message":"no such ticket","retryable":false,` +
		`"details":{"id":"T-404"},"next_action":"check the id, or search again","outcome":"not_applied"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCoded(t *testing.T) {
	tests := []struct {
		code     tool.Code
		category tool.Category
		next     string
	}{
		{"file_not_found", tool.NotFound, "check the id, or search again"},
		{"ticket_not_found", tool.NotFound, "check the id, or search again"},
		{"answer_lost", tool.Dependency, "go on: it was applied; read what it has changed"},
		{"disk_full", tool.Dependency, "a bounded retry, if the contract allows"},
		{"odd", "no category", ""},
	}
	for _, tt := range tests {
		got := tool.Coded(tt.code, tt.category, "said %d", 5)
		want := &tool.Error{Code: tt.code, Category: tt.category, Message: "said 5", Details: json.RawMessage("{}"),
			NextAction: tt.next, Outcome: tool.NotApplied}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.code, diff)
		}
	}
}

func TestCategories(t *testing.T) {
	want := []tool.Category{"budget", "routing", "protocol", "validation", "policy", "not_found", "dependency", "conflict", "internal", "unknown"}
	if diff := cmp.Diff(want, tool.Categories()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
