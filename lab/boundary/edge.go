package boundary

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentlab/lab/jsonvalue"
)

// keywords lists what may be said at a spot for each keyword of its schemas.
func (w *walk) keywords(s *spot) {
	for _, part := range s.fresh {
		pointer, stands := w.rows.pointers[identify(part)]
		if !stands {
			continue
		}
		for _, keyword := range slices.Sorted(maps.Keys(part)) {
			for _, one := range clausesOf(part, pointer, keyword) {
				w.keyword(s, part, one)
			}
		}
	}
}

// keyword lists candidates for one clause.
func (w *walk) keyword(s *spot, part object, c clause) {
	for _, row := range speaks {
		if slices.Contains(row.keywords, c.keyword) {
			want := row.kind
			if want == whole {
				want |= fraction
			}
			if s = w.as(s, want); s == nil {
				return
			}
		}
	}
	if c.keyword != "anyOf" && c.keyword != "oneOf" {
		w.add(s, c, Inside, bound, w.whose(s)+" is as it should be", s.value)
	}
	switch c.keyword {
	case "type":
		w.types(s, c)
	case "enum", "const":
		w.listed(s, part, c)
	case "minimum", "exclusiveMinimum":
		w.limit(s, part, c, 1)
	case "maximum", "exclusiveMaximum":
		w.limit(s, part, c, -1)
	case "multipleOf":
		w.multiple(s, part, c)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		w.counted(s, part, c)
	case "pattern":
		w.pattern(s, c)
	case "format":
		w.format(s, part, c)
	case "not":
		w.excluded(s, part, c)
	case "anyOf", "oneOf":
		w.add(s, c, Outside, bound, w.whose(s)+" is of none of the alternatives", object{"unlike": word})
		w.add(s, c, Outside, near, w.whose(s)+" is null", nil)
	case "required", "dependencies", "dependentRequired", "propertyNames", "additionalProperties", "unevaluatedProperties":
		w.named(s, part, c)
	case "uniqueItems", "contains", "minContains", "maxContains", "items", "additionalItems", "unevaluatedItems":
		w.several(s, part, c)
	}
}

// types gives a place every type, and what is easily taken for its own.
func (w *walk) types(s *spot, c clause) {
	texts := "not of this type"
	list := []any{word}
	if s.isPath() {
		texts, list = file, []any{file}
	}
	for _, row := range []struct {
		name  string
		value any
	}{
		{"null", nil}, {"true", true}, {"a whole number", json.Number("12345")}, {"a number with a fraction", json.Number("1.5")},
		{"a text", texts}, {"a list", list}, {"an object", object{"example": list[0]}},
	} {
		aim := Outside
		if kindOf(row.value)&s.full.kinds != 0 {
			aim = Inside
		}
		w.add(s, c, aim, bound, w.whose(s)+" is "+row.name, row.value)
	}
	if kindOf(s.value) != array && !s.isPath() || s.isPath() && kindOf(s.value) == text {
		w.add(s, c, Outside, near, w.whose(s)+" is a list of its value", []any{s.value})
	}
	switch v := s.value.(type) {
	case json.Number:
		w.add(s, c, Outside, near, w.whose(s)+" is a number written as a text", string(v))
	case bool:
		w.add(s, c, Outside, near, w.whose(s)+" is a flag written as a text", strconv.FormatBool(v))
		w.add(s, c, Outside, near, w.whose(s)+" is a flag written as a number", json.Number(map[bool]string{false: "0", true: "1"}[v]))
	case []any, object:
		if !s.isPath() {
			w.add(s, c, Outside, near, w.whose(s)+" is its value as JSON in a text", canonical(v))
		}
	}
}

// isPath reports whether a text at the spot is taken for a path.
func (s *spot) isPath() bool {
	if v, ok := s.value.(string); ok && strings.HasPrefix(v, sandbox) || NamesPath(s.name) {
		return true
	}
	for _, part := range s.parts {
		if format, _ := part["format"].(string); strings.HasSuffix(format, "path") {
			return true
		}
	}
	return false
}

// guard keeps a text where it can do no harm.
func (s *spot) guard(value string) string {
	if s.isPath() {
		return sandbox + "/" + strings.ReplaceAll(value, "..", "__")
	}
	return value
}

