package registry

import (
	"encoding/json"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

// Situation is what a decision about a failed call rests on.
type Situation struct {
	Error    *tool.Error // its Outcome says what is known of the backend
	Contract contract.Contract
	Attempts int // made so far, the failed one included
	// BudgetLeft is how many more calls may be made; below zero: any number.
	BudgetLeft int
}

// MaxAttempts is how often a call is made at the most, and the wait before the
// second attempt, which doubles with every further one.
const (
	MaxAttempts = 3
	FirstWait   = 100 * time.Millisecond
)

// Recover says what to do next. That an error is retryable is never enough: a
// repeat must be safe as well, because the tool only reads, or because nothing
// was applied and a stable key makes the repeat the same action; and attempts
// and budget must be left.
func Recover(s Situation) tool.NextStep {
	e := s.Error
	if e == nil {
		return tool.NextStep{Action: tool.Proceed, Reason: "the call succeeded"}
	}
	stop := func(reason string) tool.NextStep { return tool.NextStep{Action: tool.Stop, Reason: reason} }
	if s.BudgetLeft == 0 {
		return stop("the budget is used up")
	}
	if e.Outcome == tool.Applied {
		return stop("the write was applied")
	}
	writes, keyed := s.Contract.Effect.Changes(), s.Contract.IdempotencyKey != ""
	switch e.Code {
	case tool.MalformedProposal, tool.InvalidArguments, tool.InvalidCursor, tool.OutputTooLarge:
		return tool.NextStep{Action: tool.FixArguments, Reason: "the details say what to change"}
	case tool.ApprovalRequired, tool.ApprovalMismatch, tool.ApprovalExpired, tool.ApprovalUsed, tool.ApprovalStale:
		return tool.NextStep{Action: tool.AskApproval, Reason: "a person has to confirm exactly this call"}
	}
	if s.Attempts >= MaxAttempts {
		return stop("the attempts are used up")
	}
	switch {
	case e.Code == tool.ActionInProgress && keyed:
		return tool.NextStep{Action: tool.Retry, Wait: backoff(s.Attempts), Reason: "the same action is under way, and its key makes the repeat safe"}
	case e.Outcome == tool.Unknown && writes && keyed:
		return tool.NextStep{Action: tool.LookUpReceipt, Reason: "nobody knows whether the write was applied; its key tells"}
	case e.Outcome == tool.Unknown && writes:
		return stop("nobody knows whether the write was applied, and it has no key")
	case !e.Retryable:
		return stop("a repeat would fail in the same way")
	case writes && !keyed:
		return stop("the tool writes, and no key makes a repeat safe")
	case e.Code == tool.RateLimited:
		return tool.NextStep{Action: tool.Retry, Wait: retryAfter(e), Reason: "the rate lets the call through then"}
	}
	return tool.NextStep{Action: tool.Retry, Wait: backoff(s.Attempts), Reason: "the failure may pass, and a repeat is safe"}
}

func backoff(attempts int) time.Duration { return FirstWait << (max(attempts, 1) - 1) }

func retryAfter(e *tool.Error) time.Duration {
	var details struct {
		RetryAfter int64 `json:"retry_after_ms"`
	}
	if json.Unmarshal(e.Details, &details) != nil || details.RetryAfter < 0 {
		return FirstWait
	}
	return time.Duration(details.RetryAfter) * time.Millisecond
}

// Next says what to do after a call of this registry; see [Recover].
func (r *Registry) Next(call tool.Call, result tool.Result, attempts int) tool.NextStep {
	s := Situation{Error: result.Error, Attempts: attempts, BudgetLeft: r.spent.left(r.backend.Budget)}
	if e := r.catalog.entries[call.Proposal.Name]; e != nil {
		s.Contract = e.Contract
	}
	return Recover(s)
}
