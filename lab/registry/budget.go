package registry

import (
	"context"
	"sync"
	"time"

	"agentlab/lab/tool"
)

// spending is what a session has used of its budget.
type spending struct {
	mu        sync.Mutex
	started   time.Time // of the first call
	proposals int
	cost      int
	underWay  map[*Crossing]time.Time // when a call ends, on a simulated clock; else zero
}

func (s *spending) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started, s.proposals, s.cost = time.Time{}, 0, 0
	clear(s.underWay)
}

// exhausted is the details of a budget that is used up.
type exhausted struct {
	Budget string `json:"budget"`
	Used   int64  `json:"used"`
	Of     int64  `json:"of"`
}

// budget counts every proposal, also those that a later control refuses: an
// agent that repeats itself must come to an end. A call that is admitted is
// charged the cost of its contract, whatever becomes of it.
func budget(_ context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	limit := c.registry.backend.Budget
	if limit == (tool.Budget{}) {
		return tool.Skip, nil
	}
	cost := 0
	// A tool that the caller may not know of costs what one that is not there does.
	if e := c.registry.catalog.entries[c.call.Proposal.Name]; e != nil && e.Visibility.Admits(c.call.Caller) && !e.retired() {
		cost = e.Cost
	}
	if over := c.registry.spent.admit(limit, c, cost); over != nil {
		return tool.Refuse, tool.Refusal(tool.BudgetExhausted, over, "The budget of %s is used up.", over.Budget)
	}
	c.budgeted = true
	return tool.Pass, nil
}

// Unread counts a proposal that could not be read against the budget: an agent
// that only ever proposes nonsense must come to an end too. Where the budget is
// used up it returns the refusal, and true.
func (r *Registry) Unread(ctx context.Context, caller tool.Caller) (tool.Result, bool) {
	c := newCrossing(r, tool.Call{Caller: caller})
	defer c.finish(ctx)
	for _, control := range r.controls {
		if control.Name != "budget" {
			continue
		}
		verdict, refusal := control.Decide(ctx, c)
		if verdict == tool.Refuse {
			c.result.Trace.Decisions = append(c.result.Trace.Decisions, tool.Decision{Control: control.Name, Verdict: verdict, Code: refusal.Code})
			c.fail(refusal)
			return c.result, true
		}
	}
	return tool.Result{}, false
}

func (s *spending) admit(limit tool.Budget, c *Crossing, cost int) *exhausted {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started.IsZero() {
		s.started = c.now
	}
	if limit.Proposals > 0 && s.proposals >= limit.Proposals {
		return &exhausted{"proposals", int64(s.proposals), int64(limit.Proposals)}
	}
	s.proposals++
	if elapsed := c.now.Sub(s.started); limit.Elapsed > 0 && elapsed > limit.Elapsed {
		return &exhausted{"elapsed_ms", elapsed.Milliseconds(), limit.Elapsed.Milliseconds()}
	}
	for other, ends := range s.underWay {
		if !ends.IsZero() && !ends.After(c.now) {
			delete(s.underWay, other)
		}
	}
	if limit.Concurrent > 0 && len(s.underWay) >= limit.Concurrent {
		return &exhausted{"concurrent", int64(len(s.underWay)), int64(limit.Concurrent)}
	}
	if limit.Cost > 0 && cost > limit.Cost-s.cost {
		return &exhausted{"cost", int64(s.cost), int64(limit.Cost)}
	}
	s.cost += cost
	if s.underWay == nil {
		s.underWay = make(map[*Crossing]time.Time)
	}
	s.underWay[c] = time.Time{}
	return nil
}

// left returns how many more proposals may be made, or -1 for any number.
func (s *spending) left(limit tool.Budget) int {
	if limit.Proposals == 0 {
		return -1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return limit.Proposals - s.proposals
}

// finish takes a call off those that are under way: at once, or on a simulated
// clock when its time is over.
func (s *spending) finish(c *Crossing, simulated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ends := c.now.Add(c.took); simulated && c.took > 0 {
		s.underWay[c] = ends
	} else {
		delete(s.underWay, c)
	}
}
