package receipt

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Memory keeps receipts in memory. The zero value is ready. They prove nothing
// across a restart of the process.
type Memory struct {
	mu      sync.Mutex
	actions map[Key]*action
}

type action struct {
	receipt Receipt
	// settled is closed when the claim ends; nil once a receipt is kept.
	settled chan struct{}
	// expired is what stood here when the claim was granted. It counts for calls that
	// began before it expired, and is there again if the claim is given back.
	expired *action
}

// Reset forgets every receipt. No claim may be open.
func (m *Memory) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.actions)
}

// Claim implements [Store].
func (m *Memory) Claim(ctx context.Context, key Key, now time.Time) (Claim, *Receipt, error) {
	for {
		m.mu.Lock()
		known := m.actions[key]
		if known == nil || known.settled == nil && known.receipt.expired(now) {
			if m.actions == nil {
				m.actions = make(map[Key]*action)
			}
			granted := &action{settled: make(chan struct{}), expired: known}
			m.actions[key] = granted
			m.mu.Unlock()
			return &memoryClaim{m, key, granted}, nil, nil
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

// Peek implements [Store].
func (m *Memory) Peek(_ context.Context, key Key, now time.Time) (*Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.actions[key]
	if known == nil || known.settled == nil && known.receipt.expired(now) {
		return nil, nil
	}
	receipt := known.current()
	return &receipt, nil
}

// Resolve implements [Store].
func (m *Memory) Resolve(_ context.Context, key Key, seen Receipt, found *Receipt) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.actions[key]
	if known == nil || known.settled != nil || known.receipt.State != Unknown ||
		known.receipt.Fingerprint != seen.Fingerprint || !known.receipt.SettledAt.Equal(seen.SettledAt) {
		return nil
	}
	if found == nil {
		delete(m.actions, key)
	} else {
		known.receipt = *found
	}
	return nil
}

// List implements [Store].
func (m *Memory) List(context.Context) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entries := make([]Entry, 0, len(m.actions))
	for key, known := range m.actions {
		entries = append(entries, Entry{key, known.current()})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return a.compare(b.Key) })
	return entries, nil
}

func (a *action) current() Receipt {
	if a.settled != nil {
		return Receipt{State: InProgress}
	}
	return a.receipt
}

type memoryClaim struct {
	memory *Memory
	key    Key
	action *action
}

// Context implements [Claim]: a memory shares no transaction with anything.
func (c *memoryClaim) Context(ctx context.Context) context.Context { return ctx }

// RollsBack implements [Claim].
func (c *memoryClaim) RollsBack() bool { return false }

// Keep implements [Claim].
func (c *memoryClaim) Keep(receipt Receipt) error {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	c.end()
	c.action.receipt, c.action.expired = receipt, nil
	return nil
}

// Free implements [Claim].
func (c *memoryClaim) Free() error {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	c.end()
	if c.action.expired != nil {
		c.memory.actions[c.key] = c.action.expired
		return nil
	}
	delete(c.memory.actions, c.key)
	return nil
}

// end lets those go on who wait for the claim. The memory is locked, so that
// they find what has come of it.
func (c *memoryClaim) end() {
	if c.action.settled == nil {
		panic("receipt: a claim was ended twice")
	}
	close(c.action.settled)
	c.action.settled = nil
}
