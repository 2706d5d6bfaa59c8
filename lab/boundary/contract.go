package boundary

import (
	"bytes"
	"encoding/json"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Contract is what cases have to know of a server that is replayed twice: as it is,
// and behind a contract that makes its own demands of a call.
type Contract struct {
	Raw, Governed string      // the names of the surfaces, which differ
	Caller        tool.Caller // who may call everything
	// Keys are the arguments that the contract adds to tools, by the tools' names.
	Keys map[string]string
	// Reads are the tools that the contract takes for reads, whatever the server says
	// of them.
	Reads map[string]bool
}

// calls are the proposals of both surfaces.
type calls struct {
	raw, governed string
	proposals     []tool.Proposal
	keyed         []tool.Proposal
}

// MarshalJSON implements [json.Marshaler].
func (c *calls) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(map[string][]tool.Proposal{c.raw: c.proposals, c.governed: c.keyed})
	return out.Bytes(), err
}

// place makes a case one of both surfaces: with a caller that no control stops, so
// that what is refused is refused for the arguments.
func (c *Contract) place(l *line) error {
	if c == nil {
		return nil
	}
	l.Caller, l.Approved = &c.Caller, true
	l.Calls = &calls{raw: c.Raw, governed: c.Governed, proposals: l.Proposals}
	for _, p := range l.Proposals {
		if c.Reads[p.Name] {
			l.Expected.SideEffects = 0
		}
		if key := c.Keys[p.Name]; key != "" {
			arguments, err := jsonvalue.Decode(p.Arguments)
			if err != nil {
				return err
			}
			if members, ok := arguments.(object); ok {
				members[key] = l.ID[:min(len(l.ID), maxKey)]
				p.Arguments = jsonvalue.AppendCanonical(nil, members)
			}
		}
		l.Calls.keyed = append(l.Calls.keyed, p)
	}
	l.Proposals = nil
	if !l.Expected.OK {
		l.Expected.ErrorCode = tool.InvalidArguments
	}
	return nil
}

// maxKey is how long a key is made, in bytes.
const maxKey = 100
