package generate

import (
	"encoding/json"
	"time"

	"agentlab/lab/boundary"
	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

// wrong is one thing that is wrong with the last call of a case, for which a control
// refuses it.
type wrong struct {
	control string
	code    tool.Code
	words   string
	before  int // good calls that have to come before it
	apply   func(l *line, last int)
}

// order is of calls with which two things are wrong: the control that comes first
// refuses them.
func (s *subject) order() {
	all := s.wrongs()
	for i, first := range all {
		switch first.control {
		case "budget", "lookup", "input", "permission":
		case "approval":
			if !s.good.sure && len(s.Resources) > 0 {
				continue // the resource may be refused before
			}
		default:
			if !s.good.sure {
				continue
			}
		}
		for _, second := range all[i+1:] {
			if l, ok := s.both(first, second); ok {
				s.add(clause{first.control, "order/" + second.control, outside}, "before-"+second.control,
					"Call "+s.Name+" "+first.words+" and "+second.words, l)
			}
		}
	}
}

// wrongs are in the order in which the controls are met.
func (s *subject) wrongs() []wrong {
	staged := s.src.Reach == Staged
	var all []wrong
	if s.src.Reach >= Supervised {
		all = append(all, wrong{"budget", tool.BudgetExhausted, "with nothing left of the budget", 1,
			func(l *line, last int) { l.Budget = &budget{Proposals: last} }})
	}
	near := s.Name + "_"
	all = append(all, wrong{"lookup", tool.ToolNotFound, "by a wrong name", 0,
		func(l *line, last int) { l.Proposals[last].Name = &near }})
	if bad := s.invalid(); bad != nil {
		all = append(all, wrong{"input", tool.InvalidArguments, "with arguments that its schema forbids", 0,
			func(l *line, last int) { l.Proposals[last].Arguments = bad }})
	}
	stranger := s.good.caller
	stranger.Permissions = []string{}
	if s.Visibility.Admits(stranger) {
		all = append(all, wrong{"permission", tool.PermissionDenied, "without its permission", 0,
			func(l *line, last int) { l.Proposals[last].Caller = &stranger }})
	}
	if s.Approval == contract.ApprovalRequired || s.Approval == contract.ApprovalBound && s.src.Reach >= Supervised {
		all = append(all, wrong{"approval", tool.ApprovalRequired, "without its approval", 0,
			func(l *line, _ int) { l.Approved, l.Approvals = false, nil }})
	}
	if r := s.Rate; r != nil && staged && s.times(r.Burst) >= 0 && r.Burst < maxBurst {
		all = append(all, wrong{"rate", tool.RateLimited, "too often", r.Burst,
			func(l *line, _ int) {
				for i := range l.Proposals {
					l.Proposals[i].At = at(0)
				}
			}})
	}
	if staged && !s.Effect.Changes() {
		all = append(all, wrong{"deadline", tool.ToolTimeout, "where it takes too long", 0,
			func(l *line, last int) { s.fault(l, last).Latency = ms(s.Timeout + time.Millisecond) }})
	}
	if s.IdempotencyKey != "" && s.other != nil {
		all = append(all, wrong{"idempotency", tool.IdempotencyConflict, "with a key that was used for other arguments", 1,
			func(l *line, last int) {
				l.Proposals[last].Arguments = s.other
				if s.Approval == contract.ApprovalBound {
					l.Proposals[last].At = at(soon)
					l.Approvals = append(l.Approvals, s.grant(last, soon/2, long))
				}
			}})
	}
	if staged {
		if len(s.Errors) > 0 {
			all = append(all, wrong{"handler", s.Errors[0].Code, "while its backend says " + s.Errors[0].Backend, 0,
				func(l *line, last int) { s.fault(l, last).Error = s.Errors[0].Backend }})
		}
		all = append(all, wrong{"output", tool.InvalidToolOutput, "where its answer breaks its contract", 0,
			func(l *line, last int) { s.fault(l, last).BadOutput = true }})
	}
	return all
}

func (s *subject) fault(l *line, of int) *faults {
	if l.Proposals[of].Faults == nil {
		l.Proposals[of].Faults = new(faults)
	}
	return l.Proposals[of].Faults
}

// both is a case with which two things are wrong, where they can be so together.
func (s *subject) both(first, second wrong) (line, bool) {
	before := max(first.before, second.before)
	effects := 0
	if before > 0 {
		effects = s.times(before)
	}
	// The calls before it are confirmed, and so would it be: it has to be another one.
	unconfirmed := before > 0 && (first.control == "approval" || second.control == "approval")
	switch {
	case effects < 0 || s.holdsBack(before+1):
		return line{}, false
	case unconfirmed && (s.Approval != contract.ApprovalBound || s.other == nil):
		return line{}, false
	case first.control == "rate" && second.control == "idempotency" && s.Rate.Every <= soon:
		return line{}, false
	}
	steps := make([]*step, before+1)
	last := refused(first.control, first.code)
	if first.code == tool.ToolTimeout {
		last.Retryable = nil
	}
	steps[before] = last
	l := s.calls(steps...)
	for _, w := range []wrong{second, first} {
		w.apply(&l, before)
	}
	if unconfirmed {
		l.Proposals[before].Arguments, l.Proposals[before].At = s.other, nil
		l.Approvals = []approval{s.grant(0, 0, long)}
		if first.control == "approval" {
			last.ErrorCode = tool.ApprovalMismatch
		}
		if second.control == "rate" || first.control == "rate" {
			l.Proposals[before].At = at(0)
		}
	}
	if first.control == "rate" && second.control == "idempotency" {
		l.Proposals[before].At = at(soon) // when what was confirmed last is the last state
	}
	l.Expected.Steps = steps
	return l.come(effects), true
}

// invalid are arguments that the input schema forbids; nil where it forbids none.
func (s *subject) invalid() json.RawMessage {
	if s.noGood == nil {
		s.noGood = []byte{}
		if a, _ := s.valid([]byte(`{}`)); a == nil {
			s.noGood = []byte(`{}`)
		} else if calls, err := boundary.Refused(s.Definition); err == nil && len(calls) > 0 {
			if a, _ := s.valid(calls[0].Arguments); a == nil {
				s.noGood = calls[0].Arguments
			}
		}
	}
	if len(s.noGood) == 0 {
		return nil
	}
	return s.noGood
}
