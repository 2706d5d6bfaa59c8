package generate

import (
	"encoding/json"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

func (s *subject) retries() bool { return s.Retry == contract.RetryTransient }

// idempotency is of repeats, and of what is none though its key says so.
func (s *subject) idempotency() {
	if s.IdempotencyKey == "" || s.holdsBack(2) {
		return
	}
	key := func(side string) clause { return clause{"idempotency", "idempotency_key", side} }
	effects := s.times(1)
	l := s.calls(succeeds(), repeats())
	s.add(key(inside), "repeat", "Repeat a call of "+s.Name, l.come(effects))
	if form := rewritten(s.good.arguments); form != nil {
		l := s.callsOf([]json.RawMessage{s.good.arguments, form}, succeeds(), repeats())
		s.add(key(inside), "repeat-other-form", "Repeat a call of "+s.Name+", written in another way", l.come(effects))
		l = s.callsOf([]json.RawMessage{form, s.good.arguments}, succeeds(), repeats())
		s.add(key(inside), "repeat-canonical", "Repeat a call of "+s.Name+" that was written in another way", l.come(effects))
	}
	s.conflict(key)
	s.others(key)
	if s.src.Reach >= Supervised {
		s.atOnce(key)
	}
	if s.src.Reach == Staged {
		s.receipts()
	}
}

// renew confirms the second of two calls after the first has been made.
func (s *subject) renew(l *line, shown time.Duration) {
	if s.Approval == contract.ApprovalBound {
		l.Approvals = append(l.Approvals, s.grant(1, shown, shown+long))
	}
}

// later puts a call at a time, or later where it may not be made so early.
func later(p *proposal, d time.Duration) {
	if p.At == nil || *p.At < ms(d) {
		p.At = at(d)
	}
}

func (s *subject) conflict(key func(string) clause) {
	if s.other == nil {
		s.leaveOut("idempotency_key with other arguments", "no second call with the same key is known")
		return
	}
	conflict := refused("idempotency", tool.IdempotencyConflict).with("idempotency_key", text(s.IdempotencyKey))
	l := s.callsOf([]json.RawMessage{s.good.arguments, s.other}, succeeds(), conflict)
	later(&l.Proposals[1], soon)
	s.renew(&l, soon/2)
	s.untimed(&l)
	s.add(key(outside), "conflict", "Use the key of a call of "+s.Name+" again for other arguments", l.come(s.times(1)))
}

// untimed takes the times off, where nothing can tell them.
func (s *subject) untimed(l *line) {
	if s.src.Reach >= Supervised {
		return
	}
	for i := range l.Proposals {
		l.Proposals[i].At = nil
	}
}

// others are another caller with the same key, and another key.
func (s *subject) others(key func(string) clause) {
	fresh := func(arguments json.RawMessage) line {
		second := succeeds()
		if s.withOtherKey < 0 {
			// What the backend says of it nobody knows; that it is no repeat is sure.
			second = &step{Replayed: ptr(false)}
		}
		l := s.callsOf([]json.RawMessage{s.good.arguments, arguments}, succeeds(), second)
		later(&l.Proposals[1], soon)
		s.renew(&l, soon/2)
		s.untimed(&l)
		return l
	}
	if s.otherKey != nil {
		l := fresh(s.otherKey)
		s.add(key(inside), "other-key", "Make a call of "+s.Name+" again as another action", l.come(s.withOtherKey))
	}
	l := fresh(s.good.arguments)
	l.Proposals[1].Caller = as(s.good.caller, otherID)
	s.add(clause{"idempotency", "caller", inside}, "other-caller", "Use the key of somebody else's call of "+s.Name, l.come(s.withOtherKey))
}

// atOnce is of calls of one action at the same time.
func (s *subject) atOnce(key func(string) clause) {
	if s.Rate != nil && s.Rate.Burst < 2 {
		return
	}
	effects := s.times(1)
	if s.src.Reach < Staged {
		// Whichever comes first.
		l := s.calls(&step{OK: ptr(true)}, &step{OK: ptr(true)})
		l.Parallel = true
		l.Expected.Replayed = ptr(true)
		s.add(key(on), "at-once", "Make the same call of "+s.Name+" twice at the same time", l.come(effects))
		return
	}
	takes := min(s.Timeout, 100*time.Millisecond)
	l := s.calls(succeeds(), repeats())
	l.Parallel = true
	l.Proposals[0].Faults = &faults{Latency: ms(takes)}
	s.add(key(on), "at-once", "Make the same call of "+s.Name+" twice at the same time", l.come(effects))

	// The repeat waits as long as a call may take, and no longer.
	unknown := func() *step { return s.keyed(refused("handler", tool.OutcomeUnknown).told(tool.Unknown)) }
	for _, one := range []struct {
		side  string
		early time.Duration
		last  *step
		words string
	}{
		{on, 0, repeats(), "just as long as the repeat may wait"},
		{outside, time.Millisecond, s.keyed(refused("idempotency", tool.ActionInProgress).told(tool.Unknown)), "a millisecond longer than the repeat may wait"},
	} {
		takes := 2 * s.Timeout
		l := s.calls(unknown(), one.last)
		l.Proposals[0].At, l.Proposals[0].Faults = at(0), &faults{Latency: ms(takes)}
		l.Proposals[1].At = at(takes - s.Timeout - one.early)
		s.add(clause{"idempotency", "timeout", one.side}, "in-progress-"+signed(one.early), "Repeat a call of "+s.Name+" that is under way for "+one.words, l.come(effects))
	}
}

// receipts is of the ends of their time.
func (s *subject) receipts() {
	ttl := s.ReceiptTTL
	if ttl == 0 || ttl%time.Millisecond != 0 {
		return
	}
	ends := func(side string) clause { return clause{"idempotency", "receipt_ttl", side} }
	l := s.calls(succeeds(), repeats())
	l.Proposals[1].At = at(ttl - time.Millisecond)
	s.add(ends(inside), "expiry-repeat-minus-1", "Repeat a call of "+s.Name+" in the last millisecond of its receipt", l.come(s.times(1)))
	if s.other == nil {
		return
	}
	for _, after := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
		second, side, effects := succeeds(), outside, s.withOther
		words := "after the receipt has expired"
		if after < 0 {
			second, side, effects = refused("idempotency", tool.IdempotencyConflict), inside, s.times(1)
			words = "in the last millisecond of the receipt"
		}
		l := s.callsOf([]json.RawMessage{s.good.arguments, s.other}, succeeds(), second)
		l.Proposals[1].At = at(ttl + after)
		s.renew(&l, ttl-2*time.Millisecond)
		s.add(ends(side), "expiry-"+signed(after), "Use the key of a call of "+s.Name+" for other arguments "+words, l.come(effects))
	}
}

