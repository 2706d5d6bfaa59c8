package generate

import (
	"encoding/json"
	"strconv"
	"time"

	"agentlab/lab/tool"
)

// rate is of calls that come too often.
func (s *subject) rate() {
	r := s.Rate
	if r == nil {
		return
	}
	if s.src.Reach < Staged {
		s.leaveOut("rate", "it is a matter of milliseconds, which cannot be arranged on this surface")
		return
	}
	burst := s.times(r.Burst)
	if burst < 0 || r.Burst >= maxBurst || r.Every%time.Millisecond != 0 {
		s.leaveOut("rate", "what a burst of calls comes to is not known")
		return
	}
	// many is so many calls at once, and one more after some time.
	many := func(n int, after time.Duration, last *step) line {
		steps := make([]*step, n, n+1)
		steps[0] = &step{OK: ptr(true)}
		if last != nil {
			steps = append(steps, last)
		}
		l := s.calls(steps...)
		for i := range l.Proposals {
			l.Proposals[i].At = at(0)
		}
		if last != nil {
			l.Proposals[n].At = at(after)
		}
		return l
	}
	limited := func(wait time.Duration) *step {
		return refused("rate", tool.RateLimited).with("retry_after_ms", count(ms(wait)))
	}
	passes := &step{OK: ptr(true)}
	l := many(r.Burst, 0, nil)
	l.Expected.Steps[r.Burst-1] = passes
	s.add(clause{"rate", "rate/burst", on}, "", "Call "+s.Name+" as often at once as its rate allows", l.come(burst))
	l = many(r.Burst, 0, limited(r.Every))
	s.add(clause{"rate", "rate/burst", outside}, "", "Call "+s.Name+" once more at once than its rate allows", l.come(burst))
	if r.Every > time.Millisecond {
		l = many(r.Burst, r.Every-time.Millisecond, limited(time.Millisecond))
		s.add(clause{"rate", "rate/every", outside}, "every-minus-1", "Call "+s.Name+" again a millisecond too early", l.come(burst))
	}
	l = many(r.Burst, r.Every, passes)
	s.add(clause{"rate", "rate/every", on}, "every-on", "Call "+s.Name+" again as soon as its rate allows", l.come(burst))
	l = many(r.Burst, r.Every+time.Millisecond, passes)
	s.add(clause{"rate", "rate/every", inside}, "every-plus-1", "Call "+s.Name+" again a millisecond after its rate allows it", l.come(burst))
	if !s.Effect.Changes() {
		l = many(r.Burst, 0, passes)
		l.Proposals[r.Burst].Caller = as(s.good.caller, otherID)
		s.add(clause{"rate", "rate", inside}, "other-caller", "Call "+s.Name+" as somebody else, while the first caller is held back", l.come(burst))

		l = many(2*r.Burst, 0, limited(r.Every))
		for i := r.Burst; i < len(l.Proposals); i++ {
			l.Proposals[i].At = at(100 * time.Duration(r.Burst) * r.Every)
		}
		l.Expected.Steps[2*r.Burst-1] = passes
		s.add(clause{"rate", "rate/burst", outside}, "refilled", "Call "+s.Name+" once too often after a pause that is long enough for many calls", l.come(burst))
	}
}

// maxBurst is the largest burst that a case is made of.
const maxBurst = 100

// budget is of sessions that may use up no more.
func (s *subject) budget() {
	if s.src.Reach < Supervised {
		return
	}
	if effects := s.times(2); effects >= 0 && !s.holdsBack(3) {
		exhausted := func(what string, used, of int64) *step {
			return refused("budget", tool.BudgetExhausted).
				with("budget", text(what)).with("used", count(used)).with("of", count(of))
		}
		passes := func() *step { return &step{OK: ptr(true)} }
		with := func(b budget, steps ...*step) line {
			l := s.calls(steps...)
			l.Budget = &b
			return l
		}
		l := with(budget{Proposals: 2}, passes(), passes())
		s.add(clause{"budget", "budget/proposals", on}, "", "Call "+s.Name+" as often as the session may", l.come(effects))
		l = with(budget{Proposals: 2}, passes(), passes(), exhausted("proposals", 2, 2))
		s.add(clause{"budget", "budget/proposals", outside}, "", "Call "+s.Name+" once more than the session may", l.come(effects))
		if c := int64(s.Cost); c > 0 {
			l = with(budget{Cost: 2 * s.Cost}, passes(), passes())
			s.add(clause{"budget", "cost", on}, "", "Call "+s.Name+" until its cost is spent to the unit", l.come(effects))
			l = with(budget{Cost: 2*s.Cost - 1}, passes(), exhausted("cost", c, 2*c-1))
			s.add(clause{"budget", "cost", outside}, "cost-short", "Call "+s.Name+" with one unit less than it costs", l.come(s.times(1)))
			l = with(budget{Cost: s.Cost}, passes(), exhausted("cost", c, c))
			s.add(clause{"budget", "cost", outside}, "cost-spent", "Call "+s.Name+" with nothing left of the cost", l.come(s.times(1)))
		}
		if s.src.Reach == Staged {
			s.elapsed(with, passes, exhausted)
		}
	}
	// A refused call is counted like any other.
	l := s.calls(refused("lookup", tool.ToolNotFound), refused("lookup", tool.ToolNotFound), refused("budget", tool.BudgetExhausted))
	nobody := s.Name + "_that_is_not_there"
	l.Proposals[0].Name, l.Proposals[1].Name = &nobody, &nobody
	for i := range l.Proposals {
		l.Proposals[i].At = nil
	}
	l.Budget = &budget{Proposals: 2}
	s.add(clause{"budget", "budget/proposals", outside}, "refused-counts", "Call "+s.Name+" after all calls of the session were refused", l.come(0))
}

