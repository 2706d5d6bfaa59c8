package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
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
	now      time.Time     // when the call started
	took     time.Duration // how long it took, on a simulated clock

	arguments any   // decoded; nil where unreadable says why
	unread    error // why the arguments have no single reading
	canonical []byte

	budgeted        bool          // the budget has the call among those under way
	entry           *entry        // set by lookup
	reserved        string        // the grant that approval took for this call
	expectedVersion string        // of the resource, by the grant or as it was seen
	worksOn         string        // what a precondition is about, by the last look at it
	looked          bool          // that look told
	excused         bool          // approval let it pass as a repeat
	unsure          bool          // what has changed may be by another call of the session
	turn            bool          // it is one of those at work on the tool
	noting          bool          // it may be changing what it works on, which is still to be noted
	claim           receipt.Claim // set by idempotency, ended by settle
	output          json.RawMessage
	result          tool.Result

	// outcome is what is known of the backend: not applied until a handler ran.
	outcome tool.Outcome
}

func newCrossing(r *Registry, call tool.Call) *Crossing {
	c := &Crossing{registry: r, call: call, now: r.backend.Clock.Now(), outcome: tool.NotApplied}
	c.result.Trace.Decisions = make([]tool.Decision, 0, len(r.controls))
	c.arguments, c.unread = jsonvalue.Decode(call.Proposal.Arguments)
	if c.unread == nil {
		c.canonical = jsonvalue.AppendCanonical(make([]byte, 0, len(call.Proposal.Arguments)), c.arguments)
		c.result.Trace.Fingerprint = contract.Fingerprint(c.canonical)
	}
	return c
}

// Call is the call that is judged, for a control that is not one of [Controls].
// What it changes there is changed for the controls after it, but for the
// arguments, which have been read; the lists of a call are shared, and replaced.
func (c *Crossing) Call() *tool.Call { return &c.call }

// Contract is that of the tool that was looked up, and false before there is one.
func (c *Crossing) Contract() (contract.Contract, bool) {
	if c.entry == nil {
		return contract.Contract{}, false
	}
	return c.entry.Contract, true
}

// SetOutcome says what is known of the backend.
func (c *Crossing) SetOutcome(outcome tool.Outcome) { c.outcome = outcome }

// argument returns a string argument, or the empty string.
func (c *Crossing) argument(name string) string {
	object, _ := c.arguments.(map[string]any)
	value, _ := object[name].(string)
	return value
}

// fail makes the refusal the result, with what is known of the backend.
func (c *Crossing) fail(refusal *tool.Error) {
	final := *refusal
	final.Details = c.redacted(bytes.Clone(refusal.Details))
	final.Outcome = c.outcome
	c.result.Output = nil
	c.result.Error = &final
}

// finish ends the call: its claim, its grant, its turn and its place in the
// budget.
func (c *Crossing) finish(ctx context.Context) {
	defer c.leave()
	c.settle()
	c.note(ctx)
	if c.entry != nil {
		// The caller did not wait any longer.
		c.took = min(c.took, c.entry.Timeout)
	}
	if c.budgeted {
		c.registry.spent.finish(c, c.registry.simulated())
	}
	c.result.Took = c.took
}

// answer is what came of a handler.
type answer struct {
	output json.RawMessage
	err    error
}

var errNoReturn = errors.New("the handler did not return")

// run calls the handler within the contract's timeout. The second value is
// false where the timeout, or ctx, ended first.
func (c *Crossing) run(ctx context.Context) (answer, bool) {
	c.result.Trace.HandlerRan = true
	c.changing()
	own := ctx
	if c.claim != nil {
		ctx = c.claim.Context(ctx)
	}
	ctx = context.WithValue(ctx, crossingKey{}, c)
	if c.registry.simulated() {
		a := c.invoke(ctx)
		if c.took <= c.entry.Timeout {
			return a, true
		}
		if late := c.handOver(); late != nil {
			late.end(own, a)
		}
		return answer{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, c.entry.Timeout)
	answers := make(chan answer, 1)
	c.registry.late.Go(func() {
		defer cancel()
		// A handler may end its goroutine without returning.
		a := answer{err: errNoReturn}
		defer func() { answers <- a }()
		a = c.invoke(ctx)
	})
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
			if late := c.handOver(); late != nil {
				c.registry.late.Go(func() { late.end(own, <-answers) })
			}
			return answer{}, false
		}
	}
}

