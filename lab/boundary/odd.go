package boundary

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// deep is how many levels an odd value is nested; lab/jsonvalue reads 64.
const deep = 40

// long is an odd text's length, in characters.
const long = 10_000

var (
	longText = strings.Repeat("x", long)
	deepList = strings.Repeat("[", deep) + strings.Repeat("]", deep)
	deepText = strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep)
)

// oddTexts are texts that programs get wrong, though each is one.
var oddTexts = []struct{ words, text string }{
	{"is empty", ""},
	{"is a space", " "},
	{"has white space around it", " example\t"},
	{"has several lines", "one\ntwo\r\nthree"},
	{"has a NUL in it", "a\x00b"},
	{"has control characters in it", "a\x07\x1b[31mb\x7f"},
	{"has a combining accent", "e\u0301xample"},
	{"has the same accent composed", "\u00e9xample"},
	{"is written from right to left", "\u0645\u062b\u0627\u0644"},
	{"turns the direction of writing", "a\u202egnp.b"},
	{"has a zero-width character in it", "exam\u200bple"},
	{"has a character beyond 16 bits", "\U0001F469\u200d\U0001F680"},
	{"has a byte order mark", "\ufeffexample"},
	{"is a number", "12345"},
	{"is a word of JSON", "null"},
	{"is a quotation mark and a backslash", `"\`},
	{"is very long", longText},
}

// oddNumbers are numbers that programs get wrong, as they are written.
var oddNumbers = []struct{ words, text string }{
	{"is nothing", "0"},
	{"is minus nothing", "-0"},
	{"is nothing with a fraction", "0.0"},
	{"is minus one", "-1"},
	{"is one with a fraction of nothing", "1.0"},
	{"is a hundred with an exponent", "1e2"},
	{"is the largest whole number of a double's", "9007199254740991"},
	{"is one above the largest whole number of a double's", "9007199254740992"},
	{"is two above the largest whole number of a double's", "9007199254740993"},
	{"is one below the smallest whole number of a double's", "-9007199254740992"},
	{"is two below the smallest whole number of a double's", "-9007199254740993"},
	{"is above 64 bits", "18446744073709551616"},
	{"is above what a double can hold", "1e400"},
	{"is nearer to nothing than a double can hold", "1e-400"},
	{"is a tenth", "0.1"},
}

// oddities lists values that any place may be given, and that no keyword is
// about.
func (w *walk) oddities(s *spot) {
	c := clause{s.pointer, "", ""}
	for _, part := range s.fresh {
		if pointer, stands := w.rows.pointers[identify(part)]; stands && part["type"] != nil {
			c = clause{pointer, "type", ""}
			break
		}
	}
	if c.keyword == "" {
		w.types(s, c)
	}
	kinds := s.full.kinds
	if s.place != "" {
		w.addRaw(s, c, Outside, w.whose(s)+" is nested deeply", deepText)
	}
	if kinds&text != 0 {
		for _, row := range oddTexts {
			if row.text != "" || !s.isPath() {
				w.add(s, c, Inside, odd, w.whose(s)+" "+row.words, s.guard(row.text))
			}
		}
		front := strings.TrimSuffix(appendText(s.guard("")), `"`)
		w.addRaw(s, c, Outside, w.whose(s)+" has half of a surrogate pair", front+`a\ud800b"`)
		w.addRaw(s, c, Outside, w.whose(s)+" has the wrong half of a surrogate pair first", front+`\udc00\ud800"`)
	}
	if kinds&(whole|fraction) != 0 {
		for _, row := range oddNumbers {
			w.addRaw(s, c, Inside, w.whose(s)+" "+row.words, row.text)
		}
	}
	switch v := s.value.(type) {
	case json.Number:
		if !strings.ContainsAny(string(v), ".eE") {
			w.addRaw(s, c, Inside, w.whose(s)+" is written with a fraction of nothing", string(v)+".0")
		}
	case string:
		if exact, ok := rational(json.Number(v)); ok && len(v) < 50 && strings.Trim(v, "0123456789") == "" {
			if literal, ok := spell(exact); ok {
				w.add(s, c, Outside, odd, w.whose(s)+" is a number instead of its digits", literal)
			}
		}
	case []any:
		w.add(s, c, Inside, odd, w.whose(s)+" is empty", []any{})
		if len(v) > 0 {
			many := make([]any, 0, maxItems)
			for len(many) < maxItems/2 {
				many = append(many, v[len(many)%len(v)])
			}
			w.add(s, c, Inside, odd, w.whose(s)+" has 500 items", many)
			w.add(s, c, Outside, odd, w.whose(s)+" has null behind its items", append(slices.Clip(v), nil))
		}
		w.addRaw(s, c, Outside, w.whose(s)+" is lists in lists", deepList)
	case object:
		w.oddNames(s, v)
	}
}

// oddNames says the properties of an object under other names, twice, and with
// one too many.
func (w *walk) oddNames(s *spot, members object) {
	known := make(map[string]bool)
	for _, name := range declared(s.full) {
		known[name] = true
	}
	c := w.closing(s)
	if len(members) > 0 {
		w.add(s, c, Outside, odd, "without any property"+w.inWhich(s), object{})
	}
	w.add(s, c, Outside, near, "with the property "+extra+", which the schema does not know"+w.inWhich(s), with(members, extra, word))
	for _, name := range []string{"", "__proto__", "e\u0301", "a\x00b"} {
		if !known[name] {
			w.add(s, c, Outside, odd, "with a property named "+shown(name)+w.inWhich(s), with(members, name, word))
		}
	}
	inner := canonical(members)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if w.left -= len(inner) / perLook; w.left <= 0 {
			return
		}
		value := members[name]
		again := "," + appendText(name) + ":"
		w.addRaw(s, c, Outside, "with the property "+shown(name)+" twice, and equal"+w.inWhich(s), inner[:len(inner)-1]+again+canonical(value)+"}")
		w.addRaw(s, c, Outside, "with the property "+shown(name)+" twice, and null at last"+w.inWhich(s), inner[:len(inner)-1]+again+"null}")
	}
}

// misspelt gives the properties of an object under names that are near to
// theirs.
func (w *walk) misspelt(s *spot) {
	names := declared(s.full)
	members := s.value.(object)
	c := w.closing(s)
	for _, name := range names {
		if w.left <= 0 {
			return
		}
		value, there := members[name]
		if !there {
			if value, there = s.found[name]; !there {
				continue
			}
		}
		for _, spelling := range append(spellings(name), plural(name)) {
			if _, known := slices.BinarySearch(names, spelling); !known {
				w.add(s, c, Outside, near, "with the property "+shown(name)+" misspelt as "+shown(spelling)+w.inWhich(s), with(without(members, name), spelling, value))
			}
		}
	}
}

// closing is what an object says of properties that it does not name.
func (w *walk) closing(s *spot) clause {
	for _, part := range s.parts {
		if pointer, stands := w.rows.pointers[identify(part)]; stands && part["additionalProperties"] == false {
			return clause{pointer, "additionalProperties", ""}
		}
	}
	return clause{s.pointer, "properties", ""}
}

// plural is a name in the other number.
func plural(name string) string {
	if stem, ok := strings.CutSuffix(name, "s"); ok && stem != "" {
		return stem
	}
	return name + "s"
}
