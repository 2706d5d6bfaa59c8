package registry_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

func TestWhoMayGrant(t *testing.T) {
	lead := tool.Caller{ID: "lead", Permissions: []string{"approve"}}
	self := tool.Caller{ID: "a", Permissions: []string{"approve"}}
	for name, test := range map[string]struct {
		rule     *contract.Approver
		approver tool.Caller
		id       string
		want     tool.Code
	}{
		"another one":              {&contract.Approver{Permission: "approve", NotCaller: true}, lead, "g", ""},
		"not oneself":              {&contract.Approver{Permission: "approve", NotCaller: true}, self, "g", tool.ApprovalRequired},
		"oneself":                  {&contract.Approver{Permission: "approve"}, self, "g", ""},
		"nobody without the right": {&contract.Approver{Permission: "approve"}, tool.Caller{ID: "lead"}, "g", tool.ApprovalRequired},
		"anybody":                  {nil, tool.Caller{ID: "x"}, "g", ""},
		"a grant without a name":   {nil, lead, "", tool.ApprovalRequired},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(_, write *contract.Contract, _ *registry.Backend) {
				write.Approval, write.Approver = contract.ApprovalBound, test.rule
			})
			c := write(`"k1"`, `1`)
			c.Caller.ID = "a"
			g := s.grant(c)
			g.ID, g.Approver = test.id, test.approver
			c.Grants = []tool.Grant{g}
			if test.want == "" {
				succeeded(t, s.call(c))
				return
			}
			refused(t, s.call(c), "approval", test.want)
		})
	}
}

// The grant of an action whose end was not known is used up where it turns out to
// have been applied, and free where it was not.
func TestTheGrantOfADoubtfulAction(t *testing.T) {
	for _, applied := range []bool{true, false} {
		answers := lost
		s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
			bound(look, write, b)
			write.ReceiptTTL = time.Second
			b.Handlers["write"] = func(ctx context.Context, a json.RawMessage) (json.RawMessage, error) { return answers(ctx, a) }
			b.Reconcile = map[string]registry.Reconcile{"write": func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
				return nil, applied, nil
			}}
		})
		c := write(`"k1"`, `1`)
		g := s.grant(c)
		g.ExpiresAt = s.clock.Now().Add(time.Hour)
		c.Grants = []tool.Grant{g}
		refused(t, s.call(c), "handler", tool.OutcomeUnknown)
		answers = answer(`{"done":1}`)
		if !applied {
			succeeded(t, s.call(c))
			continue
		}
		if again := s.call(c); !again.Replayed || again.Error == nil || again.Error.Code != tool.AnswerLost {
			t.Errorf("got %v", again.Error)
		}
		// When the receipt is forgotten, the grant is not.
		s.at(5000)
		refused(t, s.call(c), "approval", tool.ApprovalUsed)
		if s.ran.Load() != 1 {
			t.Errorf("%d handlers ran, want 1", s.ran.Load())
		}
	}
}

// A call that applied nothing has changed nothing, and what is there after it is
// somebody else's.
func TestWhatChangesWhileACallFails(t *testing.T) {
	var p *place
	p = watched(t, func(_, write *contract.Contract, b *registry.Backend) {
		work := b.Handlers["write"]
		b.Handlers["write"] = func(ctx context.Context, a json.RawMessage) (json.RawMessage, error) {
			if p.fail.Load() != nil {
				p.version.Add(1) // by somebody else
			}
			return work(ctx, a)
		}
	})
	succeeded(t, p.call(write(`"k1"`, `1`)))
	p.fail.Store(tool.Refusal(tool.TicketNotFound, nil, "none"))
	refused(t, p.call(write(`"k2"`, `1`)), "handler", tool.TicketNotFound)
	p.fail.Store(nil)
	p.stale(p.call(write(`"k3"`, `1`)), `{"of":"it","seen":"2","is":"3"}`)
}

// A call that passed as the repeat of another is held to what the session has seen,
// where that other applied nothing.
func TestARepeatOfAFailureIsHeldToWhatWasSeen(t *testing.T) {
	var p *place
	again := make(chan tool.Result, 1)
	var once sync.Once
	p = watched(t, func(_, write *contract.Contract, b *registry.Backend) {
		b.Clock = nil // the wall clock: calls wait for each other
		work := b.Handlers["write"]
		b.Handlers["write"] = func(ctx context.Context, a json.RawMessage) (json.RawMessage, error) {
			first := false
			once.Do(func() { first = true })
			if !first {
				return work(ctx, a)
			}
			p.version.Add(1) // by somebody else
			go func() { again <- p.call(write1) }()
			time.Sleep(50 * time.Millisecond) // the repeat waits for this call
			return nil, tool.Refusal(tool.TicketNotFound, nil, "none")
		}
	})
	refused(t, p.call(write1), "handler", tool.TicketNotFound)
	e := refused(t, <-again, "idempotency", tool.ApprovalStale)
	wantDetails(t, e, `{"of":"it","seen":"1","is":"2"}`)
}

// The same where the end of that other was not known, and it turns out that nothing
// was applied.
func TestARepeatOfWhatWasNotAppliedIsHeldToWhatWasSeen(t *testing.T) {
	answers := lost
	p := watched(t, func(_, write *contract.Contract, b *registry.Backend) {
		b.Handlers["write"] = func(ctx context.Context, a json.RawMessage) (json.RawMessage, error) { return answers(ctx, a) }
		b.Reconcile = map[string]registry.Reconcile{"write": func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
			return nil, false, nil
		}}
	})
	refused(t, p.call(write1), "handler", tool.OutcomeUnknown)
	p.version.Add(1) // by somebody else
	answers = answer(`{"done":1}`)
	e := refused(t, p.call(write1), "idempotency", tool.ApprovalStale)
	wantDetails(t, e, `{"of":"it","seen":"1","is":"2"}`)
	succeeded(t, p.call(write1)) // in that knowledge
}

var write1 = write(`"k1"`, `1`)
