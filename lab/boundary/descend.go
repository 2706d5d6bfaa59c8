package boundary

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/jsonvalue"
)

func (w *walk) members(s *spot) {
	w.records = append(w.records, s)
	s.found = make(map[string]any)
	b := w.builder(s)
	names := make(map[string]bool)
	for _, part := range s.fresh {
		properties, _ := part["properties"].(object)
		for name := range properties {
			names[name] = true
		}
		patterned, _ := part["patternProperties"].(object)
		for _, pattern := range slices.Sorted(maps.Keys(patterned)) {
			if texts, err := matching(pattern, 1, 0); err == nil {
				names[texts[0]] = true
			}
		}
		for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
			if _, ok := part[keyword].(object); ok {
				names[w.other(s)] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b.looks = maxLooks
		w.member(s, name, b.memberSchemas(s.full, name))
	}
	w.misspelt(s)
}

// extra is the name of a property that no schema knows.
const extra = "unexpected_property"

// other is a name that no schema of the object knows, and that it may have.
func (w *walk) other(s *spot) string {
	schemas := []any{object{"type": "string"}}
	for _, part := range s.full.parts {
		schemas = appendPresent(schemas, part, "propertyNames")
	}
	if len(schemas) > 1 {
		b := w.builder(s)
		if name, err := b.value(site{place: below(s.place, "\x00"), name: "name"}, schemas); err == nil {
			return name.(string)
		}
	}
	return extra
}

func (w *walk) member(s *spot, name string, schemas []any) {
	t := w.within(s, s.member(name), schemas)
	for _, part := range s.fresh {
		if properties, _ := part["properties"].(object); properties[name] == true {
			t.pointer = below(w.rows.pointers[identify(part)]+"/properties", name)
		}
	}
	if slices.Contains(schemas, any(false)) {
		for _, part := range s.fresh {
			if properties, _ := part["properties"].(object); properties[name] == false {
				at := below(w.rows.pointers[identify(part)]+"/properties", name)
				w.add(s, clause{at, "false", ""}, Inside, bound, "without its forbidden property "+shown(name), s.value)
				w.add(s, clause{at, "false", ""}, Outside, bound, "with its forbidden property "+shown(name), with(s.value, name, word))
			}
		}
		return
	}
	value, present := s.value.(object)[name]
	if present {
		t.value = value
		w.visit(t)
	} else if w.find(t, schemas) {
		s.found[name] = t.value
		w.visit(t)
	} else if w.bring(t, s, name) {
		w.visit(t)
	}
}

func (w *walk) within(s *spot, at site, schemas []any) *spot {
	return &spot{site: at, base: s.base, schemas: schemas, forks: s.forks, branch: s.branch}
}

// bring makes the whole object anew where a property does not go by itself.
func (w *walk) bring(t, s *spot, name string) bool {
	around := *s
	if !w.find(&around, append(slices.Clip(s.schemas), object{"required": []any{name}, "type": "object"})) {
		return false
	}
	members, _ := around.value.(object)
	value, present := members[name]
	t.base, t.value = around.base, value
	return present
}

func (w *walk) items(s *spot) {
	indices := make(map[int]bool)
	for _, part := range s.fresh {
		list, _ := part["prefixItems"].([]any)
		if tuple, ok := part["items"].([]any); ok {
			list = tuple
		}
		for i := range min(len(list), maxListed) {
			indices[i] = true
		}
		for _, keyword := range []string{"items", "additionalItems", "unevaluatedItems"} {
			if _, ok := part[keyword].(object); ok {
				indices[len(list)] = true
			}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(indices)) {
		around := s
		if items, _ := s.value.([]any); i >= len(items) {
			more := *s
			if !w.find(&more, append(slices.Clip(s.schemas), object{"minItems": json.Number(strconv.Itoa(i + 1)), "type": "array"})) {
				continue
			}
			around = &more
		}
		items, _ := around.value.([]any)
		if i >= len(items) {
			continue // what it was made of has no more
		}
		t := w.within(around, s.item(i), itemSchemas(s.full, i))
		t.value = items[i]
		w.visit(t)
	}
}

// put is a call with another value at a place, which it shares the rest with.
func put(base any, place string, value any) any {
	if place == "" {
		return value
	}
	token, rest, more := strings.Cut(place[1:], "/")
	if more {
		rest = "/" + rest
	}
	switch around := base.(type) {
	case object:
		name := jsonvalue.TokenName(token)
		return with(around, name, put(around[name], rest, value))
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(around) {
			return base
		}
		items := slices.Clone(around)
		items[i] = put(items[i], rest, value)
		return items
	}
	return base
}

// with is an object with one more property, or another value of it.
func with(value any, name string, member any) object {
	members, _ := value.(object)
	changed := maps.Clone(members)
	if changed == nil {
		changed = make(object)
	}
	changed[name] = member
	return changed
}

func without(value any, name string) object {
	members, _ := value.(object)
	changed := maps.Clone(members)
	delete(changed, name)
	return changed
}
