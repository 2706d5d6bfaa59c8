package generate

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"agentlab/lab/boundary"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// probe is a call whose validity the schema decides.
type probe struct {
	arguments json.RawMessage
	valid     bool
	of        keyword
	side      string
	words     string // completes "a call"
}

// probes are the calls of a tool's input schema.
func (s *subject) probes(base json.RawMessage, _ int) ([]probe, []Covered, error) {
	calls, err := boundary.Refused(s.Definition)
	if err != nil {
		return nil, nil, err
	}
	var all []probe
	for _, c := range calls {
		arguments, _ := s.valid(c.Arguments)
		all = append(all, probe{c.Arguments, arguments != nil, keyword{"/properties/" + jsonvalue.Token(c.Property), c.Fault}, outside, c.Wrong})
	}
	if base != nil {
		all = append(all, probe{base, true, keyword{"", "type"}, inside, "as it is described"})
	}
	return all, nil, nil
}

// schema writes the cases of the input schema, at most so many; 0: any number.
func (s *subject) schema(most int) ([]Covered, error) {
	var base json.RawMessage
	if s.good != nil {
		base = s.good.arguments
	}
	probes, coverage, err := s.probes(base, most)
	if err != nil {
		s.leaveOut("schema", err.Error())
		return nil, nil
	}
	for i := range probes {
		s.probe(&probes[i])
	}
	if s.src.Reach == Bare && s.good == nil {
		s.plainCall()
	}
	return coverage, nil
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
	s.add(clause{"handler", "inputSchema", inside}, "plain", "Call "+s.Name+" as its schema describes it", l)
}

// probe writes the case of one probe.
func (s *subject) probe(p *probe) {
	bare := s.src.Reach == Bare
	_, unread := jsonvalue.Decode(p.arguments)
	// What a line of JSON cannot hold is given as the words of a model.
	worded := unread != nil && !jsontext.Value(p.arguments).IsValid()
	if bare && (p.valid || worded) {
		return
	}
	l := line{Caller: ptr(s.somebody()), Proposals: []proposal{{Name: &s.Name, Arguments: p.arguments}}}
	words := "Call "
	switch {
	case bare:
		l.Expected.Steps = []*step{{OK: ptr(false)}}
		l = l.come(0)
	case worded:
		l.Proposals[0] = proposal{Raw: toolUse(s.Name, p.arguments), Format: "anthropic-messages"}
		l.Expected.Steps = []*step{{OK: ptr(false), ErrorCode: tool.MalformedProposal, RefusedBy: byNone, HandlerRan: ptr(false), Retryable: ptr(false)}}
		l = l.come(0)
	case p.valid:
		// What becomes of it then the schema does not know: it is not confirmed, and so
		// a write that has to be is not made.
		l.Expected.Accepted = ptr(true)
		if !s.Effect.Changes() || s.asksApproval() {
			l.Expected.SideEffects = ptr(0)
		}
	default:
		l.Approved = true
		l.Expected.Steps = []*step{refused("input", tool.InvalidArguments)}
		l = l.come(0)
	}
	if !p.valid {
		words = "Refuse a call of "
	}
	// The name stays the same, whichever other cases there are.
	digest := fnv.New32a()
	digest.Write(p.arguments)
	name := strings.Join([]string{lastName(p.of.pointer), p.of.name, p.side, strconv.FormatUint(uint64(digest.Sum32()), 16)}, "-")
	s.add(clause{"input", place(p.of.pointer, p.of.name), p.side}, name, words+s.Name+" "+p.words, l)
	written := &s.cases[len(s.cases)-1]
	written.probe, written.side = p.of, p.side
}

func (s *subject) asksApproval() bool { return s.Approval != "never" && s.Approval != "" }

// lastName is the last step of a pointer, or "root".
func lastName(pointer string) string {
	if at := strings.LastIndexByte(pointer, '/'); at >= 0 && at+1 < len(pointer) {
		return jsonvalue.TokenName(pointer[at+1:])
	}
	return "root"
}

// place is a pointer to a keyword.
func place(pointer, keyword string) string { return visible(pointer) + "/" + visible(keyword) }

// toolUse is a call as a model writes it.
func toolUse(name string, arguments json.RawMessage) string {
	text := append([]byte(`{"type":"tool_use","id":"call_1","name":`), jsonvalue.AppendString(nil, name)...)
	text = append(text, `,"input":`...)
	text = append(text, arguments...)
	return string(append(text, '}'))
}
