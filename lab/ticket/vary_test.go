package ticket_test

import (
	"encoding/json"
	"testing"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/ticket"
	"agentlab/lab/tool"
)

// A variant differs in what it says and in nothing else, and leaves the surface
// that it was made of as it is.
func TestVary(t *testing.T) {
	call := tool.Call{
		Proposal: tool.Proposal{Name: "list_tickets", Arguments: json.RawMessage(`{"limit":9,"cursor":"x"}`)},
		Caller:   tool.Caller{ID: "a", Permissions: []string{"ticket:read"}},
	}
	for _, surface := range []registry.Varied{ticket.Typed{}, new(ticket.Production)} {
		answer := func(s tool.Surface) tool.Code {
			session, err := s.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if staged, ok := session.(tool.Staged); ok {
				staged.Arrange(tool.Budget{Cost: 2})
			}
			return session.Call(t.Context(), call).Error.Code
		}
		for _, test := range []struct {
			name    string
			variant registry.Variant
			want    tool.Code
		}{
			{"as it is", registry.Variant{}, tool.InvalidArguments},
			{"other contracts", registry.Variant{Contracts: func(own []contract.Contract) []contract.Contract {
				own[1].InputSchema = json.RawMessage(`{}`)
				return own
			}}, tool.InvalidCursor},
			{"another backend", registry.Variant{Backend: func(b *registry.Backend) {
				b.Controls = registry.Without("budget", "rate", "input")
			}}, tool.InvalidCursor},
		} {
			made, err := surface.Vary(test.variant)
			if err != nil {
				t.Fatal(err)
			}
			if got := answer(made); got != test.want || made.Name() != surface.Name() {
				t.Errorf("%s: %s of %s, want %s", test.name, got, made.Name(), test.want)
			}
		}
		if got := answer(surface); got != tool.InvalidArguments {
			t.Errorf("the surface itself now answers %s", got)
		}
	}
	if _, err := (ticket.Typed{}).Vary(registry.Variant{Contracts: func(own []contract.Contract) []contract.Contract {
		own[0].Timeout = time.Microsecond
		return own
	}}); err == nil {
		t.Error("contracts that do not hold together make a variant")
	}
	thrifty, err := new(ticket.Production).Vary(registry.Variant{Budget: func(b tool.Budget) tool.Budget {
		b.Cost--
		b.Proposals = 1
		return b
	}})
	if err != nil {
		t.Fatal(err)
	}
	session, err := thrifty.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	session.(tool.Staged).Arrange(tool.Budget{Proposals: 9})
	session.Call(t.Context(), call)
	if e := session.Call(t.Context(), call).Error; e.Code != tool.BudgetExhausted {
		t.Errorf("the second call is answered %s", e.Code)
	}
}
