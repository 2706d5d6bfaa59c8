package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
)

// bounds are they, and the sign of the difference that makes one tighter.
var bounds = map[string]int{
	"minimum": 1, "exclusiveMinimum": 1, "maximum": -1, "exclusiveMaximum": -1,
	"minLength": 1, "minItems": 1, "minProperties": 1, "maxLength": -1, "maxItems": -1, "maxProperties": -1,
}

func (s *spot) types(value *ordered) error {
	if own := s.kinds(); own != nil {
		for _, name := range typeNamesOf(value) {
			if !slices.Contains(own, name) && !(name == "integer" && slices.Contains(own, "number")) {
				return s.fault([]string{"type"}, "%q is not what the server has: %s", name, either(own))
			}
		}
	}
	s.out = s.out.with("type", value)
	return nil
}

func (s *spot) kinds() []string {
	if own := s.under.get("type"); own != nil {
		return typeNamesOf(own)
	}
	return nil
}

func typeNamesOf(value *ordered) []string {
	if value.kind == '[' {
		var all []string
		for _, item := range value.held {
			all = append(all, typeNamesOf(item)...)
		}
		return all
	}
	name, _ := value.value().(string)
	return []string{name}
}

// admits holds a value of const or enum against the upstream's const, enum and
// type.
func (s *spot) admits(value *ordered, tokens ...string) error {
	text := canonical(value.value())
	if s.has("const") && !s.under.get("const").equal(value) {
		return s.fault(tokens, "%s is not the server's const", cut(text))
	}
	if own := s.under.get("enum"); own != nil && s.choices == nil {
		s.choices = set(own)
	}
	if s.choices != nil && !s.choices[text] {
		return s.fault(tokens, "%s is not in the server's enum", cut(text))
	}
	if own := s.kinds(); own != nil && !slices.ContainsFunc(own, func(name string) bool { return isOf(value.value(), name) }) {
		return s.fault(tokens, "%s is not of the server's type: %s", cut(text), either(own))
	}
	return nil
}

// isOf reports whether a value is of a type of JSON Schema.
func isOf(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		return name == "number" || name == "integer" && rational(v).IsInt()
	case []any:
		return name == "array"
	}
	return name == "object"
}

func (s *spot) bound(name string, value *ordered) error {
	if s.check.draft == Draft04 && strings.Contains(name, "xclusive") {
		return nil // with the bound that it is beside
	}
	if s.check.draft == Draft04 && (name == "minimum" || name == "maximum") {
		return s.bound04(name, value)
	}
	sign := bounds[name]
	exclusive := strings.HasPrefix(name, "exclusive")
	plain := counterpart(name)
	for _, other := range []string{plain, "exclusive" + strings.ToUpper(plain[:1]) + plain[1:]} {
		own := s.under.get(other)
		if own == nil || !s.has(other) {
			continue
		}
		// Equal bounds are as tight, unless only the upstream's excludes them.
		strict := strings.HasPrefix(other, "exclusive") && !exclusive
		if c := exact(value).Cmp(exact(own)) * sign; c < 0 || c == 0 && strict {
			return s.fault([]string{name}, "%s is looser than the server's %s, %s", cut(string(value.text)), other, cut(string(own.text)))
		}
	}
	s.out = s.out.with(name, value)
	return nil
}

// counterpart is the bound that an exclusive one stands for.
func counterpart(name string) string {
	if rest, exclusive := strings.CutPrefix(name, "exclusive"); exclusive {
		return strings.ToLower(rest)
	}
	return name
}

func exact(value *ordered) *big.Rat { return rational(json.Number(value.text)) }

// bound04 is bound for draft-04, where a flag beside a bound excludes it.
func (s *spot) bound04(name string, value *ordered) error {
	flag := map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}[name]
	strict, own := s.over.get(flag), s.under.get(name)
	if own != nil {
		c := exact(value).Cmp(exact(own)) * bounds[name]
		if c < 0 || c == 0 && s.under.get(flag).is("true") && !strict.is("true") {
			return s.fault([]string{name}, "%s is looser than the server's", cut(string(value.text)))
		}
	}
	s.out = s.out.with(name, value)
	switch {
	case strict != nil:
		s.out = s.out.with(flag, strict)
	case s.under.get(flag) != nil:
		s.out = s.out.with(flag, &ordered{text: json.RawMessage("false")})
	}
	return nil
}