// faults is of handlers that go wrong, and of the repeats of their calls.
func (s *subject) faults() {
	if s.src.Reach < Staged || s.times(1) < 0 {
		return
	}
	keyed := s.IdempotencyKey != ""
	with := func(f faults, steps ...*step) line {
		l := s.calls(steps...)
		l.Proposals[0].Faults = &f
		return l
	}
	for _, rule := range s.Errors {
		failed := refused("handler", rule.Code).told(tool.NotApplied)
		failed.Retryable = nil // a timeout asks the contract
		l := with(faults{Error: rule.Backend}, failed)
		s.add(clause{"handler", "errors/" + rule.Backend, inside}, "", "Call "+s.Name+" while its backend says "+rule.Backend, l.come(0))
		if keyed && s.Approval != contract.ApprovalBound || keyed && len(s.Errors) > 0 {
			l := with(faults{Error: rule.Backend}, failed, succeeds())
			s.add(clause{"idempotency", "errors/" + rule.Backend, inside}, "", "Repeat a call of "+s.Name+" that failed and changed nothing", l.come(s.times(1)))
		}
		for _, near := range nearWords([]string{rule.Backend}) {
			l := with(faults{Error: near}, refused("handler", tool.HandlerFailed))
			s.add(clause{"handler", "errors/" + rule.Backend, outside}, "", "Call "+s.Name+" while its backend says what is nearly "+rule.Backend, l.come(0))
		}
	}
	broken := refused("handler", tool.HandlerFailed)
	if !s.Effect.Changes() {
		broken.told(tool.NotApplied)
	}
	l := with(faults{Panic: true}, broken)
	s.add(clause{"handler", "effect", outside}, "panic", "Call "+s.Name+" while its handler is broken", l.come(0))
	if !s.Effect.Changes() || keyed {
		l := with(faults{Panic: true}, broken, &step{OK: ptr(true), HandlerRan: ptr(true)})
		s.add(clause{"handler", "effect", outside}, "panic-repeat", "Call "+s.Name+" again after its handler was broken", l.come(s.times(1)))
	}

	bad := refused("output", tool.InvalidToolOutput).told(tool.NotApplied)
	if s.Effect.Changes() {
		bad.told(tool.Applied)
	}
	l = with(faults{BadOutput: true}, bad)
	s.add(clause{"output", "outputSchema", outside}, "bad", "Call "+s.Name+" where its answer breaks its contract", l.come(s.times(1)))
	if !s.Effect.Changes() || !keyed {
		return
	}
	told := &step{OK: ptr(false), ErrorCode: tool.InvalidToolOutput, RefusedBy: byNone, HandlerRan: ptr(false), Replayed: ptr(true), Outcome: tool.Applied}
	l = with(faults{BadOutput: true}, bad, told)
	s.add(clause{"idempotency", "outputSchema", outside}, "bad-repeat", "Repeat a call of "+s.Name+" that was applied and answered badly", l.come(s.times(1)))

	lost := func() *step { return s.keyed(refused("handler", tool.OutcomeUnknown).told(tool.Unknown)) }
	l = with(faults{LostResponse: true}, lost())
	s.add(clause{"handler", "effect", outside}, "lost", "Call "+s.Name+" where its answer is lost", l.come(s.times(1)))
	l = with(faults{LostResponse: true}, lost(), repeats())
	s.add(clause{"idempotency", "idempotency_key", inside}, "lost-repeat", "Repeat a call of "+s.Name+" whose answer was lost", l.come(s.times(1)))
	l = with(faults{Crash: true}, lost(), succeeds())
	s.add(clause{"idempotency", "idempotency_key", inside}, "crash-repeat", "Repeat a call of "+s.Name+" under which the process died", l.come(s.times(1)))
	if s.other != nil {
		l := s.callsOf([]json.RawMessage{s.good.arguments, s.other}, lost(), refused("idempotency", tool.IdempotencyConflict))
		l.Proposals[0].Faults = &faults{LostResponse: true}
		later(&l.Proposals[1], soon)
		s.renew(&l, soon/2)
		s.add(clause{"idempotency", "idempotency_key", outside}, "lost-conflict", "Use the key of a call of "+s.Name+" whose answer was lost for other arguments", l.come(s.times(1)))
	}
}
