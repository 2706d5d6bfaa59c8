package registry

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/receipt"
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
	{"lookup", "Is there a tool of exactly this name?", "", lookup},
	{"input", "Do the arguments have one reading, and does it satisfy the input schema?", "", input},
	{"permission", "May this caller do this kind of thing?", "", permission},
	{"approval", "Was this very call confirmed?", "the contract needs no approval", approval},
	{"deadline", "Can the call be done in the time that the contract allows?", "", deadline},
	{"idempotency", "Was this action done before, with these arguments?", "the contract names no idempotency key", idempotency},
	{"handler", "Does the work succeed?", "", handler},
	{"output", "Does the output satisfy the output schema?", "", output},
}

// Controls returns the controls in the order in which a call meets them.
func Controls() []Control { return slices.Clone(controls) }

// lookup is exact: no trimming, no case folding, no nearest name.
func lookup(_ context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	c.entry = c.registry.catalog.entries[c.call.Proposal.Name]
	if c.entry == nil {
		return tool.Refuse, tool.Refusal(tool.ToolNotFound, struct {
			Available []string `json:"available_tools"`
		}{c.registry.catalog.visibleTo(c.call.Caller)}, "There is no tool of this name.")
	}
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

func permission(_ context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	if !slices.Contains(c.call.Caller.Permissions, c.entry.Permission) {
		return tool.Refuse, tool.Refusal(tool.PermissionDenied, struct {
			Required string `json:"required_permission"`
		}{c.entry.Permission}, "The caller lacks %s.", c.entry.Permission)
	}
	return tool.Pass, nil
}

func approval(_ context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	if c.entry.Approval != contract.ApprovalRequired {
		return tool.Skip, nil
	}
	if !c.call.Approved {
		return tool.Refuse, tool.Refusal(tool.ApprovalRequired, struct {
			Tool        string `json:"tool"`
			Fingerprint string `json:"fingerprint"`
		}{c.entry.Name, c.result.Trace.Fingerprint}, "This call of %s was not approved.", c.entry.Name)
	}
	return tool.Pass, nil
}

// deadline refuses what cannot be done in time. On the wall clock nothing is
// known before the handler has run, which is then held to the timeout.
func deadline(_ context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	if latency := c.registry.backend.Simulated[c.entry.Name]; latency != nil {
		if observed := latency(c.canonical); observed > c.entry.Timeout {
			return tool.Refuse, c.timeout(observed)
		}
	}
	return tool.Pass, nil
}

func idempotency(ctx context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	if c.entry.IdempotencyKey == "" {
		return tool.Skip, nil
	}
	started, waiting := time.Now(), ctx
	if c.registry.backend.Simulated == nil {
		bounded, cancel := context.WithTimeout(ctx, c.entry.Timeout)
		defer cancel()
		waiting = bounded
	}
	claim, known, err := c.registry.backend.Receipts.Claim(waiting, receipt.Key{
		Tool:   c.entry.Name,
		Caller: c.call.Caller.ID,
		Value:  c.argument(c.entry.IdempotencyKey),
	})
	switch {
	case err != nil:
		// The same action is still in progress, and its outcome is open.
		c.outcome = tool.Unknown
		return tool.Refuse, c.late(ctx, started)
	case known == nil:
		c.claim = claim
		return tool.Pass, nil
	case known.Fingerprint != c.result.Trace.Fingerprint:
		return tool.Refuse, tool.Refusal(tool.IdempotencyConflict, struct {
			Key string `json:"idempotency_key"`
		}{c.entry.IdempotencyKey}, "The %s was used before with other arguments.", c.entry.IdempotencyKey)
	}
	c.result.Replayed = true
	c.result.Output = bytes.Clone(known.Output)
	if known.Error != nil {
		told := *known.Error
		c.result.Error = &told
	}
	return tool.Replay, nil
}

func handler(ctx context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	started := time.Now()
	answered, inTime := c.run(ctx)
	if !inTime {
		if c.entry.Effect.Changes() {
			c.outcome = tool.Unknown
		}
		return tool.Refuse, c.late(ctx, started)
	}
	if refusal := c.accept(answered); refusal != nil {
		return tool.Refuse, refusal
	}
	return tool.Pass, nil
}

func output(_ context.Context, c *Crossing) (tool.Verdict, *tool.Error) {
	if refusal := c.checkOutput(); refusal != nil {
		return tool.Refuse, refusal
	}
	return tool.Pass, nil
}
