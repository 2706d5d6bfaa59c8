package generate

import (
	"encoding/json"
	"strconv"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

func (s *subject) approval(all []*subject) {
	if !s.good.sure && len(s.Resources) > 0 {
		return // the resource may be refused before
	}
	switch s.Approval {
	case contract.ApprovalRequired:
		missing := clause{"approval", "approval", outside}
		s.add(missing, "missing", "Call "+s.Name+", which nobody has confirmed",
			s.refusal(refused("approval", tool.ApprovalRequired).told(tool.NotApplied).with("tool", text(s.Name)), func(l *line) { l.Approved = false }))
		if s.src.Reach >= Supervised {
			s.add(missing, "granted-only", "Call "+s.Name+" with a grant, where the whole task has to be confirmed",
				s.refusal(refused("approval", tool.ApprovalRequired), func(l *line) {
					l.Approved, l.Approvals = false, []approval{s.grant(0, 0, long)}
				}))
		}
		if s.times(1) >= 0 {
			l := s.calls(succeeds())
			s.add(clause{"approval", "approval", inside}, "given", "Call "+s.Name+", which was confirmed", l.come(s.times(1)))
		}
	case contract.ApprovalBound:
		if s.src.Reach >= Supervised {
			s.bound(all)
		} else {
			s.leaveOut("approval", "a grant cannot be arranged on this surface")
		}
	}
}

// bound is of calls that are each confirmed by a grant.
func (s *subject) bound(all []*subject) {
	deny := func(name, words string, code tool.Code, approvals ...approval) {
		s.add(clause{"approval", "approval", outside}, name, "Call "+s.Name+" "+words,
			s.refusal(s.pends(refused("approval", code).told(tool.NotApplied)), func(l *line) { l.Approvals = approvals }))
	}
	deny("missing", "without a grant", tool.ApprovalRequired)
	s.add(clause{"approval", "approval", outside}, "in-general", "Call "+s.Name+" for a task that was confirmed, without a grant of the call",
		s.refusal(refused("approval", tool.ApprovalRequired), func(l *line) { l.Approvals, l.Approved = nil, true }))
	if s.other != nil {
		deny("other-arguments", "with a grant of other arguments", tool.ApprovalMismatch, s.grantOf(s.Name, s.other))
	}
	if s.otherKey != nil {
		deny("other-key", "with a grant of another action", tool.ApprovalMismatch, s.grantOf(s.Name, s.otherKey))
	}
	for _, t := range all {
		// Only what the caller may know of can be shown.
		if t != s && t.good != nil && t.Visibility.Admits(s.good.caller) {
			deny("other-tool", "with a grant of a call of another tool", tool.ApprovalMismatch, s.grantOf(t.Name, t.good.arguments))
			break
		}
	}
	if effects := s.times(1); effects >= 0 {
		l := s.calls(succeeds())
		s.add(clause{"approval", "approval", inside}, "granted", "Call "+s.Name+" as it was granted", l.come(effects))
		if form := rewritten(s.good.arguments); form != nil {
			l := s.callsOf([]json.RawMessage{form}, succeeds())
			l.Approvals = []approval{s.grantOf(s.Name, s.good.arguments)}
			s.add(clause{"approval", "approval", inside}, "other-form", "Call "+s.Name+" as it was granted, written in another way", l.come(effects))
		}
	}
	s.approvers()
	s.expiry()
	s.used()
	s.stale()
}

// grantOf is a grant of a call that need not be proposed.
func (s *subject) grantOf(name string, arguments json.RawMessage) approval {
	g := s.grant(0, 0, long)
	g.Proposal, g.Call = nil, &proposal{Name: &name, Arguments: arguments}
	return g
}

func (s *subject) approvers() {
	rule := s.Approver
	if rule == nil {
		return
	}
	grant := func(id string, permissions ...string) []approval {
		g := s.grant(0, 0, long)
		g.Approver = approverLine{id, append([]string{}, permissions...)}
		return []approval{g}
	}
	deny := func(name, words string, approvals []approval) {
		s.add(clause{"approval", "approver/permission", outside}, name, "Call "+s.Name+" with a grant by "+words,
			s.refusal(refused("approval", tool.ApprovalRequired).told(tool.NotApplied), func(l *line) { l.Approvals = approvals }))
	}
	deny("approver-none", "somebody without any permission", grant("lead"))
	for i, near := range nearWords([]string{rule.Permission}) {
		deny("approver-near-"+strconv.Itoa(i+1), "somebody whose permission is nearly the one for it", grant("lead", near))
	}
	if s.Permission != rule.Permission {
		deny("approver-may-call", "somebody who may only make the call", grant("lead", s.Permission))
	}
	own := grant(callerID, rule.Permission)
	if rule.NotCaller {
		s.add(clause{"approval", "approver/not_caller", outside}, "", "Call "+s.Name+" with a grant by the caller",
			s.refusal(refused("approval", tool.ApprovalRequired).told(tool.NotApplied), func(l *line) { l.Approvals = own }))
	} else if s.times(1) >= 0 {
		l := s.calls(succeeds())
		l.Approvals = own
		s.add(clause{"approval", "approver/not_caller", inside}, "", "Call "+s.Name+" with a grant by the caller, who may", l.come(s.times(1)))
	}
}

// expiry is of grants at the ends of their time.
func (s *subject) expiry() {
	if s.src.Reach < Staged {
		s.add(clause{"approval", "expires_at", outside}, "", "Call "+s.Name+" with a grant that has expired",
			s.refusal(s.pends(refused("approval", tool.ApprovalExpired).told(tool.NotApplied)), func(l *line) { l.Approvals = []approval{s.grant(0, 0, 0)} }))
		s.add(clause{"approval", "issued_at", outside}, "", "Call "+s.Name+" with a grant that does not hold yet",
			s.refusal(refused("approval", tool.ApprovalRequired).told(tool.NotApplied), func(l *line) {
				l.Approvals = []approval{s.grant(0, 0, long)}
				l.Approvals[0].IssuedAt = at(long - time.Hour)
			}))
		return
	}
	for _, one := range []struct {
		side  string
		after time.Duration
		words string
	}{
		{inside, -time.Millisecond, "in the last millisecond of its grant"},
		{outside, 0, "in the millisecond in which its grant ends"},
		{outside, time.Millisecond, "a millisecond after its grant has ended"},
	} {
		step, effects := s.pends(refused("approval", tool.ApprovalExpired).told(tool.NotApplied)), 0
		if one.side == inside {
			step, effects = succeeds(), s.times(1)
		}
		if one.side == inside && !s.good.sure {
			continue
		}
		l := s.calls(step)
		l.Proposals[0].At = at(short + one.after)
		l.Approvals = []approval{s.grant(0, 0, short)}
		s.add(clause{"approval", "expires_at", one.side}, "expires-"+signed(one.after), "Call "+s.Name+" "+one.words, l.come(effects))
	}
	for _, one := range []struct {
		side  string
		after time.Duration
		words string
	}{
		{outside, -time.Millisecond, "a millisecond before its grant holds"},
		{on, 0, "in the millisecond from which its grant holds"},
		{inside, time.Millisecond, "a millisecond after its grant has begun to hold"},
	} {
		step, effects := refused("approval", tool.ApprovalRequired).told(tool.NotApplied), 0
		if one.side != outside {
			step, effects = succeeds(), s.times(1)
		}
		if one.side != outside && !s.good.sure {
			continue
		}
		l := s.calls(step)
		l.Proposals[0].At = at(short + one.after)
		l.Approvals = []approval{s.grant(0, 0, long)}
		l.Approvals[0].IssuedAt = at(short)
		s.add(clause{"approval", "issued_at", one.side}, "issued-"+signed(one.after), "Call "+s.Name+" "+one.words, l.come(effects))
	}
}

// signed is a time in milliseconds with its sign, as a part of an id.
func signed(d time.Duration) string {
	switch n := ms(d); {
	case n < 0:
		return "minus-" + strconv.FormatInt(-n, 10)
	case n > 0:
		return "plus-" + strconv.FormatInt(n, 10)
	}
	return "on"
}

// used is of grants that an earlier call has used up.
func (s *subject) used() {
	single := clause{"approval", "approval", outside}
	effects := s.times(1)
	switch {
	case effects < 0:
	case s.IdempotencyKey == "" && !s.holdsBack(2):
		l := s.calls(succeeds(), s.pends(refused("approval", tool.ApprovalUsed)))
		s.add(single, "used", "Call "+s.Name+" twice with one grant", l.come(effects))
	case s.ReceiptTTL > 0 && s.src.Reach == Staged:
		// A repeat needs no second grant, as long as it is one.
		l := s.calls(succeeds(), s.pends(refused("approval", tool.ApprovalUsed)))
		l.Proposals[1].At = at(s.ReceiptTTL)
		l.Approvals[0].Expires = ms(s.ReceiptTTL + long)
		s.add(single, "used", "Use a grant of "+s.Name+" again after the receipt has expired", l.come(effects))
	}
	if s.src.Reach == Staged && effects >= 0 && len(s.Errors) > 0 {
		failed := refused("handler", s.Errors[0].Code).told(tool.NotApplied)
		failed.Retryable = nil
		l := s.calls(failed, succeeds())
		l.Proposals[0].Faults = &faults{Error: s.Errors[0].Backend}
		s.add(clause{"approval", "approval", inside}, "not-used-up", "Use a grant of "+s.Name+" again after a call with it failed and changed nothing", l.come(effects))
	}
}

// stale is of grants of what has changed since.
func (s *subject) stale() {
	if !s.Precondition || s.otherKey == nil || s.src.Reach < Staged || s.withOtherKey < 0 || s.withOtherKey == s.times(1) {
		return
	}
	both := []json.RawMessage{s.good.arguments, s.otherKey}
	l := s.callsOf(both, succeeds(), refused("approval", tool.ApprovalStale).told(tool.NotApplied))
	l.Approvals = append(l.Approvals, s.grant(1, 0, long))
	s.add(clause{"approval", "precondition", outside}, "stale", "Call "+s.Name+" on what has changed since the call was granted", l.come(s.times(1)))

	l = s.callsOf(both, succeeds(), succeeds())
	later(&l.Proposals[1], soon)
	l.Approvals = append(l.Approvals, s.grant(1, soon/2, long))
	s.add(clause{"approval", "precondition", inside}, "renewed", "Call "+s.Name+" as it was granted after the last change", l.come(s.withOtherKey))
}
