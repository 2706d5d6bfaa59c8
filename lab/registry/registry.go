// Package registry is the surface that enforces contracts. A call meets the
// controls of [Controls] in one fixed order; the first that refuses ends it.
//
// Start with [Compile], which checks contracts once, and [New], which puts
// handlers behind them. [Registry.Call] is the way of a call.
//
// One invariant: a handler runs only after every control before it has passed,
// and what it did to the backend is told in the result's outcome, whatever
// happens after it.
//
// The registry chooses no tool, repairs no arguments and retries nothing.
package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/receipt"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// Handler does the work of a tool. Its arguments are the canonical JSON of an
// object that satisfies the tool's input schema; [Typed] decodes them. It
// returns a JSON document.
//
// A deliberate failure is a [*tool.Error], whose Outcome says what became of
// the backend. A [*BackendError] is given a code by the contract. Of any other
// error, and of a panic, a tool that only reads has applied nothing; for one
// that writes the outcome is unknown. Neither reaches the caller in words; see
// [Backend.OnFault].
type Handler func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)

// Latency foretells, from its arguments, how long a call takes on a simulated
// clock.
type Latency func(ctx context.Context, arguments json.RawMessage) time.Duration

// Access is what a caller may do with a resource.
type Access string

const (
	Allowed   Access = "allowed"
	Forbidden Access = "forbidden"
	Hidden    Access = "hidden" // the caller may not even know that it exists
)

// Version is what a call works on, and the state that it is in. Two tools that
// work on the same name it alike: what a session has seen of it counts for both.
type Version struct{ Of, Is string }

// Attempt is an action of unknown outcome.
type Attempt struct {
	Caller    tool.Caller
	Arguments json.RawMessage // canonical
	Since     time.Time       // it was not made before this
}

// Reconcile finds out whether an action of unknown outcome was applied, by what
// the backend itself shows. Where it was, output is the answer it would have
// had, or nil where that cannot be told: its repeat is then told [tool.AnswerLost].
type Reconcile func(ctx context.Context, attempt Attempt) (output json.RawMessage, applied bool, err error)

// ErrStillUnknown is what [Reconcile] returns where the backend cannot tell either.
// That is no fault.
var ErrStillUnknown = errors.New("nobody can tell what became of the action")

// Backend is what stands behind the contracts of a registry. Only Handlers must
// be set; the functions by tool name are asked where a contract wants what they
// know.
type Backend struct {
	// Handlers has one handler a contract, by tool name.
	Handlers map[string]Handler
	// Receipts remembers the keyed actions of this backend; nil stands for a
	// fresh memory.
	Receipts receipt.Store
	// Prepare, where set, is called before a call of a tool that has passed all
	// controls before the deadline: it makes ready what the handler needs, such as a
	// connection. No timeout of a contract holds for it. Where it fails the handler
	// does not run: the call is refused by the deadline, and nothing was applied.
	Prepare func(ctx context.Context, tool string) error
	// Clock is the time that the controls go by; nil stands for the wall clock.
	Clock Clock
	// Latencies say how long calls take on a simulated clock (none: no time).
	Latencies map[string]Latency
	// Access decides about resources, each by the argument that names it. A tool
	// whose contract names a resource and that has none is refused.
	Access map[string]func(ctx context.Context, caller tool.Caller, argument, resource string) Access
	// Versions tell the version of what a call would work on, for preconditions.
	Versions map[string]func(ctx context.Context, arguments json.RawMessage) (Version, error)
	// Previews say in words what a call would do, for whoever confirms it.
	Previews map[string]func(ctx context.Context, arguments json.RawMessage) string
	// Reconcile settles actions of unknown outcome.
	Reconcile map[string]Reconcile
	// Budget is what this session may use up.
	Budget tool.Budget
	// Controls replaces the controls that calls meet; nil stands for all.
	Controls []Control
	// RedactionKey keys the digests that stand for secrets; nil stands for a
	// random one. With one that is empty and not nil no digest stands there: what
	// few values a secret can have could be tried under a key that others know.
	RedactionKey []byte
	// OnFault, where set, is told why a handler failed in a way that the
	// caller is not told: an undeclared error, or a panic with its stack. It
	// may be called from several goroutines.
	OnFault func(tool string, cause error)
}

