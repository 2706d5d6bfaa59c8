package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/receipt"
	"agentlab/lab/tool"
)

// Crossing is one call on its way through the controls, and what they have
// learnt of it so far. It belongs to the goroutine of the call.
type Crossing struct {
	registry *Registry
	call     tool.Call

	arguments any   // decoded; nil where unreadable says why
	unread    error // why the arguments have no single reading
	canonical []byte

	entry  *entry         // set by lookup
	claim  *receipt.Claim // set by idempotency, ended by settle
	output json.RawMessage
	result tool.Result

	// outcome is what is known of the backend: not applied until a handler ran.
	outcome tool.Outcome
}

func newCrossing(r *Registry, call tool.Call) *Crossing {
	c := &Crossing{registry: r, call: call, outcome: tool.NotApplied}
	c.result.Trace.Decisions = make([]tool.Decision, 0, len(r.controls))
	c.arguments, c.unread = jsonvalue.Decode(call.Proposal.Arguments)
	if c.unread == nil {
		c.canonical = jsonvalue.AppendCanonical(make([]byte, 0, len(call.Proposal.Arguments)), c.arguments)
		c.result.Trace.Fingerprint = contract.Fingerprint(c.canonical)
	}
	return c
}

// argument returns a string argument, or the empty string.
func (c *Crossing) argument(name string) string {
	object, _ := c.arguments.(map[string]any)
	value, _ := object[name].(string)
	return value
}

// fail makes the refusal the result, with what is known of the backend.
func (c *Crossing) fail(refusal *tool.Error) {
	told := *refusal
	told.Outcome = c.outcome
	c.result.Output = nil
	c.result.Error = &told
}

// settle ends the claim by what is known of the backend: a key is free again
// only where nothing was applied.
func (c *Crossing) settle() {
	if c.claim == nil {
		return
	}
	if c.outcome == tool.NotApplied {
		c.claim.Free()
	} else {
		c.claim.Keep(receipt.Receipt{
			Fingerprint: c.result.Trace.Fingerprint,
			Output:      bytes.Clone(c.result.Output),
			Error:       c.result.Error,
		})
	}
	c.claim = nil
}

// answer is what came of a handler.
type answer struct {
	output json.RawMessage
	err    error
}

// run calls the handler within the contract's timeout. The second value is
// false where the timeout, or ctx, ended first.
func (c *Crossing) run(ctx context.Context) (answer, bool) {
	c.result.Trace.HandlerRan = true
	if c.registry.backend.Simulated != nil {
		return c.invoke(ctx), true
	}
	ctx, cancel := context.WithTimeout(ctx, c.entry.Timeout)
	answers := make(chan answer, 1)
	go func() {
		defer cancel()
		answers <- c.invoke(ctx)
	}()
	// A handler that gives up because its time is over has given no answer.
	gaveUp := func(a answer) bool { return ctx.Err() != nil && errors.Is(a.err, ctx.Err()) }
	select {
	case a := <-answers:
		return a, !gaveUp(a)
	case <-ctx.Done():
		// An answer that came with the deadline is still an answer.
		select {
		case a := <-answers:
			return a, !gaveUp(a)
		default:
			c.settleLater(answers)
			return answer{}, false
		}
	}
}

// invoke calls the handler and contains its panic.
func (c *Crossing) invoke(ctx context.Context) (a answer) {
	defer func() {
		if cause := recover(); cause != nil {
			a = answer{err: fmt.Errorf("panic: %v\n%s", cause, debug.Stack())}
		}
	}()
	output, err := c.registry.backend.Handlers[c.entry.Name](ctx, c.canonical)
	return answer{output, err}
}

// settleLater leaves the claim to the handler that is still running, so that a
// repeat waits for what it comes to and never runs beside it.
func (c *Crossing) settleLater(answers <-chan answer) {
	if c.claim == nil {
		return
	}
	late := &Crossing{registry: c.registry, call: c.call, entry: c.entry, claim: c.claim, outcome: tool.NotApplied}
	late.result.Trace.Fingerprint = c.result.Trace.Fingerprint
	c.claim = nil
	go func() {
		defer late.settle()
		late.conclude(<-answers)
	}()
}

// accept takes in what a handler's answer says of the backend. It returns nil
// where the work succeeded, else the refusal.
func (c *Crossing) accept(a answer) *tool.Error {
	changes := c.entry.Effect.Changes()
	if a.err == nil {
		c.output = a.output
		if changes {
			c.outcome = tool.Applied
		}
		return nil
	}
	var deliberate *tool.Error
	if errors.As(a.err, &deliberate) {
		if changes && deliberate.Outcome != "" {
			c.outcome = deliberate.Outcome
		}
		return deliberate
	}
	if changes {
		c.outcome = tool.Unknown
	}
	if c.registry.backend.OnFault != nil {
		c.registry.backend.OnFault(c.entry.Name, a.err)
	}
	return tool.Refusal(tool.HandlerFailed, nil, "The handler of %s failed.", c.entry.Name)
}

// conclude does for a late answer what the handler and output controls do for
// one in time.
func (c *Crossing) conclude(a answer) {
	refusal := c.accept(a)
	if refusal == nil {
		refusal = c.checkOutput()
	}
	if refusal != nil {
		c.fail(refusal)
		return
	}
	c.result.Output = c.output
}

// checkOutput holds the output against the contract.
func (c *Crossing) checkOutput() *tool.Error {
	var violations []tool.Violation
	decoded, err := jsonvalue.Decode(c.output)
	if err != nil {
		violations = []tool.Violation{{Keyword: "json", Message: "must be one JSON document"}}
	} else {
		violations = c.entry.output.Validate(decoded)
	}
	if len(violations) == 0 {
		return nil
	}
	return tool.Refusal(tool.InvalidToolOutput, violationDetails{violations},
		"The output of %s breaks its contract.", c.entry.Name)
}

type violationDetails struct {
	Violations []tool.Violation `json:"violations"`
}

// late is the refusal of a call that its time, or its caller, gave up on.
func (c *Crossing) late(ctx context.Context, started time.Time) *tool.Error {
	if ctx.Err() != nil {
		return tool.Refusal(tool.HandlerFailed, nil, "The call of %s was cancelled.", c.entry.Name)
	}
	return c.timeout(time.Since(started))
}

// timeout is the refusal of a call that took, or would take, too long.
func (c *Crossing) timeout(observed time.Duration) *tool.Error {
	refusal := tool.Refusal(tool.ToolTimeout, struct {
		Timeout  int64 `json:"timeout_ms"`
		Observed int64 `json:"observed_ms"`
	}{c.entry.Timeout.Milliseconds(), observed.Milliseconds()},
		"Tool exceeded its %d ms timeout.", c.entry.Timeout.Milliseconds())
	refusal.Retryable = c.entry.Retry == contract.RetryTransient
	return refusal
}