type crossingKey struct{}

// CallerOf returns who made the call that a handler works on.
func CallerOf(ctx context.Context) tool.Caller {
	if c, ok := ctx.Value(crossingKey{}).(*Crossing); ok {
		return c.call.Caller
	}
	return tool.Caller{}
}

// ExpectedVersion returns the version that the resource of a call must still
// have, for a handler to check in the critical section of its write; it is
// empty where the contract asks for none. A handler that finds another refuses
// with [tool.ApprovalStale].
func ExpectedVersion(ctx context.Context) string {
	if c, ok := ctx.Value(crossingKey{}).(*Crossing); ok {
		return c.expectedVersion
	}
	return ""
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

// handOver leaves what the call holds to the handler that is still running: the
// claim, so that a repeat waits for what it comes to and never runs beside it, the
// grant, the turn, and what is to be noted. It returns nil where it holds nothing.
func (c *Crossing) handOver() *Crossing {
	if c.claim == nil && c.reserved == "" && !c.turn && !c.noting {
		return nil
	}
	late := &Crossing{registry: c.registry, call: c.call, now: c.now, took: c.took, arguments: c.arguments,
		canonical: c.canonical, entry: c.entry, claim: c.claim, reserved: c.reserved, turn: c.turn, noting: c.noting, worksOn: c.worksOn, outcome: tool.NotApplied}
	late.result.Trace.Fingerprint = c.result.Trace.Fingerprint
	c.claim, c.reserved, c.turn, c.noting = nil, "", false, false
	return late
}

// end does for a late answer what the handler and output controls do for one in
// time.
func (c *Crossing) end(ctx context.Context, a answer) {
	defer c.leave()
	defer c.note(ctx)
	defer c.settle()
	defer c.contain()
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

// accept takes in what a handler's answer says of the backend. It returns nil
// where the work succeeded, else the refusal.
func (c *Crossing) accept(a answer) *tool.Error {
	changes := c.entry.Effect.Changes()
	if a.err == nil {
		c.output = bytes.Clone(a.output) // the handler may use its own again
		if changes {
			c.outcome = tool.Applied
		}
		return nil
	}
	var deliberate *tool.Error
	// A nil *tool.Error in an error is a mistake of the handler, not a failure
	// that it chose.
	if errors.As(a.err, &deliberate) && deliberate != nil {
		if changes && deliberate.Outcome != "" {
			c.outcome = deliberate.Outcome
		}
		return deliberate
	}
	c.fault(a.err)
	if errors.Is(a.err, ErrResponseLost) {
		return c.lost()
	}
	if refusal := c.mapped(a.err); refusal != nil {
		return refusal
	}
	if changes && !c.rollsBack() {
		c.outcome = tool.Unknown
	}
	return tool.Refusal(tool.HandlerFailed, nil, "The handler of %s failed.", c.entry.Name)
}

// told is what the trace says of a fault. Anything may stand in the words of a
// backend, so that a marker stands for them, by which equal faults can be told;
// only words that the contract itself names are shown.
func (c *Crossing) told(err error) string {
	if _, rule := c.ruled(err); rule != nil {
		return rule.Backend
	}
	first, _, _ := strings.Cut(err.Error(), "\n") // without the stack of a panic
	return c.registry.marker(first)
}

// ruled finds the error in a backend's own words, and the rule that the
// contract has for it. The rule is nil where there is none.
func (c *Crossing) ruled(err error) (*BackendError, *contract.ErrorRule) {
	var failed *BackendError
	if c.entry == nil || !errors.As(err, &failed) {
		return nil, nil
	}
	for i := range c.entry.Errors {
		if rule := &c.entry.Errors[i]; rule.Backend == failed.Word {
			return failed, rule
		}
	}
	return failed, nil
}

// met reports whether the call has met a control of this name.
func (c *Crossing) met(control string) bool {
	for _, d := range c.result.Trace.Decisions {
		if d.Control == control {
			return true
		}
	}
	return false
}

// rollsBack reports whether what the handler wrote goes with the claim: then a
// handler that broke has applied nothing.
func (c *Crossing) rollsBack() bool { return c.claim != nil && c.claim.RollsBack() }

// mapped gives a backend's error the code that the contract has for it.
func (c *Crossing) mapped(err error) *tool.Error {
	failed, rule := c.ruled(err)
	if rule == nil {
		return nil
	}
	if c.entry.Effect.Changes() && failed.Outcome != "" {
		c.outcome = failed.Outcome
	}
	refusal := tool.Refusal(rule.Code, nil, "The backend of %s refused the call.", c.entry.Name)
	if rule.Code == tool.ToolTimeout {
		return c.byContract(refusal)
	}
	return refusal
}

// lost is the refusal of a call whose answer did not come.
func (c *Crossing) lost() *tool.Error {
	if !c.entry.Effect.Changes() {
		return c.byContract(tool.Refusal(tool.ToolTimeout, nil, "The answer of %s was lost.", c.entry.Name))
	}
	c.outcome = tool.Unknown
	return c.unknown("The answer of the write was lost; it may have been applied.")
}

// unknown is the refusal of a write of which nobody knows what became of it. Where
// it has a key, that is for the repeat to find out.
func (c *Crossing) unknown(message string) *tool.Error {
	refusal := tool.Refusal(tool.OutcomeUnknown, c.keyed(), "%s", message)
	if key := c.entry.IdempotencyKey; key != "" {
		refusal.NextAction = "repeat the call with the same " + key + ": it is answered, and not done twice"
	}
	return refusal
}

// broken is the refusal of a call that the runtime itself failed.
func (c *Crossing) broken(err error) *tool.Error {
	c.fault(err)
	name := "the tool" // one that lookup has not found
	if c.entry != nil {
		name = c.entry.Name
	}
	return tool.Refusal(tool.HandlerFailed, nil, "The runtime of %s failed.", name)
}

func (c *Crossing) cancelled() *tool.Error {
	return tool.Refusal(tool.HandlerFailed, nil, "The call of %s was cancelled.", c.entry.Name)
}

// contain turns a panic of what the registry was given (an error's methods, a
// latency, an access function) into a refusal.
func (c *Crossing) contain() {
	cause := recover()
	if cause == nil {
		return
	}
	if c.result.Trace.HandlerRan && c.entry.Effect.Changes() && c.outcome == tool.NotApplied && !c.rollsBack() {
		c.outcome = tool.Unknown
	}
	c.result.Replayed = false
	c.fail(c.broken(fmt.Errorf("panic: %v\n%s", cause, debug.Stack())))
}

// fault tells the operator, and nobody else, why something broke.
func (c *Crossing) fault(err error) {
	defer func() { _ = recover() }() // there is nobody left to tell
	c.result.Trace.Fault = c.told(err)
	if c.registry.backend.OnFault != nil {
		c.registry.backend.OnFault(c.call.Proposal.Name, err)
	}
}

type violationDetails struct {
	Violations []tool.Violation `json:"violations"`
}

// timeout is the refusal of a read that took, or would take, too long.
func (c *Crossing) timeout(observed time.Duration) *tool.Error {
	return c.byContract(tool.Refusal(tool.ToolTimeout, struct {
		Timeout  int64 `json:"timeout_ms"`
		Observed int64 `json:"observed_ms"`
	}{c.entry.Timeout.Milliseconds(), observed.Milliseconds()},
		"Tool exceeded its %d ms timeout.", c.entry.Timeout.Milliseconds()))
}

// byContract says of a timeout whether a retry could help, and what to do where
// it could not.
func (c *Crossing) byContract(timeout *tool.Error) *tool.Error {
	timeout.Retryable = c.entry.Retry == contract.RetryTransient
	if !timeout.Retryable {
		timeout.NextAction = "stop; the contract allows no retry"
	}
	return timeout
}
