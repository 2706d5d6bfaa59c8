package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// place is what the tools of these tests work on.
type place struct {
	*stage
	version atomic.Int32 // of the one thing
	broken  atomic.Bool  // nobody can look at it
	faults  atomic.Int32
	others  func() // what happens while a handler is at work, or nil
	fail    atomic.Pointer[tool.Error]
}

// watched has two tools that write to the same thing, by their own names for it,
// within a task that was confirmed as a whole.
func watched(t *testing.T, change ...func(look, write *contract.Contract, b *registry.Backend)) *place {
	p := &place{}
	p.version.Store(1)
	p.stage = newStage(t, func(look, write *contract.Contract, b *registry.Backend) {
		look.Name = "other"
		look.InputSchema = json.RawMessage(`{"type":"object"}`)
		look.Effect, look.Approval, look.Precondition = contract.Write, contract.ApprovalRequired, true
		write.Precondition = true
		work := func(output string) registry.Handler {
			return func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				fail := p.fail.Load()
				if fail == nil {
					p.version.Add(1)
				}
				if p.others != nil {
					p.others()
				}
				if fail != nil {
					return nil, fail
				}
				return json.RawMessage(output), nil
			}
		}
		b.Handlers = map[string]registry.Handler{"other": work(`{"seen":"x"}`), "write": work(`{"done":1}`)}
		look2 := func(context.Context, json.RawMessage) (registry.Version, error) {
			if p.broken.Load() {
				return registry.Version{}, errors.New("nobody can look")
			}
			return registry.Version{Of: "it", Is: string('0' + rune(p.version.Load()))}, nil
		}
		b.Versions = map[string]func(context.Context, json.RawMessage) (registry.Version, error){"other": look2, "write": look2}
		b.OnFault = func(string, error) { p.faults.Add(1) }
		for _, c := range change {
			c(look, write, b)
		}
	})
	return p
}

func (p *place) other() tool.Result { return p.call(call("other", `{}`, "read")) }

func (p *place) stale(result tool.Result, details string) {
	p.t.Helper()
	e := refused(p.t, result, "approval", tool.ApprovalStale)
	wantDetails(p.t, e, details)
	if e.Outcome != tool.NotApplied || result.Trace.HandlerRan {
		p.t.Errorf("outcome %s, handler ran %t", e.Outcome, result.Trace.HandlerRan)
	}
}

func TestWhatOthersChangedMeanwhile(t *testing.T) {
	p := watched(t)
	succeeded(t, p.call(write(`"k1"`, `1`)))
	succeeded(t, p.call(write(`"k2"`, `1`))) // its own changes are known
	succeeded(t, p.other())                  // and those of its other tools
	succeeded(t, p.call(write(`"k3"`, `1`)))
	p.version.Add(1) // somebody else
	p.stale(p.call(write(`"k4"`, `1`)), `{"of":"it","seen":"5","is":"6"}`)
	succeeded(t, p.call(write(`"k4"`, `1`))) // made again, in that knowledge
	p.version.Add(1)
	p.stale(p.other(), `{"of":"it","seen":"7","is":"8"}`)
	if p.ran.Load() != 5 || p.faults.Load() != 0 {
		t.Errorf("%d handlers ran, %d faults", p.ran.Load(), p.faults.Load())
	}
	p.version.Add(1)
	p.Reset()
	succeeded(t, p.call(write(`"k5"`, `1`))) // the first look of another session
}

func TestARefusedWriteHasSeenNothing(t *testing.T) {
	p := watched(t)
	succeeded(t, p.call(write(`"k1"`, `1`)))
	p.fail.Store(tool.Refusal(tool.TicketNotFound, nil, "none"))
	p.others = func() { p.version.Add(1) } // somebody else, meanwhile
	refused(t, p.call(write(`"k2"`, `1`)), "handler", tool.TicketNotFound)
	p.others = nil
	p.fail.Store(nil)
	p.stale(p.call(write(`"k2"`, `1`)), `{"of":"it","seen":"2","is":"3"}`)

	// One that was not approved has not even looked.
	p = watched(t)
	c := write(`"k1"`, `1`)
	c.Approved = false
	refused(t, p.call(c), "approval", tool.ApprovalRequired)
	p.version.Add(1)
	succeeded(t, p.call(write(`"k1"`, `1`)))
}

