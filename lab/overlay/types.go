// Package overlay holds what a contract file lays over the tools of a server.
package overlay

import (
	"encoding/json"
	"fmt"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Tool is a tool of a server with the contract that was laid over it.
type Tool struct {
	Contract     contract.Contract // complete; its definition is the model's view
	AddedKey     string            // the argument that upstream does not get; empty where there is none
	Within       map[string]string // by argument: the folder, which may begin with ${SANDBOX}
	Precondition *Precondition     // nil where there is none
	Rules        []ErrorRule
}

// Precondition is the call that tells the version of what another works on.
type Precondition struct {
	Tool      string
	Arguments []Argument
	Field     string // of its answer
}

// Argument is one of a precondition's call.
type Argument struct {
	Name  string
	From  string          // the argument of the call; empty where Value is given
	Value json.RawMessage // as it is
}

// ErrorRule gives what a server says of a failure a stable code.
type ErrorRule struct {
	Match      string          // what its text holds
	Part       json.RawMessage // of an answer that it calls a success
	Begins     string          // of a text of such an answer
	Code       tool.Code
	Category   tool.Category
	Retryable  bool
	NextAction string // empty stands for that of the code or category
}

// Call returns the arguments of the precondition's own call.
func (p *Precondition) Call(arguments json.RawMessage) (json.RawMessage, error) {
	value, err := jsonvalue.Decode(arguments)
	if err != nil {
		return nil, err
	}
	given, _ := value.(map[string]any)
	call := make(map[string]any, len(p.Arguments))
	for _, a := range p.Arguments {
		if a.From == "" {
			if call[a.Name], err = jsonvalue.Decode(a.Value); err != nil {
				return nil, fmt.Errorf("argument %s: %w", a.Name, err)
			}
		} else if value, there := given[a.From]; there {
			call[a.Name] = value
		}
	}
	return jsonvalue.AppendCanonical(nil, call), nil
}
