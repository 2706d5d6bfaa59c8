package proposal

import (
	"bytes"
	"errors"
	"strings"

	"agentlab/lab/tool"
)

// The form of a fence is that of CommonMark 0.31.2, section 4.5 "Fenced code
// blocks" (spec.commonmark.org/0.31.2/#fenced-code-blocks), narrowed to what
// every reader takes the same way:
//
//   - A run of three or more backticks or tildes in prose begins its line. It
//     opens a block; what follows it on its line is the tag.
//   - A block ends with a line of the same run and nothing else. Another line
//     that begins with a run is a fence inside a fence.
//   - A block whose tag begins with the word json, in any case, is a
//     candidate. There may be one, and it must open with ```json, indented by
//     three spaces at most, and nothing else. Blocks of other tags, or of
//     none, are passed over.
//
// What CommonMark hides from fences (HTML blocks, comments) is read as prose.

// fence is a line that begins with a run of backticks or tildes.
type fence struct {
	at     int    // where the run begins
	indent string // what is before it on its line
	run    string
	tag    string // what is after it on its line, trimmed
}

// fenceIn is the fence of the line text[start:end], or nil.
func fenceIn(text []byte, start, end int) *fence {
	at := start
	for at < end && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	runEnd := at
	for runEnd < end && text[runEnd] == text[at] {
		runEnd++
	}
	if runEnd-at < 3 || text[at] != '`' && text[at] != '~' {
		return nil
	}
	return &fence{at, string(text[start:at]), string(text[at:runEnd]), strings.Trim(string(text[runEnd:end]), " \t")}
}

// shallow reports whether CommonMark takes a fence of this indentation for
// one, wherever it stands.
func (f *fence) shallow() bool { return strings.Trim(f.indent, " ") == "" && len(f.indent) <= 3 }

// isCandidate reports whether the tag is the word json, in any case, whatever
// follows it. jsonc, json5 and json-ld are other words.
func (f *fence) isCandidate() bool {
	word := len(f.tag)
	for i := range len(f.tag) {
		c := f.tag[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '+' || c == '.') {
			word = i
			break
		}
	}
	return strings.EqualFold(f.tag[:word], "json")
}

func (f *fence) closes(open *fence) bool {
	return f.run == open.run && f.tag == "" && (f.indent == open.indent || f.shallow())
}

func hasFence(text []byte) bool { return bytes.Contains(text, ticks) || bytes.Contains(text, tildes) }

var ticks, tildes = []byte("```"), []byte("~~~")

// strayRun is where the first run is in text[start:end], or -1.
func strayRun(text []byte, start, end int) int {
	at := -1
	for _, run := range [][]byte{ticks, tildes} {
		if i := bytes.Index(text[start:end], run); i >= 0 && (at < 0 || start+i < at) {
			at = start + i
		}
	}
	return at
}

// candidate finds the one block that may hold a proposal: what is between its
// fences. It is not found where there is none.
func candidate(text []byte) (start, end int, found bool, err error) {
	var open *fence
	for line := 0; line < len(text); {
		lineEnd, next := line, len(text)
		for lineEnd < len(text) && text[lineEnd] != '\n' && text[lineEnd] != '\r' {
			lineEnd++
		}
		if lineEnd < len(text) {
			next = lineEnd + 1
			if text[lineEnd] == '\r' && next < len(text) && text[next] == '\n' {
				next++
			}
		}
		f := fenceIn(text, line, lineEnd)
		switch {
		case open == nil && f == nil:
			if at := strayRun(text, line, lineEnd); at >= 0 {
				return 0, 0, false, fault(at, "a fence that does not begin its line")
			}
		case open == nil:
			if strings.ContainsAny(f.tag, "`~") {
				return 0, 0, false, fault(f.at, "a fence with more than a tag on its line")
			}
			if f.isCandidate() {
				if found {
					return 0, 0, false, fault(f.at, "a second JSON block")
				}
				if f.run != "```" || f.tag != "json" || !f.shallow() {
					return 0, 0, false, fault(f.at, "a JSON block must open with ```json and nothing else")
				}
				start, found = next, true
			}
			open = f
		case f == nil: // a line in a block
		case f.closes(open):
			if open.isCandidate() {
				end = line
			}
			open = nil
		default:
			return 0, 0, false, fault(f.at, "a fence inside a fence")
		}
		line = next
	}
	if open != nil {
		return 0, 0, false, fault(open.at, "a fence that is not closed")
	}
	return start, end, found, nil
}

func readFenced(text []byte) ([]tool.Proposal, error) {
	start, end, found, err := candidate(text)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, ErrNothing
	}
	if err := checkJSON(text[start:end]); err != nil {
		var inner *Malformed
		if errors.As(err, &inner) {
			inner.Offset += start
		}
		return nil, err
	}
	call, err := valueIn(text, start, end).object("the block")
	if err != nil {
		return nil, err
	}
	for _, m := range call.members {
		if m.name != "name" && m.name != "arguments" {
			return nil, fault(m.at, "the block has a field other than name and arguments")
		}
	}
	return one(call.proposal("arguments", value.embedded))
}