// What a handler changed in doubt is its own change all the same.
func TestADoubtfulWriteIsItsOwn(t *testing.T) {
	p := watched(t, func(_, write *contract.Contract, b *registry.Backend) {
		work := b.Handlers["write"]
		b.Handlers["write"] = func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			_, _ = work(ctx, arguments)
			return nil, registry.ErrResponseLost
		}
	})
	refused(t, p.call(write(`"k1"`, `1`)), "handler", tool.OutcomeUnknown)
	succeeded(t, p.other())
}

func TestARepeatIsNotStale(t *testing.T) {
	p := watched(t)
	succeeded(t, p.call(write(`"k1"`, `1`)))
	p.version.Add(1)
	if !succeeded(t, p.call(write(`"k1"`, `1`))).Replayed {
		t.Error("the repeat was not replayed")
	}
	p.broken.Store(true)
	if !succeeded(t, p.call(write(`"k1"`, `1`))).Replayed {
		t.Error("the repeat was not replayed where nobody can look")
	}
	p.broken.Store(false)
	// It has not made the change known either.
	p.stale(p.call(write(`"k2"`, `1`)), `{"of":"it","seen":"2","is":"3"}`)
	// Another action with the same key is no repeat.
	p.version.Add(1)
	p.stale(p.call(write(`"k1"`, `2`)), `{"of":"it","seen":"3","is":"4"}`)
}

// A call that passed as a repeat, or beside another call of the session, is held
// to what was seen when it turns out to be neither.
func TestARepeatThatIsNoneIsHeldToWhatWasSeen(t *testing.T) {
	p := watched(t, func(_, _ *contract.Contract, b *registry.Backend) { b.Receipts = &forgetful{} })
	succeeded(t, p.call(write(`"k1"`, `1`)))
	p.version.Add(1)
	refused(t, p.call(write(`"k1"`, `1`)), "idempotency", tool.ApprovalStale)
	succeeded(t, p.call(write(`"k1"`, `1`)))

	synctest.Test(t, func(t *testing.T) {
		p := watched(t, func(_, _ *contract.Contract, b *registry.Backend) { b.Clock = nil })
		wait := make(chan struct{})
		p.others = func() { <-wait }
		p.fail.Store(tool.Refusal(tool.TicketNotFound, nil, "none"))
		first, second := make(chan tool.Result), make(chan tool.Result)
		go func() { first <- p.call(write(`"k1"`, `1`)) }()
		synctest.Wait()
		p.version.Add(1) // somebody else
		go func() { second <- p.call(write(`"k1"`, `1`)) }()
		synctest.Wait()
		close(wait)
		refused(t, <-first, "handler", tool.TicketNotFound)
		refused(t, <-second, "idempotency", tool.ApprovalStale)
	})
}

// transactional is a store whose backend changes when the receipt is kept.
type transactional struct {
	receipt.Memory
	commit func()
}

type transaction struct {
	receipt.Claim
	commit func()
}

func (s *transactional) Claim(ctx context.Context, key receipt.Key, now time.Time) (receipt.Claim, *receipt.Receipt, error) {
	claim, known, err := s.Memory.Claim(ctx, key, now)
	if claim != nil {
		claim = transaction{claim, s.commit}
	}
	return claim, known, err
}

func (t transaction) Keep(r receipt.Receipt) error {
	t.commit()
	return t.Claim.Keep(r)
}

