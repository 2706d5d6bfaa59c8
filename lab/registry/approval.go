package registry

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/tool"
)

// approval asks for the confirmation that the contract wants. A caller's word
// in the arguments counts for nothing.
func approval(ctx context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	switch c.entry.Approval {
	case contract.ApprovalRequired:
		if !c.call.Approved {
			message := fmt.Sprintf("This call of %s was not approved.", c.entry.Name)
			if len(c.call.Grants) > 0 {
				message += " Grants count only where the contract asks for approval: bound."
			}
			return tool.Refuse, tool.Refusal(tool.ApprovalRequired, struct {
				Tool        string `json:"tool"`
				Fingerprint string `json:"fingerprint"`
			}{c.entry.Name, c.result.Trace.Fingerprint}, "%s", message)
		}
		if c.entry.Precondition {
			if refusal := c.unchanged(ctx); refusal != nil {
				return tool.Refuse, refusal
			}
		}
		return tool.Pass, nil
	case contract.ApprovalBound:
		if refusal := c.granted(ctx); refusal != nil {
			return tool.Refuse, refusal
		}
		return tool.Pass, nil
	}
	return tool.Skip, nil
}

// Pending shows a call as its approver is to see it. It checks nothing; a call
// that another control would refuse can be shown too.
func (r *Registry) Pending(ctx context.Context, call tool.Call) (tool.Pending, *tool.Error) {
	c := newCrossing(r, call)
	for _, decide := range []func(context.Context, *Crossing) (tool.Verdict, *tool.Error){lookup, input} {
		if verdict, refusal := decide(ctx, c); verdict == tool.Refuse {
			return tool.Pending{}, refusal
		}
	}
	return c.pending(ctx), nil
}

func (c *Crossing) pending(ctx context.Context) tool.Pending {
	p := tool.Pending{Digest: contract.CallDigest(c.entry.Name, c.entry.Version, c.canonical)}
	if preview := c.registry.backend.Previews[c.entry.Name]; preview != nil {
		p.Preview = preview(ctx, c.canonical)
	} else {
		p.Preview = c.entry.Name + " " + string(c.redacted(c.canonical))
	}
	if c.entry.Precondition {
		version, _ := c.version(ctx)
		p.ResourceVersion = version.Is
	}
	return p
}

// granted looks among the grants that the call brings for one of this very
// call that still holds. The refusal names the nearest reason.
func (c *Crossing) granted(ctx context.Context) *tool.Error {
	digest := contract.CallDigest(c.entry.Name, c.entry.Version, c.canonical)
	c.excused = false
	var refusal *tool.Error
	refuse := func(code tool.Code, message string) {
		if refusal == nil {
			refusal = tool.Refusal(code, c.pending(ctx), "%s", message)
		}
	}
	for i := range c.call.Grants {
		g := &c.call.Grants[i]
		if g.Digest != digest {
			continue
		}
		switch {
		case g.ID == "":
			refuse(tool.ApprovalRequired, "The grant has no id, by which it could be used up.")
		case !c.mayApprove(g.Approver):
			refuse(tool.ApprovalRequired, "The grant is not by somebody who may approve this call.")
		case c.now.Before(g.IssuedAt):
			refuse(tool.ApprovalRequired, "The grant does not hold yet.")
		case !c.now.Before(g.ExpiresAt):
			refuse(tool.ApprovalExpired, "The grant has expired.")
		case !c.reserve(g.ID) && !c.excuse(ctx):
			refuse(tool.ApprovalUsed, "The grant was used up by an earlier call.")
		case !c.current(ctx, g) && !c.excuse(ctx):
			c.release()
			refuse(tool.ApprovalStale, staleMessage)
		default:
			c.expectedVersion = g.ResourceVersion
			return nil
		}
	}
	switch {
	case refusal != nil:
		return refusal
	case len(c.call.Grants) > 0:
		refuse(tool.ApprovalMismatch, "What was granted is another call.")
	default:
		refuse(tool.ApprovalRequired, "This call was not granted.")
	}
	return refusal
}

const staleMessage = "The resource has changed since the call was confirmed."

func (c *Crossing) stale(ctx context.Context) *tool.Error {
	return tool.Refusal(tool.ApprovalStale, c.pending(ctx), staleMessage)
}

// current reports whether the resource is as it was when the call was shown.
func (c *Crossing) current(ctx context.Context, g *tool.Grant) bool {
	if !c.entry.Precondition {
		return true
	}
	version, err := c.version(ctx)
	return err == nil && version.Is == g.ResourceVersion
}

// reserve takes a grant for this call, which release gives back.
func (c *Crossing) reserve(id string) bool {
	if !c.registry.grants.reserve(id) {
		return false
	}
	c.reserved = id
	return true
}

func (c *Crossing) release() {
	if c.reserved != "" {
		c.registry.grants.release(c.reserved)
		c.reserved = ""
	}
}

func (c *Crossing) mayApprove(approver tool.Caller) bool {
	rule := c.entry.Approver
	return rule == nil ||
		slices.Contains(approver.Permissions, rule.Permission) && !(rule.NotCaller && approver.ID == c.call.Caller.ID)
}

// repeats reports whether this very action has a receipt: its repeat applies
// nothing, and needs no grant that is still unused.
func (c *Crossing) repeats(ctx context.Context) bool {
	known := c.peek(ctx)
	return known != nil && (known.State == receipt.InProgress || known.Fingerprint == c.result.Trace.Fingerprint)
}

// excuse lets a call pass as a repeat for which nothing else speaks. Where it
// turns out to be none, it is held to what it was excused from.
func (c *Crossing) excuse(ctx context.Context) bool {
	c.excused = c.excused || c.repeats(ctx)
	return c.excused
}

// peek returns what is known of the action of the call, or nil. Of one that the
// call itself has claimed there is nothing to know.
func (c *Crossing) peek(ctx context.Context) *receipt.Receipt {
	if c.entry.IdempotencyKey == "" || c.claim != nil {
		return nil
	}
	known, err := c.registry.backend.Receipts.Peek(ctx, c.key(), c.now)
	if err != nil {
		return nil
	}
	return known
}

// grantBook knows which grants are used up or spoken for.
type grantBook struct {
	mu   sync.Mutex
	used map[string]bool
	// doubtful are the grants of actions whose outcome is not known.
	doubtful map[receipt.Key]string
}

// doubt remembers which grant an action of unknown outcome was made with.
func (b *grantBook) doubt(key receipt.Key, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.doubtful == nil {
		b.doubtful = make(map[receipt.Key]string)
	}
	b.doubtful[key] = id
}

// settled ends the doubt: the grant is used up where the action was applied.
func (b *grantBook) settled(key receipt.Key, applied bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id, known := b.doubtful[key]; known && !applied {
		delete(b.used, id)
	}
	delete(b.doubtful, key)
}

func (b *grantBook) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.used)
	clear(b.doubtful)
}

// reserve takes a grant for one call. It reports false where another has it.
func (b *grantBook) reserve(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used[id] {
		return false
	}
	if b.used == nil {
		b.used = make(map[string]bool)
	}
	b.used[id] = true
	return true
}

// release gives a grant back that no call was applied with.
func (b *grantBook) release(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.used, id)
}
