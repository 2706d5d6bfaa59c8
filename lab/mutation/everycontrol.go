package mutation

import (
	"encoding/json"
	"slices"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// everyControl are the operators that weaken any control.
var everyControl = []Operator{
	{
		Name:      "removed",
		Does:      "The control CONTROL is not asked.",
		Unchecked: "Nobody checks that CONTROL is asked at all.",
		Needs:     "a control that can refuse something on the surface",
		spots: func(v *view) (all []spot) {
			for _, name := range v.acting() {
				all = append(all, spot{control: name, weaker: behind(func(b *registry.Backend) {
					b.Controls = slices.DeleteFunc(slices.Clone(b.Controls), func(c registry.Control) bool { return c.Name == name })
				})})
			}
			return all
		},
	},
	{
		Name:      "swapped",
		Does:      "The control CONTROL is asked after PLACE, and not before it.",
		Unchecked: "Nobody checks which of CONTROL and PLACE refuses a call that both would refuse.",
		Needs:     "two controls in a row that can refuse something on the surface",
		spots: func(v *view) (all []spot) {
			acting := v.acting()
			for i := range len(v.controls) - 1 {
				if !slices.Contains(acting, v.controls[i]) || !slices.Contains(acting, v.controls[i+1]) {
					continue
				}
				all = append(all, spot{control: v.controls[i], place: v.controls[i+1], weaker: behind(func(b *registry.Backend) {
					b.Controls = slices.Clone(b.Controls)
					b.Controls[i], b.Controls[i+1] = b.Controls[i+1], b.Controls[i]
				})})
			}
			return all
		},
	},
	{
		Name:      "only-logged",
		Does:      "Where CONTROL would refuse with PLACE it lets the call pass.",
		Unchecked: "Nobody checks that CONTROL stops a call with PLACE.",
		Needs:     "a control that can refuse so on the surface",
		spots: func(v *view) []spot {
			return v.ofRefusals(func(refusal) bool { return true }, func(*registry.Crossing, *tool.Error) (tool.Verdict, *tool.Error) {
				return tool.Pass, nil
			})
		},
	},
	{
		Name:      "code-lost",
		Does:      "Where CONTROL refuses with PLACE it says tool_failed.",
		Unchecked: "Nobody checks that CONTROL says PLACE.",
		Needs:     "a control that can refuse so on the surface",
		spots: func(v *view) []spot {
			return v.ofRefusals(func(refusal) bool { return true }, told(func(_ *registry.Crossing, e *tool.Error) {
				e.Code, e.Category, e.NextAction = tool.ToolFailed, tool.Uncategorised, ""
			}))
		},
	},
	{
		Name:      "retryable-flipped",
		Does:      "Where CONTROL refuses with PLACE it says the opposite of whether a retry could help.",
		Unchecked: "Nobody checks what CONTROL says of a retry after PLACE.",
		Needs:     "a control that can refuse so on the surface",
		spots: func(v *view) []spot {
			return v.ofRefusals(func(refusal) bool { return true }, told(func(_ *registry.Crossing, e *tool.Error) { e.Retryable = !e.Retryable }))
		},
	},
	{
		Name:      "details-dropped",
		Does:      "Where CONTROL refuses with PLACE it gives no details.",
		Unchecked: "Nobody checks the details that CONTROL gives of PLACE.",
		Needs:     "a control that can refuse so on the surface, with details",
		spots: func(v *view) []spot {
			return v.ofRefusals(func(r refusal) bool { return r.detailed }, told(func(_ *registry.Crossing, e *tool.Error) { e.Details = json.RawMessage("{}") }))
		},
	},
}

// refusal is a code with which a control can refuse.
type refusal struct {
	control  string
	code     tool.Code
	detailed bool // the details say something
	arises   func(v *view) bool
}

func always(*view) bool { return true }

// arising is whether a tool that can be called has all of this.
func arising(asked ...func(*contract.Contract) bool) func(*view) bool {
	return func(v *view) bool { return v.some(asked...) }
}

// slowly is whether calls of such a tool can take time.
func slowly(asked ...func(*contract.Contract) bool) func(*view) bool {
	return func(v *view) bool {
		return v.some(append(asked, func(c *contract.Contract) bool { return v.slow[c.Name] })...)
	}
}

// refusals are those of the controls themselves. What the error rules of contracts
// and hidden resources add is in [view.refusals].
var refusals = []refusal{
	{"budget", tool.BudgetExhausted, true, func(v *view) bool { return v.budgeted }},
	{"lookup", tool.ToolNotFound, true, always},
	{"lookup", tool.ToolRetired, true, func(v *view) bool {
		return slices.ContainsFunc(v.contracts, func(c contract.Contract) bool { return retired(&c) })
	}},
	{"input", tool.InvalidArguments, true, always},
	{"permission", tool.PermissionDenied, true, always},
	{"permission", tool.ResourceForbidden, true, arising(func(c *contract.Contract) bool { return len(c.Resources) > 0 })},
	{"approval", tool.ApprovalRequired, true, arising(asksApproval)},
	{"approval", tool.ApprovalMismatch, true, arising(bound)},
	{"approval", tool.ApprovalExpired, true, arising(bound)},
	{"approval", tool.ApprovalUsed, true, arising(bound)},
	{"approval", tool.ApprovalStale, true, arising(preconditioned)},
	{"rate", tool.RateLimited, true, arising(rated)},
	{"deadline", tool.ToolTimeout, true, func(v *view) bool {
		if !v.simulated {
			return v.some(func(c *contract.Contract) bool { return c.Concurrency > 0 })
		}
		return slowly(func(c *contract.Contract) bool { return !changes(c) })(v)
	}},
	{"idempotency", tool.IdempotencyConflict, true, arising(keyed)},
	{"idempotency", tool.ActionInProgress, true, slowly(keyed)},
	{"handler", tool.InvalidCursor, true, arising(own, named("cursor"))},
	{"handler", tool.TicketNotFound, true, arising(own, named("ticket_id"))},
	{"handler", tool.OutcomeUnknown, true, slowly(changes, keyed)},
	{"handler", tool.OutcomeUnknown, false, func(v *view) bool {
		return slowly(changes)(v) && !slowly(changes, keyed)(v)
	}},
	{"handler", tool.HandlerFailed, false, always},
	{"handler", tool.ToolTimeout, true, func(v *view) bool { return !v.simulated }},
	{"output", tool.InvalidToolOutput, true, arising(func(c *contract.Contract) bool { return c.OutputSchema != nil })},
	{"output", tool.OutputTooLarge, true, arising(sized)},
}

// acting are the controls that can refuse something. One that no contract asks for
// lets every call of the surface pass, in any order.
func (v *view) acting() []string {
	refusals := v.refusals()
	return slices.DeleteFunc(slices.Clone(v.controls), func(name string) bool {
		return !slices.ContainsFunc(refusals, func(r refusal) bool { return r.control == name })
	})
}

// refusals are those that can arise on the surface.
func (v *view) refusals() (all []refusal) {
	add := func(r refusal) {
		if slices.Contains(v.controls, r.control) && !slices.ContainsFunc(all, func(o refusal) bool { return o.control == r.control && o.code == r.code }) {
			all = append(all, r)
		}
	}
	for _, r := range refusals {
		if r.arises(v) {
			add(r)
		}
	}
	for _, c := range v.live() {
		for _, r := range c.Resources {
			if r.HiddenAs != "" {
				add(refusal{control: "permission", code: r.HiddenAs, detailed: true})
			}
		}
		for _, rule := range c.Errors {
			add(refusal{control: "handler", code: rule.Code})
		}
	}
	return all
}

func (v *view) ofRefusals(which func(refusal) bool, otherwise func(*registry.Crossing, *tool.Error) (tool.Verdict, *tool.Error)) (all []spot) {
	for _, r := range v.refusals() {
		if which(r) {
			all = append(all, spot{control: r.control, place: string(r.code), weaker: refused(r.control, "", r.code, otherwise)})
		}
	}
	return all
}
