package mutation

import (
	"slices"
	"strconv"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// farAway is later than every time of a case.
const farAway = 50 * 365 * 24 * time.Hour

// granted has approval see other grants than the call brings.
func granted(other func(c contract.Contract, call *tool.Call, g *tool.Grant)) func(v *view) []spot {
	return func(v *view) []spot {
		return ofTool(v.live(bound), func(of contract.Contract) registry.Variant {
			return before("approval", of.Name, func(c *registry.Crossing) {
				call := c.Call()
				call.Grants = slices.Clone(call.Grants)
				for i := range call.Grants {
					other(of, call, &call.Grants[i])
				}
			})
		})
	}
}

func approving(asked []func(*contract.Contract) bool, change func(c *contract.Contract)) func(v *view) []spot {
	return func(v *view) []spot {
		return ofTool(v.live(asked...), func(of contract.Contract) registry.Variant { return inContract(of.Name, change) })
	}
}

type predicates = []func(*contract.Contract) bool

const (
	needsGrant    = "a contract that asks for a grant of the very call"
	needsApprover = needsGrant + ", and says whose counts"
)

// ofApproval are the operators that weaken what has to be confirmed.
var ofApproval = []Operator{
	{
		Name:      "approval-never",
		Control:   "approval",
		Does:      "TOOL needs no approval.",
		Unchecked: "Nobody checks that TOOL needs approval.",
		Needs:     "a contract that asks for approval",
		spots: approving(predicates{asksApproval}, func(c *contract.Contract) {
			c.Approval, c.Approver, c.Precondition = contract.ApprovalNever, nil, false
		}),
	},
	{
		Name:      "approval-in-general",
		Control:   "approval",
		Does:      "That the calls of a task were confirmed in general is enough for TOOL.",
		Unchecked: "Nobody checks that TOOL needs a grant of the very call.",
		Needs:     needsGrant,
		spots: approving(predicates{bound}, func(c *contract.Contract) {
			c.Approval, c.Approver = contract.ApprovalRequired, nil
		}),
	},
	{
		Name:      "digest-unchecked",
		Control:   "approval",
		Does:      "A grant of any call counts for a call of TOOL.",
		Unchecked: "Nobody checks that a grant counts for no other call of TOOL.",
		Needs:     needsGrant,
		spots: granted(func(c contract.Contract, call *tool.Call, g *tool.Grant) {
			g.Digest = contract.CallDigest(c.Name, c.Version, canonical(call.Proposal.Arguments))
		}),
	},
	{
		Name:      "expiry-unchecked",
		Control:   "approval",
		Does:      "A grant of a call of TOOL never expires.",
		Unchecked: "Nobody checks that a grant of a call of TOOL expires.",
		Needs:     needsGrant,
		spots:     granted(func(_ contract.Contract, _ *tool.Call, g *tool.Grant) { g.ExpiresAt = g.ExpiresAt.Add(farAway) }),
	},
	{
		Name:      "expiry-late",
		Control:   "approval",
		Does:      "A grant of a call of TOOL holds a millisecond longer than it says.",
		Unchecked: "Nobody checks the first millisecond in which a grant of a call of TOOL no longer holds.",
		Needs:     needsGrant,
		spots: granted(func(_ contract.Contract, _ *tool.Call, g *tool.Grant) {
			g.ExpiresAt = g.ExpiresAt.Add(time.Millisecond)
		}),
	},
	{
		Name:      "expiry-early",
		Control:   "approval",
		Does:      "A grant of a call of TOOL expires a millisecond before it says.",
		Unchecked: "Nobody checks the last millisecond in which a grant of a call of TOOL still holds.",
		Needs:     needsGrant,
		spots: granted(func(_ contract.Contract, _ *tool.Call, g *tool.Grant) {
			g.ExpiresAt = g.ExpiresAt.Add(-time.Millisecond)
		}),
	},
	{
		Name:      "beginning-unchecked",
		Control:   "approval",
		Does:      "A grant of a call of TOOL holds before it is to hold.",
		Unchecked: "Nobody checks a call of TOOL before its grant holds.",
		Needs:     needsGrant,
		spots:     granted(func(_ contract.Contract, _ *tool.Call, g *tool.Grant) { g.IssuedAt = g.IssuedAt.Add(-farAway) }),
	},
	{
		Name:      "beginning-early",
		Control:   "approval",
		Does:      "A grant of a call of TOOL holds a millisecond before it says.",
		Unchecked: "Nobody checks the last millisecond in which a grant of a call of TOOL does not hold yet.",
		Needs:     needsGrant,
		spots:     granted(func(_ contract.Contract, _ *tool.Call, g *tool.Grant) { g.IssuedAt = g.IssuedAt.Add(-time.Millisecond) }),
	},
	{
		Name:      "beginning-late",
		Control:   "approval",
		Does:      "A grant of a call of TOOL holds from a millisecond later than it says.",
		Unchecked: "Nobody checks the first millisecond in which a grant of a call of TOOL holds.",
		Needs:     needsGrant,
		spots:     granted(func(_ contract.Contract, _ *tool.Call, g *tool.Grant) { g.IssuedAt = g.IssuedAt.Add(time.Millisecond) }),
	},
	{
		Name:      "grant-reused",
		Control:   "approval",
		Does:      "A grant of a call of TOOL is never used up.",
		Unchecked: "Nobody checks that a grant of a call of TOOL counts once.",
		Needs:     needsGrant,
		spots: func(v *view) []spot {
			return ofTool(v.live(bound), func(of contract.Contract) registry.Variant {
				return behind(func(b *registry.Backend) {
					var fresh counter
					again := before("approval", of.Name, func(c *registry.Crossing) {
						call := c.Call()
						call.Grants = slices.Clone(call.Grants)
						for i := range call.Grants {
							if g := &call.Grants[i]; g.ID != "" {
								g.ID += "#" + strconv.Itoa(fresh.next())
							}
						}
					})
					again.Backend(b)
				})
			})
		},
	},
	{
		Name:      "approver-unchecked",
		Control:   "approval",
		Does:      "Anybody's grant of a call of TOOL counts.",
		Unchecked: "Nobody checks whose grant of a call of TOOL counts.",
		Needs:     needsApprover,
		spots: approving(predicates{bound, func(c *contract.Contract) bool { return c.Approver != nil }},
			func(c *contract.Contract) { c.Approver = nil }),
	},
	{
		Name:      "approver-by-any-permission",
		Control:   "approval",
		Does:      "Who holds any permission may grant a call of TOOL.",
		Unchecked: "Nobody checks that who lacks the right permission cannot grant a call of TOOL.",
		Needs:     needsApprover,
		spots: func(v *view) []spot {
			some := granted(func(c contract.Contract, _ *tool.Call, g *tool.Grant) {
				if held := g.Approver.Permissions; c.Approver != nil && len(held) > 0 {
					g.Approver.Permissions = append(slices.Clone(held), c.Approver.Permission)
				}
			})
			if !v.some(func(c *contract.Contract) bool { return c.Approver != nil }) {
				return nil
			}
			return some(v)
		},
	},
	{
		Name:      "own-approval-allowed",
		Control:   "approval",
		Does:      "A caller's own grant of a call of TOOL counts.",
		Unchecked: "Nobody checks that a caller cannot grant its own call of TOOL.",
		Needs:     needsApprover + ", and not the caller's own",
		spots: approving(predicates{func(c *contract.Contract) bool { return c.Approver != nil && c.Approver.NotCaller }},
			func(c *contract.Contract) {
				widened := *c.Approver
				widened.NotCaller = false
				c.Approver = &widened
			}),
	},
	{
		Name:      "staleness-unchecked",
		Control:   "approval",
		Does:      "That what TOOL works on has changed since it was confirmed makes no difference.",
		Unchecked: "Nobody checks that TOOL is kept from what has changed since the call was confirmed.",
		Needs:     "a contract with a precondition",
		spots:     approving(predicates{preconditioned}, func(c *contract.Contract) { c.Precondition = false }),
	},
}
