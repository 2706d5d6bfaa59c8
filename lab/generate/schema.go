package generate

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/boundary"
	"agentlab/lab/contract"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// schema writes the cases of the input schema, at most so many.
func (s *subject) schema(most int) error {
	if most <= 0 {
		return nil
	}
	if most > 1 && s.violations() {
		most--
	}
	set, err := s.probes(most)
	if err != nil {
		s.leaveOut("schema", err.Error())
		return nil
	}
	bare := s.src.Reach == Bare
	if bare && s.good == nil {
		s.plainCall()
		most--
	}
	probes := set.Probes
	if bare {
		// Its words do not tell whether it took arguments for valid.
		probes = spread(slices.DeleteFunc(probes, func(p boundary.Probe) bool { return p.Valid || p.Ambiguous }), most, s.o.Seed)
	}
	for i := range probes {
		s.probe(&probes[i])
	}
	for _, c := range set.Coverage {
		one := Covered{s.Name, c.Pointer, c.Keyword, c.Property, c.Inside, c.On, c.Outside}
		if bare {
			one.Inside, one.On, one.Outside = 0, 0, 0
			for _, p := range probes {
				if p.Pointer == c.Pointer && p.Keyword == c.Keyword && p.Property == c.Property {
					one.Outside++
				}
			}
		}
		s.coverage = append(s.coverage, one)
	}
	return nil
}

// probes are calls on both sides of the keywords, made of the call that succeeds.
func (s *subject) probes(most int) (*boundary.ProbeSet, error) {
	o := boundary.ProbeOptions{Foreign: s.Foreign, Seed: s.o.Seed, Pairwise: s.o.Pairwise}
	if s.good != nil {
		o.Base = s.good.arguments
	}
	switch {
	case most >= unlimited/2:
	case s.src.Reach == Bare:
		o.Max = 2 * most // of which one half is valid
	default:
		o.Max = most
	}
	return boundary.Probes(s.Definition, o)
}

// plainCall is the call that its schema describes, of which a person has to say what
// is right.
func (s *subject) plainCall() {
	arguments, err := boundary.Plain(s.Definition)
	if err != nil {
		return
	}
	l := line{Proposals: []proposal{{Name: &s.Name, Arguments: arguments}}, Todo: "Say what is right: ok, how many side effects, and what the output must hold."}
	l.Expected.OK, l.Expected.SideEffects = ptr(true), ptr(0)
	s.probed = s.write(s.probed, clause{"handler", "inputSchema", inside}, "plain", "Call "+s.Name+" as its schema describes it", l)
}

// probe writes the case of one probe.
func (s *subject) probe(p *boundary.Probe) {
	l := line{Caller: ptr(s.somebody()), Proposals: []proposal{{Name: &s.Name, Arguments: p.Arguments}}}
	words := "Refuse a call of "
	switch {
	case s.src.Reach == Bare:
		l.Expected.Steps = []*step{{OK: ptr(false)}}
		l = l.come(0)
	case p.Ambiguous:
		// What a line of JSON cannot hold is given as the words of a model.
		l.Proposals[0] = proposal{Raw: toolUse(s.Name, p.Arguments), Format: "anthropic-messages"}
		l.Expected.Steps = []*step{{OK: ptr(false), ErrorCode: tool.MalformedProposal, RefusedBy: byNone, HandlerRan: ptr(false), Retryable: ptr(false)}}
		l = l.come(0)
	case p.Valid:
		// What becomes of it then the schema does not know: it is not confirmed, and so
		// a write that has to be is not made.
		words = "Call "
		l.Expected.Accepted = ptr(true)
		if !s.Effect.Changes() || s.asksApproval() {
			l.Expected.SideEffects = ptr(0)
		}
	default:
		l.Approved = true
		l.Expected.Steps = []*step{refused("input", tool.InvalidArguments)}
		l = l.come(0)
	}
	// The name stays the same, whichever other cases there are.
	digest := fnv.New32a()
	digest.Write(p.Arguments)
	name := strings.Join([]string{lastName(p), string(p.Side), strconv.FormatUint(uint64(digest.Sum32()), 16)}, "-")
	s.probed = s.write(s.probed, clause{"input", placeOf(p), string(p.Side)}, name, words+s.Name+" "+p.Words, l)
}

func (s *subject) asksApproval() bool { return s.Approval != contract.ApprovalNever }

// placeOf is the clause that a probe tests: a pointer that ends with the keyword, and
// with the property that this is asked about.
func placeOf(p *boundary.Probe) string {
	place := p.Place()
	if p.Property != "" {
		place += "/" + jsonvalue.Token(p.Property)
	}
	if place == "" {
		place = "/"
	}
	return visible(place)
}

// lastName is what the clause of a probe is called in an id: the property and the
// keyword.
func lastName(p *boundary.Probe) string {
	steps := strings.Split(strings.Trim(placeOf(p), "/"), "/")
	return strings.Join(steps[max(0, len(steps)-2):], "-")
}

// toolUse is a call as a model writes it.
func toolUse(name string, arguments json.RawMessage) string {
	text := append([]byte(`{"type":"tool_use","id":"call_1","name":`), jsonvalue.AppendString(nil, name)...)
	text = append(text, `,"input":`...)
	text = append(text, arguments...)
	return string(append(text, '}'))
}
