package mutation

import (
	"slices"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// limits are what a budget limits, by the names that its refusals have for them.
var limits = []struct {
	name string
	move func(b *tool.Budget, by int)
}{
	{"proposals", func(b *tool.Budget, by int) { b.Proposals = moved(b.Proposals, by) }},
	{"elapsed_ms", func(b *tool.Budget, by int) {
		b.Elapsed = time.Duration(moved(int(b.Elapsed/time.Millisecond), by)) * time.Millisecond
	}},
	{"concurrent", func(b *tool.Budget, by int) { b.Concurrent = moved(b.Concurrent, by) }},
	{"cost", func(b *tool.Budget, by int) { b.Cost = moved(b.Cost, by) }},
}

// moved moves a limit that there is, and leaves one: zero is none.
func moved(limit, by int) int {
	if limit == 0 || limit+by < 1 {
		return limit
	}
	return limit + by
}

func offBy(by int) func(v *view) []spot {
	return func(v *view) (all []spot) {
		if !v.budgeted {
			return nil
		}
		for _, l := range limits {
			all = append(all, spot{place: l.name, weaker: registry.Variant{Budget: func(b tool.Budget) tool.Budget {
				l.move(&b, by)
				return b
			}}})
		}
		return all
	}
}

func costing(by int) func(v *view) []spot {
	return func(v *view) []spot {
		if !v.budgeted {
			return nil
		}
		return ofTool(v.live(func(c *contract.Contract) bool { return c.Cost+by >= 0 }), func(c contract.Contract) registry.Variant {
			return inContract(c.Name, func(c *contract.Contract) { c.Cost += by })
		})
	}
}

// askedBefore has a control asked just before another, which comes later.
func askedBefore(control, later string) registry.Variant {
	return behind(func(b *registry.Backend) {
		from := slices.IndexFunc(b.Controls, func(c registry.Control) bool { return c.Name == control })
		moving := b.Controls[from]
		b.Controls = slices.Delete(slices.Clone(b.Controls), from, from+1)
		to := slices.IndexFunc(b.Controls, func(c registry.Control) bool { return c.Name == later })
		b.Controls = slices.Insert(b.Controls, to, moving)
	})
}

const needsBudget = "sessions that can be told a budget"

// ofBudget are the operators that weaken what a session may use up.
var ofBudget = []Operator{
	{
		Name:      "budget-one-more",
		Control:   "budget",
		Does:      "The session may use up one more of PLACE than its budget says.",
		Unchecked: "Nobody checks what is just over the budget of PLACE.",
		Needs:     needsBudget,
		spots:     offBy(1),
	},
	{
		Name:      "budget-one-less",
		Control:   "budget",
		Does:      "The session may use up one less of PLACE than its budget says.",
		Unchecked: "Nobody checks that the budget of PLACE can be used up to its end.",
		Needs:     needsBudget,
		spots:     offBy(-1),
	},
	{
		Name:      "budget-refused-calls-free",
		Control:   "budget",
		Does:      "The budget is asked last before the handler: a call that another control refuses costs nothing.",
		Unchecked: "Nobody checks that a session of refused calls comes to an end.",
		Needs:     needsBudget,
		spots: func(v *view) []spot {
			if !v.budgeted {
				return nil
			}
			return []spot{{weaker: askedBefore("budget", "handler")}}
		},
	},
	{
		Name:      "cost-one-more",
		Control:   "budget",
		Does:      "A call of TOOL costs one unit more than its contract says.",
		Unchecked: "Nobody checks that a session can pay for TOOL with the last of its budget.",
		Needs:     needsBudget,
		spots:     costing(1),
	},
	{
		Name:      "cost-one-less",
		Control:   "budget",
		Does:      "A call of TOOL costs one unit less than its contract says.",
		Unchecked: "Nobody checks that a session cannot pay for TOOL with a unit too few.",
		Needs:     needsBudget + ", and a contract that names a cost",
		spots:     costing(-1),
	},
}
