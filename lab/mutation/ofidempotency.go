package mutation

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

func expiring(other func(was time.Duration) time.Duration) func(v *view) []spot {
	return approving(predicates{keyed, func(c *contract.Contract) bool {
		return c.ReceiptTTL > 0 && other(c.ReceiptTTL) >= 0
	}}, func(c *contract.Contract) { c.ReceiptTTL = other(c.ReceiptTTL) })
}

// reconciling puts something else in the place of what finds out about actions of
// unknown outcome.
func reconciling(other registry.Reconcile) func(v *view) []spot {
	return func(v *view) []spot {
		able := v.live(keyed, func(c *contract.Contract) bool { return v.reconcile[c.Name] })
		return ofTool(able, func(of contract.Contract) registry.Variant {
			return behind(func(b *registry.Backend) {
				b.Reconcile = maps.Clone(b.Reconcile)
				if other == nil {
					delete(b.Reconcile, of.Name)
				} else {
					b.Reconcile[of.Name] = other
				}
			})
		})
	}
}

const (
	needsKey       = "a contract that names an idempotency key"
	needsExpiry    = needsKey + ", and receipts that expire"
	needsReconcile = needsKey + ", and a backend that can tell what became of a call"
)

// ofIdempotency are the operators that weaken what is done once.
var ofIdempotency = []Operator{
	{
		Name:      "key-unused",
		Control:   "idempotency",
		Does:      "Every call of TOOL is its own, also with the key of an earlier one.",
		Unchecked: "Nobody checks that TOOL does a repeated action once.",
		Needs:     needsKey,
		spots:     approving(predicates{keyed}, func(c *contract.Contract) { c.IdempotencyKey, c.ReceiptTTL = "", 0 }),
	},
	{
		Name:      "fingerprint-unchecked",
		Control:   "idempotency",
		Does:      "The key of an earlier call of TOOL is answered from its receipt, whatever the other arguments are.",
		Unchecked: "Nobody checks that a key of TOOL cannot be used for other arguments.",
		Needs:     needsKey,
		spots: storing(func(of *store) {
			of.known = func(ctx context.Context, _ receipt.Key, r *receipt.Receipt) {
				if r.Fingerprint != "" {
					r.Fingerprint = askedBy(ctx).fingerprint
				}
			}
		}),
	},
	{
		Name:      "fingerprint-of-text",
		Control:   "idempotency",
		Does:      "A repeat of TOOL whose arguments are written in another way is taken for another action.",
		Unchecked: "Nobody checks that white space, the order of keys and the form of numbers make no other call of TOOL.",
		Needs:     needsKey,
		spots: storing(func(of *store) {
			var texts sync.Map // by key, as the action was first asked for
			of.claimed = func(c *claim) { texts.Store(c.key, c.call.text) }
			of.known = func(ctx context.Context, key receipt.Key, r *receipt.Receipt) {
				if first, ok := texts.Load(key); ok && first != askedBy(ctx).text && r.Fingerprint != "" {
					r.Fingerprint += "?"
				}
			}
		}),
	},
	{
		Name:      "key-of-all-callers",
		Control:   "idempotency",
		Does:      "A key of TOOL that one caller has used is used up for every other, who is answered from that receipt.",
		Unchecked: "Nobody checks that two callers of TOOL can use the same key.",
		Needs:     needsKey,
		spots: storing(func(of *store) {
			of.key = func(key receipt.Key) receipt.Key {
				key.Caller = ""
				return key
			}
		}),
	},
	{
		Name:      "key-of-all-tools",
		Control:   "idempotency",
		Does:      "A key that was used for TOOL is used up for every other tool, and the other way round.",
		Unchecked: "Nobody checks that a key of TOOL can be used for another tool too.",
		Needs:     "two contracts that name an idempotency key",
		spots: func(v *view) []spot {
			all := v.live(keyed)
			if len(all) < 2 {
				return nil
			}
			other := all[0].Name
			return storingFor(all[1:], func(of *store) {
				of.key = func(key receipt.Key) receipt.Key {
					key.Tool = other
					return key
				}
			})
		},
	},
	{
		Name:      "receipt-before-write",
		Control:   "idempotency",
		Does:      "The receipt of a call of TOOL is written before anything is done.",
		Unchecked: "Nobody checks what a repeat of TOOL is told when the first call came to nothing.",
		Needs:     needsKey,
		spots: storing(func(of *store) {
			var early book
			of.first = func(_ context.Context, key receipt.Key, _ time.Time) (receipt.Claim, *receipt.Receipt) {
				return nil, early.read(key)
			}
			of.claimed = func(c *claim) { early.write(c.key, c.applied()) }
			of.keep = func(c *claim, r receipt.Receipt) error {
				if r.State == receipt.Applied {
					early.write(c.key, r)
				}
				return c.Claim.Keep(r)
			}
		}),
	},
	{
		Name:      "receipt-lost-on-bad-output",
		Control:   "idempotency",
		Does:      "No receipt is kept of a call of TOOL that was applied and answered badly.",
		Unchecked: "Nobody checks that a repeat of TOOL after a bad answer does nothing more.",
		Needs:     needsKey,
		spots: storing(func(of *store) {
			of.keep = func(c *claim, r receipt.Receipt) error {
				if r.State == receipt.Applied && r.Error != nil {
					return c.Claim.Free()
				}
				return c.Claim.Keep(r)
			}
		}),
	},
	{
		Name:      "failure-kept-as-applied",
		Control:   "idempotency",
		Does:      "A call of TOOL that failed and applied nothing leaves a receipt, as if it had been applied.",
		Unchecked: "Nobody checks that a key of TOOL is free again after a failure.",
		Needs:     needsKey,
		spots: storing(func(of *store) {
			of.free = func(c *claim) error { return c.Claim.Keep(c.applied()) }
		}),
	},
	{
		Name:      "unknown-kept-as-applied",
		Control:   "idempotency",
		Does:      "A call of TOOL of which nobody knows what became of it is kept as applied.",
		Unchecked: "Nobody checks what a repeat of TOOL comes to after a call of unknown outcome that applied nothing.",
		Needs:     needsKey + " of a tool whose calls can take time",
		spots: func(v *view) []spot {
			return storingFor(v.live(keyed, func(c *contract.Contract) bool { return v.slow[c.Name] }), func(of *store) {
				of.keep = func(c *claim, r receipt.Receipt) error {
					if r.State == receipt.Unknown {
						r.State = receipt.Applied
					}
					return c.Claim.Keep(r)
				}
			})
		},
	},
	{
		Name:      "unknown-forgotten",
		Control:   "idempotency",
		Does:      "A call of TOOL of which nobody knows what became of it leaves no receipt.",
		Unchecked: "Nobody checks that a repeat of TOOL after a call of unknown outcome does nothing twice.",
		Needs:     needsKey + " of a tool whose calls can take time",
		spots: func(v *view) []spot {
			return storingFor(v.live(keyed, func(c *contract.Contract) bool { return v.slow[c.Name] }), func(of *store) {
				of.keep = func(c *claim, r receipt.Receipt) error {
					if r.State == receipt.Unknown {
						return c.Claim.Free()
					}
					return c.Claim.Keep(r)
				}
			})
		},
	},
	{
		Name:      "no-wait",
		Control:   "idempotency",
		Does:      "A repeat of TOOL does not wait for the call that is under way, and runs beside it.",
		Unchecked: "Nobody checks a repeat of TOOL that comes while the first call is under way.",
		Needs:     needsKey + " of a tool whose calls can take time",
		spots: func(v *view) []spot {
			return storingFor(v.live(keyed, func(c *contract.Contract) bool { return v.slow[c.Name] }), func(of *store) {
				of.first = func(ctx context.Context, key receipt.Key, now time.Time) (receipt.Claim, *receipt.Receipt) {
					known, err := of.Store.Peek(ctx, key, now)
					if err == nil && known != nil && (known.State == receipt.InProgress || known.SettledAt.After(now)) {
						return beside{}, nil
					}
					return nil, nil
				}
			})
		},
	},
	{
		Name:      "replay-runs-again",
		Control:   "idempotency",
		Does:      "A repeat of TOOL is answered from its receipt, and done once more.",
		Unchecked: "Nobody checks that a repeat of TOOL which is answered from its receipt changes nothing.",
		Needs:     needsKey,
		spots: func(v *view) []spot {
			return ofTool(v.live(keyed), func(of contract.Contract) registry.Variant {
				return around(func(b *registry.Backend, own decide) decide {
					return func(ctx context.Context, c *registry.Crossing) (tool.Verdict, *tool.Error) {
						verdict, refusal := own(ctx, c)
						if verdict == tool.Replay && isOf(c, of.Name) {
							// What comes of it nobody is told.
							_, _ = b.Handlers[of.Name](ctx, canonical(c.Call().Proposal.Arguments))
						}
						return verdict, refusal
					}
				}, "idempotency")
			})
		},
	},
	{
		Name:      "receipt-never-expires",
		Control:   "idempotency",
		Does:      "The receipt of a call of TOOL is kept for ever.",
		Unchecked: "Nobody checks that a key of TOOL can be used again when its receipt has expired.",
		Needs:     needsExpiry,
		spots:     expiring(func(time.Duration) time.Duration { return 0 }),
	},
	{
		Name:      "receipt-late",
		Control:   "idempotency",
		Does:      "The receipt of a call of TOOL is kept a millisecond longer than its contract says.",
		Unchecked: "Nobody checks the first millisecond in which a receipt of TOOL has expired.",
		Needs:     needsExpiry,
		spots:     expiring(func(was time.Duration) time.Duration { return was + time.Millisecond }),
	},
	{
		Name:      "receipt-early",
		Control:   "idempotency",
		Does:      "The receipt of a call of TOOL is kept a millisecond less than its contract says.",
		Unchecked: "Nobody checks the last millisecond in which a receipt of TOOL still counts.",
		Needs:     needsExpiry,
		spots:     expiring(func(was time.Duration) time.Duration { return was - time.Millisecond }),
	},
	{
		Name:      "never-reconciled",
		Control:   "idempotency",
		Does:      "The backend is not asked what became of a call of TOOL of unknown outcome.",
		Unchecked: "Nobody checks what a repeat of TOOL finds out after a call of unknown outcome.",
		Needs:     needsReconcile,
		spots:     reconciling(nil),
	},
	{
		Name:      "reconciled-as-not-applied",
		Control:   "idempotency",
		Does:      "A call of TOOL of unknown outcome is taken for one that was not applied.",
		Unchecked: "Nobody checks that a repeat of TOOL does nothing twice when the first call was applied and its answer was lost.",
		Needs:     needsReconcile,
		spots: reconciling(func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
			return nil, false, nil
		}),
	},
	{
		Name:      "reconciled-as-applied",
		Control:   "idempotency",
		Does:      "A call of TOOL of unknown outcome is taken for one that was applied.",
		Unchecked: "Nobody checks that a repeat of TOOL is done when the first call was not.",
		Needs:     needsReconcile,
		spots: reconciling(func(context.Context, registry.Attempt) (json.RawMessage, bool, error) {
			return nil, true, nil
		}),
	},
}
