// Package pin keeps the lock of a catalog: what a server said of its tools when
// somebody read it and found it good.
//
// Start with [Of], and [Lock.Encode] for the file; later [ReadFile] and
// [Lock.Changes] say which tool says something else now, and
// [Change.Differences] where. A description that changed after it was reviewed
// speaks to the model with an authority that nobody gave it.
//
// One invariant: Changes finds nothing exactly where a model would be told the
// same. The order of tools and of keys, the spelling of numbers and white space
// in schemas say nothing to a model; everything else in a name, a description,
// a schema or an annotation is a change.
//
// It does not say whether a change is a bad one, and it does not sign: who can
// write the file can pin anything. A digest that does not fit its text shows a
// careless hand, no attacker. What tool.Definition does not hold of a tool, such
// as a title, is not in its lock, and neither is what the tool does when it is
// called.
package pin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Version is that of the file.
const Version = 1

// The parts of a tool that are pinned, as [Change.Part] and the file name them.
const (
	Description  = "description"
	InputSchema  = "inputSchema"
	OutputSchema = "outputSchema"
	Annotations  = "annotations"
)

// parts are in the order in which they are written and told.
var parts = []string{Description, InputSchema, OutputSchema, Annotations}

// Lock is what a catalog said. It does not change. The zero Lock is that of a
// catalog without tools.
type Lock struct {
	tools []locked // sorted by name, each once
}

type locked struct {
	name  string
	parts map[string]part // those that there are
}

// part is one part of a tool, as a text whose digest counts.
type part struct {
	text string // a description, or JSON in its canonical form
	json bool   // else it is written as a text: it is one, or cannot stand in a document
}

// Of is the lock of a catalog. Bytes that are no UTF-8 count as what a model is
// sent in their place, U+FFFD. Of several tools of one name, which no catalog
// should have, one stays; which one does not depend on their order.
func Of(definitions []tool.Definition) Lock {
	tools := make([]locked, 0, len(definitions))
	for _, d := range definitions {
		t := locked{valid(d.Name), map[string]part{Description: {text: valid(d.Description)}}}
		for name, value := range map[string]json.RawMessage{InputSchema: d.InputSchema, OutputSchema: d.OutputSchema, Annotations: d.Annotations} {
			if len(value) > 0 {
				t.parts[name] = ofJSON(value)
			}
		}
		tools = append(tools, t)
	}
	slices.SortFunc(tools, func(a, b locked) int { return cmp.Or(strings.Compare(a.name, b.name), a.compare(b)) })
	return Lock{slices.CompactFunc(tools, func(a, b locked) bool { return a.name == b.name })}
}

func (t locked) compare(other locked) int {
	for _, name := range parts {
		if c := strings.Compare(t.parts[name].text, other.parts[name].text); c != 0 {
			return c
		}
	}
	return 0
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// ofJSON reads a part that is JSON. One that has no single reading is a text.
func ofJSON(value json.RawMessage) part {
	tree, err := jsonvalue.Decode(value)
	if err != nil {
		return part{text: valid(string(value))}
	}
	text := string(jsonvalue.AppendCanonical(nil, tree))
	// In the file it stands deeper, and the canonical form of a number is longer.
	_, err = jsonvalue.Decode([]byte(strings.Repeat("[", depth) + text + strings.Repeat("]", depth)))
	return part{text, err == nil}
}

// depth is that of a part's value in the file.
const depth = 4

func digest(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }

func (p part) digest() string { return digest([]byte(p.text)) }

// Digest identifies the whole catalog, "sha256:" and 64 hex digits.
func (l Lock) Digest() string {
	tools := make(map[string]any, len(l.tools))
	for _, t := range l.tools {
		digests := make(map[string]any, len(t.parts))
		for name, p := range t.parts {
			digests[name] = p.digest()
		}
		tools[t.name] = digests
	}
	return digest(jsonvalue.AppendCanonical(nil, tools))
}

// Names lists the tools, sorted.
func (l Lock) Names() []string {
	names := make([]string, len(l.tools))
	for i, t := range l.tools {
		names[i] = t.name
	}
	return names
}

// Encode writes the file: indented JSON, sorted by tool, with a newline at the
// end. Equal locks have equal files. What does not show itself in an editor is
// escaped, so that a reviewer sees that it is there. A file that is longer than
// [MaxFile] is not read back.
func (l Lock) Encode() []byte {
	out := fmt.Appendf(nil, `{"version":%d,"catalog":"%s","tools":{`, Version, l.Digest())
	for i, t := range l.tools {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonvalue.AppendString(out, t.name), ":{"...)
		for _, name := range parts {
			p, ok := t.parts[name]
			if !ok {
				continue
			}
			if name != Description {
				out = append(out, ',')
			}
			out = fmt.Appendf(out, `"%s":{"digest":"%s",`, name, p.digest())
			if p.json {
				out = append(append(out, `"value":`...), p.text...)
			} else {
				out = jsonvalue.AppendString(append(out, `"text":`...), p.text)
			}
			out = append(out, '}')
		}
		out = append(out, '}')
	}
	out = append(out, "}}"...)
	var indented bytes.Buffer
	// It cannot fail: what is indented was written here.
	_ = json.Indent(&indented, out, "", "  ")
	indented.WriteByte('\n')
	return escaped(indented.Bytes())
}

// escaped writes the runes of a JSON document that do not show themselves as
// escapes. They stand in its texts only.
func escaped(document []byte) []byte {
	out := make([]byte, 0, len(document))
	for len(document) > 0 {
		r, size := utf8.DecodeRune(document)
		switch {
		case r < 0x7f || unicode.IsPrint(r):
			out = append(out, document[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		document = document[size:]
	}
	return out
}
