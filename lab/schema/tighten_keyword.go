package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentlab/lab/spelling"
)

// spot is one place at which keywords are laid over a schema.
type spot struct {
	*laying
	under *ordered // the upstream's schema, without a $ref
	over  *ordered // the keywords
	out   *ordered // what comes of it

	known   []string        // the properties that the upstream names, once they were asked for
	choices map[string]bool // the values of the upstream's enum, likewise
}

// groups are keywords that mean something together only.
var groups = [][]string{
	{"contains", "minContains", "maxContains"},
	{"if", "then", "else"},
	{"prefixItems", "items", "additionalItems"},
}

func (s *spot) keyword(name string, value *ordered) error {
	if _, bound := bounds[name]; bound {
		return s.bound(name, value)
	}
	switch name {
	case "properties":
		return s.properties(value)
	case "required":
		return s.required(value)
	case "additionalProperties":
		return s.additional(value)
	case "patternProperties":
		return s.patterns(value)
	case "items":
		if s.single() {
			return s.items(value)
		}
		return s.group(name)
	case "contains", "minContains", "maxContains", "if", "then", "else", "prefixItems", "additionalItems":
		return s.group(name)
	case "type":
		return s.types(value)
	case "enum":
		for i, choice := range value.held {
			if err := s.admits(choice, name, strconv.Itoa(i)); err != nil {
				return err
			}
		}
		s.out = s.out.with(name, value)
		return nil
	case "const":
		if err := s.admits(value, name); err != nil {
			return err
		}
		s.out = s.out.with(name, value)
		return nil
	case "uniqueItems":
		if value.is("false") && s.under.get(name).is("true") {
			return s.fault([]string{name}, "the server's is true")
		}
		s.out = s.out.with(name, value)
		return nil
	case "unevaluatedProperties", "unevaluatedItems":
		if s.under.get(name) != nil && !s.under.get(name).equal(value) {
			return s.fault([]string{name}, "the server has one; that this is tighter %s", notShown)
		}
		s.out = s.out.with(name, value)
		return nil
	case "pattern", "format", "multipleOf", "not", "propertyNames", "dependentRequired":
		s.beside(name, value)
		return nil
	case "dependencies", "dependentSchemas", "allOf", "anyOf", "oneOf":
		if err := s.evaluates(name); err != nil {
			return err
		}
		if name == "allOf" {
			s.conjoin(value.held...)
		} else {
			s.beside(name, value)
		}
		return nil
	}
	// keywords has let only annotations through.
	s.out = s.out.with(name, value)
	return nil
}

// has reports whether the upstream has a keyword that its dialect knows.
func (s *spot) has(name string) bool {
	return s.under.get(name) != nil && s.check.row(name) != nil
}

// conjoin asks for schemas beside everything else.
func (s *spot) conjoin(schemas ...*ordered) {
	s.out = s.out.with("allOf", s.out.get("allOf").and(schemas...))
}

// beside asks for a keyword that depends on no other, beside the upstream's own.
func (s *spot) beside(name string, value *ordered) {
	switch own := s.under.get(name); {
	case own == nil:
		s.out = s.out.with(name, value)
	case !own.equal(value):
		s.conjoin(anObject(name, value))
	}
}

// evaluates refuses a keyword that lets properties or items count as looked at
// which the upstream refuses, or checks, because nothing has.
func (s *spot) evaluates(name string) error {
	for _, left := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		if s.has(left) {
			return s.fault([]string{name}, "the server has %s, which would no longer hold for what this looks at", left)
		}
	}
	return nil
}

// group lays keywords that only mean something together: all of them at the
// first, none at the others.
func (s *spot) group(name string) error {
	group := groups[slices.IndexFunc(groups, func(g []string) bool { return slices.Contains(g, name) })]
	if lead := group[0]; lead != "prefixItems" && s.over.get(lead) == nil {
		return s.fault([]string{name}, "says nothing without %s beside it", lead)
	}
	for _, known := range s.over.names {
		if slices.Contains(group, known) {
			if known != name {
				return nil
			}
			break
		}
	}
	if err := s.evaluates(name); err != nil {
		return err
	}
	together := s.over.only(func(name string) bool { return slices.Contains(group, name) })
	if slices.ContainsFunc(group, func(name string) bool { return s.under.get(name) != nil }) {
		s.conjoin(together)
		return nil
	}
	for i, name := range together.names {
		s.out = s.out.with(name, together.held[i])
	}
	return nil
}

// single reports whether the keywords have one schema for all items.
func (s *spot) single() bool {
	return s.over.get("items").kind != '[' && s.over.get("prefixItems") == nil && s.over.get("additionalItems") == nil
}

