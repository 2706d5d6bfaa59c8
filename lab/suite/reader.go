package suite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// reader turns a document into a suite or a server and gathers what is wrong
// with it.
type reader struct {
	file     string // in faults
	folder   string // what relative paths are relative to
	env      func(string) (string, bool)
	foreign  bool // others write in this file too: unknown keys and null are passed over
	expanded int  // bytes of the values so far
	full     bool // there were too many of them
	faults   []Fault
}

// place is a value of a document: the node, and the path that leads to it.
type place struct {
	node *yaml.Node
	path string
}

// member is the place of something that is not there but should be.
func (p place) member(name string) place {
	if p.path != "" {
		name = p.path + "." + name
	}
	return place{p.node, name}
}

func (p place) item(i int, node *yaml.Node) place {
	return place{node, p.path + "[" + strconv.Itoa(i) + "]"}
}

// member is a key of a mapping with its value.
type member struct {
	name       string
	key, value place
}

// field is one key of a mapping of the format, and how its value is read into
// the T that the mapping becomes.
type field[T any] struct {
	name     string
	required bool
	read     func(*reader, place, *T)
}

type table[T any] []field[T]

func (t table[T]) names() []string {
	names := make([]string, len(t))
	for i, f := range t {
		names[i] = f.name
	}
	return names
}

// object reads a mapping by a table and returns the places of the values that
// the table knows. It reports whether there is a mapping at all.
func object[T any](r *reader, p place, fields table[T], into *T) (map[string]place, bool) {
	members, ok := r.members(p)
	if !ok {
		return nil, false
	}
	seen := make(map[string]place)
	given := make(map[string]bool)
next:
	for _, m := range members {
		given[m.name] = true
		if r.foreign && kind(m.value.node) == aNull {
			continue
		}
		for _, f := range fields {
			if f.name == m.name {
				seen[m.name] = m.value
				f.read(r, m.value, into)
				continue next
			}
		}
		if !r.foreign {
			r.fault(m.key, "unknown key"+instead(m.name, fields.names(), "the keys are"))
		}
	}
	for _, f := range fields {
		if f.required && !given[f.name] && whole(p, members) {
			r.fault(p.member(f.name), "missing")
		}
	}
	return seen, true
}

// members lists the keys of a mapping, each once, in their order.
func (r *reader) members(p place) ([]member, bool) {
	if !r.expect(p, yaml.MappingNode, "a mapping") {
		return nil, false
	}
	lines := make(map[string]int)
	var members []member
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		key := p.node.Content[i]
		at := place{key, p.path}
		if !r.plain(at) {
			continue
		}
		if k := kind(key); k != aString {
			r.fault(at, "a key must be a string, not "+k+quoting(k))
			continue
		}
		at = place{key, p.member(plainName(key.Value)).path}
		if line, again := lines[key.Value]; again {
			r.fault(at, fmt.Sprintf("duplicate key, first in line %d", line))
			continue
		}
		lines[key.Value] = key.Line
		members = append(members, member{key.Value, at, place{p.node.Content[i+1], at.path}})
	}
	return members, true
}

// whole reports whether every key of a mapping is among its members. Where one
// has a fault, nobody knows what it stood for, and nothing is missed.
func whole(p place, members []member) bool { return 2*len(members) == len(p.node.Content) }

// items lists what is in a list.
func (r *reader) items(p place, want string) ([]place, bool) {
	if !r.expect(p, yaml.SequenceNode, want) {
		return nil, false
	}
	items := make([]place, len(p.node.Content))
	for i, node := range p.node.Content {
		items[i] = p.item(i, node)
	}
	return items, true
}

// expect refuses what is of another kind than is wanted.
func (r *reader) expect(p place, want yaml.Kind, words string) bool {
	if !r.plain(p) {
		return false
	}
	if p.node.Kind != want {
		r.fault(p, fmt.Sprintf("must be %s, not %s", words, kind(p.node)))
		return false
	}
	return true
}

// plain refuses what makes YAML more than a notation for values.
func (r *reader) plain(p place) bool {
	reason := ""
	switch {
	case p.node.Kind == yaml.AliasNode:
		reason = "an alias (*) is not read; write the value out"
	case p.node.Anchor != "":
		reason = "an anchor (&) is not read; leave it out"
	case p.node.Style&yaml.TaggedStyle != 0:
		reason = "a tag (!) is not read; leave it out"
	case kind(p.node) == aMerge:
		reason = "a merge key (<<) is not read; write the keys out"
	default:
		return true
	}
	r.fault(p, reason)
	return false
}

// text reads a string and expands its variables.
func (r *reader) text(p place, sandbox sandboxUse) (string, bool) {
	if !r.plain(p) {
		return "", false
	}
	if k := kind(p.node); k != aString {
		r.fault(p, "must be a string, not "+k+quoting(k))
		return "", false
	}
	text, ok := r.expand(p, sandbox)
	if ok && strings.Contains(text, "\x00") {
		r.fault(p, "holds a NUL character")
		return "", false
	}
	return text, ok
}

// expand expands the variables of a string and keeps account of their size.
func (r *reader) expand(p place, sandbox sandboxUse) (string, bool) {
	if r.full {
		return "", false
	}
	text, wrong := expand(p.node.Value, r.env, sandbox)
	for _, reason := range wrong {
		r.fault(p, reason)
	}
	if r.expanded += len(text); r.expanded > MaxExpanded {
		r.full = true
		r.fault(p, fmt.Sprintf("the variables of the file expand to more than %d MiB", MaxExpanded>>20))
		return "", false
	}
	return text, len(wrong) == 0
}

// filled reads a string that is not empty, which is what the words call it.
func (r *reader) filled(p place, words string) (string, bool) {
	text, ok := r.text(p, withoutSandbox)
	if ok && text == "" {
		r.fault(p, "must be "+words+", not an empty string")
		return "", false
	}
	return text, ok
}

// What a value is, in the words of a fault.
const (
	aString  = "a string"
	aNumber  = "a number"
	aBoolean = "a boolean"
	aNull    = "null"
	aMerge   = "a merge key"
)

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.AliasNode:
		return "an alias"
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.Style == 0 && jsonNumber().MatchString(n.Value) {
		return aNumber // the library takes 1e999 for a string
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return aNumber
	case "!!bool":
		return aBoolean
	case "!!null":
		return aNull
	case "!!merge":
		return aMerge
	}
	return aString // and a date, which YAML 1.2 does not know
}

// quoting tells what makes a string of a scalar that was not meant as another.
func quoting(kind string) string {
	if kind == aNumber || kind == aBoolean {
		return "; put it in quotes"
	}
	return ""
}

var plainWord = grammar(`^[A-Za-z0-9_-]{1,80}$`)

// plainName is a name as faults tell it: quoted where it is not a plain word,
// and cut where it is long.
func plainName(name string) string {
	const longest = 80
	if plainWord().MatchString(name) {
		return name
	}
	if len(name) > longest {
		return strconv.Quote(strings.ToValidUTF8(name[:longest], "")) + "..."
	}
	return strconv.Quote(name)
}

// grammar compiles a pattern when it is first needed: most runs read no suite
// file, and all patterns cost as much as a tenth of such a run's start.
func grammar(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
