package boundary_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentlab/lab/boundary"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

// small draws schemas that can always be satisfied, by building them around a
// valid value's worth of room.
func small(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		shape := rapid.IntRange(0, 7).Draw(t, "shape")
		if depth == 0 {
			shape %= 4
		}
		switch shape {
		case 0:
			low := rapid.IntRange(-50, 50).Draw(t, "low")
			high := low + rapid.IntRange(0, 40).Draw(t, "width")
			return fmt.Sprintf(`{"type":%s,"minimum":%d,"maximum":%d}`, rapid.SampledFrom([]string{`"integer"`, `"number"`, `["null","integer"]`}).Draw(t, "type"), low, high)
		case 1:
			low := rapid.IntRange(0, 30).Draw(t, "low")
			high := low + rapid.IntRange(0, 30).Draw(t, "width")
			return fmt.Sprintf(`{"type":"string","minLength":%d,"maxLength":%d}`, low, high)
		case 2:
			return rapid.SampledFrom([]string{
				`{"type":"boolean"}`, `{}`, `true`, `{"type":"null"}`, `{"enum":["a",1,null]}`, `{"const":{"b":1}}`, `{"type":"string","format":"date"}`,
				`{"type":"string","pattern":"^[a-f]{2,4}-\\d+$"}`, `{"type":"integer","multipleOf":7}`, `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`,
				`{"type":"integer","default":"no"}`, `{"examples":[1,2],"type":"string"}`, `{"not":{"type":"string"}}`,
			}).Draw(t, "leaf")
		case 3:
			return fmt.Sprintf(`{"allOf":[{"type":"integer"},{"minimum":%d},{"multipleOf":%d}]}`, rapid.IntRange(-99, 99).Draw(t, "low"), rapid.IntRange(1, 9).Draw(t, "step"))
		case 4:
			least := rapid.IntRange(0, 3).Draw(t, "least")
			return fmt.Sprintf(`{"type":"array","items":%s,"minItems":%d,"maxItems":%d}`, small(depth-1).Draw(t, "items"), least, least+rapid.IntRange(0, 3).Draw(t, "room"))
		case 5:
			return fmt.Sprintf(`{"anyOf":[%s,%s]}`, small(depth-1).Draw(t, "one"), small(depth-1).Draw(t, "other"))
		case 6:
			return fmt.Sprintf(`{"oneOf":[{"type":"object","required":["kind"],"properties":{"kind":{"const":1},"v":%s}},{"type":"object","required":["kind","v"],"properties":{"kind":{"const":2},"v":%s}}]}`,
				small(depth-1).Draw(t, "one"), small(depth-1).Draw(t, "other"))
		}
		return objectOf(t, depth-1)
	})
}

