package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEnginesAgreeOnGenerated holds that both engines say the same of schemas
// that are put together at random, also where the second takes the schema as
// one of 2020-12.
func TestEnginesAgreeOnGenerated(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root := someSchema(rt, 3)
		if o, ok := root.(object); ok {
			if _, refers := o["$ref"]; !refers {
				o["definitions"] = object{"a": someSchema(rt, 1), "b": someSchema(rt, 1)}
			}
		}
		document := encode(root)
		first, second := both(rt, document, Draft07)
		if first == nil {
			rt.Skip("the first engine takes no such schema: there is nothing to compare")
		}
		newest, err := CompileForeign([]byte(document), Draft202012)
		if err != nil && strings.Contains(document, `"items":[`) {
			newest, err = second, nil // it has another name there
		}
		if err != nil {
			rt.Fatalf("%s: %v", document, err)
		}
		for range 5 {
			text := encode(someValue(rt, 3))
			agree(rt, document, first, second, text)
			agree(rt, document, first, newest, text)
		}
	})
}

func some[T any](rt *rapid.T, choices ...T) T { return rapid.SampledFrom(choices).Draw(rt, "choice") }

func someValue(rt *rapid.T, depth int) any {
	kinds := 5
	if depth > 0 {
		kinds = 9
	}
	switch rapid.IntRange(0, kinds).Draw(rt, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(rt, "bool")
	case 2, 3:
		return json.Number(some(rt, "0", "-0", "1", "1.0", "1.5", "2", "-3", "6e0", "1e2", "9007199254740991"))
	case 4, 5:
		return some(rt, "", "a", "ab", "abc", "é", "2024-02-30", "2024-02-29", "a/b~")
	case 6, 7:
		items := make([]any, rapid.IntRange(0, 3).Draw(rt, "items"))
		for i := range items {
			items[i] = someValue(rt, depth-1)
		}
		return items
	}
	members := object{}
	for range rapid.IntRange(0, 3).Draw(rt, "members") {
		members[some(rt, "a", "b", "ab", "a/b~", "")] = someValue(rt, depth-1)
	}
	return members
}

func someSchema(rt *rapid.T, depth int) any {
	switch rapid.IntRange(0, 12).Draw(rt, "schema") {
	case 0:
		return rapid.Bool().Draw(rt, "always")
	case 1:
		return object{"$ref": some(rt, "#", "#/definitions/a", "#/definitions/b")}
	}
	out := object{}
	for range rapid.IntRange(0, 3).Draw(rt, "keywords") {
		someKeyword(rt, out, depth)
	}
	return out
}

func someKeyword(rt *rapid.T, out object, depth int) {
	below := func() any { return someSchema(rt, depth-1) }
	name := some(rt, "type", "enum", "const", "format", "minimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
		"pattern", "minItems", "maxItems", "uniqueItems", "required", "minProperties", "maxProperties", "title")
	if depth > 0 {
		name = some(rt, name, "items", "tuple", "contains", "properties", "patternProperties", "additionalProperties",
			"propertyNames", "dependencies", "allOf", "anyOf", "oneOf", "not", "if")
	}
	switch name {
	case "type":
		out[name] = some[any](rt, "string", "integer", "number", "object", "array", []any{"null", "boolean", "integer"})
	case "enum":
		out[name] = []any{someValue(rt, 1), someValue(rt, 1), someValue(rt, 0)}
	case "const":
		out[name] = someValue(rt, 1)
	case "format":
		out[name] = some(rt, "date", "json-pointer")
	case "minimum", "exclusiveMaximum":
		out[name] = json.Number(some(rt, "0", "1", "1.5", "2"))
	case "multipleOf":
		out[name] = json.Number(some(rt, "1", "0.5", "3", "1e-2"))
	case "minLength", "minItems", "minProperties":
		out[name] = rapid.IntRange(0, 1).Draw(rt, "least")
	case "maxLength", "maxItems", "maxProperties":
		out[name] = rapid.IntRange(1, 2).Draw(rt, "most")
	case "pattern":
		out[name] = some(rt, "^a", "b$", `\d`)
	case "uniqueItems":
		out[name] = true
	case "required":
		out[name] = some(rt, []any{"a"}, []any{"a", "b"}, []any{})
	case "title":
		out[name] = "a"
	case "tuple":
		out["items"] = []any{below(), below()}
		out["additionalItems"] = below()
	case "properties":
		out[name] = object{"a": below(), "b": below(), "a/b~": below()}
	case "patternProperties":
		out[name] = object{"^a": below(), "b": below()}
	case "dependencies":
		out[name] = object{"a": some[any](rt, []any{"b", "c"}, below()), "b": below()}
	case "allOf", "anyOf", "oneOf":
		out[name] = []any{below(), below()}
	case "if":
		out[name], out["then"], out["else"] = below(), below(), below()
	default:
		out[name] = below()
	}
}
