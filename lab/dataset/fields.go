package dataset

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// field is one member of an object of the format: its name, when it must or
// may be there, and how it is read into the T that the object becomes.
type field[T any] struct {
	name string
	presence
	read func(*lineReader, *T)
}

// presence says when a member must or may be there.
type presence struct {
	required bool
	unless   []string // each of these other members makes it optional
	excludes []string // beside none of these may it be there
	onlyWith string   // without this other member it may not be there
}

var (
	required = presence{required: true}
	optional = presence{}
	// What comes of a call whose arguments are valid is not always known; that they
	// are taken is.
	unlessAccepted = presence{required: true, unless: []string{"accepted"}}
)

// insteadOf is the presence of a member that is there, or else one of the others
// is.
func insteadOf(others ...string) presence {
	return presence{required: true, unless: others, excludes: others}
}

// table is the members of one object.
type table[T any] []field[T]

func (t table[T]) names() []string {
	names := make([]string, len(t))
	for i := range t {
		names[i] = t[i].name
	}
	return names
}

// has reports whether a member is among those that were seen, a bit each.
func (t table[T]) has(seen uint64, name string) bool {
	for i := range t {
		if t[i].name == name {
			return seen&(1<<i) != 0
		}
	}
	return false
}

// presenceFault says what is wrong with a member's being there or not, or
// nothing.
func (t table[T]) presenceFault(i int, seen uint64) string {
	p := &t[i].presence
	if seen&(1<<i) == 0 {
		if p.required && !slices.ContainsFunc(p.unless, func(other string) bool { return t.has(seen, other) }) {
			return "missing"
		}
		return ""
	}
	for _, other := range p.excludes {
		if t.has(seen, other) {
			return "may not stand beside " + other
		}
	}
	if p.onlyWith != "" && !t.has(seen, p.onlyWith) {
		return "may only stand beside " + p.onlyWith
	}
	return ""
}

// Formats are the formats of a model's output that a case may name; an empty
// one stands for that which the output's shape tells.
func Formats() []string { return slices.Clone(formats) }

var (
	formats  = []string{"openai-chat", "openai-responses", "anthropic-messages", "gemini", "mcp", "fenced"}
	outcomes = []string{string(tool.NotApplied), string(tool.Applied), string(tool.Unknown)}
)

