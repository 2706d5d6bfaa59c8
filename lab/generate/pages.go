package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// The members of a list that comes in pages.
const (
	cursorArgument = "cursor"
	limitArgument  = "limit"
	itemsMember    = "items"
	nextMember     = "next_cursor"
)

// maxPages is how many pages of a list are walked.
const maxPages = 200

// page is one page of a walk: the cursor that it was asked for with, and what it holds.
type page struct {
	cursor *string
	items  []json.RawMessage
}

// pages is of lists that come in pages: walked to their end with any limit, they hold
// the same items, each once. Cursors are known only to the surface, which is asked.
func (s *subject) pages(ctx context.Context) error {
	if !s.takes(cursorArgument) || !s.takes(limitArgument) || s.Effect.Changes() {
		return nil
	}
	if s.trial == nil {
		s.leaveOut("pages", "which cursors a list issues can only be learned by calling")
		return nil
	}
	surface := s.trial.surface
	if s.trial.whole != nil {
		surface = s.trial.whole
	}
	// One by one the items come in their order.
	single, complete, err := s.walk(ctx, surface, 1)
	if err != nil {
		return err
	}
	if !complete {
		s.leaveOut("pages", fmt.Sprintf("a walk comes to no end within %d pages", maxPages))
		return nil
	}
	var all []json.RawMessage
	issued := make(map[string]bool)
	for _, p := range single {
		all = append(all, p.items...)
		if p.cursor != nil {
			issued[*p.cursor] = true
		}
	}
	for _, limit := range []int{1, 2, 3, 4, 5, 7, 10, 50, 100} {
		walked, complete, err := s.walk(ctx, surface, limit)
		if err != nil {
			return err
		}
		if !complete || !s.takesLimit(limit) {
			continue
		}
		for _, p := range walked {
			if p.cursor != nil {
				issued[*p.cursor] = true
			}
		}
		s.walking(walked, all, limit)
	}
	s.strayCursors(issued)
	return nil
}

// takes reports whether the input schema knows a property.
func (s *subject) takes(name string) bool {
	var input struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(s.InputSchema, &input) == nil && input.Properties[name] != nil
}

func (s *subject) takesLimit(limit int) bool { return s.page(limit, nil) != nil }

// page are the arguments that ask for a page; nil where they are not valid.
func (s *subject) page(limit int, cursor *string) json.RawMessage {
	members := make(map[string]any, len(s.good.members)+2)
	for name, value := range s.good.members {
		members[name] = value
	}
	delete(members, cursorArgument)
	members[limitArgument] = json.Number(asText(limit))
	if cursor != nil {
		members[cursorArgument] = *cursor
	}
	if len(s.input.Validate(members)) > 0 {
		return nil
	}
	return jsonvalue.AppendCanonical(nil, members)
}

// walk follows the cursors of a list to its end. It reports whether it came there.
func (s *subject) walk(ctx context.Context, surface tool.Surface, limit int) (walked []page, complete bool, err error) {
	var cursor *string
	for range maxPages {
		arguments := s.page(limit, cursor)
		if arguments == nil {
			return nil, false, nil
		}
		o, err := s.trial.play(ctx, surface, &s.Contract, s.good.caller, s.proposal(arguments))
		if err != nil {
			return nil, false, err
		}
		if !o.last().OK() {
			return nil, false, nil
		}
		members := decodeObject(o.last().Output)
		var items []json.RawMessage
		var next *string
		if json.Unmarshal(members[itemsMember], &items) != nil || json.Unmarshal(orNull(members[nextMember]), &next) != nil {
			return nil, false, nil
		}
		walked = append(walked, page{cursor, items})
		if next == nil {
			return walked, true, nil
		}
		cursor = next
	}
	return nil, false, nil
}

func orNull(document json.RawMessage) json.RawMessage {
	if document == nil {
		return json.RawMessage("null")
	}
	return document
}

// walking is the case of one walk. What each page has to hold follows from all items
// in their order and from the limit, and not from the walk.
func (s *subject) walking(walked []page, all []json.RawMessage, limit int) {
	var arguments []json.RawMessage
	var steps []*step
	for i, p := range walked {
		from, to := min(i*limit, len(all)), min((i+1)*limit, len(all))
		arguments = append(arguments, s.page(limit, p.cursor))
		output := append([]byte(`{"items":[`), bytes.Join(raws(all[from:to]), []byte{','})...)
		last := to == len(all)
		steps = append(steps, &step{OK: ptr(true), OutputCount: ptr(to - from), HasNextCursor: ptr(!last), Output: append(output, "]}"...)})
	}
	// A list that ends too early, or too late, is a page short or long: the last one
	// that is asked for has to be the last.
	if want := max(1, (len(all)+limit-1)/limit); len(walked) != want {
		s.leaveOut("pages", fmt.Sprintf("with a limit of %d a walk has %d pages, where it should have %d: this is a fault of the list", limit, len(walked), want))
		return
	}
	if s.Output != nil && s.Output.MaxBytes > 0 && s.tooLarge(walked) {
		return
	}
	l := s.callsOf(arguments, steps...)
	s.add(clause{"handler", "next_cursor", inside}, "pages-of-"+asText(limit),
		fmt.Sprintf("Walk through %s with a limit of %d: nothing comes twice, nothing is missing, and there is an end", s.Name, limit), l.come(0))
}

// tooLarge reports whether a page of a walk could be larger than an answer may be.
func (s *subject) tooLarge(walked []page) bool {
	for _, p := range walked {
		size := len(`{"items":[],"next_cursor":""}`) + 20
		for _, item := range p.items {
			size += len(item) + 1
		}
		if size > s.Output.MaxBytes {
			return true
		}
	}
	return false
}

func raws(list []json.RawMessage) [][]byte {
	all := make([][]byte, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}

// strayCursors are those that no page has issued.
func (s *subject) strayCursors(issued map[string]bool) {
	last := ""
	for cursor := range issued {
		last = max(last, cursor)
	}
	for i, stray := range garbled(last) {
		arguments := s.page(1, &stray)
		if issued[stray] || arguments == nil {
			continue
		}
		refusal := refused("handler", tool.InvalidCursor)
		l := s.callsOf([]json.RawMessage{arguments}, refusal)
		s.add(clause{"handler", "cursor", outside}, "cursor-"+asText(i+1), "Go on in "+s.Name+" from a cursor that no list has issued", l.come(0))
	}
}
