package boundary

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"agentlab/lab/jsonvalue"
)

// Unmet says which place of the arguments could not be given a value.
type Unmet struct {
	Place  string // JSON Pointer into the arguments; "" is the whole
	Reason string
}

func (e *Unmet) Error() string {
	if e.Place == "" {
		return "the arguments as a whole: " + e.Reason
	}
	return fmt.Sprintf("the argument %s: %s", clip(quote(e.Place), 200), e.Reason)
}

func unmet(place, format string, args ...any) error {
	return &Unmet{place, fmt.Sprintf(format, args...)}
}

// demand is what a schema asks of one place, once every choice that it leaves
// there is made: all the objects whose keywords hold there at once.
type demand struct {
	place string
	parts []object
	kinds kind
}

// Limits of what is built.
const (
	maxLooks    = 50_000 // subschemas looked at in one attempt
	maxBranches = 32     // of one anyOf or oneOf
	maxListed   = 64     // values of one enum that are tried
	maxShown    = 4      // examples of one place that are tried
	maxItems    = 1000
	maxMembers  = 2000
	maxText     = 1 << 16 // characters
	maxBytes    = 1 << 20 // of one call
)

// gather follows references and combinations until only keywords that speak of
// the place itself are left.
func (b *builder) gather(place string, schemas []any) (*demand, error) {
	d := &demand{place: place, kinds: anything}
	seen := make(map[identity]bool)
	queue := append(make([]any, 0, len(schemas)), schemas...)
	for n := 0; n < len(queue); n++ {
		if b.looks--; b.looks < 0 {
			return nil, unmet(place, "the schema is too large to find a value for it")
		}
		part, ok := queue[n].(object)
		if !ok {
			if queue[n] == false {
				return nil, unmet(place, "the schema allows nothing here")
			}
			continue
		}
		if id := identify(part); seen[id] {
			continue
		} else {
			seen[id] = true
		}
		d.parts = append(d.parts, part)
		d.kinds &= typesOf(part)
		for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if ref, ok := part[keyword].(string); ok {
				to, ok := b.doc.resolve(ref)
				if !ok {
					return nil, unmet(place, "the reference %s does not lead into the document", clip(quote(ref), 200))
				}
				queue = append(queue, to)
			}
		}
		all, _ := part["allOf"].([]any)
		queue = append(queue, all...)
		for _, keyword := range []string{"anyOf", "oneOf"} {
			if branches, ok := part[keyword].([]any); ok && len(branches) > 0 {
				if taken, settled := b.settled(place, part, keyword); settled {
					queue = append(queue, taken...)
					continue
				}
				branches = b.simpleFirst(branches)
				i := b.choices.choose(place, keyword+strconv.Itoa(n), min(len(branches), maxBranches))
				queue = append(queue, branches[i])
			}
		}
		if condition, ok := part["if"]; ok {
			if taken, settled := b.settled(place, part, "if"); settled {
				queue = append(queue, taken...)
			} else if b.choices.choose(place, "if"+strconv.Itoa(n), 2) == 0 {
				queue = appendPresent(queue, part, "else")
			} else {
				queue = appendPresent(append(queue, condition), part, "then")
			}
		}
	}
	if d.kinds == 0 {
		return nil, unmet(place, "no type is allowed by all that the schema says here")
	}
	return d, nil
}

// fork is a place of the schema that leaves a choice at a place of the data.
type fork struct {
	place   string
	part    identity
	keyword string
}

// settled returns what was decided of a fork beforehand.
func (b *builder) settled(place string, part object, keyword string) ([]any, bool) {
	taken, decided := b.forks[fork{place, identify(part), keyword}]
	return taken, decided || b.bare
}

// simpleFirst puts the branches that lead back into what is being built behind
// the others.
func (b *builder) simpleFirst(branches []any) []any {
	var simple, deep []any
	for _, branch := range branches {
		if b.leadsBack(branch) {
			deep = append(deep, branch)
		} else {
			simple = append(simple, branch)
		}
	}
	return append(simple, deep...)
}

