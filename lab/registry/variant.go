package registry

import (
	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

// Variant says how a surface behind a registry is to differ from what it is:
// what a mutant of it is made of. What is nil stays as it is.
type Variant struct {
	// Contracts makes other contracts of the surface's own. The list is its to change,
	// and what the contracts point to is not.
	Contracts func([]contract.Contract) []contract.Contract
	// Backend changes what stands behind the contracts of one session, before [New]
	// has it. It is called for every session, so that what it puts there may remember
	// what happened in one.
	Backend func(*Backend)
	// Budget changes what a session may use up.
	Budget func(tool.Budget) tool.Budget
}

// Varied is a surface behind a registry that can be had as a variant of itself.
type Varied interface {
	tool.Surface
	// Contracts are those that stand before it.
	Contracts() []contract.Contract
	// Vary makes the variant. The error is that of [Compile].
	Vary(Variant) (tool.Surface, error)
}

// Compiled compiles the contracts of a variant.
func (v Variant) Compiled(own []contract.Contract) (*Catalog, error) {
	if v.Contracts != nil {
		own = v.Contracts(own)
	}
	return Compile(own...)
}

// Prepared is what stands behind the contracts of a session of a variant.
func (v Variant) Prepared(backend Backend) Backend {
	if backend.Controls == nil {
		backend.Controls = Controls()
	}
	if v.Backend != nil {
		v.Backend(&backend)
	}
	return backend
}

// Allowed is what a session of a variant may use up.
func (v Variant) Allowed(budget tool.Budget) tool.Budget {
	if v.Budget != nil {
		return v.Budget(budget)
	}
	return budget
}
