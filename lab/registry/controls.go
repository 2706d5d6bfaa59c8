package registry

import (
	"context"
	"errors"
	"slices"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Control is one check on the way of a call.
type Control struct {
	Name     string
	Question string // what it asks of a call
	Skips    string // when a contract does not ask for it; empty: it always does

	// Decide judges the call. The error is set exactly where the verdict is
	// Refuse.
	Decide func(ctx context.Context, c *Crossing) (tool.Verdict, *tool.Error)
}

// controls is the one list of controls, in the order in which a call meets
// them. Nothing else knows the order.
var controls = []Control{
	{"budget", "Is anything left of what the session may use up?", "the session has no budget", budget},
	{"lookup", "Is there a tool of exactly this name that this caller may know of, and is it not retired?", "", lookup},
	{"input", "Do the arguments have one reading, and does it satisfy the input schema?", "", input},
	{"permission", "May this caller do this kind of thing, to this resource?", "", permission},
	{"approval", "Was this very call confirmed, by somebody who may, and does that still hold?", "the contract needs no approval", approval},
	{"rate", "Does the caller make no more calls of the tool than it may?", "the contract names no rate", rate},
	{"deadline", "Can the call be done in the time that the contract allows, also where it waits for its turn?", "", deadline},
	{"idempotency", "Was this action done before, with these arguments?", "the contract names no idempotency key", idempotency},
	{"handler", "Does the work succeed?", "", handler},
	{"output", "Does the output satisfy the output schema, and is it small enough?", "", output},
}

// Without returns the controls but for those of these names, in their order.
func Without(names ...string) []Control {
	return slices.DeleteFunc(Controls(), func(c Control) bool { return slices.Contains(names, c.Name) })
}

// Controls returns the controls in the order in which a call meets them.
func Controls() []Control { return slices.Clone(controls) }

// lookup is exact: no trimming, no case folding, no nearest name. A tool that
// the caller may not know of is not there.
func lookup(_ context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	e := c.registry.catalog.entries[c.call.Proposal.Name]
	if e == nil || !e.Visibility.Admits(c.call.Caller) {
		return tool.Refuse, tool.Refusal(tool.ToolNotFound, struct {
			Available []string `json:"available_tools"`
		}{c.registry.catalog.available(c.call.Caller)}, "There is no tool of this name.")
	}
	if e.Lifecycle != nil {
		if e.Lifecycle.Retired {
			return tool.Refuse, tool.Refusal(tool.ToolRetired, struct {
				ReplacedBy string `json:"replaced_by"`
			}{e.Lifecycle.ReplacedBy}, "The tool is retired.")
		}
		if next := c.registry.catalog.entries[e.Lifecycle.ReplacedBy]; next == nil || next.Visibility.Admits(c.call.Caller) {
			c.result.ReplacedBy = e.Lifecycle.ReplacedBy
		}
	}
	c.entry = e
	return tool.Pass, nil
}

func input(_ context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	var violations []tool.Violation
	var unread *jsonvalue.SyntaxError
	if errors.As(c.unread, &unread) {
		violations = []tool.Violation{{Pointer: unread.Pointer, Keyword: "json", Message: unread.Reason}}
	} else {
		violations = c.entry.input.Validate(c.arguments)
	}
	if len(violations) > 0 {
		return tool.Refuse, tool.Refusal(tool.InvalidArguments, violationDetails{violations},
			"The arguments of %s break its input schema.", c.entry.Name)
	}
	return tool.Pass, nil
}

func permission(ctx context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	if !slices.Contains(c.call.Caller.Permissions, c.entry.Permission) {
		return tool.Refuse, tool.Refusal(tool.PermissionDenied, struct {
			Required string `json:"required_permission"`
		}{c.entry.Permission}, "The caller lacks %s.", c.entry.Permission)
	}
	for i := range c.entry.Resources {
		if refusal := c.access(ctx, &c.entry.Resources[i]); refusal != nil {
			return tool.Refuse, refusal
		}
	}
	return tool.Pass, nil
}

// access asks whether the caller may touch each of the resources that an argument
// names. Where nobody can say, it may not.
func (c *Crossing) access(ctx context.Context, by *contract.Resource) *tool.Error {
	object, _ := c.arguments.(map[string]any)
	resources, named := named(object[by.Argument])
	if !named {
		return tool.Refusal(tool.ResourceForbidden, struct {
			Argument string `json:"argument"`
		}{by.Argument}, "The call names no resource, and a tool may take that for all of them.")
	}
	decide := c.registry.backend.Access[c.entry.Name]
	for _, resource := range resources {
		access := Forbidden
		if decide != nil {
			access = decide(ctx, c.call.Caller, by.Argument, resource)
		}
		switch {
		case access == Allowed:
		case access == Hidden && by.HiddenAs != "":
			// Word for word what a resource that does not exist is answered with.
			return tool.Refusal(by.HiddenAs, map[string]string{by.Argument: resource}, "%s", by.HiddenMessage)
		default:
			return tool.Refusal(tool.ResourceForbidden, map[string]string{by.Argument: resource},
				"The caller may not do this to the resource.")
		}
	}
	return nil
}

// deadline waits until it is the call's turn, where only so many of the tool may
// be under way, and refuses a read that cannot be done in time. A write that takes
// too long is begun all the same, and nobody knows then what became of it. On the
// wall clock nothing is known before the handler has run, which is then held to
// the timeout; on a simulated one nothing waits.
func deadline(ctx context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	if prepare := c.registry.backend.Prepare; prepare != nil {
		// Before a turn is waited for, which is a part of the time of the call.
		if err := prepare(ctx, c.entry.Name); err != nil {
			if ctx.Err() != nil {
				return tool.Refuse, c.cancelled()
			}
			return tool.Refuse, c.broken(err)
		}
	}
	if !c.registry.simulated() {
		if refusal := c.takeTurn(ctx); refusal != nil {
			return tool.Refuse, refusal
		}
		return tool.Pass, nil
	}
	if latency := c.registry.backend.Latencies[c.entry.Name]; latency != nil {
		c.took = latency(ctx, c.canonical)
		if c.took > c.entry.Timeout && !c.entry.Effect.Changes() {
			return tool.Refuse, c.timeout(c.took)
		}
	}
	return tool.Pass, nil
}

func handler(ctx context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	answered, inTime := c.run(ctx)
	if inTime {
		if refusal := c.accept(answered); refusal != nil {
			return tool.Refuse, refusal
		}
		return tool.Pass, nil
	}
	changes := c.entry.Effect.Changes()
	if changes {
		c.outcome = tool.Unknown
	}
	switch {
	case ctx.Err() != nil:
		return tool.Refuse, c.cancelled()
	case changes:
		return tool.Refuse, c.unknown("The write took longer than it may; it may still be applied.")
	}
	return tool.Refuse, c.timeout(c.registry.backend.Clock.Now().Sub(c.now))
}
