package generate_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/dataset"
	"agentlab/lab/eval"
	"agentlab/lab/generate"
	"agentlab/lab/registry"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// noticed reports whether a case of a control fails on a surface; of any control where
// none is named.
func noticed(t *testing.T, surface tool.Surface, cases []*dataset.Case, by string) bool {
	t.Helper()
	for _, c := range cases {
		if by != "" && strings.Fields(c.Clause)[1] != by {
			continue
		}
		run, err := eval.Play(t.Context(), surface, c, c.Candidate)
		if err != nil {
			t.Fatal(err)
		}
		if !run.Passed {
			return true
		}
	}
	return false
}

func production(t *testing.T, o generate.Options) *generate.Set {
	t.Helper()
	set, err := generate.Cases(t.Context(), source(t, new(ticket.Production)), o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// retold is a registry of which a control tells something else of its refusals.
func retold(control string, retell func(*tool.Error)) registry.Variant {
	return registry.Variant{Backend: func(b *registry.Backend) {
		b.Controls = slices.Clone(b.Controls)
		of := slices.IndexFunc(b.Controls, func(c registry.Control) bool { return c.Name == control })
		decide := b.Controls[of].Decide
		b.Controls[of].Decide = func(ctx context.Context, c *registry.Crossing) (tool.Verdict, *tool.Error) {
			verdict, refusal := decide(ctx, c)
			if refusal != nil {
				other := *refusal
				retell(&other)
				refusal = &other
			}
			return verdict, refusal
		}
	}}
}

func details(control string, code tool.Code, instead string) registry.Variant {
	return retold(control, func(e *tool.Error) {
		if e.Code == code {
			e.Details = json.RawMessage(instead)
		}
	})
}

var firstViolation = retold("input", func(e *tool.Error) {
	var all struct {
		Violations []tool.Violation `json:"violations"`
	}
	if json.Unmarshal(e.Details, &all) == nil && len(all.Violations) > 1 {
		all.Violations = all.Violations[:1]
		e.Details, _ = json.Marshal(all)
	}
})

// Whatever is taken out of the registry or weakened in it, some case has to notice.
func TestCasesNoticeWhatIsWeakened(t *testing.T) {
	cases := read(t, text(t, production(t, everything)))
	contracts := func(change func(*contract.Contract)) registry.Variant {
		return registry.Variant{Contracts: func(own []contract.Contract) []contract.Contract {
			for i := range own {
				change(&own[i])
			}
			return own
		}}
	}
	outputSchema := func(asked, instead string) registry.Variant {
		return contracts(func(c *contract.Contract) {
			c.OutputSchema = json.RawMessage(strings.Replace(string(c.OutputSchema), asked, instead, 1))
		})
	}
	handler := func(name string, wrap func(registry.Handler) registry.Handler) registry.Variant {
		return registry.Variant{Backend: func(b *registry.Backend) { b.Handlers[name] = wrap(b.Handlers[name]) }}
	}
	for _, weak := range []struct {
		name    string
		variant registry.Variant
		by      string // the control whose cases have to notice
	}{
		{"the approver may be anybody", contracts(func(c *contract.Contract) { c.Approver = nil }), "approval"},
		{"the caller may approve", contracts(func(c *contract.Contract) {
			if c.Approver != nil {
				c.Approver = &contract.Approver{Permission: c.Approver.Permission}
			}
		}), "approval"},
		{"what has changed is not looked at", contracts(func(c *contract.Contract) { c.Precondition = false }), "approval"},
		{"a receipt lives a millisecond longer", contracts(func(c *contract.Contract) {
			if c.ReceiptTTL > 0 {
				c.ReceiptTTL += time.Millisecond
			}
		}), "idempotency"},
		{"a receipt lives a millisecond less", contracts(func(c *contract.Contract) {
			if c.ReceiptTTL > 0 {
				c.ReceiptTTL -= time.Millisecond
			}
		}), "idempotency"},
		{"no key", contracts(func(c *contract.Contract) { c.IdempotencyKey = "" }), "idempotency"},
		{"a burst of one more", contracts(func(c *contract.Contract) {
			if c.Rate != nil {
				c.Rate = &contract.Rate{Burst: c.Rate.Burst + 1, Every: c.Rate.Every}
			}
		}), "rate"},
		{"a token a millisecond early", contracts(func(c *contract.Contract) {
			if c.Rate != nil {
				c.Rate = &contract.Rate{Burst: c.Rate.Burst, Every: c.Rate.Every - time.Millisecond}
			}
		}), "rate"},
		{"a timeout of a millisecond more", contracts(func(c *contract.Contract) { c.Timeout = contract.DefaultTimeout + time.Millisecond }), "deadline"},
		{"a timeout of a millisecond less", contracts(func(c *contract.Contract) { c.Timeout = contract.DefaultTimeout - time.Millisecond }), "deadline"},
		{"everybody may know of everything", contracts(func(c *contract.Contract) { c.Visibility = nil }), "lookup"},
		{"the retired tool is back", registry.Variant{
			Contracts: func(own []contract.Contract) []contract.Contract {
				for i := range own {
					own[i].Lifecycle = nil
				}
				return own
			},
			Backend: func(b *registry.Backend) {
				b.Handlers[ticket.Wide{}.Definitions()[0].Name] = func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{}`), nil
				}
			},
		}, "lookup"},
		{"reading allows writing", contracts(func(c *contract.Contract) { c.Permission = "ticket:read" }), "permission"},
		{"errors have no rules", contracts(func(c *contract.Contract) { c.Errors = nil }), "handler"},
		{"an answer may be no object", outputSchema(`"type":"object","properties"`, `"properties"`), "output"},
		{"an answer may lack what its schema requires", outputSchema(`"required":["items","next_cursor"]`, `"required":["items"]`), "output"},
		{"a page may have an item more", outputSchema(`"maxItems":5`, `"maxItems":6`), "output"},
		{"no status is known", outputSchema(`"enum"`, `"examples"`), "output"},
		{"secrets are shown", contracts(func(c *contract.Contract) {
			if c.Output != nil {
				c.Output = &contract.Output{MaxBytes: c.Output.MaxBytes, NarrowBy: c.Output.NarrowBy}
			}
		}), "output"},
		{"a call costs nothing", contracts(func(c *contract.Contract) { c.Cost = 0 }), "budget"},
		{"a call costs one unit more", contracts(func(c *contract.Contract) { c.Cost++ }), "budget"},
		{"the session may do one thing more", registry.Variant{Budget: func(b tool.Budget) tool.Budget {
			if b.Proposals > 0 {
				b.Proposals++
			}
			return b
		}}, "budget"},
		{"the session lasts a millisecond longer", registry.Variant{Budget: func(b tool.Budget) tool.Budget {
			if b.Elapsed > 0 {
				b.Elapsed += time.Millisecond
			}
			return b
		}}, "budget"},
		{"an item of a page is missing", handler("list_tickets", func(work registry.Handler) registry.Handler {
			return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
				output, err := work(ctx, arguments)
				return json.RawMessage(strings.Replace(string(output), "T-110", "T-111", 1)), err
			}
		}), "handler"},
		{"any cursor is taken", handler("list_tickets", func(work registry.Handler) registry.Handler {
			return func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
				output, err := work(ctx, arguments)
				if err != nil {
					return json.RawMessage(`{"items":[],"next_cursor":null}`), nil
				}
				return output, nil
			}
		}), "handler"},
		{"of the tools that there are some are not told", details("lookup", tool.ToolNotFound, `{"available_tools":["get_ticket"]}`), "lookup"},
		{"of all that is wrong with arguments the first is told", firstViolation, "input"},
		{"of a call that has yet to be confirmed nothing is told", details("approval", tool.ApprovalMismatch, `{}`), "approval"},
		{"of an action under way nothing is told", details("idempotency", tool.ActionInProgress, `{}`), "idempotency"},
		{"arguments that the schema forbids are taken", registry.Variant{Backend: func(b *registry.Backend) { b.Controls = registry.Without("input") }}, "input"},
	} {
		t.Run(weak.name, func(t *testing.T) {
			surface, err := new(ticket.Production).Vary(weak.variant)
			if err != nil {
				t.Fatal(err)
			}
			if !noticed(t, surface, cases, weak.by) {
				t.Errorf("no case of %s notices", weak.by)
			}
		})
	}
	controls := registry.Controls()
	for i, c := range controls[1:] {
		switch c.Name {
		case "lookup":
			continue // it would be seen in no verdict: a name is either known or not
		case "idempotency":
			// A write passes the deadline and a read has no key: nothing differs but how
			// long a refused call takes.
			continue
		}
		t.Run(c.Name+" before "+controls[i].Name, func(t *testing.T) {
			swapped := slices.Clone(controls)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			surface, err := new(ticket.Production).Vary(registry.Variant{Backend: func(b *registry.Backend) { b.Controls = swapped }})
			if err != nil {
				t.Fatal(err)
			}
			if !noticed(t, surface, cases, "") {
				t.Error("no case notices")
			}
		})
	}
}
