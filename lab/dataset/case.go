// Package dataset reads cases from JSONL, one case a line, and refuses what it
// does not fully understand.
//
// Start with [Open], which gives batches of lines; [Batch.Decode] turns one
// into cases, on any goroutine; [Ledger.Record] takes the batches in order and
// finds what no single line shows. [Reader.Check] does all of it at once, for
// whoever may call nothing before every line was read.
//
// One invariant: every fault of every line is found and named by file, line
// and field. A dataset with a fault is never half used: whoever replays it
// asks [Ledger.Close] before showing what came of it.
//
// The package runs nothing and grades nothing. The JSON Schema in
// datasets/tool-cases.schema.json says the same as the field tables here; a
// test holds the two together.
package dataset

import (
	"encoding/json"
	"time"

	"agentlab/lab/tool"
)

// Case is a named intent, a caller, the proposals that each surface is given,
// and what must come of them.
type Case struct {
	ID          string
	Intent      string   // one plain sentence
	Todo        string   // what a person must still decide; such a case is not replayed
	Permissions []string // of the caller
	Approved    bool     // the calls of the case were confirmed
	// Baseline and Candidate are what the replayed surfaces are given. Of a case
	// with Calls they are found there by the names in [Settings].
	Baseline  []Proposal
	Candidate []Proposal
	Calls     []Calls // in the order of the line; nil where the case names no surface
	Expected  Expectation
	// Stage is nil where the case asks for nothing but calls in their order.
	Stage *Stage
	Tags  []string // which change nothing of a run
	// Clause is the part of a contract that a generated case tests, and on which
	// side of it; it changes nothing of a run.
	Clause string
}

// Calls are the proposals of a case that the surface of that name is given.
type Calls struct {
	Surface   string
	Proposals []Proposal
}

// Proposal is one proposal of a case, of which nothing was looked at.
type Proposal struct {
	Name      string
	Arguments json.RawMessage
	*Setting  // nil where it has none
}

// Setting is what surrounds one proposal.
type Setting struct {
	// Raw is the output of a model that is to be read as the proposal; nil
	// where the case gives its name and arguments.
	Raw    *string
	Format string         // which Raw has; empty where its shape tells
	At     *time.Duration // since the start; nil: when the one before has ended
	Fault  tool.Fault
	Caller *tool.Caller // nil: that of the case
}

// Stage is what a case arranges around its proposals. A surface whose sessions
// are not [tool.Staged] knows nothing of it, but that on a server outside parallel
// proposals start together, and that before one the lab's own controls are told of
// all but what is to go wrong.
type Stage struct {
	Caller    *tool.Caller // nil: somebody with the case's permissions
	Approvals []Approval
	Budget    tool.Budget
	Parallel  bool // proposals without a time start together
	Recover   bool // the harness does after a failure what the session advises
}

// Approval is one call that somebody is shown and confirms.
type Approval struct {
	Proposal  int            // index of the proposal that is shown, where Call is nil
	Call      *tool.Proposal // a call that need not be among the proposals
	Approver  tool.Caller
	At        time.Duration // when it was shown and confirmed
	IssuedAt  time.Duration // what the grant says of that
	ExpiresAt time.Duration
}

// Expectation is what the graders compare with; a field that is nil is not graded.
// OK and SideEffectCount are there, unless Accepted is.
type Expectation struct {
	OK              *bool    // of the last result
	SideEffectCount *int     // of the whole run
	Accepted        *bool    // whether the arguments of the last call were taken for valid
	ErrorCode       *string  // of the last result
	Retryable       *bool    // of the last result's error
	Replayed        *bool    // of any result
	OutputKeys      []string // of the last output, in any order
	OutputCount     *int     // the items of the last output
	HasNextCursor   *bool    // of the last output
	IsError         *bool    // what the server says of the last result
	ContentContains *string  // a part of the last text content
	MaxOutputBytes  *int     // the largest size of the last output
	SchemaValid     *bool    // of the last structured content, by the server's own schema

	Steps []*StepExpectation // one a proposal; nil for one that is not graded
	State json.RawMessage    // a part of the backend's state at the end
}

// StepExpectation is what must come of one proposal. A field that is nil is
// not graded.
type StepExpectation struct {
	OK              *bool
	SideEffectCount *int
	Accepted        *bool
	ErrorCode       *string
	Retryable       *bool
	Replayed        *bool
	OutputKeys      []string
	OutputCount     *int
	HasNextCursor   *bool
	IsError         *bool
	ContentContains *string
	MaxOutputBytes  *int
	SchemaValid     *bool
	RefusedBy       *string // a control; the empty string for none
	HandlerRan      *bool
	Outcome         *string         // of the error
	NextAction      *string         // of the error
	Output          json.RawMessage // a part of it
	Details         json.RawMessage // a part of the error's
}
