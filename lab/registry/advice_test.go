package registry_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// A narrower call is no way on where the answer is that of a write.
func TestAdviceOnALargeAnswer(t *testing.T) {
	const (
		narrow = "narrow the call by what the details name"
		goOn   = "go on: it was applied; its answer is too large to be shown"
	)
	s := newStage(t, func(look, write *contract.Contract, _ *registry.Backend) {
		look.Output, write.Output = &contract.Output{MaxBytes: 1}, &contract.Output{MaxBytes: 1}
	})
	if e := refused(t, s.look(), "output", tool.OutputTooLarge); e.NextAction != narrow {
		t.Errorf("of a read: %s", e.NextAction)
	}
	if e := refused(t, s.call(write(`"k1"`, `1`)), "output", tool.OutputTooLarge); e.NextAction != goOn {
		t.Errorf("of a write: %s", e.NextAction)
	}
	if again := s.call(write(`"k1"`, `1`)); !again.Replayed || again.Error.NextAction != goOn {
		t.Errorf("of its repeat: %+v", again.Error)
	}
	s = newStage(t, func(_, write *contract.Contract, b *registry.Backend) {
		write.Output = &contract.Output{MaxBytes: 1}
		b.Handlers["write"] = lost
		b.Reconcile = map[string]registry.Reconcile{"write": func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
			return json.RawMessage(`{"done":1}`), true, nil
		}}
	})
	s.call(write(`"k1"`, `1`))
	if again := s.call(write(`"k1"`, `1`)); again.OK() || again.Error.Code != tool.OutputTooLarge || again.Error.NextAction != goOn {
		t.Errorf("of one that was found: %+v", again.Error)
	}
}

// Where a key tells, the way on is to ask by it.
func TestAdviceOnAnUnknownOutcome(t *testing.T) {
	for key, want := range map[string]string{
		"key": "repeat the call with the same key: it is answered, and not done twice",
		"":    "read what it would have changed before anything is repeated",
	} {
		s := newStage(t, func(_, write *contract.Contract, b *registry.Backend) {
			write.IdempotencyKey = key
			b.Handlers["write"] = lost
		})
		if e := refused(t, s.call(write(`"k1"`, `1`)), "handler", tool.OutcomeUnknown); e.NextAction != want {
			t.Errorf("with the key %q: %s", key, e.NextAction)
		}
		s = newStage(t, func(_, write *contract.Contract, b *registry.Backend) {
			write.IdempotencyKey = key
			b.Latencies = map[string]registry.Latency{"write": latency(800)}
		})
		if e := refused(t, s.at(0).call(write(`"k1"`, `1`)), "handler", tool.OutcomeUnknown); e.NextAction != want {
			t.Errorf("of one that takes too long, with the key %q: %s", key, e.NextAction)
		}
	}
}

// Who brings a grant to a contract that wants another confirmation is told so.
func TestAGrantWhereNoneCounts(t *testing.T) {
	s := newStage(t, func(_, write *contract.Contract, _ *registry.Backend) { write.Approval = contract.ApprovalRequired })
	c := write(`"k1"`, `1`)
	c.Approved = false
	const plain = "This call of write was not approved."
	if e := refused(t, s.call(c), "approval", tool.ApprovalRequired); e.Message != plain {
		t.Errorf("without a grant: %s", e.Message)
	}
	c.Grants = []tool.Grant{{ID: "g"}}
	if e := refused(t, s.call(c), "approval", tool.ApprovalRequired); e.Message != plain+" Grants count only where the contract asks for approval: bound." {
		t.Errorf("with a grant: %s", e.Message)
	}
}

// On the wall clock the wait is told in whole tokens, so that two runs are told the
// same.
func TestRetryAfterOnTheWallClock(t *testing.T) {
	s := newStage(t, func(look, _ *contract.Contract, b *registry.Backend) {
		b.Clock = nil
		look.Rate = &contract.Rate{Burst: 2, Every: time.Hour}
	})
	succeeded(t, s.look())
	succeeded(t, s.look())
	for range 3 {
		wantDetails(t, refused(t, s.look(), "rate", tool.RateLimited), `{"retry_after_ms":3600000}`)
	}
}
