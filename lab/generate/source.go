package generate

import (
	"encoding/json"

	"agentlab/lab/contract"
	"agentlab/lab/tool"
)

// Reach is how much of a surface a case can arrange; each has what those before it
// have.
type Reach int

const (
	Bare       Reach = iota // a server without controls
	Ordered                 // controls, and calls in their order
	Supervised              // grants, a budget and parallel calls, on the real clock
	Staged                  // the time, and what goes wrong
)

// ReachOf is how much a session can arrange, behind contracts.
func ReachOf(session tool.Session) Reach {
	switch session.(type) {
	case tool.Staged:
		return Staged
	case tool.Supervised:
		return Supervised
	}
	return Ordered
}

// Source is what cases are made of.
type Source struct {
	// Contracts are those of the surface, and complete. Of a bare server they hold definitions
	// alone; see [Definitions].
	Contracts []contract.Contract
	Reach     Reach
	// Known are calls that are known to succeed.
	Known []Known
	// Trial is the surface itself, where its calls touch nothing real; nil: nothing
	// is called.
	Trial tool.Surface
	// Within are the folders that resources lie in, by tool and argument.
	Within map[string]map[string]string
	// Twice is set where cases are replayed on a server as it is, too.
	Twice *Twice
}

// Twice says how the calls of the surface become those of the server that it stands
// before.
type Twice struct {
	Raw, Governed string            // the names of the surfaces
	Added         map[string]string // by tool: the argument that the server does not get
}

// Known is a call that is known to succeed on a fresh backend.
type Known struct {
	Proposal tool.Proposal
	Caller   tool.Caller
	Effects  int // that it has; -1 where nobody has said
}

// Definitions are contracts of a bare server: they hold what the server says of its
// tools, and demand nothing.
func Definitions(definitions []tool.Definition) []contract.Contract {
	contracts := make([]contract.Contract, len(definitions))
	for i, d := range definitions {
		contracts[i] = contract.Contract{Definition: d, Foreign: true, Effect: contract.Write}
		if d.Hints().ReadsOnly() {
			contracts[i].Effect = contract.Read
		}
		if contracts[i].InputSchema == nil {
			contracts[i].InputSchema = json.RawMessage(`{}`)
		}
	}
	return contracts
}
