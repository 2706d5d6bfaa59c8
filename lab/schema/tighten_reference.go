package schema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// inDocument are the keywords that belong to a place and are not copied with
// what stands there.
var inDocument = []string{"$schema", "$id", "id", "$defs", "definitions"}

// maxSteps is how many references are followed that lead to references.
const maxSteps = 100

// identified reports whether the document has names that a copy would repeat.
func (d *document) identified() bool {
	all := d.check.ids.all
	return len(all) > 1 || slices.ContainsFunc(all, func(r *resource) bool { return r.again || len(r.anchors) > 0 || len(r.dynamic) > 0 })
}

// local is where a reference leads that names no other document.
func (d *document) local(under *ordered) *ordered {
	ref, _ := under.get("$ref").value().(string)
	fragment, local := strings.CutPrefix(ref, "#")
	at, err := url.PathUnescape(fragment)
	if !local || err != nil || at != "" && at[0] != '/' || d.identified() {
		return nil
	}
	return d.tree.find(at)
}

// resolved is a schema with a copy of what its $ref leads to in place of that.
// The drafts ignore what stands beside a $ref; since 2019-09 it counts.
func (l *laying) resolved(under *ordered) (*ordered, error) {
	for steps := 0; under.get("$ref") != nil; steps++ {
		target := l.local(under)
		if target == nil || steps == maxSteps {
			return nil, l.fault(nil, "where the server's reference leads %s", notShown)
		}
		if target.kind != '{' {
			if target.is("false") {
				return nil, l.fault(nil, "the server allows nothing here")
			}
			target = &ordered{kind: '{'}
		}
		target = target.without(inDocument...)
		out, beside := &ordered{kind: '{'}, &ordered{kind: '{'}
		for i, name := range under.names {
			row := l.check.row(name)
			switch {
			case name == "$ref":
				for i, name := range target.names {
					if under.get(name) == nil || !l.describes(name) {
						out = out.with(name, target.held[i])
					}
				}
			case l.describes(name) || row.structural():
				out = out.with(name, under.held[i])
			case l.check.draft&modern != 0:
				beside = beside.with(name, under.held[i])
			}
		}
		if len(beside.names) > 0 {
			for _, left := range []string{"unevaluatedProperties", "unevaluatedItems"} {
				if beside.get(left) != nil || target.get(left) != nil {
					return nil, l.fault(nil, "what %s sees through the server's reference %s", left, notShown)
				}
			}
			out = out.with("allOf", out.get("allOf").and(beside))
		}
		under = out
	}
	return under, nil
}

// describes reports whether a keyword of the upstream refuses no data and leads
// nowhere.
func (l *laying) describes(name string) bool {
	row := l.check.row(name)
	return row == nil || row.annotation && !row.structural()
}

// named collects the properties that a schema names, also in what it asks for
// at the same place.
func (l *laying) named(known map[string]bool, under *ordered, seen map[*ordered]bool) {
	if under == nil || under.kind != '{' || seen[under] {
		return
	}
	seen[under] = true
	if under.get("$ref") != nil {
		l.named(known, l.local(under), seen)
		if l.check.draft&drafts != 0 {
			return
		}
	}
	if properties := under.get("properties"); properties != nil {
		for _, name := range properties.names {
			known[name] = true
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		if members := under.get(keyword); members != nil {
			for _, member := range members.held {
				l.named(known, member, seen)
			}
		}
	}
	for _, keyword := range []string{"then", "else"} {
		l.named(known, under.get(keyword), seen)
	}
}

// touched lists the places that references lead to and that are no longer what
// they were.
func (d *document) touched(laid *ordered) ([]string, error) {
	changed := make(map[string]bool)
	for _, n := range d.check.nodes {
		for _, j := range n.jumps {
			for _, to := range j.ways {
				at := d.pointers[to]
				if d.tree.find(at) == laid.find(at) {
					continue
				}
				if d.identified() || j.keyword == "$recursiveRef" {
					return nil, &Loosening{Reason: "that the server's reference at " + pointer(j.path) + " keeps its meaning " + notShown}
				}
				changed[at] = true
			}
		}
	}
	return sortedKeys(changed), nil
}

// redirected is the same schema with copies of these places among its
// definitions, and with all references to them leading to the copies.
func (d *document) redirected(places []string) (*document, error) {
	shelf := "$defs"
	if d.check.draft&drafts != 0 {
		shelf = "definitions"
	}
	definitions := d.tree.get(shelf)
	names := make(map[string]string, len(places))
	for number := 1; len(names) < len(places); number++ {
		if name := "upstream" + strconv.Itoa(number); definitions.get(name) == nil {
			names[places[len(names)]] = name
		}
	}
	moved := make(map[string]*ordered)
	for _, n := range d.check.nodes {
		for _, j := range n.jumps {
			if name, ok := names[d.pointers[j.to]]; ok {
				moved[pointer(j.path)] = plainText("#/" + shelf + "/" + name)
			}
		}
	}
	copies := make([]*ordered, len(places))
	for i, at := range places {
		copies[i] = d.tree.find(at).replaced(at, moved).without(inDocument...)
	}
	tree := d.tree.replaced("", moved)
	definitions = tree.get(shelf)
	for i, at := range places {
		definitions = definitions.with(names[at], copies[i])
	}
	return inspect(tree.with(shelf, definitions))
}
