package registry_test

import (
	"context"
	"encoding/json"
	"fmt"

	"agentlab/lab/contract"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

type refundInput struct {
	Order string `json:"order"`
}

type refundOutput struct {
	Refunded bool `json:"refunded"`
}

// A team puts a registry before a handler of its own: what a model sees and what
// the runtime holds is one contract, and the handler is a function of Go types.
func Example_writeOfTheTeamsOwn() {
	catalog, err := registry.Compile(contract.Contract{
		Definition: tool.Definition{
			Name:        "refund",
			Description: "Refunds an order, once.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"},"action_id":{"type":"string","minLength":1}},
				"required":["order","action_id"],"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"refunded":{"type":"boolean"}},"required":["refunded"]}`),
		},
		Permission: "orders:refund", Effect: contract.Write, Approval: contract.ApprovalRequired, IdempotencyKey: "action_id",
	})
	if err != nil {
		panic(err)
	}
	refunds := 0
	r, err := registry.New(catalog, registry.Backend{Handlers: map[string]registry.Handler{
		"refund": registry.Typed(func(_ context.Context, in refundInput) (refundOutput, error) {
			refunds++
			return refundOutput{true}, nil
		}),
	}})
	if err != nil {
		panic(err)
	}

	call := tool.Call{
		Proposal: tool.Proposal{Name: "refund", Arguments: json.RawMessage(`{"order":"7","action_id":"a"}`)},
		Caller:   tool.Caller{ID: "agent", Permissions: []string{"orders:refund"}},
	}
	fmt.Println(r.Call(context.Background(), call).Error)
	call.Approved = true
	for range 2 {
		result := r.Call(context.Background(), call)
		fmt.Printf("%s replayed: %t\n", result.Output, result.Replayed)
	}
	fmt.Println("refunds:", refunds)
	// Output:
	// approval_required: This call of refund was not approved.
	// {"refunded":true} replayed: false
	// {"refunded":true} replayed: true
	// refunds: 1
}
