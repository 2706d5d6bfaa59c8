package generate

import (
	"bytes"

	"agentlab/lab/dataset"
	"agentlab/lab/tool"
)

// KnownCalls finds the calls of a case that it expects to succeed on the candidate,
// and that come first on its fresh backend: the first one, or one that is repeated.
// Nobody has to have confirmed it; that is for the contract to say.
func KnownCalls(c *dataset.Case) []Known {
	if c.Todo != "" || len(c.Candidate) == 0 {
		return nil
	}
	first := &c.Candidate[0]
	if first.Setting != nil && (first.Raw != nil || first.Fault != (tool.Fault{})) {
		return nil
	}
	known := Known{
		Proposal: tool.Proposal{Name: first.Name, Arguments: first.Arguments},
		Caller:   callerOf(c, first),
		Effects:  -1,
	}
	e := &c.Expected
	switch {
	case len(e.Steps) > 0 && e.Steps[0] != nil && e.Steps[0].OK != nil:
		if !*e.Steps[0].OK {
			return nil
		}
		if e.Steps[0].SideEffectCount != nil {
			known.Effects = *e.Steps[0].SideEffectCount
		}
	case e.OK == nil || !*e.OK || !repeated(c.Candidate):
		return nil
	}
	if len(c.Candidate) == 1 && e.SideEffectCount != nil {
		known.Effects = *e.SideEffectCount
	}
	// A repeat that is answered from its receipt adds nothing.
	if e.Replayed != nil && *e.Replayed && repeated(c.Candidate) && e.SideEffectCount != nil {
		known.Effects = *e.SideEffectCount
	}
	return []Known{known}
}

// repeated reports whether all proposals are the same call.
func repeated(list []dataset.Proposal) bool {
	for i := range list {
		if list[i].Name != list[0].Name || !bytes.Equal(list[i].Arguments, list[0].Arguments) {
			return false
		}
	}
	return true
}

func callerOf(c *dataset.Case, p *dataset.Proposal) tool.Caller {
	switch {
	case p.Setting != nil && p.Caller != nil:
		return *p.Caller
	case c.Stage != nil && c.Stage.Caller != nil:
		return *c.Stage.Caller
	}
	return tool.Caller{Permissions: c.Permissions}
}
