package generate

import (
	"context"
	"encoding/json"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/registry"
	"agentlab/lab/tool"
)

// outputs is of answers at the limit of their size, and of what is not in them.
func (s *subject) outputs(ctx context.Context) error {
	if s.Output == nil {
		return nil
	}
	s.secrets()
	if s.Output.MaxBytes == 0 {
		return nil
	}
	if s.trial == nil || s.trial.whole == nil || s.Effect.Changes() || s.src.Reach < Ordered {
		s.leaveOut("output max_bytes", "how large an answer is can only be learned by calling")
		return nil
	}
	return s.sizes(ctx)
}

// sizes finds the largest answer that is small enough, and the smallest that is not.
func (s *subject) sizes(ctx context.Context) error {
	type sized struct {
		arguments json.RawMessage
		bytes     int
	}
	var fits, exceeds *sized
	tried := []json.RawMessage{s.good.arguments}
	for _, k := range s.src.Known {
		if k.Proposal.Name == s.Name {
			if a, _ := s.valid(k.Proposal.Arguments); a != nil {
				tried = append(tried, a)
			}
		}
	}
	if set, err := s.probes(maxSized); err == nil {
		for _, p := range set.Probes {
			if p.Valid {
				tried = append(tried, canonical(p.Arguments))
			}
		}
	}
	for _, arguments := range tried {
		o, err := s.trial.play(ctx, s.trial.whole, &s.Contract, s.good.caller, s.proposal(arguments))
		if err != nil {
			return err
		}
		result := o.last()
		if !result.OK() {
			continue
		}
		one := &sized{arguments, len(result.Output)}
		switch {
		case one.bytes <= s.Output.MaxBytes && (fits == nil || one.bytes > fits.bytes):
			fits = one
		case one.bytes > s.Output.MaxBytes && (exceeds == nil || one.bytes < exceeds.bytes):
			exceeds = one
		}
	}
	if fits != nil {
		side := inside
		if fits.bytes == s.Output.MaxBytes {
			side = on
		}
		l := s.callsOf([]json.RawMessage{fits.arguments}, succeeds())
		s.add(clause{"output", "output/max_bytes", side}, "max_bytes-fits", "Call "+s.Name+" where its answer is small enough", l.come(0))
	}
	if exceeds == nil {
		s.leaveOut("output max_bytes outside", "no call is known whose answer is too large")
		return nil
	}
	large := refused("output", tool.OutputTooLarge).with("bytes", count(int64(exceeds.bytes))).
		with("max_bytes", count(int64(s.Output.MaxBytes))).with("narrow_by", list(s.Output.NarrowBy))
	l := s.callsOf([]json.RawMessage{exceeds.arguments}, large)
	s.add(clause{"output", "output/max_bytes", outside}, "max_bytes-exceeds", "Call "+s.Name+" where its answer is too large", l.come(0))
	return nil
}

// maxSized is how many calls are tried for the sizes of their answers.
const maxSized = 200

// secrets is of fields that never leave the runtime.
func (s *subject) secrets() {
	redaction := registry.RedactionBy(s.Output)
	if !redaction.Any() || s.good.whole == nil {
		return
	}
	whole, err := jsonvalue.Decode(s.good.whole)
	shown, err2 := jsonvalue.Decode(s.good.output)
	if err != nil || err2 != nil {
		return
	}
	part, found := secretPart(redaction, whole, shown)
	if !found {
		s.leaveOut("output secret", "the answer of the call that is known to succeed holds none")
		return
	}
	passes := succeeds()
	passes.Output = jsonvalue.AppendCanonical(nil, part)
	l := s.calls(passes)
	s.add(clause{"output", "output/secret", inside}, "", "Call "+s.Name+" and see none of its secrets", l.come(s.times(1)))
}

// secretPart is what an answer has to hold in place of its secrets: a marker. Which
// one is the surface's own; where it shows something else, the marker of no key is
// asked for.
func secretPart(r registry.Redaction, whole, shown any) (part any, found bool) {
	switch w := whole.(type) {
	case map[string]any:
		members := make(map[string]any)
		has, _ := shown.(map[string]any)
		for name, member := range w {
			if member != nil && r.Has(name) {
				marker, ok := has[name].(string)
				if !ok || !strings.HasPrefix(marker, strings.TrimSuffix(registry.Redacted, "]")) {
					marker = registry.Redacted
				}
				members[name], found = marker, true
				continue
			}
			if inner, some := secretPart(r, member, has[name]); some {
				members[name], found = inner, true
			}
		}
		return members, found
	case []any:
		has, _ := shown.([]any)
		if len(has) != len(w) {
			return nil, false
		}
		items := make([]any, len(w))
		for i := range w {
			inner, some := secretPart(r, w[i], has[i])
			if items[i] = has[i]; some {
				items[i], found = inner, true
			}
		}
		return items, found
	}
	return shown, false
}
