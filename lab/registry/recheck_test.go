package registry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// lost is a handler whose answers never come.
func lost(context.Context, json.RawMessage) (json.RawMessage, error) {
	return nil, registry.ErrResponseLost
}

// A call that passed as the repeat of another is held to its grant after all,
// where that other applied nothing.
func TestTwoCallsDoNotShareAGrant(t *testing.T) {
	fail := true
	var second func() tool.Result
	var answers []tool.Result
	done := make(chan struct{})
	s := newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
		bound(look, write, b)
		write.ReceiptTTL = time.Second
		b.Clock = nil // the wall clock: calls wait for each other
		b.Handlers["write"] = func(context.Context, json.RawMessage) (json.RawMessage, error) {
			if fail {
				fail = false
				go func() { answers = append(answers, second()); close(done) }()
				time.Sleep(50 * time.Millisecond)
				return nil, tool.Refusal(tool.TicketNotFound, nil, "none")
			}
			return json.RawMessage(`{"done":1}`), nil
		}
	})
	c := write(`"k1"`, `"n"`)
	g := s.grant(c)
	g.IssuedAt, g.ExpiresAt = time.Time{}, time.Now().Add(time.Hour)
	c.Grants = []tool.Grant{g}
	second = func() tool.Result { return s.call(c) }
	refused(t, s.call(c), "handler", tool.TicketNotFound)
	<-done
	succeeded(t, answers[0]) // it took the grant for itself
	time.Sleep(1100 * time.Millisecond)
	refused(t, s.call(c), "approval", tool.ApprovalUsed)
	if s.ran.Load() != 2 {
		t.Errorf("%d handlers ran, want 2", s.ran.Load())
	}
}

// What one caller finds out does not undo what another has done meanwhile.
func TestAnOldFindingSettlesNothingNew(t *testing.T) {
	var m receipt.Memory
	key := receipt.Key{Tool: "write", Caller: "a", Value: "k1"}
	keep := func(at time.Time) receipt.Receipt {
		claim, known, err := m.Claim(t.Context(), key, at)
		if err != nil || known != nil {
			t.Fatalf("Claim = %v, %v", known, err)
		}
		r := receipt.Receipt{State: receipt.Unknown, Fingerprint: "f", SettledAt: at}
		if err := claim.Keep(r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := keep(epoch)
	if err := m.Resolve(t.Context(), key, first, nil); err != nil {
		t.Fatal(err)
	}
	keep(epoch.Add(time.Second))
	if err := m.Resolve(t.Context(), key, first, nil); err != nil { // once more, and late
		t.Fatal(err)
	}
	if known, err := m.Peek(t.Context(), key, epoch); err != nil || known == nil {
		t.Errorf("the newer receipt is gone: %v", err)
	}
}

func TestWhatIsFoundOutIsHeldToTheContract(t *testing.T) {
	for name, test := range map[string]struct {
		output string
		want   tool.Code // empty: a success
	}{
		"good":      {`{"done":1}`, ""},
		"bad":       {`{"done":"x"}`, tool.InvalidToolOutput},
		"not JSON":  {`done`, tool.InvalidToolOutput},
		"empty":     {``, tool.InvalidToolOutput},
		"too large": {`{"done":1111111111111111}`, tool.OutputTooLarge},
	} {
		s := newStage(t, func(_, write *contract.Contract, b *registry.Backend) {
			write.Output = &contract.Output{MaxBytes: 20}
			b.Handlers["write"] = lost
			b.Reconcile = map[string]registry.Reconcile{"write": func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
				return json.RawMessage(test.output), true, nil
			}}
		})
		s.call(write(`"k1"`, `1`))
		again := s.call(write(`"k1"`, `1`))
		if !again.Replayed || again.OK() != (test.want == "") {
			t.Fatalf("%s: got %s, %v", name, again.Output, again.Error)
		}
		if !again.OK() && (again.Error.Code != test.want || again.Error.Outcome != tool.Applied) {
			t.Errorf("%s: got %v, %s", name, again.Error, again.Error.Outcome)
		}
	}
}

func TestNobodyIsToldThatAnUnknownActionWasNotApplied(t *testing.T) {
	s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Handlers["write"] = lost
		b.Reconcile = map[string]registry.Reconcile{"write": func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
			panic("reconcile")
		}}
	})
	s.call(write(`"k1"`, `1`))
	if again := s.call(write(`"k1"`, `1`)); again.OK() || again.Error.Outcome != tool.Unknown {
		t.Errorf("got %s, %v", again.Output, again.Error)
	}
}

func TestAnUnknownActionIsNotForgotten(t *testing.T) {
	s := newStage(t, func(_, write *contract.Contract, b *registry.Backend) {
		write.ReceiptTTL = time.Second
		b.Handlers["write"] = lost
	})
	s.at(0).call(write(`"k1"`, `1`))
	if again := s.at(10_000).call(write(`"k1"`, `1`)); again.OK() || again.Error.Code != tool.OutcomeUnknown || s.ran.Load() != 1 {
		t.Errorf("got %s, %v after %d runs", again.Output, again.Error, s.ran.Load())
	}
}

func TestAnAppliedWriteIsNeverRepaired(t *testing.T) {
	for _, code := range []tool.Code{tool.OutputTooLarge, tool.InvalidToolOutput, tool.InvalidArguments} {
		next := registry.Recover(registry.Situation{Error: failure(code, tool.Applied, true), Contract: contract.Contract{Effect: contract.Write}, Attempts: 1, BudgetLeft: -1})
		if next.Action != tool.Stop {
			t.Errorf("%s of an applied write: %+v", code, next)
		}
	}
}

func TestSecretsInErrorsAndPreviews(t *testing.T) {
	s := newStage(t, func(_, write *contract.Contract, b *registry.Backend) {
		write.InputSchema = json.RawMessage(`{"type":"object","properties":{"key":{"type":"string"},"password":{"type":"string"}},"required":["key"]}`)
		write.Approval = contract.ApprovalBound
		write.Output = &contract.Output{Credentials: true, Secret: []string{"phone"}}
		b.Handlers["write"] = func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, tool.Refusal(tool.TicketNotFound, map[string]string{"phone": secret, "api_key": secret}, "none")
		}
	})
	c := call("write", `{"key":"k1","password":"`+secret+`"}`, "write")
	pending := refused(t, s.call(c), "approval", tool.ApprovalRequired)
	c.Grants = []tool.Grant{s.grant(c)}
	failed := refused(t, s.call(c), "handler", tool.TicketNotFound)
	for _, e := range []*tool.Error{pending, failed} {
		if strings.Contains(string(e.Details), secret) || !strings.Contains(string(e.Details), "[redacted ") {
			t.Errorf("%s tells %s", e.Code, e.Details)
		}
	}
}

func TestNewWantsVersionsForPreconditions(t *testing.T) {
	c := contracts[1]
	c.Approval, c.Precondition = contract.ApprovalBound, true
	compiled, err := registry.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := registry.New(compiled, registry.Backend{Handlers: map[string]registry.Handler{"write": answer(`{}`)}}); err == nil {
		t.Error("a precondition that nobody can check was taken")
	}
}