// The format, as data.
var (
	caseFields = table[Case]{
		{"case_id", required, func(r *lineReader, c *Case) { c.ID = r.text(1, MaxIDLength) }},
		{"intent", required, func(r *lineReader, c *Case) { c.Intent = r.text(1, math.MaxInt) }},
		{"actor_permissions", presence{required: true, unless: []string{"caller", "proposals", "calls"}, excludes: []string{"caller"}},
			func(r *lineReader, c *Case) { c.Permissions = r.texts() }},
		{"approved", presence{required: true, unless: []string{"caller", "proposals", "calls"}}, func(r *lineReader, c *Case) { c.Approved = r.boolean() }},
		{"baseline_calls", insteadOf("proposals", "calls"), func(r *lineReader, c *Case) { c.Baseline = r.proposals() }},
		{"candidate_calls", insteadOf("proposals", "calls"), func(r *lineReader, c *Case) { c.Candidate = r.proposals() }},
		{"expected", required, func(r *lineReader, c *Case) { object(r, expectedFields, &c.Expected) }},
		{"proposals", presence{excludes: []string{"calls"}}, func(r *lineReader, c *Case) {
			c.Baseline = r.proposals()
			c.Candidate = c.Baseline
			c.stage()
		}},
		{"calls", optional, func(r *lineReader, c *Case) { c.Calls = r.calls() }},
		{"todo", optional, func(r *lineReader, c *Case) { c.Todo = r.text(1, MaxTodo) }},
		{"caller", optional, func(r *lineReader, c *Case) {
			caller := ptr(r.caller(callerFields))
			c.Permissions, c.stage().Caller = caller.Permissions, caller
		}},
		{"approvals", optional, func(r *lineReader, c *Case) { c.stage().Approvals = array(r, 0, r.approval) }},
		{"budget", optional, func(r *lineReader, c *Case) { object(r, budgetFields, &c.stage().Budget) }},
		{"parallel", optional, func(r *lineReader, c *Case) { c.stage().Parallel = r.boolean() }},
		{"recovery", optional, func(r *lineReader, c *Case) { c.stage().Recover = r.word("auto") == "auto" }},
		{"tags", optional, func(r *lineReader, c *Case) { c.Tags = r.set(1) }},
		{"clause", optional, func(r *lineReader, c *Case) { c.Clause = r.text(1, MaxClause) }},
	}
	proposalFields = table[Proposal]{
		{"name", insteadOf("raw"), func(r *lineReader, p *Proposal) { p.Name = r.text(0, math.MaxInt) }},
		{"arguments", insteadOf("raw"), func(r *lineReader, p *Proposal) { p.Arguments = r.rawObject() }},
		{"raw", optional, func(r *lineReader, p *Proposal) { p.setting().Raw = ptr(r.text(0, math.MaxInt)) }},
		{"format", presence{onlyWith: "raw"}, func(r *lineReader, p *Proposal) { p.setting().Format = r.word(formats...) }},
		{"at_ms", optional, func(r *lineReader, p *Proposal) { p.setting().At = ptr(r.milliseconds()) }},
		{"faults", optional, func(r *lineReader, p *Proposal) { object(r, faultFields, &p.setting().Fault) }},
		{"caller", optional, func(r *lineReader, p *Proposal) { p.setting().Caller = ptr(r.caller(callerFields)) }},
	}
	faultFields = table[tool.Fault]{
		{"latency_ms", optional, func(r *lineReader, f *tool.Fault) { f.Latency = r.milliseconds() }},
		{"panic", optional, func(r *lineReader, f *tool.Fault) { f.Panic = r.boolean() }},
		{"error", optional, func(r *lineReader, f *tool.Fault) { f.Error = r.text(1, math.MaxInt) }},
		{"bad_output", optional, func(r *lineReader, f *tool.Fault) { f.BadOutput = r.boolean() }},
		{"output", optional, func(r *lineReader, f *tool.Fault) { f.Output = string(r.raw()) }},
		{"lost_response", optional, func(r *lineReader, f *tool.Fault) { f.LostResponse = r.boolean() }},
		{"crash", optional, func(r *lineReader, f *tool.Fault) { f.Crash = r.boolean() }},
	}
	callerFields = append(approverFields[:len(approverFields):len(approverFields)],
		field[tool.Caller]{"task", optional, func(r *lineReader, c *tool.Caller) { c.Task = r.text(1, math.MaxInt) }},
		field[tool.Caller]{"environment", optional, func(r *lineReader, c *tool.Caller) { c.Environment = r.text(1, math.MaxInt) }},
	)
	approverFields = table[tool.Caller]{
		{"id", required, func(r *lineReader, c *tool.Caller) { c.ID = r.text(1, math.MaxInt) }},
		{"permissions", required, func(r *lineReader, c *tool.Caller) { c.Permissions = r.texts() }},
	}
	approvalFields = table[readApproval]{
		{"proposal", insteadOf("call"), func(r *lineReader, a *readApproval) { a.Proposal = r.count() }},
		{"call", optional, func(r *lineReader, a *readApproval) {
			a.Call = new(tool.Proposal)
			object(r, callFields, a.Call)
		}},
		{"approver", required, func(r *lineReader, a *readApproval) { a.Approver = r.caller(approverFields) }},
		{"at_ms", optional, func(r *lineReader, a *readApproval) { a.At = r.milliseconds() }},
		{"issued_at_ms", optional, func(r *lineReader, a *readApproval) { a.issued = ptr(r.milliseconds()) }},
		{"expires_at_ms", required, func(r *lineReader, a *readApproval) { a.ExpiresAt = r.milliseconds() }},
	}
	callFields = table[tool.Proposal]{
		{"name", required, func(r *lineReader, p *tool.Proposal) { p.Name = r.text(0, math.MaxInt) }},
		{"arguments", required, func(r *lineReader, p *tool.Proposal) { p.Arguments = r.rawObject() }},
	}
	budgetFields = table[tool.Budget]{
		{"proposals", optional, func(r *lineReader, b *tool.Budget) { b.Proposals = r.number(1) }},
		{"elapsed_ms", optional, func(r *lineReader, b *tool.Budget) { b.Elapsed = time.Duration(r.number(1)) * time.Millisecond }},
		{"concurrent", optional, func(r *lineReader, b *tool.Budget) { b.Concurrent = r.number(1) }},
		{"cost", optional, func(r *lineReader, b *tool.Budget) { b.Cost = r.number(1) }},
	}
	expectedFields = table[Expectation]{
		{"ok", unlessAccepted, func(r *lineReader, e *Expectation) { e.OK = ptr(r.boolean()) }},
		{"side_effect_count", unlessAccepted, func(r *lineReader, e *Expectation) { e.SideEffectCount = ptr(r.count()) }},
		{"accepted", optional, func(r *lineReader, e *Expectation) { e.Accepted = ptr(r.boolean()) }},
		{"error_code", optional, func(r *lineReader, e *Expectation) { e.ErrorCode = ptr(r.text(1, math.MaxInt)) }},
		{"retryable", optional, func(r *lineReader, e *Expectation) { e.Retryable = ptr(r.boolean()) }},
		{"replayed", optional, func(r *lineReader, e *Expectation) { e.Replayed = ptr(r.boolean()) }},
		{"output_keys", optional, func(r *lineReader, e *Expectation) { e.OutputKeys = r.set(0) }},
		{"output_count", optional, func(r *lineReader, e *Expectation) { e.OutputCount = ptr(r.count()) }},
		{"has_next_cursor", optional, func(r *lineReader, e *Expectation) { e.HasNextCursor = ptr(r.boolean()) }},
		{"is_error", optional, func(r *lineReader, e *Expectation) { e.IsError = ptr(r.boolean()) }},
		{"content_contains", optional, func(r *lineReader, e *Expectation) { e.ContentContains = ptr(r.text(1, math.MaxInt)) }},
		{"max_output_bytes", optional, func(r *lineReader, e *Expectation) { e.MaxOutputBytes = ptr(r.count()) }},
		{"schema_valid", optional, func(r *lineReader, e *Expectation) { e.SchemaValid = ptr(r.boolean()) }},
		{"steps", optional, func(r *lineReader, e *Expectation) { e.Steps = array(r, 1, r.step) }},
		{"state", optional, func(r *lineReader, e *Expectation) { e.State = r.part() }},
	}
	stepFields = table[StepExpectation]{
		{"ok", optional, func(r *lineReader, e *StepExpectation) { e.OK = ptr(r.boolean()) }},
		{"side_effect_count", optional, func(r *lineReader, e *StepExpectation) { e.SideEffectCount = ptr(r.count()) }},
		{"accepted", optional, func(r *lineReader, e *StepExpectation) { e.Accepted = ptr(r.boolean()) }},
		{"error_code", optional, func(r *lineReader, e *StepExpectation) { e.ErrorCode = ptr(r.text(1, math.MaxInt)) }},
		{"retryable", optional, func(r *lineReader, e *StepExpectation) { e.Retryable = ptr(r.boolean()) }},
		{"replayed", optional, func(r *lineReader, e *StepExpectation) { e.Replayed = ptr(r.boolean()) }},
		{"output_keys", optional, func(r *lineReader, e *StepExpectation) { e.OutputKeys = r.set(0) }},
		{"output_count", optional, func(r *lineReader, e *StepExpectation) { e.OutputCount = ptr(r.count()) }},
		{"has_next_cursor", optional, func(r *lineReader, e *StepExpectation) { e.HasNextCursor = ptr(r.boolean()) }},
		{"is_error", optional, func(r *lineReader, e *StepExpectation) { e.IsError = ptr(r.boolean()) }},
		{"content_contains", optional, func(r *lineReader, e *StepExpectation) { e.ContentContains = ptr(r.text(1, math.MaxInt)) }},
		{"max_output_bytes", optional, func(r *lineReader, e *StepExpectation) { e.MaxOutputBytes = ptr(r.count()) }},
		{"schema_valid", optional, func(r *lineReader, e *StepExpectation) { e.SchemaValid = ptr(r.boolean()) }},
		{"refused_by", optional, func(r *lineReader, e *StepExpectation) { e.RefusedBy = ptr(r.textOrNull()) }},
		{"handler_ran", optional, func(r *lineReader, e *StepExpectation) { e.HandlerRan = ptr(r.boolean()) }},
		{"outcome", optional, func(r *lineReader, e *StepExpectation) { e.Outcome = ptr(r.word(outcomes...)) }},
		{"next_action", optional, func(r *lineReader, e *StepExpectation) { e.NextAction = ptr(r.text(1, math.MaxInt)) }},
		{"output", optional, func(r *lineReader, e *StepExpectation) { e.Output = r.part() }},
		{"details", optional, func(r *lineReader, e *StepExpectation) { e.Details = r.part() }},
	}
)

