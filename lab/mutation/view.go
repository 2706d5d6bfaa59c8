package mutation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// view is what is known of a surface before anything of it is weakened.
type view struct {
	contracts []contract.Contract // complete
	controls  []string            // that its calls meet, in their order
	simulated bool                // no call takes any time of its own
	budgeted  bool                // somebody can tell it what a session may use up
	slow      map[string]bool     // tools whose calls can take time
	reconcile map[string]bool     // tools of which the backend can tell what became of a call
}

// look opens one session of a surface and sees what stands behind it.
func look(ctx context.Context, subject Subject) (*view, error) {
	v := &view{slow: make(map[string]bool), reconcile: make(map[string]bool)}
	for _, c := range subject.Contracts() {
		complete, err := c.Complete()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", subject.Name(), err)
		}
		v.contracts = append(v.contracts, complete)
	}
	looking, err := subject.Vary(registry.Variant{Backend: v.see})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", subject.Name(), err)
	}
	session, err := looking.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", subject.Name(), err)
	}
	_, v.budgeted = session.(tool.Supervised)
	return v, session.Close()
}

func (v *view) see(b *registry.Backend) {
	for _, c := range b.Controls {
		v.controls = append(v.controls, c.Name)
	}
	_, v.simulated = b.Clock.(*registry.Simulated)
	for _, c := range v.contracts {
		v.slow[c.Name] = !v.simulated || b.Latencies[c.Name] != nil
		v.reconcile[c.Name] = b.Reconcile[c.Name] != nil
	}
}

// live are the contracts of tools that can be called and satisfy all of what is asked.
func (v *view) live(asked ...func(c *contract.Contract) bool) (all []contract.Contract) {
next:
	for _, c := range v.contracts {
		if retired(&c) {
			continue
		}
		for _, is := range asked {
			if !is(&c) {
				continue next
			}
		}
		all = append(all, c)
	}
	return all
}

func (v *view) some(asked ...func(c *contract.Contract) bool) bool { return len(v.live(asked...)) > 0 }

func (v *view) names() []string {
	names := make([]string, len(v.contracts))
	for i, c := range v.contracts {
		names[i] = c.Name
	}
	return names
}

// What can be asked of a contract.
func retired(c *contract.Contract) bool { return c.Lifecycle != nil && c.Lifecycle.Retired }
func changes(c *contract.Contract) bool { return c.Effect.Changes() }
func keyed(c *contract.Contract) bool   { return c.IdempotencyKey != "" }
func bound(c *contract.Contract) bool   { return c.Approval == contract.ApprovalBound }
func rated(c *contract.Contract) bool   { return c.Rate != nil }
func own(c *contract.Contract) bool     { return !c.Foreign }

func asksApproval(c *contract.Contract) bool { return c.Approval != contract.ApprovalNever }
func preconditioned(c *contract.Contract) bool {
	return c.Precondition
}
func named(name string) func(*contract.Contract) bool {
	return func(c *contract.Contract) bool { return hasProperty(c, name) }
}

// ofTool is a spot for each of some contracts.
func ofTool(all []contract.Contract, weaken func(c contract.Contract) registry.Variant) []spot {
	var spots []spot
	for _, c := range all {
		spots = append(spots, spot{tool: c.Name, weaker: weaken(c)})
	}
	return spots
}

// inContract changes the contract of one tool. What the contract points to is not
// the function's to change, but to replace.
func inContract(name string, change func(c *contract.Contract)) registry.Variant {
	return registry.Variant{Contracts: func(all []contract.Contract) []contract.Contract {
		for i := range all {
			if all[i].Name == name {
				change(&all[i])
			}
		}
		return all
	}}
}

// decide is what a control does.
type decide = func(ctx context.Context, c *registry.Crossing) (tool.Verdict, *tool.Error)

// behind changes what stands behind the contracts of each session.
func behind(change func(b *registry.Backend)) registry.Variant {
	return registry.Variant{Backend: change}
}

// around puts another control in the place of each of the named ones, which is made
// of it for every session.
func around(other func(b *registry.Backend, own decide) decide, controls ...string) registry.Variant {
	return behind(func(b *registry.Backend) { surround(b, other, controls...) })
}

func surround(b *registry.Backend, other func(b *registry.Backend, own decide) decide, controls ...string) {
	b.Controls = slices.Clone(b.Controls)
	for i := range b.Controls {
		if slices.Contains(controls, b.Controls[i].Name) {
			b.Controls[i].Decide = other(b, b.Controls[i].Decide)
		}
	}
}

// before has something done before a control is asked, of the calls of one tool, or
// of every call where that is empty.
func before(control, name string, do func(c *registry.Crossing)) registry.Variant {
	return around(func(_ *registry.Backend, own decide) decide {
		return func(ctx context.Context, c *registry.Crossing) (tool.Verdict, *tool.Error) {
			if isOf(c, name) {
				do(c)
			}
			return own(ctx, c)
		}
	}, control)
}

// asIf asks a control as if the call were another, which it is not any more for the
// controls after it.
func asIf(control, name string, other func(c *registry.Crossing, call *tool.Call)) registry.Variant {
	return around(func(_ *registry.Backend, own decide) decide {
		return func(ctx context.Context, c *registry.Crossing) (tool.Verdict, *tool.Error) {
			if isOf(c, name) {
				call := c.Call()
				was := *call
				other(c, call)
				defer func() { *call = was }()
			}
			return own(ctx, c)
		}
	}, control)
}

// refused has a control that refuses with a code, of the calls of one tool or of
// every call, say something else. The error is its to change.
func refused(control, name string, code tool.Code, otherwise func(c *registry.Crossing, e *tool.Error) (tool.Verdict, *tool.Error)) registry.Variant {
	return around(func(_ *registry.Backend, own decide) decide {
		return func(ctx context.Context, c *registry.Crossing) (tool.Verdict, *tool.Error) {
			verdict, refusal := own(ctx, c)
			if verdict != tool.Refuse || refusal == nil || code != "" && refusal.Code != code || !isOf(c, name) {
				return verdict, refusal
			}
			e := *refusal
			return otherwise(c, &e)
		}
	}, control)
}

// told changes the words of a refusal, which stays one.
func told(change func(c *registry.Crossing, e *tool.Error)) func(*registry.Crossing, *tool.Error) (tool.Verdict, *tool.Error) {
	return func(c *registry.Crossing, e *tool.Error) (tool.Verdict, *tool.Error) {
		change(c, e)
		return tool.Refuse, e
	}
}

// isOf reports whether a call is of a tool that was found; of any where name is
// empty.
func isOf(c *registry.Crossing, name string) bool {
	if name == "" {
		return true
	}
	found, ok := c.Contract()
	return ok && found.Name == name
}

// working puts another handler in the place of that of a tool.
func working(name string, other func(own registry.Handler) registry.Handler) registry.Variant {
	return behind(func(b *registry.Backend) {
		b.Handlers = maps.Clone(b.Handlers)
		b.Handlers[name] = other(b.Handlers[name])
	})
}

// canonical is the arguments of a call as a handler gets them.
func canonical(arguments json.RawMessage) json.RawMessage {
	value, err := jsonvalue.Decode(arguments)
	if err != nil {
		return arguments
	}
	return jsonvalue.AppendCanonical(nil, value)
}
