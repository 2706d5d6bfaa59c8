package registry

import (
	"bytes"
	"context"
	"errors"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/tool"
)

func (c *Crossing) key() receipt.Key {
	return receipt.Key{Tool: c.entry.Name, Caller: c.call.Caller.ID, Value: c.argument(c.entry.IdempotencyKey)}
}

// keyDetails name the argument that holds the key, where the contract has one.
type keyDetails struct {
	Key string `json:"idempotency_key,omitempty"`
}

func (c *Crossing) keyed() keyDetails { return keyDetails{c.entry.IdempotencyKey} }

// idempotency claims the action, or answers the call from its receipt. While
// the same action is under way it waits for it, as long as the call may take.
func idempotency(ctx context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	if c.entry.IdempotencyKey == "" {
		return tool.Skip, nil
	}
	waiting := ctx
	if !c.registry.simulated() {
		bounded, cancel := context.WithTimeout(ctx, c.entry.Timeout)
		defer cancel()
		waiting = bounded
	}
	waits := c.entry.Precondition && c.underWay(ctx)
	work, waited := c.took, time.Duration(0) // on a simulated clock
	for {
		claim, known, err := c.registry.backend.Receipts.Claim(waiting, c.key(), c.now)
		switch {
		case err != nil:
			return tool.Refuse, c.unclaimed(ctx, err)
		case known == nil:
			c.claim = claim
			c.took = waited + work
			if refusal := c.nowFirst(ctx, waits); refusal != nil {
				return tool.Refuse, refusal
			}
			return tool.Pass, nil
		case known.Fingerprint != c.result.Trace.Fingerprint:
			return tool.Refuse, tool.Refusal(tool.IdempotencyConflict, c.keyed(), "The %s was used before with other arguments.", c.entry.IdempotencyKey)
		case known.SettledAt.After(c.now):
			// On a simulated clock the first call is still under way.
			wait := known.SettledAt.Sub(c.now)
			if c.registry.simulated() && wait > c.entry.Timeout {
				c.took = c.entry.Timeout
				return tool.Refuse, c.inProgress()
			}
			waited, c.took = wait, wait
		}
		if known.State == receipt.Unknown {
			settled, refusal := c.reconcile(ctx, *known)
			if refusal != nil {
				return tool.Refuse, refusal
			}
			if settled {
				continue
			}
		}
		c.result.Replayed = true
		c.result.Output = bytes.Clone(known.Output)
		c.result.Error = copyOf(known.Error)
		return tool.Replay, nil
	}
}

// underWay reports whether the action of the call is another call's just now.
func (c *Crossing) underWay(ctx context.Context) bool {
	known := c.peek(ctx)
	return known != nil && known.State == receipt.InProgress
}

// nowFirst holds a call that earlier controls let pass as the repeat of another
// to what they ask of a first one: that other has not applied anything after all.
// One that has waited for it is asked again what it was asked before.
func (c *Crossing) nowFirst(ctx context.Context, waited bool) *tool.Error {
	switch {
	case c.lacksTurn():
		return c.noTurn(ctx)
	case !c.met("approval"):
		return nil
	case !c.excused && !c.unsure && waited:
		return c.reconfirm(ctx)
	case !c.excused && !c.unsure:
		return nil
	}
	c.excused = false
	if c.entry.Approval == contract.ApprovalBound {
		c.release()
		return c.granted(ctx)
	}
	return c.unchanged(ctx)
}

// unclaimed is the refusal of a call whose claim was not granted.
func (c *Crossing) unclaimed(ctx context.Context, err error) *tool.Error {
	switch {
	case ctx.Err() != nil:
		return c.cancelled()
	case !errors.Is(err, context.DeadlineExceeded):
		return c.broken(err)
	}
	// The wait may have been for another action, where a store takes one at a
	// time.
	if known, err := c.registry.backend.Receipts.Peek(ctx, c.key(), c.now); err == nil && known == nil {
		return tool.Refusal(tool.ActionInProgress, c.keyed(), "Another action holds the store.")
	}
	return c.inProgress()
}

// copyOf returns an error that shares nothing with e.
func copyOf(e *tool.Error) *tool.Error {
	if e == nil {
		return nil
	}
	own := *e
	own.Details = bytes.Clone(e.Details)
	return &own
}

func (c *Crossing) inProgress() *tool.Error {
	c.outcome = tool.Unknown // as long as the other call is under way
	return tool.Refusal(tool.ActionInProgress, c.keyed(), "The same action is still under way.")
}

// reconcile asks the backend what became of an action of unknown outcome, and
// writes it down. It reports whether something was found out.
func (c *Crossing) reconcile(ctx context.Context, seen receipt.Receipt) (settled bool, refusal *tool.Error) {
	find := c.registry.backend.Reconcile[c.entry.Name]
	if find == nil {
		return false, nil
	}
	c.outcome = tool.Unknown // until the backend has said
	output, applied, err := find(ctx, Attempt{c.call.Caller, c.canonical, seen.SettledAt.Add(-c.entry.Timeout)})
	if err != nil {
		if !errors.Is(err, ErrStillUnknown) {
			c.fault(err)
		}
		refusal = c.unknown("What became of the action could not be found out.")
		refusal.NextAction = "stop, and have a person look what became of it" // another repeat would find no more
		return false, refusal
	}
	var found *receipt.Receipt
	if applied {
		c.outcome = tool.Applied
		r := c.receipt(receipt.Applied)
		// An answer that was found is held to the contract like any other.
		c.output = bytes.Clone(output)
		if output == nil {
			r.Error = tool.Refusal(tool.AnswerLost, c.keyed(), "The action was applied, and its answer was lost.")
		} else {
			r.Error = c.checkOutput()
		}
		if r.Error != nil {
			r.Error.Outcome = tool.Applied
		} else {
			r.Output = c.output
		}
		found = &r
	}
	if err := c.registry.backend.Receipts.Resolve(ctx, c.key(), seen, found); err != nil {
		return false, c.broken(err)
	}
	c.registry.grants.settled(c.key(), applied)
	c.outcome, c.output = tool.NotApplied, nil
	return true, nil
}

// receipt starts a receipt of this call.
func (c *Crossing) receipt(state receipt.State) receipt.Receipt {
	r := receipt.Receipt{State: state, Fingerprint: c.result.Trace.Fingerprint, SettledAt: c.now.Add(c.took)}
	if c.entry.ReceiptTTL > 0 {
		r.ExpiresAt = c.now.Add(c.entry.ReceiptTTL)
	}
	return r
}

// settle ends what the call holds by what is known of the backend: a key and a
// grant are free again only where nothing was applied.
func (c *Crossing) settle() {
	if c.outcome == tool.NotApplied {
		c.release()
	}
	if c.claim == nil {
		return
	}
	claim := c.claim
	c.claim = nil
	if c.outcome == tool.NotApplied {
		if err := claim.Free(); err != nil {
			c.fault(err)
		}
		return
	}
	r := c.receipt(receipt.Applied)
	if c.outcome == tool.Unknown {
		r.State = receipt.Unknown
	}
	r.Output, r.Error = bytes.Clone(c.result.Output), copyOf(c.result.Error)
	if c.outcome == tool.Unknown && c.reserved != "" {
		c.registry.grants.doubt(c.key(), c.reserved)
	}
	if err := claim.Keep(r); err != nil {
		c.outcome = tool.Unknown
		if claim.RollsBack() {
			c.outcome = tool.NotApplied
			c.release()
		}
		c.fail(c.broken(err))
	}
}
