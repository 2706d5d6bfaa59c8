package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
)

// Definition is what a model sees of a tool. Name and Description route the
// model; the schemas are JSON Schema documents. OutputSchema may be nil.
type Definition struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`

	// Annotations are a server's own hints about the tool, as it sent them (MCP:
	// readOnlyHint, destructiveHint, ...). They are claims: nothing trusts them,
	// and a hint that is absent is absent, not false. Nil where there are none.
	Annotations json.RawMessage `json:"annotations,omitempty"`

	// Strict asks a function-calling API to hold the model to InputSchema.
	Strict bool `json:"strict,omitempty"`
}

// Hints are what a server says of its tool in its annotations, as far as the lab
// asks. One that is absent is nil. They are claims.
type Hints struct {
	ReadOnly    *bool
	Destructive *bool
}

// Hints reads the annotations. What is no hint says nothing: a name in another case
// is none, for on a hint's word a tool is called. Of one that is there twice, the
// word that is more careful holds.
func (d Definition) Hints() (h Hints) {
	members := json.NewDecoder(bytes.NewReader(d.Annotations))
	if start, err := members.Token(); err != nil || start != json.Delim('{') {
		return Hints{}
	}
	for members.More() {
		name, err := members.Token()
		if err != nil {
			return Hints{}
		}
		var value json.RawMessage
		if members.Decode(&value) != nil {
			return Hints{}
		}
		switch name {
		case "readOnlyHint":
			h.ReadOnly = hint(h.ReadOnly, value, false)
		case "destructiveHint":
			h.Destructive = hint(h.Destructive, value, true)
		}
	}
	if _, err := members.Token(); err != nil { // its end
		return Hints{}
	}
	return h
}

// hint is what a value says, after what was said before: careful where either says
// so. What is neither true nor false is false, as nothing that could be trusted.
func hint(before *bool, value json.RawMessage, careful bool) *bool {
	if string(value) == "null" {
		return before
	}
	says := string(value) == "true"
	if before != nil && *before == careful {
		says = careful
	}
	return &says
}

// ReadsOnly reports whether the server says that the tool changes nothing. Without
// a word it may: that is what MCP has as the default.
func (h Hints) ReadsOnly() bool { return h.ReadOnly != nil && *h.ReadOnly }

// Changes reports whether the server says that the tool changes something. Where it
// is silent, neither this holds nor [Hints.ReadsOnly].
func (h Hints) Changes() bool {
	return !h.ReadsOnly() && (h.ReadOnly != nil || h.Destructive != nil && *h.Destructive)
}

// Proposal is one call that an agent wants to make. Both fields are untrusted:
// the name is matched exactly or not at all, and the arguments are the bytes
// that arrived, not yet decoded.
type Proposal struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Caller is who asks, and what for. Nothing in a proposal can add to it.
type Caller struct {
	ID          string   `json:"id"`
	Permissions []string `json:"permissions"`
	Task        string   `json:"task,omitempty"`        // what the agent was set to do
	Environment string   `json:"environment,omitempty"` // where, such as production
}

// Call is a proposal as the trusted runtime hands it to a surface: what is
// asked, by whom, and what was confirmed.
type Call struct {
	Proposal Proposal
	Caller   Caller
	// Approved says that the calls of this task were confirmed, in general.
	Approved bool
	// Grants are the confirmations of particular calls that the caller brings.
	Grants []Grant
}

// Grant is one person's confirmation of one particular call. It is used up when
// that call is applied.
type Grant struct {
	ID        string
	Digest    string // of the call that was confirmed, as a [Pending] shows it
	Approver  Caller
	IssuedAt  time.Time
	ExpiresAt time.Time // the first instant at which it no longer holds
	// ResourceVersion is the version of the resource when the call was shown.
	ResourceVersion string
}

// Pending is a call as a person is shown it, to be granted exactly so.
type Pending struct {
	Digest          string `json:"digest"`
	Preview         string `json:"preview"`
	ResourceVersion string `json:"resource_version,omitempty"`
}

// Budget is what a session may use up. A limit of zero is none. Refused calls
// count: an agent that repeats itself must come to an end.
type Budget struct {
	Proposals  int           // how many calls may be made
	Elapsed    time.Duration // from the first call to the start of the last
	Concurrent int           // how many calls may be under way at once
	Cost       int           // in the units of the contracts' cost
}

// Outcome says what is known about the backend after a call.
type Outcome string

const (
	NotApplied Outcome = "not_applied"
	Applied    Outcome = "applied"
	Unknown    Outcome = "unknown"
)

// Result is what a call came to. Exactly one of Output and Error is set: an
// Output that is nil means a failure. Output is a JSON document of its own; it
// does not change when the backend does.
type Result struct {
	Output   json.RawMessage
	Error    *Error
	Replayed bool // the output of an earlier call with the same key
	// ReplacedBy names the successor of a tool that is deprecated.
	ReplacedBy string
	Took       time.Duration // on a simulated clock; else zero
	// Reply is what the answer was made of, where it came over a wire; else nil.
	Reply *Reply
	Trace Trace
}

// Reply is the answer of a server before it was read as an output or an error.
// Every count is of the bytes that arrived.
type Reply struct {
	IsError bool     // the server says that the tool failed
	Texts   []string // of its text blocks, in order
	Bytes   int      // of its structured content and its content, as JSON
	// SchemaValid says whether the structured content satisfies the server's own
	// outputSchema; nil where the tool has none.
	SchemaValid *bool
}

// OK reports whether the call succeeded.
func (r Result) OK() bool { return r.Error == nil }

// Verdict is what one control said of one call.
type Verdict string

const (
	Pass   Verdict = "pass"
	Refuse Verdict = "refuse"
	Replay Verdict = "replay"
	Skip   Verdict = "skip" // the contract does not ask for this control
)

// Decision is the verdict of one control on one call, with the code of the
// error where it refused.
type Decision struct {
	Control string  `json:"control"`
	Verdict Verdict `json:"decision"`
	Code    Code    `json:"code,omitempty"`
}

// Trace is how a call went: the decisions in the order in which the controls
// were asked, ending with the one that ended the call. A surface without
// controls has none.
type Trace struct {
	Decisions  []Decision `json:"decisions"`
	HandlerRan bool       `json:"handler_ran"`
	// Fingerprint is the digest of the canonical arguments, "sha256:" and 64
	// hex digits. It is empty where the arguments have no single reading.
	Fingerprint string `json:"fingerprint"`
	// Fault stands for what a handler said when it broke, which no caller is
	// told: the backend's own word where the contract names it, else a marker.
	Fault string `json:"fault,omitempty"`
	// ListChanged says that the server announced another list of tools meanwhile.
	ListChanged bool `json:"tools_list_changed,omitempty"`
}

// RefusedBy names the control that refused the call, or is empty.
func (t Trace) RefusedBy() string {
	if n := len(t.Decisions); n > 0 && t.Decisions[n-1].Verdict == Refuse {
		return t.Decisions[n-1].Control
	}
	return ""
}

// Surface lists tool definitions and opens sessions. It is safe for
// concurrent use.
type Surface interface {
	// Name identifies the surface in reports.
	Name() string
	// Definitions lists what a model would be sent, in no promised order.
	Definitions() []Definition
	// Open returns a session over a backend that no call has touched. An error
	// means that the surface could not run; it is never a bad grade.
	Open(ctx context.Context) (Session, error)
}

// Versioned is a surface that knows the versions of its tools' contracts.
type Versioned interface {
	Surface
	// ToolVersion is empty where none is known.
	ToolVersion(name string) string
}

// Session takes the calls of one case.
type Session interface {
	// Call never panics and never blocks past the end of ctx.
	Call(ctx context.Context, call Call) Result
	// Effects counts the changes of the backend since the session was opened,
	// as the backend's ledger shows them, not as the tools tell them.
	Effects() int
	Close() error
}
