package mutation

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// store is a store of receipts that is weaker for the actions of one tool. What is
// nil is as the store behind it has it.
type store struct {
	receipt.Store
	tool string
	// key is the action that a key stands for.
	key func(key receipt.Key) receipt.Key
	// first may answer a claim in the place of the store.
	first func(ctx context.Context, key receipt.Key, now time.Time) (receipt.Claim, *receipt.Receipt)
	// known is what is told of a receipt.
	known func(ctx context.Context, key receipt.Key, r *receipt.Receipt)
	// claimed has been granted.
	claimed func(c *claim)
	// keep and free end a claim.
	keep func(c *claim, r receipt.Receipt) error
	free func(c *claim) error
}

// claim is one that a weaker store has granted.
type claim struct {
	receipt.Claim
	store *store
	key   receipt.Key
	call  asked
	now   time.Time
}

// asked is the call that asks a store for something.
type asked struct {
	fingerprint string // of the canonical arguments
	text        string // the arguments as they came
}

type askedKey struct{}

func askedBy(ctx context.Context) asked {
	call, _ := ctx.Value(askedKey{}).(asked)
	return call
}

// storing puts a weaker store in the place of that of each session, and lets it know
// which call asks.
func storing(weaker func(of *store)) func(v *view) []spot {
	return func(v *view) []spot { return storingFor(v.live(keyed), weaker) }
}

func storingFor(all []contract.Contract, weaker func(of *store)) []spot {
	return ofTool(all, func(of contract.Contract) registry.Variant {
		return behind(func(b *registry.Backend) {
			s := &store{Store: b.Receipts, tool: of.Name}
			if s.Store == nil {
				s.Store = new(receipt.Memory)
			}
			weaker(s)
			b.Receipts = s
			surround(b, func(_ *registry.Backend, own decide) decide {
				return func(ctx context.Context, c *registry.Crossing) (tool.Verdict, *tool.Error) {
					arguments := c.Call().Proposal.Arguments
					call := asked{contract.Fingerprint(canonical(arguments)), string(arguments)}
					return own(context.WithValue(ctx, askedKey{}, call), c)
				}
			}, "approval", "deadline", "idempotency")
		})
	})
}

func (s *store) Claim(ctx context.Context, key receipt.Key, now time.Time) (receipt.Claim, *receipt.Receipt, error) {
	if key.Tool != s.tool {
		return s.Store.Claim(ctx, key, now)
	}
	// Whoever asks again and again for what a weaker store has lost comes to an end.
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if s.key != nil {
		key = s.key(key)
	}
	if s.first != nil {
		if granted, known := s.first(ctx, key, now); granted != nil || known != nil {
			return granted, known, nil
		}
	}
	granted, known, err := s.Store.Claim(ctx, key, now)
	if known != nil && s.known != nil {
		s.known(ctx, key, known)
	}
	if granted == nil {
		return nil, known, err
	}
	c := &claim{granted, s, key, askedBy(ctx), now}
	if s.claimed != nil {
		s.claimed(c)
	}
	return c, nil, nil
}

func (s *store) Peek(ctx context.Context, key receipt.Key, now time.Time) (*receipt.Receipt, error) {
	weaker := key.Tool == s.tool
	if weaker && s.key != nil {
		key = s.key(key)
	}
	known, err := s.Store.Peek(ctx, key, now)
	if weaker && known != nil && s.known != nil {
		s.known(ctx, key, known)
	}
	return known, err
}

func (s *store) Resolve(ctx context.Context, key receipt.Key, seen receipt.Receipt, found *receipt.Receipt) error {
	if key.Tool == s.tool {
		if s.key != nil {
			key = s.key(key)
		}
		// What was told of it need not be what is there.
		if is, err := s.Store.Peek(ctx, key, seen.SettledAt); err == nil && is != nil {
			seen = *is
		}
	}
	return s.Store.Resolve(ctx, key, seen, found)
}

func (c *claim) Keep(r receipt.Receipt) error {
	if c.store.keep != nil {
		return c.store.keep(c, r)
	}
	return c.Claim.Keep(r)
}

func (c *claim) Free() error {
	if c.store.free != nil {
		return c.store.free(c)
	}
	return c.Claim.Free()
}

// applied is the receipt of an action as somebody would write it who does not wait
// for what it comes to.
func (c *claim) applied() receipt.Receipt {
	return receipt.Receipt{State: receipt.Applied, Fingerprint: c.call.fingerprint, Output: json.RawMessage("null"), SettledAt: c.now}
}

// beside is a claim that holds nothing: of a call that runs beside another.
type beside struct{}

func (beside) Context(ctx context.Context) context.Context { return ctx }
func (beside) RollsBack() bool                             { return false }
func (beside) Keep(receipt.Receipt) error                  { return nil }
func (beside) Free() error                                 { return nil }

// book holds the receipts that a weaker store writes too early.
type book struct {
	mu      sync.Mutex
	written map[receipt.Key]receipt.Receipt
}

func (b *book) write(key receipt.Key, r receipt.Receipt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written == nil {
		b.written = make(map[receipt.Key]receipt.Receipt)
	}
	b.written[key] = r
}

func (b *book) read(key receipt.Key) *receipt.Receipt {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r, ok := b.written[key]; ok {
		return &r
	}
	return nil
}
