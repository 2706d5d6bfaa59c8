package boundary

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/tool"
)

// Call is a call that a tool's input schema forbids.
type Call struct {
	// Fault is what is wrong, as a word: missing, type, null, misspelt, unknown,
	// or the keyword of the schema that the call breaks.
	Fault string
	// Property is the property of the arguments that it is wrong with.
	Property string
	// Wrong says it in words that complete "a call": "without its required
	// property path".
	Wrong     string
	Arguments json.RawMessage // a JSON object in canonical form
}

// Limits of the refused calls of one tool.
const (
	maxCalls   = 100
	maxRefused = 4 << 20 // bytes of their arguments
)

// Refused lists calls that a tool's own input schema forbids: its plain call
// with one fault each, in the order missing (by property), unknown, everything
// that can be wrong with the value of a property (by property), misspelt (by
// property). Only the properties of the arguments themselves are looked at,
// not what lies inside of them. What the schema turns out to allow is left out,
// as is what another call has said already, and what would be too much: there
// are never more than 100, nor more than 4 MiB. Without a plain call there is an error, that of
// [Plain].
func Refused(d tool.Definition) ([]Call, error) {
	c, err := study(d, true)
	if err != nil {
		return nil, err
	}
	p, err := c.plain()
	if err != nil {
		return nil, err
	}
	return c.refused(p), nil
}

// refusals collects calls that were found to be forbidden.
type refusals struct {
	*check
	*plain
	names []string // of the properties that the schema or the plain call knows
	known map[string]bool
	calls []Call
	told  map[string]bool // the arguments of the calls
	bytes int             // of them
}

func (c *check) refused(p *plain) []Call {
	c.left = maxMeetings
	r := &refusals{check: c, plain: p, known: make(map[string]bool), told: make(map[string]bool)}
	for name := range p.arguments {
		r.known[name] = true
	}
	for _, name := range declared(p.root) {
		r.known[name] = true
	}
	r.names = slices.Sorted(maps.Keys(r.known))
	r.missing()
	r.unknown()
	for _, add := range []func(string){r.wrong, r.misspelt} {
		for _, name := range r.names {
			if r.full() {
				break
			}
			add(name)
		}
	}
	return r.calls
}

func (r *refusals) full() bool { return len(r.calls) == maxCalls || r.left <= 0 }

// add takes a call if the schema forbids it and no other call is the same.
func (r *refusals) add(fault, property, wrong string, arguments object) bool {
	if r.full() || !r.spend(arguments) || !r.refuses(arguments) {
		return false
	}
	form := jsonvalue.AppendCanonical(nil, arguments)
	if r.bytes+len(form) > maxRefused || r.told[string(form)] {
		return false
	}
	r.bytes += len(form)
	r.told[string(form)] = true
	r.calls = append(r.calls, Call{fault, property, wrong, form})
	return true
}

// with is the plain call with another value of one property.
func (r *refusals) with(name string, value any) object {
	changed := maps.Clone(r.arguments)
	changed[name] = value
	return changed
}

func (r *refusals) without(name string) object {
	changed := maps.Clone(r.arguments)
	delete(changed, name)
	return changed
}

func (r *refusals) missing() {
	required := make(map[string]bool)
	for _, part := range r.root.parts {
		addNames(required, part["required"])
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		r.add("missing", name, "without its required property "+shown(name), r.without(name))
	}
}

func (r *refusals) unknown() {
	for _, name := range []string{"unexpected_property", "an unexpected property"} {
		if r.known[name] {
			continue
		}
		if r.add("unknown", name, "with the property "+shown(name)+", which the schema does not know", r.with(name, word)) {
			return
		}
	}
}

// misspelt gives one property under another spelling of its name.
func (r *refusals) misspelt(name string) {
	value, ok := r.arguments[name]
	if !ok {
		if value, ok = r.good(name); !ok {
			return
		}
	}
	for _, spelling := range spellings(name) {
		if r.known[spelling] {
			continue
		}
		changed := r.without(name)
		changed[spelling] = value
		if r.add("misspelt", name, "with the property "+shown(name)+" misspelt as "+shown(spelling), changed) {
			return
		}
	}
}

// good makes a valid value of a property that the plain call does not have, if
// the call stays valid with it.
func (r *refusals) good(name string) (any, bool) {
	if r.full() {
		return nil, false
	}
	r.fresh()
	at := site{}.member(name)
	value, err := r.builder.value(at, r.builder.memberSchemas(r.root, name))
	if err != nil {
		return nil, false
	}
	changed := r.with(name, value)
	if !r.spend(changed) || r.faults(changed) != nil {
		return nil, false
	}
	return value, true
}

// fresh gives the builder its whole allowance again.
func (r *refusals) fresh() {
	r.builder.looks, r.builder.bytes, r.builder.salt = maxLooks, maxBytes, 0
	r.builder.depth = depths[len(depths)-1]
	clear(r.builder.open)
}

// wrong adds calls with one wrong value of a property.
func (r *refusals) wrong(name string) {
	good, ok := r.arguments[name]
	if !ok {
		if good, ok = r.good(name); !ok {
			return
		}
	}
	r.fresh()
	at := site{}.member(name)
	d, err := r.builder.gather(at.place, r.builder.memberSchemas(r.root, name))
	if err != nil {
		return
	}
	for _, flaw := range flaws(at, d, good) {
		for _, value := range r.purest(at.place, flaw) {
			if r.add(flaw.fault, name, "whose property "+shown(name)+" "+flaw.wrong, r.with(name, value)) {
				break
			}
		}
	}
}

// purest puts those values first that break nothing but what they should.
func (r *refusals) purest(place string, f flaw) []any {
	if len(f.values) < 2 {
		return f.values
	}
	var pure, rest []any
	for _, value := range f.values {
		changed := r.with(r.nameOf(place), value)
		if !r.spend(changed) {
			break
		}
		found := r.faults(changed)
		if len(found) == 1 && found[0].Pointer == place && found[0].Keyword == f.fault {
			pure = append(pure, value)
		} else if found != nil {
			rest = append(rest, value)
		}
	}
	return append(pure, rest...)
}

func (r *refusals) nameOf(place string) string { return jsonvalue.TokenName(place[1:]) }

// shown is a name in a sentence.
func shown(name string) string { return clip(quote(name), 100) }

// spellings are what a property's name becomes under a hasty hand: snake_case
// for camelCase and the other way round, and other capitals.
func spellings(name string) []string {
	var out []string
	add := func(s string) {
		if s != name && s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if words := wordsOf(name); len(words) > 1 && strings.Trim(name, plainLetters) == "" {
		snake := strings.Join(words, "_")
		var camel strings.Builder
		for i, one := range words {
			if i > 0 {
				one = strings.ToUpper(one[:1]) + one[1:]
			}
			camel.WriteString(one)
		}
		if strings.Contains(name, "_") {
			add(camel.String())
		}
		add(snake)
		add(camel.String())
	}
	if runes := []rune(name); len(runes) > 0 {
		other := unicode.ToUpper(runes[0])
		if other == runes[0] {
			other = unicode.ToLower(runes[0])
		}
		add(string(other) + string(runes[1:]))
	}
	add(name + "_")
	return out
}
