package mutation

import (
	"context"
	"encoding/json"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// timing gives the tools whose calls can take time another timeout.
func timing(other func(was time.Duration) time.Duration) func(v *view) []spot {
	return func(v *view) []spot {
		slow := v.live(func(c *contract.Contract) bool {
			return v.slow[c.Name] && other(c.Timeout) >= time.Millisecond
		})
		return ofTool(slow, func(of contract.Contract) registry.Variant {
			return inContract(of.Name, func(c *contract.Contract) { c.Timeout = other(of.Timeout) })
		})
	}
}

// taking changes how many calls of a tool may be under way at once. Tools that share
// their turns are left alone: they have to agree.
func taking(other func(was int) int) func(v *view) []spot {
	return func(v *view) []spot {
		bounded := v.live(func(c *contract.Contract) bool { return !v.simulated && c.Concurrency > 0 && c.Turn == "" })
		return ofTool(bounded, func(of contract.Contract) registry.Variant {
			return inContract(of.Name, func(c *contract.Contract) { c.Concurrency = other(of.Concurrency) })
		})
	}
}

// toldAsNotApplied has a control say of its refusal with a code that nothing was
// applied.
func toldAsNotApplied(control string, code tool.Code, asked ...func(*contract.Contract) bool) func(v *view) []spot {
	return func(v *view) []spot {
		return ofTool(v.live(asked...), func(of contract.Contract) registry.Variant {
			return refused(control, of.Name, code, told(func(c *registry.Crossing, _ *tool.Error) { c.SetOutcome(tool.NotApplied) }))
		})
	}
}

const (
	needsTime  = "a tool whose calls can take time"
	needsTurns = "a contract that bounds how many calls are under way at once, on the wall clock"
)

// ofDeadline are the operators that weaken how long a call may take.
var ofDeadline = []Operator{
	{
		Name:      "never-times-out",
		Control:   "deadline",
		Does:      "A call of TOOL may take as long as it likes.",
		Unchecked: "Nobody checks that TOOL is not waited for longer than it may take.",
		Needs:     needsTime,
		spots:     timing(func(time.Duration) time.Duration { return 24 * time.Hour }),
	},
	{
		Name:      "timeout-late",
		Control:   "deadline",
		Does:      "A call of TOOL may take a millisecond longer than its contract says.",
		Unchecked: "Nobody checks a call of TOOL that takes a millisecond too long.",
		Needs:     needsTime,
		spots:     timing(func(was time.Duration) time.Duration { return was + time.Millisecond }),
	},
	{
		Name:      "timeout-early",
		Control:   "deadline",
		Does:      "A call of TOOL may take a millisecond less than its contract says.",
		Unchecked: "Nobody checks a call of TOOL that takes as long as it may.",
		Needs:     needsTime,
		spots:     timing(func(was time.Duration) time.Duration { return was - time.Millisecond }),
	},
	{
		Name:      "timeout-told-as-not-applied",
		Control:   "deadline",
		Does:      "Of a call of TOOL that took too long, or whose answer was lost, it is said that nothing was applied.",
		Unchecked: "Nobody checks that a write of TOOL of unknown outcome is not told as not applied.",
		Needs:     "a tool that changes something, whose calls can take time",
		spots: func(v *view) []spot {
			return toldAsNotApplied("handler", tool.OutcomeUnknown, changes, func(c *contract.Contract) bool { return v.slow[c.Name] })(v)
		},
	},
	{
		Name:      "handler-not-cancelled",
		Control:   "deadline",
		Does:      "The handler of TOOL is not told when nobody waits for it any more.",
		Unchecked: "Nobody checks that the work of TOOL is given up when its time is over.",
		Needs:     needsTime + ", on the wall clock: a simulated one cancels nothing",
		spots: func(v *view) []spot {
			if v.simulated {
				return nil
			}
			return ofTool(v.live(), func(of contract.Contract) registry.Variant {
				return working(of.Name, func(own registry.Handler) registry.Handler {
					return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
						return own(context.WithoutCancel(ctx), arguments)
					}
				})
			})
		},
	},
	{
		Name:      "retry-flipped",
		Control:   "deadline",
		Does:      "The contract of TOOL says the opposite of whether a retry could help after a timeout.",
		Unchecked: "Nobody checks what is said of a retry of TOOL after a timeout.",
		Needs:     needsTime,
		spots: func(v *view) []spot {
			slow := v.live(func(c *contract.Contract) bool { return v.slow[c.Name] })
			return ofTool(slow, func(of contract.Contract) registry.Variant {
				return inContract(of.Name, func(c *contract.Contract) {
					c.Retry = contract.RetryTransient
					if of.Retry == contract.RetryTransient {
						c.Retry = contract.RetryNever
					}
				})
			})
		},
	},
	{
		Name:      "concurrency-ignored",
		Control:   "deadline",
		Does:      "Any number of calls of TOOL may be under way at once.",
		Unchecked: "Nobody checks that a call of TOOL waits for its turn.",
		Needs:     needsTurns,
		spots:     taking(func(int) int { return 0 }),
	},
	{
		Name:      "concurrency-one-more",
		Control:   "deadline",
		Does:      "One more call of TOOL may be under way at once than its contract says.",
		Unchecked: "Nobody checks the first call of TOOL that has to wait for its turn.",
		Needs:     needsTurns,
		spots:     taking(func(was int) int { return was + 1 }),
	},
}
