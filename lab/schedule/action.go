package schedule

import (
	"encoding/json"
	"fmt"
	"slices"

	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/receipt"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// Subject is a surface behind a registry whose parts can be exchanged. Its
// sessions must go by a [registry.Simulated] clock.
type Subject = registry.Varied

// Action is a call of a tool that works on a fresh backend, and who confirms it.
type Action struct {
	Proposal tool.Proposal
	Caller   tool.Caller
	// Approver confirms it where the contract asks for grants; the zero value stands
	// for somebody who may by the contract.
	Approver tool.Caller
}

// approver is somebody who may confirm calls by a contract.
func approver(c *contract.Contract) tool.Caller {
	a := tool.Caller{ID: "approver", Permissions: []string{}}
	if c.Approver != nil && c.Approver.Permission != "" {
		a.Permissions = append(a.Permissions, c.Approver.Permission)
	}
	return a
}

// of is the action that a call with these arguments is, and its canonical form.
func of(c *contract.Contract, caller, arguments string) (receipt.Key, string, error) {
	value, err := jsonvalue.Decode([]byte(arguments))
	if err != nil {
		return receipt.Key{}, "", fmt.Errorf("the arguments of %s: %w", c.Name, err)
	}
	object, _ := value.(map[string]any)
	word, ok := object[c.IdempotencyKey].(string)
	if !ok {
		return receipt.Key{}, "", fmt.Errorf("the arguments of %s have no %q", c.Name, c.IdempotencyKey)
	}
	return receipt.Key{Tool: c.Name, Caller: caller, Value: word}, string(jsonvalue.AppendCanonical(nil, value)), nil
}

// others are the arguments of a call with one text changed, which is neither the
// key nor the name of a resource: one of them for each such text, in the order of
// their names.
func others(c *contract.Contract, arguments json.RawMessage) []json.RawMessage {
	value, err := jsonvalue.Decode(arguments)
	object, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	var all []json.RawMessage
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text, ok := object[name].(string)
		if !ok || name == c.IdempotencyKey ||
			slices.ContainsFunc(c.Resources, func(r contract.Resource) bool { return r.Argument == name }) {
			continue
		}
		object[name] = text + " (other)"
		all = append(all, jsonvalue.AppendCanonical(nil, object))
		object[name] = text
	}
	return all
}