func TestWhatIsCommittedWithTheReceiptIsNoted(t *testing.T) {
	var version atomic.Int32
	p := watched(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Handlers["write"] = answer(`{"done":1}`)
		b.Versions["write"] = func(context.Context, json.RawMessage) (registry.Version, error) {
			return registry.Version{Of: "it", Is: string('0' + rune(version.Load()))}, nil
		}
		b.Receipts = &transactional{commit: func() { version.Add(1) }}
	})
	succeeded(t, p.call(write(`"k1"`, `1`)))
	succeeded(t, p.call(write(`"k2"`, `1`)))
}

func TestNobodyCanLook(t *testing.T) {
	p := watched(t)
	p.broken.Store(true)
	p.stale(p.call(write(`"k1"`, `1`)), `{}`)
	if p.faults.Load() != 1 {
		t.Errorf("the operator was told %d times", p.faults.Load())
	}
	p.broken.Store(false)
	p.others = func() { p.broken.Store(true) }
	succeeded(t, p.call(write(`"k1"`, `1`)))
	if p.faults.Load() != 2 {
		t.Errorf("the operator was told %d times", p.faults.Load())
	}
	// What it left behind is not known: the next one is told so once.
	p.broken.Store(false)
	p.others = nil
	p.stale(p.call(write(`"k2"`, `1`)), `{"of":"it","seen":"1","is":"2"}`)
	succeeded(t, p.call(write(`"k2"`, `1`)))

	panics := watched(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Versions["write"] = func(context.Context, json.RawMessage) (registry.Version, error) { panic("x") }
	})
	panics.stale(panics.call(write(`"k1"`, `1`)), `{}`)
}

// A handler can check in the critical section of its write.
func TestTheHandlerKnowsWhatWasSeen(t *testing.T) {
	var told string
	p := watched(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Handlers["write"] = func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			told = registry.ExpectedVersion(ctx)
			return json.RawMessage(`{"done":1}`), nil
		}
	})
	succeeded(t, p.call(write(`"k1"`, `1`)))
	if told != "1" {
		t.Errorf("it was told of %q", told)
	}
}

// What happens while a call of the session is at work is not told from what that
// call does, and a late end is an end.
func TestOwnCallsThatOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := watched(t, func(_, write *contract.Contract, b *registry.Backend) {
			b.Clock = nil
			work := b.Handlers["write"]
			b.Handlers["write"] = func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
				output, err := work(ctx, arguments)
				time.Sleep(700 * time.Millisecond) // and is late
				return output, err
			}
		})
		refused(t, p.call(write(`"k1"`, `1`)), "handler", tool.OutcomeUnknown)
		p.fail.Store(tool.Refusal(tool.TicketNotFound, nil, "none"))
		refused(t, p.other(), "handler", tool.TicketNotFound) // nothing stale about it
		time.Sleep(time.Second)
		p.fail.Store(nil)
		succeeded(t, p.other()) // the late end was noted
		p.version.Add(1)
		p.stale(p.other(), `{"of":"it","seen":"3","is":"4"}`)
	})
}

// A call that waited for its turn is held to what was confirmed once more.
func TestWhatChangesWhileACallWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := watched(t, func(_, write *contract.Contract, b *registry.Backend) {
			b.Clock = nil
			write.Concurrency = 1
		})
		wait := make(chan struct{})
		p.others = func() { <-wait }
		results := make(chan tool.Result, 2)
		go func() { results <- p.call(write(`"k1"`, `1`)) }()
		synctest.Wait()
		go func() { results <- p.call(write(`"k2"`, `1`)) }()
		synctest.Wait()
		close(wait)
		succeeded(t, <-results)
		succeeded(t, <-results) // the change of the first is the session's own

		wait = make(chan struct{})
		p.others = func() { <-wait }
		go func() { results <- p.call(write(`"k3"`, `1`)) }()
		synctest.Wait()
		go func() { results <- p.call(write(`"k4"`, `1`)) }()
		synctest.Wait()
		p.broken.Store(true) // now nobody can say
		close(wait)
		succeeded(t, <-results)
		refused(t, <-results, "deadline", tool.ApprovalStale)
	})
}

