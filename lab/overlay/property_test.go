package overlay

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentlab/lab/schema"
	"agentlab/lab/tool"
)

const key = "k"

// names are what schemas and arguments are made of.
var names = rapid.SampledFrom([]string{"a", "b", key})

// subschema draws a schema of objects, which may look at the key.
func subschema(t *rapid.T, depth int) any {
	if depth == 0 {
		return rapid.SampledFrom([]any{true, false, map[string]any{}, map[string]any{"type": "string"}}).Draw(t, "leaf")
	}
	below := func(string) any { return subschema(t, depth-1) }
	list := func() []any { return []any{below(""), below("")} }
	some := func(label string) []string {
		return slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(names, 0, 2).Draw(t, label))))
	}
	all := map[string]func() any{
		"properties":           func() any { return map[string]any{names.Draw(t, "property"): below("")} },
		"required":             func() any { return some("required") },
		"additionalProperties": func() any { return below("") },
		"patternProperties": func() any {
			return map[string]any{rapid.SampledFrom([]string{"^a", "[bk]", ".", "^$"}).Draw(t, "pattern"): below("")}
		},
		"unevaluatedProperties": func() any { return below("") },
		"propertyNames": func() any {
			return rapid.SampledFrom([]any{true, map[string]any{"maxLength": 1}, map[string]any{"enum": []string{"a", "b"}}}).Draw(t, "names")
		},
		"minProperties":     func() any { return rapid.IntRange(0, 3).Draw(t, "min") },
		"maxProperties":     func() any { return rapid.IntRange(0, 3).Draw(t, "max") },
		"dependentRequired": func() any { return map[string]any{names.Draw(t, "dependent"): some("needs")} },
		"dependentSchemas":  func() any { return map[string]any{names.Draw(t, "dependent"): below("")} },
		"allOf":             func() any { return list() },
		"anyOf":             func() any { return list() },
		"oneOf":             func() any { return list() },
		"not":               func() any { return below("") },
		"if":                func() any { return below("") },
		"then":              func() any { return below("") },
		"else":              func() any { return below("") },
		"enum":              func() any { return []any{map[string]any{"a": "x"}, map[string]any{key: "x"}, map[string]any{}, 7} },
		"const":             func() any { return rapid.SampledFrom([]any{7, map[string]any{}}).Draw(t, "const") },
		"title":             func() any { return "T" },
	}
	s := make(map[string]any)
	for _, keyword := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(all))), 1, 2, func(s string) string { return s }).Draw(t, "keywords") {
		s[keyword] = all[keyword]()
	}
	return s
}

// Where a key is added to a schema, exactly those arguments that satisfy the
// schema without the key satisfy it with one.
func TestAddedKeyChangesNothingElse(t *testing.T) {
	added, long := 0, strings.Repeat("é", 200)
	combinations := []map[string]any{{}}
	for _, name := range []string{"a", "b", "kk"} {
		for _, one := range combinations {
			for _, value := range []any{"x", json.Number("1")} {
				more := maps.Clone(one)
				more[name] = value
				combinations = append(combinations, more)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		root, ok := subschema(t, 2).(map[string]any)
		if !ok {
			return
		}
		root["type"] = "object"
		upstream, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		before, err := schema.CompileForeign(upstream, schema.Draft202012)
		if err != nil {
			return
		}
		laid, reason := addKey(upstream, key)
		if reason != "" {
			return
		}
		added++
		after, err := schema.CompileForeign(laid, schema.Draft202012)
		if err != nil {
			t.Fatalf("%s: %v", laid, err)
		}
		for _, arguments := range combinations {
			without := len(before.Validate(maps.Clone(arguments))) == 0
			if len(after.Validate(maps.Clone(arguments))) == 0 {
				t.Fatalf("%s takes %v, which has no key", laid, arguments)
			}
			for _, value := range []any{"x", "", json.Number("1"), long, long + "x"} {
				keyed := maps.Clone(arguments)
				keyed[key] = value
				good := value == "x" || value == long
				if with := len(after.Validate(keyed)) == 0; with != (without && good) {
					t.Fatalf("%v without the key under\n%s: %v, with %q under\n%s: %v", arguments, upstream, without, value, laid, with)
				}
			}
		}
	})
	if added == 0 {
		t.Error("no key was ever added")
	}
}

// What a laid definition admits, the server's own admits without the key.
func TestLaidAdmitsNothingMore(t *testing.T) {
	admitted := 0
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SampledFrom([]string{"string", "integer", "boolean"})
		upstream := `{"type":"object","properties":{"a":{"type":"` + kinds.Draw(t, "a") + `"},"b":{"type":"` + kinds.Draw(t, "b") + `"},"c":{}}}`
		input := rapid.SampledFrom([]string{"{}", "{additionalProperties: false}", "{required: [a]}", "{properties: {a: {maxLength: 1}}}",
			"{properties: {b: {minimum: 1, maxLength: 2}}, required: [b], additionalProperties: false}", "{properties: {a: {type: string}}}"}).Draw(t, "input")
		text := fmt.Sprintf("version: 1\ntools: {t: {permission: p, effect: write, idempotency: {key: k, add: true}, input: %s}}\n", input)
		file, err := parse([]byte(text), "contract.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		tools, err := file.Lay([]tool.Definition{{Name: "t", InputSchema: []byte(upstream)}})
		if err != nil {
			return
		}
		before, err := schema.CompileForeign([]byte(upstream), schema.Draft202012)
		if err != nil {
			t.Fatal(err)
		}
		after, err := schema.CompileForeign(tools[0].Contract.InputSchema, schema.Draft202012)
		if err != nil {
			t.Fatal(err)
		}
		arguments := map[string]any{key: "x"}
		for _, name := range []string{"a", "b", "c", "d"} {
			if rapid.Bool().Draw(t, name) {
				arguments[name] = rapid.SampledFrom([]any{"", "x", "xyz", json.Number("0"), json.Number("1"), true}).Draw(t, "value")
			}
		}
		if len(after.Validate(maps.Clone(arguments))) > 0 {
			return
		}
		admitted++
		delete(arguments, key)
		if violations := before.Validate(arguments); len(violations) > 0 {
			t.Fatalf("%v: %v\n%s\n%s", arguments, violations, upstream, tools[0].Contract.InputSchema)
		}
	})
	if admitted == 0 {
		t.Error("nothing was ever admitted")
	}
}
