package overlay

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
)

// addedKey is the schema of a key that is added. A model sees it.
const addedKey = `{"type":"string","minLength":1,"maxLength":200,` +
	`"description":"A name for this action, made up by you: another for every action, and the same again where a call is repeated."}`

// addKey adds a key to a schema that somebody else wrote: exactly what satisfies
// it without the key satisfies it with one. Where that is not sure, it returns why.
func addKey(document json.RawMessage, key string) (with json.RawMessage, reason string) {
	const cannot = "cannot be added: "
	tree, _ := jsonvalue.Decode(document)
	top, ok := tree.(map[string]any)
	if !ok {
		return nil, cannot + "the server's schema is not a JSON object"
	}
	if top["type"] != "object" {
		return nil, cannot + `the server's schema does not say "type": "object"`
	}
	properties, _ := top["properties"].(map[string]any)
	if _, taken := properties[key]; taken {
		return nil, "the server has an argument of this name; leave add out, or choose another"
	}
	if at := wholes(tree, ""); at != "" {
		return nil, cannot + "the server's schema may refer to itself as a whole, at " + at
	}
	for _, name := range slices.Sorted(maps.Keys(top)) {
		switch name {
		case "properties", "additionalProperties", "unevaluatedProperties":
			continue // it is one of the properties
		}
		if !blind(name, top[name], key) {
			return nil, cannot + "the server's schema has " + name + ", which may judge a call otherwise with the key than without"
		}
	}
	with, err := schema.WithProperty(document, key, json.RawMessage(addedKey))
	if err != nil {
		return nil, cannot + err.Error()
	}
	return with, ""
}

// wholes finds a reference that may lead to the whole schema, or "". What stands
// in examples and constants passes for one too, which is careful and not wrong.
func wholes(value any, at string) string {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if found := wholes(item, at); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text, isText := v[name].(string)
			switch name {
			case "$ref", "$dynamicRef", "$recursiveRef":
				// Others may lead to it by its name or its anchor.
				if isText && !strings.HasPrefix(text, "#/") {
					return at + "/" + jsonvalue.Token(name)
				}
			}
			if found := wholes(v[name], at+"/"+jsonvalue.Token(name)); found != "" {
				return found
			}
		}
	}
	return ""
}

// blind reports whether a keyword judges every object alike with a string of the
// name key and without. It is careful: false may be wrong, true is not.
func blind(keyword string, value any, key string) bool {
	all := func(subschemas any) bool {
		list, ok := subschemas.([]any)
		return ok && !slices.ContainsFunc(list, func(s any) bool { return !blindSchema(s, key) })
	}
	names := func(list any) bool {
		some, ok := list.([]any)
		return ok && !slices.Contains(some, any(key))
	}
	switch keyword {
	case "properties":
		named, ok := value.(map[string]any)
		_, has := named[key]
		return ok && !has
	case "required":
		return names(value)
	case "dependentRequired", "dependentSchemas", "dependencies":
		named, ok := value.(map[string]any)
		for name, needs := range named {
			if list, isList := needs.([]any); name == key || isList && !names(list) || !isList && !blindSchema(needs, key) {
				return false
			}
		}
		return ok
	case "additionalProperties", "unevaluatedProperties":
		return open(value)
	case "patternProperties":
		return blindPatterns(value, key)
	case "allOf", "anyOf", "oneOf":
		return all(value)
	case "not", "if", "then", "else":
		return blindSchema(value, key)
	case "const":
		_, object := value.(map[string]any)
		return !object
	case "enum":
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, func(item any) bool { _, object := item.(map[string]any); return object })
	case "$ref", "$dynamicRef", "$recursiveRef", "propertyNames", "minProperties", "maxProperties":
		return false
	}
	return true // about other types than objects, or about nothing
}

func blindSchema(value any, key string) bool {
	if _, constant := value.(bool); constant {
		return true
	}
	s, ok := value.(map[string]any)
	for keyword, value := range s {
		if !blind(keyword, value, key) {
			return false
		}
	}
	return ok
}

// open is a schema that takes anything.
func open(value any) bool {
	s, object := value.(map[string]any)
	return value == true || object && len(s) == 0
}

// blindPatterns reports whether no pattern is for the key.
func blindPatterns(value any, key string) bool {
	patterns, ok := value.(map[string]any)
	for pattern := range patterns {
		// Patterns are those of ECMA 262, which lab/schema knows.
		document := append(jsonvalue.AppendString([]byte(`{"pattern":`), pattern), '}')
		compiled, err := schema.CompileForeign(document, schema.Draft202012)
		if err != nil || len(compiled.Validate(key)) == 0 {
			return false
		}
	}
	return ok
}
