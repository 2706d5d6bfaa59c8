package registry_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// failure is a refusal with what is known of the backend.
func failure(code tool.Code, outcome tool.Outcome, retryable bool) *tool.Error {
	e := tool.Refusal(code, nil, "")
	e.Outcome, e.Retryable = outcome, retryable
	return e
}

func TestRecover(t *testing.T) {
	read := contract.Contract{Effect: contract.Read, Retry: contract.RetryTransient}
	keyed := contract.Contract{Effect: contract.Write, IdempotencyKey: "key"}
	unkeyed := contract.Contract{Effect: contract.Destructive}
	rated := failure(tool.RateLimited, tool.NotApplied, true)
	rated.Details = json.RawMessage(`{"retry_after_ms":250}`)

	for name, test := range map[string]struct {
		error    *tool.Error
		contract contract.Contract
		attempts int
		left     int
		action   tool.Action
		wait     time.Duration
	}{
		"a success":                       {nil, read, 1, -1, tool.Proceed, 0},
		"bad arguments":                   {failure(tool.InvalidArguments, tool.NotApplied, false), keyed, 1, -1, tool.FixArguments, 0},
		"a malformed proposal":            {failure(tool.MalformedProposal, tool.NotApplied, false), read, 1, -1, tool.FixArguments, 0},
		"a bad cursor":                    {failure(tool.InvalidCursor, tool.NotApplied, false), read, 1, -1, tool.FixArguments, 0},
		"too large an output":             {failure(tool.OutputTooLarge, tool.NotApplied, false), read, 1, -1, tool.FixArguments, 0},
		"no approval":                     {failure(tool.ApprovalRequired, tool.NotApplied, false), keyed, 1, -1, tool.AskApproval, 0},
		"a stale approval":                {failure(tool.ApprovalStale, tool.NotApplied, false), keyed, 1, -1, tool.AskApproval, 0},
		"no permission":                   {failure(tool.PermissionDenied, tool.NotApplied, false), read, 1, -1, tool.Stop, 0},
		"no permission, called retryable": {failure(tool.PermissionDenied, tool.NotApplied, true), unkeyed, 1, -1, tool.Stop, 0},
		"a conflict":                      {failure(tool.IdempotencyConflict, tool.NotApplied, false), keyed, 1, -1, tool.Stop, 0},
		"a budget":                        {failure(tool.BudgetExhausted, tool.NotApplied, false), read, 1, 0, tool.Stop, 0},
		"a timeout of a read":             {failure(tool.ToolTimeout, tool.NotApplied, true), read, 1, -1, tool.Retry, 100 * time.Millisecond},
		"again":                           {failure(tool.ToolTimeout, tool.NotApplied, true), read, 2, -1, tool.Retry, 200 * time.Millisecond},
		"and again":                       {failure(tool.ToolTimeout, tool.NotApplied, true), read, 3, -1, tool.Stop, 0},
		"one call left":                   {failure(tool.ToolTimeout, tool.NotApplied, true), read, 1, 1, tool.Retry, 100 * time.Millisecond},
		"no call left":                    {failure(tool.ToolTimeout, tool.NotApplied, true), read, 1, 0, tool.Stop, 0},
		"a timeout that never passes":     {failure(tool.ToolTimeout, tool.NotApplied, false), read, 1, -1, tool.Stop, 0},
		"a keyed write, not applied":      {failure(tool.ToolTimeout, tool.NotApplied, true), keyed, 1, -1, tool.Retry, 100 * time.Millisecond},
		"an unkeyed write, not applied":   {failure(tool.ToolTimeout, tool.NotApplied, true), unkeyed, 1, -1, tool.Stop, 0},
		"a keyed write, unknown":          {failure(tool.OutcomeUnknown, tool.Unknown, false), keyed, 1, -1, tool.LookUpReceipt, 0},
		"an unkeyed write, unknown":       {failure(tool.OutcomeUnknown, tool.Unknown, true), unkeyed, 1, -1, tool.Stop, 0},
		"a broken keyed write, unknown":   {failure(tool.HandlerFailed, tool.Unknown, false), keyed, 1, -1, tool.LookUpReceipt, 0},
		"a write that was applied":        {failure(tool.InvalidToolOutput, tool.Applied, true), keyed, 1, -1, tool.Stop, 0},
		"the same action under way":       {failure(tool.ActionInProgress, tool.Unknown, true), keyed, 2, -1, tool.Retry, 200 * time.Millisecond},
		"a rate":                          {rated, keyed, 1, -1, tool.Retry, 250 * time.Millisecond},
		"a rate of a read":                {rated, read, 1, -1, tool.Retry, 250 * time.Millisecond},
		"a rate of an unkeyed write":      {rated, unkeyed, 1, -1, tool.Stop, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := registry.Recover(registry.Situation{Error: test.error, Contract: test.contract, Attempts: test.attempts, BudgetLeft: test.left})
			if got.Reason == "" {
				t.Error("no reason is given")
			}
			got.Reason = ""
			if diff := cmp.Diff(tool.NextStep{Action: test.action, Wait: test.wait}, got); diff != "" {
				t.Errorf("next step (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNextKnowsTheContractAndTheBudget(t *testing.T) {
	s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Budget.Proposals = 2
		b.Latencies = map[string]registry.Latency{"look": latency(900)}
	})
	c := call("look", `{"id":"xx"}`, "read")
	if next := s.Next(c, s.call(c), 1); next.Action != tool.Retry {
		t.Errorf("after one of two calls: %+v", next)
	}
	if next := s.Next(c, s.call(c), 2); next.Action != tool.Stop {
		t.Errorf("after the last call: %+v", next)
	}
}
