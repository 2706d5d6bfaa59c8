package main

import (
	"agentlab/lab/boundary"
	"agentlab/lab/contract"
	"agentlab/lab/overlay"
	"agentlab/lab/pin"
	"agentlab/lab/suite"
	"agentlab/lab/tool"
)

const (
	// governedName is what the server behind its first contract is called.
	governedName = "governed"
	// firstContract is where the contract goes.
	firstContract = "contract.yaml"
)

// first are the cases, and with --contract the contract file and the lock.
func (o *initCommand) first(definitions []tool.Definition) (texts [][]byte, err error) {
	if !o.contract {
		cases, err := boundary.Cases(definitions, nil)
		return [][]byte{cases}, err
	}
	start := overlay.Start{Name: o.name, Pin: defaultLock, Key: "action_id"}
	if o.url == "" {
		start.Within, start.NamesPath = suite.SandboxVariable, boundary.NamesPath
	}
	behind := boundary.Contract{Raw: o.name, Governed: governedName, Caller: tool.Caller{ID: "agent"},
		Keys: make(map[string]string), Reads: make(map[string]bool)}
	for _, effect := range contract.Effects() {
		behind.Caller.Permissions = append(behind.Caller.Permissions, start.Permission(effect))
	}
	for _, c := range start.First(definitions) {
		behind.Keys[c.Tool] = c.Key // none for most reads
		behind.Reads[c.Tool] = c.Unfit == "" && c.Effect == contract.Read
	}
	cases, err := boundary.Cases(definitions, &behind)
	if err != nil {
		return nil, err
	}
	return [][]byte{cases, start.Write(definitions), pin.Of(definitions).Encode()}, nil
}