func (c *Case) stage() *Stage {
	if c.Stage == nil {
		c.Stage = new(Stage)
	}
	return c.Stage
}

func (p *Proposal) setting() *Setting {
	if p.Setting == nil {
		p.Setting = new(Setting)
	}
	return p.Setting
}

// readApproval is an approval, and what it says of when it was issued.
type readApproval struct {
	Approval
	issued *time.Duration
}

func (r *lineReader) approval() Approval {
	var a readApproval
	object(r, approvalFields, &a)
	a.IssuedAt = a.At
	if a.issued != nil {
		a.IssuedAt = *a.issued
	}
	return a.Approval
}

func (r *lineReader) caller(fields table[tool.Caller]) (c tool.Caller) {
	object(r, fields, &c)
	return c
}

// step reads an expectation of one step, or null.
func (r *lineReader) step() *StepExpectation {
	if r.null() || !r.expect('{', "an object or null") {
		return nil
	}
	e := new(StepExpectation)
	object(r, stepFields, e)
	return e
}

func (r *lineReader) texts() []string {
	return array(r, 0, func() string { return r.text(1, math.MaxInt) })
}

// textOrNull reads a text that is not empty; null is the empty text.
func (r *lineReader) textOrNull() string {
	if r.null() || !r.expect('"', "a string or null") {
		return ""
	}
	return r.text(1, math.MaxInt)
}

// null reads a null, where one comes next.
func (r *lineReader) null() bool {
	if r.syntax != nil || r.tokens.PeekKind() != 'n' {
		return false
	}
	r.next()
	return true
}

// word reads one of a few words.
func (r *lineReader) word(words ...string) string {
	if !r.expect('"', "a string") {
		return ""
	}
	word := r.text(0, math.MaxInt)
	if r.syntax == nil && !slices.Contains(words, word) {
		r.wrong("must be %s", strings.Join(words, " or "))
	}
	return word
}

func (r *lineReader) milliseconds() time.Duration {
	return time.Duration(r.count()) * time.Millisecond
}

// part reads a value that a part of another has to equal. It has one reading.
func (r *lineReader) part() json.RawMessage {
	value := r.raw()
	if r.syntax != nil {
		return nil
	}
	var fault *jsonvalue.SyntaxError
	if _, err := jsonvalue.Decode(value); errors.As(err, &fault) {
		r.wrong("%s", fault.Reason)
	}
	return value
}
