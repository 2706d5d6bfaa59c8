package boundary

import (
	"agentlab/lab/jsonvalue"
)

// maxAllowed is how many calls of one tool are told that its schema wrongly
// allows.
const maxAllowed = 20

// allowed lists calls that are as wrong as refused ones, and that the schema lets
// pass: an optional flag that is set, but misspelt. A tool that drops what it
// does not know takes it for a call without the flag, and a preview becomes a
// write.
func (c *check) allowed(p *plain) []Call {
	c.left = maxMeetings
	r := &refusals{check: c, plain: p, known: make(map[string]bool)}
	for _, name := range declared(p.root) {
		r.known[name] = true
	}
	var calls []Call
	for _, name := range declared(p.root) {
		if _, given := p.arguments[name]; given || len(calls) == maxAllowed {
			continue
		}
		if call, ok := r.unnoticed(name); ok {
			calls = append(calls, call)
		}
	}
	return calls
}

// unnoticed misspells a flag, if the schema does not notice.
func (r *refusals) unnoticed(name string) (Call, bool) {
	if value, ok := r.good(name); !ok || value != true && value != false {
		return Call{}, false
	}
	if set := r.with(name, true); !r.spend(set) || r.faults(set) != nil {
		return Call{}, false
	}
	for _, spelling := range spellings(name) {
		if r.known[spelling] {
			continue
		}
		changed := r.with(spelling, true)
		if r.spend(changed) && r.faults(changed) == nil {
			return Call{"misspelt", name, "with the flag " + shown(name) + " misspelt as " + shown(spelling), jsonvalue.AppendCanonical(nil, changed)}, true
		}
	}
	return Call{}, false
}
