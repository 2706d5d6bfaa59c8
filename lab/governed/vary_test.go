package governed_test

import (
	"strings"
	"testing"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// A variant stands before the same server with other contracts, and what it says
// of outputs holds for the redaction too.
func TestVary(t *testing.T) {
	b := open(t, nil)
	secret := func(own []contract.Contract) []contract.Contract {
		for i := range own {
			own[i].Output = &contract.Output{Secret: []string{"name"}}
		}
		return own
	}
	made, err := b.surface.Vary(registry.Variant{
		Contracts: secret,
		Budget:    func(tool.Budget) tool.Budget { return tool.Budget{Proposals: 1} },
	})
	if err != nil {
		t.Fatal(err)
	}
	session, err := made.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	session.(tool.Supervised).Arrange(tool.Budget{Proposals: 9})
	call := func(name, arguments string) tool.Call {
		return tool.Call{
			Proposal: tool.Proposal{Name: name, Arguments: []byte(arguments)},
			Caller:   tool.Caller{ID: "a", Permissions: []string{"notes:read", "notes:write"}}, Approved: true,
		}
	}
	pending, _ := session.(tool.Supervised).Pending(t.Context(), call("put", `{"name":"hidden","text":"x","action_id":"key-1"}`))
	if strings.Contains(pending.Preview, "hidden") || !strings.Contains(pending.Preview, registry.Redacted) {
		t.Errorf("a person is shown %s", pending.Preview)
	}
	session.Call(t.Context(), call("get", `{"name":"n"}`))
	if e := session.Call(t.Context(), call("get", `{"name":"n"}`)).Error; e == nil || e.Code != tool.BudgetExhausted {
		t.Errorf("the second call is answered %v", e)
	}
	for _, c := range b.surface.Contracts() {
		if c.Output != nil && len(c.Output.Secret) > 0 {
			t.Errorf("the contract of %s has changed", c.Name)
		}
	}
}
