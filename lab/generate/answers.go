package generate

import (
	"bytes"
	"hash/fnv"
	"strconv"
	"strings"

	"agentlab/lab/boundary"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// answers is of answers on both sides of the keywords of the output schema, which a
// backend is made to give. The schema decides which of them come out.
func (s *subject) answers() {
	base := s.good.whole
	if base == nil {
		base = s.good.output
	}
	if s.src.Reach < Staged || base == nil || s.OutputSchema == nil || s.times(1) < 0 {
		return
	}
	compiled, err := schema.Compile(s.OutputSchema)
	if err != nil {
		return // nothing could come out
	}
	// An answer is to its schema what arguments are to theirs.
	set, err := boundary.Probes(tool.Definition{Name: s.Name, InputSchema: s.OutputSchema}, boundary.ProbeOptions{Base: base, Seed: s.o.Seed})
	if err != nil {
		s.leaveOut("output schema", err.Error())
		return
	}
	// Arguments are always an object, and answers need not be.
	list := boundary.Probe{Arguments: []byte(`[]`), Keyword: "type", Side: boundary.Outside, Words: "is a list"}
	if len(compiled.Validate([]any{})) > 0 {
		set.Probes = append(set.Probes, list)
	}
	for _, a := range telling(compiled, set.Probes) {
		s.answer(a)
	}
}

// answer is a probe of an output schema, and what the schema says of it.
type answer struct {
	*boundary.Probe
	told []violation
}

// telling are the probes that say most: on each side of a keyword one, and of those
// that are forbidden one with which little else is wrong. Every listed value is kept.
func telling(by *schema.Schema, probes []boundary.Probe) []answer {
	var kept []answer
	places := make(map[string]int)
	for i := range probes {
		p := &probes[i]
		decoded, err := jsonvalue.Decode(p.Arguments)
		if p.Ambiguous || err != nil {
			continue // no backend answers with what is no JSON
		}
		a := answer{p, asked(by.Validate(decoded))}
		place := placeOf(p) + " " + string(p.Side)
		if p.Valid && p.Keyword == "enum" {
			place += string(p.Arguments)
		}
		at, has := places[place]
		switch {
		case !has:
			places[place] = len(kept)
			kept = append(kept, a)
		case len(a.told) < len(kept[at].told):
			kept[at] = a
		}
	}
	return kept
}

// asked are violations without their words.
func asked(all []tool.Violation) []violation {
	told := make([]violation, len(all))
	for i, v := range all {
		told[i] = violation{v.Pointer, v.Keyword}
	}
	return told
}

func (s *subject) answer(a answer) {
	step := succeeds()
	words := " while its backend answers as it may, and the answer "
	if !a.Valid {
		step = refused("output", tool.InvalidToolOutput).told(tool.NotApplied)
		if s.Effect.Changes() {
			step.told(tool.Applied)
		}
		if len(a.told) <= mostViolations {
			step.with("violations", detail{a.told})
		}
		words = " while its backend answers as it may not, and the answer "
	} else if s.Output != nil && s.Output.MaxBytes > 0 && len(a.Arguments) > s.Output.MaxBytes {
		return // another clause would refuse it
	}
	l := s.calls(step)
	s.fault(&l, 0).Output = bytes.Clone(a.Arguments)
	digest := fnv.New32a()
	digest.Write(a.Arguments)
	name := strings.Join([]string{"answer", lastName(a.Probe), string(a.Side), strconv.FormatUint(uint64(digest.Sum32()), 16)}, "-")
	s.add(clause{"output", "outputSchema" + placeOf(a.Probe), string(a.Side)}, name, "Call "+s.Name+words+a.Words, l.come(s.times(1)))
}
