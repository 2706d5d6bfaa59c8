package generate

import (
	"encoding/json"
	"maps"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// long is how long a grant holds that is not to expire, and short how long one does
// that is.
const (
	long  = 24 * time.Hour
	short = time.Second
	// soon is when a second call comes, for which something had to be confirmed after
	// the first.
	soon = 20 * time.Millisecond
)

func ms(d time.Duration) int64 { return d.Milliseconds() }

func at(d time.Duration) *int64 { return ptr(ms(d)) }

// calls is a case of the good call, made once for each step and confirmed as the
// contract asks. Where it may not be made so often at once, time passes between.
func (s *subject) calls(steps ...*step) line {
	all := make([]json.RawMessage, len(steps))
	for i := range all {
		all[i] = s.good.arguments
	}
	return s.callsOf(all, steps...)
}

// callsOf is [subject.calls] of other arguments. One grant is of the first.
func (s *subject) callsOf(arguments []json.RawMessage, steps ...*step) line {
	l := line{Caller: ptr(s.good.caller)}
	for _, a := range arguments {
		l.Proposals = append(l.Proposals, proposal{Name: &s.Name, Arguments: a})
	}
	if r := s.Rate; r != nil && len(arguments) > r.Burst && s.src.Reach == Staged {
		for i := range l.Proposals {
			l.Proposals[i].At = at(time.Duration(i) * r.Every)
		}
	}
	s.confirm(&l)
	l.Expected.Steps = steps
	return l
}

// holdsBack reports whether so many calls cannot be made one after the other.
func (s *subject) holdsBack(n int) bool {
	return s.Rate != nil && n > s.Rate.Burst && s.src.Reach == Supervised
}

// confirm confirms the calls of a case as the contract asks.
func (s *subject) confirm(l *line) {
	switch s.Approval {
	case contract.ApprovalRequired:
		l.Approved = true
	case contract.ApprovalBound:
		l.Approvals = append(l.Approvals, s.grant(0, 0, long))
	}
}

// grant is a grant of a proposal, which holds until a time.
func (s *subject) grant(of int, shown, expires time.Duration) approval {
	lead := approver(&s.Contract)
	return approval{Proposal: &of, Approver: approverLine{lead.ID, lead.Permissions}, At: ms(shown), Expires: ms(expires)}
}

// come says what has to come of a case: of its steps, and so many effects in all; -1
// where nobody knows.
func (l *line) come(effects int) line {
	e := &l.Expected
	last := e.Steps[len(e.Steps)-1]
	switch {
	case last == nil || last.OK == nil || effects < 0:
		// Of what nobody knows the rest is not asked: but the call was a valid one.
		e.Accepted = ptr(true)
	default:
		e.OK = last.OK
		e.ErrorCode, e.Retryable = last.ErrorCode, last.Retryable
	}
	if effects >= 0 {
		e.SideEffects = &effects
	}
	for _, s := range e.Steps {
		if s != nil && s.Replayed != nil && *s.Replayed {
			e.Replayed = ptr(true)
		}
	}
	return *l
}

// refusal is a case of one call that a control refuses, whatever else is right.
func (s *subject) refusal(step *step, change func(*line)) line {
	l := s.calls(step)
	if change != nil {
		change(&l)
	}
	return l.come(0)
}

// placed gives a case of a server that is replayed twice the calls of each.
func (s *subject) placed(l *line) {
	twice := s.src.Twice
	if twice == nil || twice.Added[s.Name] == "" {
		return
	}
	l.Calls = map[string][]proposal{twice.Governed: l.Proposals}
	if twice.Raw != "" {
		raw := make([]proposal, len(l.Proposals))
		for i, p := range l.Proposals {
			raw[i] = p
			if p.Arguments != nil {
				raw[i].Arguments = without(p.Arguments, twice.Added[s.Name])
			}
		}
		l.Calls[twice.Raw] = raw
	}
	l.Proposals = nil
}

// without is an object without a member; what is no object of one reading stays.
func without(arguments json.RawMessage, name string) json.RawMessage {
	decoded, err := jsonvalue.Decode(arguments)
	members, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return arguments
	}
	members = maps.Clone(members)
	delete(members, name)
	return jsonvalue.AppendCanonical(nil, members)
}

// as is a caller who is somebody else and may do the same.
func as(c tool.Caller, id string) *tool.Caller {
	c.ID = id
	return &c
}
