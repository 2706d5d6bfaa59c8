package governed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"agentlab/lab/contract"
	"agentlab/lab/governed"
	"agentlab/lab/overlay"
	"agentlab/lab/tool"
)

// mailbox is a surface without any control: it sends whatever it is asked to, as
// often as it is asked.
type mailbox struct{ sent int }

func (m *mailbox) Name() string                               { return "mailbox" }
func (m *mailbox) Definitions() []tool.Definition             { return nil }
func (m *mailbox) Open(context.Context) (tool.Session, error) { return m, nil }
func (m *mailbox) Effects() int                               { return m.sent }
func (m *mailbox) Close() error                               { return nil }
func (m *mailbox) Call(context.Context, tool.Call) tool.Result {
	m.sent++
	return tool.Result{Output: json.RawMessage(`{"sent":true}`)}
}

// A repeat is answered and not sent again, and a call without the permission does
// not reach the mailbox.
func ExampleOver() {
	send := overlay.Tool{
		AddedKey: "action_id", // the model's; the mailbox does not know it
		Contract: contract.Contract{
			Definition: tool.Definition{
				Name: "send",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"action_id":{"type":"string"}},
					"required":["to","action_id"],"additionalProperties":false}`),
			},
			Permission:     "mail:send",
			Effect:         contract.Write,
			IdempotencyKey: "action_id",
			Timeout:        10 * time.Second,
			Foreign:        true,
		},
	}
	box := &mailbox{}
	surface, err := governed.Over(box, []overlay.Tool{send}, governed.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := surface.Open(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	call := tool.Call{
		Proposal: tool.Proposal{Name: "send", Arguments: json.RawMessage(`{"to":"a@example.com","action_id":"1"}`)},
		Caller:   tool.Caller{ID: "clerk", Permissions: []string{"mail:send"}},
	}
	for range 2 {
		result := session.Call(context.Background(), call)
		fmt.Printf("%s replayed: %t\n", result.Output, result.Replayed)
	}
	call.Caller.Permissions = nil
	fmt.Println(session.Call(context.Background(), call).Error)
	fmt.Println("sent:", box.sent)
	// Output:
	// {"sent":true} replayed: false
	// {"sent":true} replayed: true
	// permission_denied: The caller lacks mail:send.
	// sent: 1
}
