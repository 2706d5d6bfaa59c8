package tool

import (
	"context"
	"encoding/json"
	"time"
)

// Fault is what a harness makes go wrong behind one call. No proposal can ask
// for it.
type Fault struct {
	Latency      time.Duration // how long the backend takes, on the simulated clock
	Panic        bool          // the handler panics before it does anything
	Error        string        // the backend refuses in this word of its own
	BadOutput    bool          // the work is done, and its answer breaks the contract
	Output       string        // the work is done, and this JSON is its answer; empty: its own
	LostResponse bool          // the work is done, and its answer never comes
	Crash        bool          // the work is done, and the process dies before it says so
}

// Supervised is a session whose registry can be told and asked what surrounds its
// calls, whatever clock it goes by.
type Supervised interface {
	Session
	// Arrange sets the budget; it comes before the first call.
	Arrange(budget Budget)
	// Now tells the time that the controls go by.
	Now() time.Time
	// Pending shows a call as its approver is to see it.
	Pending(ctx context.Context, call Call) (Pending, *Error)
	// Unread counts a proposal that could not be read against the budget. Where
	// that is used up it returns the refusal, and true.
	Unread(ctx context.Context, caller Caller) (Result, bool)
	// Next says what is to be done after so many attempts of a call, of which
	// this was the last result.
	Next(call Call, result Result, attempts int) NextStep
}

// Staged is a session whose circumstances a harness can arrange: what it may
// use up, what time it is, what goes wrong. A session over a real backend need
// not be one.
type Staged interface {
	Supervised
	// SetTime moves the session's simulated clock to so long after its start.
	SetTime(sinceStart time.Duration)
	// CallWith is Call, with something going wrong behind it.
	CallWith(ctx context.Context, call Call, fault Fault) Result
	// State returns the backend's state, as one JSON document.
	State() json.RawMessage
	// Receipts returns what is known of keyed actions, as one JSON document.
	Receipts() json.RawMessage
}

// Action is what is to be done after a failure.
type Action string

const (
	Proceed       Action = "proceed"         // nothing failed
	FixArguments  Action = "fix_arguments"   // another proposal is needed
	AskApproval   Action = "ask_approval"    // a person has to confirm
	Retry         Action = "retry"           // the same call again, after a wait
	LookUpReceipt Action = "look_up_receipt" // the same key again, which tells what became of it
	Stop          Action = "stop"
)

// NextStep is an action, how long to wait before it, and why it is the one.
type NextStep struct {
	Action Action        `json:"action"`
	Wait   time.Duration `json:"-"`
	Reason string        `json:"reason"`
}
