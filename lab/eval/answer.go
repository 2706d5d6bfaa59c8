package eval

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"agentlab/lab/tool"
)

// What is graded of an answer as a server gave it. A surface of the lab's own
// has no such answer: there a failure is an error, the output is the content,
// and no schema of a server stands behind it. Where a server gave none (a
// JSON-RPC error, a call that took too long), there is nothing to compare.

// answered reports whether somebody answered the call.
func (s *Step) answered() bool {
	return s.Reply != nil || !s.Observed() && (s.OK() || s.Error.Category != tool.Protocol)
}

// accepted is whether the arguments of the call were taken for valid. Of one that
// was refused before anybody looked at them that is not known, nor of one that a
// server failed in its own words.
func (s *Step) accepted() json.RawMessage {
	byArguments, _ := tool.Lookup(tool.InvalidArguments)
	for _, d := range s.Trace.Decisions {
		if d.Control == byArguments.Control {
			return boolean(d.Verdict != tool.Refuse)
		}
	}
	switch {
	case s.OK() && len(s.Trace.Decisions) == 0:
		return yes
	case s.OK():
		return null
	case s.Error.Code == tool.InvalidArguments, s.Error.Code == tool.ToolNotFound:
		return no
	}
	return null
}

func (s *Step) isError() json.RawMessage {
	switch {
	case !s.answered():
		return null
	case s.Reply != nil:
		return boolean(s.Reply.IsError)
	}
	return boolean(!s.OK())
}

func (s *Step) schemaValid() json.RawMessage {
	if s.Reply == nil || s.Reply.SchemaValid == nil {
		return null
	}
	return boolean(*s.Reply.SchemaValid)
}

// contains finds a text in one of the texts of the answer, and shows where, or
// else how they begin.
func (s *Step) contains(sought string) (bool, json.RawMessage) {
	var texts []string
	switch {
	case s.Reply != nil:
		texts = s.Reply.Texts
	case s.OK() && !s.Observed():
		texts = []string{string(s.Output)}
	}
	for _, content := range texts {
		if at := strings.Index(content, sought); at >= 0 {
			return true, text(excerpt(content, at))
		}
	}
	if len(texts) == 0 {
		return false, null
	}
	return false, text(excerpt(strings.Join(texts, "\n"), 0))
}

// within compares the size of the answer with the most that it may be.
func (s *Step) within(most int) (bool, json.RawMessage) {
	size := len(s.Output)
	switch {
	case s.Reply != nil:
		size = s.Reply.Bytes
	case !s.OK():
		return false, null
	}
	return size <= most, number(size)
}

// maxExcerpt is how many characters of a text a grade shows, and beforeFound how
// many bytes of them at the most stand before what was found.
const (
	maxExcerpt  = 200
	beforeFound = 40
)

// excerpt cuts a text so that what stands at a byte of it is shown.
func excerpt(s string, at int) string {
	start := max(0, at-beforeFound)
	for start > 0 && start < at && !utf8.RuneStart(s[start]) {
		start++
	}
	cut := s[start:]
	left, right, characters := "", "", 0
	if start > 0 {
		left = "…"
	}
	for i := range cut {
		if characters++; characters > maxExcerpt {
			cut, right = cut[:i], "…"
			break
		}
	}
	return left + cut + right
}