// With a grant of one very call the wait changes what it was granted for.
func TestAGrantIsHeldToItsVersionAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := watched(t, func(_, write *contract.Contract, b *registry.Backend) {
			b.Clock = nil
			write.Concurrency, write.Approval = 1, contract.ApprovalBound
		})
		wait := make(chan struct{})
		p.others = func() { <-wait }
		results := make(chan tool.Result, 2)
		for i, word := range []string{`"k1"`, `"k2"`} {
			c := write(word, `1`)
			g := p.grant(c)
			g.ID, g.IssuedAt, g.ExpiresAt, g.ResourceVersion = word, time.Time{}, time.Now().Add(time.Hour), "1"
			c.Grants = []tool.Grant{g}
			if i == 1 {
				p.version.Store(1) // the first is at work, and others look away
			}
			go func() { results <- p.call(c) }()
			synctest.Wait()
		}
		p.version.Store(2)
		close(wait)
		succeeded(t, <-results)
		e := refused(t, <-results, "deadline", tool.ApprovalStale)
		var pending tool.Pending
		if err := json.Unmarshal(e.Details, &pending); err != nil || pending.ResourceVersion != "2" {
			t.Errorf("the details %s do not show the call as it is now", e.Details)
		}
	})
}

func TestAnAppliedActionWithoutAnAnswer(t *testing.T) {
	s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Handlers["write"] = lost
		b.Reconcile = map[string]registry.Reconcile{"write": func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
			return nil, true, nil
		}}
	})
	refused(t, s.call(write(`"k1"`, `1`)), "handler", tool.OutcomeUnknown)
	for range 2 {
		again := s.call(write(`"k1"`, `1`))
		if again.OK() || !again.Replayed || again.Error.Code != tool.AnswerLost || again.Error.Outcome != tool.Applied {
			t.Fatalf("got %s, %v", again.Output, again.Error)
		}
		wantDetails(t, again.Error, `{"idempotency_key":"key"}`)
		next := s.Next(write(`"k1"`, `1`), again, 1)
		if next.Action != tool.Stop || next.Reason != "the write was applied" {
			t.Errorf("after it: %+v", next)
		}
	}
	if s.ran.Load() != 1 {
		t.Errorf("%d handlers ran, want 1", s.ran.Load())
	}
}

func TestWhatTheBackendCannotTellEither(t *testing.T) {
	var faults []string
	s := newStage(t, func(_, _ *contract.Contract, b *registry.Backend) {
		b.Handlers["write"] = lost
		b.Reconcile = map[string]registry.Reconcile{"write": func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
			return nil, false, registry.ErrStillUnknown
		}}
		b.OnFault = func(_ string, cause error) { faults = append(faults, cause.Error()) }
	})
	refused(t, s.call(write(`"k1"`, `1`)), "handler", tool.OutcomeUnknown)
	again := s.call(write(`"k1"`, `1`))
	if e := refused(t, again, "idempotency", tool.OutcomeUnknown); e.Outcome != tool.Unknown || again.Trace.Fault != "" {
		t.Errorf("outcome %s, fault %q", e.Outcome, again.Trace.Fault)
	}
	if len(faults) != 1 || s.ran.Load() != 1 {
		t.Errorf("the operator was told %q, %d handlers ran", faults, s.ran.Load())
	}
}

func TestAMarkWithoutADigest(t *testing.T) {
	s := newStage(t, func(look, _ *contract.Contract, b *registry.Backend) {
		look.Output = &contract.Output{Secret: []string{"seen"}}
		b.RedactionKey = []byte{}
	})
	if got := succeeded(t, s.look()); string(got.Output) != `{"seen":"[redacted]"}` {
		t.Errorf("got %s", got.Output)
	}
}
