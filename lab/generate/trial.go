package generate

import (
	"context"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// trial asks a surface whose backend is made up what a contract does not say.
type trial struct {
	surface tool.Surface
	// whole is the same surface without a limit of its outputs and with nothing
	// redacted; nil where it cannot be had.
	whole tool.Surface
}

func newTrial(surface tool.Surface) *trial {
	if surface == nil {
		return nil
	}
	t := &trial{surface: surface}
	if varied, ok := surface.(interface {
		Vary(registry.Variant) (tool.Surface, error)
	}); ok {
		t.whole, _ = varied.Vary(registry.Variant{Contracts: func(own []contract.Contract) []contract.Contract {
			for i := range own {
				own[i].Output = nil
			}
			return own
		}})
	}
	return t
}

// outcome is what became of some calls of one session.
type outcome struct {
	results []tool.Result
	effects int
}

func (o outcome) last() tool.Result { return o.results[len(o.results)-1] }

// apart is how far apart the calls of a trial are, so that no rate holds one back.
const apart = time.Minute

// play makes calls in one session, one after the other and each confirmed.
func (t *trial) play(ctx context.Context, surface tool.Surface, c *contract.Contract, caller tool.Caller, all ...tool.Proposal) (outcome, error) {
	session, err := surface.Open(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer session.Close()
	o := outcome{results: make([]tool.Result, len(all))}
	for i, p := range all {
		call := tool.Call{Proposal: p, Caller: caller, Approved: true}
		if staged, ok := session.(tool.Staged); ok {
			staged.SetTime(time.Duration(i) * apart)
		}
		if supervised, ok := session.(tool.Supervised); ok && c.Approval == contract.ApprovalBound {
			call.Grants = granted(ctx, supervised, c, call, p.Name)
		}
		o.results[i] = session.Call(ctx, call)
	}
	o.effects = session.Effects()
	return o, ctx.Err()
}

// granted is a grant of a call; none where it cannot be shown.
func granted(ctx context.Context, session tool.Supervised, c *contract.Contract, call tool.Call, id string) []tool.Grant {
	shown, refusal := session.Pending(ctx, call)
	if refusal != nil {
		return nil
	}
	now := session.Now()
	return []tool.Grant{{
		ID:              id + now.String(),
		Digest:          shown.Digest,
		Approver:        approver(c),
		IssuedAt:        now,
		ExpiresAt:       now.Add(time.Hour),
		ResourceVersion: shown.ResourceVersion,
	}}
}

// approver is somebody whose grant counts.
func approver(c *contract.Contract) tool.Caller {
	lead := tool.Caller{ID: "lead", Permissions: []string{}}
	if c.Approver != nil {
		lead.Permissions = append(lead.Permissions, c.Approver.Permission)
	}
	return lead
}
