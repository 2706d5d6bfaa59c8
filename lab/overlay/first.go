package overlay

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentlab/lab/contract"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
	"agentlab/lab/yamlfile"
)

// Start is what a first contract file is written from.
type Start struct {
	Name   string // of the server: the first half of the permissions
	Pin    string // the lock, as the file is to name it; "" for none
	Within string // the folder that paths have to stay in; "" where nobody knows one
	// NamesPath tells, where paths have to stay somewhere, which arguments are called
	// like one.
	NamesPath func(argument string) bool
	Key       string // the argument that is added to tools that change something
}

// Permission is what a first contract asks of who calls a tool of such an effect.
func (s Start) Permission(effect contract.Effect) string { return s.Name + ":" + string(effect) }

// Proposed is what a first contract file says of one tool.
type Proposed struct {
	Guess
	Tool   string
	Key    string   // the argument that is added; "" where none is
	Paths  []string // the arguments that are taken for paths
	Closed bool     // what the schema does not name is refused, which the server takes
	// Unfit says why there is no contract for the tool; "" where there is one.
	Unfit string
}

// First lays out a first contract for every tool of a catalog, sorted by name.
// What is proposed can be read, and laid over the tool.
func (s Start) First(definitions []tool.Definition) []Proposed {
	var all []Proposed
	for _, d := range definitions {
		all = append(all, s.first(d))
	}
	slices.SortFunc(all, func(a, b Proposed) int { return cmp.Compare(a.Tool, b.Tool) })
	return all
}

func (s Start) first(d tool.Definition) Proposed {
	known := argumentsOf(d.InputSchema)
	bare := Proposed{Guess: GuessEffect(d), Tool: d.Name}
	full := bare
	full.Closed = !known.closed
	if s.Within != "" && s.NamesPath != nil {
		full.Paths = s.paths(d.InputSchema, known)
	}
	if full.Effect.Changes() && s.Key != "" {
		full.Key = s.Key
	}
	// What does not go together with the schema is left out.
	without := func(p Proposed, change func(*Proposed)) Proposed { change(&p); return p }
	keyless := without(full, func(p *Proposed) { p.Key = "" })
	var err error
	for _, p := range []Proposed{full, without(full, func(p *Proposed) { p.Paths = nil }), keyless,
		without(full, func(p *Proposed) { p.Closed = false }), without(keyless, func(p *Proposed) { p.Closed = false }), bare} {
		if err = s.fits(p, d); err == nil {
			return p
		}
	}
	bare.Unfit = err.Error()
	if invalid := (*yamlfile.Invalid)(nil); errors.As(err, &invalid) {
		bare.Unfit = invalid.Faults[0].Reason
	}
	return bare
}

// fits reads what is proposed for a tool as the file that it will be, and lays it
// over the tool.
func (s Start) fits(p Proposed, d tool.Definition) error {
	f, err := parse([]byte("version: 1\ntools:\n"+s.entry(p)), "contract.yaml", func(string) (string, bool) { return "", false })
	if err == nil {
		_, err = f.Lay([]tool.Definition{d})
	}
	return err
}

// Write writes a contract file. What was guessed is marked for review.
func (s Start) Write(definitions []tool.Definition) []byte {
	var b strings.Builder
	b.WriteString(`# What lab tool-eval lays over the server's tools; "lab help contract" tells every key.
# Effects are guessed: each line with REVIEW is for a person to confirm or to correct.
version: 1
`)
	if s.Pin != "" {
		fmt.Fprintf(&b, "pin: %s   # what was reviewed; \"lab pin --check\" tells what has changed since\n", yamlfile.Word(s.Pin))
	}
	b.WriteString("default: deny   # tools that are not named here are not exposed\ntools:\n")
	named := false
	for _, p := range s.First(definitions) {
		if p.Unfit != "" {
			fmt.Fprintf(&b, "  # REVIEW: %s is left out: %s\n", yamlfile.Word(p.Tool), yamlfile.Quote(p.Unfit))
			continue
		}
		named = true
		b.WriteString(s.entry(p))
	}
	if !named {
		b.WriteString("  {}\n")
	}
	return []byte(b.String())
}

// entry is the part of the file about one tool.
func (s Start) entry(p Proposed) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("  %s:", yamlfile.Word(p.Tool))
	line("    permission: %s", yamlfile.Quote(s.Permission(p.Effect)))
	line("    effect: %s   # REVIEW: %s", p.Effect, p.Reason)
	if p.Effect.Changes() {
		line("    approval: required")
	}
	if p.Key != "" {
		line("    idempotency: {key: %s, add: true}", yamlfile.Word(p.Key))
	}
	if len(p.Paths) > 0 {
		var list []string
		for _, path := range p.Paths {
			list = append(list, fmt.Sprintf("{argument: %s, within: %s}", yamlfile.Word(path), yamlfile.Quote(s.Within)))
		}
		line("    resource: [%s]   # REVIEW: called like a path", strings.Join(list, ", "))
	}
	if p.Closed {
		line("    input: {additionalProperties: false}")
	}
	line("    output: {max_bytes: 100000}")
	return b.String()
}

// paths are the arguments that are always there, are texts or lists of them, and
// are called like paths.
func (s Start) paths(input json.RawMessage, known arguments) []string {
	var found []string
	for name := range known.properties {
		if s.NamesPath(name) && schema.ArgumentOf(input, true, name) != schema.Unsure {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
