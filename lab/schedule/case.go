package schedule

import (
	"encoding/json"
	"fmt"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

// The parts of a case that a schedule needs, as lab/dataset reads them.
type (
	line struct {
		ID        string     `json:"case_id"`
		Intent    string     `json:"intent"`
		Clause    string     `json:"clause"`
		Caller    caller     `json:"caller"`
		Approved  bool       `json:"approved,omitempty"`
		Proposals []proposal `json:"proposals"`
		Approvals []approval `json:"approvals,omitempty"`
		Expected  expected   `json:"expected"`
	}
	caller struct {
		ID          string   `json:"id"`
		Permissions []string `json:"permissions"`
		Task        string   `json:"task,omitempty"`
		Environment string   `json:"environment,omitempty"`
	}
	proposal struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		At        int64           `json:"at_ms"`
		Caller    *caller         `json:"caller,omitempty"`
		Faults    *faults         `json:"faults,omitempty"`
	}
	faults struct {
		Latency   int64 `json:"latency_ms,omitempty"`
		Panic     bool  `json:"panic,omitempty"`
		BadOutput bool  `json:"bad_output,omitempty"`
		Lost      bool  `json:"lost_response,omitempty"`
		Crash     bool  `json:"crash,omitempty"`
	}
	approval struct {
		Proposal int    `json:"proposal"`
		Approver caller `json:"approver"`
		At       int64  `json:"at_ms"`
		Expires  int64  `json:"expires_at_ms"`
	}
	expected struct {
		Effects int `json:"side_effect_count"`
		// With it a case need not say whether the last call succeeds.
		Accepted bool `json:"accepted"`
	}
)

func callerOf(c tool.Caller) caller {
	return caller{c.ID, append([]string{}, c.Permissions...), c.Task, c.Environment}
}

// line writes a case that makes the calls of the schedule in the order in which
// they claim, each at its time, and repeats them at the end. It has no steps within
// a call: what comes of the order of those, it does not show.
func (p *play) line(b breach) json.RawMessage {
	l := line{
		ID:       fmt.Sprintf("schedule-%s-%s-%d-%s", p.pattern.Name, p.hazard.Name, p.calls, b.invariant),
		Intent:   "Hold in a hostile order: " + p.pattern.Does + "; " + p.hazard.Does + ".",
		Clause:   p.contract.Name + " idempotency idempotency_key inside",
		Caller:   callerOf(p.action.Caller),
		Expected: expected{Effects: p.rightly(), Accepted: true},
	}
	var at time.Duration
	made := make(map[int]bool)
	granted := make(map[string]bool)
	add := func(a *actor, fault bool) {
		made[a.number] = true
		next := proposal{Name: a.call.Proposal.Name, Arguments: json.RawMessage(a.arguments), At: at.Milliseconds()}
		if a.call.Caller.ID != p.action.Caller.ID {
			own := callerOf(a.call.Caller)
			next.Caller = &own
		}
		if fault {
			next.Faults = p.faults(a)
		}
		for _, g := range a.call.Grants {
			if !granted[g.ID] {
				granted[g.ID] = true
				l.Approvals = append(l.Approvals, approval{Proposal: len(l.Proposals), Approver: callerOf(p.action.Approver),
					Expires: p.hazard.life(&p.contract).Milliseconds()})
			}
		}
		l.Approved = l.Approved || a.call.Approved
		l.Proposals = append(l.Proposals, next)
	}
	for _, c := range p.trail {
		switch {
		case c.call == 0 && p.hazard.event == jumps:
			by, _ := p.hazard.jump(&p.contract)
			at += max(by, 0) // a case has no time before its start
		case c.call == 0 && p.hazard.event == givesUp:
			add(p.actors[0], false)
		case c.step == stepRepeat:
			at += p.gap()
			add(p.actors[c.call-1], false)
		case c.step == stopClaim && !made[c.call]:
			add(p.actors[c.call-1], true)
		}
	}
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return text
}

// faults are what goes wrong in a call, in the words of a case.
func (p *play) faults(a *actor) *faults {
	switch {
	case a.dead && p.hazard.event == crashes:
		return &faults{Crash: true}
	case a.gaveUp, a.fault == faultLost, a.fault == faultErrorAfter, a.fault == faultPanicAfter:
		return &faults{Lost: true}
	case a.fault == faultSlow:
		return &faults{Latency: a.slow.Milliseconds()}
	case a.fault == faultPanic, a.fault == faultError:
		return &faults{Panic: true}
	case a.fault == faultBad:
		return &faults{BadOutput: true}
	}
	return nil
}

// rightly is how many effects there would have been, had all held: one for each
// action of a caller that was confirmed, and no more than there are grants.
func (p *play) rightly() int {
	n := 0
	for key := range p.effects {
		for _, a := range p.actors {
			if a.key == key && (p.contract.Approval == contract.ApprovalNever || a.call.Approved || len(a.call.Grants) > 0) {
				n++
				break
			}
		}
	}
	if p.contract.Approval == contract.ApprovalBound {
		n = min(n, p.issued)
	}
	return n
}
