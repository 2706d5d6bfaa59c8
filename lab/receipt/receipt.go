// Package receipt remembers that a keyed action happened, so that its repeat
// is answered and not done again.
//
// Start with [Memory.Claim]: it grants the action to exactly one caller at a
// time, or returns what that action came to.
//
// One invariant: between a granted claim and its [Claim.Keep] or [Claim.Free],
// nobody else is granted the same key.
//
// Receipts live as long as their [Memory]. They prove nothing across a restart
// of the process.
package receipt

import (
	"context"
	"encoding/json"
	"sync"

	"agentlab/lab/tool"
)

// Key names an action. The same word used by another caller, or for another
// tool, is another action.
type Key struct {
	Tool   string
	Caller string
	Value  string
}

// Receipt is what is known of an action: the fingerprint of the arguments it
// was asked with, and the answer that its repeat is given. Error is set where
// the action was, or may have been, applied and its answer was a failure.
type Receipt struct {
	Fingerprint string
	Output      json.RawMessage
	Error       *tool.Error
}

// Memory keeps receipts in memory. The zero value is ready; it is safe for
// concurrent use.
type Memory struct {
	mu      sync.Mutex
	actions map[Key]*action
}

type action struct {
	receipt Receipt
	// settled is closed when the claim ends; nil once a receipt is kept.
	settled chan struct{}
}

// Reset forgets every receipt. No claim may be open.
func (m *Memory) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.actions)
}

// Claim is the right to perform one action. It must be ended once, by Keep or
// by Free.
type Claim struct {
	memory *Memory
	key    Key
	action *action
}

// Claim grants the action, or returns its receipt: exactly one of the two
// pointers is set where the error is nil. While another claim on the key is
// open it waits, until ctx ends; the error is then that of ctx.
func (m *Memory) Claim(ctx context.Context, key Key) (*Claim, *Receipt, error) {
	for {
		m.mu.Lock()
		known := m.actions[key]
		if known == nil {
			if m.actions == nil {
				m.actions = make(map[Key]*action)
			}
			granted := &action{settled: make(chan struct{})}
			m.actions[key] = granted
			m.mu.Unlock()
			return &Claim{m, key, granted}, nil, nil
		}
		settled, receipt := known.settled, known.receipt
		m.mu.Unlock()
		if settled == nil {
			return nil, &receipt, nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// Keep ends the claim with a receipt: the action was applied, or may have been.
func (c *Claim) Keep(receipt Receipt) {
	c.end(func() { c.action.receipt = receipt })
}

// Free ends the claim without one: nothing was applied, and the key may be
// used again.
func (c *Claim) Free() {
	c.end(func() { delete(c.memory.actions, c.key) })
}

func (c *Claim) end(record func()) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	settled := c.action.settled
	if settled == nil {
		panic("receipt: a claim was ended twice")
	}
	record()
	c.action.settled = nil
	close(settled)
}
