package boundary

import (
	"encoding/json"
	"errors"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Side says where a probe lies, seen from the keyword that it tests.
type Side string

// The sides. On is exactly on a bound and valid; a keyword that has no bound
// has the other two.
const (
	Inside  Side = "inside"
	On      Side = "on"
	Outside Side = "outside"
)

// Probe is a call whose validity the schema decides.
type Probe struct {
	// Arguments are one JSON object. Exactly these bytes are proposed: they may
	// say 1.0, name a property twice or hold half of a surrogate pair.
	Arguments json.RawMessage
	// Valid is what lab/schema says of them, and never what was intended.
	// Arguments that have no single reading are not valid.
	Valid bool
	// Ambiguous arguments have no single reading by lab/jsonvalue; a cases file
	// cannot hold them as arguments.
	Ambiguous bool
	// Pointer and Keyword are the clause of the input schema that is tested:
	// /properties/limit and maximum. A reference is followed, to where the keyword
	// stands. The keyword is empty where the schema says nothing that is tested,
	// and json where the text is no JSON with one reading.
	Pointer, Keyword string
	// Property is the name that a keyword which lists names is asked about:
	// required, dependentRequired and their like.
	Property string
	Side     Side
	// Words complete "a call": "whose property limit is one above its maximum".
	Words string
}

// Place is the clause as one JSON Pointer that ends with the keyword.
func (p Probe) Place() string { return place(p.Pointer, p.Keyword) }

func place(pointer, keyword string) string {
	if keyword == "" {
		return pointer
	}
	return pointer + "/" + keyword
}

// Covered counts the probes of one keyword, for each side of it. One probe can
// lie on a side of several keywords.
type Covered struct {
	Pointer, Keyword, Property string // as in [Probe]
	Inside, On, Outside        int
}

// Both reports whether there are valid and invalid calls for the keyword.
func (c Covered) Both() bool { return c.Inside+c.On > 0 && c.Outside > 0 }

// ProbeSet is what [Probes] made for one tool.
type ProbeSet struct {
	Probes []Probe
	// Coverage has every keyword of the schema that a call can meet, and can
	// break, in the order of the schema's names. One that stands in a schema
	// which only decides about another (not, if, contains, propertyNames) is not
	// in it.
	Coverage []Covered
}

// ProbeOptions say what probes are made of.
type ProbeOptions struct {
	Base     json.RawMessage // a valid call; nil: the plain one
	Foreign  bool            // the schema is a server's, else one of our own
	Seed     uint64          // of every choice that is left open
	Max      int             // how many at most; 0: all
	Pairwise bool            // every pair of optional properties with, without and with one of them
}

// Probes makes calls on both sides of every keyword of a tool's input schema,
// each the base call changed in one place. It is deterministic for the options.
// A base that the schema refuses is an error, and so is a schema for which
// there is none. What cannot be made in bounded work and size is left out, and
// the coverage tells. The rules of the package comment for values hold for
// probes too, except that a value may say nothing.
func Probes(d tool.Definition, o ProbeOptions) (*ProbeSet, error) {
	c, err := study(d, o.Foreign)
	if err != nil {
		return nil, err
	}
	base, err := c.base(o.Base)
	if err != nil {
		return nil, err
	}
	c.left = maxProbing / 2
	w := newWalk(c)
	w.rows.reach(c.doc.root, "")
	w.begin(base)
	if o.Pairwise {
		w.pairwise(o.Seed)
	}
	c.left = maxProbing / 2
	j := newJudge(w, base)
	j.all()
	return j.chosen(o.Max, o.Seed), nil
}

// Limits of the probes of one tool.
const (
	maxProbing    = 24_000_000 // as maxMeetings
	maxProbes     = 100_000
	maxProbeBytes = 64 << 20
)

// base reads the base call, or makes one.
func (c *check) base(given json.RawMessage) (object, error) {
	if given == nil {
		p, err := c.plain()
		if err != nil {
			return nil, err
		}
		return p.arguments, nil
	}
	decoded, err := jsonvalue.Decode(given)
	if err != nil {
		return nil, err
	}
	arguments, ok := decoded.(object)
	if !ok {
		return nil, errors.New("the base call's arguments are no object")
	}
	if found := c.faults(arguments); found != nil {
		return nil, unmet(found[0].Pointer, "the base call is invalid: %s", clip(found[0].Message, 200))
	}
	return arguments, nil
}
