package boundary

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// flaw is one way in which the value of a property can be wrong, and values
// that may be: whether they are is for the check to say.
type flaw struct {
	fault  string // a word or a keyword
	wrong  string // completes "whose property x"
	values []any
}

// flaws lists what can be wrong with a value, given a good one. None is wrong
// in a way that could do harm where a tool takes it all the same: a path stays
// in the sandbox.
func flaws(at site, d *demand, good any) []flaw {
	list := []flaw{
		{"type", "has the wrong type", wrongTypes(at, d)},
		{"null", "is null", []any{nil}},
	}
	if listed, closed := d.listed(); closed {
		keyword := "enum"
		if slices.ContainsFunc(d.parts, func(part object) bool { _, ok := part["const"]; return ok }) {
			keyword = "const"
		}
		list = append(list, flaw{keyword, "is none of the listed values", unlisted(at, listed)})
	}
	switch v := good.(type) {
	case json.Number:
		list = append(list, d.numberFlaws(v)...)
	case string:
		list = append(list, d.textFlaws(at, v)...)
	case []any:
		list = append(list, d.arrayFlaws(v)...)
	}
	return list
}

// wrongTypes are values of types that are not stated, those first that are the
// easiest to mistake. For a path that is a list of one path: what makes a text
// of it all the same stays in the sandbox.
func wrongTypes(at site, d *demand) []any {
	if d.kinds == anything {
		return nil
	}
	mistaken := []any{json.Number("12345"), "not of this type", true, json.Number("1.5"), []any{word}, object{"example": word}}
	if NamesPath(at.name) {
		mistaken = []any{[]any{file}, file, json.Number("12345"), true, json.Number("1.5"), object{"example": word}}
	}
	return slices.DeleteFunc(mistaken, func(value any) bool { return kindOf(value)&d.kinds != 0 })
}

func unlisted(at site, listed []any) []any {
	if NamesPath(at.name) {
		return []any{sandbox + "/not-listed"}
	}
	values := []any{"not-listed"}
	sum := big.NewRat(1, 1)
	for _, value := range listed {
		if exact, ok := rational(value); ok {
			sum.Add(sum, exact.Abs(exact))
			values = nil
		}
	}
	if values == nil {
		if literal, ok := spell(sum); ok {
			return []any{literal, "not-listed"}
		}
	}
	return append(values, "not-listed-either", json.Number("12345"))
}

func (d *demand) numberFlaws(good json.Number) []flaw {
	var list []flaw
	add := func(fault, wrong string, exact *big.Rat) {
		if literal, ok := spell(exact); ok {
			list = append(list, flaw{fault, wrong, []any{literal}})
		}
	}
	one := big.NewRat(1, 1)
	if d.kinds&fraction == 0 {
		exact, _ := rational(good)
		add("whole", "is not a whole number", exact.Add(exact, big.NewRat(1, 2)))
	}
	n := d.interval()
	if d.kinds&fraction == 0 {
		n.multiple(one)
	}
	step := one
	if n.step != nil {
		step = n.step
	}
	if n.low != nil {
		keyword, wrong, at := "exclusiveMinimum", "is not above its bound", n.low
		if !n.lowOpen {
			keyword, wrong, at = "minimum", "is below its minimum", beyond(n.low, step, -1)
		}
		add(keyword, wrong, at)
	}
	if n.high != nil {
		keyword, wrong, at := "exclusiveMaximum", "is not below its bound", n.high
		if !n.highOpen {
			keyword, wrong, at = "maximum", "is above its maximum", beyond(n.high, step, 1)
		}
		add(keyword, wrong, at)
	}
	if stated := (&demand{parts: d.parts}).interval().step; stated != nil {
		exact, _ := rational(good)
		off := new(big.Rat).Mul(stated, big.NewRat(1, 2))
		if d.kinds&fraction == 0 && !off.IsInt() {
			off = one // may still be a multiple: then the check says so
		}
		var values []any
		for _, sign := range []*big.Rat{one, big.NewRat(-1, 1)} {
			if literal, ok := spell(new(big.Rat).Add(exact, new(big.Rat).Mul(off, sign))); ok {
				values = append(values, literal)
			}
		}
		list = append(list, flaw{"multipleOf", "is no multiple of what it must be", values})
	}
	return list
}

// beyond is the nearest multiple of a step outside of an end.
func beyond(end, step *big.Rat, sign int) *big.Rat {
	at := floor(new(big.Rat).Quo(end, step))
	found := new(big.Rat).Mul(step, new(big.Rat).SetInt(at))
	switch {
	case sign > 0:
		found.Add(found, step)
	case found.Cmp(end) == 0:
		found.Sub(found, step)
	}
	return found
}

// maxStretched bounds a text that is made too long.
const maxStretched = 1 << 14

func (d *demand) textFlaws(at site, good string) []flaw {
	var list []flaw
	w := d.bounds()
	n := utf8.RuneCountInString(good)
	if w.least > 0 && w.least <= n {
		cut := string([]rune(good)[:w.least-1])
		if strings.HasPrefix(good, sandbox) {
			cut = "" // what is left of a path would be another place
		}
		list = append(list, flaw{"minLength", "is too short", []any{cut}})
	}
	if most, ok := d.strictest("maxLength", -1); ok && most < maxStretched && n <= most {
		long := good + strings.Repeat("x", most+1-n)
		list = append(list, flaw{"maxLength", "is too long", []any{long}})
	}
	guard := func(values []string) []any {
		var out []any
		for _, value := range values {
			if NamesPath(at.name) {
				value = sandbox + "/" + value
			}
			out = append(out, value)
		}
		return out
	}
	if len(w.patterns) > 0 {
		list = append(list, flaw{"pattern", "does not match its pattern", guard([]string{
			"not valid!", "!", "!!!!!!!!!!!!", strings.Repeat("!", max(min(w.least, maxStretched), 1)),
			"0", "a", "A", "-", " ", "\t", "example", "1234567890", "\u00e9\u2026", "",
		})})
	}
	for _, format := range w.formats {
		list = append(list, flaw{"format", "is not in its format", guard(formats[format].bad)})
	}
	return list
}

func (d *demand) arrayFlaws(good []any) []flaw {
	var list []flaw
	if least, _ := d.strictest("minItems", 1); least > 0 && least <= len(good) {
		list = append(list, flaw{"minItems", "has too few items", []any{good[:least-1]}})
	}
	if most, ok := d.strictest("maxItems", -1); ok && most < maxItems && len(good) > 0 {
		items := slices.Clone(good)
		for len(items) <= most {
			items = append(items, good[len(items)%len(good)])
		}
		list = append(list, flaw{"maxItems", "has too many items", []any{items}})
	}
	unique := slices.ContainsFunc(d.parts, func(part object) bool { return part["uniqueItems"] == true })
	if unique && len(good) > 0 {
		twice := append(slices.Clone(good), good[0])
		list = append(list, flaw{"uniqueItems", "has an item twice", []any{twice}})
	}
	return list
}
