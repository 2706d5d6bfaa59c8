package tool

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Code is a stable snake_case word that names a failure.
type Code string

// Category groups codes by what an agent can do about them.
type Category string

const (
	Routing    Category = "routing"
	Validation Category = "validation"
	Policy     Category = "policy"
	NotFound   Category = "not_found"
	Conflict   Category = "conflict"
	Dependency Category = "dependency"
	Internal   Category = "internal"
	Budgetary  Category = "budget"
	Protocol   Category = "protocol"
	// Uncategorised is what a surface without contracts answers: nothing that
	// an agent could act on.
	Uncategorised Category = "unknown"
)

const (
	BudgetExhausted     Code = "budget_exhausted"
	ToolNotFound        Code = "tool_not_found"
	ToolRetired         Code = "tool_retired"
	MalformedProposal   Code = "malformed_proposal"
	ProtocolError       Code = "protocol_error"
	InvalidArguments    Code = "invalid_arguments"
	InvalidCursor       Code = "invalid_cursor"
	PermissionDenied    Code = "permission_denied"
	ResourceForbidden   Code = "resource_forbidden"
	ApprovalRequired    Code = "approval_required"
	ApprovalMismatch    Code = "approval_mismatch"
	ApprovalExpired     Code = "approval_expired"
	ApprovalUsed        Code = "approval_used"
	ApprovalStale       Code = "approval_stale"
	TicketNotFound      Code = "ticket_not_found"
	RateLimited         Code = "rate_limited"
	IdempotencyConflict Code = "idempotency_conflict"
	ActionInProgress    Code = "action_in_progress"
	ToolTimeout         Code = "tool_timeout"
	OutcomeUnknown      Code = "outcome_unknown"
	AnswerLost          Code = "answer_lost"
	InvalidToolOutput   Code = "invalid_tool_output"
	OutputTooLarge      Code = "output_too_large"
	HandlerFailed       Code = "handler_failed"
	ToolFailed          Code = "tool_failed"
)

// Failure is one row of the table of codes.
type Failure struct {
	Code       Code
	Category   Category
	Control    string // the control that refuses with it; empty where none does
	NextAction string // what the agent should do
	Retryable  bool   // whether a repeat of the same call could help; a timeout asks the contract
}

// failures is the one table of codes. A new code is a new row.
var failures = []Failure{
	{BudgetExhausted, Budgetary, "budget", "stop, and tell what was done", false},
	{ToolNotFound, Routing, "lookup", "choose a listed tool", false},
	{ToolRetired, Routing, "lookup", "choose the successor that the details name", false},
	{MalformedProposal, Protocol, "", "propose again, as one well-formed call", false},
	{ProtocolError, Protocol, "", "fix the request as the details say, or stop", false},
	{InvalidArguments, Validation, "input", "fix the arguments that the violations name", false},
	{InvalidCursor, Validation, "handler", "fix the arguments that the violations name", false},
	{PermissionDenied, Policy, "permission", "stop, or ask for the right identity", false},
	{ResourceForbidden, Policy, "permission", "stop, or ask for access to the resource", false},
	{ApprovalRequired, Policy, "approval", "pause and show the pending call", false},
	{ApprovalMismatch, Policy, "approval", "ask for approval of exactly this call", false},
	{ApprovalExpired, Policy, "approval", "ask for a new approval", false},
	{ApprovalUsed, Policy, "approval", "ask for a new approval", false},
	{ApprovalStale, Policy, "approval", "preview again, and ask for approval of what it shows", false},
	{TicketNotFound, NotFound, "handler", "check the id, or search again", false},
	{RateLimited, Dependency, "rate", "wait as long as the details say, then repeat", true},
	{IdempotencyConflict, Conflict, "idempotency", "reconcile; a new action or a person", false},
	{ActionInProgress, Conflict, "idempotency", "wait, then repeat with the same key", true},
	{ToolTimeout, Dependency, "deadline", "a bounded retry, if the contract allows", false},
	{OutcomeUnknown, Dependency, "handler", "read what it would have changed before anything is repeated", false},
	{AnswerLost, Dependency, "idempotency", "go on: it was applied; read what it has changed", false},
	{InvalidToolOutput, Internal, "output", "stop and raise an alarm", false},
	{OutputTooLarge, Validation, "output", "narrow the call by what the details name", false},
	{HandlerFailed, Internal, "handler", "stop and raise an alarm", false},
	{ToolFailed, Uncategorised, "", "", false},
}

// Failures returns the table of codes, in the order of the documentation.
func Failures() []Failure { return append([]Failure(nil), failures...) }

// Lookup returns the row of a code, and whether the table has one.
func Lookup(code Code) (Failure, bool) {
	for _, f := range failures {
		if f.Code == code {
			return f, true
		}
	}
	return Failure{}, false
}

// Error is a failure in a form that an agent can act on.
//
// Retryable says that a retry could help, never that it is safe: a write whose
// Outcome is unknown is looked up first. Details is a JSON object.
type Error struct {
	Code       Code            `json:"code"`
	Category   Category        `json:"category"`
	Message    string          `json:"message"`
	Retryable  bool            `json:"retryable"`
	Details    json.RawMessage `json:"details"`
	NextAction string          `json:"next_action"`
	Outcome    Outcome         `json:"outcome"`
}

// Error implements the error interface.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Refusal returns the error of a code from the table. Details is encoded as
// JSON; nil stands for no details. An unknown code, or details that cannot be
// encoded, are a mistake of the program and panic.
func Refusal(code Code, details any, format string, args ...any) *Error {
	row, ok := Lookup(code)
	if !ok {
		panic("tool: no such code: " + string(code))
	}
	raw, err := json.Marshal(details)
	if err != nil {
		panic("tool: details of " + string(code) + ": " + err.Error())
	}
	if string(raw) == "null" {
		raw = []byte("{}")
	}
	return &Error{
		Code:       code,
		Category:   row.Category,
		Message:    fmt.Sprintf(format, args...),
		Retryable:  row.Retryable,
		Details:    raw,
		NextAction: row.NextAction,
		Outcome:    NotApplied,
	}
}

// Coded returns an error with a code that need not be in the table, such as one
// that a contract gives to what a backend says. Its next action is that of the
// first code of its category that is not retryable; whether this one is, is for
// whoever calls to say.
func Coded(code Code, category Category, format string, args ...any) *Error {
	e := &Error{
		Code:     code,
		Category: category,
		Message:  fmt.Sprintf(format, args...),
		Details:  json.RawMessage("{}"),
		Outcome:  NotApplied,
	}
	row, known := Lookup(code)
	for i := 0; !known && i < len(failures); i++ {
		row, known = failures[i], failures[i].Category == category && !failures[i].Retryable
	}
	if known {
		e.NextAction = row.NextAction
	}
	return e
}

// Categories returns the categories that a code can have, in the order of the
// table.
func Categories() []Category {
	var all []Category
	for _, f := range failures {
		if !slices.Contains(all, f.Category) {
			all = append(all, f.Category)
		}
	}
	return all
}

// Violation is one place where a JSON document breaks its schema.
type Violation struct {
	Pointer string `json:"pointer"` // JSON Pointer (RFC 6901) into the document; "" is the whole
	Keyword string `json:"keyword"` // the schema keyword that was broken
	Message string `json:"message"` // what was expected there
}