// leadsBack reports whether a schema, or what it refers to, or its items or
// required properties, is being built already.
func (b *builder) leadsBack(schema any) bool { return b.leads(schema, 4) }

func (b *builder) leads(schema any, steps int) bool {
	part, ok := schema.(object)
	if !ok || steps == 0 {
		return false
	}
	if b.open[identify(part)] > 0 {
		return true
	}
	if ref, ok := part["$ref"].(string); ok {
		if to, ok := b.doc.resolve(ref); ok && b.leads(to, steps-1) {
			return true
		}
	}
	if b.leads(part["items"], steps-1) {
		return true
	}
	properties, _ := part["properties"].(object)
	required, _ := part["required"].([]any)
	for _, name := range required[:min(len(required), 8)] {
		if name, ok := name.(string); ok && b.leads(properties[name], steps-1) {
			return true
		}
	}
	return false
}

func appendPresent(queue []any, part object, keyword string) []any {
	if schema, ok := part[keyword]; ok {
		return append(queue, schema)
	}
	return queue
}

func typesOf(part object) kind {
	switch stated := part["type"].(type) {
	case string:
		return kinds[stated]
	case []any:
		var set kind
		for _, name := range stated {
			name, _ := name.(string)
			set |= kinds[name]
		}
		return set
	}
	return anything
}

// listed returns the values that const and enum leave, and whether there is
// either.
func (d *demand) listed() (values []any, closed bool) {
	for _, part := range d.parts {
		for _, keyword := range []string{"const", "enum"} {
			stated, ok := part[keyword]
			if !ok {
				continue
			}
			list := []any{stated}
			if keyword == "enum" {
				list, _ = stated.([]any)
			}
			if !closed {
				closed = true
				for _, value := range list {
					if kindOf(value)&d.kinds != 0 {
						values = append(values, value)
					}
				}
				continue
			}
			also := make(map[string]bool, len(list))
			for _, value := range list {
				also[canonical(value)] = true
			}
			kept := values[:0:0]
			for _, value := range values {
				if also[canonical(value)] {
					kept = append(kept, value)
				}
			}
			values = kept
		}
	}
	return values, closed
}

// shown returns the examples and defaults of a place, each once. One that is
// null shows nothing, unless null is all there is.
func (d *demand) shown() []any {
	var values []any
	seen := make(map[string]bool)
	add := func(value any) {
		fits := kindOf(value)&d.kinds != 0 && (value != nil || d.kinds == null)
		if len(values) == maxShown || !fits {
			return
		}
		if form := canonical(value); !seen[form] {
			seen[form] = true
			values = append(values, value)
		}
	}
	for _, keyword := range []string{"examples", "example", "default"} {
		for _, part := range d.parts {
			stated, ok := part[keyword]
			if list, several := stated.([]any); several && keyword == "examples" {
				for _, value := range list[:min(len(list), maxListed)] {
					add(value)
				}
			} else if ok && keyword != "examples" {
				add(stated)
			}
		}
	}
	return values
}

// strictest returns the largest (sign 1) or the smallest (sign -1) value of a
// keyword that counts, and whether there is any.
func (d *demand) strictest(keyword string, sign int) (int, bool) {
	best, found := 0, false
	for _, part := range d.parts {
		exact, ok := rational(part[keyword])
		if !ok || !exact.IsInt() || exact.Sign() < 0 {
			continue
		}
		n := 1 << 31
		if exact.Num().IsInt64() {
			n = int(min(exact.Num().Int64(), 1<<31))
		}
		if !found || sign*n > sign*best {
			best, found = n, true
		}
	}
	return best, found
}

func rational(value any) (*big.Rat, bool) {
	literal, ok := value.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(string(literal))
}

func canonical(value any) string { return string(jsonvalue.AppendCanonical(nil, value)) }
