package mutation

import (
	"sync/atomic"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// counter counts from 1.
type counter struct{ made atomic.Int64 }

func (c *counter) next() int { return int(c.made.Add(1)) }

// rating changes the rate of each contract that has one and satisfies what is asked.
func rating(change func(r *contract.Rate), asked ...func(*contract.Contract) bool) func(v *view) []spot {
	return approving(append(predicates{rated}, asked...), func(c *contract.Contract) {
		other := *c.Rate
		change(&other)
		c.Rate = &other
	})
}

const needsRate = "a contract that names a rate"

// ofRate are the operators that weaken how often a tool may be called.
var ofRate = []Operator{
	{
		Name:      "rate-unlimited",
		Control:   "rate",
		Does:      "TOOL may be called as often as anybody likes.",
		Unchecked: "Nobody checks that TOOL cannot be called too often.",
		Needs:     needsRate,
		spots:     approving(predicates{rated}, func(c *contract.Contract) { c.Rate = nil }),
	},
	{
		Name:      "rate-one-more",
		Control:   "rate",
		Does:      "TOOL may be called once more at once than its contract says.",
		Unchecked: "Nobody checks the first call of TOOL that is one too many.",
		Needs:     needsRate,
		spots:     rating(func(r *contract.Rate) { r.Burst++ }),
	},
	{
		Name:      "rate-one-less",
		Control:   "rate",
		Does:      "TOOL may be called once less at once than its contract says.",
		Unchecked: "Nobody checks the last call of TOOL that is not too many.",
		Needs:     needsRate + ", and more than one call at once",
		spots:     rating(func(r *contract.Rate) { r.Burst-- }, func(c *contract.Contract) bool { return c.Rate.Burst > 1 }),
	},
	{
		Name:      "rate-late",
		Control:   "rate",
		Does:      "Another call of TOOL may be made a millisecond later than its contract says.",
		Unchecked: "Nobody checks the first millisecond in which TOOL may be called again.",
		Needs:     needsRate,
		spots:     rating(func(r *contract.Rate) { r.Every += time.Millisecond }),
	},
	{
		Name:      "rate-early",
		Control:   "rate",
		Does:      "Another call of TOOL may be made a millisecond sooner than its contract says.",
		Unchecked: "Nobody checks the last millisecond in which TOOL may not be called again.",
		Needs:     needsRate,
		spots: rating(func(r *contract.Rate) { r.Every -= time.Millisecond },
			func(c *contract.Contract) bool { return c.Rate.Every > time.Millisecond }),
	},
	{
		Name:      "rate-of-all-callers",
		Control:   "rate",
		Does:      "What one caller has called of TOOL counts against every other.",
		Unchecked: "Nobody checks that each caller has its own rate of TOOL.",
		Needs:     needsRate,
		spots: func(v *view) []spot {
			return ofTool(v.live(rated), func(of contract.Contract) registry.Variant {
				return asIf("rate", of.Name, func(_ *registry.Crossing, call *tool.Call) { call.Caller.ID = "" })
			})
		},
	},
	{
		Name:      "rate-refused-calls-free",
		Control:   "rate",
		Does:      "The rate is asked last before the handler: a call that another control refuses or answers does not count.",
		Unchecked: "Nobody checks that calls count that are refused or answered after the rate was asked.",
		Needs:     needsRate,
		spots: func(v *view) []spot {
			if !v.some(rated) {
				return nil
			}
			return []spot{{weaker: askedBefore("rate", "handler")}}
		},
	},
}
