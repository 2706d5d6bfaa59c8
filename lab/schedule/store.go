package schedule

import (
	"context"
	"slices"
	"time"

	"agentlab/lab/receipt"
)

// store stops calls before what they do to receipts, and knows which claims are
// open: a call that would wait for one is not let on before that ends.
type store struct {
	receipt.Store
	open      []*claim // in the order in which they were granted
	opened    int      // how many were
	exclusive bool     // a claim holds up those on other keys too
}

type claim struct {
	receipt.Claim
	of  *store
	by  *actor
	key receipt.Key
}

func (s *store) Claim(ctx context.Context, key receipt.Key, now time.Time) (receipt.Claim, *receipt.Receipt, error) {
	a := actorOf(ctx)
	if a == nil {
		return s.Store.Claim(ctx, key, now)
	}
	a.wants, a.tried, a.given = key, -1, nil
	a.step(stopClaim)
	var granted receipt.Claim
	var known *receipt.Receipt
	var err error
	if given := a.given; given != nil {
		granted, known = given.claim, given.known
	} else {
		granted, known, err = s.Store.Claim(ctx, key, now)
	}
	if err != nil || granted == nil {
		return nil, known, err
	}
	c := &claim{granted, s, a, key}
	s.open = append(s.open, c)
	s.opened++
	s.exclusive = s.exclusive || granted.RollsBack()
	return c, nil, nil
}

func (s *store) Resolve(ctx context.Context, key receipt.Key, seen receipt.Receipt, found *receipt.Receipt) error {
	actorOf(ctx).step(stopResolve)
	return s.Store.Resolve(ctx, key, seen, found)
}

func (c *claim) Keep(r receipt.Receipt) error {
	c.by.step(stopKeep)
	c.end()
	return c.Claim.Keep(r)
}

func (c *claim) Free() error {
	c.by.step(stopFree)
	c.end()
	return c.Claim.Free()
}

func (c *claim) end() {
	c.of.open = slices.DeleteFunc(c.of.open, func(o *claim) bool { return o == c })
}

// die ends the claims that are open, as the death of their process does.
func (s *store) die() error {
	open := s.open
	s.open = nil
	for _, c := range open {
		if err := c.Claim.Free(); err != nil {
			return err
		}
	}
	return nil
}

// holdsUp reports whether a call would wait for a claim at the step that it stands
// before.
func (s *store) holdsUp(a *actor) bool {
	if len(s.open) == 0 || a.given != nil {
		return false
	}
	switch a.at {
	case stopResolve:
		return s.exclusive
	case stopClaim:
	default:
		return false
	}
	held := slices.ContainsFunc(s.open, func(c *claim) bool { return c.key == a.wants })
	if !held && s.exclusive {
		known, err := s.Peek(context.Background(), a.wants, a.started)
		return err == nil && known == nil
	}
	if !held || a.ctx.Err() != nil {
		return false
	}
	if a.tried != s.opened {
		// A store that keeps its word waits, and finds that nobody waits with it. What
		// one does that does not is to be seen.
		a.tried = s.opened
		if granted, known, err := s.Store.Claim(over, a.wants, a.started); err == nil {
			a.given = &attempt{granted, known}
			return false
		}
	}
	return true
}

// over is a context that has ended.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
