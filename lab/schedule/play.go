package schedule

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

// variation is one pattern of calls of one tool, with one hazard.
type variation struct {
	pattern   *Pattern
	hazard    *Hazard
	calls     int
	action    Action
	arguments [2]string // the second are others; empty where there are none
}

// choice is one of the steps that could be next.
type choice struct {
	call int // 0: the event
	step string
}

func (c choice) String() string {
	if c.call == 0 {
		return c.step
	}
	return strconv.Itoa(c.call) + " " + c.step
}

// play is one schedule while it is played.
type play struct {
	*stage
	*variation
	judge
	actors   []*actor
	twins    []bool // actors that are the same as the one before them
	event    bool   // it is still to come
	trail    []choice
	furthest time.Time
	grants   map[int]tool.Grant
	issued   int
	patience *time.Timer
}

// playOne plays one schedule on a fresh backend, and then has every call repeated.
// The choices are those of choose, which is given what could be next.
func playOne(ctx context.Context, s *stage, v *variation, choose func([]choice) (int, error)) (p *play, err error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	p = &play{stage: s, variation: v, event: v.hazard.event != noEvent, grants: make(map[int]tool.Grant),
		patience: time.NewTimer(longPatience)}
	defer p.patience.Stop()
	p.judge = newJudge(&s.contract, s.clock.Now)
	defer func() {
		for _, a := range p.actors {
			a.kill()
		}
		// What a session holds, such as the file, is free again when no claim is open.
		if ended := s.receipts.die(); err == nil {
			err = ended
		}
		if closed := s.session.Close(); err == nil {
			err = closed
		}
	}()
	p.furthest = s.clock.Now()
	p.effectsSeen = s.session.Effects()
	for i := range v.calls {
		a, err := p.actor(i)
		if err != nil {
			return nil, err
		}
		p.begin(a)
	}
	p.findTwins()
	if err := p.act(choose); err != nil {
		return p, err
	}
	if !p.stuck && p.calls > 1 {
		p.audit()
	}
	return p, nil
}

// actor is a call of the pattern, the calls being counted from 0.
func (p *play) actor(i int) (*actor, error) {
	arguments, caller, grant := p.pattern.part(i, p.calls)
	a := &actor{number: i + 1, stops: p.stops}
	a.call = tool.Call{
		Proposal: tool.Proposal{Name: p.contract.Name, Arguments: []byte(p.arguments[arguments])},
		Caller:   p.action.Caller,
	}
	if caller > 0 {
		a.call.Caller.ID += "-other"
	}
	var err error
	if a.key, a.arguments, err = of(&p.contract, a.call.Caller.ID, p.arguments[arguments]); err != nil {
		return nil, err
	}
	if grant >= 0 {
		switch p.contract.Approval {
		case contract.ApprovalRequired:
			a.call.Approved = true
		case contract.ApprovalBound:
			held, known := p.grants[grant]
			if !known {
				if held, err = p.grant(a.call); err != nil {
					return nil, err
				}
				p.grants[grant] = held
			}
			a.call.Grants = []tool.Grant{held}
		}
	}
	if i == 0 {
		a.fault = p.hazard.fault
		if a.fault == faultSlow {
			a.slow = p.contract.Timeout + time.Millisecond
		}
	}
	return a, nil
}

// grant has a call confirmed as it is now.
func (p *play) grant(call tool.Call) (tool.Grant, error) {
	shown, refusal := p.registry.Pending(context.Background(), call)
	if refusal != nil {
		return tool.Grant{}, fmt.Errorf("%s cannot be shown to whoever confirms it: %s", p.contract.Name, refusal.Message)
	}
	p.issued++
	now := p.clock.Now()
	return tool.Grant{
		ID:              "grant-" + strconv.Itoa(p.issued),
		Digest:          shown.Digest,
		Approver:        p.action.Approver,
		IssuedAt:        now,
		ExpiresAt:       now.Add(p.hazard.life(&p.contract)),
		ResourceVersion: shown.ResourceVersion,
	}, nil
}

// stops reports whether a call is stopped at a step. When a call starts matters
// where the clock jumps, and whether it was answered where somebody dies or goes.
func (p *play) stops(name string) bool {
	switch name {
	case stopStart:
		return p.hazard.event == jumps
	case stopTold:
		return p.hazard.event == crashes || p.hazard.event == givesUp
	}
	return true
}

func (p *play) begin(a *actor) {
	p.actors = append(p.actors, a)
	registry := p.registry // that of its process
	a.begin(registry.Call, p.clock.Now)
	p.after(a)
}

