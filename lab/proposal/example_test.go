package proposal_test

import (
	"errors"
	"fmt"

	"agentlab/lab/proposal"
)

func ExampleRead() {
	proposals, err := proposal.Read([]byte(`{"role": "assistant", "tool_calls": [
		{"id": "call_1", "type": "function", "function": {"name": "get_ticket", "arguments": "{\"ticket_id\":\"T-102\"}"}}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range proposals {
		fmt.Printf("%s %s\n", p.Name, p.Arguments)
	}
	// Output:
	// get_ticket {"ticket_id":"T-102"}
}

func ExampleRead_malformed() {
	_, err := proposal.Read([]byte(`{"type": "function_call", "name": "get_ticket", "arguments": "{\"id\":1,\"\\u0069d\":2}"}`))
	var malformed *proposal.Malformed
	if errors.As(err, &malformed) {
		fmt.Println(malformed.Code(), malformed.Offset)
		fmt.Println(malformed.Reason)
	}
	// Output:
	// malformed_proposal 72
	// in arguments: duplicate key
}

func ExampleReadAs() {
	_, err := proposal.ReadAs(proposal.Fenced, []byte("The ticket is closed already."))
	fmt.Println(errors.Is(err, proposal.ErrNothing))
	// Output:
	// true
}