// elapsed is of the time of a session, and of calls that are under way in it.
func (s *subject) elapsed(with func(budget, ...*step) line, passes func() *step, exhausted func(string, int64, int64) *step) {
	span := max(short, 2*s.good.took)
	if s.Rate != nil && s.Rate.Burst < 2 {
		span = max(span, s.Rate.Every)
	}
	for _, one := range []struct {
		side  string
		after time.Duration
		words string
	}{
		{inside, -time.Millisecond, "a millisecond before the session's time is over"},
		{on, 0, "in the last millisecond of the session's time"},
		{outside, time.Millisecond, "a millisecond after the session's time"},
	} {
		last, effects := passes(), s.times(2)
		if one.side == outside {
			last, effects = exhausted("elapsed_ms", ms(span)+1, ms(span)), s.times(1)
		}
		l := with(budget{Elapsed: ms(span)}, passes(), last)
		l.Proposals[1].At = at(span + one.after)
		s.add(clause{"budget", "budget/elapsed_ms", one.side}, "elapsed-"+signed(one.after), "Call "+s.Name+" "+one.words, l.come(effects))
	}
	if s.good.took > 0 || s.Timeout < 2*time.Millisecond {
		return
	}
	// A read for the one that is under way: a repeat of a write waits for it.
	if s.Effect.Changes() || s.Rate != nil && s.Rate.Burst < 2 {
		return
	}
	takes := min(s.Timeout, 100*time.Millisecond)
	for _, one := range []struct {
		side  string
		after time.Duration
		words string
	}{
		{outside, -time.Millisecond, "while as many calls are under way as may be"},
		{on, 0, "in the millisecond in which the last of as many calls as may be under way ends"},
	} {
		last := passes()
		if one.side == outside {
			last = exhausted("concurrent", 1, 1)
		}
		l := with(budget{Concurrent: 1}, passes(), last)
		l.Proposals[0].At, l.Proposals[0].Faults = at(0), &faults{Latency: ms(takes)}
		l.Proposals[1].At = at(takes + one.after)
		s.add(clause{"budget", "budget/concurrent", one.side}, "concurrent-"+signed(one.after), "Call "+s.Name+" "+one.words, l.come(0))
	}
}

// deadline is of calls that take as long as they may, and longer.
func (s *subject) deadline() {
	if s.src.Reach < Staged || s.times(1) < 0 {
		return
	}
	for _, after := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
		latency := s.Timeout + after - s.good.took
		if latency < 0 || s.Timeout%time.Millisecond != 0 {
			continue
		}
		side := map[bool]string{true: outside, false: inside}[after > 0]
		if after == 0 {
			side = on
		}
		last := succeeds()
		if after > 0 {
			last = s.late(s.Timeout + after)
		}
		l := s.calls(last)
		l.Proposals[0].Faults = &faults{Latency: ms(latency)}
		words := map[string]string{inside: "a millisecond less than", on: "just as long as", outside: "a millisecond longer than"}[side]
		s.add(clause{"deadline", "timeout", side}, "timeout-"+signed(after), "Call "+s.Name+" where it takes "+words+" it may", l.come(s.times(1)))
	}
	if s.Effect.Changes() && s.IdempotencyKey != "" {
		l := s.calls(s.late(s.Timeout+time.Millisecond), repeats())
		l.Proposals[0].Faults = &faults{Latency: ms(s.Timeout + time.Millisecond - s.good.took)}
		s.add(clause{"deadline", "timeout", outside}, "timeout-repeat", "Repeat a call of "+s.Name+" that took too long", l.come(s.times(1)))
	}
}

// late is what comes of a call that takes too long.
func (s *subject) late(took time.Duration) *step {
	if s.Effect.Changes() {
		return s.keyed(refused("handler", tool.OutcomeUnknown).told(tool.Unknown))
	}
	late := refused("deadline", tool.ToolTimeout).told(tool.NotApplied).
		with("timeout_ms", count(ms(s.Timeout))).with("observed_ms", count(ms(took)))
	late.Retryable = ptr(s.retries())
	return late
}

// garbled are texts that no list issues as a cursor, unless it does.
func garbled(cursor string) []string {
	texts := []string{"not-a-cursor", "", " ", "0", "-1", "1e0", "null", "999999999999999999999"}
	if cursor != "" {
		texts = append(texts, cursor+" ", " "+cursor, cursor+"0000", "0"+cursor, "+"+cursor, cursor+".0")
	}
	return texts
}

// asText is a number as a part of an id.
func asText(n int) string { return strconv.Itoa(n) }

// decodeObject is the members of an object.
func decodeObject(document json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(document, &members) != nil {
		return nil
	}
	return members
}