func objectOf(t *rapid.T, depth int) string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b_c", "dE", "path", "files", "x/y", "~", "", "\"", "url", "dryRun"}), 0, 4, rapid.ID).Draw(t, "names")
	var properties, required []string
	for _, name := range names {
		key, _ := json.Marshal(name)
		properties = append(properties, string(key)+":"+small(depth).Draw(t, "property"))
		if rapid.Bool().Draw(t, "required") {
			required = append(required, string(key))
		}
	}
	extra := rapid.SampledFrom([]string{"", `,"additionalProperties":false`, `,"additionalProperties":{"type":"string"}`}).Draw(t, "extra")
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]` + extra + `}`
}

// TestSatisfiable: a schema that can be satisfied is, and what a closed schema
// requires is among the refused calls.
func TestSatisfiable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := objectOf(t, 2)
		d := define("t", text)
		if !holds(t, d) {
			_, err := boundary.Plain(d)
			t.Fatalf("%s: %v", text, err)
		}
		calls, err := boundary.Refused(d)
		if err != nil {
			t.Fatal(err)
		}
		faults := make(map[string]bool)
		for _, call := range calls {
			faults[call.Fault+" "+call.Property] = true
		}
		var stated struct {
			Required   []string
			Additional any `json:"additionalProperties"`
		}
		if err := json.Unmarshal([]byte(text), &stated); err != nil {
			t.Fatal(err)
		}
		for _, name := range stated.Required {
			if !faults["missing "+name] {
				t.Errorf("%s: no call without %q", text, name)
			}
		}
		if stated.Additional == false && !faults["unknown unexpected_property"] {
			t.Errorf("%s: no call with an unknown property", text)
		}
		if stated.Additional == nil && faults["unknown unexpected_property"] {
			t.Errorf("%s: a call with an unknown property is refused", text)
		}
	})
}

// keywordSoup draws schemas of any keywords, most of which contradict
// themselves.
func keywordSoup(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if depth == 0 {
			return rapid.SampledFrom([]string{"true", "false", "{}", `{"$ref":"#"}`, `{"$ref":"#/definitions/a"}`, `{"type":"string"}`}).Draw(t, "end")
		}
		sub := func(label string) string { return keywordSoup(depth-1).Draw(t, label) }
		number := func(label string) string {
			return rapid.SampledFrom([]string{"0", "1", "2", "3", "-1", "0.5", "1e300"}).Draw(t, label)
		}
		count := func(label string) string {
			return rapid.SampledFrom([]string{"0", "1", "2", "5", "100"}).Draw(t, label)
		}
		keywords := map[string]func() string{
			"type": func() string {
				return rapid.SampledFrom([]string{`"string"`, `"integer"`, `"object"`, `["array","null"]`, `"number"`, `"boolean"`}).Draw(t, "type")
			},
			"enum":  func() string { return rapid.SampledFrom([]string{`[1,"a"]`, `[null]`, `[{"a":1},[]]`}).Draw(t, "enum") },
			"const": func() string { return rapid.SampledFrom([]string{`1`, `"a"`, `{}`}).Draw(t, "const") },
			"default": func() string {
				return rapid.SampledFrom([]string{`1`, `"/etc/passwd"`, `{}`, `null`}).Draw(t, "default")
			},
			"examples":         func() string { return `[1,"a",{"a":1}]` },
			"minimum":          func() string { return number("minimum") },
			"exclusiveMaximum": func() string { return number("exclusiveMaximum") },
			"multipleOf": func() string {
				return rapid.SampledFrom([]string{"1", "0.1", "7", "1e300", "1e-300"}).Draw(t, "multipleOf")
			},
			"minLength": func() string { return count("minLength") },
			"pattern": func() string {
				return rapid.SampledFrom([]string{`"^a"`, `"(a|b){2}$"`, `"\\d"`, `"[^a-z]"`, `"^/"`, `"^(a*)*$"`}).Draw(t, "pattern")
			},
			"format": func() string {
				return rapid.SampledFrom([]string{`"date"`, `"uri"`, `"uuid"`, `"ipv6"`}).Draw(t, "format")
			},
			"minItems":             func() string { return count("minItems") },
			"maxItems":             func() string { return count("maxItems") },
			"uniqueItems":          func() string { return `true` },
			"items":                func() string { return sub("items") },
			"contains":             func() string { return sub("contains") },
			"minProperties":        func() string { return count("minProperties") },
			"properties":           func() string { return `{"a":` + sub("a") + `,"path":` + sub("path") + `}` },
			"patternProperties":    func() string { return `{"^p":` + sub("^p") + `}` },
			"additionalProperties": func() string { return sub("additional") },
			"propertyNames":        func() string { return sub("names") },
			"required":             func() string { return rapid.SampledFrom([]string{`["a"]`, `["path","b"]`}).Draw(t, "required") },
			"dependencies":         func() string { return `{"a":["b"],"b":` + sub("b") + `}` },
			"allOf":                func() string { return `[` + sub("all") + `,` + sub("all") + `]` },
			"anyOf":                func() string { return `[` + sub("any") + `,` + sub("any") + `]` },
			"oneOf":                func() string { return `[` + sub("one") + `,` + sub("one") + `]` },
			"not":                  func() string { return sub("not") },
			"if":                   func() string { return sub("if") },
			"then":                 func() string { return sub("then") },
			"else":                 func() string { return sub("else") },
		}
		names := slices.Sorted(maps.Keys(keywords))
		var members []string
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID).Draw(t, "keywords") {
			members = append(members, `"`+name+`":`+keywords[name]())
		}
		return "{" + strings.Join(members, ",") + "}"
	})
}

// TestSoup: whatever a schema says, what is handed out keeps its promise.
func TestSoup(t *testing.T) {
	built, compiled := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := keywordSoup(3).Draw(t, "schema")
		if strings.HasPrefix(text, "{") && text != "{}" {
			text = `{"definitions":{"a":` + keywordSoup(1).Draw(t, "definition") + `},` + text[1:]
		}
		if _, err := schema.CompileForeign([]byte(text), schema.Draft202012); err == nil {
			compiled++
		}
		if holds(t, define("t", text)) {
			built++
		}
	})
	t.Logf("%d plain calls for %d schemas that compile", built, compiled)
}

// FuzzDefinition: no bytes of a schema bring the package down, or make it hand
// out what it should not.
func FuzzDefinition(f *testing.F) {
	for _, tt := range real {
		f.Add("a", []byte(tt.schema))
	}
	for _, text := range []string{``, `{`, `{"required":["a"],"properties":{"a":{"$ref":"#"}}}`, `{"minProperties":3,"propertyNames":{"enum":["a"]}}`, `[]`, `{"properties":{"a":{"pattern":"((a{9}){9}){9}"}},"required":["a"]}`} {
		f.Add("t", []byte(text))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		d := define(name, string(text))
		d.Annotations = text
		holds(t, d)
		probed(t, d, boundary.ProbeOptions{Foreign: true, Pairwise: true, Max: 1 + len(text)%200})
		lines, err := boundary.Cases([]tool.Definition{d, d}, &boundary.Contract{Raw: name, Governed: name + "-", Keys: map[string]string{name: "key"}})
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(lines)) {
			if _, err := jsonvalue.Decode([]byte(line)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	})
}