// findTwins finds calls that nothing tells from the one before them: which of the
// two comes first is the same.
func (p *play) findTwins() {
	p.twins = make([]bool, len(p.actors))
	for i := 1; i < len(p.actors); i++ {
		a, b := p.actors[i-1], p.actors[i]
		first := i == 1 && (a.fault != "" || p.hazard.event == givesUp)
		p.twins[i] = !first && a.key == b.key && a.arguments == b.arguments && a.call.Approved == b.call.Approved &&
			slices.EqualFunc(a.call.Grants, b.call.Grants, func(a, b tool.Grant) bool { return a.ID == b.ID })
	}
}

// act lets one call after the other make a step, until all have ended.
func (p *play) act(choose func([]choice) (int, error)) error {
	for {
		choices := p.choices()
		if len(choices) == 0 {
			for _, a := range p.actors {
				if !a.done {
					p.breach(ends, "call %d waits before its step %s for what never comes", a.number, a.at)
					p.stuck = true
				}
			}
			return nil
		}
		i, err := choose(choices)
		if err != nil {
			return err
		}
		next := choices[i]
		p.trail = append(p.trail, next)
		if next.call == 0 {
			if err := p.happen(); err != nil {
				return err
			}
			continue
		}
		a := p.actors[next.call-1]
		a.begun = true
		a.turn <- true
		p.after(a)
		if p.stuck {
			return nil
		}
	}
}

// choices are the steps that could be next: those of calls that wait for nobody,
// and the event.
func (p *play) choices() []choice {
	var all []choice
	for i, a := range p.actors {
		if a.done || i < len(p.twins) && p.twins[i] && !p.actors[i-1].begun || p.receipts.holdsUp(a) {
			continue
		}
		all = append(all, choice{a.number, a.at})
	}
	if p.event {
		all = append(all, choice{0, p.hazard.Name})
	}
	return all
}

// after looks at what a call did since it was let on.
func (p *play) after(a *actor) {
	if !a.wait(p.patience) {
		p.breach(ends, "call %d does not come back from the step %s", a.number, a.at)
		p.stuck = true
		return
	}
	p.look(a, p.session.Effects())
	if a.done && !a.dead && !a.gaveUp {
		p.told(a, p.actors)
	}
}

// happen lets the event come.
func (p *play) happen() error {
	p.event = false
	switch p.hazard.event {
	case crashes:
		for _, a := range p.actors {
			a.kill()
		}
		return p.die()
	case givesUp:
		first := p.actors[0]
		if !first.done {
			first.gaveUp = true
			first.cancel()
		}
		again := &actor{number: len(p.actors) + 1, stops: p.stops, call: first.call, key: first.key, arguments: first.arguments}
		p.begin(again)
	case jumps:
		by, _ := p.hazard.jump(&p.contract)
		p.move(p.clock.Now().Add(by))
	}
	return nil
}

func (p *play) move(now time.Time) {
	p.clock.Set(now)
	if now.After(p.furthest) {
		p.furthest = now
	}
}

// gap is the time between two repeats: no rate and nothing under way is left then.
func (p *play) gap() time.Duration {
	gap := 10*time.Second + 2*p.contract.Timeout
	if rate := p.contract.Rate; rate != nil {
		gap = max(gap, rate.Every*time.Duration(rate.Burst))
	}
	return gap
}

// rounds is how often each call is repeated when all have ended: the second time
// asks whether what the first was answered stays so.
const rounds = 2

// audit has every call repeated by itself, with a fresh grant where the old one has
// expired.
func (p *play) audit() {
	calls := p.actors[:p.calls]
	for range rounds {
		for _, a := range calls {
			p.move(p.furthest.Add(p.gap()))
			again := &actor{number: a.number, free: true, stops: p.stops, call: a.call, key: a.key, arguments: a.arguments}
			if len(a.call.Grants) > 0 && (!p.clock.Now().Before(a.call.Grants[0].ExpiresAt) || p.hazard.Name == "clock-receipt") {
				fresh, err := p.grant(a.call)
				if err != nil {
					p.breach(ends, "%v", err)
					return
				}
				again.call.Grants = []tool.Grant{fresh}
			}
			p.trail = append(p.trail, choice{a.number, stepRepeat})
			expected := p.expected(again, p.clock.Now())
			p.begin(again)
			if p.stuck {
				return
			}
			if expected {
				p.kept(again)
			}
		}
	}
}

// stepRepeat is what a trail has for a call that is made again when all have ended.
const stepRepeat = "repeat"
