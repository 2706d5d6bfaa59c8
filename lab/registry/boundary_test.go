package registry_test

import (
	"context"
	"testing"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// A grant of one tool is none of another that takes the same arguments.
func TestApprovalIsBoundToTheTool(t *testing.T) {
	s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
		bound(look, write, b)
		look.InputSchema, look.Permission = write.InputSchema, write.Permission
		look.Version, look.Approval, look.Approver = write.Version, write.Approval, write.Approver
	})
	other := write(`"k1"`, `1`)
	other.Proposal.Name = "look"
	c := write(`"k1"`, `1`)
	c.Grants = []tool.Grant{s.grant(other)}
	refused(t, s.call(c), "approval", tool.ApprovalMismatch)
}

func TestRateIsOfOneTool(t *testing.T) {
	s := newStage(t, func(look, write *contract.Contract, _ *registry.Backend) {
		look.Rate = &contract.Rate{Burst: 1, Every: time.Second}
		write.Rate = look.Rate
	})
	succeeded(t, s.look())
	succeeded(t, s.call(write(`"k1"`, `1`)))
	refused(t, s.look(), "rate", tool.RateLimited)
}

// Who waits as long as the refusal says is let through.
func TestRetryAfterIsLongEnough(t *testing.T) {
	s := newStage(t, func(look, _ *contract.Contract, _ *registry.Backend) {
		look.Rate = &contract.Rate{Burst: 1, Every: 1500 * time.Microsecond}
	})
	succeeded(t, s.at(0).look())
	wantDetails(t, refused(t, s.at(0).look(), "rate", tool.RateLimited), `{"retry_after_ms":2}`)
	succeeded(t, s.at(2).look())
}

// On the wall clock a call is under way until it has been answered.
func TestACallThatEndedIsNotUnderWay(t *testing.T) {
	s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Clock = nil
		b.Budget.Concurrent = 1
	})
	for range 3 {
		succeeded(t, s.look())
	}
}

// A hidden resource is answered word for word as the contract says.
func TestAHiddenResourceHasTheWordsOfAMissingOne(t *testing.T) {
	s := newStage(t, func(look, _ *contract.Contract, b *registry.Backend) {
		look.Resources = []contract.Resource{{Argument: "id", HiddenAs: tool.TicketNotFound, HiddenMessage: "There is none."}}
		b.Access = map[string]func(context.Context, tool.Caller, string, string) registry.Access{
			"look": func(context.Context, tool.Caller, string, string) registry.Access { return registry.Hidden },
		}
	})
	e := refused(t, s.look(), "permission", tool.TicketNotFound)
	if e.Message != "There is none." {
		t.Errorf("message = %q", e.Message)
	}
	wantDetails(t, e, `{"id":"xx"}`)
}

func TestAHiddenToolCostsNothing(t *testing.T) {
	s := newStage(t, func(look, _ *contract.Contract, b *registry.Backend) {
		look.Cost, look.Visibility = 5, &contract.Visibility{Tasks: []string{"other"}}
		b.Budget.Cost = 1
	})
	refused(t, s.look(), "lookup", tool.ToolNotFound)
}

// An agent that only ever proposes nonsense comes to an end too.
func TestUnreadProposalsCount(t *testing.T) {
	s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) { b.Budget.Proposals = 2 })
	for range 2 {
		if result, over := s.Unread(t.Context(), tool.Caller{ID: "a"}); over {
			t.Fatalf("refused with %v", result.Error)
		}
	}
	result, over := s.Unread(t.Context(), tool.Caller{ID: "a"})
	if !over {
		t.Fatal("a third proposal was let through")
	}
	wantDetails(t, refused(t, result, "budget", tool.BudgetExhausted), `{"budget":"proposals","used":2,"of":2}`)
	refused(t, s.look(), "budget", tool.BudgetExhausted)
}

// What an agent is told to do fits what it is told of a retry.
func TestATimeoutAdvisesWhatTheContractAllows(t *testing.T) {
	for retry, want := range map[contract.Retry]string{
		contract.RetryTransient: "a bounded retry, if the contract allows",
		contract.RetryNever:     "stop; the contract allows no retry",
	} {
		s := newStage(t, func(look, _ *contract.Contract, b *registry.Backend) {
			look.Retry = retry
			b.Latencies = map[string]registry.Latency{"look": latency(501)}
		})
		e := refused(t, s.look(), "deadline", tool.ToolTimeout)
		if e.NextAction != want || e.Retryable != (retry == contract.RetryTransient) {
			t.Errorf("%s: retryable %t, %q", retry, e.Retryable, e.NextAction)
		}
	}
}
