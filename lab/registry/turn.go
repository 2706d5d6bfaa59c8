package registry

import (
	"context"
	"slices"
	"sync"
	"time"

	"agentlab/lab/receipt"
	"agentlab/lab/tool"
)

// turns are the calls at work on whatever a contract bounds the calls of, a tool or
// what several share, and those that wait, in the order in which they came.
//
// A call takes its turn before it claims an action, and never waits for a turn
// with a claim: a repeat that has a turn and waits for the claim waits for a call
// that has its own.
type turns struct {
	mu     sync.Mutex
	queues map[turn]*queue
}

// turn is what is waited for: that of a tool, or one that tools share.
type turn struct{ tool, shared string }

func (e *entry) turn() turn {
	if e.Turn != "" {
		return turn{shared: e.Turn}
	}
	return turn{tool: e.Name}
}

type queue struct {
	taken   int
	waiting []chan struct{} // each is closed when its turn has come
}

// take takes a turn where one is free, and reports whether it did. Nobody waits
// while one is free.
func (t *turns) take(what turn, of int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at(what).free(of)
}

func (q *queue) free(of int) bool {
	if q.taken >= of {
		return false
	}
	q.taken++
	return true
}

// join takes a turn that is free, or waits for one until ctx ends or the time is
// over. It reports whether it took one.
func (t *turns) join(ctx context.Context, what turn, of int, limit time.Duration) bool {
	t.mu.Lock()
	q := t.at(what)
	if q.free(of) {
		t.mu.Unlock()
		return true
	}
	mine := make(chan struct{})
	q.waiting = append(q.waiting, mine)
	t.mu.Unlock()

	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-mine:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(q.waiting, mine)
	if at < 0 {
		return true // it came in this very moment
	}
	q.waiting = slices.Delete(q.waiting, at, at+1)
	return false
}

// leave hands the turn to whoever waits longest.
func (t *turns) leave(what turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.at(what)
	if len(q.waiting) == 0 {
		q.taken--
		return
	}
	next := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	close(next)
}

// at is the queue of a turn; t is locked.
func (t *turns) at(what turn) *queue {
	q := t.queues[what]
	if q == nil {
		if t.queues == nil {
			t.queues = make(map[turn]*queue)
		}
		q = new(queue)
		t.queues[what] = q
	}
	return q
}

// takeTurn waits for the turn of the call, as long as the call may take. The
// repeat of what was applied needs none: it is answered from its receipt.
func (c *Crossing) takeTurn(ctx context.Context) *tool.Error {
	of, turns := c.entry.Concurrency, &c.registry.turns
	if of == 0 {
		return nil
	}
	if c.turn = turns.take(c.entry.turn(), of); c.turn {
		return nil
	}
	if known := c.peek(ctx); known != nil && known.State == receipt.Applied {
		return nil
	}
	c.turn = turns.join(ctx, c.entry.turn(), of, c.entry.Timeout)
	switch {
	case ctx.Err() != nil:
		return c.cancelled()
	case !c.turn:
		return c.noTurn(ctx)
	}
	// Something may have happened meanwhile to what was confirmed.
	return c.reconfirm(ctx)
}

// noTurn is the refusal of a call whose turn did not come. Where that is the
// repeat of an action whose end is not known, nobody is told that it was not
// applied.
func (c *Crossing) noTurn(ctx context.Context) *tool.Error {
	if c.repeats(ctx) {
		return c.inProgress()
	}
	return c.byContract(tool.Refusal(tool.ToolTimeout, struct {
		Timeout     int64 `json:"timeout_ms"`
		Concurrency int   `json:"concurrency"`
	}{c.entry.Timeout.Milliseconds(), c.entry.Concurrency},
		"The turn of the call did not come within its %d ms timeout.", c.entry.Timeout.Milliseconds()))
}

// lacksTurn reports whether the call passed its deadline as a repeat, without a
// turn that is needed after all, and cannot have it at once.
func (c *Crossing) lacksTurn() bool {
	if c.entry.Concurrency == 0 || c.turn || c.registry.simulated() || !c.met("deadline") {
		return false
	}
	c.turn = c.registry.turns.take(c.entry.turn(), c.entry.Concurrency)
	return !c.turn
}

// leave ends the turn of the call.
func (c *Crossing) leave() {
	if c.turn {
		c.turn = false
		c.registry.turns.leave(c.entry.turn())
	}
}
