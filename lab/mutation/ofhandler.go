package mutation

import (
	"slices"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// ofHandler are the operators that weaken what is told of the work.
var ofHandler = []Operator{
	{
		Name:      "error-rule-dropped",
		Control:   "handler",
		Does:      "The contract of TOOL has no code for the backend's error PLACE.",
		Unchecked: "Nobody checks which code TOOL has for the backend's error PLACE.",
		Needs:     "a contract that gives errors of its backend a code",
		spots: func(v *view) (all []spot) {
			for _, c := range v.live() {
				for i, rule := range c.Errors {
					all = append(all, spot{tool: c.Name, place: rule.Backend, weaker: inContract(c.Name, func(c *contract.Contract) {
						c.Errors = slices.Delete(slices.Clone(c.Errors), i, i+1)
					})})
				}
			}
			return all
		},
	},
	{
		Name:      "failure-told-as-not-applied",
		Control:   "handler",
		Does:      "Of a call of TOOL whose handler broke it is said that nothing was applied.",
		Unchecked: "Nobody checks what is said of a write of TOOL whose handler broke.",
		Needs:     "a tool that changes something",
		spots: func(v *view) []spot {
			return toldAsNotApplied("handler", tool.HandlerFailed, changes)(v)
		},
	},
	{
		Name:      "failure-told-as-applied",
		Control:   "handler",
		Does:      "Of a call of TOOL that failed it is said that it was applied.",
		Unchecked: "Nobody checks that a write of TOOL which failed is not told as applied.",
		Needs:     "a tool that changes something",
		spots: func(v *view) []spot {
			return ofTool(v.live(changes), func(of contract.Contract) registry.Variant {
				return refused("handler", of.Name, "", told(func(c *registry.Crossing, _ *tool.Error) { c.SetOutcome(tool.Applied) }))
			})
		},
	},
}
