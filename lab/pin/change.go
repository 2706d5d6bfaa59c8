package pin

import (
	"strings"

	"agentlab/lab/tool"
)

// Kind is what became of a tool or of a part of it.
type Kind string

const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Change is one tool that came or went, or one part of a tool that says
// something else than the lock. The texts are whole and as the server has them:
// they may be long and hold anything.
type Change struct {
	Tool string
	Part string // "" where it is the tool as a whole
	Kind Kind
	// Old and New are the texts of the part, JSON in its canonical form; "" where
	// there was or is none. Of a whole tool they are its description.
	Old, New string

	json bool // what there is of the texts is JSON
}

// Changes lists what a catalog says else than the lock, by tool and then by
// part: description, inputSchema, outputSchema, annotations.
func (l Lock) Changes(definitions []tool.Definition) []Change {
	var changes []Change
	before, now := l.tools, Of(definitions).tools
	for len(before) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(before) > 0 && before[0].name < now[0].name:
			changes = append(changes, Change{Tool: before[0].name, Kind: Removed, Old: before[0].parts[Description].text})
			before = before[1:]
		case len(before) == 0 || now[0].name < before[0].name:
			changes = append(changes, Change{Tool: now[0].name, Kind: Added, New: now[0].parts[Description].text})
			now = now[1:]
		default:
			changes = append(changes, before[0].changes(now[0])...)
			before, now = before[1:], now[1:]
		}
	}
	return changes
}

func (t locked) changes(now locked) []Change {
	var changes []Change
	for _, name := range parts {
		before, had := t.parts[name]
		after, has := now.parts[name]
		if had == has && before.text == after.text {
			continue
		}
		c := Change{Tool: t.name, Part: name, Kind: Changed, Old: before.text, New: after.text}
		c.json = (before.json || !had) && (after.json || !has)
		switch {
		case !had:
			c.Kind = Added
		case !has:
			c.Kind = Removed
		}
		changes = append(changes, c)
	}
	return changes
}

// Difference is one place at which two texts differ, with as much of both as a
// reader needs to see it.
type Difference struct {
	Pointer  string // JSON Pointer into the part, in the newer where both have it; "" is the whole
	Old, New string // JSON where the part is; "" where there is none
}

// Limits of what is told of a change.
const (
	maxDifferences = 20
	maxShown       = 160 // bytes of a text
	maxBefore      = 60  // of these, before the first byte that differs
)

// Differences tells what a changed part differs in, in the order of the places,
// and of how many places it does not. Every text is cut to what surrounds the
// first difference.
func (c Change) Differences() (told []Difference, more int) {
	if c.json {
		told = differences(c.Old, c.New)
	} else {
		told = []Difference{{Old: c.Old, New: c.New}}
	}
	if len(told) > maxDifferences {
		told, more = told[:maxDifferences], len(told)-maxDifferences
	}
	for i := range told {
		told[i].Old, told[i].New = around(told[i].Old, told[i].New)
		told[i].Pointer = cut(told[i].Pointer)
	}
	return told, more
}

// around cuts two texts to where they first differ. Neither is cut inside a
// character.
func around(a, b string) (string, string) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	start := max(0, same-maxBefore)
	if max(len(a), len(b)) <= maxShown {
		start = 0
	}
	for start > 0 && isInside(a, start) {
		start--
	}
	return window(a, start), window(b, start)
}

const ellipsis = "…"

func window(text string, start int) string {
	end := min(start+maxShown, len(text))
	for isInside(text, end) {
		end--
	}
	shown := text[start:end]
	if start > 0 {
		shown = ellipsis + shown
	}
	if end < len(text) {
		shown += ellipsis
	}
	return shown
}

// isInside reports whether the byte there continues a character.
func isInside(text string, at int) bool { return at < len(text) && text[at]&0xc0 == 0x80 }

func cut(text string) string { return strings.Clone(window(text, 0)) }
