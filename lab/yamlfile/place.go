package yamlfile

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Place is a value of a document: where it stands, and the path of keys that
// leads to it.
type Place struct {
	node *yaml.Node
	path string
}

// Member is the place of something that is not there but should be.
func (p Place) Member(name string) Place {
	if p.path != "" {
		name = p.path + "." + name
	}
	return Place{p.node, name}
}

func (p Place) item(i int, node *yaml.Node) Place {
	return Place{node, p.path + "[" + strconv.Itoa(i) + "]"}
}

// Written is a scalar as it stands in the file, its variables not expanded. A
// fault may tell it.
func (p Place) Written() string { return p.node.Value }

// Line is where the value begins, counted from 1.
func (p Place) Line() int { return p.node.Line }

// Empty reports whether nothing is in a mapping or a list.
func (p Place) Empty() bool { return len(p.node.Content) == 0 }

// Kind is what a value is, in the words of a fault.
type Kind string

const (
	Mapping Kind = "a mapping"
	List    Kind = "a list"
	String  Kind = "a string"
	Number  Kind = "a number"
	Boolean Kind = "a boolean"
	Null    Kind = "null"
	alias   Kind = "an alias"
	merge   Kind = "a merge key"
)

// Kind is what stands at the place.
func (p Place) Kind() Kind { return kind(p.node) }

func kind(n *yaml.Node) Kind {
	switch n.Kind {
	case yaml.AliasNode:
		return alias
	case yaml.MappingNode:
		return Mapping
	case yaml.SequenceNode:
		return List
	}
	if n.Style == 0 && jsonNumber().MatchString(n.Value) {
		return Number // the library takes 1e999 for a string
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return Number
	case "!!bool":
		return Boolean
	case "!!null":
		return Null
	case "!!merge":
		return merge
	}
	return String // and a date, which YAML 1.2 does not know
}

// quoting tells what makes a string of a scalar that was not meant as another.
func (k Kind) quoting() string {
	if k == Number || k == Boolean {
		return "; put it in quotes"
	}
	return ""
}

// Member is a key of a mapping with its value.
type Member struct {
	Name       string
	Key, Value Place
}

// Members lists the keys of a mapping, each once, in their order. It reports
// whether there is a mapping at all.
func (r *Reader) Members(p Place) ([]Member, bool) {
	if !r.expect(p, Mapping, string(Mapping)) {
		return nil, false
	}
	lines := make(map[string]int)
	var members []Member
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		key := p.node.Content[i]
		at := Place{key, p.path}
		if !r.Plain(at) {
			continue
		}
		if k := kind(key); k != String {
			r.Fault(at, "a key must be a string, not "+string(k)+k.quoting())
			continue
		}
		at = Place{key, p.Member(Name(key.Value)).path}
		if line, again := lines[key.Value]; again {
			r.Fault(at, fmt.Sprintf("duplicate key, first in line %d", line))
			continue
		}
		lines[key.Value] = key.Line
		members = append(members, Member{key.Value, at, Place{p.node.Content[i+1], at.path}})
	}
	return members, true
}

// Whole reports whether every key of a mapping is among its members. Where one
// has a fault, nobody knows what it stood for, and nothing is missed.
func (p Place) Whole() bool {
	seen := make(map[string]bool)
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		key := p.node.Content[i]
		if odd(key) != "" || kind(key) != String || seen[key.Value] {
			return false
		}
		seen[key.Value] = true
	}
	return true
}

// Items lists what is in a list. The words say what is wanted where there is
// none.
func (r *Reader) Items(p Place, words string) ([]Place, bool) {
	if !r.expect(p, List, words) {
		return nil, false
	}
	items := make([]Place, len(p.node.Content))
	for i, node := range p.node.Content {
		items[i] = p.item(i, node)
	}
	return items, true
}

// expect refuses what is of another kind than is wanted, which is what the
// words call it.
func (r *Reader) expect(p Place, want Kind, words string) bool {
	if !r.Plain(p) {
		return false
	}
	if k := p.Kind(); k != want {
		r.Fault(p, fmt.Sprintf("must be %s, not %s", words, k))
		return false
	}
	return true
}

// Plain refuses what makes YAML more than a notation for values.
func (r *Reader) Plain(p Place) bool {
	if reason := odd(p.node); reason != "" {
		r.Fault(p, reason)
		return false
	}
	return true
}

// odd tells why a node is more than a value, or "".
func odd(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.AliasNode:
		return "an alias (*) is not read; write the value out"
	case n.Anchor != "":
		return "an anchor (&) is not read; leave it out"
	case n.Style&yaml.TaggedStyle != 0:
		return "a tag (!) is not read; leave it out"
	case kind(n) == merge:
		return "a merge key (<<) is not read; write the keys out"
	}
	return ""
}