// BackendError is a failure in the backend's own words.
type BackendError struct {
	Word    string       // which the contract's error rules are matched with
	Outcome tool.Outcome // what became of the backend; empty stands for not applied
	Err     error        // for the operator; may be nil
}

func (e *BackendError) Error() string {
	if e.Err == nil {
		return e.Word
	}
	return e.Word + ": " + e.Err.Error()
}

func (e *BackendError) Unwrap() error { return e.Err }

// ErrResponseLost is wrapped by the error of a handler whose backend took the
// call and whose answer never came: the outcome is unknown.
var ErrResponseLost = errors.New("the response was lost")

// Catalog is a set of contracts whose schemas are compiled. It never changes
// and may stand before many backends.
type Catalog struct {
	entries     map[string]*entry
	definitions []tool.Definition // sorted by name
}

type entry struct {
	contract.Contract
	input, output *schema.Schema // output is nil where somebody else's tool says nothing of it
	redaction     Redaction
}

func (e *entry) retired() bool { return e.Lifecycle != nil && e.Lifecycle.Retired }

// Compile checks contracts and compiles their schemas. The error names every
// contract that does not hold together, and where.
func Compile(contracts ...contract.Contract) (*Catalog, error) {
	catalog := &Catalog{entries: make(map[string]*entry, len(contracts))}
	var faults []error
	shared := make(map[string]*entry) // by what they share
	for _, c := range contracts {
		e, err := compile(c)
		if err == nil && catalog.entries[c.Name] != nil {
			err = fmt.Errorf("contract of tool %q: the name is taken", c.Name)
		}
		if err == nil && c.Turn != "" {
			if other := shared[c.Turn]; other != nil && other.Concurrency != c.Concurrency {
				err = fmt.Errorf("contract of tool %q: %d calls of %q at once, and %d by the contract of %q", c.Name, c.Concurrency, c.Turn, other.Concurrency, other.Name)
			}
			shared[c.Turn] = e
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		catalog.entries[c.Name] = e
		catalog.definitions = append(catalog.definitions, e.Definition)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	slices.SortFunc(catalog.definitions, byName)
	return catalog, nil
}

func compile(c contract.Contract) (*entry, error) {
	complete, err := c.Complete()
	if err != nil {
		return nil, err
	}
	compiled := schema.Compile
	if c.Foreign {
		compiled = func(document []byte) (*schema.Schema, error) {
			return schema.CompileForeign(document, schema.Draft202012)
		}
	}
	input, err := compiled(c.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("contract of tool %q: input schema: %w", c.Name, err)
	}
	if c.IdempotencyKey != "" && schema.ArgumentOf(c.InputSchema, c.Foreign, c.IdempotencyKey) != schema.Text {
		return nil, fmt.Errorf("contract of tool %q: the input schema does not require %q to be a string, which names an action", c.Name, c.IdempotencyKey)
	}
	for _, r := range c.Resources {
		if schema.ArgumentOf(c.InputSchema, c.Foreign, r.Argument) == schema.Unsure {
			return nil, fmt.Errorf("contract of tool %q: the input schema does not require %q to be a string or a list of strings, which names a resource", c.Name, r.Argument)
		}
	}
	var output *schema.Schema
	if c.OutputSchema != nil {
		if output, err = compiled(c.OutputSchema); err != nil {
			return nil, fmt.Errorf("contract of tool %q: output schema: %w", c.Name, err)
		}
	}
	return &entry{complete, input, output, RedactionBy(complete.Output)}, nil
}

func byName(a, b tool.Definition) int { return cmp.Compare(a.Name, b.Name) }

// Definitions lists every tool of the catalog that is not retired, sorted by
// name.
func (c *Catalog) Definitions() []tool.Definition {
	return slices.DeleteFunc(slices.Clone(c.definitions), func(d tool.Definition) bool {
		return c.entries[d.Name].retired()
	})
}

// ToolVersion is the version of the contract of a tool; empty where it has none.
func (c *Catalog) ToolVersion(name string) string {
	if e := c.entries[name]; e != nil {
		return e.Version
	}
	return ""
}

// DefinitionsFor lists what the models of a caller see: the tools that it may
// know of and that are not retired.
func (c *Catalog) DefinitionsFor(caller tool.Caller) []tool.Definition {
	var visible []tool.Definition
	for _, d := range c.Definitions() {
		if c.entries[d.Name].Visibility.Admits(caller) {
			visible = append(visible, d)
		}
	}
	return visible
}

// available lists the tools that the caller may know of and has the permission
// to call.
func (c *Catalog) available(caller tool.Caller) []string {
	names := []string{}
	for _, d := range c.DefinitionsFor(caller) {
		if slices.Contains(caller.Permissions, c.entries[d.Name].Permission) {
			names = append(names, d.Name)
		}
	}
	return names
}

// Registry is a catalog before one backend, for one session. It is safe for
// concurrent use.
type Registry struct {
	catalog  *Catalog
	controls []Control
	backend  Backend
	spent    spending
	grants   grantBook
	buckets  buckets
	turns    turns
	seen     sightings
	late     sync.WaitGroup // handlers that run on when their calls have ended
}

// New puts a catalog before a backend. It is an error if the two do not name
// the same tools.
func New(catalog *Catalog, backend Backend) (*Registry, error) {
	for name, e := range catalog.entries {
		if backend.Handlers[name] == nil && !e.retired() {
			return nil, fmt.Errorf("registry: tool %q has no handler", name)
		}
		if e.Precondition && backend.Versions[name] == nil {
			return nil, fmt.Errorf("registry: tool %q has a precondition, and nothing tells the version of what it works on", name)
		}
	}
	for name := range backend.Handlers {
		if catalog.entries[name] == nil {
			return nil, fmt.Errorf("registry: handler %q has no contract", name)
		}
	}
	if backend.Receipts == nil {
		backend.Receipts = new(receipt.Memory)
	}
	if backend.Clock == nil {
		backend.Clock = wall{}
	}
	if backend.RedactionKey == nil {
		backend.RedactionKey = make([]byte, 32)
		rand.Read(backend.RedactionKey) // it never fails
	}
	r := &Registry{catalog: catalog, controls: controls, backend: backend}
	if backend.Controls != nil {
		r.controls = backend.Controls
	}
	return r, nil
}

// simulated reports whether no call takes any time of its own.
func (r *Registry) simulated() bool {
	_, simulated := r.backend.Clock.(*Simulated)
	return simulated
}

// SetBudget sets what the session may use up; it comes before the first call.
func (r *Registry) SetBudget(budget tool.Budget) { r.backend.Budget = budget }

// Reset forgets what the registry knows of calls: budgets, used grants, rates and
// the versions that were seen. No call may be under way. The backend and its receipts are their
// owner's to reset.
func (r *Registry) Reset() {
	r.spent.reset()
	r.grants.reset()
	r.buckets.reset()
	r.seen.reset()
}

// Wait waits for the handlers that run on when their calls have ended, which is
// when nothing of this registry is under way. It comes after the last call.
func (r *Registry) Wait() { r.late.Wait() }

// Call takes one call through the controls. It does not panic, whatever the
// handler does, and does not wait for it past the end of ctx or the tool's
// timeout, which holds for the wait for a turn and for the same action too; the
// other functions of the backend are waited for.
func (r *Registry) Call(ctx context.Context, call tool.Call) tool.Result {
	c := newCrossing(r, call)
	r.cross(ctx, c)
	c.finish(ctx)
	return c.result
}

// cross takes a call through the controls, up to the one that ends it.
func (r *Registry) cross(ctx context.Context, c *Crossing) {
	defer c.contain()
	for i := range r.controls {
		control := &r.controls[i]
		verdict, refusal := control.Decide(ctx, c)
		decision := tool.Decision{Control: control.Name, Verdict: verdict}
		if refusal != nil {
			decision.Code = refusal.Code
		}
		c.result.Trace.Decisions = append(c.result.Trace.Decisions, decision)
		switch verdict {
		case tool.Refuse:
			c.fail(refusal)
			return
		case tool.Replay:
			return
		}
	}
	c.result.Output = c.output
}
