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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
// the backend. Of any other error, and of a panic, a tool that only reads has
// applied nothing; for one that writes the outcome is unknown. Neither reaches
// the caller in words; see [Backend.OnFault].
type Handler func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)

// Latency foretells, from its arguments, how long a call takes on a simulated
// clock.
type Latency func(arguments json.RawMessage) time.Duration

// Backend is what stands behind the contracts of a registry.
type Backend struct {
	// Handlers has one handler a contract, by tool name.
	Handlers map[string]Handler
	// Receipts remembers the keyed actions of this backend; nil stands for a
	// fresh memory.
	Receipts *receipt.Memory
	// Simulated, where set, replaces the wall clock: a call takes as long as
	// the function of its tool says (none: no time), and nothing ever waits.
	Simulated map[string]Latency
	// OnFault, where set, is told why a handler failed in a way that the
	// caller is not told: an undeclared error, or a panic with its stack. It
	// may be called from several goroutines.
	OnFault func(tool string, cause error)
}

// Catalog is a set of contracts whose schemas are compiled. It never changes
// and may stand before many backends.
type Catalog struct {
	entries     map[string]*entry
	definitions []tool.Definition // sorted by name
}

type entry struct {
	contract.Contract
	input, output *schema.Schema
}

// Compile checks contracts and compiles their schemas. The error names every
// contract that does not hold together, and where.
func Compile(contracts ...contract.Contract) (*Catalog, error) {
	catalog := &Catalog{entries: make(map[string]*entry, len(contracts))}
	var faults []error
	for _, c := range contracts {
		e, err := compile(c)
		if err == nil && catalog.entries[c.Name] != nil {
			err = fmt.Errorf("contract of tool %q: the name is taken", c.Name)
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
	input, err := schema.Compile(c.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("contract of tool %q: input schema: %w", c.Name, err)
	}
	output, err := schema.Compile(c.OutputSchema)
	if err != nil {
		return nil, fmt.Errorf("contract of tool %q: output schema: %w", c.Name, err)
	}
	return &entry{complete, input, output}, nil
}

func byName(a, b tool.Definition) int {
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

// Definitions lists what a model sees of the catalog, sorted by name.
func (c *Catalog) Definitions() []tool.Definition { return slices.Clone(c.definitions) }

// visibleTo lists the tools that the caller has the permission to call.
func (c *Catalog) visibleTo(caller tool.Caller) []string {
	names := []string{}
	for _, d := range c.definitions {
		if slices.Contains(caller.Permissions, c.entries[d.Name].Permission) {
			names = append(names, d.Name)
		}
	}
	return names
}

// Registry is a catalog before one backend. It is safe for concurrent use.
type Registry struct {
	catalog  *Catalog
	controls []Control
	backend  Backend
}

// New puts a catalog before a backend. It is an error if the two do not name
// the same tools.
func New(catalog *Catalog, backend Backend) (*Registry, error) {
	for name := range catalog.entries {
		if backend.Handlers[name] == nil {
			return nil, fmt.Errorf("registry: tool %q has no handler", name)
		}
	}
	if len(backend.Handlers) != len(catalog.entries) {
		for name := range backend.Handlers {
			if catalog.entries[name] == nil {
				return nil, fmt.Errorf("registry: handler %q has no contract", name)
			}
		}
	}
	if backend.Receipts == nil {
		backend.Receipts = new(receipt.Memory)
	}
	return &Registry{catalog, controls, backend}, nil
}

// Call takes one call through the controls. It does not panic, whatever the
// handler does, and does not wait past the end of ctx or the tool's timeout.
func (r *Registry) Call(ctx context.Context, call tool.Call) tool.Result {
	c := newCrossing(r, call)
	defer c.settle()
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
			return c.result
		case tool.Replay:
			return c.result
		}
	}
	c.result.Output = c.output
	return c.result
}
