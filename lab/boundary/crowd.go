package boundary

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// named lists candidates for keywords about the names of properties.
func (w *walk) named(s *spot, part object, c clause) {
	members, ok := s.value.(object)
	if !ok {
		return
	}
	switch c.keyword {
	case "required":
		w.add(s, c, Outside, bound, "without the required property "+shown(c.property)+w.inWhich(s), without(members, c.property))
	case "dependencies", "dependentRequired":
		dependents, _ := part[c.keyword].(object)
		needs := make(map[string]bool)
		addNames(needs, dependents[c.property])
		t := *s
		if !w.find(&t, append(slices.Clip(s.schemas), object{"required": []any{c.property}})) {
			return
		}
		w.add(&t, c, Inside, bound, "with the property "+shown(c.property)+" and what it needs"+w.inWhich(s), t.value)
		for _, name := range slices.Sorted(maps.Keys(needs)) {
			w.add(&t, c, Outside, bound, "with the property "+shown(c.property)+" and without "+shown(name)+", which it needs"+w.inWhich(s), without(t.value, name))
		}
	case "propertyNames":
		for i, name := range []string{"not a name!", "", "UPPER", "lower", "with-dash", "9", "\u00e9", strings.Repeat("n", 300)} {
			if _, there := members[name]; !there {
				w.add(s, c, Outside, rank(min(i, 1)), "with a property named "+shown(name)+w.inWhich(s), with(members, name, word))
			}
		}
	default:
		w.add(s, c, Outside, bound, "with the property "+extra+", which the schema does not know"+w.inWhich(s), with(members, extra, word))
	}
}

func (w *walk) inWhich(s *spot) string {
	if s.place == "" {
		return ""
	}
	return " in its property " + shown(s.place[1:])
}

// several lists candidates for keywords about the items of an array.
func (w *walk) several(s *spot, part object, c clause) {
	items, ok := s.value.([]any)
	if !ok {
		return
	}
	switch c.keyword {
	case "uniqueItems":
		if len(items) == 0 {
			t := *s
			if !w.find(&t, append(slices.Clip(s.schemas), object{"minItems": json.Number("1"), "type": "array"})) {
				return
			}
			if items, _ = t.value.([]any); len(items) == 0 {
				return
			}
		}
		w.add(s, c, Outside, bound, w.whose(s)+" has its first item twice", append(slices.Clip(items), items[0]))
		t := *s
		if w.find(&t, append(slices.Clip(s.schemas), object{"minItems": json.Number("2"), "type": "array"})) {
			w.add(&t, c, Inside, bound, w.whose(s)+" has two different items", t.value)
		}
	case "contains", "minContains", "maxContains":
		b := w.builder(s)
		found, err := b.value(s.item(len(items)), append(itemSchemas(s.full, len(items)), part["contains"]))
		if err != nil {
			return
		}
		aim, other := Outside, Outside
		if c.keyword == "maxContains" {
			aim = Inside
		}
		w.add(s, c, aim, bound, w.whose(s)+" is empty", []any{})
		w.add(s, c, aim, near, w.whose(s)+" has null alone", []any{nil})
		for n, many := 1, []any{}; n <= maxListed; n++ {
			many = append(many, found)
			for _, keyword := range []string{"minContains", "maxContains"} {
				d := &demand{parts: []object{part}}
				bound, stated := d.strictest(keyword, 1)
				if !stated || keyword != c.keyword || n < bound-1 || n > bound+1 {
					continue
				}
				other = Inside
				if n == bound {
					other = On
				} else if (n < bound) == (keyword == "minContains") {
					other = Outside
				}
				w.add(s, c, other, near, w.whose(s)+" has so many items of the form that is asked for", slices.Clone(many))
			}
		}
	default:
		list, _ := part["prefixItems"].([]any)
		if tuple, ok := part["items"].([]any); ok {
			list = tuple
		}
		more := slices.Clone(items)
		for len(more) <= len(list) {
			more = append(more, word)
		}
		w.add(s, c, Outside, bound, w.whose(s)+" has more items than the schema lists", more)
	}
}
