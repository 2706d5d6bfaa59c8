package boundary

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// builder makes one attempt at a value, by the choices that it is given.
type builder struct {
	doc     *document
	choices *choices
	depth   int // how much deeper it may go
	looks   int // how many more subschemas it may look at
	bytes   int // how much larger the value may get
	salt    int // makes values different that stand in one array
	open    map[identity]int
	forks   map[fork][]any // what is decided already
	bare    bool           // nothing else is to be decided
}

func newBuilder(doc *document, c *choices, depth int) *builder {
	return &builder{doc: doc, choices: c, depth: depth, looks: maxLooks, bytes: maxBytes, open: make(map[identity]int)}
}

// site is a place of the data and what is known of it beside its schemas.
type site struct {
	place string
	name  string // of the nearest property around it
}

func (s site) member(name string) site { return site{below(s.place, name), name} }

func (s site) item(i int) site { return site{below(s.place, strconv.Itoa(i)), s.name} }

// value builds a value that satisfies all the schemas.
func (b *builder) value(at site, schemas []any) (any, error) {
	d, err := b.gather(at.place, schemas)
	if err != nil {
		return nil, err
	}
	if b.depth--; b.depth < 0 {
		return nil, unmet(at.place, "the schema asks for too many levels of values inside of values")
	}
	for _, part := range d.parts {
		b.open[identify(part)]++
	}
	value, err := b.chosen(at, d, schemas)
	for _, part := range d.parts {
		b.open[identify(part)]--
	}
	b.depth++
	return value, err
}

func (b *builder) chosen(at site, d *demand, schemas []any) (any, error) {
	shown := usable(d.shown(), at.name)
	if listed, closed := d.listed(); closed {
		if len(listed) == 0 {
			return nil, unmet(at.place, "no value is among all that const and enum list, and of the type")
		}
		listed = preferred(listed, shown)
		n := min(len(listed), maxListed)
		i := b.choices.choose(at.place, "listed", n)
		return b.taken(at.place, listed[(i+b.salt)%len(listed)])
	}
	if i := b.choices.choose(at.place, "shown", len(shown)+1); i+b.salt < len(shown) {
		return b.taken(at.place, shown[i+b.salt])
	}
	order := inOrder(d)
	if slices.ContainsFunc(d.parts, func(part object) bool { return b.open[identify(part)] > 1 }) {
		// It is inside of itself: what ends there comes first.
		slices.SortStableFunc(order, func(a, b kind) int { return int(a&(array|record)) - int(b&(array|record)) })
	}
	one := order[b.choices.choose(at.place, "type", len(order))]
	switch one {
	case null:
		return b.taken(at.place, nil)
	case boolean:
		return b.flag(at)
	case whole, fraction:
		return b.number(at, d, one == whole)
	case text:
		value, err := b.text(at, d)
		if err != nil {
			return nil, err
		}
		return b.taken(at.place, value)
	case array:
		return b.array(at, d)
	}
	return b.record(at, d, schemas)
}

// taken counts the size of a value.
func (b *builder) taken(place string, value any) (any, error) {
	switch v := value.(type) {
	case nil, bool:
		b.bytes -= 5
	case string:
		b.bytes -= len(v) + 2
	case json.Number:
		b.bytes -= len(v)
	default:
		b.bytes -= len(canonical(v))
	}
	if b.bytes < 0 {
		return nil, unmet(place, "the smallest value is larger than %d bytes", maxBytes)
	}
	return value, nil
}

// preferred puts first what is an example too.
func preferred(listed, shown []any) []any {
	examples := make(map[string]bool, len(shown))
	for _, value := range shown {
		examples[canonical(value)] = true
	}
	var first, rest []any
	for _, value := range listed {
		if examples[canonical(value)] {
			first = append(first, value)
		} else {
			rest = append(rest, value)
		}
	}
	return append(first, rest...)
}

// speaks tells which type of value a keyword is about.
var speaks = []struct {
	kind     kind
	keywords []string
}{
	{record, []string{"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties", "dependentRequired"}},
	{array, []string{"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"}},
	{text, []string{"pattern", "format", "minLength", "maxLength"}},
	{whole, []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
}

// inOrder lists the types that a place may have, the likeliest first.
func inOrder(d *demand) []kind {
	var order []kind
	add := func(k kind) {
		if d.kinds&k != 0 && !slices.Contains(order, k) {
			order = append(order, k)
		}
	}
	for _, row := range speaks {
		for _, part := range d.parts {
			if slices.ContainsFunc(row.keywords, func(keyword string) bool { _, ok := part[keyword]; return ok }) {
				add(row.kind)
			}
		}
	}
	for _, k := range []kind{text, whole, fraction, boolean, record, array, null} {
		add(k)
	}
	return order
}

func (b *builder) flag(at site) (any, error) {
	on := rehearses(at.name)
	if (b.choices.choose(at.place, "flag", 2)+b.salt)%2 == 1 {
		on = !on
	}
	return b.taken(at.place, on)
}

// usable leaves out examples that would point outside of the case's folder.
func usable(shown []any, name string) []any {
	if !NamesPath(name) {
		return shown
	}
	return slices.DeleteFunc(slices.Clone(shown), func(value any) bool {
		switch v := value.(type) {
		case string:
			return leaves(v)
		case []any:
			return slices.ContainsFunc(v, func(item any) bool { s, ok := item.(string); return ok && leaves(s) })
		}
		return false
	})
}

// leaves reports whether a path could lead out of the folder that it is
// relative to.
func leaves(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") || strings.HasPrefix(path, `\`) ||
		strings.Contains(path, "..") || strings.HasPrefix(path, "file:") || strings.HasPrefix(path, "$") && !strings.HasPrefix(path, sandbox) ||
		len(path) > 1 && path[1] == ':'
}