func (s *spot) items(value *ordered) error {
	own := s.under.get("items")
	switch {
	case own == nil && !s.has("prefixItems"):
		if err := s.evaluates("items"); err != nil {
			return err
		}
	case own == nil || own.kind == '[' || s.has("prefixItems"):
		// The upstream's items are only those after its list.
		if err := s.evaluates("items"); err != nil {
			return err
		}
		s.conjoin(anObject("items", value))
		return nil
	}
	return s.below(func() error {
		laid, err := s.schema(own, value)
		if err == nil {
			s.out = s.out.with("items", laid)
		}
		return err
	}, "items")
}

// lets reports whether a schema, or its absence, plainly lets everything in.
func lets(schema *ordered) bool {
	return schema == nil || schema.is("true") || schema.kind == '{' && len(schema.names) == 0
}

func (s *spot) properties(value *ordered) error {
	own := s.under.get("properties")
	laid := own
	for i, name := range value.names {
		have := own.get(name)
		if have == nil {
			if err := s.another("properties", name); err != nil {
				return err
			}
		}
		err := s.below(func() error {
			property, err := s.schema(have, value.held[i])
			laid = laid.with(name, property)
			return err
		}, "properties", name)
		if err != nil {
			return err
		}
	}
	if laid != own {
		s.out = s.out.with("properties", laid)
	}
	return nil
}

// another refuses a property that the upstream does not name in its own
// properties, unless it may be named there without harm.
func (s *spot) another(keyword, name string) error {
	if err := s.unnamed(name, keyword, name); err != nil {
		return err
	}
	if !lets(s.under.get("additionalProperties")) {
		return s.fault([]string{keyword, name}, "the server's additionalProperties would no longer hold for it")
	}
	if s.has("unevaluatedProperties") {
		return s.fault([]string{keyword, name}, "the server's unevaluatedProperties would no longer hold for it")
	}
	return nil
}

// unnamed refuses a name that is none of those which the upstream has, if it has
// any.
func (s *spot) unnamed(name string, tokens ...string) error {
	if s.known == nil {
		known := make(map[string]bool)
		s.named(known, s.under, make(map[*ordered]bool))
		s.known = append([]string{}, sortedKeys(known)...)
	}
	if _, is := slices.BinarySearch(s.known, name); is || len(s.known) == 0 {
		return nil
	}
	fault := s.fault(tokens, "").(*Loosening)
	fault.Unknown, fault.Known = name, slices.Clone(s.known)
	fault.Reason = fmt.Sprintf("the server's schema has no property %s; %s", quoted(name), meant(name, fault.Known))
	return fault
}

// meant ends a reason about a property that is unknown: with the one that was
// meant, or else with those that there are.
func meant(name string, known []string) string {
	if near := spelling.Nearest(name, known); near != "" {
		return "did you mean " + quoted(near) + "?"
	}
	var has []string
	for _, name := range known[:min(len(known), maxChoice)] {
		has = append(has, quoted(name))
	}
	if more := len(known) - len(has); more > 0 {
		return fmt.Sprintf("it has %s and %d more", strings.Join(has, ", "), more)
	}
	return "it has " + strings.Join(has, ", ")
}

func (s *spot) required(value *ordered) error {
	laid := s.under.get("required")
	own := set(laid)
	var added []*ordered
	for i, name := range value.held {
		if own[canonical(name.value())] {
			continue
		}
		text, _ := name.value().(string)
		if err := s.unnamed(text, "required", strconv.Itoa(i)); err != nil {
			return err
		}
		added = append(added, name)
	}
	s.out = s.out.with("required", laid.and(added...))
	return nil
}

// set are the items of an array, or none, in the canonical form.
func set(items *ordered) map[string]bool {
	all := make(map[string]bool)
	if items != nil {
		for _, item := range items.held {
			all[canonical(item.value())] = true
		}
	}
	return all
}

func (s *spot) additional(value *ordered) error {
	const name = "additionalProperties"
	own := s.under.get(name)
	switch {
	case own != nil && own.equal(value):
		return nil
	case value.is("false"):
	case !lets(own) && lets(value):
		return s.fault([]string{name}, "the server's is not open")
	case own.is("false"):
		return s.fault([]string{name}, "the server's is false")
	case !lets(own):
		return s.fault([]string{name}, "the server has a schema there; that this is tighter %s", notShown)
	default:
		if err := s.evaluates(name); err != nil {
			return err
		}
	}
	s.out = s.out.with(name, value)
	return nil
}

// patterns adds to the patterns of names. Beside an additionalProperties that is
// not open they must not free a name from it.
func (s *spot) patterns(value *ordered) error {
	const name = "patternProperties"
	if err := s.evaluates(name); err != nil {
		return err
	}
	own := s.under.get(name)
	if !lets(s.under.get("additionalProperties")) || slices.ContainsFunc(value.names, func(name string) bool { return own.get(name) != nil }) {
		s.conjoin(anObject(name, value))
		return nil
	}
	for i, pattern := range value.names {
		own = own.with(pattern, value.held[i])
	}
	if own != nil {
		s.out = s.out.with(name, own)
	}
	return nil
}