// listed gives every value of an enum, and what is near to one.
func (w *walk) listed(s *spot, part object, c clause) {
	values := []any{part["const"]}
	if c.keyword == "enum" {
		values, _ = part["enum"].([]any)
	}
	for _, value := range values[:min(len(values), maxListed)] {
		w.add(s, c, Inside, bound, w.whose(s)+" is one of the listed values", value)
	}
	for _, value := range unlisted(s.site, values) {
		w.add(s, c, Outside, bound, w.whose(s)+" is none of the listed values", value)
	}
	const varied = 4
	for _, value := range values[:min(len(values), varied)] {
		switch v := value.(type) {
		case string:
			if s.isPath() {
				continue
			}
			for _, row := range []struct{ name, text string }{
				{"in capitals", strings.ToUpper(v)}, {"in small letters", strings.ToLower(v)}, {"with a capital", capital(v)},
				{"with a space behind", v + " "}, {"with a space before", " " + v}, {"without its end", v[:len(v)-lastRune(v)]}, {"with more behind", v + "s"},
			} {
				if row.text != v {
					w.add(s, c, Outside, near, w.whose(s)+" is a listed value "+row.name, row.text)
				}
			}
		case json.Number:
			exact, _ := rational(v)
			for _, by := range []int64{-1, 1} {
				if literal, ok := spell(new(big.Rat).Add(exact, big.NewRat(by, 1))); ok {
					w.add(s, c, Outside, near, w.whose(s)+" is next to a listed value", literal)
				}
			}
			w.add(s, c, Outside, near, w.whose(s)+" is a listed number written as a text", string(v))
		case bool:
			w.add(s, c, Outside, near, w.whose(s)+" is the other flag", !v)
		}
	}
}

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

func lastRune(s string) int {
	_, size := utf8.DecodeLastRuneInString(s)
	return size
}

func (w *walk) pattern(s *spot, c clause) {
	good, _ := s.value.(string)
	for salt := range 3 {
		b := w.builder(s)
		b.salt = salt
		if made, err := b.text(s.site, s.full); err == nil {
			w.add(s, c, Inside, near, w.whose(s)+" is another text of its pattern", made)
		}
	}
	if s.isPath() {
		w.add(s, c, Outside, bound, w.whose(s)+" is not of its pattern", sandbox+"/not valid!")
		return
	}
	for i, row := range []struct{ words, text string }{
		{"has one character too much at the end", good + "!"}, {"has one character too much at the start", "!" + good},
		{"has another character in the middle", middle(good)}, {"has a line end behind it", good + "\n"},
		{"lacks its last character", good[:len(good)-lastRune(good)]}, {"is in capitals", strings.ToUpper(good)}, {"is in small letters", strings.ToLower(good)},
		{"is in other digits", strings.Map(foreignDigit, good)},
		{"is not of its pattern", "not valid!"}, {"is one character not of its pattern", "0"}, {"is one letter not of its pattern", "a"},
		{"is a space", " "}, {"is empty", ""}, {"is not of its pattern, and of its length", strings.Repeat("!", max(utf8.RuneCountInString(good), 1))},
		{"is of foreign letters", "\u00e9\u2026"},
	} {
		if row.text != good {
			w.add(s, c, Outside, rank(min(i, 1)), w.whose(s)+" "+row.words, row.text)
		}
	}
}

// foreignDigit makes Arabic-Indic digits, which some take for \d.
func foreignDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return r - '0' + '\u0660'
	}
	return r
}

func middle(s string) string {
	runes := []rune(s)
	if len(runes) == 0 {
		return "!"
	}
	runes[len(runes)/2] = '!'
	return string(runes)
}

func (w *walk) format(s *spot, part object, c clause) {
	name, _ := part["format"].(string)
	for _, good := range formats[name].good {
		w.add(s, c, Inside, near, w.whose(s)+" is of the format "+shown(name), good)
	}
	for i, bad := range formats[name].bad {
		w.add(s, c, Outside, rank(min(i, 1)), w.whose(s)+" is not of the format "+shown(name), s.guard(bad))
	}
	if good, _ := s.value.(string); good != "" && !s.isPath() {
		w.add(s, c, Outside, near, w.whose(s)+" has a space before it", " "+good)
		w.add(s, c, Outside, near, w.whose(s)+" has a line end behind it", good+"\n")
	}
}

// excluded makes what a not is about.
func (w *walk) excluded(s *spot, part object, c clause) {
	b := w.builder(s)
	schemas := append(slices.Clip(s.schemas), part["not"])
	if value, err := b.value(s.site, schemas); err == nil {
		w.add(s, c, Outside, bound, w.whose(s)+" is what it must not be", value)
	}
	if names, _ := part["not"].(object); names["required"] != nil && kindOf(s.value) == record {
		changed := s.value.(object)
		must := make(map[string]bool)
		addNames(must, names["required"])
		for _, name := range slices.Sorted(maps.Keys(must)) {
			if _, there := changed[name]; !there {
				changed = with(changed, name, word)
			}
		}
		w.add(s, c, Outside, near, w.whose(s)+" has what it must not have", changed)
	}
}

// appendText writes a text as JSON.
func appendText(value string) string { return string(jsonvalue.AppendString(nil, value)) }
